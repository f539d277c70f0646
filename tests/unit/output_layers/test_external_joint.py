"""The joint layer over fixed vectors against its equation, in float64."""

import numpy as np
import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.options import OutputLayerConfig
from fairseq_outlayers.output_layers import build_output_layer
from fairseq_outlayers.tables.external_table import VERSION
from tests.conftest import make_dictionary, write_external_table

H, JOINT = 6, 3


@pytest.fixture
def dictionary():
    return make_dictionary(9)


@pytest.fixture
def rows(dictionary):
    return np.random.RandomState(0).randn(len(dictionary), 4).astype(np.float32)


@pytest.fixture
def layer(tmp_path, dictionary, rows):
    table = write_external_table(tmp_path / "t.npy", dictionary, rows)
    config = OutputLayerConfig(
        output_layer="external_joint", external_classes=table, joint_dim=JOINT
    )
    torch.manual_seed(0)
    made = build_output_layer(config, nn.Embedding(13, 5), H, dictionary).double()
    for parameter in made.parameters():
        nn.init.normal_(parameter)
    return made


def test_logits_equal_the_equation(layer, rows):
    hidden = torch.randn(7, H, dtype=torch.float64)
    (u,), (v,) = layer.class_encoder.projections, layer.context_encoder.projections
    logits = layer(hidden)
    for n in range(7):
        context = (v.weight @ hidden[n] + v.bias).tanh()
        for k, row in enumerate(torch.from_numpy(rows).double()):
            expected = (u.weight @ row + u.bias).tanh() @ context + layer.bias[k]
            torch.testing.assert_close(logits[n, k], expected, rtol=1e-12, atol=1e-12)


def test_the_vectors_are_fixed_and_in_no_checkpoint(layer, rows):
    before = layer.class_vectors.clone()
    layer(torch.randn(2, H, dtype=torch.float64)).sum().backward()
    assert all(tensor.shape != rows.shape for tensor in layer.state_dict().values())
    assert all(parameter.shape != rows.shape for parameter in layer.parameters())
    assert torch.equal(layer.class_vectors, before)
    assert all(parameter.grad is not None for parameter in layer.parameters())


def test_a_checkpoint_refuses_other_vectors(tmp_path, layer, dictionary, rows):
    other = write_external_table(tmp_path / "other.npy", dictionary, rows + 1)
    config = OutputLayerConfig(
        output_layer="external_joint", external_classes=other, joint_dim=JOINT
    )
    changed = build_output_layer(config, nn.Embedding(13, 5), H, dictionary)
    with pytest.raises(UserError, match=r"other.npy: is not the table.*'external_classes'"):
        changed.load_state_dict(layer.state_dict())
    saved = [value for name, value in layer.state_dict().items() if name.endswith(VERSION)]
    assert [int(value) >> 32 for value in saved] == [len(rows)]


def test_without_a_table_it_is_refused(dictionary):
    config = OutputLayerConfig(output_layer="external_joint")
    with pytest.raises(UserError, match="external_joint needs --external-classes FILE"):
        build_output_layer(config, nn.Embedding(13, 5), H, dictionary)
