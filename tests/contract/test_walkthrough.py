"""The walk-through in CONTRIBUTING: what it shows must work as it stands."""

import re
from pathlib import Path

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.options import selection_config
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import make_dictionary
from tests.contract import test_output_layers

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def scaled(monkeypatch):
    """The example's class, registered under the name that the example gives it."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    code, line = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(code, names)
    name, class_name = re.match(r'\s*"(\w+)": (\w+),', line).groups()
    monkeypatch.setitem(OUTPUT_LAYERS, name, names[class_name])
    return name


def test_the_example_is_one_class_and_one_line_and_its_option_acts(scaled):
    config = selection_config("Config", OUTPUT_LAYERS, "output_layer", "linear", "")
    embedding = nn.Embedding(9, 4)
    chosen = config(output_layer=scaled, initial_scale=0.5)
    layer = OUTPUT_LAYERS[scaled].build(chosen, embedding, 4, make_dictionary(5))
    hidden = torch.randn(3, 4)
    torch.testing.assert_close(layer(hidden), 0.5 * hidden @ embedding.weight.t() + layer.bias)


@pytest.mark.parametrize("bias", [True, False])
def test_the_example_passes_the_contract(scaled, bias, monkeypatch):
    config = selection_config("Config", OUTPUT_LAYERS, "output_layer", "linear", "")
    monkeypatch.setattr(test_output_layers, "OutputLayerConfig", config)
    claims = [name for name in vars(test_output_layers) if name.startswith("test_")]
    for claim in claims:
        if "unknown_name" not in claim:
            getattr(test_output_layers, claim)(scaled, bias)
