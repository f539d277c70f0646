"""The eight claims of Jean et al. (2015), two of ours, and the paper's table.

BLEU is of cased tokens, as in the paper. The inequalities were written before any arm was run, but
for the tenth: by then one seed of two of its three models had been seen.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

from recipes.jean2015_large_vocabulary import figures, rare_words, table
from recipes.jean2015_large_vocabulary.arms import Jean2015
from recipes.jean2015_large_vocabulary.decodings import comparable, lists_of
from recipes.lab.claims import (
    NOT_RUN,
    UNDECIDED,
    Claim,
    Part,
    about_equal,
    at_least,
    every_round,
    ratios,
    smaller_in_percent,
    weighted,
)
from recipes.lab.figures.chart_parts import seeds_of
from recipes.lab.pages import costs
from recipes.lab.pages.report import Findings
from recipes.lab.pages.summary import Compared
from recipes.lab.runs import Runs

FORM = "tokenised"
FLAT = 0.9  # "flat within 10%", in either direction
# About as fast: the paper's numbers on a CPU are 0.05 and 0.02 seconds per word.
ABOUT = 1 / 2.5
SPEEDS = ("decoding", "training")
FAR_BELOW = (
    "Multi30k is far below the paper's data: 29 thousand sentence pairs, some 19 thousand words,"
    " models a tenth as wide. A claim that fails here says something of scale and refutes nothing."
)

PAPER = (
    "With partitions of the corpus, each of which uses few target words, a model trains on all"
    " words at the cost of few; over candidate lists it translates nearly as fast as a short list"
    " does (0.05 against 0.02 seconds per word on a CPU, 0.12 against 0.09 on a GPU) and better:"
    " English-French 33.4 against 30.0 BLEU, English-German 17.5 against 16.5. Where"
    " unknown words are replaced, English-French 34.1 against 33.1, and English-German is level:"
    " 18.9 against 19.0 (Jean et al. 2015, Tables 2 and 3)."
)
SETUP = (
    "29 thousand captions (Multi30k), English to German, 19,219 German words; `rnnsearch` of 128"
    " units, or where it is said fairseq's Transformer of 2+2 layers of 128; BLEU of tokens, so"
    " that `<unk>` is one word."
)
TERMS = {
    "LV": "a model of all 19,219 words, trained by partitions of the corpus with at most τ words"
    " each (`lv`: 2,000)",
    "short list": "a model of the 4,000 most frequent words",
    "K": "most frequent words in every candidate list",
    "K'": "translations of each source word added to it",
    "common": "one candidate list for all sentences",
    "corrected, reshuffled": "scores corrected by the share of words in whose partitions a word is"
    " (ours); partitions drawn anew every epoch",
    "log-uniform": "samples by frequency rank",
    "UNK replacement": "`<unk>` is replaced by the translation, or a copy, of the source word that"
    " it attends to",
}
WHY = (
    "29 thousand captions and 19 thousand German words, where the paper has WMT and 500 thousand:"
    " the short list of 4,000 words covers 94% of the test set's words here.",
    "Sampled softmaxes are trained with `lazy_adam`, which leaves the rows of words that were not"
    " scored as they are, all other models with Adam: their rows compare both changes at once.",
    "On so little text 15 thousand more words cost BLEU: a full softmax over all words is below the"
    " short list as well.",
)
REMARKS = (
    "All models of `rnnsearch` have the same learning rate (0.002, halved after a rise of the"
    " validation loss). In runs of 5 epochs (one seed, kind: tuning) 0.004 has a lower validation"
    " perplexity for sampled softmax (12.4, 14.0 with 0.002), the short list (5.0, 5.6) and"
    " corrected partitions (10.7, 11.2), not for the full softmax (10.9, with 0.002 10.8 after the"
    " 5 epochs of its arm), so the full softmax is favoured a little.",
    "Transformers have rates chosen by runs of 5 epochs (seed 1): 0.003 by samples (12.2; 14.1 with"
    " 0.0015, 30.4 with 0.006), 0.0015 with the adaptive softmax (10.7; 12.6, 11.2 and 31.0 with"
    " 0.00075, 0.003 and 0.006) and by partitions (9.95; 12.5 and 10.4 with 0.00075 and 0.003). The"
    " adaptive softmax has smaller vectors for rarer words: 5.4 instead of 7.3 million parameters.",
    "Over all words, a model trained by partitions scores rare words too high, because few"
    " partitions have them as negatives; candidate lists exclude most of them. Claim 9 is about a"
    " correction.",
    "No difference of corrected partitions and sampled softmax from the full softmax is proven in"
    " BLEU (claim 10).",
    "2,000 log-uniform samples have half as many distinct words as a partition of 2,000 (frequent"
    " ones are drawn again and again): an update scores 6% of all words, not 10%. With 4,500"
    " samples it scores as many as with a partition.",
    "Models of all words have every word of the training text and never write `<unk>` here:"
    " replacement changed nothing in any of 24 pairs of decodings, and claim 3 is not tested (the"
    " short list: +0.76 BLEU).",
    "K = 500 is the smallest K tried and was chosen with seed 1 of uncorrected partitions (`lv`)."
    " Corrected models have slightly more BLEU over all words than over candidates (34.7 and 34.5;"
    " reshuffled, 34.4 and 34.1; not tested).",
    "Seed 2 of corrected partitions was trained twice: 35.6 BLEU after 9,607 updates on a Xeon and"
    " 34.4 after 8,129 on an EPYC, by rounding and early stopping. The later line counts, because"
    " its checkpoint was decoded over candidates. With the first, the mean of corrected partitions"
    " over all words would be 35.1 instead of 34.7.",
)


MAIN = ("lv_corrected", "full")
# Models over the same words, compared by validation perplexity.
IN_PERPLEXITY = (
    ("lv_corrected", "lv"),
    ("lv_corrected_reshuffle", "lv_corrected"),
    ("lv_corrected_reshuffle", "full"),
    ("lv_corrected", "full"),
    ("sampled_log_uniform", "full"),
)


class Evidence:
    """The data for deciding claims.

    Args:
        runs: of the ledger, scored on tokens.
        folder: has decoding_speed.json and training_speed.json, if measured.
        chosen: K and K', e.g. ``k2000.kp10``.
    """

    def __init__(self, runs: Runs, folder: Path, chosen: str):
        self.runs, self.chosen = runs, chosen
        self.rounds = {kind: costs.rounds(folder / f"{kind}_speed.json") for kind in SPEEDS}

    def lv(self, *parts: str) -> str:
        """A decoding of the model trained on partitions, over the chosen lists."""
        return ".".join(["lv", self.chosen, *parts])

    def faster(
        self, kind: str, inequality: str, fast: str, slow: str, threshold: float = 1.0
    ) -> Part:
        """The speed of one is at least a multiple of that of another, in every round."""
        found = ratios(self.rounds[kind], fast, slow)
        return every_round(inequality, found, threshold, "80_timing.sh")


def large_beats_shortlist(found: Evidence) -> Claim:
    parts = [at_least(found.runs, name, "shortlist") for name in ("lv", found.lv())]
    return Claim(1, "BLEU: LV > shortlist without UNK replacement", parts)


def candidates_cost_nothing(found: Evidence) -> Claim:
    return Claim(2, "BLEU: LV + candidates ≥ LV", [at_least(found.runs, found.lv(), "lv")])


def replacement_helps_the_shortlist_more(found: Evidence) -> Claim:
    weights = {"shortlist.unk2": 1, "shortlist": -1, found.lv("unk2"): -1, found.lv(): 1}
    part = weighted(found.runs, "gain of the shortlist ≥ gain of LV + candidates", weights)
    text = "gain in BLEU from UNK replacement: shortlist > LV"
    replaced, plain = found.lv("unk2"), found.lv()
    both = replaced in found.runs and plain in found.runs
    of_lv = found.runs.difference({replaced: 1, plain: -1}) if both else None
    if of_lv and not any(of_lv[:3]):
        text += " (not tested: LV writes no `<unk>` here)"
        part = part._replace(verdict=UNDECIDED, numbers=f"the short list's gain: {part.numbers}")
    return Claim(3, text, [part])


def more_translations_help(found: Evidence, default: str) -> Claim:
    frequent = default.split(".")[0]
    more, fewer = (f"lv.{frequent}.kp{per_word}" for per_word in (10, 1))
    return Claim(4, "BLEU: K' = 10 > K' = 1", [at_least(found.runs, more, fewer)])


def small_partitions_want_small_lists(found: Evidence, default: str, taus: list[int]) -> Claim:
    tau, per_word = min(taus), int(default.partition("kp")[2])
    model = f"lv_tau{tau}"
    lists = [one for one in lists_of(found.runs, model) if one.per_word == per_word]
    near = min(lists, key=lambda one: abs(one.frequent - tau), default=None)
    far = [one for one in lists if one.frequent >= 4 * tau]
    parts = [at_least(found.runs, str(near), str(one)) for one in far]
    return Claim(5, f"τ = {tau}: BLEU at K ≈ τ ≥ BLEU at K ≥ 4 τ", parts)


def reshuffling_and_ensembles_help(found: Evidence, ensembles: dict[str, Sequence[str]]) -> Claim:
    """Claim 6. An ensemble of seeds is one run, compared with its first seed: never decided."""
    ending = f"{found.chosen}.unk2"
    parts = [
        at_least(found.runs, f"{model}_reshuffle.{ending}", f"{model}.{ending}")
        for model in ("lv", "lv_corrected")
    ]
    for ensemble, members in ensembles.items():
        parts += [
            at_least(found.runs, f"{ensemble}.{ending}", f"{one}.{ending}") for one in members
        ]
    return Claim(6, "BLEU: reshuffled ≥ fixed partitions; ensemble > each of its arms", parts)


def members_of_ensembles(recipe: Jean2015) -> dict[str, Sequence[str]]:
    """The arms of every ensemble: one with several seeds, or several of one seed."""
    s = recipe.settings
    seeds = {f"{model}.seeds3": [model] for model in s.words("SEED_ENSEMBLES")}
    return seeds | {f"ensemble{n}": recipe.members[: n // 2] for n in s.wholes("ENSEMBLES")}


def decoding_time(found: Evidence) -> Claim:
    lists, common = found.lv(), found.lv("common")
    parts = [
        found.faster("decoding", inequality, *arms)
        for inequality, *arms in (
            ("seconds/word: all words ≥ candidates", lists, "lv"),
            ("candidates at most 2.5 times the shortlist", lists, "shortlist", ABOUT),
            ("the shortlist at most 2.5 times candidates", "shortlist", lists, ABOUT),
            ("a list for each sentence ≥ common list", common, lists),
        )
    ]
    return Claim(
        7, "seconds/word: all > candidates of each sentence ≈ shortlist; common ≤ those", parts
    )


def training_time(found: Evidence) -> Claim:
    parts = []
    for times in (2, 4):
        more, words = f"lv.times{times}", f"{times} times as many words"
        for inequality, fast, slow in (
            (f"tokens/s with {words} ≥ 0.9 tokens/s", more, "lv"),
            (f"tokens/s ≥ 0.9 tokens/s with {words}", "lv", more),
        ):
            parts.append(found.faster("training", inequality, fast, slow, FLAT))
    return Claim(8, "training time flat (±10%) in the size of the vocabulary at the same τ", parts)


def correction_helps(found: Evidence) -> Claim:
    """Our claim: words that are in few partitions score too high among all words."""
    by_seed = found.runs.validation_perplexities(("lv_corrected", "lv"))
    words = "validation perplexity over all words: lv_corrected < lv"
    parts = [at_least(found.runs, "lv_corrected", "lv")]
    if by_seed:
        parts.append(smaller_in_percent(words, by_seed, form=".2f"))
    else:
        parts.append(Part(words, NOT_RUN))
    return Claim(9, "not in the paper: over all words, LV with corrected scores ≥ without", parts)


def as_good_as_the_full_softmax(found: Evidence) -> Claim:
    """Our claim: what a large vocabulary costs on little data, it costs the full softmax, too."""
    models = ("lv_corrected", "sampled_log_uniform")
    parts = [about_equal(found.runs, model, "full") for model in models]
    return Claim(
        10,
        "not in the paper: over all words, LV with corrected scores ≈ sampled ≈ full softmax",
        parts,
    )


def claims_of(found: Evidence, recipe: Jean2015) -> list[Claim]:
    """The paper's eight claims in order, then our two."""
    s = recipe.settings
    taus = [s.whole("TAU"), *s.wholes("TAUS")]
    return [
        large_beats_shortlist(found),
        candidates_cost_nothing(found),
        replacement_helps_the_shortlist_more(found),
        more_translations_help(found, s.DEFAULT_CHOICE),
        small_partitions_want_small_lists(found, s.DEFAULT_CHOICE, taus),
        reshuffling_and_ensembles_help(found, members_of_ensembles(recipe)),
        decoding_time(found),
        training_time(found),
        correction_helps(found),
        as_good_as_the_full_softmax(found),
    ]


def chosen_among(runs: Runs, chosen: str) -> str:
    """What the K and K' of the decodings were chosen among."""
    view, found = comparable(runs)
    names = [str(lists) for lists in found]
    if len(names) < 2:
        return f"K and K': {chosen}."
    tried = ", ".join(name.partition(".")[2] for name in names)
    return f"K and K' chosen on the dev set: {chosen}, of {tried} ({seeds_of(view, names)})."


def find(recipe: Jean2015, runs: Runs) -> Findings:
    """Verdicts, the paper's table, and cross-model BLEU."""
    chosen = recipe.choice()
    far_below = [FAR_BELOW] if recipe.settings.SETTING == "multi30k" else []
    members = [f"{arm}.{chosen}.unk2" for arm in recipe.members]
    training, test = (Path(f"{recipe.tokenized}/{part}.{recipe.settings.TARGET}")
                      for part in ("train", "test"))  # fmt: skip
    known = rare_words.counts(recipe.ledger.parent, training, test)
    bins = rare_words.bins_of(known) if known else None
    compared = list(comparisons(runs, chosen))
    return Findings(
        "Very large target vocabularies (Jean et al. 2015)",
        claims_of(Evidence(runs, recipe.ledger.parent, chosen), recipe),
        notes=[chosen_among(runs, chosen), *far_below],
        tables=[*table.of_the_paper(runs, chosen), "", *table.cross_model(runs, members)],
        facts={"choice": chosen},
        charts=figures.charts(runs, recipe.settings.DEFAULT_CHOICE, chosen, bins),
        name="Jean et al. 2015",
        paper=PAPER,
        setup=SETUP,
        terms=TERMS,
        why=WHY,
        remarks=REMARKS,
        compared=compared,
        advice=advice(compared),
    )


def comparisons(runs: Runs, chosen: str) -> Iterator[Compared]:
    """Ways to train on all words, and all words against the short list, as used in practice."""
    base = "shortlist.unk2" if "shortlist.unk2" in runs else "shortlist"
    against_base = []
    for model in ("lv_corrected", "lv_corrected_reshuffle", "lv_reshuffle", "lv", "full"):
        names = (f"{model}.{chosen}.unk2", f"{model}.{chosen}")
        against_base += [(name, base) for name in names if name in runs][:1]
    # How good the approximation is, and whether it is needed.
    main = [MAIN, *against_base[:1]]
    pairs = [MAIN, *against_base, ("full", base), ("lv_corrected", "lv"), (f"lv.{chosen}", "lv")]
    pairs += [("lv_corrected_reshuffle", "lv_corrected")]
    more_samples = figures.of_more_samples(runs)
    sampled = ("sampled_log_uniform", *more_samples)
    pairs += [(model, "full") for model in ("lv_corrected_reshuffle", *sampled)]
    pairs += [(model, base) for model in sampled]
    of_transformers = pairs_of_transformers(runs)
    for one, other in (*pairs, *of_transformers):
        if one in runs and other in runs:
            words = figures.plain(one), figures.plain(other)
            if found := Compared.in_bleu(runs, one, other, words):
                yield replace(found, is_main=(one, other) in main)
    against = ("full", "lv_corrected_reshuffle")
    on_page = {("lv_corrected", "lv"), *of_transformers}
    for one, other in (*IN_PERPLEXITY, *product(more_samples, against), *of_transformers):
        words = figures.plain(one), figures.plain(other)
        if found := Compared.in_validation_perplexity(runs, one, other, words):
            yield replace(found, on_page=other == "full" or (one, other) in on_page)


def pairs_of_transformers(runs: Runs) -> list[tuple[str, str]]:
    """Our ways to train a Transformer on all words, each against fairseq's, and each other."""
    transformers = [arm for arm in runs.arms if re.fullmatch(r"transformer_\w+", arm)]
    of_fairseq = ("transformer_adaptive", "transformer_full")
    ours = [arm for arm in transformers if arm not in of_fairseq]
    found = [pair for pair in product(ours, of_fairseq) if pair[1] in transformers]
    return [*found, *combinations(sorted(ours), 2)]


def advice(compared: Sequence[Compared]) -> list[str]:
    """Recommendations supported by the figures: the first difference in BLEU that is decided, and
    the ways to train on all words.
    """
    lines = []
    in_bleu = (row for row in compared if row.measure == "BLEU")
    if row := next((row for row in in_bleu if row.verdict in ("better", "worse")), None):
        better, other, found = row.method, row.against, row.found
        if row.verdict == "worse":
            better, other, found = other, better, found.opposite
        gain = f"{found.interval('.1f')} BLEU above {other}"
        lines.append(f"{figures.capitalized(better)}: {gain}.")
    full = [row for row in compared if row.falls and row.against == figures.plain("full")]
    if full:
        ranked = sorted(full, key=lambda row: row.found.value, reverse=True)
        shown = "; ".join(
            f"{row.method.removesuffix(figures.OVER_ALL)} {row.change} ({row.said})"
            for row in ranked
        )
        lines.append(
            "Where all words are needed and a full softmax is too slow (validation perplexity"
            f" against it): {shown}."
        )
    return lines or [
        "Undecided so far. What needs no test set: candidate lists make each step cheaper and every"
        " word of the training text can still be written."
    ]
