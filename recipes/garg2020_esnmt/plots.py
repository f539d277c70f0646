"""The paper's figures, from what the ledger holds.

    python recipes/garg2020_esnmt/plots.py results/garg2020/ledger.jsonl

radius.svg: radii over training for the forward encoder, the backward encoder and the decoder.
length.svg: BLEU by sentence length for fixed and learned radii. gradient.svg: gradient norms back
through time in frozen and trained layers. gradient.json: the same in numbers. What was not run, or
whose files are not on this machine, is left out.
"""

import argparse
import itertools
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import ledger
from garg2020_esnmt import echo_runs as records
from garg2020_esnmt import gradients
from garg2020_esnmt.echo_runs import Run

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SIDES = ("encoder_forward", "encoder_backward", "decoder")
RADII = ("radius_0.1", "radius_0.9", "radius_2.0", "esnmt")
CELLS = ("rnmt_plus", "esnmt", "esnmt_lstm")
EDGES = (1, 8, 10, 12, 14, 17, 100)  # words of the reference


def radius_curves(runs: dict[str, list[Run]], arm: str) -> Any:
    """One panel a direction, one curve a layer; None if the arm has no curve."""
    figure, panels = plt.subplots(1, len(SIDES), figsize=(12, 3.5), sharey=True)
    drawn = False
    for side, panel in zip(SIDES, panels, strict=True):
        depth = 0
        while (curve := runs[arm][0].curve(f"radius_{side}_{depth}"))[1]:
            panel.plot(*curve, label=f"layer {depth}")
            depth, drawn = depth + 1, True
        panel.set(title=f"{arm}, {side.replace('_', ' ')}", xlabel="updates")
    panels[0].set_ylabel("spectral radius")
    panels[0].legend()
    return figure if drawn else None


def bleu_by_length(runs: dict[str, list[Run]]) -> Any:
    """BLEU in buckets of the reference's length, a curve an arm."""
    figure, panel = plt.subplots(figsize=(6, 4))
    present = [arm for arm in RADII if arm in runs]
    buckets = list(itertools.pairwise(EDGES))
    for arm in present:
        lengths = runs[arm][0].lengths
        chosen = [np.flatnonzero((lengths >= a) & (lengths < b)) for a, b in buckets]
        scores = [np.mean([run.bleu(rows) for run in runs[arm]]) for rows in chosen]
        name = "learned" if arm == "esnmt" else arm.replace("_", " ")
        panel.plot([f"{a}-{b - 1}" for a, b in buckets], scores, marker="o", label=name)
    panel.set(xlabel="words of the reference", ylabel="BLEU (tokenised)")
    panel.legend()
    return figure if present else None


def gradient_curves(norms: dict[str, list[list[float]]]) -> Any:
    """Norms by distance in time on a logarithmic axis, a panel an arm."""
    if not norms:
        return None
    figure, panels = plt.subplots(1, len(norms), figsize=(4 * len(norms), 3.5), sharey=True)
    for (arm, layers), panel in zip(norms.items(), np.atleast_1d(panels), strict=True):
        for depth, curve in enumerate(layers):
            panel.semilogy(curve, label=f"layer {depth}")
        panel.set(title=arm, xlabel="steps back in time")
        panel.legend()
    np.atleast_1d(panels)[0].set_ylabel("gradient norm, share of the last step's")
    return figure


def measure_gradients(path: Path, runs: dict[str, list[Run]]) -> dict[str, list[list[float]]]:
    """`gradients.decay` of each kind of cell whose checkpoint and data are on this machine."""
    data = {entry["arm"]: shlex.split(entry["command"])[1] for entry in ledger.read(path)}
    norms = {}
    for arm in CELLS:
        folder = ledger.ROOT / data.get(arm, "nowhere")
        for run in runs.get(arm, [])[:1]:
            checkpoint = run.folder / "checkpoints" / "checkpoint_best.pt"
            if checkpoint.exists() and folder.exists():
                norms[arm] = gradients.decay(checkpoint, str(folder))
    return norms


def main(arguments: list[str] | None = None) -> int:
    """Draw every figure beside the ledger."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    path = parser.parse_args(arguments).ledger
    runs = records.read_runs(path)
    norms = measure_gradients(path, runs)
    figures = {f"radius_{arm}": radius_curves(runs, arm) for arm in CELLS[1:] if arm in runs}
    figures |= {"length": bleu_by_length(runs), "gradient": gradient_curves(norms)}
    for name, figure in figures.items():
        if figure is None:
            print(f"  {name}: nothing to draw")
            continue
        figure.tight_layout()
        figure.savefig(path.parent / f"{name}.svg", metadata={"Date": None})
        print(path.parent / f"{name}.svg")
    if norms:
        facts = {
            arm: [{"norms": curve, "half_life": gradients.half_life(curve)} for curve in layers]
            for arm, layers in norms.items()
        }
        records.write(path.parent / "gradient.json", json.dumps(facts, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
