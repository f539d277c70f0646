"""The claims of Di Gangi & Federico (2017), for all sizes and vectors in the ledger."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recipes.digangi2017_external import figures
from recipes.digangi2017_external.arms import CHANGES, LUONG, rate_of_its_own
from recipes.digangi2017_external.figures import SETTINGS
from recipes.lab.arms import Recipe
from recipes.lab.claims import UNDECIDED, Claim, Part, at_least, exact, measured, numbered, weighted
from recipes.lab.pages import costs, summary
from recipes.lab.pages.report import Findings
from recipes.lab.pages.summary import Compared
from recipes.lab.pages.table import mean_and_deviation, table
from recipes.lab.runs import Runs, Score
from recipes.lab.scores import schedules
from recipes.lab.scores.resampling import Metric
from recipes.lab.settings import UserError

FORM = "tokenised"  # sacreBLEU's tokenizer would split <unk> into three tokens
NOTE = (
    "The data is far below the paper's: a claim that fails here says something of scale and refutes"
    " nothing."
)
PAPER = (
    "Word vectors trained on monolingual text, added to the encoder's own, help where parallel"
    " text is scarce (TED English-French: 25.4 to 29.5 BLEU) and not on news with millions of pairs"
    " (Di Gangi & Federico 2017)."
)
SETUP = (
    "The first 1,000 to 29,000 captions of Multi30k, English to German, whole words; `nematus_gru`"
    " of 128 units; BLEU of tokens, so that `<unk>` is one word."
)
TERMS = {
    "baseline": "the model's own source embeddings",
    "only_external": "external vectors through a learned map, instead of them",
    "mix_sum, mix_gate": "the sum of both, or a learned gate between them",
    "luong": "with luong_lstm instead of the paper's nematus_gru",
    "pairs": "sentence pairs in training",
    "loops": "translations that repeat a phrase three times in a row or were cut at the length"
    " limit, lowest and highest of the seeds",
}
WHY = (
    "1,000 to 29,000 captions, 128 units; vectors from captions of the same pictures, where the"
    " paper has TED talks or news and vectors from news or the web.",
    "Dropout, a learning rate ten times the paper's, vectors centered and scaled to length 1. In"
    " the paper's setting (10,000 pairs, one seed, ended by two epochs without a lower validation"
    " loss; kind: tuning) the validation perplexity is 8.52 with `mix_sum` and 28.32 without.",
    "Learning rates are tuned for the baseline and `mix_sum` at each size (with 10,000 pairs"
    " `mix_sum` keeps the baseline's; with 5,000 also for newspaper vectors), for `mix_gate` and"
    " external vectors alone with 1,000 and 5,000 (with more they have the baseline's), for"
    " `luong_lstm` with 1,000 and 5,000.",
)
REMARKS = (
    "Epochs are chosen for the baseline at each size. Learning rates are chosen by validation"
    " perplexity for every model at 1,000 and 5,000 pairs, for the baseline and `mix_sum` at 10,000"
    " and 29,000, on seed 1, which is also one of those compared. At 10,000 `mix_sum` has the"
    " baseline's 0.003 (6.31; its best, 0.002: 6.28). At 29,000 the baseline has 4.21 with 0.002,"
    " 4.56 with 0.003 and 5.47 with 0.005, `mix_sum` 4.13, 4.44 and 5.99."
    " There `mix_gate` and external vectors alone have 0.002, too. All others have 0.003."
    " Without seed 1, which chose its rate, the gain of `mix_sum` with 5,000 pairs is not proven"
    " either.",
    "Speeds are of three rounds: a trial.",
    "Where a rate is the last of the grid, rates beyond it were tried: with 1,000 pairs the"
    " baseline has 18.84 at 0.008, 23.61 at 0.012 and 21.40 at 0.016, external vectors alone 13.35"
    " at 0.001, 16.00 at 0.0005 and 21.43 at 0.0003 (still falling after 60 epochs). With 5,000"
    " the best rate of `luong_lstm` without vectors, 0.001, is the smallest that was run to its"
    " end. With 29,000 the baseline has 4.68 at 0.001, 11% more than at 0.002; `mix_sum` was not"
    " run with less than 0.002.",
    "With all pairs `mix_sum` was 2.5 BLEU behind the baseline in the runs of 2026-11-21, which had"
    " five epochs and small normal weights at the start instead of orthogonal matrices: validation"
    " perplexity of seed 1 after five epochs is 5.07 as now, 5.11 with vectors that are not"
    " centered, 6.36 with these and the former start, 6.18 with the former start alone (all at"
    " 0.003; the lowest"
    " of 15: 4.44, 4.41, 4.67, 4.66). The baseline has 5.42, and 5.52 with the former start (4.56,"
    " 4.55), so in perplexity the start costs `mix_sum` alone; in BLEU of plain text both lose 1.3."
    " Words that only the external table knows are no cause: 28 of the 12,968 words of the test"
    " text.",
    "Newspaper vectors have a rate of their own with 5,000 pairs (0.002: 9.43, 0.003: 9.52, 0.005:"
    " 9.66 on seed 1), where two of three seeds ended early with 0.005; elsewhere captions' rate.",
    "`luong_lstm` was run with 1,000 pairs, each model at the best of six rates, and with 5,000,"
    " each at the best of four (0.001, 0.002, 0.003, 0.005: validation perplexity of the baseline"
    " 14.6, 18.0, 18.6, 18.2; of `mix_sum` 10.7, 9.6, 15.9, 9.5). The runs that end at 16 to 18"
    " attend to one word for many steps (history.md). The limit of 30 epochs ended two"
    " of the three trainings of the baseline with 5,000 pairs.",
)
UNKNOWN_SYMBOLS = Metric(
    "unknown symbols",
    "tokenised",
    lambda hypotheses, _: np.array([[line.split().count("<unk>")] for line in hypotheses]),
    lambda sums: sums[0],
)


class Arms(NamedTuple):
    """The arms in the ledger: sizes ascending, kinds of vectors with in-domain first."""

    runs: Runs
    sizes: list[str]
    kinds: list[str]

    @classmethod
    def of(cls, runs: Runs) -> "Arms":
        parts = [arm.split(".") for arm in runs.arms]
        sizes = {part[1] for part in parts}
        kinds = {kind for part in parts for kind in part[2:3] if kind not in CHANGES}
        return cls(
            runs,
            sorted(sizes, key=lambda size: float("inf") if size == "all" else int(size)),
            sorted(kinds, key=lambda kind: (kind != "captions", kind)),
        )

    def name(self, setting: str, size: str, vectors: str = "") -> str:
        """The name of an arm; default: in-domain vectors."""
        vectors = vectors or self.kinds[0]
        return f"{setting}.{size}" + ("" if setting.endswith("baseline") else f".{vectors}")

    def is_tuned(self, size: str) -> bool:
        """Whether the newest runs of mix_sum at a size have the learning rate chosen there."""
        name, chosen = self.name("mix_sum", size), rate_of_its_own(size)
        return name in self.runs and schedules.given(self.runs.entry(name), ["--lr"]) == (chosen,)

    def at(self, size: str) -> Runs:
        """The runs at a size that were trained and decoded alike: the newest of them."""
        names = [arm for arm in self.runs.arms if arm.split(".")[1] == size]
        return self.runs.mostly_alike(names)


def ordered(arms: Arms, size: str, settings: Sequence[str]) -> list[Part]:
    """Whether the settings are ordered like this, best first."""
    names = [arms.name(setting, size) for setting in settings]
    return [at_least(arms.runs, *pair) for pair in itertools.pairwise(names)]


def gain_falls(arms: Arms) -> list[Part]:
    """Whether the gain of mix_sum over the baseline falls with the number of pairs.

    Sizes compare if at both of them, or at none, mix_sum has a learning rate of its own.
    """
    parts = []
    for fewer, more in itertools.pairwise(arms.sizes):
        words = f"gain: {fewer} pairs ≥ {more} pairs"
        if arms.is_tuned(fewer) != arms.is_tuned(more):
            untuned = more if arms.is_tuned(fewer) else fewer
            why = f"mix_sum has no rate that was tuned at {untuned} pairs"
            parts.append(Part(words, UNDECIDED, f"not compared: {why}"))
            continue
        gain = {arms.name("mix_sum", fewer): 1, arms.name("baseline", fewer): -1}
        gain |= {arms.name("mix_sum", more): -1, arms.name("baseline", more): 1}
        parts.append(weighted(arms.runs, words, gain))
    return parts


def more_unknown_symbols(arms: Arms) -> list[Part]:
    """Whether the mixtures produce the unknown symbol more often than the baseline."""
    parts = []
    for size in arms.sizes:
        base = arms.name("baseline", size)
        for setting in ("mix_sum", "mix_gate"):
            mixed = arms.name(setting, size)

            def more(score: Score, mixed: str = mixed, base: str = base) -> np.ndarray:
                return score(mixed, UNKNOWN_SYMBOLS) - score(base, UNKNOWN_SYMBOLS)

            words = f"{size} pairs: {setting} > baseline"
            parts.append(measured(arms.runs, words, [mixed, base], more, margin=0, form="+.0f"))
    return parts


def in_domain_better(arms: Arms) -> list[Part]:
    """Whether in-domain vectors are always at least as good as others."""
    return [
        at_least(arms.runs, arms.name(setting, size), arms.name(setting, size, other))
        for other in arms.kinds[1:]
        for size in arms.sizes
        for setting in SETTINGS[1:]
    ]


def fewest_unknown_to_both(folder: Path) -> list[Part]:
    """Whether no text has more words unknown to both sides than to either (by construction)."""
    parts = []
    for path in sorted(folder.glob("unknown_words.*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [line.strip("| ").split(" | ") for line in lines[2:5]]
        internal, external, both = (list(map(int, numbers)) for _, *numbers in rows)
        least = all(b <= min(i, e) for b, i, e in zip(both, internal, external, strict=True))
        parts.append(exact(path.name, least, f"{both}, {internal}, {external}"))
    return parts


def claims_of(arms: Arms, folder: Path) -> list[Claim]:
    """The paper's claims with their verdicts."""
    small, large = arms.sizes[0], arms.sizes[-1]
    best_first = ("mix_sum", "mix_gate", "only_external", "baseline")
    with_much_data = ("baseline", "mix_gate", "mix_sum", "only_external")
    found = {
        f"{small} pairs: mix_sum > mix_gate > only_external > baseline":
            ordered(arms, small, best_first),
        "BLEU(mix_sum) - BLEU(baseline) falls with the number of pairs": gain_falls(arms),
        f"{large} pairs: baseline >= mix_gate >= mix_sum > only_external":
            ordered(arms, large, with_much_data),
        "unknown to both <= min(internal, external); a check": fewest_unknown_to_both(folder),
        "unknown symbols written: mix_sum, mix_gate > baseline": more_unknown_symbols(arms),
        "in-domain vectors >= others": in_domain_better(arms),
        "every size: mix_sum >= baseline with luong_lstm, too (ours)":
            [part for size in arms.sizes
             for part in ordered(arms, size, (f"{LUONG}mix_sum", f"{LUONG}baseline"))],
    }  # fmt: skip
    return numbered(found)


def against_baseline(arms: Arms) -> Iterator[Compared]:
    """mix_sum and external vectors alone compared with the baseline, for every size, in BLEU and
    validation perplexity; then mix_gate, mix_sum with vectors of other text, and luong_lstm, in
    validation perplexity; last, external vectors alone, and vectors of other text, with mix_sum.
    """
    both = (Compared.in_bleu, Compared.in_validation_perplexity)
    settings = [("mix_sum", both), ("only_external", both), ("mix_gate", both[1:])]
    settings += [(f"mix_sum, {vectors}", both[1:]) for vectors in arms.kinds[1:]]
    settings += [(f"{LUONG}{mix}", both[1:]) for mix in SETTINGS[1:]]
    for label, measures in settings:
        without = f"{LUONG}baseline" if label.startswith(LUONG) else "baseline"
        for size in arms.sizes:
            smallest = size == arms.sizes[0]
            for found in compared_at(arms, size, label, without, measures):
                own, alone = label == "mix_sum", label == "only_external"
                shown = (own and found.falls) or (alone and smallest)
                yield replace(found, is_main=own and smallest, on_page=shown)
    others = ("only_external", *(f"mix_sum, {vectors}" for vectors in arms.kinds[1:]))
    for label, size in itertools.product(others, arms.sizes):
        yield from compared_at(arms, size, label, "mix_sum", both[1:])


def compared_at(
    arms: Arms, size: str, label: str, other: str, measures: Sequence[Callable]
) -> Iterator[Compared]:
    """Two settings with as many pairs, by each measure.

    Args:
        label: setting, or ``SETTING, VECTORS``.
    """
    setting, _, vectors = label.partition(", ")
    pair = arms.name(setting, size, vectors), arms.name(other, size)
    if all(name in arms.runs for name in pair):
        words = f"{figures.in_words(label)}, {size} pairs", figures.in_words(other)
        yield from filter(None, (compare(arms.runs, *pair, words) for compare in measures))


def costs_of(arms: Arms, speed: Path) -> list[str]:
    """Looping translations by size, and parameters, speed and memory, in Markdown."""
    speeds = costs.measured(speed)
    names = {arm: figures.in_words(arm.partition(".")[0]) for arm in speeds}
    columns: dict[str, Callable[[str], str]] = {
        f"loops, {size} pairs": lambda arm, size=size: loops(arms, arm.split(".")[0], size)
        for size in arms.sizes
    }
    size = next(iter(speeds), "..").split(".")[1]
    columns[f"parameters, {size} pairs"] = lambda arm: costs.parameters(arms.runs, arm)
    return costs.table(names, speeds, columns)


def loops(arms: Arms, setting: str, size: str) -> str:
    """The share of translations that repeat themselves or were cut, its range over seeds."""
    runs, arm = arms.at(size), arms.name(setting, size)
    texts, counts = runs.translations(arm, FORM), runs.values(arm, "loops")
    if not texts or not counts:
        return "-"
    low, high = (f"{end(counts) / len(texts[1]):.1%}" for end in (min, max))
    return f"{low} to {high} ({len(counts)} seeds)" if len(counts) > 1 else f"{low} (1 seed)"


def advice(arms: Arms, compared: Sequence[Compared]) -> list[str]:
    """Recommendations supported by the figures: by size, what is most surely better."""
    ours = [row for row in compared if row.falls and row.against == figures.in_words("baseline")]
    found = []
    for size in arms.sizes:
        of_size = [row for row in ours if row.method.endswith(f", {size} pairs")]
        if best := summary.most_certain(of_size):
            found.append(f"{best.method} ({best.change})")
    decided = [f"{row.method}, {row.numbers} ({row.said})" for row in compared
               if row.measure == "BLEU" and row.verdict in ("better", "worse")]  # fmt: skip
    surest = (
        "Surest fall of validation perplexity by size (but translations may loop more often): "
        f"{'; '.join(found)}."
    )
    lines = [surest] if found else []
    return [*lines, f"In BLEU: {'; '.join(decided) or 'nothing is decided so far'}."]


def find(recipe: Recipe, runs: Runs) -> Findings:
    """Verdicts, BLEU by size and figures."""
    arms = Arms.of(runs)
    if not arms.kinds:
        raise UserError(f"{recipe.ledger}: no arm with external vectors yet: run one first")
    cells: dict[str, list[str]] = {"BLEU": []}
    cells |= {f"{size} pairs": [] for size in arms.sizes}
    for label, names in figures.curves(arms):
        row = [
            mean_and_deviation(arms.at(size).bleu_values(name))
            for size, name in zip(arms.sizes, names, strict=True)
        ]
        for column, cell in zip(cells.values(), [label, *row], strict=True):
            column.append(cell)
    compared = list(against_baseline(arms))
    return Findings(
        "External monolingual embeddings (Di Gangi & Federico 2017)",
        claims_of(arms, recipe.ledger.parent),
        notes=[NOTE],
        tables=["## BLEU by number of sentence pairs", "", *table(cells)],
        charts={"perplexities": figures.perplexities(compared), "gains": figures.gains(arms)},
        name="Di Gangi & Federico 2017",
        paper=PAPER,
        setup=SETUP,
        terms=TERMS,
        why=WHY,
        costs=costs_of(arms, recipe.ledger.parent / recipe.speed_file),
        remarks=REMARKS,
        compared=compared,
        advice=advice(arms, compared),
    )
