"""Refuse to binarize a text with a dictionary that has none of its words.

``fairseq-preprocess`` replaces unknown words by ``<unk>`` and only logs their number, even if all
words are unknown, as with the other side's dictionary or a ``--thresholdsrc`` above every count.
The patch checks the first words of the first text of each side.
"""

import itertools
from typing import Any, Callable, Iterator

from fairseq_cli import preprocess

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.conveniences.parallel_texts import texts_of
from fairseq_outlayers.patches.replacing import replaces

FIRST = 10_000  # words


# The step that binarizes a side.
@replaces(preprocess, "_make_all")
def _refuse_unknown_text(stock: Callable[..., Any], lang: Any, vocab: Any, args: Any) -> Any:
    texts = next(texts_of(args), [])
    path = next((text for text in texts if not lang or text.endswith(f".{lang}")), None)
    if path is not None:
        check_words(path, vocab)
    return stock(lang, vocab, args)


def check_words(path: str, dictionary: Any) -> None:
    """Compare the first words of a text with a dictionary.

    Raises:
        UserError: if the text has no words, or the dictionary none of them.
    """
    words = list(itertools.islice(_words(path), FIRST))
    if not words:
        raise UserError(f"{path}: has no words, only empty lines")
    if not any(word in dictionary for word in words):
        raise UserError(
            f"{path}: the dictionary has none of its first {len(words):,} words ({words[0]!r}, "
            "...), so they would become <unk>. Is it the other side's dictionary, or is "
            "--nwords... or --threshold... too strict?"
        )


def _words(path: str) -> Iterator[str]:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            yield from line.split()
