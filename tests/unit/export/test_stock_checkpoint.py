"""Exported models score as before, fairseq's own without this package."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fairseq_outlayers import load
from fairseq_outlayers.__main__ import main
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.export import stock_checkpoint
from fairseq_outlayers.export.stock_checkpoint import export_checkpoint
from fairseq_outlayers.models.dictionary_check import _warn_once
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import LANGUAGE_MODEL_ARCHITECTURES, TRANSLATION_ARCHITECTURES, make_dictionary
from tests.unit.export.test_baking import NONLINEAR
from tests.unit.hub.conftest import save_checkpoint

AFFINE = sorted(set(OUTPUT_LAYERS) - NONLINEAR)
PAIRS = [("w1 w2 w3", "w4 w1"), ("w5", "w0 w2 w9 w11"), ("w7 w8", "w3")]

# Imports fairseq alone; what loads a checkpoint must not find this package.
STOCK = """
import sys, torch
from fairseq import checkpoint_utils
(model,), config, task = checkpoint_utils.load_model_ensemble_and_task([sys.argv[1]])
assert not any(name.startswith("fairseq_outlayers") for name in sys.modules)
inputs = torch.load(sys.argv[2])
scores = model.eval().get_normalized_probs(model(**inputs), log_probs=True)
torch.save(scores.detach(), sys.argv[3])
"""


def with_biases(path):
    """Class biases start at zero; those of a trained model are not."""
    state = torch.load(path, weights_only=False)
    for name, value in state["model"].items():
        if name.endswith("output_projection.bias"):
            value.normal_()
    torch.save(state, path)
    return path


@pytest.mark.parametrize("layer", AFFINE)
@pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
def test_translation_models_score_as_before(arch, layer, tmp_path, caplog):
    _warn_once.cache_clear()
    sizes = {"bilinear": 1, "output_structure": 1}
    if arch in ("rnmt_plus", "esnmt", "esnmt_lstm") and layer not in ("linear", *sizes):
        pytest.skip("needs equal sizes of embeddings and states")
    path = with_biases(save_checkpoint(tmp_path, arch, output_layer=layer))
    exported = export_checkpoint(path, tmp_path / "out" / "model.pt")
    # Bilinear scores reach 400 here, where float32 numbers lie 3e-5 apart.
    largest = max(-min(one.tokens) for one in load(path).score(PAIRS))
    assert exported.difference <= max(1e-5, 2**-22 * largest)
    assert exported.needs_plugin == (arch != "transformer_outlayers")
    assert "fingerprint" not in caplog.text
    for one, other in zip(
        load(path).score(PAIRS), load(tmp_path / "out" / "model.pt").score(PAIRS), strict=True
    ):
        assert one.tokens == pytest.approx(other.tokens, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("arch", ["luong_lstm", "transformer_outlayers"])
def test_options_of_the_layer_that_was_baked_are_not_handed_on(arch, tmp_path):
    layer = {"output_layer": "deep_residual", "deep_residual_layers": 3}
    path = with_biases(save_checkpoint(tmp_path, arch, **layer))
    assert export_checkpoint(path, tmp_path / "out" / "model.pt").difference < 1e-5
    exported = torch.load(tmp_path / "out" / "model.pt", weights_only=False)["cfg"]["model"]
    assert exported.get("deep_residual_layers") != 3
    assert len(load(tmp_path / "out" / "model.pt").score(PAIRS)) == len(PAIRS)


@pytest.mark.parametrize("arch", LANGUAGE_MODEL_ARCHITECTURES)
def test_language_models_score_as_before(arch, tmp_path):
    path = with_biases(save_checkpoint(tmp_path, arch, output_layer="linear"))
    export_checkpoint(path, tmp_path / "out" / "model.pt")
    texts = ["w1 w2 w3", "w9"]
    for one, other in zip(
        load(path).score(texts), load(tmp_path / "out" / "model.pt").score(texts), strict=True
    ):
        assert one.tokens == pytest.approx(other.tokens, abs=1e-5)


@pytest.mark.parametrize("layer", ["tied", "deep_residual"])
@torch.no_grad()
def test_fairseq_loads_a_transformer_without_this_package(layer, tmp_path):
    path = with_biases(save_checkpoint(tmp_path, "transformer_outlayers", output_layer=layer))
    export_checkpoint(path, tmp_path / "out" / "model.pt")
    (model,) = load(path).models
    inputs = {
        "src_tokens": torch.tensor([[4, 5, 6, 2]]),
        "src_lengths": torch.tensor([4]),
        "prev_output_tokens": torch.tensor([[2, 7, 8]]),
    }
    torch.save(inputs, tmp_path / "inputs.pt")
    files = [tmp_path / "out" / "model.pt", tmp_path / "inputs.pt", tmp_path / "scores.pt"]
    subprocess.run([sys.executable, "-c", STOCK, *map(str, files)], check=True, cwd=tmp_path)
    expected = model.get_normalized_probs(model(**inputs), log_probs=True)
    torch.testing.assert_close(torch.load(files[2]), expected, rtol=0, atol=1e-5)


def test_an_export_that_scores_otherwise_is_not_written(tmp_path, monkeypatch):
    path = save_checkpoint(tmp_path, "transformer_outlayers")
    baked = stock_checkpoint.bake

    def wrong(*arguments):
        found = baked(*arguments)
        return found._replace(weight=found.weight + 0.01 * torch.randn_like(found.weight))

    monkeypatch.setattr(stock_checkpoint, "bake", wrong)
    with pytest.raises(UserError, match=r"exported model's scores differ by .*: not written"):
        export_checkpoint(path, tmp_path / "out.pt")
    assert not (tmp_path / "out.pt").exists()


def test_nothing_is_overwritten_nor_half_written(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(UserError, match="mine exists: name another --output"):
        export_checkpoint(path, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "precious"


@pytest.mark.parametrize("layer", sorted(NONLINEAR - {"external_joint"}))
def test_nonlinear_layers_are_refused_and_nothing_is_written(layer, tmp_path):
    path = save_checkpoint(tmp_path, "transformer_outlayers", output_layer=layer)
    with pytest.raises(UserError, match="maps contexts nonlinearly"):
        export_checkpoint(path, tmp_path / "out" / "model.pt")
    assert not (tmp_path / "out").exists()


def test_a_nonlinear_layer_with_options_of_its_own_is_refused_for_what_it_is(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm", output_layer="joint", joint_dim=7)
    with pytest.raises(UserError, match="maps contexts nonlinearly"):
        export_checkpoint(path, tmp_path / "out" / "model.pt")


@pytest.mark.parametrize("arch", ["transformer", "lstm"])
def test_fairseqs_own_layer_is_not_exported_but_converted(arch, tmp_path):
    path = save_checkpoint(tmp_path, arch)
    with pytest.raises(UserError, match=r"fairseq's own.*ct2-fairseq-converter --user_dir"):
        export_checkpoint(path, tmp_path / "out" / "model.pt")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_exists_is_left_alone(tmp_path, capsys):
    path = save_checkpoint(tmp_path, "transformer_outlayers")
    (tmp_path / "old").mkdir()
    with pytest.raises(UserError, match="old exists: name another --output"):
        main(["export", path, "--to", "fairseq", "--output", str(tmp_path / "old")])
    assert list((tmp_path / "old").iterdir()) == []


@pytest.mark.parametrize("target", ["file", "folder"])
def test_an_export_that_is_killed_leaves_nothing_and_the_next_one_succeeds(
    target, tmp_path, monkeypatch
):
    path, output = save_checkpoint(tmp_path, "luong_lstm"), tmp_path / "out"
    before = sorted(tmp_path.iterdir())

    def export():
        if target == "file":
            export_checkpoint(path, output)
        else:
            main(["export", path, "--to", "fairseq", "--output", str(output)])

    def killed(state, file):
        Path(getattr(file, "name", file)).write_bytes(b"half of it")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            export()
    assert sorted(tmp_path.iterdir()) == before
    export()
    assert len(load(output if target == "file" else output / "model.pt").score(PAIRS)) == len(PAIRS)


@pytest.mark.parametrize(
    ("arch", "program", "more"),
    [
        ("transformer_outlayers", "fairseq-generate", " --required-batch-size-multiple 1"),
        ("luong_lstm", "fairseq-generate", ' --user-dir "$(python -m fairseq_outlayers)"'),
        ("transformer_lm_outlayers", "fairseq-eval-lm", ""),
        ("transformer_lm_outlayers", "fairseq-eval-lm", " --add-bos-token"),
        ("transformer_lm_outlayers", "fairseq-eval-lm", " --sample-break-mode eos"),
        (
            "subword_lm",
            "fairseq-eval-lm",
            " --task subword_language_modeling --tokens-per-sample 35"
            ' --user-dir "$(python -m fairseq_outlayers)"',
        ),
    ],
)
def test_the_command_says_what_evaluates_the_model(arch, program, more, tmp_path, capsys):
    of_task = {"add_bos_token": True} if "bos" in more else {}
    of_task |= {"sample_break_mode": "eos"} if "break" in more else {}
    path = save_checkpoint(tmp_path, arch, of_task=of_task)
    main(["export", path, "--to", "fairseq", "--output", str(tmp_path / "out")])
    said = f"load it with: {program} {tmp_path} --path {tmp_path / 'out' / 'model.pt'}{more}\n"
    assert capsys.readouterr().out.endswith(said)


def test_a_folder_of_dictionaries_tells_the_languages(tmp_path):
    """fairseq stores only languages that were given."""
    path = save_checkpoint(tmp_path, "transformer_outlayers")
    state = torch.load(path, weights_only=False)
    state["cfg"]["task"].update(source_lang=None, target_lang=None)
    torch.save(state, path)
    export_checkpoint(path, tmp_path / "out" / "model.pt")
    stored = torch.load(tmp_path / "out" / "model.pt", weights_only=False)["cfg"]["task"]
    assert (stored["source_lang"], stored["target_lang"]) == ("src", "tgt")


def test_dictionaries_beside_a_checkpoint_serve_if_the_data_are_gone(tmp_path):
    (tmp_path / "trained").mkdir()
    path = save_checkpoint(tmp_path / "trained", "transformer_outlayers")
    (tmp_path / "trained").rename(tmp_path / "moved to")
    moved = tmp_path / "moved to" / Path(path).name
    export_checkpoint(str(moved), tmp_path / "out" / "model.pt")
    for dictionary in moved.parent.glob("dict*.txt"):
        dictionary.unlink()
    with pytest.raises(UserError, match=r"has no dictionaries: pass --data .* with the folder"):
        export_checkpoint(str(moved), tmp_path / "other" / "model.pt")


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none.pt: no such checkpoint"):
        export_checkpoint("none.pt", tmp_path / "model.pt")


def test_a_constant_of_the_context_map_becomes_a_bias(tmp_path):
    options = {"output_layer": "joint", "joint_activation": "none", "no_class_bias": True}
    path = save_checkpoint(tmp_path, "luong_lstm", **options)
    assert export_checkpoint(path, tmp_path / "out" / "model.pt").difference < 1e-5


@pytest.mark.parametrize("name", ["share_all_embeddings", "share_decoder_input_output_embed"])
def test_shared_embeddings_are_untied(name, tmp_path, monkeypatch):
    def equal(folder):
        for file in ("dict.src.txt", "dict.tgt.txt", "dict.txt"):
            make_dictionary(17).save(str(folder / file))

    monkeypatch.setattr("tests.unit.hub.conftest.write_data", equal)
    path = save_checkpoint(tmp_path, "transformer_outlayers", output_layer="tied", **{name: True})
    assert export_checkpoint(with_biases(path), tmp_path / "out.pt").difference < 1e-4


@pytest.mark.parametrize("arch", ["transformer_outlayers", "transformer_lm_outlayers"])
def test_a_norm_behind_the_last_layer_carries_the_biases(arch, tmp_path):
    options = {"output_layer": "tied", "decoder_normalize_before": True}
    path = with_biases(save_checkpoint(tmp_path, arch, **options))
    assert export_checkpoint(path, tmp_path / "out.pt").difference < 1e-4


def test_an_export_with_scores_that_are_no_numbers_is_not_written(tmp_path):
    path = save_checkpoint(tmp_path, "transformer_outlayers")
    state = torch.load(path, weights_only=False)
    state["model"]["decoder.output_projection.bias"][3] = -torch.inf
    torch.save(state, path)
    with pytest.raises(UserError, match="differ by nan: not written"):
        export_checkpoint(path, tmp_path / "out.pt")
    assert not (tmp_path / "out.pt").exists()
