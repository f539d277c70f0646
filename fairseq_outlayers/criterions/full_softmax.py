"""Exact cross-entropy over the whole vocabulary, without an (N, V) tensor of log-probabilities."""

from dataclasses import dataclass, field
from typing import Any

from fairseq.criterions import register_criterion
from torch import Tensor

from fairseq_outlayers.criterions.base import Loss, SoftmaxConfig, SoftmaxCriterion
from fairseq_outlayers.errors import refuse_idle
from fairseq_outlayers.output_layers import OutputLayer


@dataclass
class FullSoftmaxConfig(SoftmaxConfig):
    smooth_real_classes: bool = field(
        default=False,
        metadata={"help": "exclude padding from label smoothing (fairseq includes it)"},
    )


@register_criterion("full_softmax", dataclass=FullSoftmaxConfig)
class FullSoftmax(SoftmaxCriterion):
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
        super().__init__(task, label_smoothing, loss_chunk_size, sentence_avg)
        self.ignore_index = self.padding_idx if smooth_real_classes else None

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "FullSoftmax":
        if cfg.label_smoothing == 0:
            refuse_idle(cfg, FullSoftmaxConfig, "--label-smoothing", "smooth_real_classes")
        return super().build_criterion(cfg, task)

    def training_loss(
        self, layer: OutputLayer, hidden: Tensor, targets: Tensor, reduce: bool
    ) -> Loss:
        return self.exact_loss(layer, hidden, targets, reduce)
