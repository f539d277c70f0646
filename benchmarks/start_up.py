"""CPU time of starting a process: imports, and the help of a command.

    PYTHONPATH=. python benchmarks/start_up.py

Each arm is a new Python process. The arms alternate, in an order shuffled every round.
"""

import argparse
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

import turns

ARMS = {
    "import torch": ["-c", "import torch"],
    "import fairseq": ["-c", "import fairseq"],
    "import fairseq, then the package": ["-c", "import fairseq, fairseq_outlayers"],
    "losses without fairseq": ["-c", "import sys; sys.modules['fairseq'] = None\n"
                               "import fairseq_outlayers.losses"],
    "help of a command": ["-m", "fairseq_outlayers", "inspect", "--help"],
}  # fmt: skip


def processor_seconds(arguments: list[str]) -> float:
    """User and system time of a Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, print a table, write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("results/benchmarks/start_up.json"))
    options = parser.parse_args()
    taken: dict[str, list[float]] = {name: [] for name in ARMS}
    for number, name in turns.in_turns(ARMS, options.rounds + 1):
        used = processor_seconds(ARMS[name])
        if number > 0:  # the first round fills the page cache
            taken[name].append(used)
    turns.print_headings("arm | processor seconds | by those of fairseq")
    rows = []
    for name, seconds in taken.items():
        ratios = turns.ratios(seconds, taken["import fairseq"])
        rows.append({"arm": name, "processor_seconds": seconds, "by_fairseq": ratios})
        turns.print_row(name, f"{median(seconds):.2f}", turns.spread(ratios))
    turns.write(options.output, vars(options), rows)


if __name__ == "__main__":
    main()
