"""Tokenization: words stay words, lines stay in step, filters drop pairs together."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from lib import workers

import tokenize_corpus
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.plan import Side, Text, partition

MIRROR = Path(os.environ.get("OUTLAYERS_DATA") or "not set")


@pytest.fixture
def tokenize(tmp_path, monkeypatch, capsys):
    """Tokenize texts given by language; returns the written texts and the report."""
    monkeypatch.chdir(tmp_path)

    def run(texts, *options):
        for language, text in texts.items():
            (tmp_path / f"in.{language}").write_bytes(text.encode())
        arguments = ["--input", "in", "--output", "out/x", "--languages", *texts, *options]
        tokenize_corpus.main(arguments)
        written = {language: Path(f"out/x.{language}").read_bytes().decode() for language in texts}
        return written, capsys.readouterr().out

    return run


def test_words_are_separated_and_never_escaped(tokenize):
    written, _ = tokenize({"en": 'Don\'t say "a < b & c|d [e]", Mr. Fox.\n'})
    assert written["en"] == 'Don \'t say " a < b & c | d [ e ] , " Mr. Fox .\n'


def test_punctuation_is_normalised_unless_told_otherwise(tokenize):
    text = {"de": "Er sagt „Ja“ \u2013 sie \u201anein\u2018 …\n"}
    assert tokenize(text)[0]["de"] == "Er sagt \" Ja \" - sie ' nein ' ...\n"
    kept, _ = tokenize(text, "--no-punctuation-normalization")
    assert kept["de"] == "Er sagt „ Ja “ \u2013 sie \u201a nein \u2018 …\n"


def test_lowercase_reaches_letters_beyond_ascii(tokenize):
    assert tokenize({"de": "ÄRGER ÜBER ÖL\n"}, "--lowercase")[0]["de"] == "ärger über öl\n"


@pytest.mark.parametrize(
    "space", ["\u2028", "\x85", "\r", "\t", "\x0b", "\x1e", "\u00a0", "\u3000"]
)
def test_white_space_of_any_kind_separates_words_and_never_lines(tokenize, space):
    written, _ = tokenize({"en": f"one{space}two\nthree\n", "de": "eins\ndrei\n"})
    assert written == {"en": "one two\nthree\n", "de": "eins\ndrei\n"}


def test_windows_text_becomes_unix_text(tokenize):
    assert tokenize({"en": "\ufeffone.\r\n\r\ntwo"})[0]["en"] == "one .\n\ntwo\n"


def test_without_filters_every_line_is_kept_in_order(tokenize):
    lines = ["", "b", "a " * 300, "   ", "c"]
    written, report = tokenize({"en": "\n".join(lines) + "\n"})
    assert [line.split() for line in written["en"].split("\n")[:-1]] == [x.split() for x in lines]
    assert "kept 5 of 5 lines\nwrote out/x.en (5 lines, 302 tokens)\n" in report


def test_filters_keep_exactly_the_pairs_that_a_naive_loop_keeps(tokenize):
    pairs = [("a " * n, "b " * m) for n in range(9) for m in range(9)]
    texts = {
        language: "\n".join(pair[i] for pair in pairs) + "\n" for i, language in enumerate("xy")
    }
    written, report = tokenize(texts, "--drop-empty", "--max-length", "6", "--max-ratio", "1.5")
    expected = [
        (n, m)
        for n in range(9)
        for m in range(9)
        if n > 0 and m > 0 and n <= 6 and m <= 6 and n / m <= 1.5 and m / n <= 1.5
    ]
    lengths = [[len(line.split()) for line in written[side].split("\n")[:-1]] for side in "xy"]
    assert list(zip(*lengths, strict=True)) == expected
    assert f"kept {len(expected)} of 81 pairs" in report
    too_unequal = sum(max(n, m) > 1.5 * min(n, m) for n in range(1, 7) for m in range(1, 7))
    reasons = f"17 empty, {too_unequal} length ratio above 1.5, 28 longer than 6 tokens"
    assert f"(dropped: {reasons})" in report


def test_ratio_alone_drops_a_pair_with_one_empty_side_and_keeps_a_pair_of_two(tokenize):
    written, _ = tokenize({"x": "a\n\nc\n", "y": "\n\nd\n"}, "--max-ratio", "9")
    assert written == {"x": "\nc\n", "y": "\nd\n"}


def test_number_of_workers_changes_nothing(tokenize):
    texts = {
        x: "".join(f"{x} line {i}, {'w ' * (i % 7)}.\n" for i in range(900)) for x in ("en", "de")
    }
    alone = tokenize(texts, "--max-length", "9")
    assert tokenize(texts, "--max-length", "9", "--workers", "3") == alone


def test_blocks_join_in_order(tokenize, monkeypatch):
    monkeypatch.setattr(workers, "BLOCK_LINES", 7)
    monkeypatch.setattr(workers, "CHUNK_LINES", 2)
    lines = "".join(f"{i}\n" for i in range(31))
    assert tokenize({"en": lines}, "--workers", "3")[0]["en"] == lines


def test_rerun_writes_the_same_bytes(tokenize):
    texts = {"en": "One, two.\n", "de": "Eins, zwei.\n"}
    assert tokenize(texts) == tokenize(texts)


def test_filters_that_drop_everything_are_an_error_with_reasons(tokenize):
    with pytest.raises(UserError, match=r"in.x: kept 0 of 2 .*1 empty, 1 longer than 2 tokens"):
        tokenize({"x": "\na b c\n"}, "--drop-empty", "--max-length", "2")
    assert not Path("out").exists()


@pytest.mark.skipif(
    not (MIRROR / "multi30k/train.de.gz").is_file(), reason="OUTLAYERS_DATA has no multi30k"
)
def test_multi30k_has_its_known_numbers_of_tokens_and_types(tokenize):
    text = gzip.decompress((MIRROR / "multi30k/train.de.gz").read_bytes()).decode()
    written, _ = tokenize({"de": text}, "--lowercase")
    words = written["de"].split()
    assert (len(words), len(set(words))) == (360_706, 18_722)


@pytest.mark.skipif(
    not (MIRROR / "multi30k/train.de.gz").is_file(), reason="OUTLAYERS_DATA has no multi30k"
)
def test_german_captions_have_the_known_numbers_of_partitions(tokenize):
    text = gzip.decompress((MIRROR / "multi30k/train.de.gz").read_bytes()).decode()
    written, _ = tokenize({"de": text}, "--lowercase")
    numbers = {"</s>": 0}
    rows = [
        [*(numbers.setdefault(word, len(numbers)) for word in line.split()), 0]
        for line in written["de"].splitlines()
    ]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    text = Text(np.concatenate(rows).astype(np.int32), starts)
    found = [
        len(partition([Side(text, len(numbers), most, [0], "target")], np.arange(len(rows)))) - 1
        for most in (300, 500, 1000, 2000, 4000, 8000)
    ]
    assert found == [504, 249, 93, 34, 12, 4]
