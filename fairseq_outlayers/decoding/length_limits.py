"""Length limits of a translation by the length of its own source, and by a model's positions."""

import math
from typing import Any, Callable, Iterable

from fairseq.modules import LearnedPositionalEmbedding
from fairseq.search import Search
from torch import Tensor

from fairseq_outlayers.errors import UserError, as_flag


class LengthLimits(Search):
    """Wraps a search strategy of fairseq and limits the length of hypotheses.

    No ``</s>`` before ``floor(min_len_a * source length)`` words, and ``</s>`` after at most
    ``floor(max_len_a * source length) + max_len_b`` words; the source's ``</s>`` counts. An end
    forced by a prefix or by fairseq's own limit stays. A sentence whose lower limit is above its
    upper one is refused. fairseq applies ``--max-len-a`` to the longest source of the batch, which
    makes hypotheses depend on the batch. The authors of Jean et al. (2015) decode with a
    ``min_len_a`` of one half.

    Args:
        strategy: the wrapped strategy.
        dictionary: the target dictionary.
        min_len_a: minimum length as a share of the source length.
        max_len_a: maximum length as a share of the source length; 0 for no limit here.
        max_len_b: words added to the maximum.
        min_len: the upper limit is at least this.
        spelled: an option in messages, of its name or of its name and value.
    """

    def __init__(
        self,
        strategy: Any,
        dictionary: Any,
        min_len_a: float,
        max_len_a: float,
        max_len_b: int,
        min_len: int = 1,
        spelled: Callable[..., str] = as_flag,
    ):
        super().__init__(dictionary)
        self.strategy, self.min_len_a = strategy, min_len_a
        self.max_len_a, self.max_len_b, self.min_len = max_len_a, max_len_b, min_len
        self.spelled = spelled
        self.needs_src_lengths = True
        self.supports_constraints = strategy.supports_constraints
        # A sentence that ends before the batch may have fewer hypotheses than the beam.
        self.stop_on_max_len = strategy.stop_on_max_len or max_len_a > 0
        for name in ("init_constraints", "prune_sentences", "update_constraints"):
            setattr(self, name, getattr(strategy, name))

    def set_src_lengths(self, src_lengths: Tensor) -> None:
        """Update the lengths; called at each step, because finished sentences leave the batch."""
        super().set_src_lengths(src_lengths)
        self.strategy.set_src_lengths(src_lengths)

    def step(self, step: int, lprobs: Tensor, *arguments: Any, **options: Any) -> Any:
        """The strategy's step under the limits; ``lprobs`` is ``(B, beam, V)``."""
        # On an accelerator, checking whether a limit applies would synchronize at every step.
        if step == 0 and self.min_len_a > self.max_len_a > 0:
            self._check()
        if self.min_len_a > 0:
            self._keep_open(lprobs, step < self._least())
        if self.max_len_a > 0 and step >= self.max_len_b:
            self._close(lprobs, step >= self._most())
        return self.strategy.step(step, lprobs, *arguments, **options)

    def _least(self) -> Tensor:
        """The lower limit of each sentence, ``(B,)``."""
        return (self.min_len_a * self.src_lengths.double()).floor()

    def _most(self) -> Tensor:
        """The upper limit of each sentence, ``(B,)``."""
        # As fairseq's own limit: in float32, 1.16 * 25 is 29, not 28.999999999999996.
        most = (self.max_len_a * self.src_lengths.double() + self.max_len_b).floor()
        return most.clamp(min=self.min_len)

    def _check(self) -> None:
        """Raise a ``UserError`` if the lower limit of a sentence is above its upper one."""
        least, most = self._least(), self._most()
        worst = int((least - most).argmax())
        if least[worst] > most[worst]:
            raise limits_cross(
                self.min_len_a,
                self.max_len_a,
                self.max_len_b,
                f"a source of {int(self.src_lengths[worst])} words, with </s>, needs at least "
                f"{int(least[worst])} words and may have {int(most[worst])}",
                self.spelled,
            )

    def _keep_open(self, lprobs: Tensor, early: Tensor) -> None:
        if early.device.type != "cpu" or early.any():
            acts = early.unsqueeze(1)
            ends = lprobs[:, :, self.eos].clone()
            lprobs[:, :, self.eos] = ends.masked_fill(acts, -math.inf)
            forced = lprobs.amax(dim=2).isneginf()
            lprobs[:, :, self.eos] = ends.masked_fill(acts & ~forced, -math.inf)

    def _close(self, lprobs: Tensor, late: Tensor) -> None:
        if late.device.type != "cpu" or late.any():
            ends = lprobs[:, :, self.eos].clone()
            closes = late.unsqueeze(1) & ~ends.isneginf()  # not within a forced prefix
            lprobs.masked_fill_(closes.unsqueeze(2), -math.inf)
            lprobs[:, :, self.eos] = ends


def limits_cross(
    min_len_a: float, max_len_a: float, max_len_b: int, where: str, spelled: Callable[..., str]
) -> UserError:
    """The error for a lower limit above the upper one.

    Args:
        min_len_a, max_len_a, max_len_b: the limits.
        where: they cross, in words.
        spelled: an option in messages, of its name or of its name and value.
    """
    limits = {"min_len_a": min_len_a, "max_len_a": max_len_a, "max_len_b": max_len_b}
    least, *most = (
        spelled(name, int(limit) if float(limit).is_integer() else float(f"{limit:g}"))
        for name, limit in limits.items()
    )
    return UserError(
        f"{least} contradicts {' '.join(most)}: {where}: lower {spelled('min_len_a')}, or raise "
        "one of the others"
    )


def learned_positions(parts: Iterable[Any]) -> float:
    """The number of positions that all encoders or decoders have a vector for; infinity for any."""
    return min(
        (
            part.max_positions()
            for part in parts
            if isinstance(getattr(part, "embed_positions", None), LearnedPositionalEmbedding)
        ),
        default=math.inf,
    )
