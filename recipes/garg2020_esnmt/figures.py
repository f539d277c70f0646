"""The paper's figures as data, from the ledger and files in its folder.

bleu: BLEU of each model, as a share of the trained one's. bleu_by_time: by training time. radii:
learned radii. bleu_by_length: by sentence length for fixed and learned radii. gradient: norms
through time in frozen and trained layers. Arms that were not run are omitted.
"""

import itertools
import shlex
from collections.abc import Mapping
from pathlib import Path

from recipes.lab import ledger
from recipes.lab.claims import HOLDS, judge
from recipes.lab.figures import chart_parts
from recipes.lab.figures.charts import Chart, Panel, Series, seeds_in_words
from recipes.lab.running import training_log
from recipes.lab.runs import Runs
from recipes.lab.scores import scoring
from recipes.lab.scores.resampling import Metric, bleu, of_lengths

SIDES = ("encoder_forward", "encoder_backward", "decoder")
CELLS = ("rnmt_plus", "esnmt", "esnmt_lstm")
PLAIN = {
    "rnmt_plus": "all trained",
    "rnmt_plus_narrow": "all trained, narrower",
    "esnmt": "frozen simple cells",
    "esnmt_lstm": "frozen LSTM cells",
    "release_encoder": "frozen LSTM decoder, trained encoder",
    "release_decoder": "frozen LSTM encoder, trained decoder",
    "release_embeddings": "only embeddings and softmax trained",
    "release_softmax": "only the softmax trained",
    "esnmt_wide": "frozen simple cells, twice as wide",
    "esnmt_lstm_wide": "frozen LSTM cells, twice as wide",
    "radius_0.1": "simple cells, radius 0.1",
    "radius_0.9": "simple cells, radius 0.9",
    "radius_2.0": "simple cells, radius 2",
    "gamma_0.1": "simple cells, input scale 0.1",
    "gamma_1": "simple cells, input scale 1",
    "fan_in_3": "simple cells, input scale 3 / fan-in",
    "fan_in_10": "simple cells, input scale 10 / fan-in",
    "esnmt_faithful": "simple cells, the paper's input scale 10",
    "esnmt_lstm_faithful": "LSTM cells, the paper's input scale 10",
}
FIXED = {"radius_0.1": "radius 0.1", "radius_0.9": "radius 0.9", "radius_2.0": "radius 2",
         "esnmt": "learned radii"}  # fmt: skip
KEPT_RADII = "learned_radii.json"  # of old ledger lines, which lack them
EDGES = (1, 8, 10, 12, 14, 17, 100)  # words of the reference
Norms = dict[str, list[list[float]]]


def charts(runs: Runs, norms: Norms) -> dict[str, Chart]:
    """All charts by file name."""
    timed = {arm: PLAIN[arm] for arm in CELLS}
    return {
        "bleu": by_model(runs),
        "bleu_by_time": chart_parts.by_time(runs, timed, "Echo states"),
        "radii": learned_radii(runs),
        "bleu_by_length": bleu_by_length(runs),
        "gradient": gradient_curves(norms),
    }


def by_model(runs: Runs) -> Chart:
    """BLEU of every model of the newest schedule, best first."""
    view = runs.mostly_alike(list(PLAIN))
    rows = sorted(chart_parts.bleu_rows(view, PLAIN), key=lambda row: -row.value)
    return chart_parts.rows_chart(
        title(view), "BLEU, test set", rows, chart_parts.note(view, list(PLAIN))
    )


def title(runs: Runs) -> str:
    """The share of the trained model's BLEU that frozen ones reach, with the seeds of all."""
    runs = runs.with_seeds_of(CELLS)
    trained = runs.bleu("rnmt_plus") if "rnmt_plus" in runs else None
    shares = [
        f"{PLAIN[arm]} {runs.bleu(arm) / trained:.0%}"
        for arm in CELLS[1:]
        if trained and arm in runs
    ]
    if not shares:
        return "BLEU of the models run so far"
    return f"Of the trained model's {trained:.1f} BLEU, {' and '.join(shares)}"


def curve(run: dict, metric: str) -> tuple[list[float], list[float]]:
    """Updates and values of a metric in training; empty if the log is not on this machine."""
    log = ledger.ROOT / run["run"] / "train.log"
    found = training_log.statistics_of(log) if log.exists() else []
    values = [line.values for line in found if line.tag == "train_inner"]
    points = [(v["num_updates"], v[metric]) for v in values if metric in v]
    return [update for update, _ in points], [value for _, value in points]


def radii(runs: Runs, arm: str, seed: int, side: str) -> list[float]:
    """The final radii of one side, from the bottom layer.

    From the ledger; for older lines from the stored file, or the log if it is on this machine.
    """
    run, found = runs.entry(arm, seed), []
    echo = run["figures"].get("echo", {})
    kept = Path(run.get("results", "nowhere"), KEPT_RADII)
    sides = {} if echo else scoring.read_json(kept).get(ledger.name_of(run), {})
    if side in sides:
        return sides[side]
    while (name := f"radius_{side}_{len(found)}") in echo:
        found.append(echo[name])
    while not echo and (values := curve(run, f"radius_{side}_{len(found)}")[1]):
        found.append(values[-1])
    return found


def learned_radii(runs: Runs) -> Chart:
    """A panel per arm, a curve per direction: means over seeds, bars from minimum to maximum."""
    panels, rising, stacks = [], 0, 0
    for arm in CELLS[1:]:
        series = []
        for side in SIDES:
            seeds = runs.seeds([arm]) if arm in runs else []
            found = [one for seed in seeds if (one := radii(runs, arm, seed, side))]
            rising += sum(one[-1] > one[0] for one in found)
            stacks += len(found)
            if found:
                layers = list(zip(*found, strict=True))
                series.append(Series(
                    side.replace("_", " "), range(1, len(layers) + 1),
                    [sum(one) / len(one) for one in layers],
                    [min(one) for one in layers], [max(one) for one in layers],
                ))  # fmt: skip
        numbers = range(1, max((len(one.x) for one in series), default=0) + 1)
        panels.append(Panel("layer", "learned spectral radius", series, PLAIN[arm], ticks=numbers))
    words = f"Learned radii are larger in the last layer than in the first in {rising} of {stacks}"
    note = f"{chart_parts.seeds_of(runs, CELLS[1:])}; bars, if any: least to largest of them."
    return Chart(f"{words} stacks of layers", panels, note)


def bleu_by_length(runs: Runs) -> Chart:
    """BLEU by reference length, a curve per arm; empty unless two arms were run."""
    view = runs.alike(list(FIXED), least=2)
    buckets, series = list(itertools.pairwise(EDGES)), {}
    names = [f"{low}-{high - 1}" for low, high in buckets[:-1]] + [f"{EDGES[-2]}+"]
    metrics = [of_lengths(bleu(tokenised=True), *bucket) for bucket in buckets]
    for arm, label in FIXED.items():
        if view is None or arm not in view or not view.translations(arm, "tokenised"):
            continue
        scores = [view.estimate([arm], lambda score, m=m, a=arm: score(a, m)) for m in metrics]
        series[arm] = Series(label, names, *chart_parts.columns(scores))
    if view is None or len(series) < 2:
        return Chart("", [])
    words = best_of_long(view, series, metrics[-1], f"{names[-1]} words")
    panel = Panel("words of the reference", "BLEU (tokenized)", list(series.values()))
    return Chart(words, [panel], chart_parts.note(view, list(FIXED)))


def best_of_long(runs: Runs, series: Mapping[str, Series], metric: Metric, length: str) -> str:
    """A title with the best two arms, and whether their difference is proven.

    Args:
        series: by arm, the last points for the longest sentences.
        metric: BLEU of these sentences.
        length: theirs, in words.
    """
    best, second = sorted(series, key=lambda arm: -series[arm].y[-1])[:2]
    found = runs.estimate([best, second], lambda score: score(best, metric) - score(second, metric))
    if found and judge(found, margin=0) == HOLDS:
        return f"Sentences of {length}: the highest BLEU is that of {FIXED[best]}"
    seeds = f" ({seeds_in_words(found.seeds)})" if found else ""
    words = f"Sentences of {length}: {FIXED[best]} and {FIXED[second]} are not proven to differ"
    return f"{words} in BLEU{seeds}"


def gradient_curves(norms: Norms) -> Chart:
    """Gradient norms by distance in time on a logarithmic axis, a panel per arm."""
    panels, last = [], {}
    for arm, layers in norms.items():
        series = [
            Series(f"layer {depth}", range(len(one)), one, style="line")
            for depth, one in enumerate(layers, start=1)
        ]
        panels.append(Panel("steps back in time", "gradient norm / last step's", series,
                            PLAIN.get(arm, arm), y_scale="log"))  # fmt: skip
        last[arm] = [one[min(10, len(one) - 1)] for one in layers]
    if not last:
        return Chart("Gradients back through time", panels)
    kept = ", ".join(
        f"{PLAIN.get(arm, arm)} {min(of_layers):.1g} to {max(of_layers):.1g}"
        for arm, of_layers in last.items()
    )
    words = f"Gradient norm ten steps back, as a share of the last step's, over layers: {kept}"
    note = "Forward encoder layers of one seed; the longest validation sentences."
    return Chart(words, panels, note)


def measure_gradients(runs: Runs, output: Path) -> Norms:
    """`gradients.decay` of each type of cell whose checkpoint and data are on this machine.

    For the others, earlier measurements.
    """
    kept = scoring.read_json(output)
    norms: Norms = {arm: [layer["norms"] for layer in layers] for arm, layers in kept.items()}
    measured = False
    for arm in CELLS:
        checkpoint = runs.file(arm, "checkpoints/checkpoint_best.pt") if arm in runs else None
        data = ledger.ROOT / shlex.split(runs.entry(arm)["command"])[1] if checkpoint else None
        if data and data.exists():
            from recipes.garg2020_esnmt import gradients  # slow to import

            norms[arm], measured = gradients.decay(checkpoint, str(data)), True
    if measured:
        from recipes.garg2020_esnmt.gradients import half_life

        facts = {
            arm: [{"norms": one, "half_life": half_life(one)} for one in layers]
            for arm, layers in norms.items()
        }
        scoring.write_json(output, facts)
        print(f"  {output}")
    return norms
