"""A proposal read from a file."""

import logging
import math

import pytest

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.options import SamplerConfig
from fairseq_outlayers.samplers import build_sampler
from tests.conftest import make_dictionary

WEIGHTS = {"</s>": 4.0, "<unk>": 0.5, "w0": 2.0, "w1": 1e-3, "w2": 30.0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "proposal.txt"


def write(path, weights, separator="\t"):
    rows = [f"{word}{separator}{weight}\n" for word, weight in weights.items()]
    path.write_text("".join(rows), encoding="utf-8")


def build(path, num_words=3, num_sampled=6, **options):
    config = SamplerConfig(sampler="proposal", proposal_file=str(path), **options)
    return build_sampler(config, make_dictionary(num_words), num_sampled)


def log_expected_counts(sampler):
    """Of all classes: ``log(num_sampled Q(k))``."""
    return sampler.log_expected_counts.tolist()


@pytest.mark.parametrize("separator", ["\t", " "])
def test_classes_are_expected_as_often_as_their_weight_says(path, separator):
    write(path, WEIGHTS, separator)
    # <s>, padding, </s>, <unk>, w0, w1, w2; the first two get the smallest weight.
    weights = [1e-3, 1e-3, 4.0, 0.5, 2.0, 1e-3, 30.0]
    expected = [math.log(6 * weight / sum(weights)) for weight in weights]
    assert log_expected_counts(build(path)) == pytest.approx(expected, rel=1e-12)


def test_smoothing_gives_a_share_to_all_classes_in_equal_parts(path):
    write(path, {"w0": 3.0, "<s>": 0.75, "<pad>": 0.5})
    q = [0.8 * weight / 4.25 + 0.2 / 7 for weight in (0.75, 0.5, 0, 0, 3.0, 0, 0)]
    expected = [math.log(6 * share) for share in q]
    found = log_expected_counts(build(path, proposal_smoothing=0.2))
    assert found == pytest.approx(expected, rel=1e-12)


def test_weights_beyond_double_precision_are_refused_whatever_the_smoothing(path):
    write(path, {**WEIGHTS, "w0": 1e308, "w1": 1e308})
    for smoothing in (0.0, 0.2):
        with pytest.raises(UserError, match="exceeds double precision"):
            build(path, proposal_smoothing=smoothing)


def test_missing_classes_are_refused_and_counted(path):
    write(path, {"w0": 1.0, "</s>": 1.0, "w2": 1.0})
    message = r"no weight for 2 of the 7 classes .*'<unk>'.*--proposal-smoothing to a value above 0"
    with pytest.raises(UserError, match=message):
        build(path)


def test_words_that_the_dictionary_lacks_are_counted_and_left_out(path, caplog):
    write(path, {**WEIGHTS, "house": 9.0, "w3": 1.0})
    with caplog.at_level(logging.WARNING):
        found = log_expected_counts(build(path))
    (message,) = caplog.messages
    assert "2 of 7 words are not in the target dictionary" in message
    assert "'house'" in message
    caplog.clear()
    write(path, WEIGHTS)
    assert found == log_expected_counts(build(path))
    assert caplog.messages == []


def test_a_file_without_any_word_of_the_dictionary_is_refused(path):
    write(path, {"maison": 1.0, "chat": 1.0})
    with pytest.raises(UserError, match=r"none of its 2 words is in the target dictionary"):
        build(path, proposal_smoothing=0.5)


@pytest.mark.parametrize(
    "line", ["w9", "w9 many", "w9\t0", "w9\t-1", "w9\tinf", "w9\tnan", "\t1", ""]
)
def test_a_line_that_is_no_word_with_a_weight_is_named(path, line):
    write(path, WEIGHTS)
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{line}\nw1 1\n")
    with pytest.raises(UserError, match=r"proposal\.txt:6: .* is not a word, .*weight above 0"):
        build(path)


def test_a_word_listed_twice_is_named(path):
    path.write_text("w0 1\nw1 1\nw0 2\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"proposal\.txt:3: the word 'w0' is repeated"):
        build(path)


def test_a_file_that_cannot_be_read_is_named(path):
    with pytest.raises(UserError, match=r"--proposal-file .*proposal\.txt: no such file"):
        build(path)
    path.write_bytes(b"w0 1\n\xff\xfe 2\n")
    with pytest.raises(UserError, match=r"proposal\.txt:2: not UTF-8"):
        build(path)


def test_the_file_must_be_given(path):
    with pytest.raises(UserError, match=r"--sampler proposal needs --proposal-file"):
        build("")


def test_a_smoothing_that_is_no_share_is_refused(path):
    write(path, WEIGHTS)
    with pytest.raises(
        UserError, match=r"--proposal-smoothing 1.0: must be at least 0 and below 1"
    ):
        build(path, proposal_smoothing=1.0)
