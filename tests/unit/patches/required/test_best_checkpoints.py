"""``--keep-best-checkpoints N`` keeps the best N of all validations."""

import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from fairseq import checkpoint_utils
from fairseq.dataclass.configs import CheckpointConfig


def write(written, path, extra_state):
    Path(path).write_text("weights")
    written.append(extra_state["val_loss"])


@pytest.fixture
def kept(tmp_path):
    """Returns a function that saves after each loss and lists the losses then kept."""

    def save(losses, saves_here=True, ends_epochs=True, written=None, **options):
        cfg = CheckpointConfig(
            save_dir=str(tmp_path),
            no_last_checkpoints=True,
            no_epoch_checkpoints=True,
            **options,
        )
        found = []
        for update, loss in enumerate(losses, start=1):
            trainer = SimpleNamespace(
                data_parallel_rank=0 if saves_here else 1,
                should_save_checkpoint_on_current_rank=saves_here,
                always_call_state_dict_during_save_checkpoint=False,
                checkpoint_suffix=options.get("checkpoint_suffix", ""),
                task=None,
                consolidate_optimizer=lambda: None,
                get_num_updates=lambda update=update: update,
                save_checkpoint=partial(write, [] if written is None else written),
            )
            epoch = SimpleNamespace(
                epoch=update, end_of_epoch=lambda: ends_epochs, state_dict=lambda: {}
            )
            checkpoint_utils.save_checkpoint(cfg, trainer, epoch, loss)
            names = [path.name for path in tmp_path.iterdir() if path.name.count(".best_")]
            # The last digit is random.
            values = [re.search(r"best_loss_(-?\d+\.\d{3})", name)[1] for name in names]
            found.append(sorted(map(float, values)))
        return found

    yield save
    vars(checkpoint_utils.save_checkpoint).pop("best", None)


@pytest.mark.parametrize("ends_epochs", [True, False])
def test_a_worse_checkpoint_is_kept_until_there_are_n(ends_epochs, kept):
    options = {"ends_epochs": ends_epochs, "save_interval_updates": 1}
    found = kept([4.0, 4.5, 5.0, 3.0], keep_best_checkpoints=2, **options)
    assert found == [[4.0], [4.0, 4.5], [4.0, 4.5], [3.0, 4.0]]


def test_the_best_may_be_the_highest(kept):
    options = {"maximize_best_checkpoint_metric": True, "checkpoint_suffix": "-shard0"}
    found = kept([5.0, 4.5, 4.0, 6.0], keep_best_checkpoints=2, **options)
    assert found == [[5.0], [4.5, 5.0], [4.5, 5.0], [5.0, 6.0]]


def test_one_that_is_not_kept_is_not_written(kept):
    written = []
    kept([4.0, 4.5, 5.0, 3.0], keep_best_checkpoints=2, written=written)
    assert written == [4.0, 4.5, 3.0]


def test_checkpoints_of_updates_are_counted_as_before(kept, tmp_path):
    intervals = {"save_interval_updates": 1, "keep_interval_updates": 1}
    kept([4.0, 4.5], ends_epochs=False, keep_best_checkpoints=4, **intervals)
    assert [path.name for path in tmp_path.glob("checkpoint_*_*.pt")] == ["checkpoint_2_2.pt"]


def test_without_the_option_or_a_validation_none_is_kept(kept):
    assert kept([4.0, 5.0]) == [[], []]
    assert kept([None, None], keep_best_checkpoints=2) == [[], []]


def test_a_value_that_fairseq_cannot_sort_is_kept_only_as_the_best_of_all(kept):
    found = kept([-1.0, -0.5, float("nan")], keep_best_checkpoints=3)
    assert found == [[-1.0], [-1.0], [-1.0]]


def test_only_the_process_that_saves_looks_at_the_folder(kept, monkeypatch):
    monkeypatch.setattr(checkpoint_utils, "checkpoint_paths", None)
    assert kept([4.0, 4.5], saves_here=False, keep_best_checkpoints=2) == [[], []]
