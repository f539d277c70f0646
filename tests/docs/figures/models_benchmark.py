"""Whole models and commands on a CPU: the page of the benchmarks, and pages that repeat it."""

import importlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.docs.figures.statement import RANGE, ROOT, Statement, median, rows, spread

PAGE, README, DECODING = "benchmarks/README.md", "README.md", "docs/decoding.md"


def candidates() -> Iterator[Statement]:
    """Decoding of 500,000 words."""
    found = rows("benchmarks/candidate_decoding.V500000.json", "decoded_over")
    names = ("all words", *(f"candidates by {scope}" for scope in ("sentence", "batch", "common")))
    values = [x for name in names for x in spread(found[name]["speed_by_small"])]
    yield Statement(PAGE, f"|---|---|---|---| | {' | '.join([RANGE] * 4)} |", values)


def decoding() -> Iterator[Statement]:
    """Decoding of a trained Transformer."""
    found = rows("benchmarks/decoding.json", "decoded_over", "batch")
    exact, candidates = "all words", "candidates, K = 2000"
    arms = (exact, "all words, 8-bit integers", candidates, "CTranslate2")
    speeds = {arm: [found[arm, n]["sentences_per_second"] for n in (1, 64)] for arm in arms}
    times = {arm: [spread(found[arm, n]["speed_by_exact"]) for n in (1, 64)] for arm in arms}
    other = {arm: found[arm, 64]["other_translations"] for arm in arms}
    assert other == {arm: found[arm, 1]["other_translations"] for arm in arms}
    yield Statement(PAGE, "| all words | {} | {} | |", speeds[exact])
    yield Statement(DECODING, "| all words | {} | {} | |", speeds[exact][::-1])
    for name, arm, short in (
        ("8-bit integers", "all words, 8-bit integers", "8-bit integers"),
        ("candidates (K = 2,000, K' = 10)", candidates, "candidate lists"),
        (
            "CTranslate2 4.8.5, float32, all words",
            "CTranslate2",
            "[exported to CTranslate2](export.md#ctranslate2), float32, all words",
        ),
    ):
        pairs = zip(speeds[arm], times[arm], strict=True)
        values = [x for speed, ratios in pairs for x in (speed, *ratios)]
        text = f"| {name} | {{}} ({{}}, {{}} to {{}}) | {{}} ({{}}, {{}} to {{}}) | {{}} |"
        yield Statement(PAGE, text, [*values, other[arm]])
        text = f"| {short} | {{}} | {{}} | {{}} |"
        yield Statement(DECODING, text, [*speeds[arm][::-1], other[arm]])
    text = "One by one the export is {} times as fast"
    yield Statement(DECODING, text, [times["CTranslate2"][0][0]])
    text = (
        "with 19,219 words, CPU: in batches of 64, {} times as fast as our search over all words, "
        "one by one {} times ([exported to CTranslate2](docs/export.md), which searches all words: "
        "{} and {} times); {} of {} translations differ (CTranslate2: {})"
    )
    values = [times[arm][batch][0] for arm in (candidates, "CTranslate2") for batch in (1, 0)]
    values += [other[candidates], found[candidates, 64]["sentences"], other["CTranslate2"]]
    yield Statement(README, text, values)


def independence() -> Iterator[Statement]:
    """Sentences decoded in one batch and one by one."""
    found = rows("benchmarks/batch_independence.json", "arm")
    arms = ("all words", "candidates", "candidates, batch", "CTranslate2", "CTranslate2, vmap")
    ours, lists, batch, theirs, restricted = (found[arm]["equal"] for arm in arms)
    text = (
        "ours {} over all words, {} over the candidates of each sentence, {} over those of the "
        "batch (`--candidate-scope batch`); CTranslate2 4.8.5 {}, with the lists as `vmap.txt` {}."
    )
    yield Statement(PAGE, text, [ours, lists, batch, theirs, restricted])
    text = "all {} translations are equal; with `--candidate-scope batch`, {}."
    yield Statement(DECODING, text, [ours, batch])
    text = "With CTranslate2 {} are equal over all words, and {} with a vocabulary map"
    yield Statement(DECODING, text, [theirs, restricted])


def operations(size: str) -> dict[str, float]:
    """Operations of a softmax relative to that of words, which the benchmark prints."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        benchmark = importlib.import_module("subword_lm")
        with tempfile.TemporaryDirectory() as folder:
            dictionary = benchmark.make_dictionary(Path(folder), 10_000)
            needed = {
                name: benchmark.arithmetic(
                    benchmark.make_ours(dictionary, *arm, size), benchmark.ROWS * benchmark.WINDOW
                )
                for name, arm in benchmark.ARMS.items()
            }
    finally:
        sys.path.pop(0)
        for name in ("subword_lm", "turns"):
            sys.modules.pop(name, None)
    return {name: number / needed["word"] for name, number in needed.items()}


def subwords() -> Iterator[Statement]:
    """Language models that compose words."""
    evaluation = []
    for units, size in ((200, "small"), (650, "medium")):
        found = rows(f"benchmarks/subword_lm_{size}.json", "comparison", "arm")
        arms = ("word", "MorphSum, all tied", "SylConcat, all tied")
        needed, values = operations(size), []
        for arm in arms[1:]:
            values += spread(found["training step of the softmax", arm]["ratios"])
            values.append(needed[arm])
        text = f"| softmax, {units} units | 1 |" + " {}, {} to {} ({}) |" * 2
        yield Statement(PAGE, text, values)
        model = [found["training step of the model", arm]["ratios"] for arm in arms]
        text = f"| model, {units} units |" + " {}, {} to {} |" * 3
        yield Statement(PAGE, text, [x for each in model for x in spread(each)])
        evaluation += [
            row["ratios"]
            for (comparison, arm), row in found.items()
            if comparison == "a batch at evaluation" and arm != "word"
        ]
    medians = [median(each) for each in evaluation]
    text = "Evaluation: {} to {} (medians)."
    yield Statement(PAGE, text, [min(medians), max(medians)])
    found = rows("benchmarks/character_windows.json", "words")
    everything, batch = (spread(row["ratios"]) for row in found.values())
    text = (
        f"on two threads: {RANGE} of the time for the 7,692 words of a vocabulary, {RANGE} for 350 "
        "words of a batch."
    )
    yield Statement(PAGE, text, [*everything, *batch])


def echo_states() -> Iterator[Statement]:
    """Training steps of echo states."""
    found = rows("benchmarks/echo_state.json", "arm")
    clock = {arm: spread(row["clock_ratios"]) for arm, row in found.items()}
    processor = {arm: spread(row["processor_ratios"]) for arm, row in found.items()}
    kept = {arm: row["kept_megabytes"] for arm, row in found.items()}
    text = "| `esnmt` | {}, {} to {} ({}, {} to {}) | {} |"
    yield Statement(PAGE, text, [*clock["esnmt"], *processor["esnmt"], kept["esnmt"]])
    lstm = "esnmt_lstm"
    text = "| `esnmt_lstm` | {}, {} to {} ({}) | {} |"
    yield Statement(PAGE, text, [*clock[lstm], processor[lstm][0], kept[lstm]])
    for name, arm in (
        ("the same architecture with `torch.nn.LSTM`", "plain LSTM"),
        ("fairseq's `lstm`", "fairseq lstm"),
    ):
        text = f"| {name} | {{}} ({{}}) | {{}} |"
        yield Statement(PAGE, text, [clock[arm][0], processor[arm][0], kept[arm]])
    yield Statement(PAGE, "| `rnmt_plus` | 1 | {} |", [kept["rnmt_plus"]])
    text = (
        "`esnmt_lstm` keeps {} MB, one of `rnmt_plus` {} and one of plain `torch.nn.LSTM` layers {}"
    )
    values = [kept[arm] for arm in (lstm, "rnmt_plus", "plain LSTM")]
    yield Statement("docs/architecture.md", text, values)


def starting() -> Iterator[Statement]:
    """Starting a process, reading a checkpoint or a table."""
    found = rows("benchmarks/start_up.json", "arm")
    text = (
        "PyTorch {}; fairseq {}, this package with it {}; the losses without fairseq {}; help of a "
        "command {} |"
    )
    yield Statement(PAGE, text, [median(row["processor_seconds"]) for row in found.values()])
    (check,) = rows("benchmarks/checkpoint_checksums.json", "check_seconds_per_gb").values()
    turns = rows("benchmarks/checkpoint_checksums.json", "arm", part="turns")
    seconds = median(turns["check"]["processor_seconds"])
    text = f"{{}} CPU seconds, {RANGE} of the time that loading takes"
    yield Statement(PAGE, text, [seconds, *spread(check["check_by_load"])])
    found = rows("benchmarks/external_start.json", "arm")
    more = [
        found["with"][key] - found["without"][key]
        for key in ("seconds", "dictionary_seconds", "peak_mb")
    ]
    text = "{} s of CPU time, {} of them for the dictionary, and {} MB"
    yield Statement(PAGE, text, more)


SOURCES = (candidates, decoding, independence, subwords, echo_states, starting)
