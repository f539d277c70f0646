"""A step of beam search with fewer passes over the score tensor.

fairseq divides the table by the temperature, copies it for the log-softmax, compares it with itself
for what is no number, adds the scores of the hypotheses to a copy, and looks for the best in that.
Here log-softmax and sum take place in the table, and what is no number is found among the best,
because it counts as larger than any. Everything else, ties included, is as in fairseq.
"""

from typing import Any, Optional, Tuple

import torch
from fairseq.models import BaseFairseqModel, FairseqDecoder, FairseqIncrementalDecoder
from fairseq.search import BeamSearch
from torch import Tensor


class NoNaN(torch.Tensor):
    """Log-probabilities that do not look for what is no number, as :class:`LeanBeamSearch` does.

    fairseq asks ``lprobs != lprobs`` at each step, and is told of none. Whatever is computed from
    these is a plain tensor again.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __ne__(self, other: Any) -> Any:
        if other is self:
            return torch.zeros(0, dtype=torch.long, device=self.device)
        return super().__ne__(other)

    __hash__ = torch.Tensor.__hash__


def log_probabilities(logits: Tensor) -> Tensor:
    """The log-softmax of scores ``(R, C)``, in their place if they are in float32."""
    if logits.dtype != torch.float32 or logits.requires_grad:
        return torch.log_softmax(logits, dim=-1, dtype=torch.float32)
    torch.log_softmax(logits, dim=-1, out=logits)
    # To ask a device for what it has found would make the host wait.
    return logits.as_subclass(NoNaN) if logits.device.type == "cpu" else logits


def normalizes_plainly(model: Any) -> bool:
    """Whether a translation model's log-probabilities are the log-softmax of its scores."""
    decoder = getattr(model, "decoder", None)
    return (
        isinstance(decoder, FairseqIncrementalDecoder)
        and hasattr(model, "encoder")
        and type(model).get_normalized_probs is BaseFairseqModel.get_normalized_probs
        and getattr(decoder, "adaptive_softmax", None) is None
        and type(decoder).get_normalized_probs is FairseqDecoder.get_normalized_probs
        and type(decoder).get_normalized_probs_scriptable
        is FairseqDecoder.get_normalized_probs_scriptable
    )


class LeanBeamSearch(BeamSearch):
    """fairseq's beam search; ``lprobs`` is used up."""

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
            candidate_multiple: how many times the beam are wanted.
        Returns:
            Their scores, classes and beams, ``(B, k)`` each.
        """
        beam, num_classes = lprobs.shape[1:]
        if step == 0:  # all hypotheses are alike
            lprobs = lprobs[:, 0]
        else:
            assert scores is not None
            lprobs = lprobs.add_(scores[:, :, step - 1].unsqueeze(-1)).flatten(1)
        number = min(candidate_multiple * beam, lprobs.size(1) - 1)
        best, places = _largest(lprobs, number)
        return best, places.fmod(num_classes), places // num_classes


def _largest(values: Tensor, number: int) -> Tuple[Tensor, Tensor]:
    """The largest of each row and where they are; what is no number is the smallest."""
    best, places = values.topk(number)
    if values.device.type == "cpu" and bool(best.isnan().any()):
        best, places = values.masked_fill(values.isnan(), -torch.inf).topk(number)
    return best, places
