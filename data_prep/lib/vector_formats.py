"""Word vector formats of ``extract_embeddings.py``.

    vec         text with a header "COUNT DIMENSIONS" (fastText's .vec, word2vec's text)
    glove       text without a header
    word2vec    binary with the same header
    fasttext    fastText's binary model, read by gensim; composes vectors of unknown words
    model2vec   a folder with model.safetensors and tokenizer.json, or the path of the former

The first three are read as a stream and may be compressed (.gz).
"""

import mmap
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from lib.model2vec_files import Model2VecVectors
from lib.vector_files import (
    BLOCK_WORDS,
    LONGEST_WORD,
    BinaryVectors,
    Block,
    TextVectors,
    VectorFile,
    checked_block,
    header_of,
    open_vectors,
)

from fairseq_outlayers.errors import UserError

FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")
ARGUMENTS = 12 * 4 + 8  # bytes of fastText's arguments: 12 integers and a double


class FastTextVectors:
    """fastText's binary model, loaded into memory by gensim."""

    def __init__(self, path: Path):
        if path.suffix == ".gz":
            raise UserError(
                f"{path}: fastText's binary format is read only uncompressed: gunzip it first"
            )
        try:
            from gensim.models.fasttext import load_facebook_vectors  # slow to import
        except ImportError:
            raise UserError(
                f"{path}: fastText's binary format needs gensim: pip install gensim"
            ) from None
        _check_words(path)
        try:
            self.vectors = load_facebook_vectors(str(path))
        except Exception as error:  # gensim raises many types of errors for damaged files
            raise UserError(f"{path}: gensim cannot read it ({error}); fetch it again") from None
        self.path = path
        self.dimensions = self.vectors.vector_size

    def blocks(self) -> Iterator[Block]:
        words = self.vectors.index_to_key
        for start in range(0, len(words), BLOCK_WORDS):
            block = words[start : start + BLOCK_WORDS]
            rows = self.vectors.vectors[start : start + BLOCK_WORDS]
            yield checked_block([f"{self.path}: word {word!r}" for word in block], block, rows)

    def compose(self, word: str) -> np.ndarray | None:
        # Without n-grams (-maxn 0), only the words of the file have vectors.
        vector = self.vectors.get_vector(word) if self.vectors.bucket else None
        # A word that is shorter than every n-gram has the sum of none.
        return None if vector is None or not vector.any() else vector


def _check_words(path: Path) -> None:
    """Reject a model that is truncated within its words: gensim would not return.

    The words follow the magic number and the version (new models only), the arguments, three counts
    of 4 bytes and one of 8, and the size of the pruned index (8 bytes, new models only). Each word
    is terminated by a zero and followed by a count of 8 bytes and a type of 1 byte.
    """
    if path.stat().st_size == 0:
        raise UserError(f"{path}: is empty")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        is_new = data[:4] == FASTTEXT_MAGIC
        counts = ARGUMENTS + 8 * is_new
        position = counts + 12 + 8 + 8 * is_new
        for number in range(int.from_bytes(data[counts : counts + 4], "little", signed=True)):
            end = data.find(b"\0", position)
            if end < 0:
                raise UserError(f"{path}: ends within word {number + 1}; fetch it again")
            position = end + 1 + 8 + 1


FORMATS: dict[str, Callable[[Path], VectorFile]] = {
    "vec": lambda path: TextVectors(path, has_header=True),
    "glove": lambda path: TextVectors(path, has_header=False),
    "word2vec": BinaryVectors,
    "fasttext": FastTextVectors,
    "model2vec": Model2VecVectors,
}


def detect_format(path: Path) -> str:
    """Detect the format of a file by its first bytes and its name."""
    if path.is_dir() or path.suffix == ".safetensors":
        return "model2vec"
    with open_vectors(path) as file:
        first = file.readline(LONGEST_WORD).removeprefix(BOM_UTF8)
    if first.startswith(FASTTEXT_MAGIC):
        return "fasttext"
    if header_of(first, path) is None:
        return "glove"
    return "word2vec" if path.name.removesuffix(".gz").endswith(".bin") else "vec"
