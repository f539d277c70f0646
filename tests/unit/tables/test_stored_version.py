"""An integer saved with a module's weights decides which states it loads."""

import copy
import math
import pickle
from functools import partial

import pytest
import torch
from torch import nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tables.stored_version import accept, register_version

reported = []


def refuse(what, found, own):
    raise UserError(f"{what}: {found.tolist()} in training, {own.tolist()} now")


def report():
    reported.append("missing")


@pytest.fixture(autouse=True)
def nothing_reported():
    reported.clear()


def layer(version, on_missing=None):
    module = nn.Linear(2, 2)
    refusal = partial(refuse, "table")
    register_version(module, "table_version", torch.tensor(version), refusal, on_missing)
    return module


def without(state):
    return {name: tensor for name, tensor in state.items() if name != "table_version"}


def test_a_state_of_the_same_version_is_loaded_and_another_one_refused():
    layer(7).load_state_dict(layer(7).state_dict())
    with pytest.raises(UserError, match=r"table: 8 in training, 7 now"):
        layer(7).load_state_dict(layer(8).state_dict())


def test_versions_of_several_integers_are_compared_in_full_and_by_length():
    layer([7, 1]).load_state_dict(layer([7, 1]).state_dict())
    for other in ([7, 2], [7], [7, 1, 1]):
        with pytest.raises(UserError, match="table"):
            layer([7, 1]).load_state_dict(layer(other).state_dict())


@pytest.mark.parametrize(("own", "other"), [(7, [7]), (7, [7, 1]), ([7, 1], 7), (7, [])])
def test_a_version_of_another_number_of_dimensions_is_damaged(own, other):
    state = layer(own).state_dict() | {"table_version": torch.tensor(other)}
    with pytest.raises(UserError, match=r"damaged: table_version has shape \("):
        layer(own).load_state_dict(state)


@pytest.mark.parametrize("other", [7.5, math.nan, -math.inf])
def test_a_version_that_is_not_whole_is_damaged_and_a_whole_one_of_another_type_is_not(other):
    state = layer(7).state_dict()
    layer(7).load_state_dict(state | {"table_version": torch.tensor(7.0, dtype=torch.float64)})
    with pytest.raises(UserError, match="damaged: table_version has a number that is not wh"):
        layer(7).load_state_dict(state | {"table_version": torch.tensor(other)})


def test_a_part_is_compared_within_its_model():
    model, other = nn.Sequential(layer(7)), nn.Sequential(layer(8))
    assert "0.table_version" in model.state_dict()
    with pytest.raises(UserError, match="table"):
        model.load_state_dict(other.state_dict())


def test_half_precision_keeps_the_version_exactly():
    module = layer(2**53 + 1).half()
    assert module.table_version.item() == 2**53 + 1
    layer(2**53 + 1).load_state_dict(module.state_dict())


def test_a_state_without_it_fails_as_for_any_weight_unless_older_ones_are_accepted():
    state = without(layer(7).state_dict())
    with pytest.raises(RuntimeError, match="table_version"):
        layer(7).load_state_dict(dict(state))
    for on_missing, reports in ((accept, []), (report, ["missing"])):
        module = layer(7, on_missing)
        module.load_state_dict(dict(state))
        assert module.table_version == 7
        assert reported == reports


def test_a_copy_as_the_moving_average_reports_nothing():
    average = copy.deepcopy(layer(7, report))
    average.load_state_dict(without(layer(7).state_dict()), strict=False)
    assert not reported
    with pytest.raises(UserError):
        average.load_state_dict(layer(8).state_dict())
    strict = copy.deepcopy(layer(7))
    with pytest.raises(RuntimeError, match="table_version"):
        strict.load_state_dict(without(layer(7).state_dict()))


def test_a_pickled_module_still_compares():
    loaded = pickle.loads(pickle.dumps(layer(7)))
    with pytest.raises(UserError):
        loaded.load_state_dict(layer(8).state_dict())
