"""Checkpoints from before idle options were refused load, and mean what they meant."""

import argparse

import pytest
import torch
from fairseq import checkpoint_utils, models
from fairseq.models import MODEL_DATACLASS_REGISTRY
from omegaconf import OmegaConf

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.output_layers.tied import TiedOutputLayer
from tests.conftest import make_task


def stored(tmp_path, arch, **options):
    """The options of a model as they are after they were stored in a checkpoint and loaded."""
    return stored_with_task(tmp_path, arch, {}, **options).model


def stored_with_task(tmp_path, arch, of_task, **options):
    """The same, of all parts; ``of_task`` has those of the task."""
    model = {**options, "_name": arch}
    if arch in MODEL_DATACLASS_REGISTRY:
        config = OmegaConf.structured(MODEL_DATACLASS_REGISTRY[arch](**options))
        model = {**OmegaConf.to_container(config, enum_to_str=True), "_name": arch}
    tasks = {"_name": "translation", "data": "x", **of_task}
    path = str(tmp_path / "checkpoint.pt")
    state = {
        "cfg": {"model": model, "task": tasks, "criterion": None},
        "model": {"weight": torch.zeros(1)},
        "extra_state": {"train_iterator": {"epoch": 1}},
        "optimizer_history": [
            {"optimizer_name": "Adam", "lr_scheduler_state": {}, "num_updates": 1}
        ],
        "last_optimizer_state": None,
    }
    torch.save(state, path)
    return checkpoint_utils.load_checkpoint_to_cpu(path)["cfg"]


def build(config):
    task = make_task()
    task.source_dictionary = task.target_dictionary
    return models.build_model(config, task, from_checkpoint=True)


SMALL = {"embed_dim": 8, "hidden_size": 8}


def test_an_option_that_changed_nothing_is_forgotten(tmp_path):
    config = stored(tmp_path, "luong_lstm", output_layer="tied", joint_dim=64, unit_dim=5, **SMALL)
    assert (config.joint_dim, config.unit_dim) == (512, 0)
    assert type(build(config).decoder.output_projection) is TiedOutputLayer


def test_an_option_that_acted_is_kept(tmp_path):
    config = stored(tmp_path, "luong_lstm", output_layer="joint", joint_dim=64, **SMALL)
    assert build(config).decoder.output_projection.project(torch.zeros(8)).size(0) == 64


def test_options_of_frozen_parts_are_forgotten_where_nothing_is_frozen(tmp_path):
    given = {"spectral_radius": "0.5", "leak_rate": 0.5, "reservoir_seed": 7, **SMALL}
    given |= {"encoder_layers": 1, "decoder_layers": 1, "attention_heads": 2}
    config = stored(tmp_path, "esnmt_paper", release="all", **given)
    assert (config.spectral_radius, config.leak_rate, config.reservoir_seed) == ("learned", 1.0, 1)
    assert str(config.echo_start) == "paper"  # the size's own default
    build(config)
    config = stored(tmp_path, "esnmt", release="decoder", **given)
    assert (config.spectral_radius, config.leak_rate, config.reservoir_seed) == ("0.5", 0.5, 7)


@pytest.mark.parametrize(("frozen", "seed"), [("", 1), ("0", 7)])
def test_a_transformer_without_frozen_layers_forgets_their_seed(tmp_path, frozen, seed):
    layers = {"frozen_encoder_layers": frozen, "frozen_decoder_layers": ""}
    config = stored(tmp_path, "transformer_outlayers", **layers, reservoir_seed=7)
    assert config.reservoir_seed == seed


def test_named_sizes_keep_what_they_are(tmp_path):
    config = stored(tmp_path, "charcnn_lm_medium", hidden_size=8, tie="none")
    assert (config.char_widths, config.char_filters) == (7, 50)
    assert build(config).decoder.embed_tokens.embedding_dim == 50 + 100 + 150 + 200 * 4


@pytest.mark.parametrize(("tie", "layer"), [("original", LinearOutputLayer), ("emb", None)])
@pytest.mark.parametrize("arch", ["word_lm", "subword_lm"])
def test_the_plain_layers_of_subword_models_load(tmp_path, arch, tie, layer):
    config = stored(tmp_path, arch, hidden_size=8, composition="word", tie=tie)
    found = build(config).decoder.output_projection
    assert type(found) is (layer or TiedOutputLayer)
    names = {name for name, _ in found.named_parameters()}
    assert names == ({"bias", "weight"} if layer else {"bias"})


def test_the_same_on_the_command_line_is_refused():
    config = MODEL_DATACLASS_REGISTRY["luong_lstm"](output_layer="tied", joint_dim=64, **SMALL)
    with pytest.raises(UserError, match="--joint-dim 64 has no effect with --output-layer tied"):
        models.build_model(
            argparse.Namespace(**{**vars(config), "_name": "luong_lstm"}), make_task()
        )


@pytest.mark.parametrize(("arch", "kept"), [("rnnsearch", False), ("word_lm", True)])
def test_translation_by_recurrent_models_forgets_that_targets_were_padded_on_the_left(
    tmp_path, arch, kept
):
    assert stored_with_task(tmp_path, arch, {"left_pad_target": True}).task.left_pad_target is kept
