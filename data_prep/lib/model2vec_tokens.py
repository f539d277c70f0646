"""The tokens of a ``tokenizer.json``, as model2vec reads words with them.

With a WordPiece tokenizer, a word that is no token has pieces: it is normalized, split at
punctuation if the tokenizer does that, and parts without pieces are skipped.
"""

import json
import string
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairseq_outlayers.errors import UserError

MOST_JSON = 1 << 28  # bytes; a tokenizer of half a million tokens has 40 MB
REMEDY = "give a folder saved by model2vec"
SPACE = "▁"  # in SentencePiece, begins a word
Normalizer = Callable[[str], str]


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
