"""The formats of word vectors that ``extract_embeddings.py`` reads.

    vec         text with a header "COUNT DIMENSIONS" (fastText's .vec, word2vec's text)
    glove       text without a header
    word2vec    binary with the same header
    fasttext    fastText's binary model, through gensim; has vectors for unknown words too
    model2vec   a folder with model.safetensors and tokenizer.json, or the first of these

The first three are read as a stream; text may be compressed (.gz).
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from fairseq_outlayers.errors import UserError
from model2vec_files import Model2VecVectors
from vector_files import (
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

FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")


class FastTextVectors:
    """fastText's own binary model; gensim holds the whole of it in memory."""

    def __init__(self, path: Path):
        try:
            from gensim.models.fasttext import load_facebook_vectors  # slow to import
        except ImportError:
            raise UserError(
                f"{path}: fastText's binary format needs gensim: pip install gensim"
            ) from None
        try:
            self.vectors = load_facebook_vectors(str(path))
        except Exception as error:  # gensim tells damage by many kinds of error
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
        return self.vectors.get_vector(word)


FORMATS: dict[str, Callable[[Path], VectorFile]] = {
    "vec": lambda path: TextVectors(path, has_header=True),
    "glove": lambda path: TextVectors(path, has_header=False),
    "word2vec": BinaryVectors,
    "fasttext": FastTextVectors,
    "model2vec": Model2VecVectors,
}


def detect_format(path: Path) -> str:
    """The format that a file seems to have, by its first bytes and its name."""
    if path.is_dir() or path.suffix == ".safetensors":
        return "model2vec"
    with open_vectors(path) as file:
        first = file.readline(LONGEST_WORD)
    if first.startswith(FASTTEXT_MAGIC):
        return "fasttext"
    if header_of(first) is None:
        return "glove"
    return "word2vec" if path.suffix == ".bin" else "vec"
