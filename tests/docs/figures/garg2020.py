"""Echo states: quality, speed and size."""

import re
from collections.abc import Iterator
from statistics import mean

from tests.docs.figures.results import Results
from tests.docs.figures.statement import CHANGE, RANGE, Statement, rows

README, PAGE = "README.md", "docs/echo_states.md"
RESULTS, DETAILS = "results/garg2020/README.md", "results/garg2020/details.md"

GARG = Results("garg2020", "report", "decoding")
ALL, NARROW, SIMPLE, LSTM = "rnmt_plus", "rnmt_plus_narrow", "esnmt", "esnmt_lstm"
BLEU, PERPLEXITY = "BLEU (tokenized)", "valid ppl"
change, less, cell, seed = GARG.change, GARG.less, GARG.cell, GARG.seed


def share(arm: str) -> list[float]:
    """Percent of the trained model's BLEU, with the interval."""
    return [100 * x for x in GARG.claimed(f"0.6 <= BLEU({arm}) / BLEU({ALL}) <= 0.9")]


def of_paper() -> float:
    """Percent of the trained model's parameters that a frozen one of the paper's size stores."""
    found = rows("benchmarks/echo_state.json", "arm")
    return 100 * found[SIMPLE]["trained"] / found[ALL]["trained"]


def minutes() -> list[float]:
    """Of training, after which simple cells are behind the trained model; whole minutes."""
    text = (GARG.folder / "claims.md").read_text(encoding="utf-8")
    found = re.findall(rf"\| {SIMPLE} \| {ALL} \| \d \| ([\d.]+) \|", text)
    return sorted(round(float(each)) for each in found)


def readme() -> Iterator[Statement]:
    """README.md."""
    text = (
        "half of the parameters are stored, simple cells train {} times as fast ({} to {}), {} "
        f"BLEU [{{}}, {{}}]; a narrower trained model that stores as much is {CHANGE} BLEU ahead"
    )
    assert round(cell(SIMPLE, "parameters") / cell(ALL, "parameters"), 1) == 0.5
    values = [*GARG.times(SIMPLE, ALL), *change(SIMPLE, ALL), *less(SIMPLE, NARROW)]
    yield Statement(README, text, values)


def results() -> Iterator[Statement]:
    """The page of the results and its details, as far as they are written by hand."""
    assert minutes() == [8, 9]
    text = "After eight to nine minutes of equal time the trained model is ahead in perplexity"
    yield Statement(DETAILS, text, [])
    text = "halve what is stored and keep {}% of the BLEU (128 units, three seeds"
    assert round(share(SIMPLE)[0]) == round(share(LSTM)[0])
    yield Statement(RESULTS, text, share(SIMPLE)[:1])
    text = (
        f"stores as much and is {CHANGE} BLEU better than frozen simple cells, {CHANGE} than "
        "frozen LSTM cells."
    )
    yield Statement(RESULTS, text, [*less(SIMPLE, NARROW), *less(LSTM, NARROW)])
    yield Statement(RESULTS, "frozen models would store {}% of the parameters", [of_paper()])
    text = (
        "translate {} to {}% too short: without BLEU's brevity penalty they reach {} and {}%. A "
        "length penalty chosen on the validation set (one seed) gains them {} to {} BLEU there and "
        "costs {} and {} on the test set (the trained model: {} and {}); the share is {}% then."
    )
    gains, costs = penalties()
    values = [*sorted(too_short()), *without_penalty(), *sorted(gains[1:]), *costs[1:]]
    shares = [100 * GARG.claimed(each)[0] for each in chosen_penalties()]
    assert round(shares[0]) == round(shares[1])
    yield Statement(DETAILS, text, [*values, gains[0], costs[0], shares[0]])
    text = (
        "(80 units; {} and {} million) has {}, {} and {} BLEU, and a validation perplexity of {}, "
        f"{{}} and {{}} (frozen simple cells {{}}, {{}} and {{}}). That is {CHANGE} BLEU more than "
        f"frozen simple cells and {CHANGE} less than 128 trained units"
    )
    values = [cell(arm, "parameters") / 1e6 for arm in (NARROW, SIMPLE)]
    values += [seed(NARROW, n, "bleu_tokenised") for n in (1, 2, 3)]
    values += [seed(arm, n, "best_valid_ppl") for arm in (NARROW, SIMPLE) for n in (1, 2, 3)]
    yield Statement(DETAILS, text, [*values, *less(SIMPLE, NARROW), *less(NARROW, ALL)])
    text = (
        f"simple cells gain {CHANGE} BLEU ({{}}), LSTM cells {CHANGE} ({{}}). They then store as "
        "much as the trained model of 128 units, which has {} with the same seed"
    )
    yield Statement(DETAILS, text, wide())
    text = (
        "softmax alone {} BLEU, with embeddings {}, with attention (the frozen model) {}, with the "
        "decoder as well {}, with the encoder instead {}, all {} (at"
    )
    parts = [cell(f"release_{part}", BLEU) for part in ("softmax", "embeddings")]
    parts += [seed(LSTM, 1, "bleu_tokenised"), cell("release_decoder", BLEU)]
    parts += [cell("release_encoder", BLEU), seed(ALL, 1, "bleu_tokenised")]
    yield Statement(DETAILS, text, parts)


def wide() -> list[float]:
    """Gains of models of 256 units, their BLEU, and that of the trained model of 128."""
    values: list[float] = []
    for arm in (SIMPLE, LSTM):
        values += [*GARG.claimed(f"BLEU({arm}_wide) ≥ BLEU({arm})"), cell(f"{arm}_wide", BLEU)]
    return [*values, seed(ALL, 1, "bleu_tokenised")]


def too_short() -> list[float]:
    """Percent of the references' length that translations of frozen models lack."""
    return [100 * (1 - cell(arm, "length ratio")) for arm in (SIMPLE, LSTM)]


def without_penalty() -> list[float]:
    """Percent of the trained model's BLEU, both without the penalty for short translations."""
    text = (GARG.folder / "claims.md").read_text(encoding="utf-8")
    found = [re.search(rf"\| {arm} \|.*\| ([\d.]+) \[.*\|\n", text) for arm in (SIMPLE, LSTM)]
    return [100 * float(each[1]) for each in found if each]


def penalties() -> tuple[list[float], list[float]]:
    """Gain on the validation and loss on the test set of the best length penalty, by model.

    In comparison with no other length penalty, that is 1: trained, simple cells, LSTM cells.
    """
    gains, costs = [], []
    for arm in (ALL, SIMPLE, LSTM):
        valid = {
            name: cell(name, "BLEU, dev set (tokenized)")
            for name in GARG.table
            if name.startswith(f"{arm}.lenpen")
        }
        best = max(valid, key=valid.__getitem__)
        gains.append(valid[best] - valid[f"{arm}.lenpen1"])
        costs.append(cell(f"{arm}.lenpen1", BLEU) - cell(best, BLEU))
    return gains, costs


def chosen_penalties() -> list[str]:
    """The inequalities of models at the length penalty of the validation set."""
    found = [each for each in GARG.parts if ".lenpen" in each and each.startswith("0.6")]
    assert len(found) == 2
    return found


def page() -> Iterator[Statement]:
    """docs/echo_states.md."""
    sizes = rows("garg2020/checkpoint_sizes.json", "arm")
    megabytes = [sizes[arm]["checkpoint_mb"] for arm in (SIMPLE, ALL)]
    text = (
        "reached {}% of the trained model's BLEU and stored half of its parameters (checkpoints of "
        f"{{}} instead of {{}} MB; [below](#results)); but a narrower `rnmt_plus` that stores as "
        f"much had {CHANGE} BLEU more than they, at {RANGE} times the speed of simple cells and "
        f"{RANGE} times that of LSTM cells."
    )
    values = [share(SIMPLE)[0], *megabytes, *less(SIMPLE, NARROW)]
    values += [*GARG.times(NARROW, SIMPLE), *GARG.times(NARROW, LSTM)]
    yield Statement(PAGE, text, values)
    yield Statement(PAGE, "frozen models would store {}% of the parameters", [of_paper()])
    text = "the fastest ({} times `rnmt_plus` at 128 units and 3+3 layers)"
    yield Statement(PAGE, text, GARG.times(SIMPLE, ALL)[:1])
    yield Statement(PAGE, "frozen, LSTM cells ({} times) |", GARG.times(LSTM, ALL)[:1])
    text = (
        "`rnmt_plus` has {} BLEU, `esnmt` {} and `esnmt_lstm` {}: {}% of the trained model's ([{}, "
        "{}] and [{}, {}]; validation perplexity {}, {} and {}). `rnmt_plus` of 80 units "
        "(`--init-range 0.379473`), "
        f"which stores as many parameters as they, has {{}}: {CHANGE} and {CHANGE} more. "
        "Translations of frozen models are {} to {}% too short."
    )
    three = (ALL, SIMPLE, LSTM)
    values = [*(cell(arm, BLEU) for arm in three), *share(SIMPLE), *share(LSTM)[1:]]
    values += [*(cell(arm, PERPLEXITY) for arm in three), cell(NARROW, BLEU)]
    values += [*less(SIMPLE, NARROW), *less(LSTM, NARROW), *sorted(too_short())]
    yield Statement(PAGE, text, values)
    gains, costs = penalties()
    text = (
        "gains {} to {} BLEU there and costs {} to {} on the test set, where frozen models then "
        "have {}% of the trained model's BLEU; with `--lenpen 1` they have {}% (simple cells) and "
        "{}% (LSTM cells)."
    )
    shares = [100 * GARG.claimed(chosen_penalties()[0])[0]]
    one = [cell(f"{arm}.lenpen1", BLEU) for arm in three]
    shares += [100 * value / one[0] for value in one[1:]]
    yield Statement(PAGE, text, [min(gains), max(gains), min(costs), max(costs), *shares])
    text = (
        "`esnmt` has {} BLEU, {} [{}, {}] more than with 128 (`esnmt_lstm` {}, {} [{}, {}] more), "
        "but then equals `rnmt_plus` of 128 units in stored parameters and in speed ({}, {} to {} "
        "times), which has {} BLEU (same seed)."
    )
    *simple, simple_bleu, value, low, high, lstm_bleu, trained = wide()
    values = [simple_bleu, *simple, lstm_bleu, value, low, high]
    yield Statement(PAGE, text, [*values, *GARG.times("esnmt_wide", ALL), trained])
    text = "`rnmt_plus` (from ±0.113) has {} BLEU, and the frozen ones {} and {}% of it"
    older = {arm: with_rate(arm, "0.002") for arm in three}
    frozen = [100 * older[arm] / older[ALL] for arm in (SIMPLE, LSTM)]
    yield Statement(PAGE, text, [older[ALL], *frozen])
    text = (
        "has {} BLEU and a validation perplexity of {}. Two runs of the model with learned radii "
        "have {} and {} BLEU, perplexities of {} and {}. A radius of 0.1 has {} BLEU, of 2 has {}."
    )
    radius = "radius_0.9"
    again = GARG.runs(SIMPLE, 1, GARG.table[SIMPLE]["key"])
    values = [cell(radius, BLEU), cell(radius, PERPLEXITY)]
    values += [run["bleu_tokenised"] for run in again] + [run["best_valid_ppl"] for run in again]
    yield Statement(PAGE, text, [*values, *(cell(f"radius_{n}", BLEU) for n in ("0.1", "2.0"))])


def with_rate(arm: str, rate: str) -> float:
    """Mean BLEU of the seeds of an arm that was trained with another learning rate."""
    (row,) = [
        row
        for row in GARG.rows
        if row["arm"].startswith(f"{arm} [")
        and f"--lr {rate} " in row["setting"]["train"]
        and len(row["seeds"]) == 3
    ]
    return mean(figures["bleu_tokenised"] for figures in row["seeds"].values())


SOURCES = (readme, results, page)
