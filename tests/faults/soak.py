"""Twenty minutes of decoding and training: how memory grows.

``python -m tests.faults.soak MINUTES`` runs, in processes of their own, ``fairseq-interactive`` fed
with lines of new words and training by partitions over many epochs; it samples the memory that each
has resident and writes what the second half adds to ``work/soak.json``.
"""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.faults import report, warm, world
from tests.faults.kills import PARTITIONS

EVERY = 1.0  # seconds between samples
FIGURES = Path("work/soak.json")


def command(line: str) -> list:
    """A command as a fresh process runs it."""
    name, *arguments = shlex.split(line)
    return [sys.executable, "-m", f"fairseq_cli.{name}", *arguments]


def resident(process: subprocess.Popen) -> float:
    """Megabytes."""
    try:
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def watch(process: subprocess.Popen, seconds: float) -> Iterator[float]:
    """Its memory, until it ends or time is up."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        if (used := resident(process)) > 0:
            yield used
        time.sleep(EVERY)


def interactive(folder: Path, seconds: float) -> tuple[list, int]:
    """Memory over time, and lines translated, each with words never seen before."""
    line = f"{world.INTERACTIVE} {world.OURS} --unk-replacement copy"
    with open(folder / "translated", "w") as out:
        process = subprocess.Popen(
            command(line), cwd=folder, stdin=subprocess.PIPE, stdout=out, stderr=out, text=True
        )
        lines, used = 0, []
        end = time.monotonic() + seconds
        assert process.stdin is not None
        last = 0.0
        while time.monotonic() < end:
            process.stdin.write(f"xx1 new{lines}a xx2 new{lines}b\n")
            process.stdin.flush()
            lines += 1
            if time.monotonic() - last > EVERY:
                last = time.monotonic()
                used.append(resident(process))
        process.stdin.close()
        process.wait()
    done = sum(row.startswith("D-") for row in open(folder / "translated"))  # noqa: SIM115
    return used, done


def partitions(folder: Path, seconds: float) -> tuple[list, int]:
    """Memory over time, and updates."""
    line = PARTITIONS.replace("--max-epoch 3", "--max-epoch 1000000")
    line = line.replace("--save-interval-updates 4", "--save-interval-updates 400")
    line = f"{line} --reshuffle-partitions --save-interval 1000000 --log-interval 50"
    environment = {**os.environ, "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "0"}
    with open(folder / "trained", "w") as out:
        process = subprocess.Popen(
            command(line), cwd=folder, stdout=out, stderr=out, env=environment
        )
        used = list(watch(process, seconds))
        process.terminate()
        process.wait()
    return used, len(used)


def growth(used: list) -> dict:
    """What the second half adds, once everything is warm."""
    settled = used[len(used) // 4 :]
    half = len(settled) // 2
    if half == 0:
        return {"samples": len(used)}
    return {
        "samples": len(used),
        "first MB": round(sum(settled[:half]) / half, 1),
        "grown by MB": round(settled[-1] - settled[half], 1),
    }


def main(minutes: float) -> None:
    """Run both for half of the time each, and write the figures."""
    seconds, figures = minutes * 60 / 2, {}
    with tempfile.TemporaryDirectory() as name:
        warm.warm_up()
        folder = world.build(Path(name))
        for topic, run in {"interactive": interactive, "partitions": partitions}.items():
            used, number = run(folder, seconds)
            figures[f"soak: {topic}"] = {**growth(used), "lines or samples": number}
            print(topic, figures[f"soak: {topic}"], flush=True)
    report.write(FIGURES, figures)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 20)
