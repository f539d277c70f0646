"""A step of beam search with fewer passes over the score tensor.

fairseq divides the scores by the temperature, copies them for the log-softmax, compares them with
themselves to find NaNs, adds hypothesis scores to a copy, and takes the top k of that. Here
log-softmax and addition are in place, and NaNs are looked for in the top k only, where they come
first. All else, ties included, is as in fairseq.
"""

from typing import Any, Optional, Tuple

import torch
from fairseq.models import BaseFairseqModel, FairseqDecoder, FairseqIncrementalDecoder
from fairseq.models.transformer import TransformerModelBase
from fairseq.search import BeamSearch
from torch import Tensor


class UncheckedLogProbs(torch.Tensor):
    """Log-probabilities that skip fairseq's NaN check, ``lprobs != lprobs``, at each step.

    :class:`InPlaceBeamSearch` checks instead. Operations return plain tensors.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __ne__(self, other: Any) -> Any:
        if other is self:
            return torch.zeros(0, dtype=torch.long, device=self.device)
        return super().__ne__(other)

    __hash__ = torch.Tensor.__hash__


def log_probabilities(logits: Tensor) -> Tensor:
    """The log-softmax of scores ``(R, C)``, in place if they are float32."""
    if logits.dtype != torch.float32 or logits.requires_grad:
        return torch.log_softmax(logits, dim=-1, dtype=torch.float32)
    torch.log_softmax(logits, dim=-1, out=logits)
    # On an accelerator, reading NaNs back would synchronize.
    return logits.as_subclass(UncheckedLogProbs) if logits.device.type == "cpu" else logits


# fairseq's Transformer has a copy of its own.
PLAIN = BaseFairseqModel.get_normalized_probs, TransformerModelBase.get_normalized_probs


def can_search_in_place(model: Any) -> bool:
    """Whether :class:`InPlaceBeamSearch` searches with it: translation with a plain softmax."""
    return (
        isinstance(getattr(model, "decoder", None), FairseqIncrementalDecoder)
        and hasattr(model, "encoder")
        and has_plain_softmax(model)
    )


def has_plain_softmax(model: Any) -> bool:
    """Whether a model's log-probabilities are the plain log-softmax of its logits."""
    decoder = getattr(model, "decoder", None)
    return (
        isinstance(decoder, FairseqDecoder)
        and type(model).get_normalized_probs in PLAIN
        and getattr(decoder, "adaptive_softmax", None) is None
        and type(decoder).get_normalized_probs is FairseqDecoder.get_normalized_probs
        and type(decoder).get_normalized_probs_scriptable
        is FairseqDecoder.get_normalized_probs_scriptable
    )


class InPlaceBeamSearch(BeamSearch):
    """fairseq's beam search; overwrites ``lprobs``."""

    def step(
        self,
        step: int,
        lprobs: Tensor,
        scores: Optional[Tensor],
        prev_output_tokens: Optional[Tensor] = None,
        original_batch_idxs: Optional[Tensor] = None,
        candidate_multiple: int = 2,
    ) -> Tuple[Tensor, Tensor, Tensor]:
        """The best continuations of each sentence.

        Args:
            step: number of the position.
            lprobs: ``(B, beam, C)``.
            scores: of the hypotheses at every position so far, ``(B, beam, step)``.
            candidate_multiple: return this many times the beam.
        Returns:
            Their scores, classes and beams, ``(B, k)`` each.
        """
        beam, num_classes = lprobs.shape[1:]
        if step == 0:  # all hypotheses are equal
            lprobs = lprobs[:, 0]
        else:
            assert scores is not None
            lprobs = lprobs.add_(scores[:, :, step - 1].unsqueeze(-1)).flatten(1)
        number = min(candidate_multiple * beam, lprobs.size(1) - 1)
        best, columns = _largest(lprobs, number)
        return best, columns.fmod(num_classes), columns // num_classes


def _largest(values: Tensor, number: int) -> Tuple[Tensor, Tensor]:
    """The top k of each row and their columns, with NaN as the smallest value."""
    best, columns = values.topk(number)
    if values.device.type == "cpu" and bool(best.isnan().any()):
        best, columns = values.masked_fill(values.isnan(), -torch.inf).topk(number)
    return best, columns
