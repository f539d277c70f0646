"""Scores of given texts or translations, without a table of all classes at all positions.

Models with an output layer that is not ours, or with a softmax of their own, make the table.
"""

import math
from typing import Any, Mapping, Optional, Sequence

import torch
from torch import Tensor

from fairseq_outlayers.decoding.lean_step import normalizes_plainly
from fairseq_outlayers.losses import full_nll
from fairseq_outlayers.output_layers import OutputLayer


def target_log_probabilities(model: Any, targets: Tensor, net_input: Mapping[str, Any]) -> Tensor:
    """Log-probabilities of the targets, in nats, ``(B, T)``; those of padding are undefined.

    Args:
        model: in evaluation mode.
        targets: class ids, ``(B, T)``.
        net_input: keyword arguments of the model, whose output has ``P + T`` positions; the last
            ``T`` predict the targets.
    """
    count = targets.size(1)
    layer = _layer(model)
    if layer is None:
        table = model.get_normalized_probs(model(**net_input), log_probs=True)[:, -count:]
        return table.gather(2, targets.unsqueeze(2)).squeeze(2)
    hidden = model(**net_input, features_only=True)[0][:, -count:]
    context = layer.project(hidden.flatten(0, 1))
    classes = layer.class_embeddings(), layer.class_bias()
    return -full_nll(context, targets.flatten(), *classes, reduction="none").view_as(targets)


def mean_of_probabilities(scores: Sequence[Tensor]) -> Tensor:
    """The logarithm of the models' mean probability, from log-probabilities of one shape each."""
    return torch.stack(list(scores)).double().logsumexp(0) - math.log(len(scores))


def _layer(model: Any) -> Optional[OutputLayer]:
    """A model's output layer, if it is ours and followed by a plain softmax."""
    layer = getattr(getattr(model, "decoder", None), "output_projection", None)
    return layer if isinstance(layer, OutputLayer) and normalizes_plainly(model) else None
