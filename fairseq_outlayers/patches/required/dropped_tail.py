"""Keep the last batch of a split.

``batch_by_size`` (fairseq/data/data_utils.py) silently drops the last batch if its size is not a
multiple of ``--required-batch-size-multiple`` (8 by default): only 1008 of 1014 sentences are
translated (fairseq issues 5036 and 5351). Its documentation requires less, batches "less than N or
a multiple of N", and with long sentences or a small ``--batch-size`` earlier batches are smaller
than 8, too. So no caller can rely on multiples of 8. They only make half precision slightly faster,
and the empty batches that fairseq adds to balance ranks do not depend on sizes.

The patch keeps the tail as one more batch, in every split. In training, the loss of data is also
biased: batches are sorted by length, so it is always the longest sentences that are skipped. An
epoch can therefore have one update more than in stock fairseq.

``fairseq-generate``, ``fairseq-validate``, both subsets of ``fairseq-train`` and multi-corpus data
sets use this function; ``fairseq-interactive`` and ``fairseq-eval-lm`` request a multiple of 1,
which drops nothing. Batches of fixed shapes (TPUs) are not changed.
"""

import inspect
from typing import Any, Callable, Iterable, List

import numpy as np
from fairseq.data import data_utils

from fairseq_outlayers.patches.replacing import replaces


@replaces(data_utils, "batch_by_size")
def _keep_tail(
    stock: Callable[..., Any], indices: Iterable[int], *args: Any, **kwargs: Any
) -> List[np.ndarray]:
    if not isinstance(indices, np.ndarray):
        indices = np.fromiter(indices, dtype=np.int64, count=-1)
    if len(indices) == 0:
        return []  # stock raises an IndexError
    batches = stock(indices, *args, **kwargs)
    given = inspect.signature(stock).bind(indices, *args, **kwargs).arguments
    if given.get("fixed_shapes") is not None:
        return batches
    # Batches are consecutive slices of `indices`, so the end is missing.
    kept = sum(len(batch) for batch in batches)
    return batches if kept == len(indices) else [*batches, indices[kept:]]
