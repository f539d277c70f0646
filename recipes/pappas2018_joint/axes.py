"""The names of the arms, as arms.sh makes them, and what was found about each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recorded_runs import Runs

ECONOMY = ".share25"  # how the authors trained the largest vocabularies


@dataclass
class Axes:
    """The axes of the arms, as in arms.sh, and what was measured apart from the ledger.

    Attributes:
        speeds: tokens a second of arms that took turns, a value a round.
        training_texts: words of the target language by direction.
    """

    directions: Sequence[str]
    vocabulary: str
    vocabularies: Sequence[str]
    sampling_vocabulary: str
    joint_dims: Sequence[int]
    sweep_dims: Sequence[int]
    shares: Sequence[int]
    depths: Sequence[int]
    layers: int
    speeds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    training_texts: Mapping[str, Path] = field(default_factory=dict)


class Arms:
    """The names of the arms, and what was found about them."""

    def __init__(self, axes: Axes, runs: Runs):
        self.axes, self.runs = axes, runs
        self.small, self.large = (f"joint{end(axes.joint_dims)}" for end in (min, max))
        self.first = axes.directions[0]

    def name(self, model: str, direction: str = "", vocabulary: str = "", change: str = "") -> str:
        """Of an arm; the first direction and the recipe's vocabulary if not said."""
        parts = [direction or self.first, vocabulary or self.axes.vocabulary, model, change]
        name = ".".join(filter(None, parts))
        sampled = name + ECONOMY
        return sampled if name not in self.runs and sampled in self.runs else name

    def chosen_joint(self, direction: str = "", vocabulary: str = "") -> str:
        """The joint arm with the best perplexity in validation: how d_j is chosen."""
        dims = sorted({*self.axes.joint_dims, *self.axes.sweep_dims})
        names = [self.name(f"joint{dim}", direction, vocabulary) for dim in dims]
        perplexities = {
            name: self.runs.figure(name, "best_valid_ppl") for name in names if name in self.runs
        }
        known = {name: ppl for name, ppl in perplexities.items() if ppl is not None}
        return min(known, key=known.__getitem__, default=self.name(self.small, direction))
