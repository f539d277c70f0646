"""Word alignment of a translation with its reference, in as few chunks as possible."""

from collections import Counter
from itertools import pairwise
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

# How many choices of reference positions are followed at once: first few (METEOR: 40), which is
# exact for most sentences, then many, without those that cannot become better than the first.
WIDTHS = (40, 1000)


class Alignment(NamedTuple):
    """The outcome of matching two sentences word by word."""

    matches: int
    chunks: int
    exact: bool  # whether it is certain that no choice of matches has fewer chunks


def align(
    hypothesis: Sequence[str], reference: Sequence[str], widths: Sequence[int] = WIDTHS
) -> Alignment:
    """Matches of equal words, as many as possible; among these, the fewest chunks.

    A chunk is a run of matches that is contiguous and in the same order on both sides (METEOR,
    Denkowski & Lavie 2014). A word that occurs ``m`` and ``n`` times matches ``min(m, n)`` times;
    which occurrences match decides the chunks.

    The search goes through the hypothesis word by word and keeps, for every set of reference
    positions used so far, the fewest chunks. A choice with one chunk more than another with the
    same set can be dropped whatever its last match was: the other one catches up by opening one
    chunk. The result is therefore exact until there are more sets than ``widths`` allows.

    Args:
        hypothesis: words.
        reference: words.
        widths: how many sets to keep, one search each, as long as the result is not exact.
    """
    matches = (Counter(hypothesis) & Counter(reference)).total()
    chunks, exact = matches, matches <= 1  # at worst, every match is a chunk
    for width in widths:
        if not exact:
            found, exact = _Search(hypothesis, reference).fewest_chunks(width, chunks)
            chunks = min(chunks, found)
    return Alignment(matches, chunks, exact)


class _Best(NamedTuple):
    """The fewest chunks of a choice, and the reference positions that would continue one."""

    chunks: int
    continuations: Set[int]


# By the set of reference positions used, as bits; those never asked for again are cleared.
_Choices = Dict[int, _Best]


class _Search:
    """What is known of two sentences beforehand: places of words, and chunks that must begin."""

    def __init__(self, hypothesis: Sequence[str], reference: Sequence[str]):
        self.hypothesis = hypothesis
        self.places: Dict[str, List[int]] = {word: [] for word in hypothesis}
        for place, word in enumerate(reference):
            if word in self.places:
                self.places[word].append(place)
        self.bits = {word: sum(1 << place for place in self.places[word]) for word in self.places}
        counts = Counter(hypothesis)
        self.surplus = {word: max(0, counts[word] - len(self.places[word])) for word in counts}
        self.last = {word: position for position, word in enumerate(hypothesis)}
        self.forced = self._forced_chunks(set(pairwise(reference)))

    def _forced_chunks(self, reference_pairs: Set[Tuple[str, str]]) -> List[int]:
        """How many chunks begin at or after each position of the hypothesis, at the least.

        A word all of whose occurrences match begins a chunk unless the reference, too, has it after
        the word before it.
        """
        begins = [
            not self.surplus[word]
            and (position == 0 or (self.hypothesis[position - 1], word) not in reference_pairs)
            for position, word in enumerate(self.hypothesis)
        ]
        forced = [0]
        for begin in reversed(begins):
            forced.append(forced[-1] + begin)
        return forced[::-1]

    def fewest_chunks(self, width: int, known: int) -> Tuple[int, bool]:
        """The fewest chunks, or ``known`` if that is not more; and whether this is exact."""
        choices: _Choices = {0: _Best(0, set())}
        exact = True
        seen: Counter[str] = Counter()
        for position, word in enumerate(self.hypothesis):
            choices = self._extend(choices, position, seen[word])
            seen[word] += 1
            limit = known - self.forced[position + 1]
            choices = {used: best for used, best in choices.items() if best.chunks < limit}
            if len(choices) > width:
                exact = False
                fewest = sorted(choices.items(), key=lambda item: item[1].chunks)
                choices = dict(fewest[:width])
        return min((best.chunks for best in choices.values()), default=known), exact

    def _extend(self, choices: _Choices, position: int, seen: int) -> _Choices:
        """Every choice with every way to treat the word at ``position``, met ``seen`` times."""
        word = self.hypothesis[position]
        bits = self.bits[word]
        kept = ~bits if position == self.last[word] else ~0
        extended: _Choices = {}
        for used, best in choices.items():
            for place in self.places[word]:
                if not used >> place & 1:
                    chunks = best.chunks + (place not in best.continuations)
                    _keep(extended, (used | 1 << place) & kept, chunks, place + 1)
            skipped = seen - (used & bits).bit_count()
            if skipped < self.surplus[word]:
                _keep(extended, used & kept, best.chunks, None)
        return extended


def _keep(choices: _Choices, used: int, chunks: int, continuation: Optional[int]) -> None:
    """Record a choice unless another one with the same positions is better."""
    known = choices.get(used)
    if known is None or chunks < known.chunks:
        known = choices[used] = _Best(chunks, set())
    if chunks == known.chunks and continuation is not None:
        known.continuations.add(continuation)
