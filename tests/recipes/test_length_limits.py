"""Loops in translations are counted, and decoding without a limit of the length is marked."""

import shlex

import pytest
import torch
from fairseq.data import indexed_dataset

from recipes.lab.pages import table
from recipes.lab.runs import Runs
from recipes.lab.scores import length_limits, scoring


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("a man walks .", False),
        ("a very very tall man", False),
        ("a very very very tall man", True),
        ("a man and a man and a dog", False),
        ("a man and a man and a man and", True),
        ("in a b c d a b c d a b c d", True),
        ("in a b c d e a b c d e a b c d e", False),  # a phrase of five words
        ("a b a b a c a b", False),
        ("", False),
    ],
)
def test_a_phrase_of_up_to_four_words_three_times_in_a_row_is_a_loop(text, repeats):
    words = text.split()
    brute_force = any(
        words[start : start + size] * 3 == words[start : start + 3 * size]
        for size in range(1, 5)
        for start in range(len(words) - 3 * size + 1)
    )
    assert length_limits.repeats_itself(words) is brute_force is repeats


def binarize(path, lengths):
    builder = indexed_dataset.make_builder(f"{path}.bin", impl="mmap", vocab_size=100)
    for length in lengths:
        builder.add_item(torch.arange(4, 4 + length))
    builder.finalize(f"{path}.idx")


def test_limits_are_fairseqs_of_the_source_of_the_set_that_is_translated(tmp_path):
    binarize(tmp_path / "test.en-de.en", [3, 10])
    binarize(tmp_path / "test.en-de.de", [4, 5])
    binarize(tmp_path / "valid.en-de.en", [7])
    options = shlex.split("--beam 5 --max-len-a 1.2 --max-len-b 5")
    assert length_limits.limits(tmp_path, [], options) == [8, 17]  # int(1.2 S + 5)
    assert length_limits.limits(tmp_path, ["--source-lang", "de"], options) == [9, 11]
    assert length_limits.limits(tmp_path, [], [*options, "--gen-subset", "valid"]) == [13]
    assert length_limits.limits(tmp_path, [], ["--beam", "5"]) == [200, 200]
    assert length_limits.limits(tmp_path / "elsewhere", [], options) is None


def test_loops_are_translations_at_the_limit_or_going_in_circles():
    hypotheses = ["a b", "x x x", "long and longer"]
    references = ["a b", "x y", "long"]
    found = length_limits.figures(hypotheses, references, [2, 3, 9], [5, 5, 9])
    assert found == {"at_length_limit": 1, "repeating": 1, "loops": 2, "length_ratio": 8 / 5}
    unknown = length_limits.figures(hypotheses, references, [2, 3, 9], None)
    assert (unknown["at_length_limit"], unknown["loops"]) == (None, 1)


def test_tokens_are_counted_without_the_end_of_the_sentence(tmp_path):
    output = tmp_path / "generate.out"
    lines = ["D-1\t-1\ta b", "P-1\t-1 -1 -1", "D-1\t-1\tb", "P-1\t-1 -1", "P-0\t-1"]
    output.write_text("\n".join(lines) + "\n")
    assert scoring.token_counts(output, 2) == [0, 2]
    with pytest.raises(scoring.Incomplete):
        scoring.token_counts(output, 3)


def entry(generate, **figures):
    return {
        "arm": generate, "key": generate, "seed": 1, "setting": {"generate": generate},
        "figures": {"bleu_tokenised": 10.0, **figures},
        "machine": {"cpu": "", "cores": 1, "gpu": None},
        "versions": {}, "commit": "c", "command": "x",
    }  # fmt: skip


def test_a_report_says_which_lines_were_decoded_without_a_limit():
    lines = [
        entry("--beam 5"),
        entry("--beam 5 --max-len-a 1.2 --max-len-b 5", loops=3, length_ratio=0.98),
        entry("--beam 5 --max-len-b 60", loops=0, length_ratio=1.0),
    ]
    runs = Runs.by_setting(lines)
    cells = table.columns(runs)
    assert cells["length limit"] == ["200 (fairseq's)", "1.2 S + 5", "60"]
    assert cells["loops"] == ["-", "3", "0"]
    assert cells["length ratio"] == ["-", "0.980", "1.000"]
    assert "decoded without a limit" in "\n".join(table.footnotes(runs, list(cells)))
