"""What the pages of the recipes say of single runs."""

from collections.abc import Iterator

from tests.docs.figures.digangi2017 import GANGI
from tests.docs.figures.garg2020 import GARG
from tests.docs.figures.results import lines
from tests.docs.figures.statement import Statement

ECHO, GARG_RECIPE = "docs/echo_states.md", "recipes/garg2020_esnmt/README.md"
GARG_DETAILS = "results/garg2020/details.md"
GANGI_RECIPE = "recipes/digangi2017_external/README.md"
BASELINE_RECIPE = "recipes/baseline_multi30k/README.md"


def echo_states() -> Iterator[Statement]:
    """Scales, radii and ranges."""
    text = "two epochs {}, {} and {} at 0.0001, 0.0005 and 0.002 (LSTM cells: {} at 0.0005)"
    found = {
        (line["arm"], rate): line["figures"]["best_valid_ppl"]
        for line in GARG.ledger
        for rate in ("0.0001", "0.0005", "0.002")
        if line.get("kind") == "tuning" and f"--lr {rate} " in f"{line['setting']['train']} "
    }
    values = [found["esnmt_faithful", rate] for rate in ("0.0001", "0.0005", "0.002")]
    yield Statement(ECHO, text, [*values, found["esnmt_lstm_faithful", "0.0005"]])
    text = (
        "\N{GREEK SMALL LETTER GAMMA} 2 {}, \N{GREEK SMALL LETTER GAMMA} 3 {}; range 0.08 of LSTM "
        "cells {}, 0.2 {}), except \N{GREEK SMALL LETTER GAMMA} 6 and, with simple cells, a range "
        "of 0.2 ({} instead of {})"
    )
    names = (
        "esnmt-0.002-0.113-2-0.5", "esnmt-0.002-0.113-3-0.5", "esnmt_lstm-0.002-0.08-3.5-1",
        "esnmt_lstm-0.002-0.2-3.5-1", "esnmt-0.002-0.2-3-0.5", "esnmt-0.002-0.113-3-0.5",
    )  # fmt: skip
    yield Statement(GARG_RECIPE, text, [GARG.tuned(f"tune-{name}") for name in names])
    text = (
        "fixed at 0.9 is {} or {} BLEU below learned radii, by which of two runs of that seed is "
        "taken (perplexity {}; {} or {}); 0.1 is {} and 2 is {} BLEU below 0.9."
    )
    fixed = GARG.table["radius_0.9"]["seeds"]["1"]
    runs = GARG.runs("esnmt", 1, GARG.table["esnmt"]["key"])
    values = [run["bleu_tokenised"] - fixed["bleu_tokenised"] for run in runs]
    values += [fixed["best_valid_ppl"], *(run["best_valid_ppl"] for run in runs)]
    for radius in ("0.1", "2.0"):
        other = GARG.seed(f"radius_{radius}", 1, "bleu_tokenised")
        values.append(fixed["bleu_tokenised"] - other)
    yield Statement(GARG_DETAILS, text, values)


def external_vectors() -> Iterator[Statement]:
    """Unscaled and uncentered vectors."""
    text = (
        "`mix_sum` has a validation perplexity of {} with unscaled vectors and {} with vectors of "
        "length 1; the baseline has {} (one seed, ten epochs"
    )
    unscaled = [
        line["figures"]["best_valid_ppl"]
        for line in lines("digangi2017/not_normalised")
        if (line["arm"], line["seed"]) == ("mix_sum.10000.captions", 1)
    ]
    scaled, own = (
        next(
            line["figures"]["best_valid_ppl"]
            for line in GANGI.ledger
            if line["arm"] == arm and line["figures"]["epochs"] == 10
        )
        for arm in ("mix_sum.10000.captions", "baseline.10000")
    )
    yield Statement(GANGI_RECIPE, text, [unscaled[0], scaled, own])
    text = "it has a perplexity of {}, not centered {}, centered with the former initialization {}"
    gate = "mix_gate.10000.captions"
    arms = (gate, f"{gate}.uncentered", f"{gate}.normal_start.small_start")
    values = [GANGI.seed(arm, 1, "best_valid_ppl") for arm in arms]
    yield Statement(GANGI_RECIPE, text, values)


def few_updates() -> Iterator[Statement]:
    """Undertrained models of two seeds."""
    bleu: dict[str, list[float]] = {}
    for line in lines("baseline_multi30k/few_updates"):
        bleu.setdefault(line["arm"], []).append(line["figures"]["bleu"])
    apart = sorted(max(found) - min(found) for found in bleu.values() if found[1:])
    text = "two seeds of the same arms differ by {} and {} BLEU."
    yield Statement(BASELINE_RECIPE, text, apart)


SOURCES = (echo_states, external_vectors, few_updates)
