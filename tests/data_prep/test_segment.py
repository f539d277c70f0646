"""Segmentation: learned the same each time, and undone by fairseq's own post-processing."""

from pathlib import Path

import pytest

import segment
from fairseq_outlayers.errors import UserError

LEARN = {
    "subword_nmt": ["--merges", "60"],
    "subword_nmt by units": ["--vocabulary-size", "90"],
    "sentencepiece": ["--method", "sentencepiece", "--vocabulary-size", "90"],
}
TEXT = """the lower tower glows slowly and the slow flower lowers
newest and widest , the lowest tower grows
a powerful shower over the yellow meadow
größere blumen , höhere türme
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.x").write_text(TEXT, encoding="utf-8")
    return tmp_path


def learn(options, output="codes"):
    segment.main(["learn", "--inputs", "train.x", "--output", output, *options])


def apply(text, languages=("x",)):
    """Segment a text for each language; returns what was written for the first."""
    for language in languages:
        Path(f"in.{language}").write_bytes(text.encode())
    arguments = ["--codes", "codes", "--input", "in", "--output", "out", "--languages", *languages]
    segment.main(["apply", *arguments])
    return Path(f"out.{languages[0]}").read_bytes().decode()


@pytest.mark.parametrize("options", LEARN.values(), ids=LEARN)
def test_learning_twice_gives_the_same_bytes(options, folder):
    learn(options, "first")
    learn(options, "second")
    assert Path("first").read_bytes() == Path("second").read_bytes() != b""


@pytest.mark.parametrize("name", LEARN)
def test_fairseq_post_processing_restores_the_words(name, folder):
    post_process = pytest.importorskip("fairseq.data.data_utils").post_process
    learn(LEARN[name])
    text = TEXT + "unseen ☃ lettersß 日本語 a@b@@c @ x_y\n\nwords@home ﬁ ½ .\n"
    segmented = apply(text)
    assert segmented != text
    symbol = name.split()[0]
    restored = [post_process(line, symbol) for line in segmented.split("\n")]
    assert restored == text.split("\n")


def test_merges_are_those_of_counting_pairs_by_hand(folder):
    # "low" 4 times, "lot" 2, "ot" 1: l+o wins (6), then lo+w</w> (4), lo+t</w> (2).
    Path("train.x").write_text("low low low low lot lot ot\n")
    learn(["--merges", "3"])
    assert Path("codes").read_text() == "#version: 0.2\nl o\nlo w</w>\nlo t</w>\n"
    assert apply("low lot ot owl\n") == "low lot o@@ t o@@ w@@ l\n"


def test_number_of_units_counts_single_characters(folder):
    learn(["--vocabulary-size", "45"])
    merges = len(Path("codes").read_text().splitlines()) - 1
    words = set(TEXT.split())
    inside = {character for word in words for character in word[:-1]}
    assert merges == 45 - len(inside) - len({word[-1] for word in words})


def test_white_space_is_what_fairseq_will_see(folder):
    learn(LEARN["subword_nmt"])
    assert apply("the\u2028the\t the\u00a0the \r\nthe") == "the the the the\nthe\n"


def test_every_language_keeps_its_lines_in_order(folder):
    learn(LEARN["subword_nmt"])
    text = "".join(f"{i}\n\n" for i in range(9))
    assert apply(text, ["x", "y"]).replace("@@ ", "") == text
    assert Path("out.x").read_bytes() == Path("out.y").read_bytes()


def test_fewer_merges_than_asked_for_are_reported(folder, capsys):
    learn(["--merges", "9999"])
    merges = len(Path("codes").read_text().splitlines()) - 1
    expected = f"wrote codes ({merges} merges (no other pair occurs twice), from 4 lines)\n"
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("name", "line"),
    [("subword_nmt", "to@@ wer"), ("subword_nmt", "tower@@"), ("sentencepiece", "▁tow er")],
)
def test_segmented_text_is_not_segmented_again(name, line, folder):
    learn(LEARN[name])
    with pytest.raises(UserError, match=r"^in.x:2: contains a segmentation marker"):
        apply(f"tower\n{line}\n")
    assert not Path("out.x").exists()


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (b"#version: 0.2\na b\na b c\n", "^codes:3: 'a b c' is not a pair of units"),
        (b"#version: 0.2\n", "^codes:1: no merges"),
        (b"#version: 0.7\na b\n", "^codes:1: '#version: 0.7' is not one of #version: 0.1"),
        (b"#version: 0.2\na b\nx \n", "^codes:3: 'x ' is not a pair of units"),
        (b"#version: 0.2\na b\n\xff c\n", "^codes:3: not UTF-8"),
        (b"", "^codes: empty file"),
        (b"a b\n", "^codes:1: neither subword-nmt codes .* nor a sentencepiece model"),
    ],
)
def test_damaged_codes_are_refused(codes, message, folder):
    Path("codes").write_bytes(codes)
    with pytest.raises(UserError, match=message):
        apply("a b\n")
    assert not Path("out.x").exists()


@pytest.mark.parametrize("text", ["a b c\n", "\n \n"])
@pytest.mark.parametrize("options", [["--merges", "5"], LEARN["sentencepiece"]])
def test_text_without_anything_to_learn_is_an_error(options, text, folder):
    Path("train.x").write_text(text)
    with pytest.raises(UserError, match=r"give more text|too high|has no words"):
        learn(options)
    assert not Path("codes").exists()


def test_sentencepiece_learns_from_long_lines_too(folder):
    Path("train.x").write_text("low low\n" + "zebra " * 1000 + "\n")
    learn(["--method", "sentencepiece", "--vocabulary-size", "17"])
    assert apply("zebra\n") == "▁zebra\n"
