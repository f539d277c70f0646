"""What becomes of the paper's eight claims and of one of ours, and the paper's table.

    python recipes/jean2015_large_vocabulary/claims.py results/jean2015/ledger.jsonl

Writes claims.md, claims.json and, where matplotlib is installed, the curves of K and K'. BLEU is of
cased tokens, as in the paper; verdicts.py says what decides a difference. The inequalities were
written down before any arm was run.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import comparison
import ledger
import report
import scoring
import verdicts
from jean2015_large_vocabulary import figures, table
from jean2015_large_vocabulary.decodings import choice, lists_of
from recorded_runs import Runs
from verdicts import NOT_RUN, Claim, Part, at_least, bleu_part, measured

FLAT = 0.9  # "flat within 10%", in either direction
# About as fast: the paper's own numbers on a CPU are 0.05 and 0.02 seconds a word.
ABOUT = 1 / 2.5
SPEEDS = {"decoding": "words_per_second", "training": "tokens_per_second"}


class Evidence:
    """What the claims are judged by.

    Args:
        runs: of the ledger, scored on tokens.
        folder: with decoding_speed.json and training_speed.json, if they were measured.
        default: K and K' as long as nothing was decoded on the dev set.
    """

    def __init__(self, runs: Runs, folder: Path, default: str):
        self.runs, self.chosen = runs, choice(runs, default)
        self.rounds = {kind: _rounds(folder / f"{kind}_speed.json") for kind in SPEEDS}

    def lv(self, *parts: str) -> str:
        """The model trained on partitions, decoded over the chosen lists."""
        return ".".join(["lv", self.chosen, *parts])

    def faster(
        self, kind: str, inequality: str, fast: str, slow: str, threshold: float = 1.0
    ) -> Part:
        """The speed of one is at least so many times that of another, in every round."""
        rounds = self.rounds[kind]
        if fast not in rounds or slow not in rounds:
            return Part(inequality, NOT_RUN, "not measured (80_timing.sh)")
        pairs = zip(rounds[fast], rounds[slow], strict=True)
        return measured(inequality, [own / other for own, other in pairs], threshold)


def _rounds(path: Path) -> dict[str, list[float]]:
    """The speeds of every round, by name; none if it was not measured."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {row["arm"]: row["rounds"] for row in rows}


def large_beats_shortlist(found: Evidence) -> Claim:
    parts = [at_least(found.runs, name, "shortlist") for name in ("lv", found.lv())]
    return Claim(1, "BLEU: LV > shortlist without UNK replacement", parts)


def candidates_cost_nothing(found: Evidence) -> Claim:
    return Claim(2, "BLEU: LV + candidates ≥ LV", [at_least(found.runs, found.lv(), "lv")])


def replacement_helps_the_shortlist_more(found: Evidence) -> Claim:
    weights = {"shortlist.unk2": 1, "shortlist": -1, found.lv("unk2"): -1, found.lv(): 1}
    part = bleu_part(found.runs, "gain of the shortlist ≥ gain of LV + candidates", weights)
    return Claim(3, "gain in BLEU from UNK replacement: shortlist > LV", [part])


def more_translations_help(found: Evidence, default: str) -> Claim:
    frequent = default.split(".")[0]
    more, fewer = (f"lv.{frequent}.kp{per_word}" for per_word in (10, 1))
    return Claim(4, "BLEU: K' = 10 > K' = 1", [at_least(found.runs, more, fewer)])


def small_partitions_want_small_lists(found: Evidence, default: str, taus: Sequence[int]) -> Claim:
    tau, per_word = min(taus), int(default.partition("kp")[2])
    model = f"lv_tau{tau}"
    lists = [one for one in lists_of(found.runs, model) if one.per_word == per_word]
    near = min(lists, key=lambda one: abs(one.frequent - tau), default=None)
    far = [one for one in lists if one.frequent >= 4 * tau]
    parts = [at_least(found.runs, str(near), str(one)) for one in far]
    return Claim(5, f"τ = {tau}: BLEU at K ≈ τ ≥ BLEU at K ≥ 4 τ", parts)


def reshuffling_and_ensembles_help(found: Evidence, ensembles: dict[str, list[str]]) -> Claim:
    ending = f"{found.chosen}.unk2"
    parts = [at_least(found.runs, f"lv_reshuffle.{ending}", f"lv.{ending}")]
    for ensemble, members in ensembles.items():
        parts += [
            at_least(found.runs, f"{ensemble}.{ending}", f"{one}.{ending}") for one in members
        ]
    return Claim(6, "BLEU: reshuffled ≥ fixed partitions; ensemble > each of its arms", parts)


def decoding_time(found: Evidence) -> Claim:
    lists, common = found.lv(), found.lv("common")
    parts = [
        found.faster("decoding", "seconds/word: all words ≥ candidates", lists, "lv"),
        found.faster(
            "decoding", "candidates at most 2.5 times the shortlist", lists, "shortlist", ABOUT
        ),
        found.faster(
            "decoding", "the shortlist at most 2.5 times candidates", "shortlist", lists, ABOUT
        ),
        found.faster("decoding", "a list for each sentence ≥ common list", common, lists),
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
    """Ours: a word that few partitions have scores too high among all words."""
    perplexities = [found.runs.figure(arm, "best_valid_ppl") for arm in ("lv", "lv_corrected")]
    before, after = (value or 0.0 for value in perplexities)
    parts = [
        at_least(found.runs, "lv_corrected", "lv"),
        measured(
            "validation perplexity over all words: lv / lv_corrected ≥ 1",
            [before / after] if before and after else [],
            1.0,
        ),
    ]
    return Claim(9, "not in the paper: over all words, LV with corrected scores ≥ without", parts)


def claims_of(found: Evidence, options: argparse.Namespace) -> list[Claim]:
    """The paper's eight in its order, then ours."""
    ensembles = {f"ensemble{n}": options.ensemble_of[: n // 2] for n in options.ensembles}
    return [
        large_beats_shortlist(found),
        candidates_cost_nothing(found),
        replacement_helps_the_shortlist_more(found),
        more_translations_help(found, options.default),
        small_partitions_want_small_lists(found, options.default, options.taus),
        reshuffling_and_ensembles_help(found, ensembles),
        decoding_time(found),
        training_time(found),
        correction_helps(found),
    ]


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line; the axes are those of arms.sh."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--arms", nargs="*", default=[], help="of the recipe, in order")
    parser.add_argument("--seeds", nargs="*", type=int, default=[], help="that each should have")
    parser.add_argument("--default", default="k2000.kp10", help="where the curves cross")
    parser.add_argument("--taus", nargs="+", type=int, default=[1000, 4000])
    parser.add_argument("--ensembles", nargs="*", type=int, default=[4, 8])
    parser.add_argument("--ensemble-of", nargs="*", default=[])
    parser.add_argument("--note", help="said above the table")
    return parser.parse_args(arguments)


def page(found: Evidence, claims: Sequence[Claim], options: argparse.Namespace) -> list[str]:
    """The paper's table, the verdicts, translations of one model scored against another's."""
    missing = report.not_run(
        comparison.rows_of(ledger.read(options.ledger)), options.arms, options.seeds
    )
    notes = [f"K and K' chosen on the dev set: {found.chosen}."]
    notes += [options.note] if options.note else []
    notes += [f"Arms not run: {', '.join(missing) or 'none'}."]
    text = verdicts.markdown("Very large target vocabularies (Jean et al. 2015)", claims, notes)
    members = [f"{arm}.{found.chosen}.unk2" for arm in options.ensemble_of]
    lines = [*text.rstrip("\n").split("\n"), "", *table.of_the_paper(found.runs, found.chosen)]
    return [*lines, "", *table.cross_model(found.runs, members)]


def main(arguments: list[str] | None = None) -> int:
    """Write the page, its JSON and the plots."""
    options = parse_arguments(arguments)
    folder = options.ledger.parent
    try:
        entries = ledger.read(options.ledger)
        if not entries:
            raise ValueError(f"{options.ledger} is missing or empty: run an arm first")
        found = Evidence(Runs(entries, form="tokenised"), folder, options.default)
        claims = claims_of(found, options)
        lines = page(found, claims, options)
    except ValueError as error:
        print(f"claims: {error}", file=sys.stderr)
        return 2
    facts = {"choice": found.chosen, "claims": verdicts.as_json(claims)}
    scoring.write_lines(folder / "claims.md", lines)
    text = json.dumps(facts, indent=2, ensure_ascii=False)
    scoring.write_lines(folder / "claims.json", text.split("\n"))
    print("\n".join(lines))
    print(f"{folder / 'claims.md'}\n{folder / 'claims.json'}")
    try:
        print("\n".join(map(str, figures.draw(found.runs, folder, options.default))))
    except ImportError:
        print('no plots: matplotlib is not installed (pip install ".[report]")')
    return 0


if __name__ == "__main__":
    sys.exit(main())
