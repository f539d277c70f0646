"""``--optimizer lazy_adam``: its options, and what the trainer does to the model for it."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.trainer import Trainer

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.optim import lazy_adam, row_gradients
from fairseq_outlayers.optim.betas import parse_betas
from fairseq_outlayers.optim.lazy_adam import LazyAdam, LazyAdamConfig
from fairseq_outlayers.optim.tables import (
    hide_from_pytorch_ddp,
    make_row_sparse,
    row_sparse_parameters,
)
from fairseq_outlayers.output_layers import TiedOutputLayer
from fairseq_outlayers.tables.table import table_of
from tests.conftest import make_model


def make_config(**options):
    """The options as fairseq fills them in."""
    config = LazyAdamConfig()
    given = {
        "lr": [0.01],
        **dict.fromkeys(("fp16", "bf16", "tpu", "use_bmuf"), False),
        "ddp_backend": "pytorch_ddp",
        "zero_sharding": "none",
        **options,
    }
    for name, value in given.items():
        setattr(config, name, value)
    return config


def test_options_reach_the_optimizer():
    config = make_config(adam_betas="(0.8, 0.98)", adam_eps=1e-6, weight_decay=0.1)
    optimizer = OPTIMIZER_REGISTRY["lazy_adam"](config, [torch.nn.Parameter(torch.zeros(2))])
    (group,) = optimizer.param_groups
    assert (group["lr"], group["betas"], group["eps"], group["weight_decay"]) == (
        0.01,
        (0.8, 0.98),
        1e-6,
        0.1,
    )
    optimizer.set_lr(0.5)
    assert optimizer.get_lr() == 0.5


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("fp16", True, "--fp16 does not support.*use --amp"),
        ("bf16", True, "--bf16 does not support"),
        ("tpu", True, "--tpu does not support.*--optimizer adam"),
        ("use_bmuf", True, "--use-bmuf does not support"),
        ("ddp_backend", "fully_sharded", "--ddp-backend fully_sharded.*use pytorch_ddp or legacy"),
        ("ddp_backend", "slowmo", "--ddp-backend slowmo"),
        ("zero_sharding", "os", "--zero-sharding os.*leave it out"),
        ("adam_betas", "0.9", "--adam-betas 0.9: must be two numbers"),
        ("adam_betas", "(0.9, 1.0)", "--adam-betas .0.9, 1.0.: must be two numbers"),
        ("adam_betas", "(1.0, 0.9)", "--adam-betas .1.0, 0.9.: must be two numbers"),
        ("adam_betas", "(-0.1, 0.9)", "--adam-betas .-0.1, 0.9.: must be two numbers"),
        ("adam_betas", "(0.9, -0.1)", "--adam-betas .0.9, -0.1.: must be two numbers"),
        ("adam_betas", "(0.9, b)", "--adam-betas .0.9, b.: must be two numbers"),
        ("adam_eps", -1.0, "--adam-eps -1.0: must be above 0"),
        ("weight_decay", -0.1, "--weight-decay -0.1: must be at least 0"),
    ],
)
def test_what_does_not_go_with_it_is_refused_by_name_before_the_model_is_touched(
    task, option, value, said
):
    model = make_model("luong_lstm", task)
    with pytest.raises(UserError, match=said):
        LazyAdam.prepare_model(make_config(**{option: value}), model)
    assert not row_sparse_parameters(model)


@pytest.mark.parametrize(("name", "expected"), [("lazy_adam", True), ("adam", False)])
def test_the_trainer_prepares_the_model_for_this_optimizer_alone(task, monkeypatch, name, expected):
    model = make_model("luong_lstm", task)
    alone = SimpleNamespace(heartbeat_timeout=0)
    config = SimpleNamespace(optimizer=make_config(_name=name), distributed_training=alone)
    with pytest.raises(AttributeError):  # where fairseq's own constructor wants more options
        Trainer(config, task, model, None)
    assert table_of(model.decoder.embed_tokens).row_sparse == expected
    assert model.encoder.embed_tokens.sparse == expected


def test_frozen_tables_and_other_parameters_are_left_alone(task):
    model = make_model("luong_lstm", task, output_layer="joint", joint_dim=len(task.tgt_dict))
    model.encoder.embed_tokens.weight.requires_grad_(False)
    assert make_row_sparse(model) == [
        "decoder.embed_tokens.weight",
        "decoder.output_projection.bias",
    ]


def test_a_shared_table_is_one_table_that_data_parallelism_ignores_by_both_names(task):
    task.source_dictionary = task.target_dictionary
    model = make_model("luong_lstm", task, output_layer="tied", share_all_embeddings=True)
    names = make_row_sparse(model)
    assert names == ["encoder.embed_tokens.weight", "decoder.output_projection.bias"]
    hide_from_pytorch_ddp(model)
    assert model._ddp_params_and_buffers_to_ignore == [
        "encoder.embed_tokens.weight",
        "decoder.embed_tokens.weight",
        "decoder.output_projection.bias",
    ]


@pytest.mark.parametrize("option", [{"max_norm": 1.0}, {"scale_grad_by_freq": True}])
def test_embeddings_that_change_in_a_lookup_are_refused(option):
    embedding = torch.nn.Embedding(4, 3, **option)
    ((name, value),) = option.items()
    with pytest.raises(UserError, match=f"Embedding with {name}={value}: output layers and row-sp"):
        make_row_sparse(embedding)
    assert not embedding.sparse
    with pytest.raises(UserError, match=f"Embedding with {name}={value}"):
        TiedOutputLayer(embedding)


@pytest.mark.parametrize("backend", ["pytorch_ddp", "c10d", "legacy_ddp", "no_c10d"])
def test_backends_that_keep_whole_parameters_are_accepted(task, backend):
    model = make_model("luong_lstm", task)
    LazyAdam.prepare_model(make_config(ddp_backend=backend), model)
    assert row_sparse_parameters(model)


def test_betas_of_zero_are_accepted():
    assert parse_betas("(0, 0.0)") == (0, 0)


def test_what_ddp_ignores_already_stays_ignored():
    model = torch.nn.ModuleDict({"embed": torch.nn.Embedding(4, 2), "body": torch.nn.Linear(2, 2)})
    model._ddp_params_and_buffers_to_ignore = ["body.bias"]
    make_row_sparse(model)
    for _ in range(2):
        hide_from_pytorch_ddp(model)
        assert model._ddp_params_and_buffers_to_ignore == ["body.bias", "embed.weight"]


def test_the_buffer_of_legacy_ddp_has_no_room_for_tables():
    model = torch.nn.ModuleDict({"embed": torch.nn.Embedding(4, 2), "body": torch.nn.Linear(2, 3)})
    wrapper = torch.nn.Module()
    wrapper.module, wrapper.buffer, wrapper.buffer_size = model, None, 2**28
    proxy = torch.nn.Module()
    proxy.module = wrapper
    with row_gradients.hidden([model["embed"].weight]):
        lazy_adam._shrink_buffer(proxy)
    assert wrapper.buffer_size == 2 * 3 + 3
