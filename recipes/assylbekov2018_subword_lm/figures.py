"""Figures: perplexities relative to Word+RE, gates, principal components, nearest neighbours.

The last three use the JSON files of 50_word_vectors.sh.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from recipes.assylbekov2018_subword_lm import gain, word_vectors
from recipes.assylbekov2018_subword_lm.arms import LONG
from recipes.lab.figures import chart_parts
from recipes.lab.figures.charts import Chart, Panel, Row, Rows, Series, seeds_in_words
from recipes.lab.markdown import markdown_table
from recipes.lab.runs import Runs
from recipes.lab.scores.resampling import (
    SEEDS_NEEDED,
    Estimate,
    confidence_in_words,
    percent_saved,
)

MODELS = {"word": "Word", "morphsum": "MorphSum", "sylconcat": "SylConcat", "charcnn": "CharCNN"}
TIES = {"original": "softmax of its own", "none": "nothing reused", "re": "RE", "rw": "RW",
        "re_rw": "RE+RW"}  # fmt: skip
LAYERS = {"E": "units", "P": "projection", "C": "convolutions", "1": "highway 1",
          "2": "highway 2"}  # fmt: skip
BASE = "word_re"
COMPONENTS = "components for 80%"
TWICE = 100  # % more perplexity
START = 0.12  # of the gates, by a bias of -2
NOTE = (
    "In parentheses: what the output reuses of the input. RE: the units' vectors; RW: the layers"
    " above them."
)


def plain(model: str) -> str:
    """An arm's name in words, without the data."""
    kind, _, tie = model.partition("_")
    reused = TIES.get(tie) or " + ".join(LAYERS.get(letter, letter) for letter in tie)
    return f"{MODELS.get(kind, kind)} ({reused})"


def row_of(label: str, found: Estimate) -> Row:
    """A row, without interval for one seed without stored sentences."""
    row = Row.of(label, found)
    return row if found.low < found.high else Row(label, row.value)


def perplexities(runs: Runs, data: str) -> Chart:
    """Every model of a data set compared with Word+RE, best first, with the newest schedule.

    Models with more than twice its perplexity, which would flatten the others, are named below.
    """
    base, rows, sizes, enough = f"{data}.{BASE}", [], {}, {}
    arms = [arm for arm in runs.arms if arm.startswith(f"{data}.") and arm.count(".") == 1]
    runs = runs.mostly_alike([base, *arms])
    for arm in (arm for arm in arms if arm != base):
        if by_seed := runs.perplexities_by_seed([arm, base]):
            found = percent_saved(*by_seed)
            label = plain(arm.partition(".")[2])
            rows.append(row_of(label, found.opposite))
            sizes[label] = runs.figure(arm, "parameters")
            enough[label] = found.enough_seeds
    rows.sort(key=lambda row: row.value)
    far = [f"{row.label} {row.value:+.0f}%" for row in rows if row.value > TWICE]
    rows = [row for row in rows if row.value <= TWICE]
    if not rows:
        return Chart("", [])
    best, size = rows[0], runs.figure(base, "parameters")
    title = f"{language(data)}: lowest perplexity {best.label}, {best.value:+.1f}% from Word (RE)"
    if best.value > 0:
        title = f"{language(data)}: Word (RE) has the lowest perplexity; next is {best.label}"
        title += f", {best.value:+.1f}%"
    if size and sizes[best.label]:
        title += f", with {sizes[best.label] / size:.0%} of its parameters"
    x = f"change of test perplexity from Word (RE)'s {runs.figure(base, 'test_ppl'):.1f}, %"
    seeds = chart_parts.seeds_of(runs, [base, *arms])
    title += "" if enough[best.label] else " (too few seeds for a verdict)"
    of = confidence_in_words(len(runs.seeds([arm])) for arm in [base, *arms] if arm in runs)
    below = f"{NOTE} {seeds}; bars, if any: intervals of {of}; smaller is better."
    below += f" Not shown: {', '.join(far)}." if far else ""
    return chart_parts.rows_chart(title, x, rows, below, zero=True)


def read(folder: Path, pattern: str) -> list:
    """The contents of all files of a study."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(pattern))]


def gates(found: Sequence[Sequence[Mapping]]) -> Chart:
    """Mean transform gate of each highway layer."""
    rows = []
    for one in (row for rows_of in found for row in rows_of):
        model = plain(one["model"].partition(".")[2])
        side = "" if one["side"] == "both" else f", {one['side']}"
        rows.append(Row(f"{model}{side}", one["mean"], series=f"highway layer {one['layer'][2:]}"))
    title = "Transform gates"
    if rows:
        values = [row.value for row in rows]
        title = f"Mean transform gates lie between {min(values):.2f} and {max(values):.2f}"
        title += f"; they start at {START}"
    below = "One seed. A gate of 0 hands the units' vector on as it is, 1 transforms it."
    return Chart(title, [Rows("mean transform gate", rows, form=".2f")], below)


def components(found: Sequence[Sequence[Mapping]]) -> Chart:
    """Principal components for 80% of the variance, at the input and at the output."""
    rows, as_claimed = [], 0
    for model, of_model in word_vectors.by_model(row for one in found for row in one).items():
        label, output = plain(model.partition(".")[2]), word_vectors.output_side(of_model)
        for row in (row for row in of_model if COMPONENTS in row):
            series = {"input": "at the input", output: "at the output"}.get(row["side"])
            rows += [Row(label, row[COMPONENTS], series=series)] if series else []
        sides = {row["side"]: row[COMPONENTS] for row in of_model if COMPONENTS in row}
        counts = {"input": sides.get("input"), "output": sides.get(output)}
        fewer = word_vectors.FEWER.get(model.partition(".")[2])
        if fewer and None not in counts.values():
            as_claimed += counts[fewer] == min(counts.values()) < max(counts.values())
    models = len({row.label for row in rows})
    title = "Principal components of input and output vectors: the side that the paper says needs"
    title += f" fewer in {as_claimed} of {models} models"
    below = "One seed; models that reuse nothing; output vectors before a projection, if any."
    return Chart(title, [Rows(f"{COMPONENTS} of the variance", rows, form=".0f")], below)


def gains(found: Mapping[str, gain.Gain]) -> Chart:
    """Perplexity saved against Word+RE, by type-token ratio."""
    compared = gain.comparable(found)
    if len(compared) < 2:
        return Chart("", [])
    points = []
    for data, one in found.items():
        saved = one.saved
        ends = ([100 * saved.low], [100 * saved.high]) if saved.low < saved.high else ((), ())
        sampled = ", sampled" if data.endswith(gain.SAMPLED) else ""
        rates = f"rates {' and '.join(one.rates)}{sampled}"
        x, y, names = [one.ratio], [100 * saved.value], [name_of(data, one.seeds)]
        points.append(Series("", x, y, *ends, "points", names, rates))
    values: dict[bool, list[float]] = {False: [], True: []}
    for data, one in found.items():
        values[data.endswith(gain.SAMPLED)].append(100 * one.saved.value)
    title = f"MorphSum (RE+RW) against Word (RE): {ends_in_words(values[False])}"
    title += f"; trained on samples, {ends_in_words(values[True])}" if values[True] else ""
    panel = Panel("type-token ratio of the training text", "perplexity saved, %", points, zero=True)
    seeds = sorted({one.seeds for one in found.values()})
    words = " to ".join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))
    below = f"Seeds of each point: {words}. Above 0 morphs are better. "
    below += "Points of one color have equal learning rates (morphs and words); gains compare only "
    return Chart(title, [panel], f"{below}at equal ones.")


def ends_in_words(saved: Sequence[float]) -> str:
    """The least and the largest percentage of perplexity saved: ``from 4% worse to 9% better``."""
    ends = [f"{abs(value):.0f}% {'better' if value > 0 else 'worse'}" for value in sorted(saved)]
    return f"from {ends[0]} to {ends[-1]}" if ends[0] != ends[-1] else ends[0]


def name_of(data: str, seeds: int) -> str:
    """A data set in words, with the number of seeds if it is too small for a verdict."""
    few = f" ({seeds_in_words(seeds)})" if seeds < SEEDS_NEEDED else ""
    return f"{language(data)}{few}"


def language(data: str) -> str:
    """A data set in words: ``de5k`` is German, 5k."""
    names = {"de": "German", "en": "English", "fr": "French"}
    stem, _, ending = data.partition(".")
    if stem == "ptb42k":
        words = "whole PTB"
    else:
        words = f"{names[stem[:2]]} {stem[2:]}" if stem[:2] in names else stem.upper()
    if ending == "long":
        ending = f"{LONG[0]} epochs"
    return f"{words}, {ending}" if ending else words


def neighbours(found: Sequence[Mapping]) -> list[str]:
    """Nearest words as a table; both sides only if they differ."""
    lines = []
    for model, words in (pair for one in found for pair in one.items()):
        name = next((part for part in model.split("/") if part.startswith("ptb.")), model)
        rows = []
        for word, sides in words.items():
            near = {side: ", ".join(other for other, _ in pairs) for side, pairs in sides.items()}
            same = len(set(near.values())) == 1
            for side, text in near.items():
                rows.append((word if same else f"{word} ({side})", text))
                if same:
                    break
        title = f"**{plain(name.partition('.')[2])}**"
        lines += [title, "", *markdown_table(("word", "nearest"), rows), ""]
    return lines
