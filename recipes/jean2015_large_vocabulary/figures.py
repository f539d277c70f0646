"""Figures: BLEU of models and decodings, by K, by K', by training time, and of rare words."""

import re
from collections.abc import Mapping, Sequence

from fairseq_outlayers.analysis.frequency_bins import Bins
from recipes.jean2015_large_vocabulary import rare_words
from recipes.jean2015_large_vocabulary.decodings import Lists, lists_of
from recipes.lab.figures import chart_parts
from recipes.lab.figures.charts import Chart, Panel, Row, Rows, Series
from recipes.lab.runs import Runs
from recipes.lab.scores import schedules
from recipes.lab.scores.resampling import Metric, bleu

Y = "BLEU, test set"
MOST = 4  # systems that can be distinguished in a line
MODELS = {
    "shortlist": "short list",
    "lv": "partitions",
    "lv_corrected": "corrected partitions",
    "lv_reshuffle": "reshuffled partitions",
    "lv_corrected_reshuffle": "corrected, reshuffled partitions",
    "lv_authors": "the authors' partitions",
    "full": "full softmax",
    "sampled_log_uniform": "sampled softmax (log-uniform)",
    "sampled": "sampled softmax (by frequency)",
    "sampled_uncorrected": "sampled softmax, uncorrected",
    "adaptive": "adaptive softmax",
}
OVER_ALL = ", over all words"


def capitalized(words: str) -> str:
    """With a capital first letter."""
    return words[0].upper() + words[1:]


def plain_model(model: str) -> str:
    """A model's name in words, with its number of words or samples if that is not the recipe's."""
    if model.startswith("transformer_"):
        return f"Transformer, {plain_model(model.removeprefix('transformer_'))}"
    found = re.fullmatch(r"(.*)_tau(\d+)", model)
    words = MODELS.get(found[1] if found else model, model)
    what = "samples" if model.startswith("sampled") else "words"
    return words + (f" of {int(found[2]):,} {what}" if found else "")


def plain(name: str) -> str:
    """An arm's name in words."""
    model, *how = name.removesuffix(".frozen").replace(".frozen.", ".").split(".")
    words = plain_model(model)
    words += ", tuned" if ".frozen" in name else ""
    lists = next((part[1:] for part in how if re.fullmatch(r"k\d+", part)), "")
    if lists:
        words += f", candidates (K = {int(lists):,})"
    elif not model.startswith("shortlist"):
        words += OVER_ALL
    words += next((f", {part[5:]} seeds together" for part in how if part.startswith("seeds")), "")
    return words + (", unknown words replaced" if "unk2" in how else "")


def charts(runs: Runs, default: str, chosen: str, bins: Bins | None) -> dict[str, Chart]:
    """All charts by file name.

    Args:
        default: K and K' common to the curves.
        chosen: K and K' chosen on the dev set.
        bins: of the references' words; None if their counts are unknown.
    """
    frequent, per_word = (int(part.lstrip("kp")) for part in default.split("."))
    systems = rows_of(runs, chosen)
    models = (*MODELS, *of_more_samples(runs))
    timed = {name: plain_model(name) for name in models if name in runs}
    return {
        "bleu": against_shortlist(runs, systems),
        # The short list's <unk> is easy to predict.
        "bleu_by_time": chart_parts.by_time(runs, timed, "Large vocabularies", ["shortlist"]),
        "bleu_by_k": by_frequent(runs, per_word),
        "bleu_by_k_prime": by_per_word(runs, frequent),
        **of_rare_words(runs, systems, bins),
    }


def rows_of(runs: Runs, chosen: str) -> list[str]:
    """Models and decodings to show: each model over all words and over the chosen lists."""
    names = ["shortlist", "shortlist.unk2"]
    for model in (*list(MODELS)[1:], *of_more_samples(runs)):
        lists = f"{model}.{chosen}"
        names += [model, lists]
        # If every training word is in the vocabulary, replacement changes almost nothing.
        if lists not in runs:
            names.append(f"{lists}.unk2")
    return [name for name in (*names, *filter(of_several, runs.arms)) if name in runs]


def of_more_samples(runs: Runs) -> list[str]:
    """Models by sampled softmax with another number of samples than the recipe's TAU."""
    return [arm for arm in runs.arms if re.fullmatch(r"sampled_log_uniform_tau\d+", arm)]


def of_several(arm: str) -> bool:
    """Whether several models translate together."""
    return ".seeds" in arm or arm.startswith("ensemble")


def against_shortlist(runs: Runs, systems: Sequence[str]) -> Chart:
    """Differences in BLEU from the short list as it is used, whose BLEU is in the title."""
    base = "shortlist.unk2" if "shortlist.unk2" in systems else "shortlist"
    view = runs.mostly_alike([base, *systems])
    labels = {name: plain(name) for name in systems}
    rows = chart_parts.difference_rows(view, base, labels)
    below = chart_parts.note(view, [base, *systems])
    if not rows or view.bleu(base) is None:
        rows = chart_parts.bleu_rows(view, labels)
        best = max(rows, key=lambda row: row.value, default=None)
        words = f"Best so far: {best.label}, {best.value:.1f} BLEU" if best else ""
        return chart_parts.rows_chart(words, Y, rows, below)
    # The title is about the main comparison, before it was run about single models of all words,
    # with enough seeds if there are any.
    main = {plain(n) for n in systems if re.match(r"lv_corrected\.k\d", n)}
    others = {plain(n) for n in systems if of_several(n) or n.startswith("shortlist")}
    large = [row for row in rows if row.label in main]
    large = large or [row for row in rows if row.label not in others] or rows
    best = max(large, key=lambda row: (row.decided, row.value))
    words = f"{best.label}: {best.value:+.1f} BLEU against the"
    words = f"{capitalized(words)} {view.bleu(base):.1f} of the {plain(base)}"
    words += "" if best.low > 0 or best.high < 0 else " (0 is in the interval)"
    x = f"difference in BLEU from the {plain(base)}"
    return chart_parts.rows_chart(words, x, rows, below, True)


def points(runs: Runs, label: str, lists: Sequence[Lists], x: str) -> Series:
    """A curve over lists."""
    found = [(getattr(one, x), chart_parts.bleu_of(runs, str(one))) for one in lists]
    known = [(number, score) for number, score in found if score]
    values = chart_parts.columns([score for _, score in known])
    return Series(label, [number for number, _ in known], *values)


def by_frequent(runs: Runs, per_word: int) -> Chart:
    """A curve per model that was decoded with several K; a line for LV over all words.

    Points are means over the seeds that all of them have.
    """
    models = sorted({arm.split(".")[0] for arm in runs.arms})

    def lists(runs: Runs, model: str) -> list[Lists]:
        return [one for one in lists_of(runs, model) if one.per_word == per_word]

    runs = runs.mostly_alike([str(one) for model in models for one in lists(runs, model)])
    drawn = {model: found for model in models if len(found := lists(runs, model)) > 1}
    curves = [{str(one): one.frequent for one in found} for found in drawn.values()]
    runs = runs.with_seeds_of([*(arm for curve in curves for arm in curve), "lv"])
    series = [points(runs, plain_model(model), found, "frequent") for model, found in drawn.items()]
    whole = chart_parts.bleu_of(runs, "lv")
    if series and whole:
        series.append(Series("partitions,\nover all words", (), [whole.value], [whole.low],
                             [whole.high], style="level"))  # fmt: skip
    x = f"K, most frequent words in every list (K' = {per_word})"
    every_k = {arm: k for curve in curves for arm, k in curve.items()}
    panel = Panel(x, Y, series, x_scale="log", ticks=sorted(set(every_k.values())))
    title = ends_of(runs, curves[0] if curves else {}, "K")
    if drawn:
        title = f"{capitalized(plain_model(next(iter(drawn))))}: {title}"
    return Chart(title, [panel], chart_parts.note(runs, list(every_k)))


def ends_of(runs: Runs, values: Mapping[str, int], name: str) -> str:
    """A title with the difference of the largest value from the smallest.

    Not of the best from the worst, which differ by choice already.

    Args:
        values: of K or K', by decoding.
        name: K or K'.
    """
    scores = {arm: score for arm in values if (score := runs.bleu(arm)) is not None}
    if len(scores) < 2:
        return f"BLEU by {name}"
    small, large = (choose(scores, key=lambda arm: values[arm]) for choose in (min, max))
    found = runs.difference({large: 1, small: -1})
    gain = f"{scores[large] - scores[small]:+.1f}" if found is None else found.interval("+.1f")
    is_proven = found is not None and found.enough_seeds and not found.low <= 0 <= found.high
    proven = "" if is_proven else ", not proven"
    ends = f"{scores[small]:.1f} with {name} = {values[small]:,}, {scores[large]:.1f} with "
    of = chart_parts.seeds_of(runs, list(scores))
    epochs = schedules.limit_of_epochs(runs.entry(small))
    of += f", {epochs} epochs" if epochs else ""
    return f"BLEU {ends}{values[large]:,}: {gain}{proven} ({of})"


def by_per_word(runs: Runs, frequent: int) -> Chart:
    """A curve of LV, and points for decodings with UNK replacement."""
    every = [one for one in lists_of(runs, "lv") if one.frequent == frequent]
    runs = runs.mostly_alike(list(map(str, every))).with_seeds_of(list(map(str, every)))
    lists = [one for one in every if str(one) in runs]
    series = []
    if len(lists) > 1:
        series.append(points(runs, "partitions", lists, "per_word"))
        replaced = {
            one.per_word: found
            for one in lists
            if (found := chart_parts.bleu_of(runs, f"{one}.unk2"))
        }
        if len(replaced) > 1:
            values = chart_parts.columns(list(replaced.values()))
            label = "unknown words\nreplaced"
            series.append(Series(label, list(replaced), *values, style="points"))
    values = {str(one): one.per_word for one in lists}
    x = f"K', translations of each source word (K = {frequent:,})"
    panel = Panel(x, Y, series, ticks=[one.per_word for one in lists])
    return Chart(ends_of(runs, values, "K'"), [panel], chart_parts.note(runs, list(values)))


def of_rare_words(runs: Runs, systems: Sequence[str], bins: Bins | None) -> dict[str, Chart]:
    """Recall of the references' words by training count, and BLEU by the rarest word."""
    if bins is None:
        return {}
    kinds = {
        "rare_words": ("recall, %", "words", rare_words.recall(bins)),
        "bleu_by_rarest_word": (
            "BLEU (tokenized)",
            "sentences whose rarest word is",
            rare_words.of_rarest(bleu(tokenised=True), bins),
        ),
    }
    # A chart has room for four: the methods that the tables compare, each as it decodes best
    # (over lists, unknown words replaced), before others.
    of_models = [
        [name for name in systems if name.split(".")[0] == one]
        for one in ("lv_corrected", "shortlist", "lv")
    ]
    wanted = [names[-1] for names in of_models if names]
    wanted += [name for names in of_models for name in names[:-1]]
    return {name: by_count(runs, wanted, *kind) for name, kind in kinds.items()}


def by_count(
    runs: Runs, systems: Sequence[str], unit: str, what: str, metrics: Sequence[Metric]
) -> Chart:
    """A row per training count, a dot per system."""
    view = runs.mostly_alike(["shortlist", *systems])
    shown, rows = [name for name in systems if name in view][:MOST], []
    for metric, count in zip(metrics, rare_words.NAMES, strict=True):
        for arm in shown:
            found = view.estimate([arm], lambda score, a=arm, m=metric: score(a, m))
            if found:
                seen = "never seen" if count == "never" else f"seen {count} times"
                rows.append(Row.of(seen, found, plain(arm)))
    rare = [row for row in rows if row.label == f"seen {rare_words.NAMES[2]} times"]
    if not rare:
        return Chart("", [])
    sign = "%" if unit.endswith("%") else " BLEU"
    best = sorted(rare, key=lambda row: row.value, reverse=True)[:2]
    values = " and ".join(f"{row.value:.0f}{sign} ({row.series})" for row in best)
    title = f"{capitalized(what)} seen 1 to 9 times, the best two of these: {values}"
    return Chart(
        title, [Rows(unit, rows, form="")], chart_parts.note(view, shown, "seen: in training")
    )
