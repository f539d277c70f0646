"""External word vectors: quality and size."""

from collections.abc import Iterator

from tests.docs.figures.results import Change, Results
from tests.docs.figures.statement import PERCENT, Statement

README, PAGE = "README.md", "docs/external_vectors.md"
RESULTS, DETAILS = "results/digangi2017/README.md", "results/digangi2017/details.md"

GANGI = Results("digangi2017", "report")


def change(arm: str, size: int, text: str = "captions", luong: str = "") -> Change:
    """Percent of validation perplexity from the model's own vectors."""
    return GANGI.change(f"{luong}{arm}.{size}.{text}", f"{luong}baseline.{size}", "valid")


def loops(arm: str, seeds: tuple[int, ...] = (1, 2, 3)) -> list[float]:
    """Percent of the translations that loop, in ascending order of seeds' figures."""
    sentences = 1_000
    return sorted(100 * GANGI.seed(arm, n, "loops") / sentences for n in seeds)


def ends(values: list[float]) -> list[float]:
    """The smallest and the largest."""
    return [values[0], values[-1]]


def fewer(size: int) -> float:
    """Percent of the parameters that are not trained with external vectors alone."""
    return GANGI.fewer_parameters(f"only_external.{size}.captions", f"baseline.{size}")


def looping() -> list[float]:
    """Ends over three seeds without, with both and with external vectors alone; three more."""
    own, both, alone = "baseline.1000", "mix_sum.1000.captions", "only_external.1000.captions"
    values = [x for arm in (own, both, alone) for x in ends(loops(arm))]
    return [*values, *loops(own, (4, 5, 6)), *loops(both, (4, 5, 6))]


def readme() -> Iterator[Statement]:
    """README.md."""
    text = (
        f"validation perplexity {PERCENT} with 1,000 pairs, {PERCENT} with 10,000; no gain in BLEU"
    )
    yield Statement(README, text, [*change("mix_sum", 1_000), *change("mix_sum", 10_000)])


def page() -> Iterator[Statement]:
    """docs/external_vectors.md."""
    kinds = (("mix_sum", "captions"), ("only_external", "captions"), ("mix_sum", "ptb"))
    sum_, alone, ptb = (
        {size: change(arm, size, text) for size in (1_000, 5_000, 10_000)} for arm, text in kinds
    )
    for size, form in (
        (
            1_000,
            f"| {PERCENT} (six seeds) | {PERCENT}, {{}}% fewer trained parameters | {PERCENT} |",
        ),
        (
            5_000,
            f"| {PERCENT}, not proven (six seeds) | {PERCENT}, {{}}% fewer | {PERCENT}, not "
            "proven |",
        ),
        (
            10_000,
            f"| {PERCENT} | {PERCENT}, {{}}% fewer, untuned | {PERCENT}, not proven |",
        ),
    ):
        values = [*sum_[size], *alone[size], fewer(size), *ptb[size]]
        yield Statement(PAGE, f"| {size:,} {form}", values)
    text = f"| 29,000 | {PERCENT}, not proven | not proven (two seeds) | not run |"
    yield Statement(PAGE, text, change("mix_sum", 29_000))
    text = (
        "on the same three seeds {} to {}% without external vectors, {} to {}% with `mix_sum` and "
        "{} to {}% with `only_external`, whose BLEU is no higher (three more seeds: {}, {} and {}% "
        "without, {}, {} and {}% with `mix_sum`)."
    )
    yield Statement(PAGE, text, looping())
    text = f"vectors from captions have {PERCENT} with 1,000 pairs (by paired seeds); with 5,000"
    small, large = (change("mix_sum", size, luong="luong_") for size in (1_000, 5_000))
    yield Statement(PAGE, text, small)
    yield Statement(PAGE, f"a gain is not proven ({PERCENT})", large)


def results() -> Iterator[Statement]:
    """The page of the results and its details, as far as they are written by hand."""
    text = (
        "by {}% with 1,000 pairs and {}% with 10,000 (with 5,000, by {}%, that is not proven), "
        "instead of them (`only_external`) by {}%, {} and {}%"
    )
    sizes = (1_000, 10_000, 5_000)
    values = [-change("mix_sum", size)[0] for size in sizes]
    values += [-change("only_external", size)[0] for size in sorted(sizes)]
    yield Statement(RESULTS, text, values)
    text = (
        "{} to {}% without external vectors, {} to {}% with `mix_sum`, {} to {}% with "
        "`only_external` (three more seeds: {}, {} and {}% without, {}, {} and {}% with "
        "`mix_sum`), {} to {}% with `mix_gate`."
    )
    yield Statement(RESULTS, text, [*looping(), *ends(loops("mix_gate.1000.captions"))])
    text = (
        "`mix_sum`: {}% with 1,000 pairs, {}% with 10,000; with 5,000 ({}%, six seeds as with "
        "1,000; [{}, {}] if it were the first look) and with 29,000 ({}%) that is not proven."
    )
    first = GANGI.above("mix_sum.5000.captions", "baseline.5000")[1:]
    values = [change("mix_sum", size)[0] for size in sizes]
    yield Statement(DETAILS, text, [*values, *first, change("mix_sum", 29_000)[0]])
    text = (
        f"(`only_external`): {PERCENT} with 1,000 pairs, {PERCENT} with 5,000 and {PERCENT} with "
        "10,000 (the last at an untuned rate, both weak evidence), with {}, {} and {}% fewer "
        "trained parameters"
    )
    values = [x for size in sorted(sizes) for x in change("only_external", size)]
    yield Statement(DETAILS, text, [*values, *(fewer(size) for size in sorted(sizes))])
    alone, both = "only_external.1000.captions", "mix_sum.1000.captions"
    text = f"With 1,000 pairs they are better than `mix_sum` as well ({PERCENT})."
    yield Statement(DETAILS, text, GANGI.change(alone, both, "valid"))
    text = (
        f"`mix_sum`: {PERCENT} with 1,000 pairs; with 5,000 ({PERCENT}) and 10,000 ({PERCENT}) "
        "nothing is proven."
    )
    values = [x for size in sorted(sizes) for x in change("mix_sum", size, "ptb")]
    yield Statement(DETAILS, text, values)
    text = (
        f"`mix_sum`: {PERCENT} with 1,000 pairs and {PERCENT} with 10,000 (the latter by paired "
        "seeds; 5,000: undecided). In "
        "BLEU they have {} to {} more at each size"
    )
    values = [
        x
        for size in (1_000, 10_000)
        for x in GANGI.change(f"mix_sum.{size}.ptb", f"mix_sum.{size}.captions", "valid")
    ]
    form = "BLEU(mix_sum.{0}.captions) ≥ BLEU(mix_sum.{0}.ptb)".format
    gains = sorted(-GANGI.claimed(form(size))[0] for size in sizes)
    yield Statement(DETAILS, text, [*values, *ends(gains)])
    text = (
        f"`luong_lstm` with 1,000 pairs has {PERCENT} with `mix_sum` (by paired seeds). With 5,000 "
        "it is not proven "
        f"({PERCENT}; {{}}, {{}} and {{}} without, {{}}, {{}} and {{}} with external vectors)."
    )
    values = [x for size in (1_000, 5_000) for x in change("mix_sum", size, luong="luong_")]
    for arm in ("luong_baseline.5000", "luong_mix_sum.5000.captions"):
        values += [GANGI.seed(arm, n, "best_valid_ppl") for n in (1, 2, 3)]
    yield Statement(DETAILS, text, values)


SOURCES = (readme, page, results)
