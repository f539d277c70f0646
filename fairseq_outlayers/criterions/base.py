"""Base class of criterions: a training loss of their own, the exact softmax in validation."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
from fairseq.criterions import FairseqCriterion
from fairseq.dataclass import FairseqDataclass
from omegaconf import II
from torch import Tensor

from fairseq_outlayers.criterions import reporting
from fairseq_outlayers.criterions.features import hidden_and_targets, require_output_layer
from fairseq_outlayers.losses import ClassBlock, full_nll, smoothing_term, streamed_nll
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.ranges import check_ranges, ranged, share
from fairseq_outlayers.registry import class_of


@dataclass
class SoftmaxConfig(FairseqDataclass):
    label_smoothing: float = share(
        0.0, "probability spread uniformly over the classes other than the target"
    )
    loss_chunk_size: int = ranged(
        0,
        "target positions per chunk of logits: smaller saves memory; 0: chosen by device",
        at_least=0,
    )
    sentence_avg: bool = II("optimization.sentence_avg")


class Loss(NamedTuple):
    """The loss of a batch in nats: sums, or ``(N,)`` each."""

    loss: Tensor
    """The training objective."""
    nll: Tensor
    """The negative log-likelihood."""
    counts: Dict[str, int]
    """Further sums to log."""


class SoftmaxCriterion(FairseqCriterion):
    """Computes a loss from decoder states and the model's output layer.

    Subclasses define :meth:`training_loss`. Validation uses the exact softmax over all classes, so
    validation losses of all criterions compare.

    Args:
        task: fairseq's task.
        label_smoothing: probability of the classes other than the target.
        loss_chunk_size: positions per chunk of logits; 0: chosen by device.
        sentence_avg: divide gradients by the number of sentences instead of words.
    """

    name: str

    def __init__(self, task: Any, label_smoothing: float, loss_chunk_size: int, sentence_avg: bool):
        super().__init__(task)
        self.label_smoothing = label_smoothing
        self.ignore_index: Optional[int] = None  # a class that gets no share of the smoothing
        self.chunk_size = loss_chunk_size
        self.sentence_avg = sentence_avg
        self.update_number: Callable[[], int] = lambda: 0

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> Any:
        """Check the ranges of all options, then build as fairseq does."""
        check_ranges(cfg, class_of(cfg))
        return super().build_criterion(cfg, task)

    def check_model(self, model: nn.Module) -> None:
        """Raise a ``UserError`` for a model without an output layer of ours."""
        require_output_layer(model, self.name)

    def follow_updates(self, update_number: Callable[[], int]) -> None:
        """Set the function that returns the trainer's update number."""
        self.update_number = update_number

    def forward(
        self, model: nn.Module, sample: Dict[str, Any], reduce: bool = True
    ) -> Tuple[Tensor, int, Dict[str, Any]]:
        """Loss of a batch.

        Returns:
            The summed loss in nats (with ``reduce=False`` one value for each position that is not
            padding, ``(N,)``), its denominator, and what to log.
        """
        layer = require_output_layer(model, self.name)
        hidden, targets = hidden_and_targets(model, sample, self.padding_idx)
        compute = self.training_loss if self.training else self.exact_loss
        loss, nll, counts = compute(layer, hidden, targets, reduce)
        sample_size = sample["target"].size(0) if self.sentence_avg else sample["ntokens"]
        return loss, sample_size, reporting.logging_output(sample, loss, nll, sample_size, **counts)

    @abstractmethod
    def training_loss(
        self, layer: OutputLayer, hidden: Tensor, targets: Tensor, reduce: bool
    ) -> Loss:
        """The training objective.

        Args:
            layer: scores the classes.
            hidden: decoder states, ``(N, H)``, padding removed.
            targets: class ids, ``(N,)``.
            reduce: return sums instead of ``(N,)`` each.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define training_loss")

    def exact_loss(self, layer: OutputLayer, hidden: Tensor, targets: Tensor, reduce: bool) -> Loss:
        """Softmax over all classes of the layer; arguments as in :meth:`training_loss`."""
        if layer.block_size is not None:
            return self._streamed_loss(layer, layer.block_size, hidden, targets, reduce)
        return self.loss_over(layer, hidden, targets, layer.class_bias(), reduce)

    def loss_over(
        self,
        layer: OutputLayer,
        hidden: Tensor,
        targets: Tensor,
        bias: Optional[Tensor],
        reduce: bool,
    ) -> Loss:
        """Softmax over the layer's classes in use, with biases ``(V,)`` or None."""
        scored = (layer.project(hidden), targets, layer.class_embeddings(), bias)
        reduction = "sum" if reduce else "none"
        nll = full_nll(*scored, reduction=reduction, chunk_size=self.chunk_size)
        if self.label_smoothing == 0:
            return Loss(nll, nll, {})
        term = smoothing_term(
            *scored, smoothing=self.label_smoothing, ignore_index=self.ignore_index
        )
        return Loss(nll + (term.sum() if reduce else term), nll, {})

    def _streamed_loss(
        self, layer: OutputLayer, size: int, hidden: Tensor, targets: Tensor, reduce: bool
    ) -> Loss:
        loss, nll = streamed_nll(
            layer.project(hidden),
            targets,
            _blocks(layer, size),
            self.label_smoothing,
            self.ignore_index,
            self.chunk_size,
        )
        return Loss(loss.sum(), nll.sum(), {}) if reduce else Loss(loss, nll, {})

    @staticmethod
    def reduce_metrics(logging_outputs: List[Dict[str, Any]]) -> None:
        reporting.reduce_metrics(logging_outputs)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True


def _blocks(layer: OutputLayer, size: int) -> Iterator[ClassBlock]:
    # Tables and ids are in host memory: a block is a contiguous slice of a table.
    for first in range(0, layer.num_classes, size):
        ids = torch.arange(first, min(first + size, layer.num_classes))
        yield ClassBlock(first, layer.class_embeddings(ids), layer.class_bias(ids))
