"""Readers of this package, each with a good file, for fuzzing: a file is read, or refused."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.faults.warm import DATA_PREP


class Reader(NamedTuple):
    """What reads a file."""

    name: str
    file: str  # in the good world
    read: Callable[[Path], Any]


def readers(good: Path) -> Iterator[Reader]:
    """Every reader of a file that a user hands over."""
    import sys

    from fairseq import checkpoint_utils
    from fairseq.data import Dictionary, data_utils

    from fairseq_outlayers.decoding.translations import Translations
    from fairseq_outlayers.decoding.unk_replacement import read_translations
    from fairseq_outlayers.formats import lexicon, text
    from fairseq_outlayers.formats.dictionary import DictionaryFile
    from fairseq_outlayers.formats.subword_table import read_subword_table
    from fairseq_outlayers.samplers.proposal import read_weights
    from fairseq_outlayers.tables.external_table import ExternalTable

    sys.path.insert(0, str(DATA_PREP))
    from lib import vector_files, vector_formats
    from lib.segmentation_methods import load_segmentation as segmentation

    from fairseq_outlayers.checkpoints.unseen_words import read_descriptions

    dictionaries = [Dictionary.load(str(good / f"bin/dict.{side}.txt")) for side in ("xx", "yy")]
    external = Dictionary.load(str(good / "ext/dict.xx.txt"))

    def candidates(path: Path) -> Any:
        return Translations.load(str(path), *dictionaries)

    def table(path: Path) -> Any:
        rows = ExternalTable(str(path).removesuffix(".json"), external, checks_all=True)
        return rows.vectors(_first_ids())

    def corpus(path: Path) -> Any:
        prefix = str(path).removesuffix(".bin").removesuffix(".idx")
        dataset = data_utils.load_indexed_dataset(prefix, dictionaries[0], None)
        return dataset and [dataset[number] for number in range(len(dataset))]

    def vectors(opened: Any) -> list:
        return list(opened.blocks())

    def links(path: Path) -> Any:
        texts = [good / "train.xx", good / "train.yy"]
        text.count_parallel_lines([*texts, path])
        pairs, rows = text.read_parallel(texts), text.read_lines(path)
        return lexicon.count_links(pairs, rows, path)

    yield Reader("candidates", "candidates.npz", candidates)
    yield Reader("external table", "table.npy", table)
    yield Reader("sidecar", "table.npy.json", table)
    yield Reader("table of units", "units", read_subword_table)
    yield Reader("proposal", "proposal", lambda path: read_weights(str(path)))
    yield Reader("unk dictionary", "lexicon", lambda path: read_translations(str(path)))
    yield Reader("text", "train.xx", lambda path: list(text.read_words(str(path))))
    yield Reader("dictionary", "bin/dict.xx.txt", lambda path: Dictionary.load(str(path)))
    yield Reader("binarized text", "bin/test.xx-yy.xx.bin", corpus)
    yield Reader("index of a text", "bin/test.xx-yy.xx.idx", corpus)
    yield Reader(
        "checkpoint", "model.pt", lambda path: checkpoint_utils.load_checkpoint_to_cpu(str(path))
    )
    yield Reader("lexicon", "lexicon", lambda path: lexicon.read_lexicon(path, "fast_align"))
    yield Reader("lex.s2t", "lexicon", lambda path: lexicon.read_lexicon(path, "lex"))
    yield Reader("words of a dictionary", "bin/dict.yy.txt", DictionaryFile.read)
    yield Reader("lines", "train.yy", lambda path: list(text.read_lines(path)))
    yield Reader(
        "vec", "words.vec", lambda path: vectors(vector_files.TextVectors(path, has_header=True))
    )
    yield Reader(
        "glove",
        "words.glove",
        lambda path: vectors(vector_files.TextVectors(path, has_header=False)),
    )
    yield Reader("word2vec", "words.bin", lambda path: vectors(vector_files.BinaryVectors(path)))
    yield Reader(
        "compressed vec",
        "words.vec.gz",
        lambda path: vectors(vector_files.TextVectors(path, has_header=True)),
    )
    yield Reader(
        "fastText", "subwords.bin", lambda path: vectors(vector_formats.FastTextVectors(path))
    )
    yield Reader("codes", "codes", lambda path: segmentation(path).segment("wort xx1"))
    yield Reader("sentencepiece", "pieces", lambda path: segmentation(path).segment("wort xx1"))
    yield Reader("alignments", "links", links)
    yield Reader("descriptions", "descriptions", lambda path: read_descriptions(str(path)))


def _first_ids() -> Any:
    import torch

    return torch.arange(4)


def refusals() -> tuple:
    """What a reader may raise: the error that is addressed to users."""
    from fairseq_outlayers.errors import UserError

    return (UserError,)


class Damage(NamedTuple):
    """Bytes that take the place of others."""

    at: float  # a share of the file
    length: int  # of what is replaced
    data: bytes

    def apply(self, content: bytes) -> bytes:
        start = int(self.at * len(content))
        return content[:start] + self.data + content[start + self.length :]


INTERESTING = [
    b"",
    b"\0",
    b"\n",
    b"\r",
    b"\t",
    b" ",
    b"nan",
    b"inf",
    b"-1",
    b"1e999",
    b"\xff",
    b"\xef\xbb\xbf",
    b"99999999999999999999",
    b"\n\n",
    b"PK\x03\x04",
    b"{",
    b'"',
    b"[]",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x80",
]
damages = st.lists(
    st.builds(
        Damage,
        st.floats(0, 1),
        st.integers(0, 5) | st.just(1 << 30),
        st.sampled_from(INTERESTING) | st.binary(max_size=8),
    ),
    min_size=1,
    max_size=3,
)


def damaged(good: Path, reader: Reader, hurts: list, folder: Path) -> Path:
    """A copy of the reader's file, and of what belongs to it, with damages."""
    origin = good / reader.file
    for sibling in origin.parent.glob(f"{origin.stem.split('.')[0]}*"):
        if sibling.is_file() and not (folder / sibling.name).exists():
            os.link(sibling, folder / sibling.name)
    content = origin.read_bytes()
    for damage in hurts:
        content = damage.apply(content)
    path = folder / origin.name
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    return path


def clean(folder: Path) -> None:
    """Empty a folder."""
    shutil.rmtree(folder)
    folder.mkdir()
