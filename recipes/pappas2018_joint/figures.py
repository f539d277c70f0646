"""Two of the paper's figures, from this recipe's results: BLEU by d_j, and speed by share."""

import logging
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from pappas2018_joint.axes import Arms

SIZE = (6, 3.6)  # inches


def draw(arms: Arms, folder: Path) -> list[Path]:
    """Write bleu_by_joint_dim.png and speed_by_share.png, each if there is something to show.

    Raises:
        ImportError: without matplotlib, which the extra ``report`` installs.
    """
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # fairseq makes every library talk
    import matplotlib

    matplotlib.use("Agg")  # no screen needed
    from matplotlib import pyplot

    written = []
    for name, plot in (
        ("bleu_by_joint_dim.png", bleu_by_joint_dim),
        ("speed_by_share.png", speed_by_share),
    ):
        figure, axes = pyplot.subplots(figsize=SIZE, layout="constrained")
        if plot(arms, axes):
            axes.legend(fontsize="small")
            axes.grid(alpha=0.3)
            figure.savefig(folder / name, dpi=120)
            written.append(folder / name)
        pyplot.close(figure)
    return written


def bleu_by_joint_dim(arms: Arms, axes) -> bool:
    """A curve of the joint models for each direction, and lines for NMT and tied."""
    dims = sorted({*arms.axes.joint_dims, *arms.axes.sweep_dims})
    for number, direction in enumerate(arms.axes.directions):
        scores = {dim: arms.runs.bleu(arms.name(f"joint{dim}", direction)) for dim in dims}
        points = [(dim, bleu) for dim, bleu in scores.items() if bleu is not None]
        if not points:
            continue
        colour = f"C{number}"
        axes.plot(*zip(*points, strict=True), "o-", color=colour, label=f"{direction} joint")
        for model, line in (("nmt", ":"), ("tied", "--")):
            bleu = arms.runs.bleu(arms.name(model, direction))
            if bleu is not None:
                axes.axhline(bleu, linestyle=line, color=colour, label=f"{direction} {model}")
    axes.set(xlabel="d_j", ylabel="BLEU", xscale="log")
    axes.set_xticks(dims, [str(dim) for dim in dims])
    axes.minorticks_off()
    return axes.has_data()


def speed_by_share(arms: Arms, axes) -> bool:
    """Training speed of the models that took turns; bars from the slowest round to the fastest."""
    for model, by_share in rounds_by_model(arms.axes.speeds.items()).items():
        shares = sorted(by_share)
        middle = [median(by_share[share]) for share in shares]
        below = [median(by_share[share]) - min(by_share[share]) for share in shares]
        above = [max(by_share[share]) - median(by_share[share]) for share in shares]
        axes.errorbar(shares, middle, yerr=[below, above], marker="o", capsize=3, label=model)
    axes.set(xlabel="classes scored in training, percent", ylabel="target tokens/s")
    return axes.has_data()


def rounds_by_model(speeds: Iterable[tuple]) -> dict[str, dict[int, list[float]]]:
    """Tokens a second of every round, by model and percentage, from names of arms."""
    found: dict[str, dict[int, list[float]]] = {}
    for name, rounds in speeds:
        model, *changes = name.split(".")[2:]
        shares = [int(change[5:]) for change in changes if change.startswith("share")]
        found.setdefault(model, {})[shares[0] if shares else 100] = rounds
    return found
