"""Source embeddings against the equations of the paper, word by word in float64."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import AsBuilt, Uniform, reset_parameters
from fairseq_outlayers.models.nematus_gru import NematusInitializer
from fairseq_outlayers.options import SourceEmbeddingConfig
from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDINGS, build_source_embedding
from fairseq_outlayers.source_embeddings.base import SourceEmbedding
from tests.conftest import make_dictionary, write_external_table

D = 4
INTERNAL = 12  # of the 17 symbols of the source dictionary
MIXES = ["mix_sum", "mix_gate"]
EXTERNAL = ["only_external", *MIXES]
OF_COUNTS = ("gate.frequency", "gate.counts_version")


@pytest.fixture
def make(task, external_table):
    def build(name, dictionary=task.source_dictionary, bidirectional=True, **options):
        torch.manual_seed(1)
        table = {} if name == "internal" else {"external_embeddings": external_table}
        table |= {} if name == "only_external" else {"internal_vocabulary": INTERNAL}
        config = SourceEmbeddingConfig(source_embedding=name, **{**table, **options})
        embedding = build_source_embedding(config, dictionary, D, bidirectional).double()
        for parameter in embedding.parameters():
            torch.nn.init.normal_(parameter)  # a bias of zero would hide its absence
        embedding.zero_padding()
        return embedding.eval()

    return build


@pytest.fixture
def rows(external_table):
    return torch.from_numpy(np.load(external_table)).double()


def all_ids(task):
    """Every symbol, and padding in between."""
    ids = torch.arange(len(task.source_dictionary))
    return torch.stack([ids, ids.flip(0)])


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def internal_vector(embedding, word, unknown=3):
    table = embedding if hasattr(embedding, "weight") else embedding.internal
    return table.weight[word if word < INTERNAL else unknown]


def naive_vector(name, embedding, word, e, options, mean=0.0):
    """One word's vector from the equations."""
    if options.get("center_external"):
        e = e - mean
    x = internal_vector(embedding, word) if name != "only_external" else None
    if name == "internal":
        return x
    if options.get("normalize_external"):
        e = e / e.norm().clamp(min=1e-12)  # that of unknown words may be zero
    linear = embedding.external.maps[0]
    m = linear.weight @ e + linear.bias
    if options.get("external_activation", "tanh") == "tanh":
        m = m.tanh()
    if name == "only_external":
        return m
    if name == "mix_sum":
        return x + m
    gate = embedding.gate
    seen = e if options.get("gate_input") == "external" else m
    sums = gate.internal.weight @ x + gate.internal.bias + gate.external.weight @ seen
    g = sigmoid(sums)
    inner = {"linear": lambda z: z, "tanh": torch.tanh}.get(options.get("gate_inner", "linear"))
    if inner is not None:
        a, b = embedding.inner_internal, embedding.inner_external
        x, m = inner(a.weight @ x + a.bias), inner(b.weight @ m + b.bias)
    return g * x + (1 - g) * m


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("internal", {}),
        ("only_external", {}),
        ("only_external", {"external_activation": "linear"}),
        ("only_external", {"normalize_external": True}),
        ("only_external", {"center_external": True}),
        ("mix_sum", {}),
        ("mix_sum", {"center_external": True, "normalize_external": True}),
        ("mix_gate", {}),
        ("mix_gate", {"gate_input": "external", "center_external": True}),
        ("mix_gate", {"gate_input": "external", "normalize_external": True}),
        ("mix_gate", {"gate_inner": "tanh"}),
        ("mix_gate", {"gate_inner": "none"}),
    ],
)
def test_vectors_equal_the_equations_and_padding_is_zero(task, make, rows, name, options):
    embedding = make(name, **options)
    ids = all_ids(task)
    vectors = embedding(ids)
    pad = task.source_dictionary.pad()
    for position, word in enumerate(ids[0].tolist()):
        mean = rows[task.source_dictionary.unk()]  # where data_prep writes the mean of all
        expected = naive_vector(name, embedding, word, rows[word], options, mean)
        expected = torch.zeros(D).double() if word == pad else expected
        torch.testing.assert_close(vectors[0, position], expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(vectors[1].flip(0), vectors[0], rtol=1e-10, atol=1e-12)


def test_centred_unknown_words_are_mapped_from_zero(task, make):
    for normalize in (False, True):
        embedding = make("only_external", center_external=True, normalize_external=normalize)
        unknown = embedding(torch.tensor([[task.source_dictionary.unk()]]))[0, 0]
        bias = embedding.external.maps[0].bias
        torch.testing.assert_close(unknown, bias.tanh(), rtol=1e-12, atol=1e-12)


def test_unknown_words_are_masked_whether_or_not_vectors_are_centred(task, make):
    for center in (False, True):
        embedding = make("only_external", center_external=center, external_unknown="mask")
        assert embedding(torch.tensor([[task.source_dictionary.unk()]])).abs().max() == 0


def test_vectors_centred_and_scaled_do_not_know_a_constant_in_all_of_them(
    task, make, rows, tmp_path
):
    shifted = rows.float().numpy() + np.arange(5, dtype=np.float32)
    table = write_external_table(tmp_path / "shifted.npy", task.source_dictionary, shifted)
    options = {"center_external": True, "normalize_external": True}
    one, other = make("mix_sum", **options), make("mix_sum", external_embeddings=table, **options)
    ids = all_ids(task)
    torch.testing.assert_close(one(ids), other(ids), rtol=1e-5, atol=1e-5)


def test_mix_sum_with_a_map_of_zero_is_the_baseline_bitwise(task, make):
    mix, baseline = make("mix_sum"), make("internal")
    baseline.load_state_dict(mix.internal.state_dict())
    for parameter in mix.external.parameters():
        torch.nn.init.zeros_(parameter)
    assert torch.equal(mix(all_ids(task)), baseline(all_ids(task)))


def test_mix_sum_with_internal_embeddings_of_zero_is_only_external(task, make):
    mix, only = make("mix_sum"), make("only_external")
    only.external.load_state_dict(mix.external.state_dict())
    torch.nn.init.zeros_(mix.internal.weight)
    assert torch.equal(mix(all_ids(task)), only(all_ids(task)))


@pytest.mark.parametrize("bias", [1e4, -1e4])
def test_a_gate_wide_open_or_shut_lets_one_side_through(task, make, bias):
    mix = make("mix_gate", gate_inner="none")
    torch.nn.init.constant_(mix.gate.internal.bias, bias)
    ids = all_ids(task)
    side = mix.internal(ids) if bias > 0 else mix.external(ids).mapped
    torch.testing.assert_close(mix(ids), side, rtol=0, atol=0)


@pytest.mark.parametrize("name", MIXES)
def test_words_unknown_inside_keep_their_own_external_vectors(make, name):
    ids = torch.tensor([[INTERNAL, INTERNAL + 1]])
    mixed, baseline = make(name)(ids)[0], make("internal")(ids)[0]
    assert not torch.allclose(mixed[0], mixed[1])
    assert torch.equal(baseline[0], baseline[1])


@pytest.mark.parametrize("name", EXTERNAL)
def test_permuting_words_and_table_together_changes_nothing(tmp_path, task, make, rows, name):
    # Words beyond the internal vocabulary alone, for the others have embeddings by their ids.
    first = task.source_dictionary.nspecial if name == "only_external" else INTERNAL
    order = torch.arange(len(rows))
    order[first:] = order[first:].flip(0)
    dictionary = make_dictionary(0)
    for word in order[dictionary.nspecial :].tolist():
        dictionary.add_symbol(task.source_dictionary[word])
    table = write_external_table(tmp_path / "permuted.npy", dictionary, rows[order].float().numpy())
    original, permuted = make(name), make(name, dictionary, external_embeddings=table)
    moved = torch.argsort(order)  # where each word went
    ids = all_ids(task)
    torch.testing.assert_close(permuted(moved[ids]), original(ids), rtol=0, atol=0)


@pytest.mark.parametrize("name", EXTERNAL)
def test_the_table_gets_no_gradient_and_stays_out_of_parameters_and_state(task, make, rows, name):
    embedding = make(name)
    before = copy.deepcopy(rows)
    embedding(all_ids(task)).sum().backward()
    assert torch.equal(embedding.external.table.vectors(torch.arange(len(rows))).double(), before)
    for tensors in (dict(embedding.named_parameters()), embedding.state_dict()):
        assert all(tensor.shape != rows.shape for tensor in tensors.values())
    assert all(parameter.grad is not None for parameter in embedding.parameters())


def test_an_internal_table_shrinks_to_a_map(tmp_path):
    dictionary = make_dictionary(96)
    table = write_external_table(tmp_path / "t.npy", dictionary, np.zeros((100, 300), np.float16))
    config = SourceEmbeddingConfig(source_embedding="only_external", external_embeddings=table)
    embedding = build_source_embedding(config, dictionary, 500, True)
    assert sum(parameter.numel() for parameter in embedding.parameters()) == 300 * 500 + 500


@pytest.mark.parametrize("name", EXTERNAL)
def test_each_direction_may_have_a_map_of_its_own(task, make, name):
    shared, own = make(name), make(name, external_map="per_direction")
    ids = all_ids(task)
    assert not shared.directions_differ
    assert own.directions_differ
    assert not torch.allclose(own(ids), own(ids, direction=1))
    both = list(own.both_directions(ids))
    assert all(v.equal(own(ids, direction)) for direction, v in enumerate(both))
    own.external.maps[1].load_state_dict(own.external.maps[0].state_dict())
    assert torch.equal(own(ids), own(ids, direction=1))


@pytest.mark.parametrize("name", EXTERNAL)
def test_both_directions_drop_as_one_after_the_other(task, make, name):
    dropped = {"external_dropout": 0.3, "mapped_dropout": 0.3}
    embedding = make(name, external_map="per_direction", **dropped).train()
    ids = all_ids(task)
    torch.manual_seed(2)
    expected = [torch.nn.functional.dropout(embedding(ids, k)) for k in range(2)]
    torch.manual_seed(2)
    found = [torch.nn.functional.dropout(v) for v in embedding.both_directions(ids)]
    assert all(map(torch.equal, found, expected))


def test_masked_unknown_words_have_nothing_external(task, make):
    unknown = len(task.source_dictionary) - 1
    ids = torch.tensor([[unknown, 5, task.source_dictionary.unk()]])
    assert make("only_external")(ids).abs().min() > 0
    only = make("only_external", external_unknown="mask")(ids)[0]
    assert only[[0, 2]].abs().max() == 0
    assert only[1].abs().min() > 0
    mix = make("mix_sum", external_unknown="mask")
    assert torch.equal(mix(ids)[0, 0], internal_vector(mix, unknown))
    mix = make("mix_gate", external_unknown="mask", gate_inner="none")
    assert torch.equal(mix(ids)[0, 0], internal_vector(mix, unknown))


def test_the_gate_sees_how_often_a_word_was_counted(make):
    plain, counting = make("mix_gate"), make("mix_gate", gate_frequency=True)
    plain.load_state_dict(
        {k: v for k, v in counting.state_dict().items() if k not in OF_COUNTS}, strict=True
    )
    # w1, counted 12 times; one without a count inside; </s>, which is counted by nobody.
    ids = torch.tensor([[5, INTERNAL, 2]])
    x, m = counting.internal(ids), counting.external(ids).mapped
    sums = counting.gate.internal(x) + counting.gate.external(m)
    expected = sigmoid(sums[0, 0] + np.log(13) * counting.gate.frequency)
    gate = counting.gate(ids, x, m)[0]
    torch.testing.assert_close(gate[0], expected, rtol=1e-6, atol=1e-7)  # counts in float32
    torch.testing.assert_close(gate[1:], plain.gate(ids, x, m)[0, 1:])


@pytest.mark.parametrize(
    "initializer", [Uniform(0.1), NematusInitializer(0.02, orthogonal=True), AsBuilt()]
)
def test_the_gate_starts_without_regard_to_counts_in_every_model(make, initializer):
    model = torch.nn.ModuleList([make("mix_gate", gate_frequency=True)])
    gate = model[0].gate
    gate.frequency.data.zero_()  # as built
    before = gate.internal.weight.clone()
    if isinstance(initializer, NematusInitializer):
        initializer.names = {id(tensor): name for name, tensor in model.named_parameters()}
    reset_parameters(model, initializer)
    assert not gate.frequency.any()
    assert torch.equal(before, gate.internal.weight) == isinstance(initializer, AsBuilt)


def test_other_counts_than_those_of_the_training_are_refused(task, make):
    trained = make("mix_gate", gate_frequency=True).state_dict()
    make("mix_gate", gate_frequency=True).load_state_dict(trained)
    older = {name: value for name, value in trained.items() if name != OF_COUNTS[1]}
    make("mix_gate", gate_frequency=True).load_state_dict(older)
    other = copy.deepcopy(task.source_dictionary)
    other.count[5] += 1
    make("mix_gate", other).load_state_dict(make("mix_gate").state_dict())
    with pytest.raises(UserError, match="--gate-frequency reads the counts of the source dict"):
        make("mix_gate", other, gate_frequency=True).load_state_dict(trained)
    make("mix_gate", other, gate_frequency=True).load_state_dict(older)


def test_dropout_acts_before_and_after_the_map_only_in_training(task, make):
    ids = all_ids(task)
    for option in ("external_dropout", "mapped_dropout"):
        embedding = make("only_external", **{option: 0.5})
        assert torch.equal(embedding(ids), embedding(ids))
        embedding.train()
        assert not torch.equal(embedding(ids), embedding(ids))
        zeros = embedding(ids).eq(0).double().mean().item()
        assert (zeros > 0.3) == (option == "mapped_dropout")


def test_by_default_counted_words_have_embeddings_of_their_own():
    dictionary = make_dictionary(3)
    dictionary.add_symbol("only in the table", n=0)
    config = SourceEmbeddingConfig()
    assert build_source_embedding(config, dictionary, D, True).num_embeddings == 7
    uncounted = make_dictionary(0)
    uncounted.add_symbol("a", n=0)
    assert build_source_embedding(config, uncounted, D, True).num_embeddings == 5


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("mix_sum", {"external_embeddings": None}, "mix_sum needs --external-embeddings FILE"),
        ("internal", {"external_embeddings": "t.npy"}, "t.npy has no effect with"),
        ("only_external", {"internal_vocabulary": 12}, "--internal-vocabulary 12 has no effect"),
        ("internal", {"internal_vocabulary": 4}, "--internal-vocabulary 4: must be more than"),
        ("mix_sum", {"internal_vocabulary": 18}, "--internal-vocabulary 18: .* 17 symbols"),
        ("mix_sum", {"internal_vocabulary": -1}, "--internal-vocabulary -1: must be at least 0"),
        ("mix_gate", {"mapped_dropout": 1.0}, "--mapped-dropout 1.0"),
        (
            "only_external",
            {"external_map": "per_direction", "bidirectional": False},
            "a bidirectional encoder",
        ),
        (
            "gate",
            {},
            f"--source-embedding gate: unknown; choose from {', '.join(sorted(SOURCE_EMBEDDINGS))}",
        ),
    ],
)
def test_what_cannot_be_built_is_refused_with_its_values(make, name, options, said):
    with pytest.raises(UserError, match=said):
        make(name, **options)


@pytest.mark.parametrize("name", ["only_external", "mix_sum", "mix_gate"])
@pytest.mark.parametrize("activation", ["tanh", "linear"])
def test_modules_can_be_pickled(task, make, name, activation):
    embedding = make(name, external_activation=activation)
    again = pickle.loads(pickle.dumps(embedding))
    ids = all_ids(task)
    torch.testing.assert_close(again(ids), embedding(ids))


class Narrow(SourceEmbedding):
    """Vectors with a dimension too few, beside an embedding without a row for padding."""

    def __init__(self, size):
        super().__init__()
        self.table = torch.nn.Embedding(30, size)

    @classmethod
    def build(cls, config, dictionary, embed_dim, bidirectional):
        return cls(embed_dim - 1)

    def forward(self, ids, direction=0):
        return self.table(ids)


def test_vectors_of_another_size_are_refused_when_the_model_is_built(task, monkeypatch):
    """A kernel of an LSTM would read beyond them."""
    monkeypatch.setitem(SOURCE_EMBEDDINGS, "internal", Narrow)
    with pytest.raises(UserError, match=r"Narrow returns \(1, 3, 4\) .*: must be \(1, 3, 5\)"):
        build_source_embedding(SourceEmbeddingConfig(), task.source_dictionary, 5, False)


def test_vectors_of_another_size_are_refused_in_the_second_direction_too(task, monkeypatch):
    class Askew(Narrow):
        directions_differ = True

        @classmethod
        def build(cls, config, dictionary, embed_dim, bidirectional):
            return cls(embed_dim)

        def forward(self, ids, direction=0):
            return super().forward(ids)[..., direction:]

    monkeypatch.setitem(SOURCE_EMBEDDINGS, "internal", Askew)
    with pytest.raises(UserError, match=r"Askew returns \(1, 3, 4\) .*: must be \(1, 3, 5\)"):
        build_source_embedding(SourceEmbeddingConfig(), task.source_dictionary, 5, True)


@pytest.mark.parametrize("rows", [INTERNAL, 17], ids=["with embeddings", "all"])
def test_a_table_of_source_words_that_is_not_declared_is_refused(rows, monkeypatch):
    class Undeclared(Narrow):
        @classmethod
        def build(cls, config, dictionary, embed_dim, bidirectional):
            embedding = cls(embed_dim)
            embedding.vectors = torch.nn.Parameter(torch.zeros(rows, embed_dim))
            return embedding

    monkeypatch.setitem(SOURCE_EMBEDDINGS, "internal", Undeclared)
    dictionary = make_dictionary(INTERNAL - 4)
    for number in range(17 - INTERNAL):
        dictionary.add_symbol(f"only in the table {number}", n=0)
    config, said = SourceEmbeddingConfig(), rf"Undeclared.vectors has .* {rows} source words"
    with pytest.raises(UserError, match=said):
        build_source_embedding(config, dictionary, D, False)
    build_source_embedding(config, dictionary, rows, False)  # as long as a vector: no table


def test_an_embedding_of_two_directions_has_both_without_a_method_for_it():
    class Signed(Narrow):
        directions_differ = True

        def forward(self, ids, direction=0):
            return super().forward(ids) * (1, -1)[direction]

    embedding, ids = Signed(4), torch.tensor([[5, 6]])
    ahead, back = embedding.both_directions(ids)
    assert torch.equal(ahead, embedding.table(ids))
    assert torch.equal(back, -ahead)


def test_an_embedding_without_padding_keeps_its_rows():
    embedding = Narrow(4)
    before = embedding.table.weight.clone()
    embedding.zero_padding()
    assert torch.equal(embedding.table.weight, before)


def test_the_check_of_an_embedding_draws_no_random_number(task, monkeypatch):
    class WithDropout(Narrow):
        @classmethod
        def build(cls, config, dictionary, embed_dim, bidirectional):
            return cls(embed_dim)

        def forward(self, ids, direction=0):
            return torch.nn.functional.dropout(super().forward(ids), 0.5)

    monkeypatch.setitem(SOURCE_EMBEDDINGS, "internal", WithDropout)
    drawn = []
    for build in (WithDropout.build, build_source_embedding):
        torch.manual_seed(1)
        build(SourceEmbeddingConfig(), task.source_dictionary, 5, False)
        drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("name", EXTERNAL)
@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_a_batch_may_be_empty(name, shape, make):
    found = make(name)(torch.zeros(shape, dtype=torch.long))
    assert found.shape == (*shape, D)


def test_negative_ids_are_not_counted_from_the_end(make):
    with pytest.raises(IndexError, match="id -1: must be at least 0"):
        make("only_external")(torch.tensor([[-1]]))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_vectors_are_centered_before_they_are_rounded(dtype, task, tmp_path):
    """Their mean may be much larger than what distinguishes them."""
    dictionary = task.source_dictionary
    generator = np.random.default_rng(1)
    vectors = generator.standard_normal((len(dictionary), 8)).astype(np.float32)
    vectors += 20
    vectors[dictionary.unk()] = vectors.mean(0)
    path = write_external_table(tmp_path / "table.npy", dictionary, vectors)
    config = SourceEmbeddingConfig(
        source_embedding="only_external", external_embeddings=path,
        center_external=True, normalize_external=True,
    )  # fmt: skip
    embedding = build_source_embedding(config, dictionary, D, True)
    ids = torch.arange(4, len(dictionary))[None]
    exact, _ = embedding.external._look_up(ids)
    rounded, _ = embedding.to(dtype).external._look_up(ids)
    torch.testing.assert_close(rounded.float(), exact, atol=torch.finfo(dtype).eps, rtol=0)


def test_dropout_after_the_map_drops_and_scales_mapped_vectors(task, make):
    embedding, ids = make("only_external", mapped_dropout=0.5), all_ids(task)
    kept = embedding.eval()(ids)
    found = embedding.train()(ids)
    torch.testing.assert_close(found, (2 * kept).masked_fill(found.eq(0), 0))


def test_the_whole_table_is_verified_where_asked_for(make, external_table):
    data = bytearray(Path(external_table).read_bytes())
    data[400] ^= 1  # between the blocks that are always read
    Path(external_table).write_bytes(data)
    make("only_external")
    with pytest.raises(UserError, match="differs somewhere"):
        make("only_external", check_external_embeddings=True)
