"""``--optimizer lazy_adam``: its options, and what the trainer does to the model for it."""

from types import SimpleNamespace

import pytest
import torch
from fairseq import options, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
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
from tests.conftest import make_batch, make_dictionary, make_model, small_sizes


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


def stock_trainer(folder):
    """fairseq's trainer of its own Transformer with an adaptive softmax, not of this package."""
    for language in ("src", "tgt"):
        make_dictionary(40).save(str(folder / f"dict.{language}.txt"))
    command = (
        f"{folder} -s src -t tgt --arch transformer --criterion adaptive_loss --ddp-backend "
        "legacy_ddp --adaptive-softmax-cutoff 10 --optimizer lazy_adam --lr 0.01 --max-tokens 99 "
        "--cpu --no-save --heartbeat-timeout 0"
    )
    sizes = small_sizes("transformer_outlayers").items()
    words = [*command.split(), *(f"--{name.replace('_', '-')}={value}" for name, value in sizes)]
    given = options.parse_args_and_arch(options.get_training_parser(), input_args=words)
    cfg = convert_namespace_to_omegaconf(given)
    task = tasks.setup_task(cfg.task)
    torch.manual_seed(1)
    model, criterion = task.build_model(cfg.model), task.build_criterion(cfg.criterion)
    return Trainer(cfg, task, model, criterion)


def test_fairseqs_own_models_with_an_adaptive_softmax_train_the_input_rows_of_a_batch_alone(
    tmp_path, caplog
):
    caplog.set_level("INFO")
    trainer = stock_trainer(tmp_path)
    said = "updated row by row: encoder.embed_tokens.weight, decoder.embed_tokens.weight"
    assert said in [record.getMessage() for record in caplog.records]
    model, pad = trainer.get_model(), trainer.task.target_dictionary.pad()
    of_sides = (("encoder", "src_tokens"), ("decoder", "prev_output_tokens"))
    seen, moved = ([{side: set() for side, _ in of_sides} for _ in range(2)] for _ in range(2))
    for update in range(2):
        batch = make_batch(trainer.task, [(6, 5), (4, 3)], seed=update)
        tables = {side: getattr(model, side).embed_tokens.weight for side, _ in of_sides}
        before = {side: table.detach().clone() for side, table in tables.items()}
        trainer.train_step([batch])
        for side, words in of_sides:
            seen[update][side] = set(batch["net_input"][words].flatten().tolist()) - {pad}
            rows = (tables[side] != before[side]).any(1).nonzero()
            moved[update][side] = set(rows.flatten().tolist())
    assert moved == seen
    # Under Adam, the rows of the first batch have moments that move them again.
    assert all(seen[0][side] - seen[1][side] for side, _ in of_sides)
