"""Shares of the training text in partitions that contain a word."""

from typing import Sequence, Tuple

import numpy as np

from fairseq_outlayers.partitions.plan import Words


def token_shares(words: Words) -> np.ndarray:
    """The share of target tokens in partitions that contain each word, ``(V,)``, from 0 to 1.

    Args:
        words: of the target side.
    """
    text, bounds = words.side.text, words.bounds
    lengths = np.diff(text.starts)[words.order]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.diff(ends[bounds])
    counts = np.zeros(words.side.num_words, dtype=np.int64)
    for number, of_partition in enumerate(tokens):
        counts[words.of(number)] += of_partition
    return counts / tokens.sum()


def log_shares(shares: np.ndarray, num_tokens: int) -> np.ndarray:
    """The logarithm of shares; words in no partition get the share of one token.

    Args:
        shares: ``(V,)``, from 0 to 1.
        num_tokens: of the target side.
    """
    return np.log(np.maximum(shares, 1 / num_tokens))


def pooled_log_shares(texts: Sequence[Tuple[np.ndarray, int]]) -> np.ndarray:
    """The logarithm of shares of several texts together, each with partitions of its own.

    Args:
        texts: shares, ``(V,)``, and the number of tokens of each.
    """
    shares, numbers = zip(*texts, strict=True)
    return log_shares(np.average(shares, axis=0, weights=numbers), sum(numbers))
