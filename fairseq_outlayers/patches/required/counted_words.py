"""Divide the loss of label-smoothed criterions by the words that it is summed over.

fairseq's ``LabelSmoothedCrossEntropyCriterion`` leaves out the first words of every sentence with
``--ignore-prefix-size``, but divides by all words, so perplexities are too low. With
``--rdrop-alpha`` every word is scored twice and counted once: perplexities are squared. The
gradients do not change.
"""

from typing import Any, Callable

from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.criterions.label_smoothed_cross_entropy_with_rdrop import (
    RdropLabelSmoothedCrossEntropyCriterion,
)

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(RdropLabelSmoothedCrossEntropyCriterion, "forward")
@replaces(LabelSmoothedCrossEntropyCriterion, "forward")
def _of_the_words_scored(
    stock: Callable[..., Any], self: Any, model: Any, sample: Any, *more: Any, **options: Any
) -> Any:
    loss, sample_size, logged = stock(self, model, sample, *more, **options)
    if self.ignore_prefix_size > 0:
        scored = sample["target"][:, self.ignore_prefix_size :].ne(self.padding_idx).sum().item()
        if scored == 0:
            raise UserError(
                f"--ignore-prefix-size {self.ignore_prefix_size}: no sentence of a batch has more "
                "words, so there is nothing to learn: lower it"
            )
        logged["ntokens"] = scored
    if getattr(self, "rdrop_alpha", 0) > 0:
        logged["nll_loss"] = logged["nll_loss"] / 2
    return loss, sample_size, logged
