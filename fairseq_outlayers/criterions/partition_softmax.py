"""Cross-entropy over the words of the partition that a batch belongs to."""

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, Optional, Tuple

import torch
from fairseq.criterions import register_criterion
from fairseq.dataclass import ChoiceEnum
from torch import Tensor

from fairseq_outlayers.criterions.full_softmax import FullSoftmax, FullSoftmaxConfig
from fairseq_outlayers.errors import UserError, require_range
from fairseq_outlayers.losses import ClassBlock, streamed_nll
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.partitions.options import is_corrected


@dataclass
class PartitionSoftmaxConfig(FullSoftmaxConfig):
    partition_correction: ChoiceEnum(  # type: ignore[valid-type]
        ["by_mode", "log_share", "none"]
    ) = field(
        default="by_mode",
        metadata={
            "help": "what training subtracts from the score of a word: the logarithm of the share "
            "of target tokens in whose partition it is, so that words of few partitions are not "
            "overestimated among all words (log_share), or nothing (none); by_mode: log_share with "
            "--partition-mode paper, none with authors"
        },
    )


@register_criterion("partition_softmax", dataclass=PartitionSoftmaxConfig)
class PartitionSoftmax(FullSoftmax):
    """Softmax over ``V'``, the target words of the batch's partition (Jean et al. 2015, Sec. 3.1).

    That is importance sampling whose proposal is uniform on ``V'``: ``p(y | V') = exp z_y`` divided
    by the sum of ``exp z_k`` over ``V'``. Which words these are, ``--task translation_outlayers
    --partition-size`` decides, and while it trains them, the output layer has no other rows.
    Validation scores all classes.

    A frequent word is in every ``V'`` and a rare one in few, so as a proposal over all partitions
    it is not uniform. With ``--partition-correction log_share`` training scores a word by ``z_k -
    log c_k``, as in Sec. 3, where ``c_k`` is the share of target tokens in whose partition the word
    is; the model's own ``z_k`` are then right over all classes (``docs/large_vocabularies.md``).

    ``nll_loss`` and ``ppl`` of training are those over ``V'``, lower than the exact ones;
    ``sampled_share`` is the share of classes scored.
    """

    name = "partition_softmax"
    corrected = False
    """Whether scores are corrected in training."""

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "PartitionSoftmax":
        if not getattr(task.cfg, "partition_size", 0):
            raise UserError(
                "--criterion partition_softmax needs partitions: add --task translation_outlayers "
                "--partition-size N, or choose --criterion full_softmax"
            )
        require_range(task.cfg, "partition_size", at_least=1)
        criterion = super().build_criterion(cfg, task)
        criterion.corrected = is_corrected(cfg, task.cfg)
        return criterion

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

    def class_bias(self, layer: OutputLayer) -> Optional[Tensor]:
        """Of the words in use, less the logarithm of their share if that is to be corrected."""
        bias = super().class_bias(layer)
        if not (self.training and self.corrected):
            return bias
        log_share = self.task.log_shares_in_use()
        return -log_share if bias is None else bias - log_share

    def further_sums(self, scored_classes: int, all_classes: int) -> Dict[str, int]:
        if not self.training:
            return {}
        return {"scored_classes": scored_classes, "all_classes": all_classes}


def _blocks(layer: OutputLayer, size: int, device: torch.device) -> Iterator[ClassBlock]:
    for first in range(0, layer.num_classes, size):
        ids = torch.arange(first, min(first + size, layer.num_classes), device=device)
        yield ClassBlock(first, layer.class_embeddings(ids), layer.class_bias(ids))
