"""Compares the training speed and the memory of arms that take turns on one machine.

    python recipes/speed.py --data work/mine/bin --runs work/mine/speed --output speed.json \\
        -- stock --arch lstm --optimizer adam --max-tokens 2000 \\
        -- ours --arch luong_lstm --output-layer tied --optimizer adam --max-tokens 2000

Every round trains each arm for a few updates. Whatever else the machine does in that minute hits
all arms of the round, so each round's ratio to the first arm means more than the speeds do. An arm
whose options begin with a folder is trained on that instead of --data.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median

import arm
import measurements
import process
import training_log

INTERVAL = 10  # updates a line of the log, or fewer so that there are two lines


def parse_arms(arguments: Sequence[str]) -> dict[str, list[str]]:
    """``-- name options… -- name options…`` as options by name."""
    arms: dict[str, list[str]] = {}
    current: list[str] | None = None
    for argument in arguments:
        if argument == "--":
            current = None
        elif current is None:
            current = arms.setdefault(argument, [])
        else:
            current.append(argument)
    return arms


def tokens_per_second(log: Path) -> float:
    """Median over the lines of one short training, without the first (it holds the warm-up)."""
    speeds = [
        found.values["wps"]
        for line in log.read_text(encoding="utf-8").splitlines()
        if (found := training_log.parse_line(line)) and found.tag == "train_inner"
    ]
    if len(speeds) < 2:
        raise ValueError(f"{log} has {len(speeds)} lines of statistics; at least 2 are needed")
    return median(speeds[1:])


def measure(
    name: str, options: Sequence[str], settings: argparse.Namespace, number: int
) -> tuple[float, float]:
    """Tokens per second and peak megabytes of one arm in one round."""
    settings.runs.mkdir(parents=True, exist_ok=True)
    own = bool(options) and not options[0].startswith("-")
    data = [] if own else [str(settings.data)]
    log = settings.runs / f"{name}.round{number}.log"
    command = ["fairseq-train", *data, *options, "--user-dir", str(arm.USER_DIR)]
    command += ["--seed", str(number), "--max-update", str(settings.updates), "--no-save"]
    interval = min(INTERVAL, settings.updates // 2)
    command += ["--disable-validation", "--log-format", "json", "--log-interval", str(interval)]
    command += ["--save-dir", str(settings.runs / "unused")]
    with process.Progress(f"round {number}, {name}") as progress:
        usage = process.run(command, log=log, on_line=progress.feed)
    return tokens_per_second(log), usage.peak_rss_mb


def take_turns(
    arms: Iterable[str], rounds: int, measured: Callable[[str, int], tuple[float, float]]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Speed and peak megabytes of every arm in every round.

    Args:
        arms: their names.
        rounds: how many.
        measured: both numbers of an arm, in a round of that number.
    """
    arms, shuffler = list(arms), random.Random(0)
    speeds: dict[str, list[float]] = {name: [] for name in arms}
    memory: dict[str, list[float]] = {name: [] for name in arms}
    for number in range(1, rounds + 1):
        for name in shuffler.sample(arms, len(arms)):
            speed, megabytes = measured(name, number)
            speeds[name].append(speed)
            memory[name].append(megabytes)
    return speeds, memory


def summarise(speeds: dict[str, list[float]], memory: dict[str, list[float]]) -> list[dict]:
    """A row an arm: medians over rounds, and the ratio to the first arm round by round."""
    first = next(iter(speeds))
    rows = []
    for name, values in speeds.items():
        ratios = [own / other for own, other in zip(values, speeds[first], strict=True)]
        rows.append(
            {
                "arm": name,
                "tokens_per_second": median(values),
                "rounds": values,
                "ratio_to_first": median(ratios),
                "ratios": ratios,
                "peak_rss_mb": max(memory[name]),
            }
        )
    return rows


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line, with the arms in `arms`."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="from fairseq-preprocess")
    parser.add_argument("--runs", type=Path, required=True, help="folder for the logs")
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=4 * INTERVAL, help="of every arm a round")
    settings = parser.parse_args(arguments[:split])
    settings.arms = parse_arms(arguments[split:])
    if not settings.arms:
        parser.error("no arms: name them after --")
    if settings.updates < 2:
        parser.error(f"--updates {settings.updates}: at least 2, of which the first is the warm-up")
    return settings


def main(arguments: list[str]) -> int:
    """Measure, write the JSON file and print a table."""
    settings = parse_arguments(arguments)
    arm.find_fairseq_commands()
    try:
        found = take_turns(
            settings.arms,
            settings.rounds,
            lambda name, number: measure(name, settings.arms[name], settings, number),
        )
    except (process.CommandFailed, ValueError) as error:
        print(f"speed: {error}", file=sys.stderr)
        return 1
    rows = summarise(*found)
    print("| arm | train tokens/s | ratio to the first (each round) | peak MB |\n|---|---|---|---|")
    for row in rows:
        each = ", ".join(f"{ratio:.2f}" for ratio in row["ratios"])
        speed, ratio = row["tokens_per_second"], row["ratio_to_first"]
        print(f"| {row['arm']} | {speed:,.0f} | {ratio:.2f} ({each}) | {row['peak_rss_mb']:,.0f} |")
    measurements.write(settings.output, rows, arms=settings.arms)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
