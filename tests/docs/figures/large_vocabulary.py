"""Training by size of the vocabulary (benchmarks/large_vocabulary.py)."""

from collections.abc import Iterator

from fairseq_outlayers.samplers.log_uniform import LogUniformSampler
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
    """README.md."""
    arms = ("partitions", "sampled")
    stock, adaptive = (
        [model.times(arm, of=of)[0] for model in BOTH for arm in arms]
        for of in ("stock", "adaptive")
    )
    text = (
        "it trains {} to {} times as fast as fairseq with a full softmax and Adam, and {} to {} "
        "times as fast as with an adaptive softmax and Adam (medians)."
    )
    yield Statement(README, text, [min(stock), max(stock), min(adaptive), max(adaptive)])
    for name, arm, form in (
        ("fairseq, full softmax, Adam", "stock", "{}"),
        ("fairseq, adaptive softmax, Adam", "adaptive", "{}: {} times"),
        ("partitions of 15,000 words, Adam", "partitions", "{}: {} times ({} to {})"),
        ("8,192 sampled words, `lazy_adam`", "sampled", "**{}: {} times** ({} to {})"),
    ):
        cells = [[model.speed(arm), *model.times(arm)] for model in BOTH]
        values = [x for cell in cells for x in cell[: form.count("{}")]]
        yield Statement(README, f"{name} | {form} | {form} |", values)
    text = (
        "The LSTM's {} times break down into {} (our LSTM), {} (samples instead of a full softmax) "
        "and {} (`lazy_adam`); these are medians, so their product is not exactly {}."
    )
    samples = LSTM.times("sampled")[0]
    yield Statement(README, text, [samples, *factors(), samples])
    text = (
        "trains {} times (Transformer: {}) as fast as with Adam, and samples are {} times ({}) as "
        "fast as that"
    )
    yield Statement(README, text, [x[0] for x in (*lazy_by_adam(), *samples_by_lazy())])
    text = (
        "samples are {} times (Transformer: {}) and partitions {} times ({}) as fast as fairseq's"
    )
    large = [model.times(arm, LARGE)[0] for arm in ("sampled", "partitions") for model in BOTH]
    yield Statement(README, text, large)
    ends = [LSTM.speed(arm, size) for arm in ("stock", "adaptive") for size in (SMALL, HUGE)]
    text = (
        "fairseq's lstm falls from {} to {}, with an adaptive softmax from {} to {}; partitions "
        "stay near 1,400, sampled softmax falls from {} to {}."
    )
    yield Statement(README, text, [*ends, LSTM.speed("sampled", SMALL), LSTM.speed("sampled")])
    saved = 100 * (1 - LAZY.peak("adaptive_lazy") / LAZY.peak("adaptive"))
    text = "| {} times as fast (Transformer: {}), with {}% less memory (500,000 words, CPU) |"
    yield Statement(README, text, [*(found[0] for found in lazy_by_adam()), saved])
    shares = [100 * LSTM.rows[f"{arm}.V{HUGE}"]["classes_scored"] / HUGE for arm in arms]
    text = "the trainings at the top score only {}% (partitions) or {}% (samples) of the words"
    yield Statement(README, text, shares)
    yield Statement(PAGE, "8,192 samples score {}% of the words.", shares[1:])
    both = gpu_times("partitions") + gpu_times("sampled")
    text = "in float32, LSTMs train {} to {} times as fast as fairseq's with a full softmax"
    yield Statement(README, text, [min(both), max(both)])


def results() -> Iterator[Statement]:
    """The page of the results of Jean et al. (2015)."""
    text = (
        "[{} to {} times as fast](../../benchmarks/README.md) as fairseq's LSTM with a full "
        "softmax and Adam, {} to {} times as its Transformer"
    )
    times = [model.times(arm)[0] for model in BOTH for arm in ("partitions", "sampled")]
    yield Statement(RESULTS, text, times)


def distinct_share(num_classes: int, draws: float) -> float:
    """Percent of the classes that so many draws a class score, on average, without targets."""
    num_sampled = int(draws * num_classes)
    expected = LogUniformSampler(num_classes, num_sampled).log_expected_counts.exp()
    return 100 * (1 - (1 - expected / num_sampled) ** num_sampled).mean().item()


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
    text = "are [{} times](#speed) as fast as partitions (an LSTM; a Transformer {} times)"
    both = [model.times("sampled", of="partitions")[0] for model in BOTH]
    yield Statement(PAGE, text, both)
    text = "Of 2,000 to 20,000 words `log_uniform` then scores {} to {}%."
    yield Statement(PAGE, text, [distinct_share(size, 0.25) for size in (20_000, 2_000)])
    text = "({} to {} times fairseq's LSTM by partitions, {} to {} by samples; [two rounds]"
    both = [*sorted(gpu_times("partitions")), *sorted(gpu_times("sampled"))]
    yield Statement(PAGE, text, both)
    text = "`adaptive_loss`, is {} to {} times as fast as Adam with 500,000 words ([speed]"
    yield Statement(PAGE, text, sorted(found[0] for found in lazy_by_adam()))
    text = (
        "With 500,000 words partitions train at {} times ({} to {}) and samples at {} times ({} to "
        "{}) the speed of fairseq's `lstm`, {} ({} to {}) and {} times ({} to {}) that of its "
        "adaptive softmax. Factors of the {} (medians): our LSTM {}, samples {}, `lazy_adam` {}."
    )
    arms = ("partitions", "sampled")
    times = [x for of in ("stock", "adaptive") for arm in arms for x in LSTM.times(arm, of=of)]
    yield Statement(PAGE, text, [*times, LSTM.times("sampled")[0], *factors()])
    text = (
        "Partitions train at {} times ({} to {}) and samples at {} times ({} to {}) the speed of "
        "our own full softmax."
    )
    yield Statement(PAGE, text, [x for arm in arms for x in LSTM.times(arm, of="exact")])
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


SOURCES = (readme, results, page)
