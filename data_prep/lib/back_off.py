"""Back-off forms of words for vector lookup, and reasons for missing vectors."""

import html
import re
from collections.abc import Callable, Iterator

DIGIT = re.compile(r"\d")
PIECE = re.compile(r"\w+|[^\w\s]")


def other_forms(word: str) -> Iterator[str]:
    """Case variants, then the same with each digit as '#' (Di Gangi & Federico 2017).

    ``Cats`` -> cats, CATS; ``1984`` -> ####; ``B2B`` -> b2b, B2b, then B#B, b#b, B#b.
    """
    seen = {word}
    for form in (word, DIGIT.sub("#", word)):
        for variant in (form, form.lower(), form.capitalize(), form.upper()):
            if variant not in seen:
                seen.add(variant)
                yield variant


def diagnose(word: str, has_vector: Callable[[str], bool]) -> tuple[str, str] | None:
    """Find a likely reason why a word has no vector.

    Args:
        has_vector: whether the table lists exactly this word.
    Returns:
        The reason and the form that has a vector; None if no reason is found.
    """

    def known(form: str) -> bool:
        return has_vector(form) or any(map(has_vector, other_forms(form)))

    plain = html.unescape(word)
    if plain != word and known(plain):
        return "escapes", plain
    joined = word.replace("@-@", "-").removesuffix("@@")
    if joined != word and known(joined):
        return "segmentation markers", joined
    pieces = PIECE.findall(word)
    if len(pieces) > 1 and all(map(known, pieces)):
        return "different tokenization", " ".join(pieces)
    return None
