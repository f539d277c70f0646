"""Run all tests marked gpu and the benchmarks on a GPU.

    python benchmarks/gpu.py

Needs a GPU, Python 3.11 to 3.13, torch 2.11 or newer with CUDA, fairseq and this package. `make
gpu` runs it. Each step prints its last lines; settings are small, so that all steps take less than
ten minutes, of which the tests get at most two thirds. One JSON file has the outcome of the tests,
the results of every benchmark, commit, machine and versions. With ``--device cpu`` it rehearses the
steps without a GPU: the tests are skipped, and most benchmarks run out of time.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import turns

ROOT = Path(__file__).resolve().parents[1]
TESTS = ["-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "tests"]
if importlib.util.find_spec("xdist"):  # 43 seconds in 12 processes on an H200
    TESTS += ["-n", str(min(os.cpu_count() or 1, 12))]
TESTS_SHARE = 2 / 3  # of the time
# Options of each benchmark that is relevant on a GPU, by its name and a suffix.
BENCHMARKS = {
    "exact_loss": "--classes 32000 260000 --positions 4096 --dimensions 512",
    "exact_loss.bf16": "--classes 32000 260000 --positions 4096 --dimensions 512 --dtype bfloat16",
    "sampled_loss": "--classes 128000 --shares 0.25 0.05",
    "output_side": "--classes 50000 500000 1000000",
    "row_updates": "--classes 30000 500000",
    "training_step": "--classes 32000 --shares 1 0.25",
    "candidate_decoding": "--classes 100000 --length 15",
    "subword_lm": "",
    "echo_state": "",
    "growth": "--largest 1000000",
    "roofline": "",
}


def step(name: str, command: list[str], seconds: float) -> dict:
    """Run a command; returns its time, success and last lines."""
    start = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=seconds
        )
        code, lines = done.returncode, (done.stdout + done.stderr).strip().splitlines()
    except subprocess.TimeoutExpired as late:
        code, lines = 124, [f"stopped after {late.timeout:.0f} seconds"]
    last = lines[-12:]
    print(f"== {name}: {'ok' if code == 0 else f'FAILED ({code})'}", *last, sep="\n", flush=True)
    return {"step": name, "code": code, "seconds": time.monotonic() - start, "last_lines": last}


def main() -> None:
    """Run all steps within the time limit, and write the file."""
    options = parse_arguments()
    if options.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("no GPU here, or a torch without CUDA: nothing was run")
    began, rows = time.monotonic(), []

    def left() -> float:
        return max(options.seconds - (time.monotonic() - began), 1.0)

    rows.append(step("tests", TESTS, TESTS_SHARE * left()))
    with tempfile.TemporaryDirectory() as folder:
        for name, given in BENCHMARKS.items():
            output = Path(folder) / f"{name}.json"
            fixed = ["--device", options.device, "--rounds", "5", "--output", str(output)]
            program = f"{name.partition('.')[0]}.py"
            command = [str(ROOT / "benchmarks" / program), *given.split(), *fixed]
            row = step(name, command, left())
            if output.exists():
                row["figures"] = json.loads(output.read_text())
            rows.append(row)
    name = torch.cuda.get_device_name() if options.device == "cuda" else "none"
    turns.write(options.output, {"gpu": name, "rounds": 5}, rows)
    sys.exit(any(row["code"] for row in rows))


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    turns.add_device(parser)
    parser.set_defaults(device="cuda")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit for all steps")
    parser.add_argument("--output", type=Path, default=Path("results/benchmarks/gpu.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
