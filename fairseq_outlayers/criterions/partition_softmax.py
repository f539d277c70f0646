"""Cross-entropy over the words of the partition that a batch belongs to."""

from typing import Any, Dict, Iterator, Tuple

import torch
from fairseq.criterions import register_criterion
from torch import Tensor

from fairseq_outlayers.criterions.full_softmax import FullSoftmax, FullSoftmaxConfig
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.losses import ClassBlock, streamed_nll
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.partitions.options import PartitionConfig
from fairseq_outlayers.ranges import check_ranges


@register_criterion("partition_softmax", dataclass=FullSoftmaxConfig)
class PartitionSoftmax(FullSoftmax):
    """Softmax over ``V'``, the target words of the batch's partition (Jean et al. 2015, Sec. 3.1).

    That is importance sampling whose proposal is uniform on ``V'``: ``p(y | V') = exp z_y`` divided
    by the sum of ``exp z_k`` over ``V'``. Which words these are, ``--task translation_outlayers
    --partition-size`` decides, and while it trains them, the output layer has no other rows.
    Validation scores all classes.

    ``nll_loss`` and ``ppl`` of training are those over ``V'``, lower than the exact ones;
    ``sampled_share`` is the share of classes scored.
    """

    name = "partition_softmax"

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "PartitionSoftmax":
        if not getattr(task.cfg, "partition_size", 0):
            raise UserError(
                "--criterion partition_softmax needs partitions: add --task translation_outlayers "
                "--partition-size N, or choose --criterion full_softmax"
            )
        check_ranges(task.cfg, PartitionConfig)
        return super().build_criterion(cfg, task)

    def losses(
        self, layer: OutputLayer, hidden: Tensor, targets: Tensor, reduce: bool
    ) -> Tuple[Tensor, Tensor, Dict[str, int]]:
        if layer.class_block is None:
            return super().losses(layer, hidden, targets, reduce)
        loss, nll = streamed_nll(
            layer.project(hidden),
            targets,
            _blocks(layer, layer.class_block, hidden.device),
            self.label_smoothing,
            self.left_out,
        )
        return (loss.sum(), nll.sum(), {}) if reduce else (loss, nll, {})

    def further_sums(self, scored_classes: int, all_classes: int) -> Dict[str, int]:
        if not self.training:
            return {}
        return {"scored_classes": scored_classes, "all_classes": all_classes}


def _blocks(layer: OutputLayer, size: int, device: torch.device) -> Iterator[ClassBlock]:
    for first in range(0, layer.num_classes, size):
        ids = torch.arange(first, min(first + size, layer.num_classes), device=device)
        yield ClassBlock(first, layer.class_embeddings(ids), layer.class_bias(ids))
