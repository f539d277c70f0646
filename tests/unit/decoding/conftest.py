"""A task with candidate lists, and lists that translate at random."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_outlayers.formats.dictionary import fingerprint
from fairseq_outlayers.tasks.translation_outlayers import (
    TranslationOutlayersConfig,
    TranslationOutlayersTask,
)
from tests.conftest import make_dictionary

NUM_SOURCE, NUM_TARGET = 13, 37
PER_WORD = 4


@pytest.fixture
def dictionaries():
    return make_dictionary(NUM_SOURCE), make_dictionary(NUM_TARGET)


@pytest.fixture
def write_candidates(tmp_path, dictionaries):
    """A function that writes a candidate file with random translations; returns its path."""

    def write(blocked=(), per_word=PER_WORD, **changes):
        source, target = dictionaries
        random = np.random.RandomState(1)
        words = [
            random.permutation(np.arange(4, len(target)))[:per_word] for _ in range(NUM_SOURCE)
        ]
        words = [row[~np.isin(row, blocked)] for row in words]
        sizes = [0] * 4 + [len(row) for row in words]
        arrays = {
            "format": 1,
            "per_word": per_word,
            "source_fingerprint": fingerprint(source),
            "target_fingerprint": fingerprint(target),
            "offsets": np.cumsum([0, *sizes]),
            "targets": np.concatenate(words).astype(np.int32),
            "blocked": np.array(blocked, dtype=np.int32),
        }
        path = tmp_path / "candidates.npz"
        np.savez(path, **{**arrays, **changes})
        return str(path)

    return write


@pytest.fixture
def make_task(dictionaries):
    """A function that makes the task with the options given."""

    def make(**options):
        config = TranslationOutlayersConfig(**options)
        return TranslationOutlayersTask(config, *dictionaries)

    return make


@pytest.fixture
def decode():
    """A function: the hypotheses of a batch, by a task's generator with search options."""

    def run(task, models, batch, prefix_size=0, **options):
        longest = {} if options.get("match_source_len") else {"max_len_a": 0, "max_len_b": 9}
        arguments = SimpleNamespace(**{"beam": 5, **longest, **options})
        generator = task.build_generator(models, arguments)
        prefix = batch["target"][:, :prefix_size] if prefix_size else None
        torch.manual_seed(1)
        return task.inference_step(generator, models, batch, prefix_tokens=prefix)

    return run
