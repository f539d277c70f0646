"""rnnsearch against the equations of Bahdanau et al. (2015), written step by step in float64."""

import pytest
import torch
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import make_batch, make_model

LENGTHS = [(4, 5), (1, 3), (6, 2)]
EXACT = {"rtol": 1e-10, "atol": 1e-12}


def restless_model(task, **options):
    """A model of which no parameter is zero: zeros would hide that something is missing."""
    model = make_model("rnnsearch", task, **options).eval()
    torch.manual_seed(2)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    model.encoder.embed_tokens.zero_padding()
    return model


def next_state(unit, state, x, more=0.0):
    """App. A.1.1: the reset gate before the recurrent matrix; an open update gate lets news in."""
    reset_x, update_x, news_x = (unit.input.weight @ x + unit.input.bias + more).chunk(3)
    reset_u, update_u, news_u = unit.recurrent.chunk(3)
    r, z = (reset_x + reset_u @ state).sigmoid(), (update_x + update_u @ state).sigmoid()
    return (1 - z) * state + z * (news_x + news_u @ (r * state)).tanh()


def naive_encoder(encoder, source_ids):
    """States of one sentence, ``(S, 2H)``."""
    directions = []
    for backwards, unit in enumerate((encoder.gru.forwards, encoder.gru.backwards)):
        inputs = list(encoder.embed_tokens.weight[source_ids])
        state, states = torch.zeros(unit.recurrent.size(1), dtype=torch.float64), []
        for x in reversed(inputs) if backwards else inputs:
            state = next_state(unit, state, x)
            states.append(state)
        directions.append(torch.stack(states[::-1] if backwards else states))
    return torch.cat(directions, dim=1)


def naive_maxout(sums):
    return torch.stack([max(sums[2 * pair], sums[2 * pair + 1]) for pair in range(len(sums) // 2)])


def naive_logits(model, source_ids, words):
    """Scores of every next word of one sentence, and attention; ``words`` without ``</s>``."""
    h, decoder = naive_encoder(model.encoder, source_ids), model.decoder
    recurrence, readout = decoder.recurrence, decoder.readout
    attention, layer = recurrence.attention, decoder.output_projection
    size = h.size(1) // 2
    z = (decoder.start.weight @ h[0, size:] + decoder.start.bias).tanh()
    y = torch.zeros(decoder.embed_tokens.embedding_dim, dtype=torch.float64)
    logits, attended = [], []
    for position in range(len(words) + 1):
        query = attention.query.weight @ z
        scores = [attention.score @ (query + attention.key.weight @ state).tanh() for state in h]
        weights = torch.stack(scores).softmax(0)
        c = weights @ h
        sums = readout.state.weight @ z + readout.state.bias
        sums = sums + readout.word.weight @ y + readout.context.weight @ c
        phi = readout.output.weight @ naive_maxout(sums)
        logits.append(layer.class_embeddings() @ phi + layer.class_bias())
        attended.append(weights)
        if position < len(words):
            y = decoder.embed_tokens.weight[words[position]]
            z = next_state(recurrence.unit, z, y, recurrence.context.weight @ c)
    return torch.stack(logits), torch.stack(attended)


def sentences(task, batch):
    """Of each sentence its row, its source without padding, and its target words."""
    for row, (_, length) in enumerate(LENGTHS):
        source = batch["src_tokens"][row]
        source = source[source != task.source_dictionary.pad()]
        yield row, source, batch["prev_output_tokens"][row, 1 : length + 1]


@pytest.mark.parametrize("left_pad", [True, False])
@pytest.mark.parametrize("output_layer", ["linear", "tied"])
def test_logits_and_attention_equal_the_equations(task, output_layer, left_pad):
    model = restless_model(task, output_layer=output_layer, hidden_size=7, attention_size=5)
    batch = make_batch(task, LENGTHS, left_pad=left_pad)["net_input"]
    logits, extra = model(**batch)
    for row, source, words in sentences(task, batch):
        expected, attended = naive_logits(model, source, words)
        positions = slice(0, len(words) + 1)
        real = batch["src_tokens"][row].ne(task.source_dictionary.pad())
        torch.testing.assert_close(logits[row, positions], expected, **EXACT)
        torch.testing.assert_close(extra["attn"][0][row, positions][:, real], attended, **EXACT)
        assert extra["attn"][0][row][:, ~real].abs().sum().item() == 0.0


def test_each_direction_reads_its_own_map_of_external_vectors(task, external_table):
    options = {"source_embedding": "only_external", "external_map": "per_direction"}
    model = make_model("rnnsearch", task, external_embeddings=external_table, **options).eval()
    source = make_batch(task, LENGTHS)["net_input"]["src_tokens"]
    real = source.ne(task.source_dictionary.pad())
    before = model.encoder(source).states[real].chunk(2, dim=-1)
    with torch.no_grad():
        model.encoder.embed_tokens.external.maps[1].weight += 1
    after = model.encoder(source).states[real].chunk(2, dim=-1)
    assert torch.equal(after[0], before[0])
    assert not torch.allclose(after[1], before[1])


def test_gradients_equal_those_of_the_equations(task):
    model = restless_model(task)
    batch = make_batch(task, LENGTHS)["net_input"]
    parameters = dict(model.named_parameters())
    logits, _ = model(**batch)
    ours = reference = torch.zeros((), dtype=torch.float64)
    for row, source, words in sentences(task, batch):
        ours = ours + logits[row, : len(words) + 1].square().sum()
        reference = reference + naive_logits(model, source, words)[0].square().sum()
    gradients = torch.autograd.grad(ours, list(parameters.values()))
    expected = torch.autograd.grad(reference, list(parameters.values()))
    for name, gradient, truth in zip(parameters, gradients, expected, strict=True):
        assert truth.abs().max() > 0, name
        torch.testing.assert_close(gradient, truth, rtol=1e-9, atol=1e-11, msg=name)


def test_left_right_and_extra_padding_change_nothing(task):
    model = restless_model(task)
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


def test_decoding_word_by_word_with_beams_that_move_equals_the_whole_sentence(task):
    model = restless_model(task)
    batch = make_batch(task, LENGTHS)["net_input"]
    previous, order = batch["prev_output_tokens"], torch.tensor([2, 0, 0, 1])
    encoder_out = model.encoder(batch["src_tokens"])
    full, extra = model.decoder(previous, encoder_out=encoder_out)
    state: dict = {}
    for step in range(previous.size(1)):
        logits, attended = model.decoder(previous[:, : step + 1], encoder_out, state)
        torch.testing.assert_close(logits[:, 0], full[:, step], **EXACT)
        torch.testing.assert_close(attended["attn"][0][:, 0], extra["attn"][0][:, step], **EXACT)
        if step == 1:
            model.decoder.reorder_incremental_state(state, order)
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
            previous, full = previous[order], full[order]
            extra["attn"][0] = extra["attn"][0][order]


def test_the_token_that_begins_a_sentence_counts_for_nothing(task):
    model = restless_model(task)
    batch = make_batch(task, LENGTHS)["net_input"]
    expected, _ = model(**batch)
    batch["prev_output_tokens"][:, 0] = 7
    assert torch.equal(model(**batch)[0], expected)
    encoder_out, state = model.encoder(batch["src_tokens"]), {}
    logits, _ = model.decoder(batch["prev_output_tokens"][:, :1], encoder_out, state)
    torch.testing.assert_close(logits[:, 0], expected[:, 0], **EXACT)


def test_empty_targets_leave_the_transition_a_gradient_of_zero(task):
    model = restless_model(task)
    batch = make_batch(task, [(4, 0), (1, 0)])["net_input"]
    expected, _ = model(**batch)
    logits, _ = model.train()(**batch)
    assert torch.equal(logits, expected)
    logits.square().sum().backward()
    recurrence = model.decoder.recurrence
    for parameter in (*recurrence.unit.parameters(), recurrence.context.weight):
        assert parameter.grad.eq(0).all()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_weights_start_as_in_the_paper(task):
    sizes = {"embed_dim": 62, "hidden_size": 100, "maxout_size": 50, "init_std": 0.01}
    model = make_model("rnnsearch", task, **sizes)
    recurrence, identity = model.decoder.recurrence, torch.eye(100).double()
    for unit in (model.encoder.gru.forwards, model.encoder.gru.backwards, recurrence.unit):
        for matrix in unit.recurrent.chunk(3):
            torch.testing.assert_close(matrix @ matrix.t(), identity, atol=1e-5, rtol=0)
        assert unit.input.weight.std().item() == pytest.approx(0.01, rel=0.05)
    for layer in (recurrence.attention.query, recurrence.attention.key):
        assert layer.weight.std().item() == pytest.approx(0.001, rel=0.05)
        assert layer.bias is None
    assert recurrence.attention.score.abs().max() == 0
    readout, decoder = model.decoder.readout, model.decoder
    for layer in (readout.state, readout.word, readout.context, readout.output, decoder.start):
        assert layer.weight.std().item() == pytest.approx(0.01, rel=0.05)
    assert decoder.output_projection.weight.std().item() == pytest.approx(0.01, rel=0.1)
    for embedding in (model.encoder.embed_tokens, decoder.embed_tokens):
        assert embedding.weight[task.source_dictionary.pad()].abs().max() == 0
        assert embedding.weight[2:].std().item() == pytest.approx(0.01, rel=0.1)
    biases = [p for name, p in model.named_parameters() if "bias" in name]
    assert len(biases) == 6  # three GRUs, z_0, the readout, the classes
    assert all(bias.abs().max() == 0 for bias in biases)


@pytest.mark.parametrize("output_layer", [name for name in OUTPUT_LAYERS if name != "linear"])
def test_another_output_layer_keeps_its_own_start(task, output_layer):
    layer = make_model("rnnsearch", task, output_layer=output_layer).decoder.output_projection
    other = make_model("rnnsearch", task, output_layer=output_layer, init_std=0.7)
    for (name, ours), theirs in zip(
        layer.named_parameters(), other.decoder.output_projection.parameters(), strict=True
    ):
        assert torch.equal(ours, theirs), name


def test_dropout_acts_on_encoder_states_readout_and_embeddings_only_in_training(task):
    batch = make_batch(task, LENGTHS)["net_input"]
    for options in ({"dropout": 0.5}, {"embedding_dropout": 0.5}):
        model = restless_model(task, **options).train()
        source, previous = batch["src_tokens"], batch["prev_output_tokens"]
        assert not torch.equal(model.encoder(source).states, model.encoder(source).states)
        encoded = model.encoder.eval()(source)
        one, other = (model.decoder(previous, encoded)[0] for _ in range(2))
        assert not torch.equal(one, other)
        model.eval()
        assert torch.equal(model(**batch)[0], model(**batch)[0])


def test_the_default_sizes_are_the_papers(task):
    config = MODEL_DATACLASS_REGISTRY["rnnsearch"]()
    with torch.device("meta"):
        model = MODEL_REGISTRY["rnnsearch"].build_model(config, task)
    decoder = model.decoder
    assert decoder.embed_tokens.weight.shape == (len(task.target_dictionary), 620)
    assert decoder.recurrence.unit.recurrent.shape == (3000, 1000)
    assert decoder.recurrence.attention.score.shape == (1000,)
    assert decoder.readout.output.weight.shape == (620, 500)
    assert (config.dropout, config.embedding_dropout) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"maxout_size": 0}, "--maxout-size 0: must be at least 1"),
        ({"hidden_size": 0}, "--hidden-size 0: must be at least 1"),
        ({"dropout": 1.0}, "--dropout 1.0"),
        ({"attention_size": -1}, "--attention-size -1"),
    ],
)
def test_what_cannot_be_built_is_refused_with_its_values(task, options, said):
    with pytest.raises(UserError, match=said):
        make_model("rnnsearch", task, **options)
