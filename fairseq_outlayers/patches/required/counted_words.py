"""Divide losses by the words that they are summed over.

fairseq's ``LabelSmoothedCrossEntropyCriterion`` leaves out the first words of every sentence with
``--ignore-prefix-size``, but divides by all words, so perplexities are too low. With
``--rdrop-alpha`` every word is scored twice and counted once: perplexities are squared. The
gradients do not change.

A text may have the word ``<pad>`` (fairseq-preprocess only warns of it). No loss scores it, but
fairseq's ``MonolingualDataset`` counts it as a word of the batch. Criterions that believe this
number, to save a synchronization on accelerators, would fail there.
"""

import functools
import logging
from typing import Any, Callable

from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.criterions.label_smoothed_cross_entropy_with_rdrop import (
    RdropLabelSmoothedCrossEntropyCriterion,
)
from fairseq.data import MonolingualDataset
from torch import Tensor

from fairseq_outlayers.patches.replacing import replaces

logger = logging.getLogger(__name__)


@functools.cache
def _warn_of_unscored(prefix: int) -> None:
    logger.warning(
        "--ignore-prefix-size %d: no sentence of a batch has more words, so nothing is learned "
        "from it; if that is not an exception, lower it",
        prefix,
    )


@replaces(RdropLabelSmoothedCrossEntropyCriterion, "forward")
@replaces(LabelSmoothedCrossEntropyCriterion, "forward")
def _count_scored_words(
    stock: Callable[..., Any], self: Any, model: Any, sample: Any, *more: Any, **options: Any
) -> Any:
    loss, sample_size, logged = stock(self, model, sample, *more, **options)
    if self.ignore_prefix_size > 0:
        scored = sample["target"][:, self.ignore_prefix_size :].ne(self.padding_idx).sum().item()
        if scored == 0:
            _warn_of_unscored(self.ignore_prefix_size)
        logged["ntokens"] = max(scored, 1)  # a divisor
    if getattr(self, "rdrop_alpha", 0) > 0:
        logged["nll_loss"] = logged["nll_loss"] / 2
    return loss, sample_size, logged


@replaces(MonolingualDataset, "collater")
def _count_words_to_score(stock: Callable[..., Any], self: Any, samples: Any) -> Any:
    batch = stock(self, samples)
    if isinstance(batch.get("target"), Tensor):
        batch["ntokens"] = int(batch["target"].ne(self.vocab.pad()).sum())
    return batch
