"""fairseq's own way to load a model in Python, once the package is imported."""

import subprocess
import sys
from pathlib import Path

import torch
from fairseq.models.transformer import TransformerModel

from tests.unit.hub.conftest import save_checkpoint

ROOT = Path(__file__).parents[3]


def test_from_pretrained_loads_a_model_of_this_package(tmp_path):
    path = Path(save_checkpoint(tmp_path, "transformer_outlayers", output_layer="joint"))
    hub = TransformerModel.from_pretrained(str(tmp_path), path.name, str(tmp_path))
    (model,) = hub.models
    name = "decoder.embed_tokens.weight"
    assert torch.equal(
        model.state_dict()[name], torch.load(path, weights_only=False)["model"][name]
    )


def test_without_the_import_it_ends_with_the_error_that_the_pages_explain(tmp_path):
    path = Path(save_checkpoint(tmp_path, "transformer_outlayers"))
    script = "from fairseq.models.transformer import TransformerModel as Model\n"
    script += f"Model.from_pretrained({str(tmp_path)!r}, {path.name!r}, {str(tmp_path)!r})"
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.stderr.splitlines()[-1].replace('"', "") == "KeyError: '_name'", ended.stderr
    for page in ("using.md", "python.md"):
        assert "`KeyError: '_name'`" in (ROOT / "docs" / page).read_text()
