"""Cross-entropy over the words of the partition that a batch belongs to."""

from typing import Any

from fairseq.criterions import register_criterion
from torch import Tensor

from fairseq_outlayers.criterions.base import Loss
from fairseq_outlayers.criterions.full_softmax import FullSoftmax, FullSoftmaxConfig
from fairseq_outlayers.errors import UserError, require_range
from fairseq_outlayers.output_layers import OutputLayer


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
        require_range(task.cfg, "partition_size", at_least=1)
        return super().build_criterion(cfg, task)

    def training_loss(
        self, layer: OutputLayer, hidden: Tensor, targets: Tensor, reduce: bool
    ) -> Loss:
        loss, nll, _ = self.exact_loss(layer, hidden, targets, reduce)
        counts = {"scored_classes": layer.num_in_use, "all_classes": layer.num_classes}
        return Loss(loss, nll, counts)
