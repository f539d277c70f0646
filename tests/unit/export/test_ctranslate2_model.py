"""CTranslate2 translates as fairseq does."""

import errno
import os
import sys
from pathlib import Path

import pytest
import torch

from fairseq_outlayers import load
from fairseq_outlayers.__main__ import main
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.export.ctranslate2_model import export_ctranslate2
from tests.unit.export.test_stock_checkpoint import AFFINE, with_biases
from tests.unit.hub.conftest import save_checkpoint

ctranslate2 = pytest.importorskip("ctranslate2", reason="pip install ctranslate2")
NUM_SENTENCES, LIMIT = 300, 15


def sentences():
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(1, 9, (NUM_SENTENCES,), generator=generator).tolist()
    return [
        " ".join(f"w{n}" for n in torch.randint(13, (length,), generator=generator).tolist())
        for length in lengths
    ]


@pytest.mark.parametrize("layer", AFFINE)
def test_greedy_translations_are_equal_token_for_token(layer, tmp_path):
    # With wider beams the two end searches differently: tests/system/test_export.py has those of
    # a model that ends its sentences.
    path = with_biases(save_checkpoint(tmp_path, "transformer_outlayers", output_layer=layer))
    export_ctranslate2(path, tmp_path / "exported")
    translator = ctranslate2.Translator(str(tmp_path / "exported"))
    texts = sentences()
    found = translator.translate_batch(
        [text.split() for text in texts], beam_size=1, max_decoding_length=LIMIT
    )
    expected = load(path).translate(texts, beam=1, max_len_a=0, max_len_b=LIMIT)
    assert [result.hypotheses[0] for result in found] == [t.target for t in expected]


def test_a_conversion_that_fails_leaves_nothing_and_the_next_one_succeeds(tmp_path, monkeypatch):
    path = save_checkpoint(tmp_path, "transformer_outlayers", output_layer="tied")
    before = sorted(tmp_path.iterdir())

    def failing(converter, folder, **options):
        Path(folder).mkdir(exist_ok=True)
        (Path(folder) / "model.bin").write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(ctranslate2.converters.FairseqConverter, "convert", failing)
        with pytest.raises(OSError, match="No space left"):
            export_ctranslate2(path, tmp_path / "in" / "exported")
    assert sorted(tmp_path.iterdir()) == before
    export_ctranslate2(path, tmp_path / "in" / "exported")
    ctranslate2.Translator(str(tmp_path / "in" / "exported"))
    assert [each.name for each in (tmp_path / "in").iterdir()] == ["exported"]


def test_a_small_temporary_folder_is_not_used(tmp_path, monkeypatch):
    path = save_checkpoint(tmp_path, "transformer_outlayers", output_layer="tied")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    export_ctranslate2(path, tmp_path / "exported")
    ctranslate2.Translator(str(tmp_path / "exported"))


def test_what_exists_is_left_alone(tmp_path):
    (tmp_path / "exported").mkdir()
    path = save_checkpoint(tmp_path, "transformer_outlayers")
    with pytest.raises(UserError, match="exported exists: name another --output"):
        export_ctranslate2(path, tmp_path / "exported")
    assert list((tmp_path / "exported").iterdir()) == []


def test_other_models_are_refused(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    with pytest.raises(UserError, match="--to ctranslate2 supports only Transformers"):
        export_ctranslate2(path, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


@pytest.mark.parametrize("option", ["cross_self_attention", "no_cross_attention"])
def test_an_option_that_the_converter_does_not_read_is_refused_by_its_name(option, tmp_path):
    path = save_checkpoint(tmp_path, "transformer_outlayers", **{option: True})
    before = sorted(tmp_path.iterdir())
    flag = f"--{option.replace('_', '-')}"
    with pytest.raises(UserError, match=f"^{path}: CTranslate2 does not support {flag}: use --to"):
        export_ctranslate2(path, tmp_path / "exported")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("layer", ["linear", "bilinear"])
@pytest.mark.parametrize("arch", ["transformer_outlayers", "transformer_lm_outlayers"])
def test_a_projection_before_the_output_layer_is_refused_in_one_line(arch, layer, tmp_path):
    path = save_checkpoint(tmp_path, arch, output_layer=layer, decoder_output_dim=16)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UserError, match=f"^{path}: CTranslate2 does not support this model: .*out"):
        export_ctranslate2(path, tmp_path / "exported")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arch", "loader"),
    [("transformer_outlayers", "Translator"), ("transformer_lm_outlayers", "Generator")],
)
def test_the_command_names_the_class_that_loads_the_model(arch, loader, tmp_path, capsys):
    path, folder = save_checkpoint(tmp_path, arch, output_layer="linear"), tmp_path / "exported"
    main(["export", path, "--to", "ctranslate2", "--output", str(folder)])
    assert capsys.readouterr().out.endswith(f"load it with: ctranslate2.{loader}\n")
    getattr(ctranslate2, loader)(str(folder))


def test_what_ctranslate2_cannot_do_is_one_line(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise ValueError("no such thing")

    path = save_checkpoint(tmp_path, "transformer_outlayers")
    monkeypatch.setattr(ctranslate2.converters.FairseqConverter, "convert", refuse)
    with pytest.raises(UserError, match="does not support this model: no such thing"):
        export_ctranslate2(path, tmp_path / "new")
    monkeypatch.setitem(sys.modules, "ctranslate2.converters", None)
    with pytest.raises(UserError, match="needs the package ctranslate2"):
        export_ctranslate2(path, tmp_path / "new")
