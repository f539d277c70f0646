"""fairseq's own way to load a model in Python, once the package is imported."""

from pathlib import Path

import torch
from fairseq.models.transformer import TransformerModel

from tests.unit.hub.conftest import save_checkpoint


def test_from_pretrained_loads_a_model_of_this_package(tmp_path):
    path = Path(save_checkpoint(tmp_path, "transformer_outlayers", output_layer="joint"))
    hub = TransformerModel.from_pretrained(str(tmp_path), path.name, str(tmp_path))
    (model,) = hub.models
    name = "decoder.embed_tokens.weight"
    assert torch.equal(
        model.state_dict()[name], torch.load(path, weights_only=False)["model"][name]
    )
