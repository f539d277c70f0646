"""Word translation probabilities by IBM Model 1 (Brown et al. 1993), in NumPy.

Deterministic: the objective is convex, initialization is uniform, and sums have a fixed order.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from lib.common import progress

from fairseq_outlayers.formats.lexicon import Lexicon

BLOCK_PAIRS = 4_000_000  # word pairs in memory while the pairs are numbered


class Corpus(NamedTuple):
    """One side of a parallel corpus as word ids."""

    words: list[str]
    ids: np.ndarray  # tokens of all lines, concatenated
    lengths: np.ndarray  # tokens of each line

    @classmethod
    def read(cls, lines: Iterable[str]) -> "Corpus":
        """Words are numbered by first occurrence."""
        numbers: dict[str, int] = {}
        ids: list[int] = []
        lengths: list[int] = []
        for line in lines:
            words = line.split()
            ids.extend(numbers.setdefault(word, len(numbers)) for word in words)
            lengths.append(len(words))
        return cls(list(numbers), np.array(ids, dtype=np.int64), np.array(lengths, dtype=np.int64))


class Block(NamedTuple):
    """Every (source token, target token) of some target tokens, grouped by target token."""

    entries: np.ndarray  # index into the table, (P,)
    group_sizes: np.ndarray  # source tokens per target token, including the empty word


def ibm_model1(source: Corpus, target: Corpus, iterations: int) -> Lexicon:
    """``t(target word | source word)`` after EM.

    Every source sentence also has the empty word, for target words without a source; its row is not
    returned.
    """
    empty = len(source.words)
    blocks, sources, targets = _number_pairs(source, target, empty)
    table = np.ones(len(sources))
    for _ in progress(range(iterations), iterations, "EM", unit=" iterations"):
        counts = np.zeros(len(table))
        for block in blocks:
            shares = table[block.entries]
            starts = np.cumsum(block.group_sizes) - block.group_sizes
            shares /= np.repeat(np.add.reduceat(shares, starts), block.group_sizes)
            counts += np.bincount(block.entries, shares, minlength=len(table))
        table = counts / np.bincount(sources, counts, minlength=empty + 1)[sources]
    kept = sources != empty
    return Lexicon(source.words, target.words, sources[kept], targets[kept], table[kept])


def _number_pairs(
    source: Corpus, target: Corpus, empty: int
) -> tuple[list[Block], np.ndarray, np.ndarray]:
    """The blocks, and the source and target word of each table entry, ascending."""
    num_targets = max(len(target.words), 1)
    blocks, known_by_block = [], []
    for keys, group_sizes in _pairs(source, target, empty, num_targets):
        known, entries = np.unique(keys, return_inverse=True)
        known_by_block.append(known)
        blocks.append(Block(entries.astype(np.int32), group_sizes))
    keys = np.unique(np.concatenate(known_by_block)) if blocks else np.empty(0, dtype=np.int64)
    for number, (block, known) in enumerate(zip(blocks, known_by_block, strict=True)):
        renumbered = np.searchsorted(keys, known).astype(np.int32)
        blocks[number] = block._replace(entries=renumbered[block.entries])
    return blocks, keys // num_targets, keys % num_targets


def _pairs(
    source: Corpus, target: Corpus, empty: int, num_targets: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of target tokens: one key per word pair, and the group size of each target token.

    A group is the source sentence of a target token, followed by the empty word. A block is of
    whole sentence pairs, or, if a sentence pair has more than ``BLOCK_PAIRS``, of a part of it.
    """
    ends = np.cumsum(source.lengths)
    tokens = np.insert(source.ids, ends, empty)
    sizes = source.lengths + 1
    starts = np.cumsum(sizes) - sizes
    last_targets = np.cumsum(target.lengths)
    work = np.cumsum(sizes * target.lengths)
    first = 0
    while first < len(sizes):
        done = work[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(work, done + BLOCK_PAIRS, side="right")))
        sentences = np.repeat(np.arange(first, last), target.lengths[first:last])
        group_sizes = sizes[sentences]
        words = target.ids[last_targets[last - 1] - len(sentences) : last_targets[last - 1]]
        # Several sentence pairs fit into a block; a single one may not.
        step = max(len(words) if last > first + 1 else int(BLOCK_PAIRS // sizes[first]), 1)
        for begin in range(0, len(words), step):
            part = slice(begin, begin + step)
            group_starts = np.cumsum(group_sizes[part]) - group_sizes[part]
            positions = np.arange(group_sizes[part].sum()) + np.repeat(
                starts[sentences[part]] - group_starts, group_sizes[part]
            )
            keys = tokens[positions] * num_targets + np.repeat(words[part], group_sizes[part])
            yield keys, group_sizes[part]
        first = last
