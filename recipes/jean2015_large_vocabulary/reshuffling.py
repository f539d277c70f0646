"""What it costs to divide the corpus anew in every epoch: seconds beside those of an epoch.

    python recipes/jean2015_large_vocabulary/reshuffling.py work/mine/bin --languages en de \\
        --partition-size 2000 --batch-size 40 --epochs 3 --output reshuffling.json
"""

import argparse
import json
import logging
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import numpy as np
from fairseq.tasks.translation import TranslationConfig, TranslationTask

import ledger
import scoring
from fairseq_outlayers.partitions.corpus import CorpusPartitions, corpus_side


def measure(options: argparse.Namespace) -> dict:
    """Seconds of every division, and how many partitions there were."""
    source, target = options.languages
    config = TranslationConfig(data=str(options.data), source_lang=source, target_lang=target)
    # Elsewhere these are references to fairseq's other options.
    config.dataset_impl, config.train_subset, config.required_seq_len_multiple = None, "train", 1
    task = TranslationTask.setup_task(config)
    task.load_dataset("train")
    dataset = task.datasets["train"]
    side = corpus_side(dataset, task.target_dictionary, "target", options.partition_size)
    sentences = np.arange(len(dataset))
    partitions = CorpusPartitions(
        dataset, {"target": side}, sentences, seed=1, max_sentences=options.batch_size
    )
    seconds, counts = [], []
    for epoch in range(1, options.epochs + 1):
        started = time.perf_counter()
        counts.append(len(partitions(epoch).batches))
        seconds.append(time.perf_counter() - started)
    return {"partition_size": options.partition_size, "seconds": seconds, "partitions": counts}


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the JSON file."""
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="from fairseq-preprocess")
    parser.add_argument("--languages", nargs=2, required=True)
    parser.add_argument("--partition-size", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True, help="in sentences")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    found = {**measure(options), "machine": ledger.machine(), "commit": ledger.commit()}
    scoring.write_lines(options.output, json.dumps(found, indent=2).split("\n"))
    seconds = median(found["seconds"])
    print(f"  {seconds:.2f} s an epoch to divide the corpus anew: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
