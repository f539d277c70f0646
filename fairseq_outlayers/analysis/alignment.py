"""Word alignment of a translation with its reference, in as few chunks as possible."""

from collections import Counter
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

BEAM = 40  # METEOR's own


class Alignment(NamedTuple):
    """Numbers of matched words and of chunks."""

    matches: int
    chunks: int


class _Best(NamedTuple):
    """The fewest chunks of a choice, and the reference positions that would continue a chunk."""

    chunks: int
    continuations: Set[int]


# By the set of used reference positions, as bits; positions no longer needed are cleared.
_Choices = Dict[int, _Best]


def align(hypothesis: Sequence[str], reference: Sequence[str], beam: int = BEAM) -> Alignment:
    """Match as many equal words as possible, in as few chunks as possible.

    A chunk is a run of matches that is contiguous and in the same order on both sides (METEOR,
    Denkowski & Lavie 2014). A word that occurs ``m`` and ``n`` times matches ``min(m, n)`` times;
    the choice of occurrences decides the number of chunks.

    The search goes through the hypothesis word by word and keeps, for every set of reference
    positions used so far, the fewest chunks. A choice with one chunk more than another with the
    same set can be dropped whatever its last match was: the other one catches up by opening one
    chunk. The search is exact unless there are more sets than ``beam``.

    Args:
        hypothesis: words.
        reference: words.
        beam: how many sets to keep.
    """
    positions: Dict[str, List[int]] = {word: [] for word in hypothesis}
    for position, word in enumerate(reference):
        if word in positions:
            positions[word].append(position)
    counts, seen = Counter(hypothesis), Counter[str]()
    choices: _Choices = {0: _Best(0, set())}
    for word in hypothesis:
        surplus = max(0, counts[word] - len(positions[word]))
        choices = _extend(choices, positions[word], seen[word], surplus)
        seen[word] += 1
        if seen[word] == counts[word]:
            choices = _without(choices, positions[word])
        if len(choices) > beam:
            choices = dict(sorted(choices.items(), key=lambda item: item[1].chunks)[:beam])
    matches = (counts & Counter(reference)).total()
    return Alignment(matches, min(best.chunks for best in choices.values()))


def _extend(choices: _Choices, positions: List[int], seen: int, surplus: int) -> _Choices:
    """Extend every choice by every way to match a word, or to leave it unmatched.

    Args:
        choices: for the words before it.
        positions: of the word in the reference.
        seen: how often the word occurred before.
        surplus: how many of its occurrences stay unmatched.
    """
    bits = sum(1 << position for position in positions)
    extended: _Choices = {}
    for used, best in choices.items():
        for position in positions:
            if not used >> position & 1:
                chunks = best.chunks + (position not in best.continuations)
                _keep(extended, used | 1 << position, chunks, position + 1)
        if seen - (used & bits).bit_count() < surplus:
            _keep(extended, used, best.chunks, None)
    return extended


def _without(choices: _Choices, positions: List[int]) -> _Choices:
    """Merge choices that differ only in which of ``positions`` they use."""
    merged: _Choices = {}
    others = ~sum(1 << position for position in positions)
    for used, best in choices.items():
        _keep(merged, used & others, best.chunks, *best.continuations)
    return merged


def _keep(choices: _Choices, used: int, chunks: int, *continuations: Optional[int]) -> None:
    """Record a choice unless a better one uses the same positions."""
    known = choices.get(used)
    if known is None or chunks < known.chunks:
        known = choices[used] = _Best(chunks, set())
    if chunks == known.chunks:
        known.continuations.update(k for k in continuations if k is not None)
