"""rnmt_plus and the echo state models on its skeleton, against the equations in float64."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.logging import metrics
from fairseq.models import MODEL_DATACLASS_REGISTRY, build_model
from omegaconf import OmegaConf

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models.esnmt import EchoStateConfig
from fairseq_outlayers.reservoirs.echo_state import EchoStateLayer
from fairseq_outlayers.reservoirs.frozen_layer import FrozenLayer
from fairseq_outlayers.reservoirs.frozen_lstm import FrozenLSTM
from fairseq_outlayers.reservoirs.random_stream import uniform
from fairseq_outlayers.reservoirs.statistics import Dynamics
from tests.conftest import Halve, make_batch, make_model, make_task
from tests.unit.reservoirs.test_recurrent_layers import naive_step

LENGTHS = [(4, 5), (1, 3), (6, 2)]
ARCHITECTURES = ["rnmt_plus", "esnmt", "esnmt_lstm"]
each_arch = pytest.mark.parametrize("arch", ARCHITECTURES)


def naive_encoder(model, ids, dropout):
    """Encoder states of one sentence."""
    stack, embed = model.encoder.lstm, model.encoder.embed_tokens
    read = [[dropout * embed(token, direction) for token in ids] for direction in (0, 1)]
    below = read[0]
    for depth, directions in enumerate(stack.layers):
        both = []
        for direction, (layer, order) in enumerate(zip(directions, (1, -1), strict=True)):
            state, states = zeros(layer), []
            for x in (read[direction] if depth == 0 else below)[::order]:
                state = naive_step(layer, x, state)
                states.append(state[0])
            both.append(states[::order])
        above = [dropout * torch.cat(pair) for pair in zip(*both, strict=True)]
        below = [x + y for x, y in zip(below, above, strict=True)] if depth >= 2 else above
    return [stack.projection.weight @ x + stack.projection.bias for x in below]


def zeros(layer):
    return (torch.zeros(layer.hidden_size, dtype=torch.float64),) * layer.state_size


def naive_attention(attention, source, query):
    size, parts = len(query) // attention.heads, []
    for head in range(attention.heads):
        part = slice(head * size, (head + 1) * size)
        scores = torch.stack(
            [
                attention.score[part]
                @ torch.tanh(attention.query.weight @ query + attention.key.weight @ s)[part]
                for s in source
            ]
        )
        parts.append(scores.softmax(0) @ torch.stack([s[part] for s in source]))
    return attention.output.weight @ torch.cat(parts)


def naive_logits(model, source_ids, previous_ids, dropout=1.0):
    """The whole model for one sentence, step by step; ``dropout`` is a factor in its place."""
    source = naive_encoder(model, source_ids, dropout)
    stack, layer_norm = model.decoder.stack, model.decoder.output_projection
    states = [zeros(layer) for layer in stack.layers]
    context, logits = torch.zeros_like(source[0]), []
    for token in previous_ids:
        below = dropout * model.decoder.embed_tokens(token)
        for depth, layer in enumerate(stack.layers):
            states[depth] = naive_step(layer, torch.cat([below, context]), states[depth])
            output = states[depth][0]
            if depth == 0:
                context = naive_attention(stack.attention, source, output)
            below = dropout * output + (below if depth >= 2 else 0)
        features = torch.cat([below, context])
        logits.append(layer_norm.class_embeddings() @ features + layer_norm.class_bias())
    return torch.stack(logits)


@each_arch
def test_logits_equal_the_equations(task, arch):
    model = make_model(arch, task, encoder_layers=4, decoder_layers=4).eval()
    batch = make_batch(task, LENGTHS)["net_input"]
    logits, _ = model(**batch)
    pad = task.source_dictionary.pad()
    for row, (_, length) in enumerate(LENGTHS):
        source = batch["src_tokens"][row]
        previous = batch["prev_output_tokens"][row, : length + 1]
        expected = naive_logits(model, source[source != pad], previous)
        torch.testing.assert_close(logits[row, : length + 1], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("source_embedding", ["only_external", "mix_sum", "mix_gate"])
def test_each_direction_reads_its_own_map_of_external_vectors(
    task, external_table, source_embedding
):
    model = make_model(
        "rnmt_plus",
        task,
        source_embedding=source_embedding,
        external_embeddings=external_table,
        external_map="per_direction",
    ).eval()
    batch = make_batch(task, LENGTHS)["net_input"]
    states = model.encoder(batch["src_tokens"], batch["src_lengths"]).states
    for row, source in enumerate(batch["src_tokens"]):
        real = source != task.source_dictionary.pad()
        expected = torch.stack(naive_encoder(model, source[real], dropout=1.0))
        torch.testing.assert_close(states[row, real], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("source_embedding", ["mix_sum", "mix_gate"])
def test_where_embeddings_are_frozen_the_map_of_external_vectors_is_too(
    task, external_table, source_embedding
):
    options = {"source_embedding": source_embedding, "external_embeddings": external_table}
    model = make_model("esnmt", task, release="softmax", **options)
    assert {name for name, _ in model.named_parameters()} == SOFTMAX
    again = make_model("esnmt", task, release="softmax", seed=9, **options).eval()
    again.load_state_dict(model.state_dict(), strict=True)
    batch = make_batch(task, LENGTHS)["net_input"]
    assert torch.equal(model.eval()(**batch)[0], again(**batch)[0])
    released = make_model("esnmt", task, release="embeddings", **options)
    names = {name for name, _ in released.named_parameters()}
    assert "encoder.embed_tokens.external.maps.0.weight" in names


def test_dropout_acts_on_embeddings_and_layer_outputs_in_front_of_the_residual(task):
    model = make_model("esnmt", task)
    for part in (model.encoder, model.encoder.lstm, model.decoder, model.decoder.stack):
        part.dropout = Halve()
    batch = make_batch(task, [(6, 5)])["net_input"]
    source, previous = batch["src_tokens"][0], batch["prev_output_tokens"][0]
    expected = naive_logits(model, source, previous, dropout=0.5)
    torch.testing.assert_close(model(**batch)[0][0], expected, rtol=1e-10, atol=1e-12)


@each_arch
def test_the_option_is_the_dropout_of_every_part(task, arch):
    model = make_model(arch, task, dropout=0.4)
    parts = (model.encoder, model.encoder.lstm, model.decoder, model.decoder.stack)
    assert [part.dropout.probability for part in parts] == [0.4] * 4


@each_arch
def test_left_and_right_padding_and_extra_padding_change_nothing(task, arch):
    model = make_model(arch, task)
    left = make_batch(task, LENGTHS, left_pad=True)["net_input"]
    right = make_batch(task, LENGTHS, left_pad=False)["net_input"]
    expected, _ = model(**left)
    torch.testing.assert_close(model(**right)[0], expected, rtol=1e-12, atol=1e-12)
    padding = torch.full((len(LENGTHS), 3), task.source_dictionary.pad())
    for wider in ([padding, left["src_tokens"]], [left["src_tokens"], padding]):
        again, _ = model(**{**left, "src_tokens": torch.cat(wider, 1)})
        torch.testing.assert_close(again, expected, rtol=1e-12, atol=1e-12)


SOFTMAX = {"decoder.output_projection.weight", "decoder.output_projection.bias"}
TABLES = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
ATTENTION = {
    *(f"decoder.stack.attention.{n}" for n in ("score", "query.weight", "key.weight")),
    "decoder.stack.attention.output.weight",
    "encoder.lstm.projection.weight",
    "encoder.lstm.projection.bias",
}
PLACES = {
    "encoder": [f"encoder.lstm.layers.{depth}.{way}" for depth in range(3) for way in range(2)],
    "decoder": [f"decoder.stack.layers.{depth}" for depth in range(3)],
}


def scales(side, names=("radius", "gamma")):
    return {f"{place}.{name}.value" for place in PLACES[side] for name in names}


def trained(side):
    names = ("weight_ih", "weight_hh", "gain", "bias")
    return {f"{place}.{name}" for place in PLACES[side] for name in names}


ALL = SOFTMAX | TABLES | ATTENTION
# Where nothing is frozen, no option of frozen parts may be given.
LEARNED = {"gamma_init": None, "spectral_radius": "learned"}
LADDER = {
    "softmax": SOFTMAX,
    "embeddings": SOFTMAX | TABLES | scales("encoder") | scales("decoder"),
    "attention": ALL | scales("encoder") | scales("decoder"),
    "encoder": ALL | trained("encoder") | scales("decoder"),
    "decoder": ALL | scales("encoder") | trained("decoder"),
    "all": ALL | trained("encoder") | trained("decoder"),
}


@pytest.mark.parametrize("arch", ["esnmt", "esnmt_lstm"])
@pytest.mark.parametrize("release", LADDER)
def test_a_row_of_the_ladder_trains_exactly_its_parameters_and_saves_no_others(task, arch, release):
    start = {**LEARNED, "gamma_init": None if release == "all" else 0.5}
    model = make_model(arch, task, release=release, **start)
    names = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert names == LADDER[release]
    assert {name for name in model.state_dict() if not name.endswith("_version")} == names


def test_released_layers_are_those_of_rnmt_plus_from_the_start(task):
    released = make_model("esnmt", task, release="all", **LEARNED)
    baseline = make_model("rnmt_plus", task)
    expected = dict(baseline.named_parameters())
    assert {n: p.shape for n, p in released.named_parameters()} == {
        n: p.shape for n, p in expected.items()
    }
    for name, parameter in released.named_parameters():
        assert torch.equal(parameter, expected[name]), name


def test_a_fixed_radius_is_not_trained_and_input_scales_still_are(task):
    model = make_model("esnmt_lstm", task, spectral_radius="0.5", scales_per_gate=True)
    names = {name for name, _ in model.named_parameters()}
    expected = scales("encoder", ["gamma"]) | scales("decoder", ["gamma"])
    assert {name for name in names if name.endswith("value")} == expected
    layers = [layer for layer in model.modules() if isinstance(layer, FrozenLayer)]
    assert all(layer.radius.value.tolist() == [0.5] * 4 for layer in layers)


def test_weights_start_in_the_range_asked_for_and_norms_and_scales_at_theirs(task):
    options = {"embed_dim": 64, "hidden_size": 32, "init_range": 0.04}
    model = make_model("esnmt", task, release="decoder", gamma_init=10.0, **options)
    for name, parameter in model.named_parameters():
        if name.endswith("gain"):
            assert parameter.eq(1).all()
        elif name.endswith("gamma.value"):
            assert parameter.eq(10).all()
        elif ".layers." in name and name.endswith(".bias"):
            assert parameter.eq(0).all(), name
        else:
            assert parameter.abs().max() <= 0.04, name
    layer = model.decoder.stack.layers[0]
    for weight in (layer.weight_ih, layer.weight_hh):
        assert weight.min() < -0.039
        assert weight.max() > 0.039
    assert model.encoder.embed_tokens.weight[task.source_dictionary.pad()].eq(0).all()


def loss_of(model, task, batch):
    criterion = CRITERION_REGISTRY["full_softmax"](task, 0.1, False, 0, False)
    return criterion(model, batch)[0]


@pytest.mark.parametrize("release", ["softmax", "attention"])
def test_frozen_weights_stay_what_they_were_bit_for_bit_when_all_else_moves(task, release):
    model = make_model("esnmt_lstm", task, release=release)
    frozen = {name: buffer.clone() for name, buffer in model.named_buffers()}
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.1)
    loss_of(model, task, make_batch(task, LENGTHS)).backward()
    assert all(p.grad is not None for p in model.parameters())
    optimizer.step()
    assert all(not torch.equal(before[name], p) for name, p in model.named_parameters())
    for name, buffer in model.named_buffers():
        assert torch.equal(buffer, frozen[name]), name


@pytest.mark.parametrize("arch", ["esnmt", "esnmt_lstm"])
def test_with_the_output_layer_alone_no_graph_is_built_behind_it(task, arch):
    model = make_model(arch, task, release="softmax").train()
    features, _ = model(**make_batch(task, LENGTHS)["net_input"], features_only=True)
    assert features.grad_fn is None


@pytest.mark.parametrize("release", ["softmax", "embeddings", "attention", "decoder"])
def test_a_model_rebuilt_from_its_checkpoint_gives_the_same_logits(task, release):
    model = make_model("esnmt_lstm", task, release=release).float().eval()
    again = make_model("esnmt_lstm", task, release=release, seed=9).float().eval()
    again.load_state_dict(model.state_dict(), strict=True)
    batch = make_batch(task, LENGTHS)["net_input"]
    assert torch.equal(model(**batch)[0], again(**batch)[0])


@pytest.mark.parametrize(
    ("trained_with", "given", "said"),
    [
        ({"reservoir_seed": 3}, {}, "encoder.layers.0.forward: .*--reservoir-seed 3, not 1"),
        ({"hidden_size": 4}, {}, r"encoder.layers.0.forward: .*--hidden-size"),
        ({"reservoir_sparsity": 0.5}, {}, "encoder.layers.0.forward: .*--reservoir-sparsity"),
        ({"release": "softmax"}, {"release": "softmax", "reservoir_seed": 2}, "embed_tokens: .*1"),
    ],
)
def test_a_checkpoint_of_other_frozen_weights_is_refused(task, trained_with, given, said):
    state = make_model("esnmt", task, **trained_with).state_dict()
    with pytest.raises(UserError, match=said):
        make_model("esnmt", task, **given).load_state_dict(state)


def logged(arch, task, training=True, **options):
    model = make_model(arch, task, **options).train(training)
    with metrics.aggregate(new_root=True) as aggregator:
        model(**make_batch(task, LENGTHS)["net_input"])
    return aggregator.get_smoothed_values()


def test_radius_scale_and_saturation_of_every_layer_and_direction_are_logged(task):
    figures = logged("esnmt", task, gamma_init=0.5, spectral_radius="0.75")
    layers = [f"encoder_{way}_{d}" for way in ("forward", "backward") for d in range(3)]
    layers += [f"decoder_{depth}" for depth in range(3)]
    names = {f"{figure}_{n}" for n in layers for figure in ("radius", "gamma", "saturation")}
    assert set(figures) == names
    assert all(figures[f"radius_{name}"] == 0.75 for name in layers)
    assert all(figures[f"gamma_{name}"] == 0.5 for name in layers)
    assert all(figures[f"saturation_{name}"] < 0.3 for name in layers)
    saturated = logged("esnmt", task, gamma_init=1e4, embed_dim=16)
    assert all(0.9 < saturated[f"saturation_{name}"] <= 1 for name in layers)


def test_figures_are_mean_absolute_radius_mean_scale_and_saturation_of_real_positions(task):
    layer = make_model("esnmt_lstm", task, scales_per_gate=True).decoder.stack.layers[0]
    with torch.no_grad():
        layer.radius.value.copy_(torch.tensor([-1.0, 0.5, 2.0, 0.5]))
        layer.gamma.value.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    # (T, B, H): three of six units at real positions are beyond 0.99; 0.98 is not.
    states = torch.tensor([[[0.995, -1.0], [0.98, 0.2]], [[0.5, 0.991], [1.0, 1.0]]])
    real = torch.tensor([[True, True], [True, False]])
    with metrics.aggregate(new_root=True) as aggregator:
        Dynamics().log("decoder", {"0": (layer, states)}, real)
    assert aggregator.get_smoothed_values() == {
        "radius_decoder_0": 1.0,
        "gamma_decoder_0": 2.5,
        "saturation_decoder_0": 0.5,
    }


def test_dynamics_are_looked_at_once_a_log_interval_and_when_an_epoch_begins(task):
    model = make_model("esnmt", task).train()
    model.prepare_training(SimpleNamespace(common=SimpleNamespace(log_interval=4)))
    inputs, counts = make_batch(task, LENGTHS)["net_input"], []
    with metrics.aggregate("train"):
        for epoch in range(2):
            metrics.reset_meters("train")
            for update in range(6 * epoch, 6 * epoch + 6):
                model.set_num_updates(update)
                model(**inputs)
                counts.append(int(metrics.get_meter("train", "gamma_decoder_0").count))
    metrics.reset_meters("train")
    assert counts == [1, 1, 1, 2, 2, 2, 1, 2, 2, 2, 2, 3]


def test_nothing_is_logged_in_validation_or_by_trained_layers(task):
    assert logged("esnmt", task, training=False) == {}
    assert logged("rnmt_plus", task) == {}
    assert {name.split("_")[1] for name in logged("esnmt", task, release="encoder")} == {"decoder"}


def test_upper_layers_saturate_with_the_scales_of_the_paper():
    # Upper layers read tanh outputs through 10 U(-1, 1): nearly every unit ends at +-1.
    task = make_task()
    options = {"embed_dim": 256, "hidden_size": 256, "init_range": 0.04, "echo_start": "paper"}
    options |= {"gamma_init": None, "spectral_radius": "learned"}
    figures = logged("esnmt", task, **options)
    assert figures["saturation_encoder_forward_1"] > 0.9
    normed = logged("esnmt", task, input_norm="fan_in", **{**options, "gamma_init": 1.0})
    assert normed["saturation_encoder_forward_1"] < 0.1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reservoir_sparsity": 1.0}, "--reservoir-sparsity 1.0: must be at least 0 and below 1"),
        ({"reservoir_sparsity": 0.97}, "--reservoir-sparsity 0.97, 8 units .* radius 0"),
        ({"spectral_radius": "big"}, "--spectral-radius big: must be learned, or a number"),
        ({"spectral_radius": "-1"}, "--spectral-radius -1"),
        ({"spectral_radius": "nan"}, "--spectral-radius nan"),
        ({"spectral_radius": "0.5", "radius_init": 2.0}, "--radius-init 2.0.*fixes them"),
        ({"gamma_init": -1.0}, "--gamma-init -1.0"),
        ({"reservoir_seed": -1}, "--reservoir-seed -1"),
        ({"leak_rate": 0.0}, "--leak-rate 0.0: must be above 0 and at most 1"),
        ({"attention_heads": 3}, "--attention-heads 3 must divide --hidden-size 8"),
        ({"decoder_layers": 0}, "--decoder-layers 0"),
        ({"dropout": 1.0}, "--dropout 1.0"),
        ({"release": "all"}, "--spectral-radius 0.9 has no effect with --release all: nothing is"),
        ({"release": "softmax", "output_layer": "tied"}, "--release softmax freezes the embedd"),
        ({"output_layer": "tied", "embed_dim": 8}, "8 dimensions and the states 16"),
        ({"share_all_embeddings": True}, "--joined-dictionary"),
    ],
)
def test_what_cannot_be_built_is_refused_with_its_values(task, options, said):
    with pytest.raises(UserError, match=said):
        make_model("esnmt", task, **options)


@pytest.mark.parametrize(
    ("arch", "option", "value"),
    [
        ("esnmt", "echo_start", "paper"),
        ("esnmt", "gamma_init", 2.0),
        ("esnmt", "radius_init", 2.0),
        ("esnmt", "input_norm", "none"),
        ("esnmt", "reservoir_sparsity", 0.5),
        ("esnmt", "reservoir_seed", 7),
        ("esnmt", "leak_rate", 0.5),
        ("esnmt_lstm", "scales_per_gate", True),
    ],
)
def test_options_of_frozen_parts_are_refused_where_all_are_trained(task, arch, option, value):
    flag = f"--{option.replace('_', '-')}"
    with pytest.raises(UserError, match=f"^{flag} .*has no effect with --release all"):
        make_model(arch, task, release="all", **{**LEARNED, option: value})
    # In any other row of the ladder something is frozen.
    make_model(arch, task, release="decoder", **{**LEARNED, option: value})


def test_shared_embeddings_are_one_table_also_when_frozen():
    task = make_task()
    task.target_dictionary = task.source_dictionary
    for release in ("softmax", "attention"):
        model = make_model("esnmt", task, share_all_embeddings=True, release=release)
        assert model.encoder.embed_tokens is model.decoder.embed_tokens


@each_arch
def test_the_papers_widths_are_named_sizes(arch):
    for size in (512, 2048):
        config = MODEL_DATACLASS_REGISTRY[f"{arch}_{size}"]()
        assert (config.embed_dim, config.hidden_size) == (size, size)
        assert (config.encoder_layers, config.decoder_layers) == (6, 6)


ECHO_OPTIONS = {"gamma_init": None, "spectral_radius": "learned"}


def first_layer(arch, task, **options):
    options = {**ECHO_OPTIONS, **options}
    if arch.endswith("_paper"):
        options = {"echo_start": MODEL_DATACLASS_REGISTRY[arch]().echo_start, **options}
        arch = arch.removesuffix("_paper")
    model = make_model(arch, task, **options)
    layer = model.encoder.lstm.layers[1][0]
    return (
        layer.gamma.value.item(),
        layer.radius.value.item(),
        layer.reservoir.input.abs().max().item(),
    )


# The largest of many draws from U(-1, 1), or that divided by sqrt(inputs * density / 3).
FAN_IN = (16 * 0.75 / 3) ** -0.5


@pytest.mark.parametrize(
    ("arch", "options", "expected"),
    [
        ("esnmt", {}, (3.0, 0.5, FAN_IN)),
        ("esnmt_lstm", {}, (3.5, 1.0, FAN_IN)),
        ("esnmt_paper", {}, (10.0, 1.0, 1.0)),
        ("esnmt_lstm_paper", {}, (10.0, 1.0, 1.0)),
        ("esnmt", {"gamma_init": 0.0}, (0.0, 0.5, FAN_IN)),
        ("esnmt", {"radius_init": 0.25}, (3.0, 0.25, FAN_IN)),
        ("esnmt", {"radius_init": 0.0}, (3.0, 0.0, FAN_IN)),
        ("esnmt", {"spectral_radius": "0"}, (3.0, 0.0, FAN_IN)),
        ("esnmt_lstm", {"input_norm": "none"}, (3.5, 1.0, 1.0)),
        ("esnmt_paper", {"gamma_init": 2.0, "input_norm": "fan_in"}, (2.0, 1.0, FAN_IN)),
        ("esnmt_paper", {"spectral_radius": "0.75"}, (10.0, 0.75, 1.0)),
    ],
)
def test_scales_start_by_the_cell_as_the_paper_has_them_or_as_asked_for(
    task, arch, options, expected
):
    assert first_layer(arch, task, **options) == pytest.approx(expected, rel=0.05)


def test_a_checkpoint_with_the_former_defaults_of_the_scales_is_built_as_it_was(task):
    former = {"gamma_init": 10.0, "radius_init": 1.0, "input_norm": "none", "init_range": 0.04}
    assert first_layer("esnmt", task, **former) == pytest.approx((10.0, 1.0, 1.0), rel=0.05)
    fixed = first_layer("esnmt", task, spectral_radius="0.5", **former)
    assert fixed == pytest.approx((10.0, 0.5, 1.0), rel=0.05)


def test_a_checkpoint_from_before_echo_start_is_built_with_what_it_says(task):
    stored = {
        **vars(MODEL_DATACLASS_REGISTRY["esnmt"]()),
        **{"_name": "esnmt", "embed_dim": 16, "hidden_size": 8, "encoder_layers": 2},
        **{"gamma_init": 10.0, "radius_init": 1.0, "input_norm": "none", "init_range": 0.04},
    }
    del stored["echo_start"]
    model = build_model(OmegaConf.create(stored), task, from_checkpoint=True)
    layer = model.encoder.lstm.layers[1][0]
    assert (layer.gamma.value.item(), layer.radius.value.item()) == (10.0, 1.0)
    assert layer.reservoir.input_factor == 1.0


def test_the_help_of_echo_start_has_the_values_of_both_cells():
    text = EchoStateConfig.__dataclass_fields__["echo_start"].metadata["help"]
    for layer, cells in ((EchoStateLayer, "simple cells"), (FrozenLSTM, "LSTM cells")):
        start = layer.starts["output_variance"]
        assert f"{start.gamma:g}, {start.radius:g} and {start.input_norm} for {cells}" in text


def test_frozen_parts_are_drawn_by_the_names_that_checkpoints_rely_on(task):
    model = make_model("esnmt", task, release="softmax", reservoir_seed=7)
    attention = model.decoder.stack.attention
    for name, found in {
        "encoder.embed_tokens.weight": model.encoder.embed_tokens.weight,
        "decoder.embed_tokens.weight": model.decoder.embed_tokens.weight,
        "encoder.projection.weight": model.encoder.lstm.projection.weight,
        "decoder.attention.query.weight": attention.query.weight,
        "decoder.attention.score": attention.score,
    }.items():
        drawn = torch.from_numpy(0.2 * uniform(7, name, tuple(found.shape))).float().double()
        if "embed_tokens" in name:
            drawn[task.source_dictionary.pad()] = 0
        assert torch.equal(found, drawn), name


def test_a_radius_fixed_at_zero_is_not_trained(task):
    names = dict(make_model("esnmt", task, spectral_radius="0").named_parameters())
    assert not [name for name in names if name.endswith("radius.value")]


@pytest.mark.parametrize(("arch", "share"), [("esnmt_lstm", 0.45), ("esnmt", 0.17)])
def test_the_frozen_share_is_that_of_the_papers_proportions(arch, share):
    """6+6 layers and 62.5 words a unit, as 32,000 words at 512 units."""
    task = make_task(num_source=996, num_target=996)
    sizes = {"embed_dim": 16, "hidden_size": 16, "attention_heads": 4}
    model = make_model(arch, task, encoder_layers=6, decoder_layers=6, **sizes)
    ends = ("reservoir.recurrent", "reservoir.input")
    frozen = sum(buffer.numel() for name, buffer in model.named_buffers() if name.endswith(ends))
    trained = sum(parameter.numel() for parameter in model.parameters())
    assert frozen / (frozen + trained) == pytest.approx(share, abs=0.01)
