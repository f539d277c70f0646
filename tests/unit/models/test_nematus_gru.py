"""nematus_gru against the equations of Nematus, written step by step in float64."""

import pytest
import torch
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDINGS
from fairseq_outlayers.source_embeddings.external_map import ExternalConfig
from tests.conftest import make_batch, make_model, make_task

LENGTHS = [(4, 5), (1, 3), (6, 2)]
each_embedding = pytest.mark.parametrize("source_embedding", SOURCE_EMBEDDINGS)


def options_for(source_embedding, table):
    """Options that select a source embedding, with a map for each direction where there is one."""
    chosen = {"source_embedding": source_embedding}
    if not issubclass(SOURCE_EMBEDDINGS[source_embedding].Config, ExternalConfig):
        return chosen
    return {
        **chosen,
        "external_embeddings": table,
        "external_map": "per_direction",
    }


def gru_step(weight_ih, weight_hh, bias_ih, bias_hh, x, state):
    """One GRU step from the textbook, the reset gate after the recurrent matrix."""
    input_r, input_z, input_n = (weight_ih @ x + bias_ih).chunk(3)
    state_r, state_z, state_n = (weight_hh @ state + bias_hh).chunk(3)
    r, z = (input_r + state_r).sigmoid(), (input_z + state_z).sigmoid()
    return (1 - z) * (input_n + r * state_n).tanh() + z * state


def weights(cell, layer=""):
    return [getattr(cell, f"{n}{layer}") for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def naive_encoder(encoder, source_ids):
    """States of one sentence, ``(S, 2H)``."""
    size = encoder.gru.forwards.hidden_size
    directions = []
    for direction, gru in enumerate((encoder.gru.forwards, encoder.gru.backwards)):
        differ = encoder.embed_tokens.directions_differ
        inputs = list(encoder.embed_tokens(source_ids[None], direction if differ else 0)[0])
        state, states = torch.zeros(size, dtype=torch.float64), []
        for x in reversed(inputs) if direction else inputs:
            state = gru_step(*weights(gru, "_l0"), x, state)
            states.append(state)
        directions.append(torch.stack(states[::-1] if direction else states))
    return torch.cat(directions, dim=1)


def naive_logits(model, source_ids, previous_ids):
    """The whole model for one sentence."""
    source, decoder = naive_encoder(model.encoder, source_ids), model.decoder
    recurrence, readout = decoder.recurrence, decoder.readout
    attention = recurrence.attention
    state = (decoder.start.weight @ source.mean(0) + decoder.start.bias).tanh()
    logits = []
    for token in previous_ids:
        y = decoder.embed_tokens(token)
        middle = gru_step(*weights(recurrence.first), y, state)
        scores = []
        for h in source:
            key = attention.key.weight @ h + attention.key.bias
            scores.append(attention.score @ (key + attention.query.weight @ middle).tanh())
        context = torch.stack(scores).softmax(0) @ source
        state = gru_step(*weights(recurrence.second), context, middle)
        feature = sum(
            layer.weight @ x + layer.bias
            for layer, x in ((readout.state, state), (readout.word, y), (readout.context, context))
        ).tanh()
        layer = decoder.output_projection
        logits.append(layer.class_embeddings() @ feature + layer.class_bias())
    return torch.stack(logits)


@each_embedding
@pytest.mark.parametrize("output_layer", ["linear", "tied"])
def test_logits_equal_the_equations(task, external_table, source_embedding, output_layer):
    options = options_for(source_embedding, external_table)
    model = make_model("nematus_gru", task, output_layer=output_layer, **options)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)  # biases of zero would hide their absence
    model.encoder.embed_tokens.zero_padding()
    batch = make_batch(task, LENGTHS)["net_input"]
    logits, _ = model(**batch)
    for row, (_, target_length) in enumerate(LENGTHS):
        source = batch["src_tokens"][row]
        source = source[source != task.source_dictionary.pad()]
        previous = batch["prev_output_tokens"][row, : target_length + 1]
        torch.testing.assert_close(
            logits[row, : target_length + 1],
            naive_logits(model, source, previous),
            rtol=1e-10,
            atol=1e-12,
        )


@each_embedding
@pytest.mark.parametrize("arch", ["nematus_gru", "luong_lstm"])
def test_left_right_and_extra_padding_change_nothing(task, external_table, arch, source_embedding):
    options = options_for(source_embedding, external_table)
    if arch == "luong_lstm":
        options["bidirectional_encoder"] = True
    model = make_model(arch, task, **options).eval()
    left = make_batch(task, LENGTHS, left_pad=True)["net_input"]
    right = make_batch(task, LENGTHS, left_pad=False)["net_input"]
    expected, _ = model(**left)
    padding = torch.full((len(LENGTHS), 3), task.source_dictionary.pad())
    for tokens in (
        right["src_tokens"],
        torch.cat([padding, left["src_tokens"]], 1),
        torch.cat([left["src_tokens"], padding], 1),
    ):
        logits, _ = model(**{**left, "src_tokens": tokens})
        torch.testing.assert_close(logits, expected, rtol=1e-12, atol=1e-12)


def test_a_luong_lstm_reads_each_direction_through_its_own_map(task, external_table):
    options = options_for("only_external", external_table)
    model = make_model("luong_lstm", task, bidirectional_encoder=True, **options).eval()
    batch = make_batch(task, LENGTHS)["net_input"]
    before = model.encoder(batch["src_tokens"]).states
    torch.nn.init.zeros_(model.encoder.embed_tokens.external.maps[1].weight)
    after = model.encoder(batch["src_tokens"]).states
    size = before.size(-1) // 2
    pad = batch["src_tokens"].eq(task.source_dictionary.pad())
    assert not torch.allclose(before[~pad][:, size:], after[~pad][:, size:])
    # The first layer's forward half is as before; the second layer reads both.
    first = model.encoder.lstm.layers
    model.encoder.lstm.layers = first[:1]
    states = model.encoder(batch["src_tokens"]).states[..., :size]
    torch.nn.init.ones_(model.encoder.embed_tokens.external.maps[1].weight)
    assert torch.equal(model.encoder(batch["src_tokens"]).states[..., :size], states)


def test_padding_gets_no_attention(task):
    model = make_model("nematus_gru", task)
    batch = make_batch(task, LENGTHS)["net_input"]
    weights = model(**batch)[1]["attn"][0]
    padded = batch["src_tokens"].eq(task.source_dictionary.pad())
    assert weights.transpose(1, 2)[padded].max().item() == 0.0
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_weights_start_as_in_nematus(task):
    model = make_model("nematus_gru", task, embed_dim=32, hidden_size=64, init_std=0.01)
    recurrent = model.encoder.gru.backwards.weight_hh_l0[64:128]
    torch.testing.assert_close(recurrent @ recurrent.t(), torch.eye(64).double(), atol=1e-5, rtol=0)
    assert model.decoder.recurrence.first.weight_ih.std().item() == pytest.approx(0.01, rel=0.05)
    assert model.decoder.start.bias.abs().max() == 0
    for embedding in (model.encoder.embed_tokens, model.decoder.embed_tokens):
        assert embedding.weight[task.source_dictionary.pad()].abs().max() == 0


def is_orthogonal(matrix):
    identity = torch.eye(len(matrix), dtype=matrix.dtype)
    return torch.allclose(matrix @ matrix.t(), identity, atol=1e-5)


def by_gate(parameter):
    return parameter.chunk(3)


def square_matrices(model):
    """The matrices that Nematus draws orthogonal, beside the recurrent ones."""
    gru, recurrence = model.encoder.gru, model.decoder.recurrence
    yield from by_gate(gru.forwards.weight_ih_l0)
    yield from by_gate(gru.backwards.weight_ih_l0)
    yield from by_gate(recurrence.first.weight_ih)
    yield recurrence.second.weight_ih[: 2 * 16]  # both gates from the context of twice the size
    yield recurrence.attention.key.weight


def recurrent_matrices(model):
    gru, recurrence = model.encoder.gru, model.decoder.recurrence
    for parameter in (gru.forwards.weight_hh_l0, gru.backwards.weight_hh_l0,
                      recurrence.first.weight_hh, recurrence.second.weight_hh):  # fmt: skip
        yield from by_gate(parameter)


@pytest.mark.parametrize(("square", "expected"), [("orthogonal", True), ("normal", False)])
def test_square_matrices_start_as_asked_for_and_recurrent_ones_orthogonal(task, square, expected):
    options = {"embed_dim": 16, "hidden_size": 16, "init_std": 0.01, "init_square": square}
    model = make_model("nematus_gru", task, **options)
    assert all(is_orthogonal(matrix) is expected for matrix in square_matrices(model))
    assert all(map(is_orthogonal, recurrent_matrices(model)))
    readout, recurrence = model.decoder.readout, model.decoder.recurrence
    others = (readout.state.weight, readout.word.weight, readout.context.weight,
              recurrence.second.weight_ih[2 * 16 :], recurrence.attention.query.weight,
              model.decoder.start.weight, model.decoder.embed_tokens.weight)  # fmt: skip
    for matrix in others:
        assert matrix.std().item() == pytest.approx(0.01, rel=0.2)


def test_a_table_of_embeddings_that_happens_to_be_square_starts_normal():
    task = make_task(num_target=12)
    model = make_model("nematus_gru", task, embed_dim=16, hidden_size=16, init_std=0.01)
    table = model.decoder.embed_tokens.weight
    assert table.shape == (16, 16)
    assert table.abs().max() < 0.1


def test_the_squares_of_a_source_embedding_start_orthogonal_too(task, external_table):
    options = {"source_embedding": "mix_gate", "external_embeddings": external_table}
    model = make_model("nematus_gru", task, internal_vocabulary=12, **options)
    mix = model.encoder.embed_tokens
    squares = (mix.inner_internal.weight, mix.inner_external.weight, mix.gate.internal.weight)
    assert all(map(is_orthogonal, squares))


def test_dropout_acts_on_encoder_states_readout_and_embeddings_only_in_training(task):
    batch = make_batch(task, LENGTHS)["net_input"]
    for options in ({"dropout": 0.5}, {"embedding_dropout": 0.5}):
        model = make_model("nematus_gru", task, **options).train()
        source = batch["src_tokens"]
        assert not torch.equal(model.encoder(source).states, model.encoder(source).states)
        encoded = model.encoder.eval()(source)
        previous = batch["prev_output_tokens"]
        one, other = (model.decoder(previous, encoded)[0] for _ in range(2))
        assert not torch.equal(one, other)
        model.eval()
        assert torch.equal(model(**batch)[0], model(**batch)[0])


def test_the_attention_may_be_smaller_than_the_encoder_states(task):
    model = make_model("nematus_gru", task, attention_size=5)
    assert model.decoder.recurrence.attention.score.shape == (5,)
    model = make_model("nematus_gru", task)
    assert model.decoder.recurrence.attention.score.shape == (16,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hidden_size": 0}, "--hidden-size 0: must be at least 1"),
        ({"embedding_dropout": 1.0}, "--embedding-dropout 1.0"),
        ({"attention_size": -1}, "--attention-size -1"),
        ({"source_embedding": "mix_sum"}, "mix_sum needs --external-embeddings FILE"),
    ],
)
def test_what_cannot_be_built_is_refused_with_its_values(task, options, said):
    with pytest.raises(UserError, match=said):
        make_model("nematus_gru", task, **options)


@pytest.mark.parametrize("name", ["only_external", "mix_sum", "mix_gate"])
def test_the_papers_models_are_named_sizes(name):
    config = MODEL_DATACLASS_REGISTRY[f"nematus_{name}"]()
    assert config.source_embedding == name
    assert (config.embed_dim, config.hidden_size) == (500, 500)
    assert config.external_map == ("per_direction" if name == "only_external" else "shared")
    with pytest.raises(UserError, match=f"{name} needs --external-embeddings"):
        MODEL_REGISTRY[f"nematus_{name}"].build_model(config, make_task())


def test_shared_embeddings_exclude_external_ones(task, external_table):
    task.target_dictionary = task.source_dictionary
    options = options_for("mix_sum", external_table)
    with pytest.raises(UserError, match="--share-all-embeddings excludes"):
        make_model("luong_lstm", task, share_all_embeddings=True, **options)


@pytest.mark.parametrize("arch", ["nematus_gru", "rnnsearch"])
def test_dropout_drops_states_and_readouts_and_embedding_dropout_neither(task, arch):
    batch = make_batch(task, LENGTHS)["net_input"]
    source, previous = batch["src_tokens"], batch["prev_output_tokens"]
    model = make_model(arch, task, dropout=0.5).eval()
    encoded = model.encoder(source)
    readout = model.decoder(previous, encoded, features_only=True)[0]
    model.train()
    again = model.decoder(previous, encoded, features_only=True)[0]
    for found, kept in ((model.encoder(source).states, encoded.states), (again, readout)):
        dropped = found.eq(0) & kept.ne(0)
        assert dropped.any()
        torch.testing.assert_close(found, (2 * kept).masked_fill(dropped, 0))
    model = make_model(arch, task, embedding_dropout=0.5).train()
    assert model.encoder(source).states[~encoded.padding_mask].ne(0).all()
    assert model.decoder(previous, encoded, features_only=True)[0].ne(0).all()
