"""Candidate lists from text to translation, through the commands."""

import re

import pytest

from tests.system.backwards import generate, translations
from tests.system.commands import PLUGIN, prepare, run, succeed

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def data(backwards_data):
    return backwards_data


@pytest.fixture(scope="module")
def candidates(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("candidates")
    sides = ["--source", data / "train.xx", "--target", data / "train.yy"]
    prepare("build_lexicon", *sides, "--output", folder / "lexicon")
    dictionaries = ["--source-dictionary", data / "bin" / "dict.xx.txt",
                    "--target-dictionary", data / "bin" / "dict.yy.txt"]  # fmt: skip
    prepare("build_candidates", "--lexicon", folder / "lexicon", *dictionaries,
            "--output", folder / "candidates.npz")  # fmt: skip
    return folder / "candidates.npz"


def lines(output):
    """What was translated, with scores, alignments and n-best lists."""
    return re.findall(r"^[SHDPA]-\d+\t.*$", output, re.MULTILINE)


def test_all_words_as_candidates_print_what_fairseq_prints(data, trained, candidates):
    search = ["--beam", 3, "--nbest", 3, "--print-alignment", "hard"]
    ours = ["--task", "translation_outlayers", "--candidates", candidates]
    expected = lines(generate(data, trained, *search))
    assert len(expected) > 53 * 10
    assert lines(generate(data, trained, *search, *ours, "--candidate-frequent", 12)) == expected


def test_the_translations_of_the_words_suffice_and_do_not_depend_on_the_batch(
    data,
    trained,
    candidates,
):
    # K = 2 is </s> and <unk>: every letter comes from the lexicon.
    ours = ["--task", "translation_outlayers", "--candidates", candidates, "--beam", 2,
            "--candidate-frequent", 2, "--candidate-per-word", 1]  # fmt: skip
    one_by_one = translations(generate(data, trained, *ours, "--batch-size", 1))
    assert translations(generate(data, trained, *ours)) == one_by_one
    references = (data / "test.yy").read_text(encoding="utf-8").splitlines()
    right = sum(one_by_one[n] == reference for n, reference in enumerate(references))
    assert right >= 0.9 * len(references)


def test_interactive_copies_a_word_that_no_dictionary_has(data, trained, candidates):
    # Only <unk> can be produced, so that every word is copied.
    options = ["--user-dir", PLUGIN, "--cpu", "--path", trained, "--beam", 1,
               "--task", "translation_outlayers", "--candidate-frequent", 2,
               "--unk-replacement", "copy"]  # fmt: skip
    result = succeed("interactive", data / "bin", *options, stdin="a Bonn c\n")
    (text,) = translations(result.stdout).values()
    assert set(text.split()) <= {"a", "Bonn", "c"}
    assert "S-0\ta Bonn c" in result.stdout


def test_a_candidate_file_for_other_data_is_refused_in_one_line(data, trained, candidates):
    result = run("generate", data / "bin", "--user-dir", PLUGIN, "--cpu", "--path", trained,
                 "--task", "translation_outlayers", "--candidates", candidates.with_name("lexicon"),
                 "--candidate-frequent", 5)  # fmt: skip
    assert result.returncode == 1
    assert "not a candidate file" in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
