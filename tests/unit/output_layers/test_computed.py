"""Computed class embeddings are kept exactly as long as nothing can have changed them."""

import copy
import pickle

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.output_layers import computed
from fairseq_outlayers.output_layers.computed import ComputedOutputLayer
from fairseq_outlayers.tables.table import table_of


class Doubled(ComputedOutputLayer):
    """Class embeddings that are twice a table; counts how often they are computed."""

    class_size = 2

    def __init__(self):
        super().__init__(num_classes=4)
        self.table = nn.Parameter(torch.ones(4, 2))
        self.computed = 0

    @classmethod
    def build(cls, config, embedding, hidden_size, dictionary):
        raise NotImplementedError

    def encode_classes(self, ids):
        self.computed += 1
        return 2 * (self.table if ids is None else self.table[ids])


@pytest.fixture
def layer():
    return Doubled().eval()


def test_at_inference_they_are_computed_once(layer):
    with torch.no_grad():
        for _ in range(3):
            assert layer(torch.ones(5, 2)).eq(4).all()
    assert layer.computed == 1


@pytest.mark.parametrize("training", [True, False])
def test_with_gradients_they_are_computed_at_every_call(layer, training):
    layer.train(training)
    for _ in range(2):
        layer.zero_grad()
        layer(torch.ones(5, 2)).sum().backward()
        assert layer.table.grad.eq(10).all()
    assert layer.computed == 2


def test_in_training_they_are_computed_even_without_gradients(layer):
    layer.train()
    with torch.no_grad():
        layer.class_embeddings()
        layer.class_embeddings()
    assert layer.computed == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda layer: layer.load_state_dict(
            {"table": torch.full((4, 2), 3.0), "bias": torch.zeros(4)}
        ),
        lambda layer: layer.train() and layer.table.data.fill_(3) is not None and layer.eval(),
        lambda layer: (layer.table.data.fill_(3), layer.invalidate()),
        lambda layer: (layer.table.data.fill_(3), layer.double()),
        lambda layer: layer.table.fill_(3),
        lambda layer: setattr(layer, "table", nn.Parameter(torch.full((4, 2), 3.0))),
    ],
    ids=["load", "train", "forget", "move", "change in place", "replace"],
)
def test_what_changes_parameters_makes_them_computed_anew(layer, change):
    with torch.no_grad():
        layer.class_embeddings()
        change(layer)
        assert layer.class_embeddings().eq(6).all()


def test_a_whole_model_that_is_loaded_makes_them_computed_anew(layer):
    model, other = nn.Sequential(layer), nn.Sequential(Doubled())
    other[0].table.data.fill_(3)
    with torch.no_grad():
        layer.class_embeddings()
        model.load_state_dict(other.state_dict())
        assert layer.class_embeddings().eq(6).all()


def test_a_layer_made_in_inference_mode_follows_what_it_loads():
    """Its parameters have no version that PyTorch counts."""
    other = Doubled()
    other.table.data.fill_(3)
    with torch.inference_mode():
        layer = Doubled().eval()
        assert layer.class_embeddings().eq(2).all()
        layer.load_state_dict(other.state_dict())
        assert layer.class_embeddings().eq(6).all()


def test_candidates_are_rows_of_all_classes_computed_once(layer):
    layer.table.data = torch.arange(8.0).view(4, 2)
    with torch.no_grad():
        for ids in (torch.tensor([1, 2]), torch.tensor([[3, 0], [1, 1]])):
            assert layer.class_embeddings(ids).equal(2 * layer.table[ids])
            assert layer._cached.equal(2 * layer.table)
        assert layer.computed == 1
        layer.train()
        layer.table.data.fill_(3)
        assert layer.eval().class_embeddings(torch.tensor([1])).eq(6).all()


def test_a_call_with_gradients_discards_the_table(layer):
    """What follows is mostly an update, by an optimizer that need not be PyTorch's."""
    with torch.no_grad():
        layer.class_embeddings()
    layer.class_embeddings()
    with torch.no_grad():
        layer.table.data += 1  # not counted by PyTorch
        assert layer.class_embeddings().eq(4).all()


@pytest.mark.parametrize("change", ["large", "training", "gradients", "partition", "elsewhere"])
def test_candidates_are_computed_alone_where_the_table_is_large_or_may_change(
    layer, change, monkeypatch
):
    if change == "large":
        monkeypatch.setattr(computed, "MOST_BYTES", 4 * 2 * 4 - 1)
    elif change == "training":
        layer.train()
    elif change == "partition":
        table_of(layer, "bias").use_first(2)
    elif change == "elsewhere":
        table_of(layer, "bias").use_elsewhere(lambda ids: torch.zeros(len(ids)), 2)
    with torch.set_grad_enabled(change == "gradients"):
        assert layer.class_embeddings(torch.tensor([1, 0])).shape == (2, 2)
    assert layer.computed == 1
    assert layer._cached is None


def test_rows_asked_for_with_gradients_end_the_life_of_the_table(layer):
    """PyTorch does not count the changes of its fused optimizers."""
    ids, optimizer = torch.tensor([0, 1]), torch.optim.AdamW(layer.parameters(), 0.1, fused=True)
    with torch.no_grad():
        before = layer(torch.ones(1, 2))
    layer.class_embeddings(ids).sum().backward()
    optimizer.step()
    with torch.no_grad():
        assert layer(torch.ones(1, 2))[0, 0] < before[0, 0]


def test_a_copy_and_a_file_have_no_table(layer):
    with torch.no_grad():
        layer(torch.ones(1, 2))
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert copied._cached is None
        with torch.no_grad():
            assert copied(torch.ones(1, 2)).equal(layer(torch.ones(1, 2)))
    assert layer._cached is not None
