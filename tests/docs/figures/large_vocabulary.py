"""Training by size of the vocabulary (benchmarks/large_vocabulary.py)."""

from collections.abc import Iterator

from tests.docs.figures.statement import Statement
from tests.docs.figures.training_speeds import (
    BOTH,
    HUGE,
    LARGE,
    LAZY,
    LSTM,
    SIZES,
    SMALL,
    TRANSFORMER,
    factors,
    gpu_times,
    lazy_by_adam,
    samples_by_lazy,
)

README, PAGE = "README.md", "docs/large_vocabularies.md"
RESULTS = "results/jean2015/README.md"


def readme() -> Iterator[Statement]:
    """README.md, without its table of results."""
    for name, arm, form in (
        ("fairseq, full softmax, Adam", "stock", "{}"),
        ("fairseq, adaptive softmax, Adam", "adaptive", "{} ({} times)"),
        ("this package, partitions of 15,000 words, Adam", "partitions", "{} ({} times)"),
        ("this package, 8,192 sampled words, `lazy_adam`", "sampled", "**{} ({} times)**"),
    ):
        cells = [[model.speed(arm), model.times(arm)[0]] for model in BOTH]
        values = [x for cell in cells for x in cell[: form.count("{}")]]
        yield Statement(README, f"| {name} | {form} | {form} |", values)
    text = (
        "The LSTM's {} have three factors (medians): our LSTM {}, samples instead of a full "
        "softmax {}, and `lazy_adam` {}, because"
    )
    yield Statement(README, text, [LSTM.times("sampled")[0], *factors()])
    text = (
        "trains {} times (Transformer: {}) as fast with `lazy_adam` as with Adam; samples are {} "
        "times ({}) as fast as that"
    )
    yield Statement(README, text, [x[0] for x in (*lazy_by_adam(), *samples_by_lazy())])
    ends = [LSTM.speed(arm, size) for arm in ("stock", "adaptive") for size in (SMALL, HUGE)]
    text = (
        "fairseq's lstm falls from {} to {}, with an adaptive softmax from {} to {}; partitions "
        "stay near 1,400, sampled softmax falls from {} to {}."
    )
    yield Statement(README, text, [*ends, LSTM.speed("sampled", SMALL), LSTM.speed("sampled")])
    times = [x for size in (HUGE, LARGE) for model in BOTH for x in model.times("sampled", size)]
    text = (
        "500,000 words: {} times ({} to {}) as fast as fairseq's LSTM, {} times ({} to {}) as its "
        "Transformer; 100,000: {} ({} to {}) and {} times ({} to {})"
    )
    yield Statement(README, text, times)
    times = [x for size in (HUGE, LARGE) for model in BOTH for x in model.times("partitions", size)]
    text = (
        "500,000 words: {} times ({} to {}), Transformer {} times ({} to {}), on a GPU {} to {} "
        "times (LSTM, without `--reshuffle-partitions`); 100,000: {} ({} to {}) and {} times ({} "
        "to {})"
    )
    yield Statement(README, text, [*times[:6], *sorted(gpu_times("partitions")), *times[6:]])
    saved = 100 * (1 - LAZY.peak("adaptive_lazy") / LAZY.peak("adaptive"))
    text = (
        "500,000 words, CPU: {} times ({} to {}) as fast as with Adam, Transformer {} times ({} to "
        "{}), with {}% less memory"
    )
    yield Statement(README, text, [x for y in lazy_by_adam() for x in y] + [saved])
    shares = [
        100 * LSTM.rows[f"{arm}.V{HUGE}"]["classes_scored"] / HUGE
        for arm in ("partitions", "sampled")
    ]
    text = "the options above score only {}% (partitions) or {}% (samples) of the words"
    yield Statement(README, text, shares)
    yield Statement(PAGE, "8,192 samples score {}% of the words;", shares[1:])
    both = gpu_times("partitions") + gpu_times("sampled")
    text = "On one H200, in float32, LSTMs train {} to {} times as fast as fairseq's"
    yield Statement(README, text, [min(both), max(both)])


def readme_results() -> Iterator[Statement]:
    """The row of README.md's table of results, and the page of results that repeats it."""
    partitions, samples = LSTM.times("partitions")[0], LSTM.times("sampled")[0]
    by_ours = [LSTM.times(arm, of="exact")[0] for arm in ("partitions", "sampled")]
    adaptive = [LSTM.times(arm, of="adaptive")[0] for arm in ("partitions", "sampled")]
    lazy, lazy_transformer = (found[0] for found in samples_by_lazy())
    text = (
        "LSTM: partitions train {} and samples {} times as fast as fairseq's full softmax ({} and "
        "{} times as ours), {} and {} times as its adaptive softmax (samples {} times, if that has"
    )
    yield Statement(README, text, [partitions, samples, *by_ours, *adaptive, lazy])
    ours = [TRANSFORMER.times(arm)[0] for arm in ("partitions", "sampled")]
    by_adaptive = [TRANSFORMER.times(arm, of="adaptive")[0] for arm in ("partitions", "sampled")]
    text = (
        "Transformer: {} and {} times as fast as its full softmax, {} and {} times as its adaptive "
        "softmax (samples {} times, if that has"
    )
    yield Statement(README, text, [*ours, *by_adaptive, lazy_transformer])
    text = (
        "[{} to {} times as fast](../../benchmarks/README.md) as fairseq's LSTM with a full "
        "softmax and Adam, {} to {} times as its Transformer"
    )
    yield Statement(RESULTS, text, [partitions, samples, *ours])


def page() -> Iterator[Statement]:
    """docs/large_vocabularies.md."""
    text = "With 500,000 words on each side the full softmax takes about {}% of an update's time"
    saved = 1 - 1 / LSTM.times("sampled_adam", of="exact")[0]
    yield Statement(PAGE, text, [10 * round(10 * saved)])
    for name, arm in (
        ("fairseq's `lstm`, `cross_entropy`, Adam", "stock"),
        ("fairseq's `lstm`, adaptive softmax, Adam", "adaptive"),
        ("`luong_lstm`, full softmax, Adam", "exact"),
        ("8,192 samples, Adam", "sampled_adam"),
        ("8,192 samples, `lazy_adam`", "sampled"),
        ("partitions of 15,000 words on both sides, reshuffled, Adam", "partitions"),
    ):
        cells = [x for size in SIZES for x in (LSTM.speed(arm, size), LSTM.peak(arm, size) / 1000)]
        yield Statement(PAGE, f"| {name} |" + " {} ({} GB) |" * 3, cells)
    text = "and is the faster one ([{} times](#speed) with 500,000 words"
    yield Statement(PAGE, text, [LSTM.times("sampled", of="partitions")[0]])
    text = "({} to {} times fairseq's LSTM by partitions, {} to {} by samples; [two rounds]"
    both = [*sorted(gpu_times("partitions")), *sorted(gpu_times("sampled"))]
    yield Statement(PAGE, text, both)
    text = "and `adaptive_loss`, is {} to {} times as fast with 500,000 words ([speed](#speed))"
    yield Statement(PAGE, text, sorted(found[0] for found in lazy_by_adam()))
    text = (
        "With 500,000 words partitions train at {} times ({} to {}) and samples at {} times ({} to "
        "{}) the speed of fairseq's `lstm`, {} ({} to {}) and {} times ({} to {}) that of its "
        "adaptive softmax. Factors of the {} (medians): our LSTM {}, samples {}, `lazy_adam` {}."
    )
    arms = ("partitions", "sampled")
    times = [x for of in ("stock", "adaptive") for arm in arms for x in LSTM.times(arm, of=of)]
    yield Statement(PAGE, text, [*times, LSTM.times("sampled")[0], *factors()])
    text = "the more words there are ({} of 500,000, {} of 30,000)"
    distinct = [LSTM.rows[f"sampled.V{size}"]["classes_scored"] for size in (HUGE, SMALL)]
    yield Statement(PAGE, text, distinct)
    text = (
        "trains {} times ({} to {}) as fast as with Adam (a Transformer {} times, {} to {}; "
        "500,000 words), the same loss with another optimizer, and samples {} ({} to {}) and {} "
        "times ({} to {}) as fast as that"
    )
    yield Statement(PAGE, text, [x for y in (*lazy_by_adam(), *samples_by_lazy()) for x in y])
    text = (
        "with 500,000 words fairseq's `transformer` trains {} tokens/s, with its adaptive softmax "
        "{} ({} times); ours {} by samples with `lazy_adam` ({} times, {} to {}) and {} by "
        "partitions ({} times, {} to {}). With 100,000 words they are {} ({} to {}) and {} ({} to "
        "{}) times as fast"
    )
    found = TRANSFORMER
    values = [found.speed("stock"), found.speed("adaptive"), found.times("adaptive")[0]]
    values += [x for arm in ("sampled", "partitions") for x in found.line(arm, (HUGE,))]
    values += [x for arm in ("sampled", "partitions") for x in found.times(arm, LARGE)]
    yield Statement(PAGE, text, values)


SOURCES = (readme, readme_results, page)
