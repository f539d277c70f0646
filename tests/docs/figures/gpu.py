"""Figures of one GPU: the page of the benchmarks, and the pages that repeat it."""

from collections.abc import Iterator

from tests.docs.figures.statement import RANGE, ROOT, Statement, median, rows, spread

PAGE, README, USING = "benchmarks/README.md", "README.md", "docs/using.md"
ARCHITECTURE, LARGE = "docs/architecture.md", "docs/large_vocabularies.md"
WITHOUT = "docs/without_fairseq.md"
SIZES = (32_000, 260_000)
Losses = dict[tuple[str, int], dict]


def losses(name: str) -> Losses:
    """Rows of the exact loss by arm and number of classes."""
    return rows(f"benchmarks/exact_loss.{name}.json", "arm", "classes")


def exact_loss() -> Iterator[Statement]:
    """The exact loss in float32 and bfloat16."""
    now, before, low = (losses(name) for name in ("gpu", "gpu_before", "gpu_bf16"))
    low_before = losses("gpu_bf16_before")
    compiled = "cut-cross-entropy, compiled"
    for found, name, arm, form in (
        (now, "ours", "ours", RANGE),
        (now, "fairseq's", "fairseq", "{}"),
        (before, f"{compiled} (before the kernel)", compiled, "{}"),
        (now, "ours, label smoothing", "ours, smoothed", "{}"),
        (now, "fairseq's, label smoothing", "fairseq, smoothed", "{}"),
        (low, "fairseq's", "fairseq", RANGE),
        (low, compiled, compiled, RANGE),
        (low, "cut-cross-entropy", "cut-cross-entropy", RANGE),
        (low, "ours, label smoothing", "ours, smoothed", RANGE),
        (low, "fairseq's, label smoothing", "fairseq, smoothed", RANGE),
    ):
        text = f"| {name} | {form} | {form} | {{}}, {{}} | {{}} |"
        yield Statement(PAGE, text, line(found, arm, form))
    for found, below in ((now, f"{compiled} (before"), (low, "ours, label smoothing")):
        text = f"| Liger Kernel | {RANGE} | {RANGE} | {{}}, {{}} | {{}} | | {below}"
        yield Statement(PAGE, text, line(found, "Liger Kernel", RANGE))
    text = f"| ours | {RANGE} | **{{}}** ({{}} to {{}}) | {{}}, {{}} | {{}} |"
    yield Statement(PAGE, text, line(low, "ours", RANGE))
    text = "| plain logits | 1 | 1 | {}, {} | {} |"
    yield Statement(PAGE, text, line(low, "plain", RANGE)[6:])
    times = {
        key: [median(found["ours", size]["ratios"]) for size in SIZES]
        for key, found in (("now", now), ("before", before), ("low", low), ("old", low_before))
    }
    text = "before, ours took {} and {} of the time of plain logits"
    yield Statement(PAGE, text, times["before"])
    text = "in bfloat16 {} and {}, `exact_loss.gpu_bf16_before.json`)"
    yield Statement(PAGE, text, times["old"])
    memory = [found["ours", 260_000]["megabytes"] for found in (now, before)]
    text = "The price is memory: with 260,000 classes {} MB instead of {}."
    yield Statement(PAGE, text, memory)
    text = (
        "took {} times as long as plain logits with 32,000 classes and {} times with 260,000, with "
        "the kernel {} and {} times."
    )
    yield Statement(ARCHITECTURE, text, [*times["old"], *times["low"]])
    text = (
        f"| time in float32 | {RANGE} | {RANGE} | | time in bfloat16 | {RANGE} | {RANGE} | "
        "| memory in float32 | {} instead of {} MB | {} instead of {} MB | | memory in bfloat16 "
        "| {} instead of {} MB | {} instead of {} MB |"
    )
    both = now, low
    values = [x for found in both for n in SIZES for x in spread(found["ours", n]["ratios"])]
    values += [
        found[arm, n]["megabytes"] for found in both for n in SIZES for arm in ("ours", "plain")
    ]
    yield Statement(WITHOUT, text, values)
    least, most = (now[arm, 260_000]["megabytes"] for arm in ("ours", "plain"))
    assert round(most / least) == 8, "README.md says an eighth"
    text = (
        "exact loss over 260,000 classes on an H200: {} times the time of plain logits with an "
        "eighth of their memory (float32; in bfloat16 {} times, but {} times over 32,000 classes)"
    )
    yield Statement(README, text, [times["now"][1], *reversed(times["low"])])


def line(found: Losses, arm: str, form: str) -> list[float]:
    """A row of a table: ratios, megabytes and the error with 32,000 classes."""
    ratios = [x for n in SIZES for x in spread(found[arm, n]["ratios"])[: form.count("{}")]]
    memory = [found[arm, size]["megabytes"] for size in SIZES]
    return [*ratios, *memory, found[arm, 32_000]["gradient_error"]]


def updates() -> Iterator[Statement]:
    """An update of the output side, and of whole models."""
    found = rows("benchmarks/growth.gpu.json", "kind", "varied", "point")
    time = {
        kind: [found[kind, "classes", n]["milliseconds"] for n in (30_000, 125_000, 500_000)]
        for kind in ("exact", "partition", "sampled")
    }
    for name, kind in (
        ("exact loss, Adam", "exact"),
        ("a partition of 8,192 classes, Adam (its softmax alone)", "partition"),
        ("8,192 sampled classes, `lazy_adam`", "sampled"),
    ):
        yield Statement(PAGE, f"| {name} | {{}} | {{}} | {{}} |", time[kind])
    slower = [a / b for a, b in zip(time["sampled"], time["exact"], strict=True)]
    text = "with 125,000 classes the exact loss is {} times as fast, with 30,000 {} times."
    yield Statement(PAGE, text, [slower[1], slower[0]])
    text = (
        "| `full_softmax` | {} | {} | {} | | a partition of 8,192 classes (without loading the "
        "next one) | {} | {} | {} | | `sampled_softmax` with 8,192 samples and `--optimizer "
        "lazy_adam` | {} | {} | {} |"
    )
    yield Statement(USING, text, [x for kind in time.values() for x in kind])
    found = rows("benchmarks/training_step.gpu.json", "output_layer", "share")
    speeds = [found["linear", share]["tokens_per_second"] for share in (1.0, 0.25)]
    text = "trains {} tokens/s with the full softmax and {} with 25% of the classes"
    yield Statement(PAGE, text, speeds)


def parts() -> Iterator[Statement]:
    """The sampled loss, row updates and subword-aware models."""
    found = rows("benchmarks/sampled_loss.gpu.json", "classes", "share")
    small, large = ([found[n, share] for share in (0.25, 0.05)] for n in (32_000, 128_000))
    text = (
        f"time relative to the exact loss: {RANGE} and {RANGE} at 25% and 5% of 32,000 classes, "
        f"{RANGE} and {RANGE} of 128,000."
    )
    yield Statement(PAGE, text, [x for row in small + large for x in spread(row["by_exact"])])
    text = f"it takes {RANGE} and {RANGE} of the time with 32,000, {RANGE} and {{}} with 128,000."
    values = [x for row in (*small, large[0]) for x in spread(row["by_plain"])]
    yield Statement(PAGE, text, [*values, median(large[1]["by_plain"])])
    found = rows("benchmarks/row_updates.gpu.json", "optimizer", "classes")
    text = f"takes {RANGE} of the time of `lazy_adam` with 30,000 classes, {RANGE} with 500,000."
    fused = [found["torch fused Adam", n]["time_by_lazy"] for n in (30_000, 500_000)]
    yield Statement(PAGE, text, [x for each in fused for x in spread(each)])
    found = rows("benchmarks/subword_lm.gpu.json", "comparison", "arm")
    arms = ("word", "MorphSum, all tied", "SylConcat, all tied")
    text = (
        f"relative to fairseq's `lstm_lm`: words {RANGE}, MorphSum {RANGE}, SylConcat {RANGE}. Of "
        f"the softmax alone, relative to a word softmax: MorphSum {RANGE}, SylConcat {RANGE}."
    )
    keys = [("training step of the model", arm) for arm in arms]
    keys += [("training step of the softmax", arm) for arm in arms[1:]]
    yield Statement(PAGE, text, [x for key in keys for x in spread(found[key]["ratios"])])


def precision() -> Iterator[Statement]:
    """Validation perplexities after 400 updates, by precision."""
    text = (ROOT / "results/benchmarks/precision.gpu.txt").read_text(encoding="utf-8")
    found: dict[str, dict[str, float]] = {}
    for row in (row.split(" | ") for row in text.splitlines() if row.startswith("--")):
        if not row[2].startswith("refused"):
            found.setdefault(row[0], {})[row[1]] = float(row[2])
    exact, joint, sampled, lazy, partition = found.values()
    text = "| `full_softmax` | {} | {} | {} | | `full_softmax`, `--output-layer joint` |"
    yield Statement(USING, text, list(exact.values()))
    for name, values in (
        ("`full_softmax`, `--output-layer joint`", joint),
        ("`sampled_softmax`, 1,000 samples", sampled),
    ):
        yield Statement(USING, f"| {name} | {{}} | {{}} | {{}} |", list(values.values()))
    for name, values in (
        ("the same with `lazy_adam`", lazy),
        ("`--partition-size 1500`", partition),
    ):
        yield Statement(USING, f"| {name} | {{}} | {{}} | refused |", list(values.values()))
    changes = [
        100 * abs(value / values["none"] - 1)
        for values in found.values()
        for name, value in values.items()
        if (values, name) != (sampled, "--fp16")
    ]
    assert max(changes) < 5
    text = "but for the sampled softmax with `--fp16` ({}% more; one seed each)"
    yield Statement(USING, text, [100 * (sampled["--fp16"] / sampled["none"] - 1)])
    text = "in float16 on a GPU (validation perplexity {}, in float32 {}:"
    yield Statement(LARGE, text, [partition["--amp"], partition["none"]])


SOURCES = (exact_loss, updates, parts, precision)
