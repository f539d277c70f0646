"""Bins by training frequency, and the command line that scores by them."""

import json

import pytest

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.analysis.frequency_bins import bins_by_count, bins_by_thirds
from fairseq_outlayers.errors import UserError

TRAINING = "the " * 100 + "cat " * 99 + "dog " * 10 + "owl " * 9 + "emu"


@pytest.fixture
def files(tmp_path):
    """Paths by name, and a way to write more of them."""
    texts = {
        "train": TRAINING.replace("cat dog", "cat\ndog"),
        "ref": "the cat\nthe emu yak\n",
        "good": "the cat\nthe emu yak\n",
        "bad": "the dog\nthe yak emu\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def arguments(folder, *hypotheses, reference="ref", training="train"):
    return ["--reference", str(folder / reference), "--training-text", str(folder / training),
            "--hypothesis", *(str(folder / name) for name in hypotheses),
            "--language", "en"]  # fmt: skip


def test_bins_by_count_begin_at_100_10_and_1():
    bins = bins_by_count({"a": 100, "b": 99, "c": 10, "d": 9, "e": 1, "f": 5000})
    names = {word: bins.names[bins.bin_of(word)] for word in "abcdefg"}
    assert names == {"a": ">=100", "b": "10-99", "c": "10-99", "d": "1-9", "e": "1-9",
                     "f": ">=100", "g": "0"}  # fmt: skip
    assert bins.types() == [2, 2, 2, 0]


@pytest.mark.parametrize(
    ("number", "sizes"), [(9, [3, 3, 3, 0]), (8, [3, 3, 2, 0]), (1, [1, 0, 0, 0])]
)
def test_thirds_hold_equally_many_types_by_falling_count(number, sizes):
    counts = {f"w{rank}": 100 - rank for rank in reversed(range(number))}
    bins = bins_by_thirds(counts)
    assert bins.types() == sizes
    in_order = [bins.bin_of(f"w{rank}") for rank in range(number)]
    assert in_order == sorted(in_order)
    assert bins.names[bins.bin_of("new")] == "unseen"


def test_thirds_do_not_depend_on_the_order_of_the_training_text():
    words = ["b", "d", "a", "c", "f", "e"]
    assert bins_by_thirds(dict.fromkeys(words, 1)) == bins_by_thirds(
        dict.fromkeys(sorted(words), 1)
    )
    assert bins_by_thirds(dict.fromkeys(words, 1)).of_word["c"] == 1


def test_every_word_of_the_reference_is_in_one_bin(files, capsys):
    main(["frequency-bins", *arguments(files, "good", "bad"), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["types"] == {">=100": 1, "10-99": 2, "1-9": 2, "0": 0}
    for system in report["systems"]:
        scores = system["scores"]
        words = {name: score["reference_words"] for name, score in scores.items()}
        assert words == {">=100": 2, "10-99": 1, "1-9": 1, "0": 1, "all": 5}
    good, bad = (system["scores"] for system in report["systems"])
    assert all(score["f1"] == 1 for score in good.values())
    assert bad["10-99"]["precision"] == bad["10-99"]["recall"] == 0
    assert bad["all"]["matches"] == 4
    # Equal precision and recall; only the chunks (2 sentences against 4) differ.
    assert good[">=100"]["meteor"] == pytest.approx(1 - 0.6 * (2 / 5) ** 0.2)
    assert bad[">=100"]["meteor"] == pytest.approx(1 - 0.6 * (4 / 4) ** 0.2)


def test_the_table_has_a_row_for_every_bin_and_system(files, capsys):
    assert main(["frequency-bins", *arguments(files, "good", "bad")]) == 0
    heading, _, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["bin", "system", "types", "reference", "hypothesis", "matches",
                               "precision", "recall", "F1", "METEOR"]  # fmt: skip
    assert [row.split()[:2] for row in rows] == [
        [name, system] for name in (">=100", "10-99", "1-9", "0", "all")
        for system in ("good", "bad")
    ]  # fmt: skip
    assert rows[-1].split()[5] == "4"


def test_other_parameters_take_the_place_of_a_language(files, capsys):
    options = arguments(files, "good")[:-2]
    main(["frequency-bins", *options, "--parameters", "0.5", "1", "0.5", "0", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["parameters"] == {"alpha": 0.5, "beta": 1, "gamma": 0.5, "delta": 0}
    assert report["systems"][0]["scores"]["all"]["meteor"] == pytest.approx(1 - 0.5 * 2 / 5)


def test_files_of_different_lengths_are_refused_with_their_lengths(files):
    (files / "short").write_text("the cat\n")
    with pytest.raises(UserError, match=r"short:1: last of 1 lines, but .*ref has 2"):
        main(["frequency-bins", *arguments(files, "good", "short")])


def test_an_empty_line_is_a_sentence(files):
    (files / "bad").write_text("\n\n")
    main(["frequency-bins", *arguments(files, "bad")])


def test_a_line_separator_within_a_line_does_not_end_it(files):
    (files / "bad").write_text("the\u2028cat\nthe emu\u0085yak\n", encoding="utf-8")
    main(["frequency-bins", *arguments(files, "bad")])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("good", None, r"good: no such file"),
        ("ref", b"\xff\n\n", r"ref:1: not UTF-8"),
        ("train", b"\n", r"train: has no words"),
    ],
)
def test_files_that_cannot_be_used_are_named(files, name, content, message):
    (files / name).unlink()
    if content is not None:
        (files / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        main(["frequency-bins", *arguments(files, "good")])


def test_empty_files_are_refused(files):
    for name in ("ref", "good"):
        (files / name).write_text("")
    with pytest.raises(UserError, match="empty file, 0 lines"):
        main(["frequency-bins", *arguments(files, "good")])


def test_bins_can_be_thirds(files, capsys):
    main(["frequency-bins", *arguments(files, "good"), "--bins", "thirds", "--json"])
    assert list(json.loads(capsys.readouterr().out)["types"].values()) == [2, 2, 1, 0]


def test_parameters_have_ranges(files):
    given = arguments(files, "good")
    del given[given.index("--language") :]
    with pytest.raises(UserError, match="--parameters: alpha is 2, must be"):
        main(["frequency-bins", *given, "--parameters", *["2", "1", ".5", "0"]])
