"""Time of repartitioning the corpus in every epoch."""

import logging
import time
from pathlib import Path
from statistics import median

import numpy as np
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from fairseq_outlayers.partitions.corpus import CorpusPartitions, corpus_side
from recipes.jean2015_large_vocabulary.arms import Jean2015
from recipes.lab import ledger
from recipes.lab.__main__ import step
from recipes.lab.scores import scoring

EPOCHS = 3


def measure(data: str, languages: tuple[str, str], size: int, batch_size: int) -> dict:
    """Seconds of each repartitioning, and the number of partitions."""
    source, target = languages
    config = TranslationConfig(data=data, source_lang=source, target_lang=target)
    # Otherwise these are references to fairseq's other options.
    config.dataset_impl, config.train_subset, config.required_seq_len_multiple = None, "train", 1
    task = TranslationTask.setup_task(config)
    task.load_dataset("train")
    dataset = task.datasets["train"]
    side = corpus_side(dataset, task.target_dictionary, "target", size)
    sentences = np.arange(len(dataset))
    partitions = CorpusPartitions(
        dataset, {"target": side}, sentences, seed=1, max_sentences=batch_size
    )
    seconds, counts = [], []
    for epoch in range(1, EPOCHS + 1):
        started = time.perf_counter()
        counts.append(len(partitions(epoch).batches))
        seconds.append(time.perf_counter() - started)
    return {"partition_size": size, "seconds": seconds, "partitions": counts}


def main(recipe: Jean2015) -> None:
    """Measure, and write the JSON file."""
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    output, s = Path(recipe.results, "reshuffling.json"), recipe.settings
    if recipe.measured(output):
        return
    sizes = s.whole("TAU"), s.whole("BATCH_SENTENCES")
    found = measure(recipe.bin_of("lv"), (s.SOURCE, s.TARGET), *sizes)
    found |= {"machine": ledger.machine(), "commit": ledger.commit()}
    scoring.write_json(output, found)
    seconds = median(found["seconds"])
    print(f"  {seconds:.2f} s per epoch for repartitioning: {output}")


if __name__ == "__main__":
    step("jean2015_large_vocabulary", main)
