"""Charts of several recipes, and their captions."""

from collections.abc import Mapping, Sequence
from statistics import median

from recipes.lab.figures import training_curves
from recipes.lab.figures.charts import Chart, Panel, Row, Rows, Series, seeds_in_words
from recipes.lab.runs import Runs
from recipes.lab.scores import schedules
from recipes.lab.scores.resampling import Estimate, confidence_in_words

Labels = Mapping[str, str]  # labels of arms


def bleu_of(runs: Runs, arm: str) -> Estimate | None:
    """BLEU with its interval; without interval if translations are missing.

    Widened for few seeds, an interval may contain negative numbers, which BLEU is not.
    """
    found = runs.estimate([arm], lambda score: score(arm)) if arm in runs else None
    if found:
        return found._replace(low=max(found.low, 0.0))
    value, nan = runs.bleu(arm), float("nan")
    return None if value is None else Estimate(value, nan, nan, len(runs.seeds([arm])))


def columns(found: Sequence[Estimate]) -> list[list[float]]:
    """Values, lower and upper limits, for `Series`."""
    return [[getattr(one, end) for one in found] for end in ("value", "low", "high")]


def seeds_of(runs: Runs, arms: Sequence[str]) -> str:
    """``1 seed``, ``1 to 3 seeds``."""
    return seeds_of_views([(runs, arm) for arm in arms if arm in runs])


def seeds_of_views(shown: Sequence[tuple[Runs, str]]) -> str:
    """The same for arms of several views, each with its view."""
    numbers = sorted({len(runs.seeds([arm])) for runs, arm in shown})
    if len(numbers) > 1:
        return f"{numbers[0]} to {numbers[-1]} seeds"
    return seeds_in_words(numbers[0] if numbers else 0)


def note(runs: Runs, arms: Sequence[str], more: str = "") -> str:
    """Caption: meaning of the bars, number of seeds, and the schedule."""
    return note_of([(runs, arm) for arm in arms if arm in runs], more)


def note_of(shown: Sequence[tuple[Runs, str]], more: str = "") -> str:
    """The same for arms of several views, each with its view."""
    found = {schedules.in_words(runs.entry(arm)) for runs, arm in shown}
    words = found.pop() if len(found) == 1 else "schedules differ" if found else ""
    of = confidence_in_words(len(runs.seeds([arm])) for runs, arm in shown)
    parts = [f"Bars: {of} of 1,000 resamples of the test set and of the seeds"]
    parts += [seeds_of_views(shown), words, more]
    return "; ".join(part for part in parts if part) + "."


def bleu_rows(runs: Runs, labels: Labels) -> list[Row]:
    """A row per arm that was run."""
    found = ((label, bleu_of(runs, arm)) for arm, label in labels.items())
    return [Row.of(label, one) for label, one in found if one]


def difference_rows(runs: Runs, base: str, labels: Labels) -> list[Row]:
    """Difference of BLEU from a baseline with the same schedule."""
    rows = []
    for arm, label in labels.items():
        if arm != base and arm in runs and base in runs:
            found = runs.difference({arm: 1, base: -1})
            rows += [Row.of(label, found)] if found else []
    return rows


def by_time(runs: Runs, labels: Labels, kind: str, not_curves: Sequence[str] = ()) -> Chart:
    """BLEU against training time, and validation perplexity by updates if known.

    Args:
        not_curves: arms whose perplexity does not compare with that of others.
    """
    view = runs.mostly_alike(list(labels))
    here = {arm: label for arm, label in labels.items() if arm in view}
    cpu = commonest_cpu(view, list(here))
    minutes = {arm: minutes_of(view, arm, cpu) for arm in here}
    points, named, curves = [], [], []
    for arm, label in here.items():  # both panels with all arms, which have equal colors then
        one = bleu_of(view, arm) if minutes[arm] else None
        ends = [[value] for value in one[:3]] if one else [[], [], []]
        x = [minutes[arm]] if one else []
        named.append(Series("", x, *ends, "points", [label], label))
        points += [(label, x[0], one)] if one else []
        history = [] if arm in not_curves else training_curves.of(view.entry(arm))
        x, y = ([one[k] for one in history] for k in ("updates", "valid_ppl"))
        curves.append(Series(label, x, y, style="line"))
    time = "minutes of training, median of the seeds"
    panels = [Panel(time, "BLEU, test set", named, from_zero=True)]
    if sum(len(curve.y) > 0 for curve in curves) > 1:
        panels.append(
            Panel("updates", "validation perplexity", curves, y_scale="log", from_zero=True)
        )
    shared_machine = f"minutes are of seeds on one kind of processor{f' ({cpu})' if cpu else ''}"
    shared_machine += ", which did other work as well, so they compare only roughly"
    if len(panels) > 1:
        shared_machine += "; curves are of the first seed"
    elsewhere = [label for arm, label in here.items() if minutes[arm] is None]
    shared_machine += f"; without minutes there: {', '.join(elsewhere)}" if elsewhere else ""
    return Chart(time_title(points, kind), panels, note(view, list(here), shared_machine), False)


def minutes_of(runs: Runs, arm: str, cpu: str) -> float | None:
    """Training time, the median of the seeds: one run may have shared the machine with others.

    Args:
        cpu: only runs on this processor count.
    """
    found = [
        minutes
        for entry in runs.entries(arm)
        if cpu_of(entry) == cpu and (minutes := training_curves.minutes(entry))
    ]
    return median(found) if found else None


def commonest_cpu(runs: Runs, arms: Sequence[str]) -> str:
    """The processor of most runs whose time is known; the newest run's if several are equal."""
    timed = [e for arm in arms for e in runs.entries(arm) if training_curves.minutes(e)]
    found = [cpu_of(entry) for entry in sorted(timed, key=lambda entry: entry.get("date", ""))]
    return max(reversed(found), key=found.count, default="")


def cpu_of(entry: dict) -> str:
    """The processor that a run was on; empty if unknown."""
    return str(entry.get("machine", {}).get("cpu", ""))


def time_title(points: Sequence[tuple[str, float, Estimate]], kind: str) -> str:
    """A title that names the best and the worst arm."""
    if len(points) < 2:
        return f"{kind}: BLEU against training time"
    best, worst = (choose(points, key=lambda point: point[2].value) for choose in (max, min))
    words = f"{kind}: {best[0]} reaches {best[2].value:.1f} BLEU"
    return f"{words}, {worst[0]} {worst[2].value:.1f}"


def rows_chart(title: str, x: str, rows: Sequence[Row], below: str, zero: bool = False) -> Chart:
    """One panel of rows."""
    return Chart(title, [Rows(x, rows, zero=zero, form="+.1f" if zero else ".1f")], below)
