"""Tables about external words, by a corpus of five sentences worked out by hand."""

import numpy as np
import pytest

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.analysis.external_words import (
    Amount,
    SourceWords,
    UnknownSymbols,
    one_sided,
    unknown_symbols,
    unknown_words,
)
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tables.external_table import ExternalTable
from tests.conftest import make_dictionary, write_external_table

# w0 and w1 are in the internal vocabulary; w1 and w3 have no vector; x is in neither.
SENTENCES = ["w0 w1", "w0 w2 w2", "w3 w3", "x", "w1 x w0"]


@pytest.fixture
def table_path(tmp_path):
    dictionary = make_dictionary(4)
    dictionary.save(str(tmp_path / "dict.en.txt"))
    rows = np.random.RandomState(0).randn(8, 2).astype(np.float16)
    rows[[dictionary.index("w1"), dictionary.index("w3")]] = rows[dictionary.unk()]
    return write_external_table(tmp_path / "t.npy", dictionary, rows)


@pytest.fixture
def words(table_path):
    dictionary = make_dictionary(4)
    return SourceWords(dictionary, 6, ExternalTable(table_path, dictionary))


@pytest.fixture
def sentences():
    return [sentence.split() for sentence in SENTENCES]


def test_words_unknown_to_each_side_are_counted_by_tokens_and_types(words, sentences):
    assert unknown_words(sentences, words) == {
        "internal": Amount(tokens=6, types=3),  # w2 w2 w3 w3 x x
        "external": Amount(tokens=6, types=3),  # w1 w3 w3 x w1 x
        "both": Amount(tokens=4, types=2),  # w3 w3 x x
    }


def test_words_unknown_to_both_are_never_more_than_to_either(words, sentences):
    found = unknown_words(sentences, words)
    for measure in ("tokens", "types"):
        both, *either = (getattr(found[side], measure) for side in ("both", "internal", "external"))
        assert both <= min(either)


def test_unknown_symbols_are_counted_with_their_sentences():
    translations = [["a", "<unk>", "<unk>"], ["b"], ["<unk>"]]
    assert unknown_symbols(translations) == UnknownSymbols(symbols=3, sentences=2)


def test_examples_have_a_word_that_one_side_alone_knows(words, sentences):
    found = [
        (example.number, example.word, example.unknown_to)
        for example in one_sided(sentences, words)
    ]
    assert found == [(0, "w1", "external"), (1, "w2", "internal"), (4, "w1", "external")]


def test_a_sentence_with_a_word_of_either_side_is_an_example_of_both(words):
    sentences = [line.split() for line in ("w1 w2 w1 w2", "x w2 w1")]
    found = [(one.number, one.word, one.unknown_to) for one in one_sided(sentences, words)]
    assert found == [
        (0, "w1", "external"), (0, "w2", "internal"),
        (1, "w2", "internal"), (1, "w1", "external"),
    ]  # fmt: skip


def test_the_command_prints_tables_and_examples_side_by_side(tmp_path, table_path, capsys):
    (tmp_path / "test.en").write_text("\n".join(SENTENCES) + "\n")
    (tmp_path / "mix").write_text("A <unk>\nA B B\nC\nD\nE\n")
    line = f"--dictionary {tmp_path}/dict.en.txt --internal-vocabulary 6 "
    line += f"--external-embeddings {table_path} --source {tmp_path}/test.en --translations"
    main(["external-words", *line.split(), f"mix={tmp_path}/mix"])
    printed = capsys.readouterr().out
    assert "| internal | 6 | 3 |" in printed
    assert "| mix | 1 | 1 |" in printed
    assert "- line 2, **w2**: w0 w2 w2\n  - mix: A B B\n" in printed
    (tmp_path / "short").write_text("A\n")
    with pytest.raises(UserError, match=r"short:1: last of 1 lines, but .*test\.en has 5"):
        main(["external-words", *line.split(), f"short={tmp_path}/short"])


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--internal-vocabulary 300", "w0 w1", "--internal-vocabulary 300: .* 8 symbols"),
        ("", "", "src: has no words"),
    ],
)
def test_what_would_give_a_table_of_zeros_is_refused(tmp_path, table_path, option, text, message):
    (tmp_path / "src").write_text(f"{text}\n")
    line = f"--dictionary {tmp_path}/dict.en.txt --external-embeddings {table_path}"
    with pytest.raises(UserError, match=message):
        main(["external-words", *f"{line} --source {tmp_path}/src {option}".split()])
