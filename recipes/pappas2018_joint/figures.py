"""Figures: output layers compared with the untied softmax, BLEU by d_j and by share of the
classes, gains by word frequency, speed by share.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from fairseq_outlayers.analysis.meteor import PARAMETERS
from recipes.lab.figures import chart_parts
from recipes.lab.figures.charts import Chart, Panel, Row, Rows, Series
from recipes.lab.scores import schedules
from recipes.pappas2018_joint import frequency_bins, length_penalty

if TYPE_CHECKING:
    from recipes.pappas2018_joint.claims import Arms

MODELS = {
    "nmt": "untied softmax",
    "tied": "weight tying",
    "bilinear": "bilinear",
    "output_structure": "nonlinear map of words (7a)",
    "context_structure": "nonlinear map of contexts (7b)",
    "deep_residual": "deep residual map of words",
}

FEW_EPOCHS = 5  # too few to converge
LANGUAGES = {"de": "German", "en": "English", "fi": "Finnish"}


def plain(model: str) -> str:
    """A model's name in words."""
    # With no-break spaces in the equation.
    return MODELS.get(model) or f"joint, d_j\u00a0=\u00a0{model.removeprefix('joint')}"


def charts(arms: "Arms") -> dict[str, Chart]:
    """All charts by file name."""
    found = {}
    for direction in arms.directions:
        found[f"output_layers.{direction}"] = output_layers(arms, direction)
        found[f"gain_by_frequency.{direction}"] = gain_by_frequency(arms, direction)
    return {
        **found,
        "bleu_by_joint_dim": bleu_by_joint_dim(arms),
        "bleu_by_share": bleu_by_share(arms),
        "speed_by_share": speed_by_share(arms.speeds),
    }


def output_layers(arms: "Arms", direction: str) -> Chart:
    """Differences in BLEU from the untied softmax, at both length penalties."""
    models = [*list(MODELS)[1:], *(f"joint{dim}" for dim in arms.dims)]
    names = {arms.name(model, direction): plain(model) for model in models}
    base = arms.name("nmt", direction)
    view = arms.runs.alike([base, *names], least=2)
    rows: list[Row] = []
    if view is None or base not in view:
        return Chart("", [Rows("", rows)])
    for name, label in names.items():
        weights = {name: 1, base: -1}
        if name in view and (found := view.difference(weights)):
            rows.append(Row.of(label, found, "length penalty 1"))
            if (other := length_penalty.at_zero(view, weights)) is not None:
                # An interval over seeds alone would look more certain than the other.
                rows.append(Row(label, other.value, series="length penalty 0"))
    title = leaders(rows, direction, view.bleu(base))
    x = f"difference in BLEU from {plain('nmt')}"
    below = chart_parts.note(view, [base, *names])
    return chart_parts.rows_chart(title, x, rows, below, zero=True)


def in_words(direction: str) -> str:
    """``de-en`` as German to English."""
    return " to ".join(LANGUAGES.get(code, code) for code in direction.split("-"))


def leaders(rows: Sequence[Row], direction: str, base: float | None) -> str:
    """A title with the best model, if it is the same for both length penalties.

    Models with fewer seeds than others are left out: one of them may lead by chance.

    Args:
        rows: differences from the untied softmax.
        base: BLEU of the untied softmax.
    """
    where = in_words(direction)
    if not rows or base is None:
        return f"{where}: output layers"
    few = {row.label for row in rows if not row.decided}
    rows = [row for row in rows if row.label not in few] or rows
    free, best = plain("nmt"), {}
    for penalty in dict.fromkeys(row.series for row in rows):
        leader = max((row for row in rows if row.series == penalty), key=lambda row: row.value)
        best[penalty] = leader.label if leader.value > 0 else free
    known = [row for row in rows if not math.isnan(row.low)]
    if known and all(row.low <= 0 <= row.high for row in known):
        return f"{where}: no layer differs clearly from {free} ({base:.1f} BLEU)"
    first, *others = dict.fromkeys(best.values())
    if others:
        return f"{where}: who leads depends on the length penalty ({first}, or {others[0]})"
    if first == free:
        return f"{where}: {free} leads at both length penalties ({base:.1f} BLEU)"
    gains = " and ".join(f"{row.value:+.1f}" for row in rows if row.label == first)
    return f"{where}: {first} leads at both length penalties ({gains} BLEU, of {base:.1f})"


def gain_by_frequency(arms: "Arms", direction: str) -> Chart:
    """Gain in METEOR of the chosen joint model over others, by training count of the words."""
    text = Path(arms.recipe.training_text(direction))
    language, joint = direction.split("-")[1], arms.chosen_joint(direction)
    others = {arms.name(model, direction): plain(model) for model in ("nmt", "tied")}
    if language not in PARAMETERS or not text.exists() or joint not in arms.runs:
        return Chart("", [])
    bins = frequency_bins.bins_of(text)
    metrics, rows = frequency_bins.meteor(bins, PARAMETERS[language]), []
    for group, name in enumerate(bins.names[:3]):
        for other, label in others.items():
            if other in arms.runs:
                metric = metrics[group]
                found = arms.runs.estimate(
                    [joint, other],
                    lambda score, m=metric, o=other: score(joint, m) - score(o, m),
                )
                if found:
                    words = name.replace(">=", "at least ").replace("-", " to ")
                    words = f"seen {words} times"
                    rows.append(Row.of(words, found, f"over {label}"))
    if not rows:
        return Chart("", [])
    title = f"{in_words(direction)}: {largest_gain(plain(joint.split('.')[2]), rows)}"
    shown = [joint, *(other for other in others if other in arms.runs)]
    view = arms.runs.alike(shown) or arms.runs
    below = chart_parts.note(view, shown)
    return chart_parts.rows_chart(title, "difference in METEOR", rows, below, zero=True)


def largest_gain(method: str, rows: Sequence[Row]) -> str:
    """The largest of the proven gains in METEOR, or of all if none is, in words."""
    proven = [row for row in rows if row.low > 0 and row.decided]
    best = max(proven or rows, key=lambda row: row.value)
    gain = f"{best.value:+.1f} [{best.low:+.1f}, {best.high:+.1f}]"
    gain += f" {best.series} on words {best.label}"
    if proven:
        return f"{method} gains METEOR, at most {gain}"
    return f"no gain in METEOR is proven; the largest is {gain}"


def bleu_by_joint_dim(arms: "Arms") -> Chart:
    """A panel per direction: a curve of the joint models, and lines for NMT and tied.

    Empty for two points, which are in `output_layers`.
    """
    panels, shown, best = [], [], []
    for direction in arms.directions:
        names = {dim: arms.name(f"joint{dim}", direction) for dim in arms.dims}
        view = arms.runs.alike(list(names.values()), least=3)
        if view is None:
            continue
        view = view.with_seeds_of(list(names.values()))  # a curve is of the same seeds
        points = {dim: found for dim, name in names.items()
                  if (found := chart_parts.bleu_of(view, name))}  # fmt: skip
        values = chart_parts.columns(list(points.values()))
        series = [Series("joint space", list(points), *values)]
        for model in ("nmt", "tied"):
            found = chart_parts.bleu_of(view, arms.name(model, direction))
            if found:
                ends = [found.low], [found.high]
                series.append(Series(plain(model), (), [found.value], *ends, style="level"))
        reached = sorted(found.value for found in points.values())
        best.append(f"{in_words(direction)} {reached[0]:.1f} to {reached[-1]:.1f} BLEU")
        shown += list(names.values())
        panels.append(Panel("dimensions of the joint space", "BLEU", series, direction,
                            x_scale="log", ticks=list(points)))  # fmt: skip
    title = f"Joint spaces of all sizes: {', '.join(best)}" if best else ""
    return Chart(title, panels, chart_parts.note(arms.runs, shown), shared=False)


def bleu_by_share(arms: "Arms") -> Chart:
    """A curve per model, by share of the classes scored in training, of runs of one schedule."""
    vocabulary, series, lost, shown = arms.recipe.settings.SAMPLING_VOCABULARY, [], {}, []
    shares = sorted({100, *arms.recipe.settings.wholes("SHARES")})
    for model in ("nmt", "tied", arms.small):
        full = f"{arms.first}.{vocabulary}.{model}"
        names = {share: full if share == 100 else f"{full}.share{share}" for share in shares}
        view = arms.runs.mostly_alike(list(names.values()))
        found = {share: one for share, name in names.items()
                 if name in view and (one := chart_parts.bleu_of(view, name))}  # fmt: skip
        if len(found) > 1:
            values = chart_parts.columns(list(found.values()))
            series.append(Series(plain(model), list(found), *values))
            lost[plain(model)] = found[max(found)].value - found[min(found)].value
            shown += [(view, name) for name in names.values() if name in view]
    title = "BLEU by share of the classes"
    if lost:
        least, most = min(lost, key=lost.__getitem__), max(lost, key=lost.__getitem__)
        of = chart_parts.seeds_of_views(shown)
        smallest = min(share for curve in series for share in curve.x)
        title = (f"Training on {smallest}% of the classes costs {lost[least]:.1f} ({least}) to "
                 f"{lost[most]:.1f} BLEU ({most}; {of})")  # fmt: skip
        epochs = max(schedules.limit_of_epochs(view.entry(name)) for view, name in shown)
        if 0 < epochs <= FEW_EPOCHS:
            title = f"After {epochs} epochs (not converged): t{title[1:]}"
    panel = Panel("classes scored in training, %", "BLEU", series, x_scale="log", ticks=shares)
    return Chart(title, [panel], chart_parts.note_of(shown))


def speed_by_share(speeds: Mapping[str, Sequence[float]]) -> Chart:
    """Training speed of the models; bars from the slowest round to the fastest.

    The title compares each with the same model's largest share, round by round.
    """
    series, gains, ticks = [], [], set()
    for model, by_share in rounds_by_model(speeds).items():
        shares = sorted(by_share)
        rounds = [by_share[share] for share in shares]
        bars = [min(one) for one in rounds], [max(one) for one in rounds]
        medians = [median(one) for one in rounds]
        series.append(Series(plain(model), shares, medians, *bars))
        ticks |= set(shares)
        for sampled in rounds[:-1]:
            pairs = zip(sampled, rounds[-1], strict=False)
            gains.append(median(of_sampled / of_all for of_sampled, of_all in pairs))
    words = f"Sampling trains up to {max(gains, default=1):.1f} times as fast"
    panel = Panel("classes scored in training, %", "target tokens/s", series, ticks=sorted(ticks))
    return Chart(words, [panel], "Bars: slowest to fastest round; the models took turns.")


def rounds_by_model(
    speeds: Mapping[str, Sequence[float]],
) -> dict[str, dict[int, Sequence[float]]]:
    """Tokens per second of every round by model and percentage, from names of arms."""
    found: dict[str, dict[int, Sequence[float]]] = {}
    for name, rounds in speeds.items():
        model, *changes = name.split(".")[2:]
        shares = [int(change[5:]) for change in changes if change.startswith("share")]
        found.setdefault(model, {})[shares[0] if shares else 100] = rounds
    return found
