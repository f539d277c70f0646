"""The moving average of ``--store-ema`` in closed form."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn as nn
from fairseq.models.ema.ema import EMA

DECAY = 0.75
START = 8.0  # of all weights; after update t they are t


class Model(nn.Module):
    """A table with two names, a weight with one, and two halves of one storage."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        storage = torch.full((4,), START, dtype=dtype)
        self.encoder = nn.Parameter(torch.full((3, 2), START, dtype=dtype))
        self.decoder = self.encoder
        self.alone = nn.Parameter(torch.full((3, 2), START, dtype=dtype))
        self.first, self.second = nn.Parameter(storage[:2]), nn.Parameter(storage[2:])

    def train_to(self, update):
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.fill_(update)


def average_of(model, **options):
    defaults = {"ema_update_freq": 1, "ema_fp32": False, "ema_seed_model": None}
    options = {**defaults, "ema_decay": DECAY, "ema_start_update": 0, **options}
    return EMA(model, SimpleNamespace(**options))


def train(model, average, updates):
    for update in updates:
        model.train_to(update)
        average.step(model, update)


def closed_form(updates):
    """``d^n w_0 + (1 - d) sum_i d^(n - i) w_i`` over the n updates that are averaged."""
    n = len(updates)
    terms = [(1 - DECAY) * DECAY ** (n - i) * w for i, w in enumerate(updates, 1)]
    return DECAY**n * START + sum(terms)


def assert_all(tensors, expected):
    assert set(tensors) == {"encoder", "decoder", "alone", "first", "second"}
    for name, tensor in tensors.items():
        assert tensor.flatten().tolist() == pytest.approx([expected] * tensor.numel()), name


@pytest.mark.parametrize("full_precision", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_table_with_two_names_is_averaged_once_per_update(dtype, full_precision):
    model = Model(dtype)
    average = average_of(model, ema_fp32=full_precision)
    train(model, average, range(1, 6))
    assert_all(average.get_model().state_dict(), closed_form(range(1, 6)))


def test_averages_in_float32_of_a_table_in_half_precision_are_averaged_once():
    model = Model(torch.float16)
    average = average_of(model, ema_fp32=True)
    train(model, average, range(1, 6))
    assert_all(average.fp32_params, closed_form(range(1, 6)))


@pytest.mark.parametrize("stop", [1, 4, 5, 6])
def test_a_resumed_run_averages_at_the_same_updates(stop):
    model = Model()
    before = average_of(model, ema_update_freq=3)
    train(model, before, range(1, stop + 1))
    after = average_of(model, ema_update_freq=3)
    after.restore(before.get_model().state_dict())
    train(model, after, range(stop + 1, 11))
    assert_all(after.get_model().state_dict(), closed_form([3, 6, 9]))


def test_parts_of_one_storage_are_tensors_of_their_own():
    from fairseq_outlayers.patches.required.moving_average import _repeated_names

    table = torch.zeros(4, 2)
    state = {"whole": table, "first": table[:1], "turned": table.view(2, 4), "again": table}
    assert _repeated_names(state) == {"again"}
