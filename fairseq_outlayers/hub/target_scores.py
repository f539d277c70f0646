"""Scores of given texts by a language model, without a table of all classes at all positions."""

from typing import Any

from torch import Tensor

from fairseq_outlayers.losses import full_nll
from fairseq_outlayers.output_layers import OutputLayer


def target_log_probabilities(
    model: Any, before: Tensor, lengths: Tensor, targets: Tensor
) -> Tensor:
    """Log-probabilities of the targets, in nats, ``(B, T)``; those of padding are undefined.

    Models with an output layer that is not ours make a table ``(B, T, V)``.

    Args:
        model: a language model, in evaluation mode.
        before: the symbols that precede the targets, ``(B, P + T)``; the first ``P`` have none.
        lengths: of the rows of ``before`` without padding, ``(B,)``.
        targets: class ids, ``(B, T)``.
    """
    first = before.size(1) - targets.size(1)
    layer = getattr(model.decoder, "output_projection", None)
    if not isinstance(layer, OutputLayer):
        output = model(before, src_lengths=lengths)
        table = model.get_normalized_probs(output, log_probs=True)[:, first:]
        return table.gather(2, targets.unsqueeze(2)).squeeze(2)
    hidden = model(before, src_lengths=lengths, features_only=True)[0][:, first:]
    context = layer.project(hidden.flatten(0, 1))
    classes = layer.class_embeddings(), layer.class_bias()
    return -full_nll(context, targets.flatten(), *classes, reduction="none").view_as(targets)
