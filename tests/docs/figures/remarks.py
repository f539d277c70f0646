"""Rates and remarks on the pages of the results, which recipes state in words."""

from collections.abc import Iterator

from tests.docs.figures.digangi2017 import GANGI
from tests.docs.figures.garg2020 import ALL, GARG, LSTM, SIMPLE, penalties, too_short
from tests.docs.figures.pappas2018 import DE, EN, PAPPAS
from tests.docs.figures.statement import Statement

PAPPAS_PAGE, GARG_PAGE = "results/pappas2018/details.md", "results/garg2020/details.md"
GANGI_PAGE = "results/digangi2017/details.md"


def output_layers() -> Iterator[Statement]:
    """Learning rates of output layers."""

    def tuned(*names: str) -> list[float]:
        return [PAPPAS.tuned(f"tune-{name}") for name in names]

    def both(layer: str, first: str, direction: str = EN) -> list[float]:
        rates = ("0.003", "0.006") if first == "0.003" else ("0.006", "0.003")
        return tuned(*(f"{direction}{layer}-{rate}" for rate in rates))

    text = (
        "0.006 for the untied softmax ({}; with 0.003 {}, with 0.012 {}), tying ({}; {}), "
        "`bilinear` ({}; {}) and `output_structure` ({}; {}), with 0.003 for `context_structure` "
        "({}; with 0.006 {}) and the joint space (d = 128: {}; {}; d = 256: {}; {})."
    )
    values = [*both("nmt", "0.006"), *tuned(f"{EN}nmt-0.012")]
    for layer in ("tied", "bilinear", "output_structure"):
        values += both(layer, "0.006")
    for layer in ("context_structure", "joint128", "joint256"):
        values += both(layer, "0.003")
    yield Statement(PAPPAS_PAGE, text, values)
    text = (
        "0.006 is better for the untied softmax ({}; {}; with 0.012 {}), tying ({}; {}), "
        "`output_structure` ({}; {}) and `context_structure` ({}; {}), 0.003 for `bilinear` ({}; "
        "{}) and the joint space (d = 128: {}; {}; d = 256: {}; {})"
    )
    values = [*both("nmt", "0.006", DE), *tuned(f"{DE}nmt-0.012"), *both("tied", "0.006", DE)]
    for layer, key in (("output_structure", "34bdd6"), ("context_structure", "3d233d")):
        values += [*tuned(f"{DE}{layer}-0.006"), after_five(layer, key)]
    for layer, key in (("bilinear", "f8773e"), ("joint128", "1d8865")):
        values += [after_five(layer, key), *tuned(f"{DE}{layer}-0.006")]
    yield Statement(PAPPAS_PAGE, text, [*values, *both("joint256", "0.003", DE)])


def after_five(layer: str, key: str) -> float:
    """The lowest perplexity of the first five epochs of an arm into German with a rate of 0.003."""
    arm = f"{DE}{layer}"
    (run,) = PAPPAS.runs(arm, 1, PAPPAS.table[f"{arm} [{key}]"]["key"])
    return min(epoch["valid_ppl"] for epoch in run["history"][:5])


def echo_states() -> Iterator[Statement]:
    """Rates, scales and lengths of echo states."""

    def tuned(*names: str) -> list[float]:
        return [GARG.tuned(f"tune-{name}") for name in names]

    text = (
        "(validation perplexity {} and {} after 1,100 updates, one seed), at the arms' 0.008 the "
        "default is ({}; 2: {}). LSTM cells have {} with 2 and {} with their default of 3.5, but "
        "after 15 epochs {} BLEU instead of {} or {} (two runs of that seed)."
    )
    values = tuned(
        "esnmt-0.002-0.113-2-0.5", "esnmt-0.002-0.113-3-0.5", "esnmt-0.008-0.113-3-0.5",
        "esnmt-0.008-0.113-2-0.5", "esnmt_lstm-0.016-0.2-2-1", "esnmt_lstm-0.016-0.2-3.5-1",
    )  # fmt: skip
    runs = GARG.runs(LSTM, 1, GARG.table[LSTM]["key"])
    values += [GARG.seed("lstm_fan_in_2", 1, "bleu_tokenised")]
    yield Statement(GARG_PAGE, text, values + [run["bleu_tokenised"] for run in runs])
    text = (
        "(0.016 is {}% better there), 0.016 for LSTM cells (0.032: {} instead of {}) and 0.008 for "
        "the trained model (0.016: {} instead of {})."
    )
    slow, fast = tuned("esnmt-0.008-0.113-3-0.5", "esnmt-0.016-0.113-3-0.5")
    others = tuned(
        "esnmt_lstm-0.032-0.2-3.5-1", "esnmt_lstm-0.016-0.2-3.5-1", "rnmt_plus-0.016-0.3",
        "rnmt_plus-0.008-0.3",
    )  # fmt: skip
    yield Statement(GARG_PAGE, text, [100 * (1 - fast / slow), *others])
    text = "are {} to {}% too short on average ({} to {}% by run), the trained one's {}%."
    ratios = sorted(
        100 * (1 - run["length_ratio"])
        for arm in (SIMPLE, LSTM)
        for run in GARG.table[arm]["seeds"].values()
    )
    trained = 100 * (1 - GARG.cell(ALL, "length ratio"))
    values = [*sorted(too_short()), ratios[0], ratios[-1], trained]
    yield Statement(GARG_PAGE, text, values)
    text = "BLEU falls by {} and {} (one seed; the trained model's by {})."
    yield Statement(GARG_PAGE, text, [*penalties()[1][1:], penalties()[1][0]])
    text = "the trained one is at a validation perplexity of {}, simple cells at {}."
    yield Statement(GARG_PAGE, text, [others[-1], slow])


def external_vectors() -> Iterator[Statement]:
    """Rates of external vectors."""

    def tuned(arm: str, *rates: str) -> list[float]:
        return [GANGI.tuned(f"tune-{arm}-{rate}") for rate in rates]

    text = "`mix_sum` has the baseline's 0.003 ({}; its best, 0.002: {})"
    yield Statement(GANGI_PAGE, text, tuned("mix_sum-10000", "0.003", "0.002"))
    text = (
        "At 29,000 the baseline has {} with 0.002, {} with 0.003 and {} with 0.005, `mix_sum` {}, "
        "{} and {}."
    )
    values = []
    for arm, name, key in (
        ("baseline", "baseline.29000", "c770eafc28f2"),
        ("mix_sum", "mix_sum.29000.captions", "03b848f57281"),
    ):
        smaller, larger = tuned(f"{arm}-29000", "0.002", "0.005")
        (older,) = GANGI.runs(name, 1, key)
        values += [smaller, older["best_valid_ppl"], larger]
    yield Statement(GANGI_PAGE, text, values)
    text = (
        "with 1,000 pairs the baseline has {} at 0.008, {} at 0.012 and {} at 0.016, external "
        "vectors alone {} at 0.001, {} at 0.0005 and {} at 0.0003"
    )
    values = tuned("baseline-1000", "0.008", "0.012", "0.016")
    values += tuned("only_external-1000", "0.001", "0.0005", "0.0003")
    yield Statement(GANGI_PAGE, text, values)
    text = "With 29,000 the baseline has {} at 0.001, {}% more than at 0.002"
    least, best = tuned("baseline-29000", "0.001", "0.002")
    yield Statement(GANGI_PAGE, text, [least, 100 * (least / best - 1)])
    text = (
        "(0.001, 0.002, 0.003, 0.005: validation perplexity of the baseline {}, {}, {}, {}; of "
        "`mix_sum` {}, {}, {}, {})"
    )
    rates = ("0.001", "0.002", "0.003", "0.005")
    values = [x for arm in ("baseline", "mix_sum") for x in tuned(f"luong_{arm}-5000", *rates)]
    yield Statement(GANGI_PAGE, text, values)


SOURCES = (output_layers, echo_states, external_vectors)
