"""How settings of the recipes were chosen, and remarks on their runs: from the ledgers."""

import re
from collections.abc import Iterator

from tests.docs.figures.garg2020 import GARG
from tests.docs.figures.jean2015 import JEAN
from tests.docs.figures.statement import Statement, median

JEAN_DETAILS = "results/jean2015/details.md"
LARGE, ECHO, DECODING = "docs/large_vocabularies.md", "docs/echo_states.md", "docs/decoding.md"
RARE = "sampled_log_uniform"


def jean_rates() -> Iterator[Statement]:
    """Learning rates of large vocabularies."""

    def tuned(arm: str, rate: str) -> float:
        return JEAN.tuned(f"tune-{arm}-{rate}")

    text = (
        "0.004 has a lower validation perplexity for sampled softmax ({}, {} with 0.002), the "
        "short list ({}, {}) and corrected partitions ({}, {}), not for the full softmax ({}, with "
        "0.002 {} after the 5 epochs of its arm)"
    )
    arms = (RARE, "shortlist", "lv_corrected")
    values = [tuned(arm, rate) for arm in arms for rate in ("0.004", "0.002")]
    curves = JEAN.json("training_curves")[f"full.seed1.{JEAN.table['full']['key']}"]
    after_five = min(epoch["valid_ppl"] for epoch in curves[:5])
    yield Statement(JEAN_DETAILS, text, [*values, tuned("full", "0.004"), after_five])
    text = (
        "0.003 by samples ({}; {} with 0.0015, {} with 0.006), 0.0015 with the adaptive softmax "
        "({}; {}, {} and {} with 0.00075, 0.003 and 0.006) and by partitions ({}; {} and {} with "
        "0.00075 and 0.003). The adaptive softmax has smaller vectors for rarer words: {} instead "
        "of {} million parameters."
    )
    values = [
        tuned(f"transformer_{arm}", rate)
        for arm, rates in (
            (f"{RARE}_tau4500", ("0.003", "0.0015", "0.006")),
            ("adaptive", ("0.0015", "0.00075", "0.003", "0.006")),
            ("lv_corrected_reshuffle", ("0.0015", "0.00075", "0.003")),
        )
        for rate in rates
    ]
    for arm in ("transformer_adaptive", "transformer_lv_corrected_reshuffle"):
        values.append(JEAN.cell(arm, "parameters") / 1e6)
    yield Statement(JEAN_DETAILS, text, values)
    better, ours = JEAN.tuned(RARE), JEAN.seed(RARE, 1, "best_valid_ppl")
    text = "A better one hardly helps 2,000 samples: {} at 0.004, {} at 0.002, full softmax {} ("
    full = JEAN.seed("full", 1, "best_valid_ppl")
    yield Statement(JEAN_DETAILS, text, [better, ours, full])
    text = "at the full softmax's learning rate (a tuned one gains {}% with 2,000, one seed)"
    yield Statement(LARGE, text, [100 * (1 - better / ours)])


def jean_remarks() -> Iterator[Statement]:
    """Replacement of unknown words, a run that was repeated, candidate lists."""
    gain = JEAN.claimed("gain of the shortlist ≥ gain of LV + candidates")[0]
    text = (
        "replacement changed nothing in any of {} pairs of decodings, and claim 3 is not tested "
        "(the short list: {} BLEU)"
    )
    yield Statement(JEAN_DETAILS, text, [len(replaced()), gain])
    chosen, new = "lv_corrected.k500.kp10.unk2", "lv_corrected_reshuffle.k500.kp10.unk2"
    text = "more BLEU over all words than over candidates ({} and {}; reshuffled, {} and {};"
    arms = ("lv_corrected", chosen, "lv_corrected_reshuffle", new)
    yield Statement(JEAN_DETAILS, text, [JEAN.cell(arm, "BLEU (tokenized)") for arm in arms])
    first, last = JEAN.runs("lv_corrected", 2, JEAN.table["lv_corrected"]["key"])
    both = [x for run in (first, last) for x in (run["bleu_tokenised"], run["updates"])]
    text = "second seed of partitions reached {} BLEU after {} updates on a Xeon and {} after {} on"
    yield Statement(LARGE, text, both)
    mean = JEAN.cell("lv_corrected", "BLEU (tokenized)")
    other = mean + (first["bleu_tokenised"] - last["bleu_tokenised"]) / 3
    text = (
        "{} BLEU after {} updates on a Xeon and {} after {} on an EPYC, by rounding and early "
        "stopping. The later line counts, because its checkpoint was decoded over candidates. With "
        "the first, the mean of corrected partitions over all words would be {} instead of {}."
    )
    yield Statement(JEAN_DETAILS, text, [*both, other, mean])
    # Not rows of arms.
    seconds = JEAN.json("reshuffling")["seconds"]
    yield Statement(LARGE, "It takes {} s per epoch of 29,000 captions", [median(seconds)])


def replaced() -> list[tuple[str, int]]:
    """Decodings of models of all words with unknown words replaced, and without in the ledger.

    Each must have the translations of its model's decoding without replacement.
    """
    found = []
    for line in JEAN.ledger:
        name = re.fullmatch(r"(.+)\.unk\d", line["arm"])
        if not name or name[1].startswith("shortlist"):
            continue
        models = line["setting"]["of"]
        for other in JEAN.ledger:
            of = other["setting"].get("of") or {other["arm"]: other["key"]}
            if (other["arm"], other["seed"], of) == (name[1], line["seed"], models):
                figures = [each["figures"]["bleu_tokenised"] for each in (line, other)]
                assert figures[0] == figures[1], line["arm"]
                found.append((line["arm"], line["seed"]))
    return found


def coverage() -> Iterator[Statement]:
    """Coverage of references by candidate lists."""
    text = (JEAN.folder / "coverage.test.md").read_text(encoding="utf-8")
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:1] == "|"]
    covered = {(row[0], row[1]): row for row in cells if row[1:]}
    for k in ("500", "1000", "2000", "4000"):
        values = [float(covered[k, n][2]) for n in ("0", "1", "10", "20")]
        size = float(covered[k, "10"][4].replace(",", ""))
        # Pages write .810.
        digits = " | ".join(f"{value:.3f}"[1:] for value in values)
        yield Statement(DECODING, f"| {k} | {digits} | {{}} |", [size])
    share = re.search(r"([\d.]+) of them are in the dictionary", text)
    assert share
    text = "{}% of the tokens are in the dictionary"
    yield Statement(DECODING, text, [100 * float(share[1])])


def echo_rates() -> Iterator[Statement]:
    """Learning rates, ranges and scales of echo states."""

    def tuned(*names: str) -> list[float]:
        return [GARG.tuned(f"tune-{name}") for name in names]

    row = "| {} | {} | {} | {} | {} |".format
    for scales, radius in (((2, 3, 6), "0.5"), ((2, 3, 6), "1")):
        first = "`esnmt`" if radius == "0.5" else ""
        text = row(first, "0.113", "2, 3, 6", radius, "0.002").replace("|  |", "| |")
        names = [f"esnmt-0.002-0.113-{scale}-{radius}" for scale in scales]
        yield Statement(ECHO, text + " {}, {}, {} |", tuned(*names))
    for text, names in (
        ("| | 0.2 | 3 | 0.5 | 0.002 | {} |", ["esnmt-0.002-0.2-3-0.5"]),
        (
            "| | 0.113 | 3 | 0.5 | 0.004, **0.008**, 0.016 | {}, **{}**, {} |",
            [f"esnmt-{rate}-0.113-3-0.5" for rate in ("0.004", "0.008", "0.016")],
        ),
        (
            "| | 0.113 | 1, 2 | 0.5 | 0.008 | {}, {} |",
            [f"esnmt-0.008-0.113-{scale}-0.5" for scale in (1, 2)],
        ),
        (
            "| `esnmt_lstm` | 0.08 | 2, 3.5 | 1 | 0.002 | {}, {} |",
            [f"esnmt_lstm-0.002-0.08-{scale}-1" for scale in ("2", "3.5")],
        ),
        (
            "| | 0.2 | 3.5, 6 | 1 | 0.002 | {}, {} |",
            [f"esnmt_lstm-0.002-0.2-{scale}-1" for scale in ("3.5", "6")],
        ),
        ("| | 0.2 | 3.5 | 0.5 | 0.002 | {} |", ["esnmt_lstm-0.002-0.2-3.5-0.5"]),
        (
            "| | 0.2 | 3.5 | 1 | 0.004, 0.008, **0.016**, 0.032 | {}, {}, **{}**, {} |",
            [f"esnmt_lstm-{rate}-0.2-3.5-1" for rate in ("0.004", "0.008", "0.016", "0.032")],
        ),
        (
            "| | 0.2 | 1, 2, 6 | 1 | 0.016 | {}, {}, {} |",
            [f"esnmt_lstm-0.016-0.2-{scale}-1" for scale in (1, 2, 6)],
        ),
        (
            "| `rnmt_plus` | 0.08, 0.113, 0.2 | | | 0.002 | {}, {}, {} |",
            [f"rnmt_plus-0.002-{size}" for size in ("0.08", "0.113", "0.2")],
        ),
        (
            "| | 0.08, 0.2 | | | 0.004 | {}, {} |",
            [f"rnmt_plus-0.004-{size}" for size in ("0.08", "0.2")],
        ),
        (
            "| | 0.113, 0.2, **0.3**, 0.4 | | | 0.008 | {}, {}, **{}**, {} |",
            [f"rnmt_plus-0.008-{size}" for size in ("0.113", "0.2", "0.3", "0.4")],
        ),
        ("| | 0.3 | | | 0.016 | {} |", ["rnmt_plus-0.016-0.3"]),
    ):
        yield Statement(ECHO, text, tuned(*names))


def echo_scales() -> Iterator[Statement]:
    """What the table of learning rates, ranges and scales of echo states shows."""

    def change(one: str, other: str) -> float:
        """Percent of perplexity from the second run to the first."""
        return 100 * (GARG.tuned(f"tune-{one}") / GARG.tuned(f"tune-{other}") - 1)

    falls = [
        -change(f"{name}".format("0.008"), f"{name}".format("0.002"))
        for name in ("esnmt-{}-0.113-3-0.5", "esnmt_lstm-{}-0.2-3.5-1",
                     "rnmt_plus-{}-0.113", "rnmt_plus-{}-0.2")
    ]  # fmt: skip
    text = "from 0.002 to 0.008 the perplexity falls by {} to {}%, at any range."
    yield Statement(ECHO, text, [min(falls), max(falls)])
    text = (
        "raises it by {}% with simple cells and by {}% with LSTM cells, at 0.016 by {}% with LSTM "
        "cells; \u03b3 2 is {}% better than 3.5 there, and after 15 epochs {}%, with {} to {} less "
        "BLEU (one seed)."
    )
    late = [
        change("esnmt-0.002-0.113-6-0.5", "esnmt-0.002-0.113-3-0.5"),
        change("esnmt_lstm-0.002-0.2-6-1", "esnmt_lstm-0.002-0.2-3.5-1"),
        change("esnmt_lstm-0.016-0.2-6-1", "esnmt_lstm-0.016-0.2-3.5-1"),
        -change("esnmt_lstm-0.016-0.2-2-1", "esnmt_lstm-0.016-0.2-3.5-1"),
    ]
    wide, ours = GARG.table["lstm_fan_in_2"]["seeds"]["1"], GARG.table["esnmt_lstm"]
    runs = GARG.runs("esnmt_lstm", 1, ours["key"])
    gains = [100 * (1 - wide["best_valid_ppl"] / run["best_valid_ppl"]) for run in runs]
    losses = sorted(run["bleu_tokenised"] - wide["bleu_tokenised"] for run in runs)
    yield Statement(ECHO, text, [*late, gains[0], losses[0], losses[-1]])
    text = "Of the learning rates, 0.016 is {}% better than 0.008 for simple cells"
    better = -change("esnmt-0.016-0.113-3-0.5", "esnmt-0.008-0.113-3-0.5")
    yield Statement(ECHO, text, [better])


SOURCES = (jean_rates, jean_remarks, coverage, echo_rates, echo_scales)
