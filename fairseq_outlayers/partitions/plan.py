"""Divide a corpus into partitions with few distinct words (Jean et al. 2015, Sec. 3.1)."""

from typing import NamedTuple, Sequence

import numpy as np

from fairseq_outlayers.errors import UserError

SMALLEST_BLOCK = 256  # sentences


class Text(NamedTuple):
    """One side of a corpus as concatenated sentences."""

    tokens: np.ndarray
    """Word ids, ``(T,)``; may be a memory map."""
    starts: np.ndarray
    """Offset of each sentence in ``tokens``, and the end of the last, ``(N + 1,)``."""

    def of(self, sentences: np.ndarray) -> "Text":
        """The words of some sentences, in the given order."""
        first = self.starts[sentences]
        if len(sentences) and (np.diff(sentences) == 1).all():
            starts = self.starts[sentences[0] : sentences[-1] + 2]
            return Text(self.tokens[starts[0] : starts[-1]], starts - starts[0])
        lengths = self.starts[sentences + 1] - first
        starts = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.arange(starts[-1]) + np.repeat(first - starts[:-1], lengths)
        return Text(self.tokens.take(positions), starts)


class Side(NamedTuple):
    """A text with a limited number of distinct words per partition."""

    text: Text
    num_words: int
    """``|V|``, the size of the dictionary."""
    limit: int
    """Maximal number of distinct words in a partition, including ``always``."""
    always: Sequence[int]
    """Words of every partition."""
    name: str
    """For error messages: ``target`` or ``source``."""


def partition(sides: Sequence[Side], order: np.ndarray) -> np.ndarray:
    """Scan the corpus and close a partition before it has too many distinct words.

    Greedy: every partition is as long as possible.

    Args:
        sides: with a limit, all of the same sentences.
        order: the sentences in training order, ``(M,)``.
    Returns:
        Start of each partition in ``order``, and ``M``: ``(P + 1,)``.
    Raises:
        UserError: if a single sentence has too many distinct words.
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
        # The next partition is probably about as long; what is read beyond it is read twice.
        block = max(SMALLEST_BLOCK, (end - begin) // 4)
        begin = end
        bounds.append(end)
    return np.asarray(bounds)


class _Scanner:
    """Counts the distinct words of the current partition on one side."""

    def __init__(self, side: Side):
        self.side = side
        self.number = 0
        # The partition in which a word was last seen; needs no clearing between partitions.
        self.last_seen = np.zeros(side.num_words, dtype=np.int32)
        self._first = np.zeros(side.num_words, dtype=np.int64)

    def open_partition(self) -> None:
        self.number += 1
        self.last_seen[list(self.side.always)] = self.number
        self.count = len(set(self.side.always))

    def fitting(self, sentences: np.ndarray) -> int:
        """How many of the sentences, from the first on, fit into the partition."""
        tokens, starts = self.side.text.of(sentences)
        positions = np.flatnonzero(self.last_seen.take(tokens) != self.number)
        words = tokens.take(positions)
        # The first position of every new word: for equal indices, the last assignment wins.
        self._first[words[::-1]] = positions[::-1]
        is_first = self._first.take(words) == positions
        self._new_words = words[is_first]
        self._after = self.count + positions[is_first].searchsorted(starts[1:])
        return int(self._after.searchsorted(self.side.limit, side="right"))

    def take(self, number: int) -> None:
        """Add this many of the sentences to the partition."""
        if number:
            added = int(self._after[number - 1]) - self.count
            self.last_seen[self._new_words[:added]] = self.number
            self.count += added

    def check(self, sentence: int) -> None:
        if self._after[0] > self.side.limit:
            raise UserError(
                f"sentence {sentence + 1} of the training data has {self._after[0]} distinct "
                f"{self.side.name} words, including special symbols, but a partition may have only "
                f"{self.side.limit}: choose a larger {_OPTION[self.side.name]}"
            )


_OPTION = {"target": "--partition-size", "source": "--source-partition-size"}


class Words:
    """The words of each partition of an epoch.

    Args:
        side: of the corpus.
        order: as for :func:`partition`.
        bounds: result of :func:`partition`.
        keep_full: fill up every partition to the limit with words of the previous one (the first
            with the most frequent words) as negatives, as in the authors' code.
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
        """Ids of the words in the sentences of the partition, and of ``always``."""
        sentences = self.order[self.bounds[number] : self.bounds[number + 1]]
        is_used = np.zeros(self.side.num_words, dtype=bool)
        is_used[self.side.text.of(sentences).tokens] = True
        is_used[list(self.side.always)] = True
        return np.flatnonzero(is_used)

    def _evict(self, used: np.ndarray) -> np.ndarray:
        """Replace words of the previous partition, rarest first, by those used now."""
        others = np.setdiff1d(self._words, used, assume_unique=True)
        return np.sort(np.concatenate([used, others[: self.side.limit - len(used)]]))
