"""model2vec's static vectors: a folder with ``model.safetensors`` and ``tokenizer.json``.

The tensor ``embeddings`` has a row for every token of the tokenizer or, with a tensor ``mapping``,
``mapping[token]`` is its row; a tensor ``weights`` has a factor per token. Tokens that are whole
words are listed as words. With a WordPiece tokenizer, any other word gets the mean of its pieces'
vectors, as in model2vec: it is normalized, split at punctuation if the tokenizer does that, and
parts without pieces are skipped.
"""

import json
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lib.vector_files import BLOCK_WORDS, Block, check_dimensions, checked_block

from fairseq_outlayers.errors import UserError

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
MOST_JSON = 1 << 28  # bytes; a tokenizer of half a million tokens has 40 MB
# NumPy has no bfloat16.
NUMBERS = ("F64", "F32", "F16", "I8")
REMEDY = "give a folder saved by model2vec"
SPACE = "▁"  # in SentencePiece, begins a word
Normalizer = Callable[[str], str]


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


class Tokens:
    """The vocabulary of a ``tokenizer.json``.

    Args:
        path: of the file.
    Raises:
        UserError: if it is no tokenizer of a supported type.
    """

    def __init__(self, path: Path):
        content = _read_json(path)
        try:
            model = content["model"]
            self.kind = model.get("type") or _kind_of(model)
            vocabulary = model["vocab"]
            if isinstance(vocabulary, list):  # Unigram: [token, score]
                vocabulary = {token: number for number, (token, *_) in enumerate(vocabulary)}
            self.ids = {str(token): int(number) for token, number in vocabulary.items()}
            special = [added for added in content.get("added_tokens") or () if added["special"]]
            self.special = {str(added["content"]) for added in special}
            self.prefix = str(model.get("continuing_subword_prefix") or "")
            self.suffix = str(model.get("end_of_word_suffix") or "")
            self.normalizers = _normalizers(content.get("normalizer") or {})
            self.at_punctuation = _splits_at_punctuation(content.get("pre_tokenizer") or {})
        except (
            KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError
        ) as error:  # fmt: skip
            raise UserError(
                f"{path}: not a tokenizer, or damaged ({type(error).__name__}: {error}); {REMEDY}"
            ) from None
        if self.kind not in READERS:
            raise UserError(
                f"{path}: a tokenizer of type {self.kind!r}; supported are {', '.join(READERS)}"
            )
        if min(self.ids.values(), default=0) < 0:
            raise UserError(f"{path}: a token has the number {min(self.ids.values())}; {REMEDY}")

    def word(self, token: str) -> str | None:
        """The word that a token represents; None for a subword or a special token."""
        return None if token in self.special else READERS[self.kind](self, token)

    def pieces(self, word: str) -> list[int]:
        """Tokens of the normalized word; empty if none of its parts can be tokenized."""
        if self.kind != "WordPiece":
            return []
        for normalize in self.normalizers:
            word = normalize(word)
        parts = _split_at_punctuation(word) if self.at_punctuation else [word]
        return [token for part in parts for token in self._word_pieces(part)]

    def _word_pieces(self, part: str) -> list[int]:
        """Longest match first; empty if the part cannot be tokenized."""
        rest = part
        found: list[int] = []
        while rest:
            start = self.prefix if found else ""
            end = next((n for n in range(len(rest), 0, -1) if start + rest[:n] in self.ids), 0)
            if not end:
                return []
            found.append(self.ids[start + rest[:end]])
            rest = rest[end:]
        return found


def _normalizers(settings: Any) -> list[Normalizer]:
    """The supported steps of ``normalizer`` in ``tokenizer.json``, in order."""
    kind = settings.get("type")
    if kind == "Sequence":
        return [step for part in settings["normalizers"] for step in _normalizers(part)]
    if kind in NORMALIZERS:
        return [NORMALIZERS[kind]]
    lower, strip = settings.get("lowercase"), None
    if kind == "BertNormalizer":
        strip = settings.get("strip_accents")
        strip = lower if strip is None else strip
    steps = ((strip, _without_accents), (lower, _lower))
    return [step for wanted, step in steps if wanted]


def _lower(word: str) -> str:
    # Letter by letter, as in tokenizers: str.lower would use another sigma at the end.
    return "".join(map(str.lower, word))


def _decompose(word: str) -> str:
    return unicodedata.normalize("NFD", word)


def _without_marks(word: str) -> str:
    """StripAccents: drops all combining marks, but does not decompose."""
    return "".join(letter for letter in word if unicodedata.category(letter)[0] != "M")


def _without_accents(word: str) -> str:
    """BertNormalizer: decomposes and drops the nonspacing marks only."""
    return "".join(letter for letter in _decompose(word) if unicodedata.category(letter) != "Mn")


NORMALIZERS: dict[str, Normalizer] = {
    "Lowercase": _lower,
    "NFD": _decompose,
    "StripAccents": _without_marks,
}


def _splits_at_punctuation(settings: Any) -> bool:
    """Whether ``pre_tokenizer`` makes every punctuation mark a part of its own."""
    kind = settings.get("type")
    if kind == "Sequence":
        return any(map(_splits_at_punctuation, settings["pretokenizers"]))
    if kind == "Punctuation":
        return settings.get("behavior", "Isolated") == "Isolated"
    return kind == "BertPreTokenizer"


def _split_at_punctuation(word: str) -> list[str]:
    parts = [""]
    for letter in word:
        # ASCII symbols such as $ are punctuation for BERT, but not in Unicode.
        if letter in string.punctuation or unicodedata.category(letter)[0] == "P":
            parts += [letter, ""]
        else:
            parts[-1] += letter
    return [part for part in parts if part]


def _whole(tokens: Tokens, token: str) -> str | None:
    return token


def _without_prefix(tokens: Tokens, token: str) -> str | None:
    return None if tokens.prefix and token.startswith(tokens.prefix) else token


def _after_space(tokens: Tokens, token: str) -> str | None:
    return (token[1:] or None) if token.startswith(SPACE) else None


def _of_bytes(tokens: Tokens, token: str) -> str | None:
    """A BPE token that is a whole word: with the end-of-word suffix, or with a leading space."""
    if tokens.suffix:
        return token.removesuffix(tokens.suffix) if token.endswith(tokens.suffix) else None
    if token.startswith(SPACE):
        return token[1:] or None
    data = [BYTES.get(letter) for letter in token]
    if len(data) < 2 or data[0] != ord(" ") or None in data:
        return None
    return bytes(data[1:]).decode("utf-8", "replace")  # type: ignore[arg-type]


def _bytes_by_letter() -> dict[str, int]:
    """Byte-level BPE: printable Latin-1 is unchanged, other bytes are U+0100 and following."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + n): b for n, b in enumerate(others)}


BYTES = _bytes_by_letter()
READERS = {
    "WordPiece": _without_prefix,
    "WordLevel": _whole,
    "Unigram": _after_space,
    "BPE": _of_bytes,
}


def _kind_of(model: Any) -> str:
    """The type, for old files that do not state it."""
    if isinstance(model["vocab"], list):
        return "Unigram"
    return "BPE" if "merges" in model else "WordPiece"


def _read_json(path: Path) -> Any:
    if not path.is_file():
        raise UserError(f"{path}: no such file; {REMEDY}")
    if path.stat().st_size > MOST_JSON:
        raise UserError(f"{path}: {path.stat().st_size:,} bytes is too large for a tokenizer")
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: invalid JSON ({error}); {REMEDY}") from None


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
