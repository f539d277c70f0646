"""Refuse ``--criterion adaptive_loss`` for a model without an adaptive softmax.

Stock fairseq ends at the first batch in an AssertionError without a text
(fairseq/criterions/adaptive_loss.py, ``forward``). The trainer calls ``check_model`` of a criterion
(``patches/required/prepared_model.py``), which fairseq's criterions lack.
"""

from typing import Any

from fairseq.criterions.adaptive_loss import AdaptiveLoss

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import output_layer_of


def apply() -> None:
    AdaptiveLoss.check_model = _require_adaptive_softmax


def _require_adaptive_softmax(criterion: AdaptiveLoss, model: Any) -> None:
    """Raise a ``UserError`` for a model that the criterion cannot train."""
    if getattr(getattr(model, "decoder", None), "adaptive_softmax", None) is not None:
        return
    said = f"--criterion adaptive_loss: {type(model).__name__} has no adaptive softmax: "
    if output_layer_of(model) is None:
        raise UserError(f"{said}add --adaptive-softmax-cutoff, or choose another --criterion")
    raise UserError(
        f"{said}use --criterion sampled_softmax or full_softmax, or fairseq's own architecture "
        "with --adaptive-softmax-cutoff"
    )
