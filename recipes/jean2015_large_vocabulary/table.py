"""The paper's table (Jean et al. 2015, Tables 2 and 3), and cross-model BLEU."""

from collections.abc import Iterator, Sequence

from recipes.lab.markdown import markdown_table
from recipes.lab.pages.table import mean_and_deviation
from recipes.lab.runs import Runs
from recipes.lab.scores import scoring

NOTHING = "-"


def of_the_paper(runs: Runs, chosen: str) -> Iterator[str]:
    """Test BLEU (dev BLEU in parentheses) of the shortlist and of LV, step by step.

    Only runs of the newest schedule that two of the rows share.

    Args:
        runs: scored on tokens.
        chosen: K and K' of rows with candidates, e.g. ``k2000.kp10``.
    """
    rows = {
        "basic": ("shortlist", "lv"),
        "+ candidates": (None, f"lv.{chosen}"),
        "+ UNK replacement": ("shortlist.unk2", f"lv.{chosen}.unk2"),
        "+ reshuffled partitions": (None, f"lv_reshuffle.{chosen}.unk2"),
        "basic, scores corrected": (None, "lv_corrected"),
        "+ candidates and UNK replacement": (None, f"lv_corrected.{chosen}.unk2"),
        "basic, corrected and reshuffled": (None, "lv_corrected_reshuffle"),
        "+ candidates, UNK replacement": (None, f"lv_corrected_reshuffle.{chosen}.unk2"),
        **{f"+ {name}": (None, name) for name in _ensembles(runs)},
    }
    view = runs.mostly_alike([arm for arms in rows.values() for arm in arms if arm])
    cells = [(name, *(_cell(view, arm) for arm in arms)) for name, arms in rows.items()]
    yield from markdown_table(("test (dev)", "shortlist", "LV"), cells)


def _ensembles(runs: Runs) -> list[str]:
    found = (arm for arm in runs.arms if arm.startswith("ensemble") or ".seeds" in arm)
    return [arm for arm in found if arm.endswith(".unk2")]


def _cell(runs: Runs, arm: str | None) -> str:
    if arm is None or arm not in runs:
        return NOTHING if arm is None else "not run"
    test = mean_and_deviation(runs.values(arm, "bleu_tokenised"))
    dev = runs.figure(arm, "valid_bleu_tokenised")
    return test if dev is None else f"{test} ({dev:.2f})"


def cross_model(runs: Runs, arms: Sequence[str]) -> Iterator[str]:
    """BLEU of each row's translations with each column's as references."""
    found = {arm: runs.translations(arm, "tokenised") for arm in arms if arm in runs}
    texts = {arm: both[0] for arm, both in found.items() if both is not None}
    if len(texts) < 2:
        yield "Cross-model BLEU: fewer than two members of an ensemble were run."
        return
    rows = []
    for arm, hypotheses in texts.items():
        cells = [
            NOTHING
            if arm == other
            else f"{scoring.score(hypotheses, references, tokenised=True)['bleu_tokenised']:.2f}"
            for other, references in texts.items()
        ]
        rows.append((arm, *cells))
    yield from markdown_table(("cross-model BLEU", *texts), rows)
