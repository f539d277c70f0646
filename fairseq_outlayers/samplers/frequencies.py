"""Class frequencies from a dictionary."""

from typing import Any

import numpy as np

from fairseq_outlayers.errors import UserError


def class_counts(dictionary: Any) -> np.ndarray:
    """``(V,)`` counts, float64, at least 1, so that no class is impossible to draw.

    ``dict.txt`` does not list fairseq's special symbols. The end of sentence and the unknown word
    get the highest count of a word, the others 1: both may well be as frequent as that, and a
    frequent class that is hardly ever drawn is learned to be much too probable.

    Raises:
        UserError: if all words have the same count, so that the file holds no counts.
    """
    counts = np.maximum(np.asarray(dictionary.count, dtype=np.float64), 1.0)
    words = counts[dictionary.nspecial :]
    if len(words) > 1 and words.min() == words.max():
        raise UserError(
            f"--sampler unigram needs counts, and the target dictionary gives all its {len(words)} "
            f"words the count {words[0]:.0f}: rebuild dict.txt with fairseq-preprocess, or choose "
            "--sampler log_uniform, which needs words in the order of frequency only"
        )
    counts[: dictionary.nspecial] = 1.0
    counts[[dictionary.eos(), dictionary.unk()]] = words.max(initial=1.0)
    return counts


def ranks_by_count(dictionary: Any) -> np.ndarray:
    """``(V,)`` ranks from 0 for the most frequent class.

    The end of sentence and the unknown word come first, for the reason in :func:`class_counts`,
    and the other special symbols last; words of equal count keep the order of the dictionary.
    """
    order_by = np.asarray(dictionary.count, dtype=np.float64)
    order_by[: dictionary.nspecial] = -1.0
    order_by[[dictionary.eos(), dictionary.unk()]] = np.inf
    ranks = np.empty(len(order_by), dtype=np.int64)
    ranks[np.argsort(-order_by, kind="stable")] = np.arange(len(order_by))
    return ranks
