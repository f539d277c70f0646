"""Frozen weights: drawn, pruned, scaled, regenerated."""

import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn as nn
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.reservoirs import reservoir as module
from fairseq_outlayers.reservoirs.random_stream import uniform
from fairseq_outlayers.reservoirs.regenerated import VERSION, freeze
from fairseq_outlayers.reservoirs.reservoir import Reservoir, spectral_radius

NAME = "encoder.layers.0.forward"
# The first weights of seed 7, as hexadecimal floats.
GOLDEN = [
    ["-0x1.729959c892930p-1", "0x1.c1b7bddef0f7cp-1"],
    ["-0x1.8b48c1cc8bbe0p-3", "-0x1.fbc0142731e50p-3"],
]


def make(seed=1, inputs=5, units=8, **options):
    return Reservoir(NAME, seed, inputs, units, **options)


def test_the_stream_is_the_one_that_checkpoints_rely_on():
    # Written down once. If this fails, every checkpoint with a reservoir is lost.
    drawn = uniform(7, "encoder.layers.0.forward.recurrent.0", (2, 2))
    expected = [[float.fromhex(word) for word in row] for row in GOLDEN]
    assert drawn.tolist() == expected


def test_other_names_and_other_seeds_draw_other_weights():
    drawn = [uniform(seed, name, (50,)) for seed in (1, 2) for name in ("a", "b")]
    for one in range(4):
        for other in range(one):
            assert not np.isclose(drawn[one], drawn[other]).any()


@pytest.mark.parametrize("sparsity", [0.0, 0.25, 0.8])
def test_weights_are_uniform_and_pruned_as_asked(sparsity):
    drawn = uniform(3, "x", (400, 400), sparsity)
    kept = drawn[drawn != 0]
    # Five standard deviations of 160,000 draws.
    assert (
        abs(1 - kept.size / drawn.size - sparsity) <= 5 * (sparsity * (1 - sparsity)) ** 0.5 / 400
    )
    assert kept.min() >= -1
    assert kept.max() < 1
    shares = np.histogram(kept, bins=10, range=(-1, 1))[0] / kept.size
    assert np.abs(shares - 0.1).max() <= 5 * 0.3 / kept.size**0.5


@pytest.mark.parametrize("size", [3, 100, 129, 300])
@pytest.mark.parametrize("seed", range(3))
def test_the_spectral_radius_is_that_of_the_whole_spectrum(size, seed):
    matrix = uniform(seed, "x", (size, size), 0.25)
    expected = np.abs(np.linalg.eigvals(matrix)).max()
    assert spectral_radius(matrix) == pytest.approx(expected, rel=1e-7)


def test_where_the_iteration_does_not_converge_the_whole_spectrum_is_computed(monkeypatch):
    def give_up(*_, **__):
        raise ArpackNoConvergence("no convergence", np.array([]), np.array([]))

    monkeypatch.setattr("scipy.sparse.linalg.eigs", give_up)
    matrix = uniform(1, "x", (200, 200))
    assert spectral_radius(matrix) == np.abs(np.linalg.eigvals(matrix)).max()


def test_the_iteration_for_an_orthogonal_matrix_is_given_up_soon(monkeypatch):
    # All its eigenvalues have the modulus 1, so the iteration converges to none of them.
    orthogonal = np.linalg.qr(np.random.default_rng(1).standard_normal((200, 200)))[0]
    products = []

    def counted(matrix, **settings):
        def product(vector):
            products.append(vector)
            return matrix @ vector

        return eigs(LinearOperator(matrix.shape, product, dtype=matrix.dtype), **settings)

    monkeypatch.setattr("scipy.sparse.linalg.eigs", counted)
    assert spectral_radius(orthogonal) == pytest.approx(1, abs=1e-12)
    assert len(products) < 10_000  # 120,000 with ARPACK's own limit


@pytest.mark.parametrize(("size", "tolerance"), [(128, 0.09), (512, 0.03)])
def test_raw_radii_are_those_of_the_circular_law(size, tolerance):
    for density in (0.25, 0.75):
        radius = spectral_radius(uniform(1, "x", (size, size), 1 - density))
        assert radius == pytest.approx((size * density / 3) ** 0.5, rel=tolerance)


@pytest.mark.parametrize("size", [4, 200])
def test_a_matrix_without_cycles_has_radius_zero_exactly(size):
    generator = np.random.default_rng(0)
    order = generator.permutation(size)
    strictly_upper = np.triu(generator.random((size, size)) < 5 / size, 1) * generator.random(size)
    assert strictly_upper.any()
    assert spectral_radius(strictly_upper[order][:, order]) == 0.0


@pytest.mark.parametrize("gates", [1, 4])
def test_every_gates_recurrent_matrix_has_radius_one_and_inputs_stay_as_drawn(gates):
    reservoir = make(units=40, gates=gates, sparsity=0.5)
    for gate, matrix in enumerate(reservoir.recurrent.chunk(gates)):
        radius = np.abs(np.linalg.eigvals(matrix.double().numpy())).max()
        assert radius == pytest.approx(1, abs=1e-6)
        drawn = uniform(1, f"{NAME}.input.{gate}", (40, 5), 0.5)
        assert torch.equal(reservoir.input.chunk(gates)[gate], torch.from_numpy(drawn).float())
        # Pruned before it was scaled.
        raw = uniform(1, f"{NAME}.recurrent.{gate}", (40, 40), 0.5)
        assert torch.equal(matrix == 0, torch.from_numpy(raw == 0))


def test_fan_in_gives_a_unit_the_variance_of_its_inputs():
    reservoir = make(inputs=300, units=400, input_norm="fan_in")
    drive = torch.randn(200, 300, generator=torch.Generator().manual_seed(0)) @ reservoir.input.t()
    assert drive.std().item() == pytest.approx(1, rel=0.02)


def test_a_checkpoint_holds_no_weights_and_brings_back_every_bit():
    reservoir = make(gates=4)
    state = reservoir.state_dict()
    assert list(state) == [VERSION]
    assert state[VERSION].tolist()[:2] == [1, 4 * 8 * (8 + 5)]
    again = make(gates=4)
    again.load_state_dict(state)
    assert torch.equal(again.recurrent, reservoir.recurrent)
    assert torch.equal(again.input, reservoir.input)


def test_another_process_regenerates_the_same_weights():
    script = (
        "import sys; sys.modules['fairseq'] = None  # not needed, and slow to import\n"
        "from fairseq_outlayers.reservoirs.reservoir import Reservoir\n"
        f"print(Reservoir({NAME!r}, 1, 5, 150, 4).get_buffer({VERSION!r}).tolist())"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert printed.stdout.strip() == str(make(units=150, gates=4).get_buffer(VERSION).tolist())


def test_the_checkpoints_radius_is_divided_by_where_this_machine_finds_another(monkeypatch):
    reservoir = make(gates=4)
    state = reservoir.state_dict()
    # More than the last digits, which half precision does not have.
    monkeypatch.setattr(module, "spectral_radius", lambda m: spectral_radius(m) * 1.01)
    elsewhere = make(gates=4)
    assert elsewhere.get_buffer(VERSION).tolist()[3:] != state[VERSION].tolist()[3:]
    assert not torch.equal(elsewhere.half().recurrent, reservoir.recurrent.half())
    elsewhere.load_state_dict(state)
    assert torch.equal(elsewhere.recurrent, reservoir.recurrent.half())
    assert torch.equal(elsewhere.get_buffer(VERSION), state[VERSION])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"seed": 2},
            "trained with .* --reservoir-seed 1, not 2: pass --reservoir-seed 1",
        ),
        ({"sparsity": 0.5}, "regenerated from --reservoir-seed 1 differ .*--reservoir-sparsity"),
        ({"input_norm": "fan_in"}, "--input-norm"),
        ({"units": 9}, "104 frozen weights, but the model has 126: .*--hidden-size"),
        ({"gates": 4}, "104 frozen weights, but the model has 416: pass the architecture"),
    ],
)
def test_other_weights_than_the_checkpoints_are_refused_by_layer(changed, said):
    state = make().state_dict()
    with pytest.raises(UserError, match=f"{NAME}: .*{said}"):
        make(**changed).load_state_dict(state)


def test_a_damaged_checksum_is_refused():
    reservoir = make()
    state = {VERSION: reservoir.get_buffer(VERSION).clone()}
    state[VERSION][2] ^= 1
    with pytest.raises(UserError, match=r"checksum.*the checkpoint is damaged"):
        reservoir.load_state_dict(state)


@pytest.mark.parametrize("damaged", [torch.tensor(1), torch.tensor([1, 2]), torch.ones(2, 4)])
def test_a_version_of_another_shape_is_refused(damaged):
    with pytest.raises(UserError, match=rf"damaged: a {VERSION} has shape \("):
        Reservoir("encoder.0", 3, 12, 4, 1).load_state_dict({VERSION: damaged})


def test_a_reservoir_without_memory_is_refused():
    with pytest.raises(UserError, match=r"--reservoir-sparsity 0.99, 6 units.*radius 0"):
        make(units=6, sparsity=0.99)


def frozen_attention(seed=1, **options):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    freeze(layer, "encoder.layers.1", seed, **options)
    return layer


def test_a_frozen_module_has_no_parameters_and_saves_none_of_its_weights():
    layer = frozen_attention()
    assert list(layer.parameters()) == []
    assert list(layer.state_dict()) == [VERSION]
    torch.manual_seed(5)
    again = frozen_attention()
    again.load_state_dict(layer.state_dict())
    x = torch.randn(2, 3, 8)
    assert torch.equal(layer.eval()(x), again.eval()(x))


@pytest.mark.parametrize("build", [make, frozen_attention])
def test_weights_are_drawn_in_float32_and_have_the_default_type(build):
    expected = build().double()
    torch.set_default_dtype(torch.float64)
    try:
        found = build()
    finally:
        torch.set_default_dtype(torch.float32)
    for name, weights in expected.named_buffers():
        assert found.get_buffer(name).dtype == weights.dtype
        assert torch.equal(found.get_buffer(name), weights)


def test_frozen_matrices_are_uniform_norms_one_and_biases_zero():
    layer = frozen_attention()
    assert layer.norm1.weight.eq(1).all()
    assert layer.linear1.bias.eq(0).all()
    bound = (6 / (8 + 16)) ** 0.5
    assert 0.9 * bound < layer.linear1.weight.abs().max() <= bound
    assert frozen_attention(bound=0.1).linear1.weight.abs().max() <= 0.1


def test_a_layer_norm_that_is_not_torchs_is_frozen_at_one_too():
    class FusedLayerNorm(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.normalized_shape = (size,)
            self.weight, self.bias = nn.Parameter(torch.rand(size)), nn.Parameter(torch.rand(size))

    norm = FusedLayerNorm(8)
    freeze(norm, "encoder.layers.1.norm", 1)
    assert norm.weight.eq(1).all()
    assert norm.bias.eq(0).all()


def test_a_frozen_embedding_keeps_padding_at_zero():
    embedding = nn.Embedding(10, 4, padding_idx=1)
    freeze(embedding, "decoder.embed_tokens", 1, bound=0.04)
    assert embedding(torch.tensor([1])).abs().max() == 0
    assert embedding.weight[2:].abs().min() > 0
    assert not embedding(torch.tensor([3])).requires_grad


def test_a_frozen_module_refuses_another_seed():
    state = frozen_attention(seed=3).state_dict()
    with pytest.raises(UserError, match=r"encoder.layers.1: .*--reservoir-seed 3, not 1"):
        frozen_attention(seed=1).load_state_dict(state)
