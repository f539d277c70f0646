"""Two of the paper's figures, from this recipe's results: BLEU by d_j, and speed by share."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from recipes.lab.figures import Chart, Panel, Series

if TYPE_CHECKING:
    from recipes.pappas2018_joint.claims import Arms


def charts(arms: "Arms") -> dict[str, Chart]:
    """By the name of their file."""
    return {
        "bleu_by_joint_dim.png": bleu_by_joint_dim(arms),
        "speed_by_share.png": speed_by_share(arms.speeds),
    }


def bleu_by_joint_dim(arms: "Arms") -> Chart:
    """A curve of the joint models for each direction, and lines for NMT and tied."""
    series = []
    for direction in arms.directions:
        scores = {dim: arms.runs.bleu(arms.name(f"joint{dim}", direction)) for dim in arms.dims}
        points = {dim: bleu for dim, bleu in scores.items() if bleu is not None}
        if not points:
            continue
        curve = Series(f"{direction} joint", list(points), list(points.values()), group=direction)
        series.append(curve)
        for model in ("nmt", "tied"):
            bleu = arms.runs.bleu(arms.name(model, direction))
            if bleu is not None:
                label = f"{direction} {model}"
                series.append(Series(label, (), [bleu], style="level", group=direction))
    return [Panel("d_j", "BLEU", series, x_scale="log", ticks=arms.dims)]


def speed_by_share(speeds: Mapping[str, Sequence[float]]) -> Chart:
    """Training speed of the models that took turns; bars from the slowest round to the fastest."""
    series = []
    for model, by_share in rounds_by_model(speeds).items():
        shares = sorted(by_share)
        rounds = [by_share[share] for share in shares]
        bars = [min(one) for one in rounds], [max(one) for one in rounds]
        series.append(Series(model, shares, [median(one) for one in rounds], *bars))
    return [Panel("classes scored in training, percent", "target tokens/s", series)]


def rounds_by_model(
    speeds: Mapping[str, Sequence[float]],
) -> dict[str, dict[int, Sequence[float]]]:
    """Tokens a second of every round, by model and percentage, from names of arms."""
    found: dict[str, dict[int, Sequence[float]]] = {}
    for name, rounds in speeds.items():
        model, *changes = name.split(".")[2:]
        shares = [int(change[5:]) for change in changes if change.startswith("share")]
        found.setdefault(model, {})[shares[0] if shares else 100] = rounds
    return found
