"""What a format's writer wrote, its reader reads, whatever is in it."""

import string
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_outlayers.formats.candidate_file import CandidateFile
from fairseq_outlayers.formats.dictionary import DictionaryFile, fingerprint, write_dictionary
from fairseq_outlayers.formats.external_table_writer import (
    TableWriter,
    checksums,
    dictionary_facts,
    write_json,
)
from fairseq_outlayers.formats.lexicon import Lexicon, read_lexicon
from fairseq_outlayers.formats.output_file import write_together
from fairseq_outlayers.formats.subword_table import (
    read_subword_table,
    table_path,
    write_subword_table,
)
from fairseq_outlayers.formats.text import read_lines, read_words
from fairseq_outlayers.tables.external_table import ExternalTable
from tests.conftest import make_dictionary

# Words as fairseq splits them: no white space, and no other place where Python ends a line.
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Z", "Cc", "Cs"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=8,
)
# A dictionary lists no special and no word twice.
LISTED = st.lists(WORDS.filter(lambda word: word[0] not in "<#"), unique=True, max_size=12)
FILES = tempfile.TemporaryDirectory()  # removed when the tests end


def written(name, write, *others):
    """Write files into a new folder by ``write``; the path of the first."""
    folder = Path(tempfile.mkdtemp(dir=FILES.name))
    paths = [folder / name, *(folder / other for other in others)]
    with write_together(paths) as outputs:
        write(*outputs)
    return paths[0]


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(st.lists(WORDS, max_size=5), max_size=8), bom=st.booleans())
def test_lines_and_words_of_a_text(texts, bom):
    path = written("text", lambda output: [output.write_line(" ".join(row)) for row in texts])
    if bom and texts:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert list(read_words(path)) == texts
    assert list(read_lines(path)) == [" ".join(row) for row in texts]


@settings(max_examples=100, deadline=None)
@given(words=LISTED.filter(bool), data=st.data())
def test_a_dictionary_and_its_ids_are_fairseqs(words, data):
    counts = [data.draw(st.integers(0, 10**9)) for _ in words]
    path = written("dict.txt", lambda output: write_dictionary(output, words, counts))
    found, fairseqs = DictionaryFile.read(path), make_dictionary(0).load(str(path))
    assert found.symbols == fairseqs.symbols
    assert found.counts[4:].tolist() == counts
    assert fingerprint(found) == fingerprint(fairseqs)
    assert found.ids() == {word: fairseqs.index(word) for word in words}
    most = [counts[number - 4] for number in found.by_frequency()]
    assert most == sorted(counts, reverse=True)


@settings(max_examples=100, deadline=None)
@given(table=st.dictionaries(WORDS, st.lists(WORDS, min_size=1, max_size=4), max_size=8))
def test_a_subword_table_is_read_as_written(table):
    path = written("morphs", lambda output: write_subword_table(output, table))
    assert read_subword_table(path) == table
    assert table_path("a/dict.de.txt", "morphs") == Path("a/morphs.de.txt")


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_lexicon(data):
    names = st.text(string.ascii_letters, min_size=1, max_size=4)
    entries = data.draw(
        st.dictionaries(st.tuples(names, names), st.floats(1e-6, 1.0), min_size=1, max_size=12)
    )
    sources = sorted({source for source, _ in entries})
    targets = sorted({target for _, target in entries})
    lexicon = Lexicon(
        sources,
        targets,
        np.array([sources.index(source) for source, _ in entries]),
        np.array([targets.index(target) for _, target in entries]),
        np.array(list(entries.values())),
    )
    found = read_lexicon(written("lexicon", lexicon.write), "fast_align")
    words = zip(found.sources.tolist(), found.targets.tolist(), strict=True)
    read = {
        (found.source_words[s], found.target_words[t]): p
        for (s, t), p in zip(words, found.probabilities.tolist(), strict=True)
    }
    assert read.keys() == entries.keys()
    for entry, probability in entries.items():  # six digits of the logarithm
        np.testing.assert_allclose(read[entry], probability, rtol=1e-4)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_candidate_file(data):
    source, target = make_dictionary(data.draw(st.integers(0, 6))), make_dictionary(9)
    ids = st.integers(0, len(target) - 1)
    rows = [data.draw(st.lists(ids, max_size=3)) for _ in source.symbols]
    blocked = np.array(data.draw(st.lists(ids, max_size=3)), dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    targets = np.array([word for row in rows for word in row], dtype=np.int64)
    given_lists = CandidateFile(offsets, targets, blocked, 3)
    path = written("c.npz", lambda output: given_lists.write(output, source, target))
    *found, per_word = CandidateFile.read(str(path), source, target)
    for array, expected in zip(found, (offsets, targets, blocked), strict=True):
        assert array.tolist() == expected.tolist()
    assert per_word == 3


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_an_external_table_written_in_any_order(data):
    words, dimensions = data.draw(st.integers(0, 30)), data.draw(st.integers(1, 4))
    dictionary = make_dictionary(words)
    rows = np.random.RandomState(words).randn(len(dictionary), dimensions).astype(np.float32)
    order = data.draw(st.permutations(range(len(dictionary))))

    def write(output, sidecar):
        writer = TableWriter(output, dimensions, np.dtype("<f4"))
        for part in np.array_split(order, 3):
            writer.write_rows([int(row) for row in part], rows[part])
        writer.finish(len(dictionary))
        output.file.flush()
        facts = {"rows": len(rows), "dimensions": dimensions}
        facts["dictionary"] = dictionary_facts(dictionary.symbols)
        write_json(sidecar, {**facts, **checksums(output.temporary)})

    path = written("t.npy", write, "t.npy.json")
    table = ExternalTable(str(path), dictionary, checks_all=True)
    ids = torch.arange(len(dictionary))
    assert torch.equal(table.vectors(ids), torch.from_numpy(rows))
    assert table.version >> 32 == len(rows)


def test_a_fingerprint_takes_anything_that_has_symbols():
    words = SimpleNamespace(symbols=["a", "b"])
    assert fingerprint(words) >> 32 == 2
