"""The language models: their sizes by closed form, and the state that they carry."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.data import Dictionary, TruncatedDictionary
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.sequence_generator import SequenceGenerator

from fairseq_outlayers.decoders.carried_state import CarriedState, WindowState
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import make_language_batch

SPECIALS = 4


def make_dictionary(folder, num_words, num_units, longest=2):
    """A dictionary of invented words, with tables that give them units by turns."""
    words = [f"w{number}" for number in range(num_words)]
    (folder / "dict.txt").write_text("".join(f"{word} 1\n" for word in words))
    lines = []
    for number, word in enumerate(words):
        length = longest if number == 0 else min(2, longest)
        units = [f"u{(number + place) % num_units}" for place in range(length)]
        lines.append(f"{word}\t{' '.join(units)}\n")
    for kind in ("morphs", "syllables"):
        (folder / f"{kind}.txt").write_text("".join(lines))
    return Dictionary.load(str(folder / "dict.txt"))


def make_model(dictionary, arch="subword_lm", seed=1, **options):
    torch.manual_seed(seed)
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary)
    config = MODEL_DATACLASS_REGISTRY[arch](**options)
    return MODEL_REGISTRY[arch].build_model(config, task)


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def lstm_size(inputs, size):
    """Two layers with one bias a gate."""
    return 4 * size * (inputs + size + 1) + 4 * size * (2 * size + 1)


def highway_size(size):
    return 2 * (size * size + size)


@pytest.fixture
def no_random_numbers(monkeypatch):
    """Sizes do not depend on values, and drawing millions of them takes most of the time."""
    for name in ("uniform_", "normal_"):
        monkeypatch.setattr(torch.Tensor, name, lambda tensor, *args, **kwargs: tensor)


@pytest.mark.usefixtures("no_random_numbers")
def test_parameters_of_morphsum_on_multi30k_german_are_the_closed_form(tmp_path):
    words, morphs, d = 18_726, 5_280, 200
    dictionary = make_dictionary(tmp_path, words - SPECIALS, morphs - SPECIALS)
    lstm, highway, units, softmax = lstm_size(d, d), highway_size(d), morphs * d, words * d
    rest = lstm + words  # the LSTM and the bias of every class
    expected = {
        "original": rest + units + 2 * highway + softmax,
        "re": rest + units + 4 * highway,
        "rw": rest + 2 * units + 2 * highway,
        "re_rw": rest + units + 2 * highway,
        "emb,hw1": rest + units + 3 * highway,
        "none": rest + 2 * units + 4 * highway,
    }
    found = {tie: count(make_model(dictionary, tie=tie)) for tie in expected}
    assert found == expected
    words_tied = {tie: count(make_model(dictionary, "word_lm", tie=tie)) for tie in ("none", "re")}
    assert words_tied == {"none": rest + 2 * softmax, "re": rest + softmax}
    # The figures of the paper's arithmetic, in millions.
    millions = {name: round(number / 1e6, 3) for name, number in found.items()}
    assert [millions[name] for name in ("original", "re", "rw", "re_rw", "emb,hw1")] == [
        5.622, 2.038, 2.933, 1.877, 1.958,
    ]  # fmt: skip
    assert round(words_tied["none"] / 1e6, 3) == 8.151
    assert round(words_tied["re"] / 1e6, 3) == 4.406


@pytest.mark.usefixtures("no_random_numbers")
@pytest.mark.parametrize(
    ("arch", "units", "original", "re_rw"),
    [
        ("word_lm", 10, 4.65, 2.65),
        ("word_lm_medium", 10, 19.78, 13.28),
        ("morphsum_lm", 3_400, 3.49, 1.49),
        ("morphsum_lm_medium", 3_400, 17.18, 10.68),
        ("sylconcat_lm", 5_900, 3.19, 1.19),
        ("sylconcat_lm_medium", 5_900, 18.69, 12.71),
        ("charcnn_lm", 50, 4.05, 2.16),
        ("charcnn_lm_medium", 50, 19.37, 13.58),
    ],
)
def test_sizes_on_the_penn_treebank_are_those_of_the_paper(tmp_path, arch, units, original, re_rw):
    dictionary = make_dictionary(tmp_path, 10_000 - SPECIALS, units - SPECIALS, longest=8)
    for tie, expected in (("original", original), ("re_rw", re_rw)):
        assert count(make_model(dictionary, arch, tie=tie)) / 1e6 == pytest.approx(
            expected, abs=0.01
        )


@pytest.mark.parametrize(
    ("arch", "options", "flag"),
    [
        ("word_lm", {"unit_dim": 7}, "--unit-dim 7"),
        ("word_lm", {"char_widths": 3, "tie": "original"}, "--char-widths 3"),
        ("word_lm", {"output_layer": "joint", "tie": "re"}, "--tie re"),
        ("morphsum_lm", {"highway_dim": 3}, "--highway-dim 3"),
        ("morphsum_lm", {"char_widths": 3, "tie": "original"}, "--char-widths 3"),
        ("sylconcat_lm", {"mask_char_padding": True}, "--mask-char-padding"),
    ],
)
def test_options_that_change_nothing_are_refused(dictionary, arch, options, flag):
    with pytest.raises(UserError, match=f"^{flag} "):
        make_model(dictionary, arch, **options)


@pytest.fixture
def dictionary(tmp_path):
    return make_dictionary(tmp_path, 13, 6, longest=3)


def tokens(dictionary, *shape):
    generator = torch.Generator().manual_seed(1)
    return torch.randint(SPECIALS, len(dictionary), shape, generator=generator)


SMALL = {"hidden_size": 8, "init_range": 0.5}
SIZES = {"charcnn": {"char_widths": 2, "char_filters": 2}}


@pytest.mark.parametrize("composition", ["word", "morphsum", "sylconcat", "charcnn"])
def test_windows_with_a_carried_state_are_pieces_of_one_long_window(dictionary, composition):
    sizes = {**SMALL, **SIZES.get(composition, {})}
    model = make_model(dictionary, composition=composition, **sizes).double().eval()
    words = tokens(dictionary, 3, 10)
    whole, _ = model(words)
    carried = CarriedState()
    pieces = [model(piece, carried=WindowState(carried))[0] for piece in words.split(4, dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole)
    alone, _ = model(words[:, 4:8])
    assert (pieces[1] - alone).abs().max() > 1e-4


def test_models_that_score_a_text_together_have_a_state_each(dictionary):
    models = [make_model(dictionary, seed=seed, **SMALL).double().eval() for seed in (1, 2)]
    words, carried = tokens(dictionary, 3, 10), CarriedState()
    pieces = [
        [model(piece, carried=WindowState(carried))[0] for model in models]
        for piece in words.split(4, dim=1)
    ]
    for model, found in zip(models, zip(*pieces, strict=True), strict=True):
        torch.testing.assert_close(torch.cat(found, dim=1), model(words)[0])


def test_a_restored_state_is_where_the_model_starts(dictionary):
    model, words = make_model(dictionary, **SMALL).eval(), tokens(dictionary, 3, 8)
    before, restored = CarriedState(), CarriedState()
    model(words[:, :4], carried=WindowState(before))
    restored.carry(before.state)  # as when training is resumed, before there is a model
    pieces = [
        model(piece, carried=WindowState(restored))[0] for piece in words[:, 4:].split(2, dim=1)
    ]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(words)[0][:, 4:])


def test_gradients_end_where_a_window_begins(dictionary):
    model = make_model(dictionary, **SMALL)
    carried = CarriedState()
    model(tokens(dictionary, 3, 5), carried=WindowState(carried))
    assert carried.state.shape == (2, 2, 3, 8)
    assert not carried.state.requires_grad


def test_incremental_decoding_equals_full_decoding_also_of_reordered_rows(dictionary):
    model = make_model(dictionary, **SMALL).double().eval()
    words, state = tokens(dictionary, 3, 6), {}
    full, _ = model(words)
    for step in range(4):
        logits, _ = model(words[:, : step + 1], incremental_state=state)
        torch.testing.assert_close(logits[:, -1], full[:, step])
    order = torch.tensor([2, 0, 0])
    model.decoder.reorder_incremental_state_scripting(state, order)
    logits, _ = model(words[order, :5], incremental_state=state)
    torch.testing.assert_close(logits[:, -1], full[order, 4])


def test_a_restored_state_takes_the_place_of_one_that_the_model_had(dictionary):
    model, words = make_model(dictionary, **SMALL).eval(), tokens(dictionary, 3, 8)
    before, used = CarriedState(), CarriedState()
    model(words[:, :4], carried=WindowState(before))
    model(words[:, 2:], carried=WindowState(used))
    used.carry(before.state)
    torch.testing.assert_close(
        model(words[:, 4:], carried=WindowState(used))[0], model(words)[0][:, 4:]
    )


def test_a_search_with_one_beam_continues_a_text_with_the_likeliest_words(dictionary):
    model, prefix, longest = make_model(dictionary, **SMALL).double().eval(), (2, 3), 8
    words = tokens(dictionary, *prefix)
    search = SequenceGenerator([model], dictionary, beam_size=1, max_len_b=longest)
    sample = {"net_input": {"src_tokens": words, "src_lengths": torch.tensor([3, 3])}}
    found = search.generate([model], sample, prefix_tokens=words)
    eos = dictionary.eos()
    for row, ((hypothesis, *_), given) in enumerate(zip(found, words.tolist(), strict=True)):
        text = [eos, *given]
        while len(text) <= longest and (len(text) == 4 or text[-1] != eos):
            logits = model(torch.tensor([text]))[0][0, -1].detach()
            logits[dictionary.pad()] = -torch.inf
            text.append(int(logits.argmax()))
        text += [eos] * (text[-1] != eos)
        assert hypothesis["tokens"].tolist() == text[1:], row


def test_the_words_that_are_read_and_the_classes_share_vectors_in_the_whole_model(dictionary):
    model = make_model(dictionary, tie="re_rw", **SMALL).eval()
    decoder = model.decoder
    with torch.no_grad():
        words = torch.arange(len(dictionary))
        rows = decoder.output_projection.class_embeddings()
        assert torch.equal(rows, decoder.embed_tokens(words))


@pytest.mark.parametrize("composition", ["morphsum", "sylconcat", "charcnn"])
@pytest.mark.parametrize("tie", ["none", "re", "re_rw"])
def test_a_saved_model_loads_strictly_and_scores_the_same(dictionary, composition, tie):
    options = {"composition": composition, "tie": tie, **SMALL}
    model, other = (make_model(dictionary, seed=seed, **options).eval() for seed in (1, 2))
    words = tokens(dictionary, 2, 5)
    with torch.no_grad():
        other(words)  # so that vectors are kept, which loading must make it forget
        other.load_state_dict(model.state_dict(), strict=True)
        assert torch.equal(other(words)[0], model(words)[0])
    tables = [tensor.data_ptr() for tensor in model.state_dict().values() if tensor.dim() == 2]
    assert len(tables) == len(set(tables))


@pytest.mark.parametrize("composition", ["word", "morphsum", "sylconcat", "charcnn"])
def test_low_precision_gives_the_loss_up_to_rounding(dictionary, composition):
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary)
    criterion = CRITERION_REGISTRY["full_softmax"](task, 0.0, False, 0, False)
    batch = make_language_batch(task, [4, 2, 6])
    model = make_model(dictionary, composition=composition, dropout=0.0, **SMALL)
    expected, _, _ = criterion(model, batch)
    loss, _, _ = criterion(model.bfloat16(), batch)
    loss.backward()
    assert abs(loss - expected) <= 2**-6 * expected
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_size": 0}, "--hidden-size 0"),
        ({"lstm_layers": 0}, "--lstm-layers 0"),
        ({"dropout": 1.0}, r"--dropout 1\.0"),
        ({"init_range": -0.1}, r"--init-range -0\.1"),
        (
            {"output_layer": "tied", "tie": "original"},
            "composed of units of words: choose --output-layer subword",
        ),
        ({"output_layer": "linear"}, r"--tie re_rw shares layers .* not with linear: leave --outp"),
    ],
)
def test_what_cannot_be_built_is_refused(dictionary, options, message):
    with pytest.raises(UserError, match=message):
        make_model(dictionary, **options)


def test_a_task_that_predicts_fewer_words_than_it_reads_is_refused(dictionary):
    fewer = TruncatedDictionary(dictionary, 8)
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=fewer)
    config = MODEL_DATACLASS_REGISTRY["word_lm"]()
    with pytest.raises(UserError, match=r"--output-dictionary-size 8: .* all 17 words"):
        MODEL_REGISTRY["word_lm"].build_model(config, task)


@pytest.mark.parametrize("layer", ["linear", "tied", "joint"])
def test_an_embedding_per_word_takes_another_output_layer_without_tie(dictionary, layer):
    model = make_model(dictionary, "word_lm", output_layer=layer)
    assert type(model.decoder.output_projection) is OUTPUT_LAYERS[layer]


@pytest.mark.parametrize("per_row", [False, True])
def test_equal_rows_differ_only_with_a_mask_each(dictionary, per_row):
    model = make_model(dictionary, mask_per_row=per_row, dropout=0.5, **SMALL).double().train()
    logits, _ = model(tokens(dictionary, 1, 6).expand(2, 6))
    assert torch.allclose(logits[0], logits[1]) != per_row


@pytest.mark.usefixtures("no_random_numbers")
@pytest.mark.parametrize(
    ("arch", "words", "tie", "millions"),
    [
        ("charcnn_lm", 10_000, "re", 3.30),
        ("charcnn_lm_medium", 10_000, "re", 18.50),
        ("charcnn_lm", 10_000, "rw", 2.16),
        ("charcnn_lm_medium", 10_000, "rw", 13.58),
        ("word_lm", 33_278, "original", 13.99),
        ("word_lm", 33_278, "re", 7.33),
        ("word_lm_medium", 33_278, "original", 50.06),
        ("word_lm_medium", 33_278, "re", 28.43),
    ],
)
def test_other_rows_have_the_sizes_of_the_paper(tmp_path, arch, words, tie, millions):
    dictionary = make_dictionary(tmp_path, words - SPECIALS, 50 - SPECIALS)
    assert count(make_model(dictionary, arch, tie=tie)) / 1e6 == pytest.approx(millions, abs=0.01)


@pytest.mark.parametrize("arch", ["charcnn_lm", "charcnn_lm_medium"])
def test_models_of_characters_reuse_nothing_by_default(dictionary, arch):
    layer = make_model(dictionary, arch).decoder.output_projection
    assert not any("cnn" in name for name, _ in layer.named_parameters())
    assert type(layer) is OUTPUT_LAYERS["linear"]
