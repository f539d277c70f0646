"""Tokenize text with sacremoses (the Moses tokenizer in Python).

Words are not HTML-escaped: ``&quot;`` or ``&apos;`` would match no external word vector and would
have to be undone before scoring.
"""

import functools
from typing import Any


def tokenize(line: str, language: str, lowercase: bool = False, normalize: bool = True) -> str:
    """The tokens of a line, separated by single spaces.

    Args:
        lowercase: lower-case the line.
        normalize: replace typographic quotes, dashes and spaces.
    """
    normalizer, tokenizer = _moses(language)
    # All white space (tab, "\\r", U+0085, U+2028, ...) separates words. Done first, because
    # sacremoses deletes some of it and would join the words.
    line = " ".join(line.split())
    if normalize:
        line = normalizer.normalize(line)
    if lowercase:
        line = line.lower()
    tokens = tokenizer.tokenize(line, escape=False)
    return " ".join(" ".join(tokens).split())


@functools.cache
def _moses(language: str) -> Any:
    """The punctuation normalizer and tokenizer of a language, built once per process."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer  # slow to import

    return MosesPunctNormalizer(language), MosesTokenizer(language)
