"""Compare speed and memory of commands that run alternately on one machine.

Every round runs all of them in shuffled order. Other load of the machine affects the whole round,
so ratios within a round are more reliable than speeds.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from statistics import harmonic_mean, median

from recipes.lab import measurements
from recipes.lab.markdown import markdown_table
from recipes.lab.running import process, training_log
from recipes.lab.running.run_arm import fairseq, find_fairseq_commands
from recipes.lab.settings import UserError

INTERVAL = 10  # updates per line of the log, or fewer, for at least two lines
# From a name and the number of a round to speed and peak megabytes.
Measure = Callable[[str, int], tuple[float, float]]


def tokens_per_second(log: Path) -> float:
    """Over a short training, without the first line of its log (warm-up).

    The harmonic mean of the lines, which have equally many updates, so that a change of partition
    in one of them counts.
    """
    found = training_log.statistics_of(log)
    speeds = [line.values["wps"] for line in found if line.tag == "train_inner"]
    if len(speeds) < 2:
        raise UserError(f"{log} has {len(speeds)} lines of statistics; at least 2 are needed")
    return harmonic_mean(speeds[1:])


def of_training(
    arms: Mapping[str, Sequence[str]],
    data: str,
    runs: Path,
    updates: int,
    stock: Collection[str] = (),
) -> Measure:
    """Training speed of arms.

    Args:
        arms: options by name; a folder in front of the options replaces ``data``.
        data: binarized data.
        runs: folder for the logs.
        stock: arms that run fairseq without this package.
    """
    if updates < 2:
        raise UserError(f"SPEED_UPDATES={updates}: at least 2; the first is the warm-up")

    def measure(name: str, number: int) -> tuple[float, float]:
        options = list(arms[name])
        own = bool(options) and not options[0].startswith("-")
        command = fairseq("fairseq-train", options.pop(0) if own else data, name in stock)
        command += [*options, "--seed", str(number), "--no-save"]
        # Validation cannot be disabled: schedules and --patience need one. One batch will do.
        command += ["--max-update", str(updates), "--max-valid-steps", "1", "--log-format", "json"]
        command += ["--log-interval", str(min(INTERVAL, updates // 2))]
        command += ["--save-dir", str(runs / "unused")]
        return logged(command, runs, name, number, tokens_per_second)

    return measure


def logged(
    command: Sequence[str], runs: Path, name: str, number: int, speed: Callable[[Path], float]
) -> tuple[float, float]:
    """Speed from a command's log, and its peak megabytes."""
    runs.mkdir(parents=True, exist_ok=True)
    log = runs / f"{name}.round{number}.log"
    with process.Progress(f"round {number}, {name}") as progress:
        try:
            usage = process.run(command, log=log, on_line=progress.feed)
        except process.CommandFailed as failure:
            # On a GPU, fairseq alone often aborts after the end of a training, when Python kills
            # its thread that loads batches (with this package: patches/required/loader_at_exit.py).
            if failure.usage is None or not training_log.summarize(log)["finished"]:
                raise
            usage = failure.usage
    return speed(log), usage.peak_rss_mb


def take_turns(names: Sequence[str], rounds: int, measure: Measure) -> list[dict]:
    """A row each: medians over rounds, and the ratio to the first in each round."""
    find_fairseq_commands()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for number, name in measurements.in_turns(names, rounds):
        found[name].append(measure(name, number + 1))
    speeds = {name: [speed for speed, _ in values] for name, values in found.items()}
    memory = {name: max(megabytes for _, megabytes in values) for name, values in found.items()}
    return summarize(speeds, memory)


def summarize(speeds: Mapping[str, list[float]], memory: Mapping[str, float]) -> list[dict]:
    """Rows from the speeds of all rounds and peak megabytes."""
    first = next(iter(speeds))
    rows = []
    for name, values in speeds.items():
        ratios = [own / other for own, other in zip(values, speeds[first], strict=True)]
        rows.append({
            "arm": name,
            "tokens_per_second": median(values),
            "rounds": values,
            "ratio_to_first": median(ratios),
            "ratios": ratios,
            "peak_rss_mb": memory[name],
        })  # fmt: skip
    return rows


def write(
    output: Path, rows: list[dict], arms: Mapping[str, Sequence[str]], figure: str, digits: int
) -> None:
    """Write the JSON file and print a table.

    Args:
        figure: name of the speed in the rows.
    """
    headings = ("", figure.replace("_", " "), "ratio to the first (each round)", "peak MB")
    cells = []
    for row in rows:
        each = ", ".join(f"{ratio:.2f}" for ratio in row["ratios"])
        ratio = f"{row['ratio_to_first']:.2f} ({each})"
        speed, peak = f"{row[figure]:,.{digits}f}", f"{row['peak_rss_mb']:,.0f}"
        cells.append((row["arm"], speed, ratio, peak))
    print("\n".join(markdown_table(headings, cells)))
    measurements.write(output, rows, arms={name: list(options) for name, options in arms.items()})
