"""``python -m tests.faults.report``: results/reliability.md from what the last runs counted.

Ends with exit code 1, and says why, if the counts fall short of what ``make faults`` promises.
"""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

FAULTS, SOAK = Path("work/faults"), Path("work/soak.json")
CHECKS = FAULTS / "checks.xml"
PAGE = Path("results/reliability.md")
HEAD = """# Reliability

Written by `python -m tests.faults.report` from what `make faults` and `make soak` counted.
*clear*: refused in one line, with an exit code that is not 0; *accepted*: the value has a meaning,
which no bad input may have; *traceback*, *hang*, *killed* and *unclear* must be 0 everywhere, and
so must bad inputs refused *for another reason*. A fuzzed file is *read* or *refused*; a reader that
raised anything else failed its test.
"""
PACKAGES = ("torch", "fairseq-fixed", "numpy", "hypothesis")
SECTIONS = {
    "Bad inputs": "bad inputs",
    "Options with values that no one means: 0, -1, 1e30, nan, inf, nothing, 10^18": "options",
    "Fuzzed files": "fuzzed files",
    "Kills (-9): every resumed run is compared with an unbroken one, bit for bit": "kills",
    "Disks that fill up": "full disks",
    "Processes of two that freeze or die": "ranks",
    "Soak: resident memory": "soak",
}
WRONG = (
    "traceback",
    "hang",
    "killed",
    "unclear",
    "for another reason",
    "modes that differ",
    "not named",
)
# Of options, 0 or nan may have a meaning; a bad input has none.
WRONG_OF = {"bad inputs": ("accepted",)}
STARTED, ENDED = FAULTS / "started", FAULTS / "ended"  # by their times; the Makefile touches them
MOST_MINUTES = 30  # of a whole run
MOST_GROWTH = 5  # MB that the second half of a soak may add
# What a whole run counts at least: topic, column (all of them where it is None), number.
PROMISED = (
    ("kills", "modes", 11),
    ("kills", "kills", 50),
    ("kills", "within a save", 5),
    ("bad inputs", "clear", 300),
    ("options walked", None, 469),
    ("fuzzed files", None, 10_000),
    ("full disks", "clear", 4),
    ("ranks", "named in one line", 4),
)


def facts() -> dict:
    """Commit, versions and machine of this run."""
    git = ["git", "describe", "--always", "--dirty=+dirty", "--abbrev=12", "--exclude=*"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return {
        "commit": commit,
        "versions": f"Python {platform.python_version()}, {versions}",
        "machine": f"{len(os.sched_getaffinity(0))} cores ({_processor()}), {platform.system()}",
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write(path: Path, counts: dict) -> None:
    """Keep the counts of a process, with the facts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"facts": facts(), "counts": counts}, indent=1) + "\n")


def table(counts: dict, title: str) -> list:
    """Rows of a Markdown table: a topic and what was counted."""
    names = sorted({name for row in counts.values() for name in row})
    lines = [f"\n## {title}\n", f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for topic, row in sorted(counts.items()):
        lines.append(f"| {topic} | {' | '.join(f'{row.get(name, 0):,}' for name in names)} |")
    return lines


def minutes_taken() -> float | None:
    """How long the last whole run took by the clock; None if there was none."""
    if not (STARTED.exists() and ENDED.exists()):
        return None
    return (ENDED.stat().st_mtime - STARTED.stat().st_mtime) / 60


def page(counts: dict, described: list, minutes: float | None = None) -> str:
    """The whole page."""
    lines = [HEAD.strip(), ""]
    for name in ("commit", "versions", "machine"):
        values = sorted({str(facts.get(name, "unknown")) for facts in described})
        lines.append(f"- {name}: {'; '.join(values)}")
    if minutes is not None:
        lines.append(
            f"- `make faults` took {minutes:.1f} minutes (promised: at most {MOST_MINUTES})"
        )
    for title, begins in SECTIONS.items():
        found = {topic: row for topic, row in counts.items() if topic.startswith(begins)}
        if found:
            lines += table(found, title)
    checks = {topic: row for topic, row in counts.items() if topic.startswith("tests/")}
    if checks:
        lines += table(checks, "Tests that count for themselves")
    return "\n".join(lines) + "\n"


def wrong_of(topic: str) -> tuple:
    """The columns that must be 0 for a topic."""
    return WRONG + tuple(
        name for begins, names in WRONG_OF.items() if topic.startswith(begins) for name in names
    )


def shortfalls(counts: dict, minutes: float | None = None) -> list:
    """What is wrong, or less than was promised."""
    found = [
        f"{topic}: {row[name]} {name}"
        for topic, row in counts.items()
        for name in wrong_of(topic)
        if row.get(name)
    ]
    if minutes is not None and minutes > MOST_MINUTES:
        found.append(f"make faults took {minutes:.1f} minutes, promised {MOST_MINUTES} at most")
    for topic, row in counts.items():
        if topic.startswith("soak") and row.get("grown by MB", 0) > MOST_GROWTH:
            found.append(f"{topic}: memory grows by {row['grown by MB']} MB")
    for topic, name, least in PROMISED:
        row = counts.get(topic, {})
        number = sum(row.values()) if name is None else row.get(name, 0)
        if number < least:
            found.append(f"{topic}: {number} {name or ''}, promised {least}")
    return found


def tests_of(path: Path) -> dict:
    """Passed and failed tests of each file, from pytest's XML."""
    counts: dict = {}
    for case in ElementTree.parse(path).iter("testcase"):
        parts = case.get("classname", "").split(".")
        row = counts.setdefault("/".join(parts) + ".py", Counter())
        wrong = any(case.find(kind) is not None for kind in ("failure", "error"))
        row["skipped" if case.find("skipped") is not None else "failed" if wrong else "passed"] += 1
    return counts


def gathered() -> tuple[dict, list]:
    """The counts of all processes together, and the facts of each."""
    counts: dict = tests_of(CHECKS) if CHECKS.exists() else {}
    described = []
    for path in [*sorted(FAULTS.glob("*.json")), *([SOAK] if SOAK.exists() else [])]:
        part = json.loads(path.read_text(encoding="utf-8"))
        described.append(part["facts"])
        for topic, row in part["counts"].items():
            total = counts.setdefault(topic, {})
            for name, number in row.items():
                total[name] = total.get(name, 0) + number
    return counts, described


def main() -> int:
    """Read the counts that are there and write the page."""
    counts, described = gathered()
    minutes = minutes_taken()
    PAGE.write_text(page(counts, described, minutes), encoding="utf-8")
    print(f"wrote {PAGE}")
    found = shortfalls(counts, minutes)
    for line in found:
        print(f"not as promised: {line}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
