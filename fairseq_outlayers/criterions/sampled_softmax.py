"""Cross-entropy over the target and a sample of the other classes."""

import argparse
import logging
from dataclasses import dataclass, field
from typing import Any

from fairseq.criterions import register_criterion
from omegaconf import II
from torch import Tensor

from fairseq_outlayers.criterions.base import Loss, SoftmaxConfig, SoftmaxCriterion
from fairseq_outlayers.criterions.batch_rng import BatchRNG
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.losses import sampled_nll, scored_classes
from fairseq_outlayers.options import SamplerConfig
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.ranges import check_ranges, ranged
from fairseq_outlayers.registry import class_of
from fairseq_outlayers.samplers import Sampler, build_sampler

logger = logging.getLogger(__name__)


@dataclass
class SampledSoftmaxConfig(SamplerConfig, SoftmaxConfig):
    num_sampled: int = ranged(0, "draws per batch; or use --sample-share", at_least=0)
    sample_share: float = ranged(
        0.0,
        "draws per batch as a share of the number of classes; a class that is drawn twice is "
        "scored once, so that log_uniform at 0.25 scores about 0.1 of the classes",
        at_least=0,
        at_most=1,
    )
    no_logq_correction: bool = field(
        default=False,
        metadata={
            "help": "do not subtract the logarithm of the expected count from sampled scores "
            "(uncorrected: Pappas et al. 2018)"
        },
    )
    correct_targets: bool = field(
        default=False,
        metadata={
            # Accepted for old command lines and checkpoints; no effect.
            "help": argparse.SUPPRESS
        },
    )
    seed: int = II("common.seed")


@register_criterion("sampled_softmax", dataclass=SampledSoftmaxConfig)
class SampledSoftmax(SoftmaxCriterion):
    """Softmax over the target and classes drawn by ``--sampler`` in training, exact in validation.

    All positions of a batch share one sample. ``nll_loss`` and ``ppl`` of training are those of the
    sampled softmax, lower than the exact ones; ``sampled_share`` is the share of classes scored.

    Args:
        task: fairseq's task.
        config: label smoothing, chunk size, seed and correction.
        sampler: draws the classes.
    """

    name = "sampled_softmax"

    def __init__(self, task: Any, config: Any, sampler: Sampler):
        super().__init__(task, config.label_smoothing, config.loss_chunk_size, config.sentence_avg)
        if config.correct_targets:
            logger.warning(
                "--correct-targets no longer has an effect, because it biased the loss: leave it "
                "out"
            )
        self.sampler = sampler
        self.correct_sampled = not config.no_logq_correction
        self._rng = BatchRNG(config.seed)
        self._warned = False

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "SampledSoftmax":
        check_ranges(cfg, class_of(cfg))
        dictionary = task.target_dictionary
        sampler = build_sampler(cfg, dictionary, num_to_sample(cfg, len(dictionary)))
        return cls(task, cfg, sampler)

    def training_loss(
        self, layer: OutputLayer, hidden: Tensor, targets: Tensor, reduce: bool
    ) -> Loss:
        sample = self.sampler.sample(targets, self._rng.next(self.update_number()))
        scored = scored_classes(sample.ids, targets, self.sampler.includes_targets)
        self._warn_of_size(len(sample.ids))
        expected = sample.log_expected_count
        if expected.shape != sample.ids.shape:
            raise ValueError(
                f"{type(self.sampler).__name__} drew ids {tuple(sample.ids.shape)} with logarithms "
                f"of expected counts {tuple(expected.shape)}: must be (S,) each"
            )
        loss, nll = sampled_nll(
            layer.project(hidden),
            scored.target_rows,
            layer.class_embeddings(scored.ids),
            layer.class_bias(scored.ids),
            expected if self.correct_sampled else expected.new_zeros(len(expected)),
            smoothing=self.label_smoothing,
            reduction="sum" if reduce else "none",
            chunk_size=self.chunk_size,
        )
        counts = {"scored_classes": len(scored.ids), "all_classes": layer.num_classes}
        return Loss(loss, nll, counts)

    def _warn_of_size(self, size: int) -> None:
        needed = self.sampler.includes_targets
        if needed and size > self.sampler.num_sampled and not self._warned:
            self._warned = True
            share, asked = size / self.sampler.num_classes, self.sampler.num_sampled
            logger.warning(
                f"a batch has {size} classes that must be scored, {share:.1%} of all, but only "
                f"{asked} are to be sampled: such batches get no further negatives "
                "(raise --num-sampled or --sample-share, or use smaller batches)"
            )


def num_to_sample(config: Any, num_classes: int) -> int:
    """The sample size by ``--num-sampled`` or ``--sample-share``.

    Raises:
        UserError: if both or neither are given, or the sample is larger than the vocabulary.
    """
    if (config.num_sampled == 0) == (config.sample_share == 0):
        raise UserError(
            "--criterion sampled_softmax needs either --num-sampled or --sample-share "
            f"(given: --num-sampled {config.num_sampled} --sample-share {config.sample_share})"
        )
    if config.num_sampled > num_classes:
        raise UserError(
            f"--num-sampled {config.num_sampled}: the target dictionary has only {num_classes} "
            "classes; use a smaller number, --sample-share 0.25, or --criterion full_softmax to "
            "score all of them"
        )
    # Rounded first: .29 * 100 is 28.999999999999996 in floating point.
    share = int(round(config.sample_share * num_classes, 6))
    return config.num_sampled or max(1, share)
