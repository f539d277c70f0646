"""Coverage of a text by a training vocabulary and a vector table, in tokens and types."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lib.back_off import diagnose

EXAMPLES = 8  # words shown of each kind

# How a word gets a vector.
OWN, BY_FORM, COMPOSED, NONE = "own vector", "by another form", "from subwords", "none"


@dataclass(frozen=True)
class Coverage:
    """The words of a text, by what covers them.

    Attributes:
        counts: occurrences of each word in the text.
        source: how each word gets a vector.
        internal: the words of the training vocabulary.
    """

    name: str
    counts: Counter[str]
    source: Callable[[str], str]
    internal: Callable[[str], bool]

    def lines(self) -> Iterator[str]:
        """The report: shares by kind of vector, then words unknown to the model or to both."""
        yield f"{self.name}: {self._amount(lambda _: True)}"
        for kind in (OWN, BY_FORM, COMPOSED, NONE):
            if any(self.source(word) == kind for word in self.counts):
                yield f"  vector: {kind:<15} {self._share(lambda w, k=kind: self.source(w) == k)}"
        yield f"  unknown to the training words {self._share(self._unseen)}"
        yield f"  unknown to both               {self._share(self._unknown_to_both)}"

    def _unseen(self, word: str) -> bool:
        return not self.internal(word)

    def _unknown_to_both(self, word: str) -> bool:
        return self._unseen(word) and self.source(word) == NONE

    def _tokens_and_types(self, chosen: Callable[[str], bool]) -> tuple[int, int]:
        found = [count for word, count in self.counts.items() if chosen(word)]
        return sum(found), len(found)

    def _amount(self, chosen: Callable[[str], bool]) -> str:
        tokens, types = self._tokens_and_types(chosen)
        return f"{tokens:,} tokens, {types:,} types"

    def _share(self, chosen: Callable[[str], bool]) -> str:
        tokens, types = self._tokens_and_types(chosen)
        all_tokens, all_types = max(self.counts.total(), 1), max(len(self.counts), 1)
        return (
            f"{tokens:>9,} tokens ({tokens / all_tokens:6.2%}), "
            f"{types:>7,} types ({types / all_types:6.2%})"
        )


def failures(
    counts: Counter[str], source: Callable[[str], str], has_vector: Callable[[str], bool]
) -> Iterator[str]:
    """Report words without a vector: first those with a known reason, then the others."""
    groups: dict[str, list[str]] = {}
    for word, count in counts.most_common():
        if source(word) in (OWN, BY_FORM):
            continue
        found = diagnose(word, has_vector)
        if found:
            reason, instead = found
            groups.setdefault(reason, []).append(f"{word} ({count}; known: {instead})")
        elif source(word) == NONE:
            groups.setdefault("unknown reason", []).append(f"{word} ({count})")
    for reason in sorted(groups, key=lambda reason: reason == "unknown reason"):
        shown = ", ".join(groups[reason][:EXAMPLES])
        more = ", ..." if len(groups[reason]) > EXAMPLES else ""
        yield f"  without a vector, {reason}: {len(groups[reason]):,} types: {shown}{more}"
