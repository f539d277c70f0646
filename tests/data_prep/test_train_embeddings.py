"""Vectors trained on text: what is written can be read, and says what it should."""

from itertools import chain

import numpy as np
import pytest

import extract_embeddings
import train_embeddings

pytest.importorskip("gensim")

OPTIONS = ["--dimensions", "8", "--min-count", "2", "--epochs", "20"]


@pytest.fixture
def text(tmp_path):
    lines = ["the cat sleeps", "the dog sleeps", "a cat runs", "a dog runs", "once"] * 20
    (tmp_path / "mono.en").write_text("\n".join([*lines, "hapax"]) + "\n")
    (tmp_path / "train").write_text("the cat cats\n")
    return tmp_path


def test_two_runs_write_the_same_vectors_of_the_frequent_words(text, command):
    for name in ("one.vec", "two.vec"):
        process = command("train_embeddings", "--input", "mono.en", "--output", name, *OPTIONS)
        assert process.returncode == 0, process.stderr
    assert (text / "one.vec").read_bytes() == (text / "two.vec").read_bytes()
    first, *lines = (text / "one.vec").read_text().splitlines()
    assert first == "7 8"
    words = {line.split()[0] for line in lines}
    assert words == {"the", "a", "cat", "dog", "sleeps", "runs", "once"}


@pytest.mark.parametrize("more", [["--method", "cbow"], ["--seed", "2"], ["--window", "1"]])
def test_an_option_of_training_changes_the_vectors(text, monkeypatch, more):
    monkeypatch.chdir(text)
    for name, given in (("a.vec", []), ("b.vec", more)):
        train_embeddings.main(["--input", "mono.en", "--output", name, *OPTIONS, *given])
    assert (text / "a.vec").read_bytes() != (text / "b.vec").read_bytes()


def test_the_words_of_a_long_line_are_all_trained_on(tmp_path):
    from gensim.models.word2vec import MAX_WORDS_IN_BATCH

    words = [f"w{number}" for number in range(2 * MAX_WORDS_IN_BATCH + 3)]
    (tmp_path / "mono.en").write_text(f"{' '.join(words)}\n\na b\n")
    sentences = list(train_embeddings.Sentences([tmp_path / "mono.en"], 1))
    assert list(chain.from_iterable(sentences)) == [*words, "a", "b"]
    assert max(map(len, sentences)) == MAX_WORDS_IN_BATCH
    assert sentences[-1] == ["a", "b"]


def test_a_fasttext_model_makes_vectors_of_unknown_words(text, monkeypatch, capsys):
    monkeypatch.chdir(text)
    model = "--input mono.en --output model.bin --method fasttext --buckets 99".split()  # noqa: SIM905
    train_embeddings.main([*model, *OPTIONS])
    (text / "test").write_text("sleepers\n")
    table = "--vectors model.bin --train train --text test --output out --precision fp32"
    extract_embeddings.main(table.split())
    from gensim.models.fasttext import load_facebook_vectors

    model = load_facebook_vectors(str(text / "model.bin"))
    assert "sleepers" not in model.key_to_index
    words = [line.split()[0] for line in (text / "out.dict.txt").read_text().splitlines()]
    rows = dict(zip(words, np.load(text / "out.npy")[4:], strict=True))
    for word in ("cat", "cats", "sleepers", "runs"):
        np.testing.assert_allclose(rows[word], model.get_vector(word), rtol=1e-6)
    assert "from subwords           1 tokens (100.00%)" in capsys.readouterr().out


def test_a_fasttext_model_without_ngrams_has_no_vectors_of_unknown_words():
    """As of supervised training, where gensim raises a KeyError."""
    fasttext = pytest.importorskip("gensim.models.fasttext", reason="needs the extra embed")
    from lib.vector_formats import FastTextVectors

    vectors = FastTextVectors.__new__(FastTextVectors)
    vectors.vectors = fasttext.FastTextKeyedVectors(4, 3, 6, 0)
    vectors.vectors.add_vectors(["cat"], np.ones((1, 4), np.float32))
    assert vectors.compose("dog") is None


def test_a_word_without_ngrams_has_no_vector_from_subwords():
    """Facebook's models of 157 languages have n-grams of five characters only."""
    fasttext = pytest.importorskip("gensim.models.fasttext", reason="needs the extra embed")
    from lib.vector_formats import FastTextVectors

    vectors = FastTextVectors.__new__(FastTextVectors)
    vectors.vectors = fasttext.FastTextKeyedVectors(4, 5, 5, 10)
    vectors.vectors.vectors_ngrams = np.ones((10, 4), np.float32)
    assert vectors.compose("zq") is None  # <zq> has four
    np.testing.assert_allclose(vectors.compose("dog"), np.ones(4))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--input mono.en --output v.txt", "must end in .vec or .bin"),
        ("--input mono.en --output v.bin --method cbow", "only fasttext makes vectors from"),
        ("--input mono.en --output v.vec --min-count 1000", "no word occurs --min-count 1000"),
        ("--input none.en --output mono.en.vec", "none.en: no such file"),
        ("--input mono.en --input mono.en --output v.vec", "--input: given twice"),
    ],
)
def test_what_cannot_be_trained_is_refused(text, command, one_error_line, contents, options, said):
    before = contents()
    process = command("train_embeddings", *options.split())
    assert said in one_error_line(process)
    assert contents() == before
