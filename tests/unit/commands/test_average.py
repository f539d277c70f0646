"""The mean of checkpoints, parameter by parameter."""

import os
import shutil
from argparse import Namespace

import pytest
import torch
from fairseq.models import MODEL_DATACLASS_REGISTRY

from fairseq_outlayers import load
from fairseq_outlayers.__main__ import main
from fairseq_outlayers.checkpoints.names import AVERAGE
from fairseq_outlayers.errors import UserError
from tests.unit.hub.conftest import save_checkpoint


def average(*paths, output):
    main(["average", *map(str, paths), "--output", str(output)])
    return torch.load(output)


@pytest.mark.parametrize("arch", ["luong_lstm", "esnmt", "subword_lm"])
def test_every_parameter_is_the_mean_and_the_model_scores(tmp_path, arch):
    paths = [save_checkpoint(tmp_path, arch, seed=seed) for seed in (1, 2, 3)]
    stored = [torch.load(path)["model"] for path in paths]
    found = average(*paths, output=tmp_path / "mean.pt")
    means = 0
    for name, tensor in found["model"].items():
        if tensor.is_floating_point():
            expected = sum(model[name].double() for model in stored) / 3
            torch.testing.assert_close(tensor.double(), expected, rtol=0, atol=1e-7)
            means += not torch.equal(tensor, stored[2][name])
    assert means > 0
    assert found["last_optimizer_state"] is None
    loaded = load(tmp_path / "mean.pt")
    for name, tensor in loaded.models[0].state_dict().items():
        assert torch.equal(tensor.cpu().to(found["model"][name]), found["model"][name]), name


def test_checkpoints_in_half_precision_are_summed_in_double(tmp_path):
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed=seed) for seed in (1, 2)]
    for path, value in zip(paths, (60000.0, 40000.0), strict=True):
        state = torch.load(path)
        state["model"] = {n: torch.full_like(t, value).half() for n, t in state["model"].items()}
        torch.save(state, path)
    found = average(*paths, output=tmp_path / "mean.pt")["model"]
    assert all(tensor.eq(50000).all() and tensor.dtype == torch.half for tensor in found.values())


def test_tied_tables_in_double_are_summed_once_each(tmp_path):
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed=seed) for seed in (1, 2)]
    for path, value in zip(paths, (1.0, 3.0), strict=True):
        state = torch.load(path)
        model = {n: torch.full_like(t, value).double() for n, t in state["model"].items()}
        model["decoder.embed_tokens.weight"] = model["encoder.embed_tokens.weight"]
        torch.save(state | {"model": model}, path)
    found = average(*paths, output=tmp_path / "mean.pt")["model"]
    assert all(tensor.eq(2).all() for tensor in found.values())


def test_what_is_not_of_one_model_is_refused_and_nothing_is_written(tmp_path):
    first = save_checkpoint(tmp_path, "luong_lstm")
    others = {
        "has decoder.recurrence": save_checkpoint(tmp_path, "esnmt"),
        r"encoder.embed_tokens.weight is \(17, 16\)": save_checkpoint(
            tmp_path, "luong_lstm", seed=2, embed_dim=16, hidden_size=16
        ),
    }
    for message, other in others.items():
        with pytest.raises(UserError, match=message):
            average(first, other, output=tmp_path / "mean.pt")
    frozen = [save_checkpoint(tmp_path, "esnmt", seed=seed, reservoir_seed=seed) for seed in (1, 2)]
    with pytest.raises(UserError, match=r"version differs in .* regenerated from other seeds"):
        average(*frozen, output=tmp_path / "mean.pt")
    for paths in ([first], [first, first]):
        with pytest.raises(UserError, match="two checkpoints or more, each once"):
            average(*paths, output=tmp_path / "mean.pt")
    assert not (tmp_path / "mean.pt").exists()


@pytest.mark.parametrize(
    ("arch", "option", "values", "others"),
    [
        ("luong_lstm", "joint_activation", ("relu", "tanh"), {"output_layer": "joint"}),
        ("esnmt", "spectral_radius", ("0.9", "0.3"), {}),
        ("esnmt", "leak_rate", (1.0, 0.5), {}),
        ("transformer_outlayers", "activation_fn", ("relu", "gelu"), {}),
        ("transformer_lm_outlayers", "activation_fn", ("gelu", "relu"), {}),
    ],
)
def test_models_that_compute_something_else_are_refused_by_their_option(
    tmp_path, arch, option, values, others
):
    first, second = (
        save_checkpoint(tmp_path, arch, seed=seed, **{option: value}, **others)
        for seed, value in enumerate(values, start=1)
    )
    flag = f"--{option.replace('_', '-')}"
    message = f"^{second} has {flag} {values[1]}, {first} {values[0]}: average checkpoints of one"
    with pytest.raises(UserError, match=message):
        average(first, second, output=tmp_path / "mean.pt")
    assert not (tmp_path / "mean.pt").exists()


@pytest.mark.parametrize(
    ("arch", "options"),
    [
        ("luong_lstm", {"dropout": 0.4, "embedding_dropout": 0.4, "init_range": 0.3}),
        ("transformer_outlayers", {"dropout": 0.4, "encoder_layerdrop": 0.1}),
        ("lstm", {"encoder_dropout_in": 0.4}),
        ("esnmt", {"gamma_init": 2.0}),
    ],
)
def test_options_of_the_training_may_differ(tmp_path, arch, options):
    paths = [
        save_checkpoint(tmp_path, arch, seed=seed, **given)
        for seed, given in enumerate(({}, options), start=1)
    ]
    for path, rate in zip(paths, (0.1, 0.2), strict=True):
        state = torch.load(path)
        if arch not in MODEL_DATACLASS_REGISTRY:  # fairseq stores all options of the command
            state["cfg"]["model"] = Namespace(**state["cfg"]["model"], lr=[rate], seed=rate)
        torch.save(state, path)
    assert average(*paths, output=tmp_path / "mean.pt")["extra_state"] == {AVERAGE: 2}


def with_training(path, common, start, old=False):
    """Change a checkpoint's seed and ``--finetune-from-model``; old ones have one namespace."""
    state = torch.load(path)
    if old:
        options = state["cfg"]["task"] | state["cfg"]["model"] | common
        state |= {"cfg": None, "args": Namespace(**options | {"finetune_from_model": start})}
    else:
        state["cfg"]["common"] = common
        state["cfg"]["checkpoint"]["finetune_from_model"] = start
    torch.save(state, path)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(
    ("seeds", "starts"),
    [
        ((1, 2), (None, None)),
        ((1, 2), ("", "")),
        ((3, 1), ("start.pt", None)),
        ((1, 2), ("start.pt", "other.pt")),
    ],
)
def test_checkpoints_of_two_trainings_are_refused_by_their_seeds(tmp_path, old, seeds, starts):
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed=seed) for seed in (1, 2)]
    for path, seed, start in zip(paths, seeds, starts, strict=True):
        with_training(path, {"seed": seed}, start, old)
    message = (
        f"^{paths[1]} has --seed {seeds[1]}, {paths[0]} {seeds[0]}: average checkpoints of one "
        "training, or of models with one --finetune-from-model$"
    )
    with pytest.raises(UserError, match=message):
        average(*paths, output=tmp_path / "mean.pt")
    assert not (tmp_path / "mean.pt").exists()


@pytest.mark.parametrize(
    ("first", "second", "start", "old"),
    [
        ({"seed": 1}, {"seed": 1}, None, False),
        ({"seed": 1}, {"seed": 2}, "start.pt", False),
        ({"seed": 1}, {"seed": 2}, "start.pt", True),
        ({"seed": 1}, {}, None, True),
    ],
)
def test_one_training_fine_tuned_models_of_one_start_and_unknown_seeds_pass(
    tmp_path, first, second, start, old
):
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed=seed) for seed in (1, 2)]
    for path, common in zip(paths, (first, second), strict=True):
        with_training(path, common, start, old)
    assert average(*paths, output=tmp_path / "mean.pt")["extra_state"] == {AVERAGE: 2}


@pytest.mark.parametrize("command", ["average", "partition-correction"])
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cfg": None}, "it has neither 'args' nor 'cfg', the options of the training"),
        ({"cfg": {"model": {}}}, "its 'cfg' has no options of the task"),
        ({"model": {"x": 1}}, "x in its 'model' is a int"),
    ],
)
def test_what_is_no_checkpoint_of_a_training_is_one_line(tmp_path, command, changed, message):
    path = save_checkpoint(tmp_path, "luong_lstm")
    torch.save({**torch.load(path), **changed}, path)
    paths = [path, save_checkpoint(tmp_path, "luong_lstm", seed=2)]
    paths = paths if command == "average" else paths[:1]
    with pytest.raises(UserError, match=f"^{path}: not a fairseq checkpoint, {message}; give "):
        main([command, *paths, "--output", str(tmp_path / "new.pt")])
    assert not (tmp_path / "new.pt").exists()


@pytest.mark.parametrize("broken", [0, 1])
def test_a_checkpoint_with_nan_is_refused_by_its_name_and_an_infinite_bias_is_not(tmp_path, broken):
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed=seed) for seed in (1, 2)]
    state = torch.load(paths[broken])
    bias = state["model"]["decoder.output_projection.bias"]
    bias[3] = -torch.inf
    torch.save(state, paths[broken])
    found = average(*paths, output=tmp_path / "infinite.pt")["model"]
    assert found["decoder.output_projection.bias"][3] == -torch.inf
    bias[3] = torch.nan
    torch.save(state, paths[broken])
    message = rf"^{paths[broken]}: decoder.output_projection.bias has .* numbers \(NaN\)"
    with pytest.raises(UserError, match=message):
        average(*paths, output=tmp_path / "mean.pt")
    assert not (tmp_path / "mean.pt").exists()


@pytest.mark.parametrize("broken", [0, 1])
@pytest.mark.parametrize("value", [torch.inf, -torch.inf])
def test_a_checkpoint_with_an_infinite_weight_is_refused_by_its_name(tmp_path, broken, value):
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed=seed) for seed in (1, 2)]
    state = torch.load(paths[broken])
    state["model"]["decoder.embed_tokens.weight"][3, 1] = value
    torch.save(state, paths[broken])
    message = f"^{paths[broken]}: decoder.embed_tokens.weight has infinite values"
    with pytest.raises(UserError, match=message):
        average(*paths, output=tmp_path / "mean.pt")
    assert not (tmp_path / "mean.pt").exists()


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_uninitialized_memory_that_fairseq_stores_is_no_weight(tmp_path, value):
    """Of its adaptive softmax and inputs: ``register_buffer("_float_tensor", FloatTensor(1))``."""
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed=seed) for seed in (1, 2)]
    for path in paths:
        state = torch.load(path)
        state["model"]["decoder.adaptive_softmax._float_tensor"] = torch.tensor([value])
        torch.save(state, path)
    average(*paths, output=tmp_path / "mean.pt")


@pytest.mark.parametrize("second", ["link", "copy", "rewritten"])
def test_one_checkpoint_under_two_names_is_refused_and_both_are_named(tmp_path, second):
    best, other = (save_checkpoint(tmp_path, "luong_lstm", seed=seed) for seed in (1, 2))
    last = tmp_path / "checkpoint_last.pt"
    if second == "rewritten":  # equal parameters in another file, as after validation
        torch.save({**torch.load(best), "extra_state": {"best": 1.0}}, last)
    else:
        (os.link if second == "link" else shutil.copy)(best, last)
    with pytest.raises(UserError, match=rf"^{best} and {last} have equal parameters: .* once$"):
        average(best, other, last, output=tmp_path / "mean.pt")
    assert not (tmp_path / "mean.pt").exists()


def test_an_existing_file_is_not_overwritten(tmp_path):
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed=seed) for seed in (1, 2)]
    (tmp_path / "mean.pt").write_text("older")
    with pytest.raises(UserError, match="already exists"):
        average(*paths, output=tmp_path / "mean.pt")
    assert (tmp_path / "mean.pt").read_text() == "older"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_corrected_and_uncorrected_scores_of_partitions_are_not_averaged(tmp_path, order):
    paths = [save_checkpoint(tmp_path, "rnnsearch", seed=seed) for seed in (1, 2)]
    for path, correction in zip(paths, ("log_share", "none"), strict=True):
        state = torch.load(path)
        state["cfg"]["task"] |= {"partition_size": 10, "partition_mode": "paper"}
        state["cfg"]["criterion"] = {"partition_correction": correction}
        torch.save(state, path)
    message = rf"{paths[0]} has scores corrected for partitions, {paths[1]} has not: correct it"
    with pytest.raises(UserError, match=message):
        average(*(paths[k] for k in order), output=tmp_path / "mean.pt")
    assert not (tmp_path / "mean.pt").exists()
