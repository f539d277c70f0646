"""fairseq's Transformers with our output layers against the stock ones."""

import functools
from types import SimpleNamespace

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.models.transformer import TransformerModel

from fairseq_outlayers.errors import UserError
from tests.conftest import TRANSLATION_ARCHITECTURES, make_batch, make_model
from tests.unit.hub.conftest import save_checkpoint

LENGTHS = [(4, 5), (1, 3), (6, 2)]


def stock_transformer(task, **options):
    args = SimpleNamespace(**TRANSLATION_ARCHITECTURES["transformer_outlayers"], **options)
    ARCH_CONFIG_REGISTRY["transformer"](args)
    return TransformerModel.build_model(args, task).double().eval()


@pytest.mark.parametrize("tied", [False, True])
def test_without_bias_and_with_the_same_weights_logits_equal_the_stock_models(task, tied):
    stock = stock_transformer(task, share_decoder_input_output_embed=tied)
    layer = "tied" if tied else "linear"
    ours = make_model("transformer_outlayers", task, output_layer=layer, no_class_bias=True).eval()
    state = stock.state_dict()
    if tied:
        del state["decoder.output_projection.weight"]  # the embeddings, saved a second time
    missing, unexpected = ours.load_state_dict(state, strict=False)
    assert not unexpected
    assert all(name.endswith("dictionary_version") for name in missing)
    batch = make_batch(task, LENGTHS)["net_input"]
    torch.testing.assert_close(ours(**batch)[0], stock(**batch)[0], rtol=0, atol=0)


@pytest.mark.parametrize("name", ["transformer_iwslt_de_en", "transformer_wmt_en_de_big"])
def test_named_sizes_have_a_twin_with_the_same_dimensions(name):
    stock, ours = SimpleNamespace(), SimpleNamespace()
    ARCH_CONFIG_REGISTRY[name](stock)
    ARCH_CONFIG_REGISTRY[f"{name}_outlayers"](ours)
    assert vars(stock) == vars(ours)
    assert ARCH_MODEL_REGISTRY[f"{name}_outlayers"] is ARCH_MODEL_REGISTRY["transformer_outlayers"]


def test_sizes_with_an_adaptive_softmax_have_no_twin():
    assert "transformer_lm_gpt2_small_outlayers" in ARCH_MODEL_REGISTRY
    assert "transformer_lm_baevski_wiki103" in ARCH_MODEL_REGISTRY
    assert "transformer_lm_baevski_wiki103_outlayers" not in ARCH_MODEL_REGISTRY


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"adaptive_softmax_cutoff": "4,8"},
            "--adaptive-softmax-cutoff 4,8: .* use --criterion sampled_softmax or full_softmax, or",
        ),
        ({"share_decoder_input_output_embed": True}, "use --output-layer tied"),
        ({"share_all_embeddings": True}, "use --output-layer tied"),
        ({"output_layer": "tied", "decoder_output_dim": 4}, "8 dimensions and the states 4"),
    ],
)
def test_contradicting_options_are_refused_by_name(task, options, said):
    with pytest.raises(UserError, match=said):
        make_model("transformer_outlayers", task, **options)


def test_an_embedding_that_is_no_table_cannot_be_tied(task):
    task.source_dictionary = task.target_dictionary
    options = {
        "character_embeddings": True,
        "character_filters": "[(1, 4)]",
        "character_embedding_dim": 4,
    }
    with pytest.raises(UserError, match="CharacterTokenEmbedder"):
        make_model("transformer_lm_outlayers", task, output_layer="tied", **options)
    make_model("transformer_lm_outlayers", task, output_layer="linear", **options)


FROZEN = {
    "encoder_layers": 3,
    "decoder_layers": 2,
    "frozen_encoder_layers": "1",
    "frozen_decoder_layers": "0, 1",
    "reservoir_seed": 1,
}
FROZEN_PLACES = ("encoder.layers.1.", "decoder.layers.0.", "decoder.layers.1.")


def test_frozen_layers_are_neither_trained_nor_saved(task):
    model = make_model("transformer_outlayers", task, **FROZEN)
    free = make_model("transformer_outlayers", task, encoder_layers=3, decoder_layers=2)
    expected = {n for n, _ in free.named_parameters() if not n.startswith(FROZEN_PLACES)}
    assert {name for name, _ in model.named_parameters()} == expected
    saved = [name for name in model.state_dict() if name.startswith(FROZEN_PLACES)]
    assert saved == [f"{place}regenerated_version" for place in FROZEN_PLACES]


@pytest.mark.parametrize("training", [True, False])
def test_frozen_layers_compute_what_trained_ones_of_the_same_weights_do(task, training):
    model = make_model("transformer_outlayers", task, **FROZEN).train(training)
    free = make_model("transformer_outlayers", task, encoder_layers=3, decoder_layers=2)
    weights = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    with torch.no_grad():
        for name, parameter in free.named_parameters():
            parameter.copy_(weights[name])
    batch = make_batch(task, LENGTHS)["net_input"]
    expected = free.train(training)(**batch)[0]
    torch.testing.assert_close(model(**batch)[0], expected, rtol=1e-5, atol=1e-6)


def test_a_layer_that_is_named_twice_is_frozen_once(task):
    once, twice = (
        make_model("transformer_outlayers", task, **{**FROZEN, "frozen_encoder_layers": given})
        for given in ("1", "1,1")
    )
    name = "encoder.layers.1.regenerated_version"
    assert torch.equal(once.state_dict()[name], twice.state_dict()[name])


def test_gradients_pass_through_frozen_layers_to_everything_below(task):
    model = make_model(
        "transformer_outlayers", task, **{**FROZEN, "frozen_encoder_layers": "0,1,2"}
    )
    model(**make_batch(task, LENGTHS)["net_input"])[0].square().sum().backward()
    assert model.encoder.embed_tokens.weight.grad.abs().max() > 0


def test_frozen_layers_of_another_seed_are_refused(task):
    state = make_model(
        "transformer_outlayers", task, **{**FROZEN, "reservoir_seed": 5}
    ).state_dict()
    with pytest.raises(UserError, match=r"encoder.layers.1: .*--reservoir-seed 5, not 1"):
        make_model("transformer_outlayers", task, **FROZEN).load_state_dict(state)


def test_a_seed_without_frozen_layers_is_refused(task):
    options = {"frozen_encoder_layers": " ", "frozen_decoder_layers": "", "reservoir_seed": 7}
    said = "--reservoir-seed 7 has no effect without --frozen-encoder-layers or --frozen-decoder-la"
    with pytest.raises(UserError, match=said):
        make_model("transformer_outlayers", task, **options)
    make_model("transformer_outlayers", task, **{**options, "reservoir_seed": 1})
    make_model("transformer_outlayers", task, **{**options, "frozen_encoder_layers": "0"})


@pytest.mark.parametrize("given", ["3", "0,-1", "all"])
def test_a_layer_that_is_not_there_cannot_be_frozen(task, given):
    options = {**FROZEN, "frozen_encoder_layers": given}
    with pytest.raises(UserError, match=f"--frozen-encoder-layers {given}: .* there are 3"):
        make_model("transformer_outlayers", task, **options)


@pytest.mark.parametrize("kept", ["1,2", "0", "2,0"])
def test_layers_below_a_frozen_one_are_kept_when_a_model_is_loaded(task, kept):
    """Its weights follow from its number."""
    options = {**FROZEN, "encoder_layers_to_keep": kept, "decoder_layers_to_keep": "0,1"}
    said = f"'encoder_layers_to_keep': '{kept}'}}: .*--frozen-encoder-layers 1.* from 0 to 1, or le"
    with pytest.raises(UserError, match=said):
        make_model("transformer_outlayers", task, **options)


@pytest.mark.parametrize(
    ("kept", "frozen", "names"),
    [
        ({"encoder": "0,1", "decoder": "1,0"}, "1", ["0", "1"]),
        ({"encoder": "1, 0", "decoder": "0,1"}, "1", ["0", "1"]),
        ({"encoder": "0,2", "decoder": "0,1"}, None, ["0", "2"]),
        ({"encoder": "0,2", "decoder": "0,1"}, "", ["0", "2"]),
    ],
)
def test_layers_of_a_model_with_frozen_ones_are_left_out_when_it_is_loaded(
    task, kept, frozen, names
):
    state = make_model("transformer_outlayers", task, **FROZEN).state_dict()
    pruned = {f"{side}_layers_to_keep": layers for side, layers in kept.items()}
    options = {**FROZEN, **pruned, "frozen_encoder_layers": frozen}
    model = make_model("transformer_outlayers", task, seed=2, **options)
    model.load_state_dict(state, model_cfg=SimpleNamespace(arch="transformer_outlayers", **pruned))
    loaded = model.state_dict()
    assert len(model.encoder.layers) == len(names)
    for new, old in enumerate(names):
        for name in state:
            if name.startswith(f"encoder.layers.{old}."):
                torch.testing.assert_close(
                    loaded[name.replace(f".{old}.", f".{new}.", 1)], state[name], rtol=0, atol=0
                )


@pytest.mark.parametrize("layer", ["tied", "joint"])
def test_layers_on_input_embeddings_refuse_a_smaller_output_dictionary(layer, tmp_path):
    """They would also score words that are never a target."""
    smaller = {"output_dictionary_size": 10}
    build = functools.partial(save_checkpoint, tmp_path, "transformer_lm_outlayers")
    with pytest.raises(UserError, match=f"size 10: --output-layer {layer} .* all 21 words: leave"):
        build(of_task=smaller, output_layer=layer)
    build(of_task=smaller, output_layer="linear")


@pytest.mark.parametrize("option", ["share_decoder_input_output_embed", "share_all_embeddings"])
def test_a_model_tied_by_fairseqs_option_loads_what_it_saved(task, option):
    task.target_dictionary = task.source_dictionary
    model, other = (
        make_model(
            "transformer_outlayers", task, seed, output_layer="tied", **{option: True}
        ).eval()
        for seed in (1, 2)
    )
    other.load_state_dict(model.state_dict(), strict=True)
    batch = make_batch(task, LENGTHS)["net_input"]
    assert torch.equal(other(**batch)[0], model(**batch)[0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "--adaptive-input needs --adaptive-input-cutoff"),
        ({"adaptive_input_cutoff": "6", "tie_adaptive_weights": True}, "--tie-adaptive-weights"),
    ],
)
def test_adaptive_inputs_have_cutoffs_and_are_not_tied(task, options, said):
    task.source_dictionary = task.target_dictionary
    with pytest.raises(UserError, match=said):
        make_model("transformer_lm_outlayers", task, adaptive_input=True, **options)
