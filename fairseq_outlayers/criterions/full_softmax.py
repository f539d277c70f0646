"""Exact cross-entropy over the whole vocabulary, without an (N, V) table of log-probabilities."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Tuple

import torch.nn as nn
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from omegaconf import II
from torch import Tensor

from fairseq_outlayers.criterions import reporting
from fairseq_outlayers.criterions.features import hidden_and_targets, output_layer_of
from fairseq_outlayers.losses import full_nll, smoothing_term
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.ranges import check_ranges, ranged, share


@dataclass
class SoftmaxConfig(FairseqDataclass):
    label_smoothing: float = share(
        0.0, "probability spread evenly over the classes that are not the target"
    )
    loss_chunk_size: int = ranged(
        0,
        "target positions whose logits exist at a time: smaller saves memory; 0 chooses by device",
        at_least=0,
    )
    sentence_avg: bool = II("optimization.sentence_avg")


@dataclass
class FullSoftmaxConfig(SoftmaxConfig):
    smooth_real_classes: bool = field(
        default=False,
        metadata={"help": "give padding no share of the label smoothing (fairseq gives it one)"},
    )


@register_criterion("full_softmax", dataclass=FullSoftmaxConfig)
class FullSoftmax(FairseqCriterion):
    """Equal to fairseq's ``cross_entropy`` and ``label_smoothed_cross_entropy``, in less memory."""

    name = "full_softmax"

    def __init__(
        self,
        task: Any,
        label_smoothing: float,
        loss_chunk_size: int,
        sentence_avg: bool,
        smooth_real_classes: bool = False,
    ):
        super().__init__(task)
        self.label_smoothing = label_smoothing
        self.left_out = self.padding_idx if smooth_real_classes else None
        self.chunk_size = loss_chunk_size
        self.sentence_avg = sentence_avg

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "FullSoftmax":
        check_ranges(cfg, FullSoftmaxConfig)
        return super().build_criterion(cfg, task)

    def forward(
        self, model: nn.Module, sample: Dict[str, Any], reduce: bool = True
    ) -> Tuple[Tensor, int, Dict[str, Any]]:
        """Loss of a batch.

        Returns:
            The summed loss in nats (with ``reduce=False`` one value for each position that is not
            padding, ``(N,)``), its denominator, and what to log.
        """
        layer = output_layer_of(model, self.name)
        hidden, targets = hidden_and_targets(model, sample, self.padding_idx)
        loss, nll, sums = self.losses(layer, hidden, targets, reduce)
        sample_size = sample["target"].size(0) if self.sentence_avg else sample["ntokens"]
        return loss, sample_size, reporting.logging_output(sample, loss, nll, sample_size, **sums)

    def losses(
        self, layer: OutputLayer, hidden: Tensor, targets: Tensor, reduce: bool
    ) -> Tuple[Tensor, Tensor, Dict[str, int]]:
        """What is minimised, the negative log-likelihood, and further sums to log.

        Args:
            layer: scores the classes.
            hidden: decoder states, ``(N, H)``, padding removed.
            targets: class ids, ``(N,)``.
            reduce: whether to return sums in nats, or ``(N,)`` each.
        """
        scored = (layer.project(hidden), targets, layer.class_embeddings(), layer.class_bias())
        reduction = "sum" if reduce else "none"
        nll = full_nll(*scored, reduction=reduction, chunk_size=self.chunk_size)
        sums = self.further_sums(len(scored[2]), layer.num_classes)
        if self.label_smoothing == 0:
            return nll, nll, sums
        term = smoothing_term(*scored, smoothing=self.label_smoothing, left_out=self.left_out)
        return nll + (term.sum() if reduce else term), nll, sums

    def further_sums(self, scored_classes: int, all_classes: int) -> Dict[str, int]:
        """What else to log, for criterions that do not score all classes."""
        return {}

    @staticmethod
    def reduce_metrics(logging_outputs: List[Dict[str, Any]]) -> None:
        reporting.reduce_metrics(logging_outputs)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True
