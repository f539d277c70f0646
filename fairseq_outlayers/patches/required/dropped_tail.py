"""Keep the last batch of a split.

``batch_by_size`` (fairseq/data/data_utils.py) throws the last batch away when its size is not a
multiple of ``--required-batch-size-multiple`` (8 by default): 1008 of 1014 sentences are
translated, without a word (fairseq issues 5036 and 5351). Its own documentation asks for less,
batches "less than N or a multiple of N", and the batches before the last are of that kind: with
long sentences or a small ``--batch-size`` they too are smaller than 8. So no caller can rely on
multiples of 8. They only make half precision a little faster, and the empty batches that fairseq
adds to give every rank the same number of them do not look at sizes.

The patch keeps the tail as one more batch, in every split. In training it is silent loss as well,
and a biased one: batches are sorted by length, so it is always the longest sentences that are never
learnt from. An epoch can therefore have one update more than in stock fairseq.

This one function is what ``fairseq-generate``, ``fairseq-validate``, both subsets of
``fairseq-train``, and the multi-corpus data sets come to; ``fairseq-interactive`` and
``fairseq-eval-lm`` ask for a multiple of 1, where nothing was lost. Batches of fixed shapes (TPUs)
stay as they are.
"""

import functools
from typing import Any, Callable, Iterable, List

import numpy as np
from fairseq.data import data_utils

from fairseq_outlayers.patches.replacing import replace_once


def apply() -> None:
    """Replace ``batch_by_size``, which all of fairseq looks up in its module at each call."""
    replace_once(data_utils, "batch_by_size", _keep_tail)


def _keep_tail(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def batch_by_size(indices: Iterable[int], *args: Any, **kwargs: Any) -> List[np.ndarray]:
        if not isinstance(indices, np.ndarray):
            indices = np.fromiter(indices, dtype=np.int64, count=-1)
        if len(indices) == 0:
            return []  # stock looks at the last batch and raises an IndexError
        batches = stock(indices, *args, **kwargs)
        if _fixed_shapes(*args, **kwargs) is not None:
            return batches
        # Stock cuts `indices` into consecutive batches, so what is missing is the end of it.
        kept = sum(len(batch) for batch in batches)
        return batches if kept == len(indices) else [*batches, indices[kept:]]

    return batch_by_size


def _fixed_shapes(
    num_tokens_fn: Any,
    num_tokens_vec: Any = None,
    max_tokens: Any = None,
    max_sentences: Any = None,
    required_batch_size_multiple: int = 1,
    fixed_shapes: Any = None,
) -> Any:
    """Stock's argument of that name, wherever it stands in the call."""
    return fixed_shapes
