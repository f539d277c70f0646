"""Divide a corpus into partitions with few distinct words (Jean et al. 2015, Sec. 3.1)."""

from typing import NamedTuple, Sequence

import numpy as np

from fairseq_outlayers.errors import UserError

SMALLEST_BLOCK = 256  # sentences


class Text(NamedTuple):
    """One side of a corpus, sentence after sentence."""

    tokens: np.ndarray
    """Word ids, ``(T,)``; may be a memory map."""
    starts: np.ndarray
    """Where each sentence begins in ``tokens``, and the end of the last, ``(N + 1,)``."""

    def of(self, sentences: np.ndarray) -> "Text":
        """The words of some sentences, copied, in the order given."""
        first = self.starts[sentences]
        if len(sentences) and (np.diff(sentences) == 1).all():
            starts = self.starts[sentences[0] : sentences[-1] + 2]
            return Text(self.tokens[starts[0] : starts[-1]], starts - starts[0])
        lengths = self.starts[sentences + 1] - first
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(first - starts[:-1], lengths)
        return Text(self.tokens.take(places), starts)


class Side(NamedTuple):
    """A text whose words must not be more than some number in any partition."""

    text: Text
    num_words: int
    """``|V|``, the size of the dictionary."""
    limit: int
    """Different words of a partition, those always included among them."""
    always: Sequence[int]
    """Words of every partition."""
    name: str
    """For messages: ``target`` or ``source``."""


def partition(sides: Sequence[Side], order: np.ndarray) -> np.ndarray:
    """Walk the corpus, and close a partition before it has too many different words.

    Every partition is as long as it can be, given where it begins.

    Args:
        sides: that are limited, all of the same sentences.
        order: the sentences as training will see them, ``(M,)``.
    Returns:
        Where in ``order`` each partition begins, and ``M``: ``(P + 1,)``.
    Raises:
        UserError: if a sentence alone has too many different words.
    """
    scanners = [_Scanner(side) for side in sides]
    begin, bounds, block = 0, [0], SMALLEST_BLOCK
    while begin < len(order):
        for scanner in scanners:
            scanner.open_partition()
        end, closed = begin, False
        while not closed and end < len(order):
            sentences = order[end : end + block]
            fitting = min(scanner.fitting(sentences) for scanner in scanners)
            for scanner in scanners:
                scanner.take(fitting)
            end += fitting
            closed = fitting < len(sentences)
        if end == begin:
            for scanner in scanners:
                scanner.check(int(order[begin]))
        # The next partition is probably about as long. What is read beyond it is read twice.
        block = max(SMALLEST_BLOCK, (end - begin) // 4)
        begin = end
        bounds.append(end)
    return np.asarray(bounds)


class _Scanner:
    """Counts the different words of the current partition on one side."""

    def __init__(self, side: Side):
        self.side = side
        self.number = 0
        # The partition in which a word was last seen. Nothing has to be cleared between them.
        self.last_seen = np.zeros(side.num_words, dtype=np.int32)
        self._first = np.zeros(side.num_words, dtype=np.int64)

    def open_partition(self) -> None:
        self.number += 1
        self.last_seen[list(self.side.always)] = self.number
        self.count = len(set(self.side.always))

    def fitting(self, sentences: np.ndarray) -> int:
        """How many of the sentences, from the first on, the partition can still take."""
        tokens, self._starts = self.side.text.of(sentences)
        places = np.flatnonzero(self.last_seen.take(tokens) != self.number)
        words = tokens.take(places)
        # The first place of every new word: of equal indices, the value assigned last stays.
        self._first[words[::-1]] = places[::-1]
        is_first = self._first.take(words) == places
        self._new_words, self._places = words[is_first], places[is_first]
        self._after = self.count + self._places.searchsorted(self._starts[1:])
        return int(self._after.searchsorted(self.side.limit, side="right"))

    def take(self, number: int) -> None:
        """Put so many of these sentences into the partition."""
        if number:
            added = int(self._after[number - 1]) - self.count
            self.last_seen[self._new_words[:added]] = self.number
            self.count += added

    def check(self, sentence: int) -> None:
        if self._after[0] > self.side.limit:
            raise UserError(
                f"sentence {sentence + 1} of the training data has {self._after[0]} different "
                f"{self.side.name} words, special symbols included, and a partition may have "
                f"{self.side.limit}: choose a larger {_OPTION[self.side.name]}"
            )


_OPTION = {"target": "--partition-size", "source": "--source-partition-size"}


class Words:
    """Which words each partition of an epoch uses, and so trains.

    Args:
        side: of the corpus.
        order: as of :func:`partition`.
        bounds: what it returned.
        keep_full: fill every partition up to the limit with words of the one before (the first one
            with the most frequent words), as the authors' program does. They serve as negatives.
    """

    def __init__(self, side: Side, order: np.ndarray, bounds: np.ndarray, keep_full: bool):
        self.side, self.order, self.bounds, self.keep_full = side, order, bounds, keep_full
        self._number, self._words = -1, np.arange(0)

    def of(self, number: int) -> np.ndarray:
        """Ids of partition ``number``, ascending."""
        if self.side.limit >= self.side.num_words:
            return np.arange(self.side.num_words)
        if not self.keep_full:
            return self.used(number)
        if number < self._number:
            self._number = -1
        if self._number < 0:
            self._words = np.arange(self.side.limit)
        while self._number < number:
            self._number += 1
            self._words = self._evict(self.used(self._number))
        return self._words

    def used(self, number: int) -> np.ndarray:
        """Ids of the words in the sentences of the partition and of those always included."""
        sentences = self.order[self.bounds[number] : self.bounds[number + 1]]
        is_used = np.zeros(self.side.num_words, dtype=bool)
        is_used[self.side.text.of(sentences).tokens] = True
        is_used[list(self.side.always)] = True
        return np.flatnonzero(is_used)

    def _evict(self, used: np.ndarray) -> np.ndarray:
        """Words used now replace those of the partition before, the rarest first."""
        others = np.setdiff1d(self._words, used, assume_unique=True)
        return np.sort(np.concatenate([used, others[: self.side.limit - len(used)]]))
