"""Scores belong to complete translations in corpus order, and agree with sacreBLEU's command."""

import json
import subprocess
import sys

import pytest

from recipes.lab.scores import scoring

REFERENCES = [
    "a man walks his dog .",
    "two women sit .",
    "the child plays with a ball .",
    "a cat .",
]
HYPOTHESES = ["a man walks a dog .", "two women are sitting .", "a child plays .", "cat ."]


def generate_output(tmp_path, numbered, name="generate.out"):
    lines = ["2026 | INFO | something"]
    for number, text in numbered:
        lines += [f"S-{number}\tsource", f"T-{number}\ttarget", f"H-{number}\t-0.5\t{text} @@"]
        lines += [f"D-{number}\t-0.5\t{text}", f"P-{number}\t-0.1 -0.2"]
    lines.append("Generate test with beam=5: BLEU4 = 1.00")
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


def test_only_a_line_feed_ends_a_line(tmp_path):
    """data_prep counts so, and drops the carriage return before one."""
    (tmp_path / "text").write_bytes("a\rb\u2028c\r\nd\n".encode())
    assert scoring.read_lines(tmp_path / "text") == ["a\rb\u2028c", "d"]
    (tmp_path / "text").write_bytes(b"")
    assert scoring.read_lines(tmp_path / "text") == []


def test_hypotheses_come_back_in_corpus_order(tmp_path):
    order = [10, 2, 0, 1, 9, 3, 8, 4, 7, 5, 6]
    path = generate_output(tmp_path, [(number, f"text {number}") for number in order])
    found = scoring.hypotheses_in_corpus_order(path, 11)
    assert found == [f"text {number}" for number in range(11)]


def test_of_several_hypotheses_the_first_counts(tmp_path):
    path = generate_output(tmp_path, [(0, "best"), (0, "second"), (1, "only")])
    assert scoring.hypotheses_in_corpus_order(path, 2) == ["best", "only"]


def n_best(tmp_path, hypotheses):
    """Output of ``--nbest``: number, text, and the log-probabilities of its tokens."""
    path = tmp_path / "nbest.out"
    lines = []
    for number, text, scores in hypotheses:
        lines += [f"H-{number}\t-0.5\t{text} @@", f"D-{number}\t-0.5\t{text}"]
        lines += [f"P-{number}\t" + " ".join(f"{score:.4f}" for score in scores)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_most_probable_hypothesis_has_the_largest_sum_and_not_the_largest_mean(tmp_path):
    long, short = [-0.5, -0.5, -0.5, -0.5], [-0.9, -0.9]
    path = n_best(
        tmp_path,
        [(1, "a b c", long), (1, "a", short), (0, "x", [-3]), (0, "y z", [-1, -1.5])],
    )
    assert scoring.hypotheses_in_corpus_order(path, 2) == ["x", "a b c"]
    assert scoring.most_probable(path, 2) == ["y z", "a"]


def test_equally_probable_hypotheses_keep_their_order(tmp_path):
    path = n_best(tmp_path, [(0, "first", [-1, -1]), (0, "second", [-2])])
    assert scoring.most_probable(path, 1) == ["first"]


def test_a_missing_most_probable_hypothesis_is_named(tmp_path):
    path = n_best(tmp_path, [(0, "x", [-1]), (2, "y", [-1])])
    with pytest.raises(scoring.Incomplete, match="1 sentences missing, the first: 1"):
        scoring.most_probable(path, 3)


def test_an_empty_hypothesis_is_a_hypothesis(tmp_path):
    path = generate_output(tmp_path, [(0, ""), (1, "a\u2028b")])
    assert scoring.hypotheses_in_corpus_order(path, 2) == ["", "a\u2028b"]


def test_missing_hypotheses_are_counted_and_named(tmp_path):
    path = generate_output(tmp_path, [(0, "x"), (2, "y"), (5, "z")])
    with pytest.raises(
        scoring.Incomplete,
        match=r"holds 3 hypotheses for 6 references \(3 sentences missing, the first: 1, 3, 4;",
    ):
        scoring.hypotheses_in_corpus_order(path, 6)


def test_more_hypotheses_than_references_are_refused(tmp_path):
    path = generate_output(tmp_path, [(0, "x"), (1, "y")])
    with pytest.raises(scoring.Incomplete, match="holds 2 hypotheses for 1 references"):
        scoring.hypotheses_in_corpus_order(path, 1)


@pytest.mark.parametrize(("tokenised", "flag"), [(True, "none"), (False, "13a")])
def test_scores_equal_those_of_the_sacrebleu_command(tmp_path, tokenised, flag):
    for name, lines in (("ref", REFERENCES), ("hyp", HYPOTHESES)):
        scoring.write_lines(tmp_path / name, lines)
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "hyp", "-m", "bleu", "chrf"]
    command += ["-tok", flag, "-lc", "--chrf-lowercase", "-w", "8", "-f", "json", "--force"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    bleu, chrf = json.loads(shown.stdout)
    figures = scoring.score(HYPOTHESES, REFERENCES, tokenised=tokenised, lowercase=True)
    suffix = "_tokenised" if tokenised else ""
    assert figures[f"bleu{suffix}"] == pytest.approx(bleu["score"], abs=1e-7)
    assert figures[f"chrf{suffix}"] == pytest.approx(chrf["score"], abs=1e-7)
    assert figures[f"bleu{suffix}_signature"] == bleu["signature"]
    assert figures[f"chrf{suffix}_signature"] == chrf["signature"]


def test_tokenised_scores_carry_another_name_than_plain_ones():
    tokenised = scoring.score(HYPOTHESES, REFERENCES, tokenised=True)
    plain = scoring.score(HYPOTHESES, REFERENCES, tokenised=False)
    assert not set(tokenised) & set(plain)


def test_hypotheses_and_references_must_be_as_many():
    with pytest.raises(ValueError, match="3 hypotheses, 4 references"):
        scoring.score(HYPOTHESES[:3], REFERENCES, tokenised=True)
    with pytest.raises(ValueError, match="0 hypotheses, 0 references"):
        scoring.score([], [], tokenised=True)


def test_detokenizing_undoes_tokens():
    assert scoring.detokenize(["ein mann , der läuft ."], "de") == ["ein mann, der läuft."]


def test_lines_end_at_line_feeds_only(tmp_path):
    path = tmp_path / "text"
    scoring.write_lines(path, ["a\u2028b", "", "c\x85d"])
    assert scoring.read_lines(path) == ["a\u2028b", "", "c\x85d"]
    path.write_text("")
    assert scoring.read_lines(path) == []
