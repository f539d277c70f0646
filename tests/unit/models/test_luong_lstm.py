"""luong_lstm against the equations of the paper, written step by step in float64."""

import pytest
import torch
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models.luong_lstm import LuongLSTMConfig
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import Halve, make_batch, make_model, make_task

LENGTHS = [(4, 5), (1, 3), (6, 2)]


def copy_cell(cell, x, hidden, memory):
    """One LSTM step from the textbook."""
    gates = cell.weight_ih @ x + cell.bias_ih + cell.weight_hh @ hidden + cell.bias_hh
    i, f, g, o = gates.chunk(4)
    memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return o.sigmoid() * memory.tanh(), memory


def naive_logits(model, source_ids, previous_ids, dropout=1.0):
    """The whole model for one sentence: encoder, attention, input feeding, output layer.

    Args:
        dropout: a factor in place of dropout, where the paper has dropout.
    """
    encoder, recurrence = model.encoder, model.decoder.recurrence
    states = model.encoder.embed_tokens(source_ids)
    start = []
    for depth, (layer,) in enumerate(encoder.lstm.layers):
        states = states if depth == 0 else dropout * states
        output, (hidden, cell) = layer(states.unsqueeze(1))
        states = output.squeeze(1)
        start.append((hidden[0, 0], cell[0, 0]))
    feed, logits = torch.zeros(recurrence.layers[0].hidden_size, dtype=torch.float64), []
    for token in previous_ids:
        x = torch.cat([model.decoder.embed_tokens(token), feed])
        for depth, cell in enumerate(recurrence.layers):
            x = x if depth == 0 else dropout * x
            start[depth] = copy_cell(cell, x, *start[depth])
            x = start[depth][0]
        # The query meets every encoder state as s' W_in h.
        scores = torch.stack([s @ recurrence.attention.query.weight @ x for s in states])
        context = scores.softmax(0) @ states
        feed = dropout * torch.tanh(recurrence.attention.output.weight @ torch.cat([context, x]))
        layer = model.decoder.output_projection
        logits.append(layer.class_embeddings() @ feed + layer.class_bias())
    return torch.stack(logits)


@pytest.mark.parametrize("output_layer", ["linear", "tied"])
def test_logits_equal_the_equations(task, output_layer):
    model = make_model("luong_lstm", task, output_layer=output_layer)
    batch = make_batch(task, LENGTHS)
    logits, _ = model(**batch["net_input"])
    pad = task.source_dictionary.pad()
    for row, (_, target_length) in enumerate(LENGTHS):
        source = batch["net_input"]["src_tokens"][row]
        previous = batch["net_input"]["prev_output_tokens"][row, : target_length + 1]
        expected = naive_logits(model, source[source != pad], previous)
        torch.testing.assert_close(
            logits[row, : target_length + 1], expected, rtol=1e-10, atol=1e-12
        )


@pytest.mark.parametrize("bidirectional", [False, True])
def test_left_and_right_padding_and_extra_padding_change_nothing(task, bidirectional):
    model = make_model("luong_lstm", task, bidirectional_encoder=bidirectional)
    left = make_batch(task, LENGTHS, left_pad=True)["net_input"]
    right = make_batch(task, LENGTHS, left_pad=False)["net_input"]
    assert not torch.equal(left["src_tokens"], right["src_tokens"])
    expected, extra = model(**left)
    logits, extra_right = model(**right)
    torch.testing.assert_close(logits, expected, rtol=1e-12, atol=1e-12)
    # Attention weights lie on the tokens as they were given.
    for row, (source_length, _) in enumerate(LENGTHS):
        torch.testing.assert_close(
            extra_right["attn"][0][row, :, : source_length + 1],
            extra["attn"][0][row, :, -(source_length + 1) :],
        )
    padding = torch.full((len(LENGTHS), 3), task.source_dictionary.pad())
    for wider in ([padding, left["src_tokens"]], [left["src_tokens"], padding]):
        again, _ = model(**{**left, "src_tokens": torch.cat(wider, 1)})
        torch.testing.assert_close(again, expected, rtol=1e-12, atol=1e-12)


def test_padding_gets_no_attention(task):
    model = make_model("luong_lstm", task)
    batch = make_batch(task, LENGTHS)["net_input"]
    _, extra = model(**batch)
    weights = extra["attn"][0]
    padded = batch["src_tokens"].eq(task.source_dictionary.pad())
    assert weights.transpose(1, 2)[padded].max().item() == 0.0
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_the_core_has_as_many_parameters_as_published():
    task = make_task()
    model = make_model("luong_lstm", task, embed_dim=512, hidden_size=512)
    tables = [
        model.encoder.embed_tokens,
        model.decoder.embed_tokens,
        model.decoder.output_projection,
    ]
    outside = sum(parameter.numel() for table in tables for parameter in table.parameters())
    core = sum(parameter.numel() for parameter in model.parameters()) - outside
    assert core == 10_240_000
    deeper = make_model(
        "luong_lstm", task, embed_dim=512, hidden_size=512, encoder_layers=3, decoder_layers=3
    )
    assert sum(p.numel() for p in deeper.parameters()) - outside - core == 4_202_496


def test_parameters_start_uniform_in_the_range_asked_for_and_padding_at_zero(task):
    model = make_model("luong_lstm", task, embed_dim=64, hidden_size=64, init_range=0.25)
    for name, parameter in model.named_parameters():
        assert parameter.abs().max().item() <= 0.25, name
    recurrent = model.decoder.recurrence.layers[0].weight_hh
    assert recurrent.min().item() < -0.24
    assert recurrent.max().item() > 0.24
    assert model.encoder.embed_tokens.weight[task.source_dictionary.pad()].abs().max() == 0


@pytest.mark.parametrize(("size", "bound"), [(512, 0.1), (128, 0.2)])
def test_parameters_start_in_the_papers_range_at_its_size_and_with_equal_gain_at_others(
    task, size, bound
):
    default = LuongLSTMConfig().init_range
    model = make_model("luong_lstm", task, embed_dim=size, hidden_size=size, init_range=default)
    largest = max(parameter.abs().max().item() for parameter in model.parameters())
    assert 0.999 * bound < largest <= bound


def test_dropout_acts_between_layers_and_on_the_state_that_is_scored_and_fed_back(task):
    model = make_model("luong_lstm", task, encoder_layers=3, decoder_layers=3)
    model.encoder.lstm.dropout = model.decoder.recurrence.dropout = Halve()
    batch = make_batch(task, [(6, 5)])["net_input"]
    source, previous = batch["src_tokens"][0], batch["prev_output_tokens"][0]
    expected = naive_logits(model, source, previous, dropout=0.5)
    torch.testing.assert_close(model(**batch)[0][0], expected, rtol=1e-10, atol=1e-12)


def test_each_option_of_dropout_is_that_of_the_encoder_and_of_the_decoder(task):
    model = make_model("luong_lstm", task, dropout=0.4, embedding_dropout=0.2)
    between = (model.encoder.lstm, model.decoder.recurrence)
    assert [part.dropout.probability for part in between] == [0.4, 0.4]
    assert [part.dropout.probability for part in (model.encoder, model.decoder)] == [0.2, 0.2]


def test_dropout_is_random_in_training_and_absent_outside(task):
    model = make_model("luong_lstm", task, dropout=0.5)
    batch = make_batch(task, LENGTHS)["net_input"]
    model.train()
    features, _ = model(**batch, features_only=True)
    assert 0.3 < features.eq(0).double().mean().item() < 0.7
    model.eval()
    first, _ = model(**batch, features_only=True)
    assert torch.equal(first, model(**batch, features_only=True)[0])
    assert first.eq(0).sum().item() == 0


@pytest.mark.parametrize("left_pad", [True, False])
def test_embedding_dropout_acts_on_both_sides_only_in_training(task, left_pad):
    model = make_model("luong_lstm", task, embedding_dropout=0.5).train()
    batch = make_batch(task, LENGTHS, left_pad)["net_input"]
    source, _ = batch["src_tokens"], batch["src_lengths"]
    assert not torch.equal(model.encoder(source).states, model.encoder(source).states)
    fixed = model.encoder.eval()(source)
    assert torch.equal(fixed.states, model.encoder(source).states)
    features = [model.decoder(batch["prev_output_tokens"], fixed)[0] for _ in range(2)]
    assert not torch.equal(*features)
    model.eval()
    features = [model.decoder(batch["prev_output_tokens"], fixed)[0] for _ in range(2)]
    assert torch.equal(*features)


def test_shared_embeddings_are_one_table():
    task = make_task()
    task.target_dictionary = task.source_dictionary
    model = make_model("luong_lstm", task, share_all_embeddings=True, output_layer="tied")
    assert model.encoder.embed_tokens is model.decoder.embed_tokens
    assert model.decoder.output_projection.embedding is model.encoder.embed_tokens


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"encoder_layers": 1}, "--encoder-layers 1 and --decoder-layers 2"),
        ({"encoder_layers": 0, "decoder_layers": 0}, "--encoder-layers 0"),
        ({"bidirectional_encoder": True, "hidden_size": 7, "embed_dim": 7}, "--hidden-size 7"),
        ({"share_all_embeddings": True}, "--joined-dictionary"),
        ({"embed_dim": 0}, "--embed-dim 0: must be at least 1"),
        ({"hidden_size": -4}, "--hidden-size -4"),
        ({"dropout": 1.5}, "--dropout 1.5: must be at least 0 and below 1"),
        ({"embedding_dropout": -0.1}, "--embedding-dropout -0.1"),
        ({"init_range": -1.0}, "--init-range -1.0"),
        ({"output_layer": "tied", "embed_dim": 6}, "6 dimensions and the states 8"),
    ],
)
def test_what_cannot_be_built_is_refused_with_its_values(task, options, said):
    with pytest.raises(UserError, match=said):
        make_model("luong_lstm", task, **options)


@pytest.mark.parametrize(
    ("arch", "layer"), [("base_lstm", "linear"), ("tied_lstm", "tied"), ("joint_lstm", "joint")]
)
def test_the_papers_models_are_named_sizes(task, arch, layer):
    config = MODEL_DATACLASS_REGISTRY[arch]()
    assert (config.embed_dim, config.hidden_size, config.joint_dim) == (512, 512, 512)
    assert (config.encoder_layers, config.decoder_layers, config.dropout) == (2, 2, 0.3)
    model = MODEL_REGISTRY[arch].build_model(config, task)
    assert type(model.decoder.output_projection) is OUTPUT_LAYERS[layer]
    assert ARCH_MODEL_REGISTRY[arch] is MODEL_REGISTRY[arch]


@pytest.mark.parametrize(  # layers of other packages may have a start of their own
    "layer",
    [
        "linear",
        "tied",
        "bilinear",
        "output_structure",
        "context_structure",
        "joint",
        "deep_residual",
        "subword",
        "external_joint",
    ],
)
def test_every_output_layer_starts_in_the_range_of_the_model(task, layer):
    model = make_model("luong_lstm", task, output_layer=layer, init_range=0.01)
    for name, parameter in model.decoder.output_projection.named_parameters():
        assert 0 < parameter.abs().max().item() <= 0.01, name
