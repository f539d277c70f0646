"""Scores of given texts or translations, without a table of all classes at all positions.

Models with an output layer that is not ours, or with a softmax of their own, make the table.
"""

import math
from typing import Any, Dict, Mapping, Optional, Sequence

import torch
from fairseq import utils
from torch import Tensor

from fairseq_outlayers.decoding.in_place_search import has_plain_softmax
from fairseq_outlayers.losses import full_nll
from fairseq_outlayers.output_layers import OutputLayer, output_layer_of


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
    return _log_probabilities(layer, model(**net_input, features_only=True)[0][:, -count:], targets)


def log_mean_probability(scores: Sequence[Tensor]) -> Tensor:
    """The logarithm of the models' mean probability, from log-probabilities of one shape each."""
    return torch.stack(list(scores)).double().logsumexp(0) - math.log(len(scores))


class ScoredAtTargets:
    """A model whose probabilities are known at the targets only, as ``SequenceScorer`` reads them.

    Args:
        model: to score with.
        layer: its output layer.
    """

    def __init__(self, model: Any, layer: OutputLayer):
        self._model, self._layer = model, layer

    @classmethod
    def wrap(cls, model: Any) -> Any:
        """Wrap a model; one whose probabilities need the table is returned as it is."""
        layer = _layer(model)
        return model if layer is None else cls(model, layer)

    def eval(self) -> None:
        """Put the model into evaluation mode."""
        self._model.eval()

    def __call__(self, **net_input: Any) -> Any:
        states, *rest = self._model(**net_input, features_only=True)
        # Of several models, fairseq adds the attention in place, which may be expanded.
        return (states, *utils.apply_to_sample(torch.Tensor.contiguous, rest))

    def get_normalized_probs(self, output: Any, log_probs: bool, sample: Dict[str, Any]) -> Tensor:
        """``(B, T, V)``, in which all classes at a position have its target's, in one number."""
        targets = sample["target"]
        scores = _log_probabilities(self._layer, output[0], targets)
        scores = scores if log_probs else scores.exp()
        return scores.unsqueeze(2).expand(-1, -1, self._layer.num_classes)


def _log_probabilities(layer: OutputLayer, hidden: Tensor, targets: Tensor) -> Tensor:
    """Of targets ``(B, T)``, from states before the output layer, ``(B, T, ...)``."""
    context = layer.project(hidden.flatten(0, 1))
    classes = layer.class_embeddings(), layer.class_bias()
    return -full_nll(context, targets.flatten(), *classes, reduction="none").view_as(targets)


def _layer(model: Any) -> Optional[OutputLayer]:
    """A model's output layer, if it is ours and followed by a plain softmax."""
    return output_layer_of(model) if has_plain_softmax(model) else None
