"""The paper's figures as data, from the ledger and the training logs of this machine.

radius_ARM.svg: radii over training for the forward encoder, the backward encoder and the decoder.
length.svg: BLEU by sentence length for fixed and learned radii. gradient.svg: gradient norms back
through time in frozen and trained layers; gradient.json: the same in numbers. What was not run, or
whose files are not on this machine, is left out.
"""

import itertools
import shlex
from pathlib import Path

from recipes.lab import ledger, scoring, training_log
from recipes.lab.figures import Chart, Panel, Series
from recipes.lab.resampling import bleu, of_lengths
from recipes.lab.runs import Runs

SIDES = ("encoder_forward", "encoder_backward", "decoder")
FIXED = ("radius_0.1", "radius_0.9", "radius_2.0", "esnmt")
CELLS = ("rnmt_plus", "esnmt", "esnmt_lstm")
EDGES = (1, 8, 10, 12, 14, 17, 100)  # words of the reference
Norms = dict[str, list[list[float]]]


def charts(runs: Runs, norms: Norms) -> dict[str, Chart]:
    """By the name of their file."""
    radii = {f"radius_{arm}.svg": radius_curves(runs, arm) for arm in CELLS[1:] if arm in runs}
    return {**radii, "length.svg": bleu_by_length(runs), "gradient.svg": gradient_curves(norms)}


def curve(run: dict, metric: str) -> tuple[list[float], list[float]]:
    """Updates and values of a metric over a training; none if its log is not on this machine."""
    log = ledger.ROOT / run["run"] / "train.log"
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    found = filter(None, map(training_log.parse_line, text.splitlines()))
    values = [line.values for line in found if line.tag == "train_inner"]
    points = [(v["num_updates"], v[metric]) for v in values if metric in v]
    return [update for update, _ in points], [value for _, value in points]


def radii(runs: Runs, arm: str, seed: int, side: str) -> list[float]:
    """The last radii of one side, from the bottom.

    From the ledger; of older lines from the log, if it is on this machine.
    """
    run, found = runs.entry(arm, seed), []
    echo = run["figures"].get("echo", {})
    while (name := f"radius_{side}_{len(found)}") in echo:
        found.append(echo[name])
    while not echo and (values := curve(run, f"radius_{side}_{len(found)}")[1]):
        found.append(values[-1])
    return found


def radius_curves(runs: Runs, arm: str) -> Chart:
    """One panel a direction, one curve a layer."""
    panels = []
    for side in SIDES:
        series: list[Series] = []
        while (points := curve(runs.entry(arm), f"radius_{side}_{len(series)}"))[1]:
            series.append(Series(f"layer {len(series)}", *points, style="line"))
        title = f"{arm}, {side.replace('_', ' ')}"
        panels.append(Panel("updates", "spectral radius", series, title))
    return panels


def bleu_by_length(runs: Runs) -> Chart:
    """BLEU in buckets of the reference's length, a curve an arm."""
    buckets, series = list(itertools.pairwise(EDGES)), []
    names = [f"{low}-{high - 1}" for low, high in buckets]
    metrics = [of_lengths(bleu(tokenised=True), *bucket) for bucket in buckets]
    for arm in FIXED:
        if arm not in runs or not runs.translations(arm, "tokenised"):
            continue
        scores = [runs.estimate([arm], lambda score, m=m, a=arm: score(a, m)) for m in metrics]
        label = "learned" if arm == "esnmt" else arm.replace("_", " ")
        series.append(Series(label, names, [score.value for score in scores]))
    return [Panel("words of the reference", "BLEU (tokenised)", series)]


def gradient_curves(norms: Norms) -> Chart:
    """Norms by distance in time on a logarithmic axis, a panel an arm."""
    return [
        Panel(
            "steps back in time",
            "gradient norm, share of the last step's",
            [
                Series(f"layer {depth}", range(len(one)), one, style="line")
                for depth, one in enumerate(layers)
            ],
            arm,
            y_scale="log",
        )
        for arm, layers in norms.items()
    ]


def measure_gradients(runs: Runs, output: Path) -> Norms:
    """`gradients.decay` of each kind of cell whose checkpoint and data are on this machine."""
    norms: Norms = {}
    for arm in CELLS:
        checkpoint = runs.file(arm, "checkpoints/checkpoint_best.pt") if arm in runs else None
        data = ledger.ROOT / shlex.split(runs.entry(arm)["command"])[1] if checkpoint else None
        if data and data.exists():
            from recipes.garg2020_esnmt import gradients  # slow: it needs fairseq

            norms[arm] = gradients.decay(checkpoint, str(data))
    if norms:
        facts = {
            arm: [{"norms": one, "half_life": gradients.half_life(one)} for one in layers]
            for arm, layers in norms.items()
        }
        scoring.write_json(output, facts)
        print(f"  {output}")
    return norms
