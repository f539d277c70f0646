"""model2vec's static vectors: a folder with ``model.safetensors`` and ``tokenizer.json``.

The tensor ``embeddings`` has a row for every token of the tokenizer or, with a tensor ``mapping``,
``mapping[token]`` is its row; a tensor ``weights`` has a factor per token. Tokens that are whole
words are listed as words. With a WordPiece tokenizer, any other word gets the mean of its pieces'
vectors, as in model2vec (`model2vec_tokens`).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lib.model2vec_tokens import REMEDY, Tokens
from lib.vector_files import BLOCK_WORDS, Block, check_dimensions, checked_block

from fairseq_outlayers.errors import UserError

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
# NumPy has no bfloat16.
NUMBERS = ("F64", "F32", "F16", "I8")


class Model2VecVectors:
    """The vectors of a model2vec folder, or of the ``model.safetensors`` in it.

    Raises:
        UserError: if a file is missing, damaged or inconsistent.
    """

    def __init__(self, path: Path):
        folder = path if path.is_dir() else path.parent
        self.path = folder / WEIGHTS if path.is_dir() else path
        self.tokens = Tokens(folder / TOKENIZER)
        self.skipped: Counter[str] = Counter()
        self.tensors = _open(self.path)
        self.embeddings = self._tensor("embeddings", 2, NUMBERS)
        size, self.dimensions = self.embeddings.get_shape()
        check_dimensions(self.dimensions, str(self.path))
        last = max(self.tokens.ids.values(), default=-1)
        mapping, weights = (
            self._numbers("mapping", last, ("I64", "I32")),
            self._numbers("weights", last, NUMBERS),
        )
        largest = last if mapping is None else int(mapping[: last + 1].max(initial=-1))
        # Before any allocation: a malicious file may ask for 10^15 rows.
        if largest >= size or (mapping is not None and mapping.min(initial=0) < 0):
            raise UserError(
                f"{self.path}: embeddings of {size:,} rows, but {TOKENIZER} asks for row "
                f"{largest:,}: they belong to different models; {REMEDY}"
            )
        self.rows = np.arange(last + 1) if mapping is None else mapping[: last + 1]
        self.factors = np.ones(last + 1) if weights is None else weights[: last + 1]

    def blocks(self) -> Iterator[Block]:
        words, ids = [], []
        for token, number in sorted(self.tokens.ids.items(), key=lambda item: item[1]):
            word = self.tokens.word(token)
            if word is None:
                self.skipped["tokens that are not whole words"] += 1
                continue
            words.append(word)
            ids.append(number)
        for start in range(0, len(words), BLOCK_WORDS):
            part, numbers = words[start : start + BLOCK_WORDS], ids[start : start + BLOCK_WORDS]
            places = [f"{self.path}: word {word!r}" for word in part]
            yield checked_block(places, part, self._vectors(numbers))

    def compose(self, word: str) -> np.ndarray | None:
        pieces = self.tokens.pieces(word)
        return self._vectors(pieces).mean(0) if pieces else None

    def _vectors(self, tokens: list[int]) -> np.ndarray:
        """``(tokens, dimensions)``, float32; nearby rows are read in one slice."""
        rows = self.rows[tokens]
        low, high = int(rows.min()), int(rows.max())
        if high - low < 4 * len(rows) + BLOCK_WORDS:
            found = self.embeddings[low : high + 1][rows - low]
        else:
            found = np.stack([self.embeddings[int(row) : int(row) + 1][0] for row in rows])
        with np.errstate(over="ignore", invalid="ignore"):
            return (found.astype(np.float64) * self.factors[tokens][:, None]).astype(np.float32)

    def _tensor(self, name: str, rank: int, kinds: tuple[str, ...]) -> Any:
        if name not in self.tensors.keys():  # noqa: SIM118 (no dictionary)
            raise UserError(f"{self.path}: no tensor {name!r}; {REMEDY}")
        tensor = self.tensors.get_slice(name)
        if len(tensor.get_shape()) != rank or tensor.get_dtype() not in kinds:
            raise UserError(
                f"{self.path}: {name} is {tensor.get_dtype()} of {len(tensor.get_shape())} "
                f"dimensions, expected {rank} and one of {', '.join(kinds)}"
            )
        return tensor

    def _numbers(self, name: str, last: int, kinds: tuple[str, ...]) -> np.ndarray | None:
        """A tensor with a number per token, or None if the file lacks it."""
        if name not in self.tensors.keys():  # noqa: SIM118 (no dictionary)
            return None
        (length,) = self._tensor(name, 1, kinds).get_shape()
        if length <= last:
            raise UserError(
                f"{self.path}: {name} of {length:,} numbers, but the tokenizer has {last + 1:,} "
                f"tokens: they belong to different models; {REMEDY}"
            )
        return self.tensors.get_tensor(name)


def _open(path: Path) -> Any:
    """The tensors of a file, not loaded."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; {REMEDY}")
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise UserError(f"{path}: this format needs safetensors: pip install safetensors") from None
    try:
        return safe_open(str(path), framework="np")
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: not a safetensors file, or damaged ({error}); {REMEDY}") from None
