"""Start-up with a large table of external vectors, compared with the same model without.

    python benchmarks/external_start.py --words 1900000 --dimensions 300

Each arm is a process that loads its source dictionary, builds a `nematus_gru` and encodes one
batch: `without` has a dictionary of the trained words only, `with` has all words of the table, as
`nematus_mix_sum`. Imports are not counted. Seconds are CPU time.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import numpy as np
import torch
import turns
from fairseq.data import Dictionary
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

import fairseq_outlayers  # noqa: F401  (registers architectures)
from fairseq_outlayers.formats.external_table_writer import checksums, dictionary_facts

BATCH = (40, 25)  # sentences, tokens


def write_table(work: Path, words: int, trained: int, dimensions: int) -> None:
    """Write the table, and dictionaries with and without its untrained words."""
    if (work / "done").exists():
        return
    work.mkdir(parents=True, exist_ok=True)
    lines = [f"word{number * 7919} {max(0, trained - number)}\n" for number in range(words)]
    (work / "with.dict.txt").write_text("".join(lines))
    (work / "without.dict.txt").write_text("".join(lines[:trained]))
    path = work / "table.npy"
    rows = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.float16, shape=(words + 4, dimensions)
    )
    generator = np.random.default_rng(0)
    for start in range(0, len(rows), 100_000):
        part = rows[start : start + 100_000]
        part[:] = generator.standard_normal(part.shape, dtype=np.float32)
    rows.flush()
    symbols = Dictionary.load(str(work / "with.dict.txt")).symbols
    facts = {
        "rows": words + 4,
        "dimensions": dimensions,
        **checksums(path),
        "dictionary": dictionary_facts(symbols),
    }
    Path(f"{path}.json").write_text(json.dumps(facts))
    (work / "done").touch()


def peak_mb() -> float:
    """Peak resident size of this process (`ru_maxrss` would include its parent's)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def start(name: str, options: argparse.Namespace) -> dict:
    """Measurements in the process of an arm."""
    imported, began, clock = peak_mb(), time.process_time(), time.perf_counter()
    source = Dictionary.load(str(options.work / f"{name}.dict.txt"))
    loaded = time.process_time()
    target = Dictionary()
    for number in range(1000):
        target.add_symbol(f"target{number}")
    task = SimpleNamespace(source_dictionary=source, target_dictionary=target)
    task.src_dict, task.tgt_dict = source, target
    external = {
        "source_embedding": "mix_sum",
        "external_embeddings": str(options.work / "table.npy"),
        "internal_vocabulary": options.trained + 4,
    }
    config = MODEL_DATACLASS_REGISTRY["nematus_gru"](**(external if name == "with" else {}))
    model = MODEL_REGISTRY["nematus_gru"].build_model(config, task).eval().to(options.device)
    encode(model, len(source), 0)
    seconds, wall, first = time.process_time() - began, time.perf_counter() - clock, peak_mb()
    for seed in range(1, 21):
        encode(model, len(source), seed)
    return {
        "seconds": seconds,
        "dictionary_seconds": loaded - began,
        "clock_seconds": wall,
        "peak_mb": first - imported,
        "mb_of_20_more_batches": peak_mb() - first,
    }


@torch.no_grad()
def encode(model: torch.nn.Module, words: int, seed: int) -> None:
    """Encode a batch of random words."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, words, BATCH, generator=generator)
    device = next(model.parameters()).device
    model.encoder(tokens.to(device), torch.full((BATCH[0],), BATCH[1], device=device))


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    if options.child:
        print(json.dumps(start(options.child, options)))
        return
    write_table(options.work, options.words, options.trained, options.dimensions)
    runs: dict[str, list[dict]] = {"without": [], "with": []}
    for _, name in turns.in_turns(runs, options.rounds):
        command = [sys.executable, __file__, "--child", name, "--work", str(options.work)]
        command += ["--trained", str(options.trained), "--device", options.device]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        runs[name].append(json.loads(output.splitlines()[-1]))
    turns.print_headings(
        "arm | seconds | of it the dictionary | by the clock | MB | 20 more batches, MB"
    )
    rows = []
    for name, found in runs.items():
        rounds = {key: [run[key] for run in found] for key in found[0]}
        rows.append({"arm": name, **rounds})
        turns.print_row(name, *(f"{median(values):.2f}" for values in rounds.values()))
    turns.write(options.output, vars(options), rows)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, default=1_900_000, help="of the table")
    parser.add_argument(
        "--trained", type=int, default=20_000, help="words that also have embeddings"
    )
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    turns.add_device(parser)
    parser.add_argument("--work", type=Path, default=Path("work/external_start"))
    parser.add_argument("--child", choices=["with", "without"], help=argparse.SUPPRESS)
    parser.add_argument(
        "--output", type=Path, default=Path("results/benchmarks/external_start.json")
    )
    options = parser.parse_args()
    if options.words < options.trained:
        parser.error(f"--words {options.words}: must be at least --trained {options.trained}")
    return options


if __name__ == "__main__":
    main()
