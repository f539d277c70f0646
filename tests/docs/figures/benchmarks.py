"""Single parts on a CPU: the page of the benchmarks, and the pages that repeat it."""

from collections.abc import Iterator, Sequence

from tests.docs.figures.statement import RANGE, Statement, median, rows, spread

PAGE = "benchmarks/README.md"


def growth() -> Iterator[Statement]:
    """Cost of an update by the number of classes."""
    found = rows("benchmarks/growth.json", "kind", "varied", "point")
    turns = rows("benchmarks/growth.json", "arm", part="turns")

    def cells(kind: str, sizes: Sequence[int] = (30_000, 125_000, 2_000_000)) -> list[float]:
        """Milliseconds, the ends of their range, and at the end the exponent."""
        values: list[float] = []
        for size in sizes:
            seconds = turns[str((kind, size))]["seconds"]
            values += [1000 * x for x in spread(seconds)]
        return [*values, found[kind, "classes", 30_000]["exponent"]]

    row = "| {} ms ({} to {}) | {} ms ({} to {}) | {} ms ({} to {}) | {} |"
    text = "| exact loss, Adam | {} ms ({} to {}) | {} ms ({} to {}) | | {} (two sizes) |"
    yield Statement(PAGE, text, cells("exact", (30_000, 125_000)))
    for name, kind in (
        ("| a partition of 8,192 classes, loaded out of a table of all, Adam ", "partition"),
        ("| a change of partition ", "change"),
        ("| 8,192 sampled classes, `lazy_adam` ", "sampled"),
    ):
        yield Statement(PAGE, name + row, cells(kind))
    text = (
        "Samples are {} ({} to {}) times as fast as the exact loss with 30,000 classes, {} ({} to "
        "{}) times with 125,000."
    )
    times = [found["sampled", "classes", size]["speed_by_exact"] for size in (30_000, 125_000)]
    yield Statement(PAGE, text, [x for each in times for x in spread(each)])


def row_updates() -> Iterator[Statement]:
    """An update of sampled classes by several optimizers."""
    found = rows("benchmarks/row_updates.json", "optimizer", "classes")
    fused, fairseq = "torch fused Adam", "fairseq Adam"
    growing = [found[name, 500_000]["time_by_fewest"] for name in ("lazy_adam", "torch SparseAdam")]
    by_adam = [median(found[name, 500_000]["time_by_fewest"]) for name in (fused, fairseq)]
    values = [*(x for each in growing for x in spread(each)), *by_adam]
    yield Statement(PAGE, f"|---|---|---|---| | {RANGE} | {RANGE} | {{}} | {{}} |", values)
    text = (
        "At 500,000 the last two take {} and {} times as long as `lazy_adam`; at 30,000 fused Adam "
        "is faster ({} of the time)."
    )
    places = [(fused, 500_000), (fairseq, 500_000), (fused, 30_000)]
    yield Statement(PAGE, text, [median(found[place]["time_by_lazy"]) for place in places])


def tensorflow() -> Iterator[Statement]:
    """Sampled softmax and update beside TensorFlow."""
    for file, name, many in (
        ("output_side", "Xeon, 512", 500_000),
        ("output_side.epyc", "EPYC, 512", 500_000),
        ("output_side.epyc.d256", "EPYC, 256", 1_000_000),
    ):
        found = rows(f"benchmarks/{file}.json", "arm", "classes")

        def cells(classes: int, found: dict = found) -> list[float]:
            arms = ("TensorFlow, adam", "TensorFlow, sgd")
            return [x for arm in arms for x in spread(found[arm, classes]["ours_by_it"])]

        words = "1 million" if many == 1_000_000 else f"{many:,}"
        text = f"| {name} | 50,000 | {RANGE} | {RANGE} | | | {words} | {RANGE} | {RANGE} |"
        yield Statement(PAGE, text, cells(50_000) + cells(many))
    ours, theirs = (found[arm, many]["time_by_fewest"] for arm in ("lazy_adam", "TensorFlow, adam"))
    text = f"the time of `lazy_adam` grows {RANGE} times, that of TensorFlow's Adam {RANGE} times."
    yield Statement(PAGE, text, [*spread(ours), *spread(theirs)])


def exact_loss() -> Iterator[Statement]:
    """Time and memory of the exact loss."""
    found = rows("benchmarks/exact_loss.json", "arm", "classes")
    sizes = (8_000, 32_000, 260_000)
    for name, arm, forms in (
        ("ours", "ours", (RANGE, RANGE, RANGE)),
        ("fairseq's", "fairseq", ("{}", "{}", "{}")),
        (
            "`linear_cross_entropy` of PyTorch, not chunked (its default)",
            "PyTorch, not chunked",
            ("{}", "{}", "{}"),
        ),
        ("the same, chunked", "PyTorch, chunked", (RANGE, RANGE, RANGE)),
        (
            "cut-cross-entropy (compiled, without bias)",
            "cut-cross-entropy, compiled",
            ("{}", RANGE, RANGE),
        ),
        ("ours, label smoothing", "ours, smoothed", ("{}", "{}", RANGE)),
        ("fairseq's, label smoothing", "fairseq, smoothed", ("{}", "{}", "{}")),
    ):
        values: list[float] = []
        for size, form in zip(sizes, forms, strict=True):
            values += spread(found[arm, size]["ratios"])[: form.count("{}")]
        values += [found[arm, size]["megabytes"] for size in sizes]
        yield Statement(PAGE, f"| {name} | {' | '.join(forms)} | {{}}, {{}}, {{}} |", values)
    ratios = [
        row["megabytes"] / row["least_megabytes"] for row in (found["ours", n] for n in sizes)
    ]
    text = "Our memory is {} to {} times that of the gradients alone."
    yield Statement(PAGE, text, [min(ratios), max(ratios)])
    errors = {
        arm: max(row["gradient_error"] or 0 for (name, _), row in found.items() if name == arm)
        for arm, _ in found
    }
    text = "ours {}, the others {}; with label smoothing ours {}, fairseq's {}."
    others = max(errors[arm] for arm in errors if arm != "ours" and "smoothed" not in arm)
    values = [errors["ours"], others, errors["ours, smoothed"], errors["fairseq, smoothed"]]
    yield Statement(PAGE, text, values)
    found = rows("benchmarks/roofline.json", "path")
    text = (
        f"exact loss over 32,000 classes {RANGE}; sampled loss over 8,192 {RANGE}, with the update "
        f"of `lazy_adam` {RANGE}."
    )
    paths = ("exact", "sampled", "sampled, updated")
    yield Statement(PAGE, text, [x for path in paths for x in spread(found[path]["shares"])])


def sampled_loss() -> Iterator[Statement]:
    """Time of the sampled loss by share of the classes."""
    by_plain = []
    for classes, file in ((32_000, "sampled_loss.V32000"), (128_000, "sampled_loss.V128000")):
        found = rows(f"benchmarks/{file}.json", "share")
        values = [x for share in (0.5, 0.25) for x in spread(found[share]["by_exact"])]
        text = f"| V = {classes:,} | {RANGE} | {RANGE} | {{}} |"
        yield Statement(PAGE, text, [*values, median(found[0.05]["by_exact"])])
        by_plain += [row["by_plain"] for row in found.values()]
    medians, all_rounds = [median(each) for each in by_plain], [x for y in by_plain for x in y]
    text = "{} to {} of the time (medians; ranges from {} to {})"
    ends = [min(medians), max(medians), min(all_rounds), max(all_rounds)]
    yield Statement(PAGE, text, ends)


def output_layers() -> Iterator[Statement]:
    """Speed of `joint` relative to `linear`."""
    small = rows("benchmarks/training_step.V32000.json", "output_layer", "share")
    large = rows("benchmarks/training_step.V128000.json", "output_layer", "share")
    all_classes = spread(small["joint", 1.0]["speed_by_first"])
    yield Statement(PAGE, f"| 32,000 | {RANGE} | | | |", all_classes)
    by_share = [spread(large["joint", share]["speed_by_first"]) for share in (0.5, 0.25, 0.05)]
    text = f"| 128,000 | | {RANGE} | {RANGE} | {RANGE} |"
    yield Statement(PAGE, text, [x for each in by_share for x in each])
    choosing = "docs/choosing_a_layer.md"
    yield Statement(choosing, f"| 32,000 | all | {RANGE} |", all_classes)
    for share, values in zip((50, 25, 5), by_share, strict=True):
        yield Statement(choosing, f"| 128,000 | {share}% | {RANGE} |", values)


SOURCES = (growth, row_updates, tensorflow, exact_loss, sampled_loss, output_layers)
