"""Scores of given texts or translations, without a table of all classes at all positions."""

from typing import Any

from torch import Tensor

from fairseq_outlayers.losses import full_nll
from fairseq_outlayers.output_layers import OutputLayer


def target_log_probabilities(model: Any, targets: Tensor, *inputs: Any, **more: Any) -> Tensor:
    """Log-probabilities of the targets, in nats, ``(B, T)``; those of padding are undefined.

    Models with an output layer that is not ours make a table ``(B, T, V)``.

    Args:
        model: in evaluation mode.
        targets: class ids, ``(B, T)``.
        inputs, more: of the model, for outputs at ``P + T`` positions; the first ``P`` have no
            target.
    """
    count = targets.size(1)
    layer = getattr(model.decoder, "output_projection", None)
    if not isinstance(layer, OutputLayer):
        output = model(*inputs, **more)
        table = model.get_normalized_probs(output, log_probs=True)[:, -count:]
        return table.gather(2, targets.unsqueeze(2)).squeeze(2)
    hidden = model(*inputs, **more, features_only=True)[0][:, -count:]
    context = layer.project(hidden.flatten(0, 1))
    classes = layer.class_embeddings(), layer.class_bias()
    return -full_nll(context, targets.flatten(), *classes, reduction="none").view_as(targets)
