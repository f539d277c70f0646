"""Training by size of the vocabulary, on the page of the benchmarks."""

from collections.abc import Iterator

from tests.docs.figures.statement import Statement
from tests.docs.figures.training_speeds import (
    HUGE,
    LARGE,
    LAZY,
    LAZY_TRANSFORMER,
    LSTM,
    SIZES,
    TRANSFORMER,
    Measured,
    gpu,
    gpu_times,
    lazy_by_adam,
    samples_by_lazy,
)

BENCHMARKS = "benchmarks/README.md"


def lstm() -> Iterator[Statement]:
    """The section of benchmarks/README.md."""
    ratio = " {} ({}, {} to {}) |"
    for name, arm in (
        ("(clusters up to 10,000, 50,000 and 200,000 words), Adam", "adaptive"),
        ("| `luong_lstm`, `full_softmax`, Adam", "exact"),
        ("| `sampled_softmax`, 8,192 draws, Adam", "sampled_adam"),
        ("| the same, `lazy_adam`", "sampled"),
        ("| partitions of 15,000 words on both sides, reshuffled, Adam", "partitions"),
    ):
        yield Statement(BENCHMARKS, f"{name} |" + ratio * 3, LSTM.line(arm))
    stock = [LSTM.speed("stock", size) for size in SIZES]
    yield Statement(BENCHMARKS, "| stock `lstm`, Adam | {} | {} | {} |", stock)
    for name, arm in (
        ("stock", "stock"),
        ("stock with adaptive softmax", "adaptive"),
        ("`luong_lstm`, `full_softmax`", "exact"),
        ("sampled, Adam", "sampled_adam"),
        ("sampled, `lazy_adam`", "sampled"),
        ("partitions", "partitions"),
    ):
        peaks = [LSTM.peak(arm, size) for size in SIZES]
        yield Statement(BENCHMARKS, f"| {name} | {{}} | {{}} | {{}} |", peaks)
    text = (
        "with 500,000 words: samples {} ({} to {}) times as fast as the full softmax, `lazy_adam` "
        "{} ({} to {}) times as fast as Adam; relative to adaptive softmax, samples with "
        "`lazy_adam` are {} ({} to {}) and partitions {} ({} to {}) times as fast, with 100,000 "
        "words {} ({} to {}) and {} ({} to {}) times."
    )
    pairs = [("sampled_adam", "exact"), ("sampled", "sampled_adam")]
    values = [x for arm, of in pairs for x in LSTM.times(arm, of=of)]
    found = [(arm, size) for size in (HUGE, LARGE) for arm in ("sampled", "partitions")]
    values += [x for arm, size in found for x in LSTM.times(arm, size, "adaptive")]
    yield Statement(BENCHMARKS, text, values)
    text = (
        "adaptive softmax trains {} tokens/s with 500,000 words, {} ({} to {}) times as many as "
        "with Adam ({}), in {} GB instead of {}; samples, in the same run, {}, {} ({} to {}) times "
        "as many. A Transformer (below): {} with Adam, {} with `lazy_adam` ({}, {} to {}), {} "
        "instead of {} GB, and {} by samples ({}, {} to {})."
    )
    (lazy, other), (samples, others) = lazy_by_adam(), samples_by_lazy()
    arms, one, two = ("adaptive_lazy", "adaptive"), LAZY, LAZY_TRANSFORMER
    gigabytes = [[found.peak(arm) / 1000 for arm in arms] for found in (one, two)]
    values = [one.speed("adaptive_lazy"), *lazy, one.speed("adaptive"), *gigabytes[0]]
    values += [one.speed("sampled"), *samples, two.speed("adaptive"), two.speed("adaptive_lazy")]
    values += [*other, *gigabytes[1], two.speed("sampled"), *others]
    yield Statement(BENCHMARKS, text, values)
    sizes = [LSTM.rows[f"stock.V{size}"]["dictionaries_mb"] for size in (LARGE, HUGE)]
    text = "The dictionaries take {} MB of that with 100,000 words, {} MB with 500,000."
    yield Statement(BENCHMARKS, text, sizes)
    wide = Measured("large_vocabulary.d512").peak("partitions") / 1000
    yield Statement(BENCHMARKS, "with dropout) partitions train in {} GB", [wide])


def transformer() -> Iterator[Statement]:
    """The Transformers and the GPU of benchmarks/README.md."""
    for name, arm in (
        ("stock with adaptive softmax, Adam", "adaptive"),
        ("`transformer_outlayers`, `sampled_softmax`, 8,192 draws, `lazy_adam`", "sampled"),
        ("partitions of 15,000 words on both sides, reshuffled, Adam", "partitions"),
    ):
        values = []
        for size in (LARGE, HUGE):
            values += [*TRANSFORMER.line(arm, (size,)), TRANSFORMER.peak(arm, size)]
        text = f"| {name} |" + " {} ({}, {} to {}), {} MB |" * 2
        yield Statement(BENCHMARKS, text, values)
    cells = [
        x for size in (LARGE, HUGE)
        for x in (TRANSFORMER.speed("stock", size), TRANSFORMER.peak("stock", size))
    ]  # fmt: skip
    text = "| stock `transformer`, Adam | {}, {} MB | {}, {} MB |"
    yield Statement(BENCHMARKS, text, cells)
    text = (
        "samples are {} ({} to {}) times as fast with 500,000 words, {} ({} to {}) times with "
        "100,000, partitions {} ({} to {}) and {} ({} to {}) times."
    )
    pairs = [(arm, size) for arm in ("sampled", "partitions") for size in (HUGE, LARGE)]
    values = [x for arm, size in pairs for x in TRANSFORMER.times(arm, size, "adaptive")]
    yield Statement(BENCHMARKS, text, values)
    yield Statement(BENCHMARKS, "(Of the LSTMs' factors {} is our LSTM;", [LSTM.times("exact")[0]])
    speeds, memory = gpu("stock")
    text = "| fairseq's `lstm`, full softmax, Adam | {}, {} | 1 | {} GB |"
    yield Statement(BENCHMARKS, text, [*speeds, memory])
    for name, arm in (
        ("partitions of 15,000 words, Adam", "partitions"),
        ("8,192 sampled classes, `lazy_adam`", "sampled"),
    ):
        speeds, memory = gpu(arm)
        text = f"| {name} | {{}}, {{}} | {{}}, {{}} | {{}} GB |"
        yield Statement(BENCHMARKS, text, [*speeds, *gpu_times(arm), memory])


SOURCES = (lstm, transformer)
