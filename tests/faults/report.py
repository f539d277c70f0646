"""``python -m tests.faults.report``: results/reliability.md from what the last runs counted."""

import json
from pathlib import Path

FAULTS, SOAK = Path("work/faults"), Path("work/soak.json")
PAGE = Path("results/reliability.md")
HEAD = """# Reliability

Written by `python -m tests.faults.report` from what `make faults` and `make soak` counted on
one machine. *clear*: refused in one line; *accepted*: the value has a meaning, which no bad input
may have; *traceback*, *hang*, *killed* and *unclear* must be 0 everywhere.
"""


def table(counts: dict, title: str) -> list:
    """Rows of a Markdown table: a topic and what was counted."""
    names = sorted({name for row in counts.values() for name in row})
    lines = [f"\n## {title}\n", f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for topic, row in counts.items():
        lines.append(f"| {topic} | {' | '.join(str(row.get(name, 0)) for name in names)} |")
    return lines


def page(counts: dict) -> str:
    """The whole page."""
    lines = [HEAD.strip()]
    for title, begins in {
        "Bad inputs": "bad inputs",
        "Options with values that no one means": "option walk",
        "Fuzzed files": "fuzzed files",
        "Kills": "kills",
        "Disks that fill up": "full disks",
        "Soak": "soak",
    }.items():
        found = {topic: row for topic, row in counts.items() if topic.startswith(begins)}
        if found:
            lines += table(found, title)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the counts that are there and write the page."""
    counts: dict = {}
    for path in [*sorted(FAULTS.glob("*.json")), SOAK]:
        for topic, row in json.loads(path.read_text()).items() if path.exists() else ():
            total = counts.setdefault(topic, {})
            for name, number in row.items():
                total[name] = total.get(name, 0) + number
    PAGE.write_text(page(counts))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
