"""Word alignment of a translation with its reference, in as few chunks as possible."""

from collections import Counter
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

BEAM = 40  # METEOR's own


class Alignment(NamedTuple):
    """The outcome of matching two sentences word by word."""

    matches: int
    chunks: int


class _Best(NamedTuple):
    """The fewest chunks of a choice, and the reference positions that would continue one."""

    chunks: int
    continuations: Set[int]


# By the set of reference positions used, as bits; those never asked for again are cleared.
_Choices = Dict[int, _Best]


def align(hypothesis: Sequence[str], reference: Sequence[str], beam: int = BEAM) -> Alignment:
    """Matches of equal words, as many as possible; among these, the fewest chunks found.

    A chunk is a run of matches that is contiguous and in the same order on both sides (METEOR,
    Denkowski & Lavie 2014). A word that occurs ``m`` and ``n`` times matches ``min(m, n)`` times;
    which occurrences match decides the chunks.

    The search goes through the hypothesis word by word and keeps, for every set of reference
    positions used so far, the fewest chunks. A choice with one chunk more than another with the
    same set can be dropped whatever its last match was: the other one catches up by opening one
    chunk. Only more sets than ``beam`` make the search inexact.

    Args:
        hypothesis: words.
        reference: words.
        beam: how many sets to keep.
    """
    places: Dict[str, List[int]] = {word: [] for word in hypothesis}
    for place, word in enumerate(reference):
        if word in places:
            places[word].append(place)
    counts, seen = Counter(hypothesis), Counter[str]()
    choices: _Choices = {0: _Best(0, set())}
    for word in hypothesis:
        surplus = max(0, counts[word] - len(places[word]))
        choices = _extend(choices, places[word], seen[word], surplus)
        seen[word] += 1
        if seen[word] == counts[word]:
            choices = _without(choices, places[word])
        if len(choices) > beam:
            choices = dict(sorted(choices.items(), key=lambda item: item[1].chunks)[:beam])
    matches = (counts & Counter(reference)).total()
    return Alignment(matches, min(best.chunks for best in choices.values()))


def _extend(choices: _Choices, places: List[int], seen: int, surplus: int) -> _Choices:
    """Every choice with every way to treat a word.

    Args:
        choices: for the words before it.
        places: of the word in the reference.
        seen: how often it came before.
        surplus: how many of its occurrences have no match.
    """
    bits = sum(1 << place for place in places)
    extended: _Choices = {}
    for used, best in choices.items():
        for place in places:
            if not used >> place & 1:
                chunks = best.chunks + (place not in best.continuations)
                _keep(extended, used | 1 << place, chunks, place + 1)
        if seen - (used & bits).bit_count() < surplus:
            _keep(extended, used, best.chunks, None)
    return extended


def _without(choices: _Choices, places: List[int]) -> _Choices:
    """The same when it no longer matters which of some places are used."""
    merged: _Choices = {}
    others = ~sum(1 << place for place in places)
    for used, best in choices.items():
        _keep(merged, used & others, best.chunks, *best.continuations)
    return merged


def _keep(choices: _Choices, used: int, chunks: int, *continuations: Optional[int]) -> None:
    """Record a choice unless another one with the same positions is better."""
    known = choices.get(used)
    if known is None or chunks < known.chunks:
        known = choices[used] = _Best(chunks, set())
    if chunks == known.chunks:
        known.continuations.update(place for place in continuations if place is not None)
