"""Options of fairseq's command line that follow from a registry."""

import argparse
from dataclasses import dataclass, field

import pytest
from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import MODEL_REGISTRY, FairseqEncoderDecoderModel

from fairseq_outlayers import options
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.options import changed_defaults, selection_config
from fairseq_outlayers.output_layers import OUTPUT_LAYERS, EmbeddingOutputLayer
from fairseq_outlayers.registry import Selection
from tests.conftest import architectures
from tests.unit.test_registry import REGISTRY, PartConfig, Plain, selection


@pytest.fixture(autouse=True)
def axes_as_they_are(monkeypatch):
    """What a test adds is forgotten."""
    monkeypatch.setattr(options, "_selected", dict(options._selected))


@pytest.fixture
def parser():
    parser = argparse.ArgumentParser()
    gen_parser_from_dataclass(parser, PartConfig())
    return parser


def entry_with(name):
    """A registry with an entry that has an option of this name."""
    metadata = {"help": "an option"}
    config = dataclass(
        type("Config", (Plain.Config,), {
            "__annotations__": {name: int}, name: field(default=1, metadata=metadata)
        })
    )  # fmt: skip
    return {**REGISTRY, "new": type("New", (Plain,), {"Config": config})}


def test_every_entrys_options_are_on_the_command_line_once(parser):
    parsed = parser.parse_args(["--part", "deep", "--depth", "7"])
    assert (parsed.part, parsed.depth, parsed.shared) == ("deep", 7, 1)
    names = [name for action in parser._actions for name in action.option_strings]
    assert len(names) == len(set(names))


def test_the_default_is_selected_when_nothing_is_asked_for(parser):
    assert parser.parse_args([]).part == "plain"


def test_an_unknown_choice_on_the_command_line_lists_the_known_ones(parser, capsys):
    with pytest.raises(SystemExit):
        parser.parse_args(["--part", "shallow"])
    message = capsys.readouterr().err
    assert all(word in message for word in ("shallow", "plain", "deep", "flat"))


def test_an_option_of_fairseqs_own_is_refused():
    with pytest.raises(
        UserError, match=r"--seed, an option of new .* is also an option of fairseq"
    ):
        selection_config("C", selection(entry_with("seed")))


def test_an_option_of_another_axis_is_refused():
    with pytest.raises(UserError, match=r"--proposal-smoothing.* also an option of sampler"):
        selection_config("C", selection(entry_with("proposal_smoothing")))


def test_a_model_cannot_have_an_option_of_the_same_name():
    made = selection_config("C", selection(entry_with("dropout"), option="axis"))
    with pytest.raises(UserError, match=r"--dropout is both an option of .*--axis.* and of Model"):

        @dataclass
        class Model(made):
            dropout: float = field(default=0.1, metadata={"help": "of the model"})


def test_a_model_cannot_inherit_an_option_of_the_same_name():
    @dataclass
    class Stock(FairseqDataclass):
        dropout: float = field(default=0.1, metadata={"help": "of the model"})

    made = selection_config("C", selection(entry_with("dropout"), option="axis"))
    for bases in ((Stock, made), (made, Stock)):
        with pytest.raises(UserError, match="--dropout is both"):
            type("Model", bases, {})


def test_other_defaults_are_no_second_option():
    assert changed_defaults("Sized", PartConfig, shared=4)().shared == 4


def test_a_transformer_cannot_have_an_option_of_the_same_name(monkeypatch):
    from fairseq_outlayers.models import transformer

    class Dropping(EmbeddingOutputLayer):
        @dataclass
        class Config(EmbeddingOutputLayer.Config):
            dropout: float = field(default=0.1, metadata={"help": "of the layer"})

    axis = Selection({**OUTPUT_LAYERS, "dropping": Dropping}, "output_layer", "linear", "")
    monkeypatch.setattr(transformer, "OutputLayerConfig", selection_config("C", axis))
    parser = argparse.ArgumentParser()
    with pytest.raises(UserError, match="--dropout is both"):
        transformer.OutlayersTransformer.add_args(parser)


def test_a_model_derived_from_another_is_tested_like_others_and_a_named_size_is_not(monkeypatch):
    known = architectures(FairseqEncoderDecoderModel)
    assert "nematus_gru" in known
    assert "nematus_mix_sum" not in known  # a named size
    for registered in ("nematus_gru", "nematus_mix_sum"):
        name, base = f"derived_{registered}", MODEL_REGISTRY[registered]
        model = type(name, (base,), {"__module__": "fairseq_outlayers.models.derived"})
        monkeypatch.setitem(MODEL_REGISTRY, name, model)
        assert name in architectures(FairseqEncoderDecoderModel)
