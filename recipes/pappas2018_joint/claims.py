"""The claims of Pappas et al. (2018) as inequalities, written before the arms were run."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from recipes.lab.claims import FAILS, HOLDS, Claim, Part, every_round, exact, ratios
from recipes.lab.figures import chart_parts
from recipes.lab.pages import costs, equal_epochs, equal_time
from recipes.lab.pages.report import Findings
from recipes.lab.pages.summary import Compared
from recipes.lab.runs import Runs
from recipes.lab.scores import schedules
from recipes.lab.scores.resampling import SEEDS_NEEDED
from recipes.pappas2018_joint import figures
from recipes.pappas2018_joint.arms import ECONOMY, Pappas2018
from recipes.pappas2018_joint.frequency_bins import gains_by_frequency
from recipes.pappas2018_joint.length_penalty import about_equal, at_least, weighted

FORM = "plain"
VALIDATION = "best_valid_ppl"
FAR_BELOW = (
    "**Multi30k is far below the paper's data** (29 thousand sentence pairs, not millions; models a"
    " quarter as wide): a failed inequality is evidence about scale, not a refutation."
)
NOTE = (
    "Claim 4 compares arms that took turns, and gives the ratio of every round. What is said of"
    " BLEU is decided only where it holds at length penalties 1 and 0, where the interval at 0 is"
    " over seeds."
)

PAPER = (
    "Scoring words and contexts in a joint space of d_j dimensions is better than an untied softmax"
    " and than weight tying: German-English 18.1 BLEU with d_j = 2,048, up to 2.2 above the untied"
    " softmax and 1.6 above tying, and it loses least where few classes are sampled (Pappas et al."
    " 2018)."
)
SETUP = (
    "29 thousand captions (Multi30k), joint BPE of 4,000 merges; `luong_lstm` with 2+2 layers of"
    " 128 units; BLEU of plain text, lower case."
)
TERMS = {
    "NMT": "the untied softmax (`linear`)",
    "tied": "weight tying",
    "joint": "the joint space; its size d_j follows in names of arms (`joint256`)",
    "7a, 7b": "a nonlinear map of words only, or of contexts only (`output_structure`,"
    " `context_structure`)",
}
WHY = (
    "29 thousand captions with 10 thousand English words, where the paper has WMT and vocabularies"
    " of 32 to 128 thousand; 128 units instead of 512.",
    "Learning rates are tuned with subwords alone. The untied softmax, tying and 7a want twice the"
    " rate of the joint spaces; `bilinear` does into English, 7b into German.",
    "Contexts of 7b are numbers within ±1 that score against the input embeddings. With 128 units"
    " many must be near ±1 (see history.md), where the nonlinearity passes little gradient.",
    "The authors halve the learning rate once the validation loss has risen. Within 15 epochs it"
    " rises early, late or never, by layer and seed, which decided most of the differences in older"
    " runs; the newer ones halve it from the eleventh epoch on in any case. These are all layers"
    " with subwords in both directions.",
)
REMARKS = (
    "In runs of 5 epochs (German to English, subwords, one seed; kind: tuning) the lowest"
    " validation perplexity comes with a learning rate of 0.006 for the untied softmax (6.82; with"
    " 0.003 7.09, with 0.012 8.62), tying (6.98; 7.30), `bilinear` (6.97; 7.00) and"
    " `output_structure` (6.82; 6.99), with 0.003 for `context_structure` (7.53; with 0.006 7.59)"
    " and the joint space (d = 128: 7.01; 7.28; d = 256: 6.74; 6.95). The arms have these rates."
    " After 15 epochs 0.003 was no worse for `output_structure` (history.md). Into German 0.006 is"
    " better for the untied softmax (8.31; 8.92; with 0.012 10.40), tying (8.52; 8.96),"
    " `output_structure` (8.34; 8.41) and `context_structure` (8.69; 9.21), 0.003 for `bilinear`"
    " (8.34; 8.37) and the joint space (d = 128: 8.58; 8.67; d = 256: 8.10; 8.27), and the arms"
    " have these. All else has 0.003, from earlier trials that are not in the ledger, like the"
    " initialization range.",
    "The length penalty decides between models that write longer and shorter translations, so only"
    " what holds at 1 and at 0 is said.",
)


class Arms:
    """The names of the arms, and what was found about them.

    Args:
        speeds: tokens a second of arms that took turns, a value a round.
    """

    def __init__(self, recipe: Pappas2018, runs: Runs, speeds: Mapping[str, Sequence[float]]):
        self.recipe, self.runs, self.speeds = recipe, runs, dict(speeds)
        self.directions, self.first = recipe.directions, recipe.first
        self.small, self.large = recipe.joints[0], recipe.joints[-1]
        self.vocabularies = recipe.settings.words("VOCABULARIES")
        sweep = recipe.settings.wholes("JOINT_DIMS") + recipe.settings.wholes("SWEEP_DIMS")
        self.dims = sorted(set(sweep))

    def name(self, model: str, direction: str = "", vocabulary: str = "", change: str = "") -> str:
        """The name of an arm; default: the first direction and the recipe's vocabulary."""
        vocabulary = vocabulary or self.recipe.settings.VOCABULARY
        name = ".".join(filter(None, [direction or self.first, vocabulary, model, change]))
        sampled = f"{name}.{ECONOMY}"
        return sampled if name not in self.runs and sampled in self.runs else name

    def chosen_joint(self, direction: str = "") -> str:
        """The joint arm with the best validation perplexity, which determines d_j."""
        known = self.joint_perplexities(direction)
        return min(known, key=known.__getitem__, default=self.name(self.small, direction))

    def joint_perplexities(self, direction: str) -> dict[str, float]:
        """Validation perplexity of the joint arms of one schedule, the newest that two share.

        Of those with enough seeds for a verdict, if there are any.
        """
        names = [self.name(f"joint{dim}", direction) for dim in self.dims]
        view = self.runs.mostly_alike(names)
        decided = [n for n in names if len(view.seeds([n])) >= SEEDS_NEEDED]
        view = view.with_seeds_of(decided or names)
        found = {n: view.figure(n, VALIDATION) for n in decided or names if n in view}
        return {name: ppl for name, ppl in found.items() if ppl is not None}

    def choice(self, direction: str) -> str:
        """How d_j was chosen, in words."""
        known, chosen = self.joint_perplexities(direction), self.chosen_joint(direction)
        if len(known) < 2:
            others = {self.name(f"joint{dim}", direction) for dim in self.dims} - {chosen}
            enough = (
                "with enough seeds" if any(name in self.runs for name in others) else "that was run"
            )
            return f"d_j, {direction}: {chosen}, the only one {enough}"
        view = self.runs.mostly_alike(list(known))
        words = f"d_j chosen by validation perplexity, {direction}: {chosen}"
        of = f"{words} of {len(known)} ({schedules.in_words(view.entry(chosen))}"
        return f"{of}, {chart_parts.seeds_of(view, list(known))})"


def best_in_each_direction(arms: Arms) -> Claim:
    parts = []
    for direction in arms.directions:
        joint = arms.chosen_joint(direction)
        parts += [at_least(arms.runs, joint, arms.name(m, direction)) for m in ("nmt", "tied")]
    return Claim(1, "BLEU(joint, best d_j) ≥ max(NMT, tied) in each direction", parts)


def ranking(arms: Arms) -> Claim:
    runs, small, large = arms.runs, arms.name(arms.small), arms.name(arms.large)
    context = arms.name("context_structure")
    low = [arms.name(model) for model in ("output_structure", "bilinear", "tied")]
    parts = [at_least(runs, large, other) for other in (small, context)]
    parts += [about_equal(runs, small, context)]
    parts += [at_least(runs, high, other) for high in (small, context) for other in low]
    parts += [about_equal(runs, one, low[-1]) for one in low[:-1]]
    parts += [at_least(runs, other, arms.name("nmt")) for other in (large, small, context, *low)]
    text = "large joint > {small joint ≈ 7b} > {7a ≈ bilinear ≈ tied}; all ≥ NMT"
    return Claim(2, text, parts)


def robust_to_sampling(arms: Arms) -> Claim:
    vocabulary = arms.recipe.settings.SAMPLING_VOCABULARY

    def drop(model: str, sign: int) -> dict[str, float]:
        full = f"{arms.first}.{vocabulary}.{model}"
        return {full: sign, f"{full}.share25": -sign}

    parts = [
        weighted(
            arms.runs,
            f"BLEU lost from all classes to 25%: {robust} ≤ {other}",
            {**drop(other, 1), **drop(robust, -1)},
        )
        for robust, other in ((arms.small, "tied"), ("tied", "nmt"))
    ]
    return Claim(3, "drop in BLEU from full to 25%: joint ≤ tied ≤ NMT", parts)


def speed(arms: Arms) -> Claim:
    full = f"{arms.first}.{arms.recipe.settings.SAMPLING_VOCABULARY}."
    shares = sorted(arms.recipe.settings.wholes("SHARES"), reverse=True)
    endings = ["", *(f".share{share}" for share in shares)]

    def part(fast: str, slow: str, least: float = 1) -> Part:
        factor = "" if least == 1 else f"{least} "
        inequality = f"tokens/s({fast}) ≥ {factor}tokens/s({slow})"
        return every_round(inequality, ratios(arms.speeds, fast, slow), least, "80_speed.sh")

    small, large = full + arms.small, full + arms.large
    parts = [part(small + ending, f"{full}nmt{ending}", 0.85) for ending in endings]
    if arms.small != arms.large:
        parts += [part(small + ending, large + ending) for ending in endings]
    for more, fewer in itertools.pairwise(endings):
        for model in ("nmt", "tied", arms.small):
            parts.append(part(full + model + fewer, full + model + more))
    text = "small joint at least 0.85 as fast as NMT at the same share; slower with d_j; "
    return Claim(4, text + "faster with fewer classes", parts)


def depth(arms: Arms) -> Claim:
    runs, layers = arms.runs, arms.recipe.settings.whole("LAYERS")
    depths = sorted(arms.recipe.settings.wholes("DEPTHS"))

    def at(model: str, depth: int) -> str:
        return arms.name(model, change="" if depth == layers else f"depth{depth}")

    parts = [at_least(runs, at(arms.small, depth), at("tied", depth)) for depth in depths]
    shallow, deep = arms.chosen_joint(), at("nmt", depths[-1])
    parts.append(at_least(runs, shallow, deep))
    sizes = [runs.figure(arm, "parameters") for arm in (shallow, deep)]
    known = None not in sizes
    numbers = " and ".join(f"{size:,.0f}" for size in sizes) if known else ""
    fewer = sizes[0] < sizes[1] if known else None
    parts.append(exact(f"parameters({shallow}) < parameters({deep})", fewer, numbers))
    text = f"joint ≥ tied at each depth; joint of {layers} layers ≥ NMT of {depths[-1]}, smaller"
    return Claim(5, text, parts)


def frequency_bins(arms: Arms) -> Claim:
    others = ("nmt", "tied", "bilinear", "output_structure", "context_structure")
    parts = [
        part
        for direction in arms.directions
        for part in gains_by_frequency(
            arms.runs,
            arms.chosen_joint(direction),
            [arms.name(model, direction) for model in others],
            Path(arms.recipe.training_text(direction)),
        )
    ]
    text = "METEOR: joint ≥ the others for frequent and rare words; most gain for frequent ones"
    return Claim(6, text, parts)


def tied_may_lose(arms: Arms) -> Claim:
    largest = arms.vocabularies[-1]
    parts = [
        at_least(
            arms.runs, arms.name("nmt", direction, largest), arms.name("tied", direction, largest)
        )
        for direction in arms.directions
    ]
    return Claim(7, "tied may lose to NMT at larger vocabularies", parts, any_is_enough=True)


def larger_vocabularies(arms: Arms) -> Claim:
    smallest, largest = arms.vocabularies[0], arms.vocabularies[-1]

    def gain(direction: str) -> dict[str, float]:
        """The best model at the largest vocabulary minus the best at the smallest.

        The best is that with the lowest validation perplexity, which compares within a vocabulary.
        """
        best = []
        for vocabulary in (largest, smallest):
            models = ("nmt", "tied", arms.small, arms.large)
            names = [arms.name(model, direction, vocabulary) for model in models]
            view = arms.runs.mostly_alike(names).with_seeds_of(names)
            best.append(min(names, key=lambda name: view.figure(name, VALIDATION) or math.inf))
        return {best[0]: 1, best[1]: -1}

    parts = [
        weighted(arms.runs, f"{direction}: best BLEU, {largest} ≥ {smallest}", gain(direction))
        for direction in arms.directions
    ]
    for direction in arms.directions:
        source, target = direction.split("-")
        back = f"{target}-{source}"
        if source == "en" and back in arms.directions:
            weights = {**gain(direction), **{arm: -w for arm, w in gain(back).items()}}
            parts.append(weighted(arms.runs, f"that gain: {direction} ≥ {back}", weights))
    text = "the best BLEU comes at the larger vocabularies, more so into the richer morphology"
    return Claim(8, text, parts)


CLAIMS: tuple[Callable[[Arms], Claim], ...] = (
    best_in_each_direction,
    ranking,
    robust_to_sampling,
    speed,
    depth,
    frequency_bins,
    tied_may_lose,
    larger_vocabularies,
)


def find(recipe: Pappas2018, runs: Runs) -> Findings:
    """Verdicts and figures."""
    arms = Arms(recipe, runs, costs.rounds(recipe.ledger.parent / recipe.speed_file))
    chosen = [arms.choice(direction) for direction in arms.directions]
    far_below = [FAR_BELOW] if recipe.settings.SETTING == "multi30k" else []
    compared = list(against_untied(arms))
    raced = [
        (layer, arms.name("nmt", direction))
        for direction in arms.directions
        for layer in (arms.chosen_joint(direction), arms.name("tied", direction))
    ]
    return Findings(
        "Claims of Pappas et al. (2018)",
        [claim(arms) for claim in CLAIMS],
        notes=[*far_below, NOTE, *chosen],
        tables=[*equal_epochs.section(arms.runs, raced), "", *equal_time.section(arms.runs, raced)],
        charts=figures.charts(arms),
        name="Pappas et al. 2018",
        paper=PAPER,
        setup=SETUP,
        terms=TERMS,
        why=(*WHY, *falls_at_the_end(arms)),
        remarks=REMARKS,
        compared=[*compared, *against_tying(arms)],
        advice=advice(arms, compared),
    )


def falls_at_the_end(arms: Arms) -> Iterator[str]:
    """How far the runs of the newest schedule are from converged, in words."""
    parts = []
    for direction in arms.directions:
        entries = [e for name in arms.runs.arms for e in arms.runs.entries(name)
                   if e["arm"].startswith(direction) and schedules.annealed_from(e)]  # fmt: skip
        curves = ([one["valid_ppl"] for one in e["figures"].get("history", [])] for e in entries)
        falls = [100 * (1 - min(curve) / min(curve[:-2])) for curve in curves if len(curve) > 2]
        if falls:
            parts.append(f"{max(falls):.1f}% ({figures.in_words(direction)})")
    if parts:
        yield (
            "With that schedule the last two epochs still lower the validation perplexity of a run"
            f" by up to {' and '.join(parts)}."
        )


def against_untied(arms: Arms) -> Iterator[Compared]:
    """The chosen joint space and tying, compared with the untied softmax.

    In both directions, and with the vocabulary of the set sampling.
    """
    yield from in_one_vocabulary(arms, "", *((d, arms.chosen_joint(d)) for d in arms.directions))
    other = arms.recipe.settings.SAMPLING_VOCABULARY
    if other != arms.recipe.settings.VOCABULARY:
        small = arms.name(arms.small, arms.first, other)
        yield from in_one_vocabulary(arms, other, (arms.first, small))


def against_tying(arms: Arms) -> Iterator[Compared]:
    """Validation perplexities of the other layers, compared with tying; claim 2 has their BLEU."""
    for direction in arms.directions:
        base = arms.name("tied", direction)
        others = ("bilinear", "output_structure", "context_structure")
        for name in (arms.chosen_joint(direction), *(arms.name(o, direction) for o in others)):
            if name in arms.runs and base in arms.runs:
                where = figures.in_words(direction)
                words = f"{where}: {figures.plain(name.split('.')[2])}", figures.plain("tied")
                if found := Compared.in_validation_perplexity(arms.runs, name, base, words):
                    yield replace(found, on_page=False)


def in_one_vocabulary(arms: Arms, vocabulary: str, *joints: tuple[str, str]) -> Iterator[Compared]:
    """BLEU by direction, then validation perplexity.

    Args:
        vocabulary: default: the recipe's.
        joints: direction and joint arm.
    """
    rows = []
    for direction, joint in joints:
        base = arms.name("nmt", direction, vocabulary)
        where = figures.in_words(direction) + (f", {vocabulary}" if vocabulary else "")
        for name in (joint, arms.name("tied", direction, vocabulary)):
            if name in arms.runs and base in arms.runs:
                words = f"{where}: {figures.plain(name.split('.')[2])}", figures.plain("nmt")
                rows.append((name, base, words))
    for name, base, words in rows:
        part = at_least(arms.runs, name, base)
        _, _, more = part.numbers.partition("; ")
        facts = {"judged": part.verdict, "more": f"; {more}" if more else ""}
        if found := Compared.in_bleu(arms.runs, name, base, words, **facts):
            yield replace(found, on_page=not vocabulary)
    for name, base, words in rows:
        if found := Compared.in_validation_perplexity(arms.runs, name, base, words):
            yield replace(found, on_page=not vocabulary)


def advice(arms: Arms, compared: Sequence[Compared]) -> list[str]:
    """Recommendations supported by the figures, of BLEU at both length penalties."""
    lines = []
    for direction in arms.directions:
        base, joint = arms.name("nmt", direction), arms.chosen_joint(direction)
        part = at_least(arms.runs, joint, base)
        if part.verdict in (HOLDS, FAILS):
            words = "use" if part.verdict == HOLDS else "do not use"
            where, layer = figures.in_words(direction), figures.plain(joint.split(".")[2])
            lines.append(f"{where}: {words} the {layer}: {part.numbers}.")
    tied = [arms.name(model) for model in ("tied", "nmt")]
    view = arms.runs.alike(tied)
    sizes = [view.figure(arm, "parameters") for arm in tied] if view else []
    if not lines and sizes and None not in sizes:
        share = f"{sizes[0] / sizes[1]:.0%} of the parameters of the untied softmax"
        lines = [f"In BLEU nothing is decided so far. Tying is the cheapest: {share}."]
    for row in (row for row in compared if row.falls and row.verdict in ("better", "worse")):
        paired = row.shown.removeprefix(row.verdict)
        lines.append(f"{row.method} is {row.verdict} than {row.against}{paired}: {row.numbers}.")
    return lines
