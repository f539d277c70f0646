"""Cross-entropy over the words of the partition that a batch belongs to."""

from typing import Any, Dict

from fairseq.criterions import register_criterion

from fairseq_outlayers.criterions.full_softmax import FullSoftmax, FullSoftmaxConfig
from fairseq_outlayers.errors import UserError


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
        if getattr(task.cfg, "partition_size", 0) <= 0:
            raise UserError(
                "--criterion partition_softmax needs partitions: add --task translation_outlayers "
                "--partition-size N, or choose --criterion full_softmax"
            )
        return super().build_criterion(cfg, task)

    def further_sums(self, scored_classes: int, all_classes: int) -> Dict[str, int]:
        if not self.training:
            return {}
        return {"scored_classes": scored_classes, "all_classes": all_classes}
