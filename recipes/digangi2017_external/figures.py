"""Figures: gains over the baseline, by number of sentence pairs."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recipes.digangi2017_external.arms import LUONG
from recipes.lab.claims import FAILS, HOLDS, judge
from recipes.lab.figures import chart_parts
from recipes.lab.figures.charts import Chart, Row
from recipes.lab.pages.summary import Compared
from recipes.lab.scores.resampling import confidence_in_words

if TYPE_CHECKING:
    from recipes.digangi2017_external.claims import Arms

SETTINGS = ("baseline", "only_external", "mix_sum", "mix_gate")


def curves(arms: "Arms") -> Iterator[tuple[str, list[str]]]:
    """Label and arms by size, for the baseline and each setting with each kind of vectors, then
    with luong_lstm.
    """
    labels = ["baseline"]
    labels += [f"{setting}, {kind}" for kind in arms.kinds for setting in SETTINGS[1:]]
    labels += [f"{LUONG}baseline"]
    labels += [f"{LUONG}{setting}, {arms.kinds[0]}" for setting in SETTINGS[1:]]
    for label in labels:
        setting, _, vectors = label.partition(", ")
        yield label, [arms.name(setting, size, vectors) for size in arms.sizes]


def in_words(label: str) -> str:
    """A label of `curves` in words."""
    setting, _, vectors = label.partition(", ")
    model = "luong_lstm, " if setting.startswith(LUONG) else ""
    words = {
        "baseline": "the model's own vectors",
        "mix_sum": "own + external vectors",
        "mix_gate": "own gated with external",
        "only_external": "external vectors alone",
    }
    return model + words[setting.removeprefix(LUONG)] + (f" ({vectors})" if vectors else "")


def gains(arms: "Arms") -> Chart:
    """Differences in BLEU from the baseline, by size and setting."""
    rows, verdicts, shown = [], [], []
    for size in arms.sizes:
        runs, base = arms.at(size), arms.name("baseline", size)
        for setting in SETTINGS[1:]:
            name = arms.name(setting, size)
            if name not in runs or base not in runs:
                continue
            if found := runs.difference({name: 1, base: -1}):
                pairs = f"{int(size):,}" if size.isdigit() else size
                rows.append(Row.of(f"{pairs} pairs", found, in_words(setting)))
                verdicts.append(judge(found, margin=0))
                shown += [(runs, name), (runs, base)]
    if not rows:
        return Chart("", [])
    better, worse = verdicts.count(HOLDS), verdicts.count(FAILS)
    if better or worse:
        title = f"BLEU: external vectors are better than the model's own in {better} of {len(rows)}"
        title += f" comparisons, worse in {worse}; others are undecided"
    else:
        title = f"BLEU: no difference from the model's own vectors is proven in {len(rows)}"
        title += " comparisons"
    x = "difference in BLEU from the model's own vectors"
    return chart_parts.rows_chart(title, x, rows, chart_parts.note_of(shown), zero=True)


def perplexities(compared: Sequence[Compared]) -> Chart:
    """Changes of the validation perplexity by size and setting, with enough seeds for a verdict."""
    base = in_words("baseline")
    known = [r for r in compared if r.falls and r.found.enough_seeds and r.against.endswith(base)]
    if not known:
        return Chart("", [])
    rows = []
    for row in known:
        setting, _, pairs = row.method.rpartition(", ")
        rows.append(Row.of(pairs, row.found.opposite, setting))
    lower, higher = ([row.verdict for row in known].count(v) for v in ("better", "worse"))
    title = f"Validation perplexity: lower with external vectors in {lower} of {len(rows)}"
    title += f" comparisons, higher in {higher}; others are undecided"
    seeds = sorted({row.found.seeds for row in known})
    below = f"Intervals of {confidence_in_words(seeds)} over {' or '.join(map(str, seeds))} seeds;"
    below += " smaller is better."
    x = "change of validation perplexity from the model's own vectors, %"
    return chart_parts.rows_chart(title, x, rows, below, zero=True)
