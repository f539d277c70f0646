"""Class frequencies from a dictionary."""

from typing import Any

import numpy as np

from fairseq_outlayers.errors import UserError


def word_counts(dictionary: Any) -> np.ndarray:
    """``(V,)`` counts of the dictionary, float64.

    fairseq's ``TruncatedDictionary`` (``--output-dictionary-size``) lists those of all words.
    """
    return np.array(dictionary.count[: len(dictionary)], dtype=np.float64)


def class_counts(dictionary: Any) -> np.ndarray:
    """``(V,)`` counts, float64, at least 1, so that every class can be drawn.

    ``dict.txt`` does not list fairseq's special symbols. ``</s>`` and ``<unk>`` get the highest
    count of a word, the others 1: both may be that frequent, and a frequent class that is rarely
    drawn gets far too high a probability.

    Raises:
        UserError: if all words have the same count, that is, the file has no counts.
    """
    listed = word_counts(dictionary)
    words = listed[dictionary.nspecial :]
    seen = words[words > 0] if words.any() else words  # fairseq's padding words have the count 0
    if len(words) > 1 and seen.min() == seen.max():
        raise UserError(
            f"this --sampler needs counts, but all {len(seen)} words of the target dictionary "
            f"have the count {seen[0]:.0f}: rebuild dict.txt with fairseq-preprocess, or choose "
            "--sampler log_uniform, which only needs words sorted by frequency"
        )
    counts = np.maximum(listed, 1.0)
    counts[: dictionary.nspecial] = 1.0
    counts[[dictionary.eos(), dictionary.unk()]] = words.max(initial=1.0)
    # Words that --output-dictionary-size cuts off are <unk> as targets.
    cut_off = sum(dictionary.count[len(dictionary) :])
    counts[dictionary.unk()] = max(counts[dictionary.unk()], cut_off)
    return counts


def ranks_by_count(dictionary: Any) -> np.ndarray:
    """``(V,)`` ranks, 0 for the most frequent class.

    ``</s>`` and ``<unk>`` come first, for the reason in :func:`class_counts`, and the other special
    symbols last; words of equal count keep the order of the dictionary.
    """
    order_by = word_counts(dictionary)
    order_by[: dictionary.nspecial] = -1.0
    order_by[[dictionary.eos(), dictionary.unk()]] = np.inf
    ranks = np.empty(len(order_by), dtype=np.int64)
    ranks[np.argsort(-order_by, kind="stable")] = np.arange(len(order_by))
    return ranks
