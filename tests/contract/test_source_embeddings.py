"""What every encoder with every source embedding must do."""

import copy
from types import SimpleNamespace

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY, MODEL_REGISTRY
from fairseq.models.transformer import TransformerModel

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models import transformer_source
from fairseq_outlayers.optim.tables import make_row_sparse
from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDINGS
from fairseq_outlayers.source_embeddings.external_map import ExternalConfig
from fairseq_outlayers.source_embeddings.internal import InternalConfig
from fairseq_outlayers.tables.external_table import ExternalTable
from fairseq_outlayers.tables.table import tables_of_model
from tests.conftest import (
    TRANSLATION_ARCHITECTURES,
    configuration,
    has_option,
    make_batch,
    make_dictionary,
    make_model,
    make_task,
)

INTERNAL = 12  # of the 17 symbols of the source dictionary
LENGTHS = [(4, 5), (1, 3), (6, 2)]
EXTERNAL = [
    name for name, entry in SOURCE_EMBEDDINGS.items() if issubclass(entry.Config, ExternalConfig)
]
TWO_DIRECTIONS = {
    arch: options
    for arch in TRANSLATION_ARCHITECTURES
    for options in ({"bidirectional_encoder": True}, {})
    if set(options) <= {name for name in options if has_option(arch, name)}
    and MODEL_REGISTRY[arch].is_bidirectional(configuration(arch, **options))
}
ONE_DIRECTION = [
    arch
    for arch in TRANSLATION_ARCHITECTURES
    if not MODEL_REGISTRY[arch].is_bidirectional(configuration(arch))
]
SHARING = [arch for arch in TRANSLATION_ARCHITECTURES if has_option(arch, "share_all_embeddings")]
# fairseq's Transformer computes its attention in float32, whatever the model is in.
TOLERANCE = {"transformer_outlayers": 1e-5}
# Those that limit the words with rows of their own.
LIMITED = [
    name for name, entry in SOURCE_EMBEDDINGS.items() if issubclass(entry.Config, InternalConfig)
]
each_encoder = pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
each_external = pytest.mark.parametrize("source_embedding", EXTERNAL)


@pytest.fixture
def make(task, external_table):
    """Makes a model with a source embedding, ready to evaluate."""

    def build(arch, source_embedding, **options):
        table = {"external_embeddings": external_table} if source_embedding in EXTERNAL else {}
        if issubclass(SOURCE_EMBEDDINGS[source_embedding].Config, InternalConfig):
            table["internal_vocabulary"] = INTERNAL
        chosen = {"source_embedding": source_embedding, **table}
        return make_model(arch, task, **{**chosen, **options}).eval()

    return build


def encode(model, rows):
    """What the decoder attends to, ``(B, S, H)``."""
    found = model.encoder(torch.tensor(rows), torch.tensor([len(row) for row in rows]))
    return found["encoder_out"][0].transpose(0, 1) if isinstance(found, dict) else found.states


def sentences_that_differ_in_a_word(task):
    """One word each, which the internal vocabulary lacks and the external table has."""
    eos = task.source_dictionary.eos()
    return [[5, INTERNAL, eos], [5, INTERNAL + 1, eos]]


@each_encoder
@each_external
def test_words_known_only_outside_are_read_differently(task, make, arch, source_embedding):
    states = encode(make(arch, source_embedding), sentences_that_differ_in_a_word(task))
    assert (states[0] - states[1]).abs().max() > 1e-6


@each_encoder
@pytest.mark.parametrize("source_embedding", LIMITED)
def test_only_the_internal_vocabulary_has_trained_rows(task, make, arch, source_embedding):
    tables = make(arch, source_embedding).encoder.embed_tokens.parameters()
    rows = {len(table) for table in tables if table.dim() == 2}
    assert INTERNAL in rows
    assert len(task.source_dictionary) not in rows


@each_encoder
@pytest.mark.parametrize("source_embedding", [name for name in LIMITED if name not in EXTERNAL])
def test_words_beyond_the_internal_vocabulary_are_read_as_unknown(
    task, make, arch, source_embedding
):
    model = make(arch, source_embedding)
    unknown = [[5, task.source_dictionary.unk(), task.source_dictionary.eos()]]
    states = encode(model, sentences_that_differ_in_a_word(task) + unknown)
    for other in states[1:]:  # rounding differs by the place in the batch
        torch.testing.assert_close(other, states[0], rtol=1e-6, atol=1e-6)


@each_external
@pytest.mark.parametrize(
    ("arch", "options"),
    [(arch, {}) for arch in TRANSLATION_ARCHITECTURES]
    + [(arch, {**more, "external_map": "per_direction"}) for arch, more in TWO_DIRECTIONS.items()],
)
def test_the_map_and_all_else_are_trained(task, make, arch, options, source_embedding):
    model = make(arch, source_embedding, **options).train()
    logits, _ = model(**make_batch(task, LENGTHS)["net_input"])
    logits.log_softmax(-1)[..., 5].sum().backward()
    own = dict(model.encoder.embed_tokens.named_parameters())
    assert any(not name.startswith("internal.") for name in own)  # the map
    for name, parameter in own.items():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


@each_encoder
@pytest.mark.parametrize("source_embedding", SOURCE_EMBEDDINGS)
def test_the_vector_of_padding_is_zero(task, make, arch, source_embedding):
    embedding = make(arch, source_embedding).encoder.embed_tokens
    ids = torch.tensor([[5, task.source_dictionary.pad()]])
    for direction in range(2 if getattr(embedding, "directions_differ", False) else 1):
        vectors = embedding(ids, direction) if direction else embedding(ids)
        assert vectors[0, 0].abs().max() > 0
        assert vectors[0, 1].abs().max() == 0


@each_encoder
@pytest.mark.parametrize("source_embedding", SOURCE_EMBEDDINGS)
def test_tables_have_row_sparse_gradients_equal_to_dense_ones(task, make, arch, source_embedding):
    model = make(arch, source_embedding).train()
    lazy = copy.deepcopy(model)
    make_row_sparse(lazy)
    for each in (model, lazy):
        logits, _ = each(**make_batch(task, LENGTHS)["net_input"])
        logits.log_softmax(-1)[..., 5].sum().backward()
    expected = dict(model.encoder.embed_tokens.named_parameters())
    tables = {id(table.parameter) for table in tables_of_model(lazy.encoder.embed_tokens)}
    assert tables or source_embedding in EXTERNAL
    for name, parameter in lazy.encoder.embed_tokens.named_parameters():
        is_table = id(parameter) in tables
        assert parameter.grad.is_sparse == is_table, name
        gradient = parameter.grad.to_dense() if is_table else parameter.grad
        torch.testing.assert_close(gradient, expected[name].grad, rtol=1e-12, atol=1e-15)


@each_encoder
@pytest.mark.parametrize("source_embedding", SOURCE_EMBEDDINGS)
def test_padding_on_either_side_changes_nothing(task, make, arch, source_embedding):
    model = make(arch, source_embedding)
    left, right = (make_batch(task, LENGTHS, left_pad=pad)["net_input"] for pad in (True, False))
    tolerance = TOLERANCE.get(arch, 1e-10)
    expected, _ = model(**left)
    torch.testing.assert_close(model(**right)[0], expected, rtol=tolerance, atol=tolerance)
    padding = torch.full((len(LENGTHS), 3), task.source_dictionary.pad())
    wider = {**left, "src_tokens": torch.cat([padding, left["src_tokens"]], 1)}
    torch.testing.assert_close(model(**wider)[0], expected, rtol=tolerance, atol=tolerance)


@each_encoder
@pytest.mark.parametrize("source_embedding", SOURCE_EMBEDDINGS)
def test_vectors_depend_neither_on_the_batch_nor_on_earlier_ones(
    task, make, arch, source_embedding
):
    options = {"dropout": 0.0, "embedding_dropout": 0.0}
    options = {name: value for name, value in options.items() if has_option(arch, name)}
    used, fresh = (make(arch, source_embedding, **options).train() for _ in range(2))
    ids = make_batch(task, LENGTHS)["net_input"]["src_tokens"]
    embedding = used.encoder.embed_tokens
    embedding(ids)
    embedding(ids.flip(0))
    torch.testing.assert_close(embedding(ids), fresh.encoder.embed_tokens(ids), rtol=0, atol=0)
    # Rounding differs by the place in the batch.
    alone = torch.cat([embedding(row) for row in ids.split(1)])
    torch.testing.assert_close(embedding(ids), alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("arch", TWO_DIRECTIONS)
def test_encoders_of_two_directions_may_map_for_each(task, make, arch):
    model = make(arch, "mix_sum", external_map="per_direction", **TWO_DIRECTIONS[arch])
    sentence = [[5, INTERNAL, task.source_dictionary.eos()]]
    before = encode(model, sentence)
    with torch.no_grad():
        model.encoder.embed_tokens.external.maps[1].weight += 1
    assert (encode(model, sentence) - before).abs().max() > 1e-3


@each_external
@pytest.mark.parametrize("arch", TWO_DIRECTIONS)
def test_encoders_of_two_directions_read_external_vectors_once(
    task, make, arch, source_embedding, monkeypatch
):
    options = {"external_map": "per_direction", **TWO_DIRECTIONS[arch]}
    model = make(arch, source_embedding, **options)
    reads, vectors = [], ExternalTable.vectors
    monkeypatch.setattr(
        ExternalTable, "vectors", lambda self, ids: reads.append(ids) or vectors(self, ids)
    )
    encode(model, sentences_that_differ_in_a_word(task))
    assert len(reads) == 1


@pytest.mark.parametrize("arch", ONE_DIRECTION)
def test_encoders_of_one_direction_refuse_a_map_for_each(make, arch):
    with pytest.raises(UserError, match="per_direction needs a bidirectional encoder"):
        make(arch, "mix_sum", external_map="per_direction")


@each_encoder
@pytest.mark.parametrize("source_embedding", SOURCE_EMBEDDINGS)
def test_a_saved_model_translates_as_before(task, make, arch, source_embedding):
    model, other = (make(arch, source_embedding, seed=seed) for seed in (1, 2))
    batch = make_batch(task, LENGTHS)["net_input"]
    assert not torch.equal(model(**batch)[0], other(**batch)[0])
    other.load_state_dict(model.state_dict(), strict=True)
    assert torch.equal(model(**batch)[0], other(**batch)[0])


@each_encoder
@each_external
def test_a_saved_model_loads_strictly_without_the_table(task, make, arch, source_embedding):
    state = make(arch, source_embedding, seed=1).state_dict()
    assert all(tensor.shape != (len(task.source_dictionary), 5) for tensor in state.values())
    other = make(arch, source_embedding, seed=2)
    other.load_state_dict(state, strict=True)
    versions = [name for name in state if name.endswith(".external_table_version")]
    assert versions
    assert all(name.startswith("encoder.embed_tokens.") for name in versions)
    for name, tensor in other.state_dict().items():
        assert torch.equal(tensor, state[name]), name


@each_encoder
def test_by_default_every_counted_word_has_a_row_and_so_have_words_of_padding(task, arch):
    dictionary = make_dictionary(13)
    dictionary.pad_to_multiple_(8)
    task.source_dictionary = dictionary
    model = make_model(arch, task)
    assert dict(model.encoder.named_parameters())["embed_tokens.weight"].size(0) == 24
    dictionary.add_symbol("only in the table", n=0)
    assert len(make_model(arch, task).encoder.embed_tokens.weight) == 24


@pytest.mark.parametrize("arch", SHARING)
@pytest.mark.parametrize("options", [{"internal_vocabulary": INTERNAL}, {"source_embedding": "x"}])
def test_shared_embeddings_exclude_another_source_side(task, arch, options):
    task.target_dictionary = task.source_dictionary
    with pytest.raises(UserError, match="--share-all-embeddings excludes --internal-vocabulary"):
        make_model(arch, task, share_all_embeddings=True, output_layer="tied", **options)


# The Transformer, whose own code is fairseq's.


def stock_transformer(task, seed=1):
    args = SimpleNamespace(**TRANSLATION_ARCHITECTURES["transformer_outlayers"])
    ARCH_CONFIG_REGISTRY["transformer"](args)
    torch.manual_seed(seed)
    return TransformerModel.build_model(args, task).double().eval()


SHARED = [(arch, {"share_all_embeddings": True, "output_layer": "tied"}) for arch in SHARING]


@pytest.mark.parametrize(("arch", "options"), [(a, {}) for a in TRANSLATION_ARCHITECTURES] + SHARED)
def test_an_option_of_another_source_embedding_is_refused(arch, options):
    task = make_task(13, 13)
    task.target_dictionary = task.source_dictionary
    make_model(arch, task, **options)
    with pytest.raises(UserError, match=r"--external-map per_direction .*--source-embedding int"):
        make_model(arch, task, external_map="per_direction", **options)


def test_by_default_the_transformer_starts_as_fairseqs_bit_for_bit(task):
    expected = stock_transformer(task, seed=3).state_dict()
    found = make_model("transformer_outlayers", task, seed=3).state_dict()
    projection = "decoder.output_projection"  # has a start, and biases, of its own
    others = [name for name in expected if not name.startswith(projection)]
    assert others == [
        name for name in found if not name.startswith((projection, "encoder.external"))
        and not name.endswith("dictionary_version")
    ]  # fmt: skip
    for name in others:
        assert torch.equal(found[name], expected[name]), name


@pytest.mark.parametrize("source_embedding", SOURCE_EMBEDDINGS)
def test_the_transformer_scales_and_places_vectors_as_fairseq_does(task, make, source_embedding):
    model, stock = make("transformer_outlayers", source_embedding).encoder, stock_transformer(task)
    own = {n: t for n, t in model.state_dict().items() if not n.startswith("embed_tokens")}
    unset, unexpected = stock.encoder.load_state_dict(own, strict=False)
    assert unset == ["embed_tokens.weight"]
    assert all(name.endswith("dictionary_version") for name in unexpected)
    ids = make_batch(task, LENGTHS)["net_input"]["src_tokens"]
    vectors = model.embed_tokens(ids)
    expected = stock.encoder(ids, token_embeddings=vectors)
    found = model(ids)
    torch.testing.assert_close(found["encoder_embedding"][0], 8**0.5 * vectors)
    assert torch.equal(found["encoder_out"][0], expected["encoder_out"][0])


@each_external
def test_the_transformer_never_makes_a_row_for_every_source_word(
    task, make, monkeypatch, source_embedding
):
    made, plain = [], torch.nn.Embedding.__init__
    monkeypatch.setattr(
        torch.nn.Embedding,
        "__init__",
        lambda self, rows, *rest, **more: (made.append(rows), plain(self, rows, *rest, **more))[1],
    )
    make("transformer_outlayers", source_embedding)
    assert len(task.target_dictionary) in made
    assert len(task.source_dictionary) not in made


def test_normalised_vectors_start_as_large_as_embeddings_in_the_transformer(task, make):
    options = {"external_activation": "linear", "normalize_external": True}
    wide = {"encoder_embed_dim": 512, "decoder_embed_dim": 512}
    embedding = make("transformer_outlayers", "mix_sum", **options, **wide).encoder.embed_tokens
    ids = torch.arange(4, INTERNAL)[None]
    sizes = [embedding.internal(ids).norm(dim=-1), embedding.external(ids).mapped.norm(dim=-1)]
    for size in sizes:  # of 512 numbers with variance 1/512
        assert size.min() > 0.85
        assert size.max() < 1.15


def test_options_that_older_checkpoints_lack_have_their_defaults(task):
    args = SimpleNamespace()
    transformer_source.complete_options(args)
    assert vars(args)["source_embedding"] == "internal"
    assert set(vars(args)) >= {"internal_vocabulary", "external_embeddings", "gate_input"}


def test_pretrained_embeddings_for_every_word_are_refused_with_an_external_table(make):
    with pytest.raises(UserError, match=r"--encoder-embed-path vectors\.txt"):
        make("transformer_outlayers", "mix_sum", encoder_embed_path="vectors.txt")
