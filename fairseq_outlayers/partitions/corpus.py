"""Partitions of a binarized corpus and their batches."""

from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np
from fairseq.data.indexed_dataset import MMapIndexedDataset

from fairseq_outlayers.partitions.batches import Partitions
from fairseq_outlayers.partitions.plan import Side, Text, Words, partition
from fairseq_outlayers.partitions.shares import log_shares, token_shares

# Orders to average over with reshuffled partitions: the share of a word depends on the order.
ORDERS = 8


def text_of(dataset: Any, sizes: np.ndarray) -> Text:
    """The words of one side of a corpus; fairseq's memory-mapped data is not copied.

    Args:
        dataset: maps the number of a sentence to its word ids, ``(T_i,)``.
        sizes: ``T_i`` of every sentence; of truncated sentences an upper bound.
    """
    starts = _starts(sizes)
    if isinstance(dataset, MMapIndexedDataset):
        first, dtype = dataset._index._pointers[0], dataset._index.dtype
        tokens = np.frombuffer(
            dataset._bin_buffer, dtype=dtype, count=int(starts[-1]), offset=int(first)
        )
        if (dataset._index._pointers == first + starts[:-1] * np.dtype(dtype).itemsize).all():
            return Text(tokens, starts)
    sentences = [np.asarray(sentence) for sentence in all_sentences(dataset, len(sizes))]
    # Not sizes: fairseq's truncated sources are up to a word shorter.
    return Text(np.concatenate(sentences), _starts([len(sentence) for sentence in sentences]))


def all_sentences(dataset: Any, number: int) -> List[Any]:
    """The first sentences of a dataset; one that reads on demand reads them at once.

    Args:
        dataset: maps the number of a sentence to its word ids.
        number: of sentences.
    """
    if getattr(dataset, "supports_prefetch", False):  # of --dataset-impl lazy
        dataset.prefetch(range(number))
    return [dataset[index] for index in range(number)]


def _starts(sizes: Union[np.ndarray, List[int]]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def corpus_side(dataset: Any, dictionary: Any, side: str, limit: int) -> Side:
    """One side of sentence pairs, with special symbols in every partition.

    Args:
        dataset: fairseq's sentence pairs.
        dictionary: of this side.
        side: ``"source"`` or ``"target"``.
        limit: maximal number of distinct words in a partition.
    """
    texts = {"source": "src", "target": "tgt"}
    text = text_of(
        getattr(dataset, texts[side]), np.asarray(getattr(dataset, f"{texts[side]}_sizes"))
    )
    return Side(text, len(dictionary), limit, range(dictionary.nspecial), side)


def reshuffled(sentences: np.ndarray, seed: int, epoch: int) -> np.ndarray:
    """The order of ``--reshuffle-partitions`` in an epoch."""
    return np.random.default_rng((seed, epoch)).permutation(sentences)


class CorpusPartitions:
    """Divides training data into partitions; call it with the number of an epoch.

    Args:
        dataset: fairseq's sentence pairs.
        sides: with a limit, by name.
        sentences: to train on, in the order of the corpus.
        seed: of a new random order in every epoch; None keeps this order.
        keep_full: see :class:`Words`.
        max_tokens: of a batch, or None.
        max_sentences: of a batch, or None.
    """

    def __init__(
        self,
        dataset: Any,
        sides: Dict[str, Side],
        sentences: np.ndarray,
        seed: Optional[int] = None,
        keep_full: bool = False,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
    ):
        self.dataset, self.sides, self.sentences = dataset, sides, sentences
        self.seed, self.keep_full = seed, keep_full
        self.max_tokens, self.max_sentences = max_tokens, max_sentences
        self._fixed: Optional[Partitions] = None

    def __call__(self, epoch: int) -> Partitions:
        if self.seed is not None:
            return self._divide(reshuffled(self.sentences, self.seed, epoch))
        if self._fixed is None:
            self._fixed = self._divide(self.sentences)
        return self._fixed

    def log_shares(self) -> np.ndarray:
        """Log share of target tokens in partitions that contain each word, ``(V,)``."""
        return log_shares(*self.shares())

    def shares(self) -> Tuple[np.ndarray, int]:
        """Share of target tokens in partitions that contain each word, ``(V,)``; their number.

        For reshuffled partitions, the expected share over orders is estimated by the mean over the
        first :data:`ORDERS` epochs, so it is a function of data, options and seed.
        """
        if self.seed is None:
            orders = [self.sentences]
        else:
            orders = [reshuffled(self.sentences, self.seed, 1 + n) for n in range(ORDERS)]
        shares = [
            token_shares(self._words(order, self._bounds(order))["target"]) for order in orders
        ]
        tokens = np.diff(self.sides["target"].text.starts)[self.sentences].sum()
        return np.mean(shares, axis=0), int(tokens)

    def _bounds(self, order: np.ndarray) -> np.ndarray:
        return partition(list(self.sides.values()), order)

    def _words(self, order: np.ndarray, bounds: np.ndarray) -> Dict[str, Words]:
        sides = self.sides.items()
        return {name: Words(side, order, bounds, self.keep_full) for name, side in sides}

    def _divide(self, order: np.ndarray) -> Partitions:
        bounds = self._bounds(order)
        number_of = np.full(len(self.dataset), -1, dtype=np.int32)
        number_of[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        batches = [self._batches(stretch) for stretch in np.split(order, bounds[1:-1])]
        return Partitions(self._words(order, bounds), number_of, batches)

    def _batches(self, sentences: np.ndarray) -> List[Any]:
        """Batches of sentences of similar length, as in fairseq."""
        pairs = self.dataset
        by_length = np.lexsort((pairs.tgt_sizes[sentences], pairs.src_sizes[sentences]))
        return pairs.batch_by_size(
            sentences[by_length], max_tokens=self.max_tokens, max_sentences=self.max_sentences
        )
