"""Seconds that a word takes to translate, by ways to decode that take turns on one machine.

    python recipes/jean2015_large_vocabulary/decoding_speed.py --output decoding_speed.json \\
        --runs work/mine/decoding_speed --rounds 3 \\
        -- shortlist work/mine/bin.shortlist --path a.pt --beam 12 \\
        -- full work/mine/bin.large --path b.pt --beam 12

Each group is a name and the options of fairseq-generate, of whose own clock the search is taken;
words are those written, the end of the sentence counted.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import arm
import measurements
import process
import scoring
import speed

TRANSLATED = re.compile(
    r"Translated [\d,]+ sentences \((?P<tokens>[\d,]+) tokens\) in (?P<s>[\d.]+)s"
)


def words_per_second(log: Path) -> float:
    """From what fairseq-generate says at its end.

    Raises:
        Incomplete: if it does not.
    """
    found = list(TRANSLATED.finditer(log.read_text(encoding="utf-8")))
    if not found or float(found[-1]["s"]) == 0:
        raise scoring.Incomplete(f"{log} does not say in how many seconds it was translated")
    return int(found[-1]["tokens"].replace(",", "")) / float(found[-1]["s"])


def measure(name: str, options: list[str], runs: Path, number: int) -> tuple[float, float]:
    """Words per second and peak megabytes of one way to decode in one round."""
    runs.mkdir(parents=True, exist_ok=True)
    log = runs / f"{name}.round{number}.log"
    command = ["fairseq-generate", *options, "--user-dir", str(arm.USER_DIR), "--no-progress-bar"]
    with process.Progress(f"round {number}, {name}"):
        usage = process.run(command, log=log)
    return words_per_second(log), usage.peak_rss_mb


def rows_of(speeds: dict[str, list[float]], memory: dict[str, list[float]]) -> list[dict]:
    """A row for each way: words a second and the ratio to the first, and seconds a word."""
    rows = speed.summarise(speeds, memory)
    for row in rows:
        row["words_per_second"] = row.pop("tokens_per_second")
        row["seconds_per_word"] = 1 / row["words_per_second"]
    return rows


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line, with the groups in `arms`."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, required=True, help="folder for the logs")
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--rounds", type=int, default=3)
    settings = parser.parse_args(arguments[:split])
    settings.arms = speed.parse_arms(arguments[split:])
    if not settings.arms:
        parser.error("nothing to measure: name it after --")
    return settings


def main(arguments: list[str]) -> int:
    """Measure, write the JSON file and print a table."""
    settings = parse_arguments(arguments)
    arm.find_fairseq_commands()
    try:
        found = speed.take_turns(
            settings.arms,
            settings.rounds,
            lambda name, number: measure(name, settings.arms[name], settings.runs, number),
        )
    except (process.CommandFailed, scoring.Incomplete) as error:
        print(f"decoding_speed: {error}", file=sys.stderr)
        return 1
    rows = rows_of(*found)
    print("| decoding | seconds a word | speed / that of the first (each round) |\n|---|---|---|")
    for row in rows:
        each = ", ".join(f"{ratio:.2f}" for ratio in row["ratios"])
        seconds, ratio = row["seconds_per_word"], row["ratio_to_first"]
        print(f"| {row['arm']} | {seconds:.4f} | {ratio:.2f} ({each}) |")
    measurements.write(settings.output, rows, arms=settings.arms)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
