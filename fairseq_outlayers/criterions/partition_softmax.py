"""Cross-entropy over the words of the partition that a batch belongs to."""

from dataclasses import dataclass, field
from typing import Any

from fairseq.criterions import register_criterion
from fairseq.dataclass import ChoiceEnum
from torch import Tensor

from fairseq_outlayers.criterions.base import Loss
from fairseq_outlayers.criterions.full_softmax import FullSoftmax, FullSoftmaxConfig
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.partitions.options import PartitionConfig, is_corrected
from fairseq_outlayers.ranges import check_ranges


@dataclass
class PartitionSoftmaxConfig(FullSoftmaxConfig):
    partition_correction: ChoiceEnum(  # type: ignore[valid-type]
        ["by_mode", "log_share", "none"]
    ) = field(
        default="by_mode",
        metadata={
            "help": "log_share: subtract from a word's training score the logarithm of the share "
            "of target tokens in partitions that contain it, so that words of few partitions are "
            "not overestimated; none: subtract nothing, as in the paper; by_mode: log_share with "
            "--partition-mode paper, none with authors"
        },
    )


@register_criterion("partition_softmax", dataclass=PartitionSoftmaxConfig)
class PartitionSoftmax(FullSoftmax):
    """Softmax over ``V'``, the target words of the batch's partition (Jean et al. 2015, Sec. 3.1).

    This is importance sampling with a proposal that is uniform on ``V'``: ``p(y | V') = exp z_y``
    divided by the sum of ``exp z_k`` over ``V'``. ``--task translation_outlayers --partition-size``
    defines the partitions; the output layer holds only the rows of the current one. Validation
    scores all classes.

    A frequent word is in every ``V'`` and a rare one in few, so over all partitions the proposal is
    not uniform. With ``--partition-correction log_share`` training scores a word by ``z_k - log
    c_k``, where ``c_k`` is the share of target tokens in partitions that contain the word; ``z_k``
    is then correct over all classes (``docs/large_vocabularies.md``). It is the weight of Sec. 3,
    which the paper does not apply, because its proposal cancels it: for the paper's training use
    ``--partition-correction none``.

    ``nll_loss`` and ``ppl`` of training are over ``V'``, lower than the exact ones;
    ``sampled_share`` is the share of classes scored.
    """

    name = "partition_softmax"
    corrected = False
    """Whether training scores are corrected."""

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "PartitionSoftmax":
        if not getattr(task.cfg, "partition_size", 0):
            raise UserError(
                "--criterion partition_softmax needs partitions: add --task translation_outlayers "
                "--partition-size N, or choose --criterion full_softmax"
            )
        check_ranges(task.cfg, PartitionConfig)
        criterion = super().build_criterion(cfg, task)
        criterion.corrected = is_corrected(cfg, task.cfg)
        return criterion

    def training_loss(
        self, layer: OutputLayer, hidden: Tensor, targets: Tensor, reduce: bool
    ) -> Loss:
        bias = layer.class_bias()
        if self.corrected:
            log_share = self.task.log_shares_in_use()
            bias = -log_share if bias is None else bias - log_share
        loss, nll, _ = self.loss_over(layer, hidden, targets, bias, reduce)
        counts = {"scored_classes": layer.num_in_use, "all_classes": layer.num_classes}
        return Loss(loss, nll, counts)
