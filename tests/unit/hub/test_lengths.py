"""Texts that a model has no position for, and what is no text."""

import math

import pytest

from fairseq_outlayers import load
from fairseq_outlayers.errors import UserError
from tests.unit.hub.conftest import save_checkpoint

LONG = "w1 " * 12
SIZES = {"max_source_positions": 12, "max_target_positions": 12}
LEARNED = {"encoder_learned_pos": True, "decoder_learned_pos": True, **SIZES}


@pytest.fixture(params=["transformer", "transformer_outlayers"])
def translator(request, tmp_path):
    return load(save_checkpoint(tmp_path, request.param, **LEARNED))


@pytest.fixture
def language_model(tmp_path):
    options = {"decoder_learned_pos": True, "max_target_positions": 12, "tokens_per_sample": 12}
    return load(save_checkpoint(tmp_path, "transformer_lm_outlayers", **options))


def test_a_sentence_longer_than_the_positions_is_named(translator):
    message = r"texts\[1\]: 13 units, with </s>, but the model has only 12 positions"
    with pytest.raises(UserError, match=message):
        translator.translate(["w1", LONG])
    with pytest.raises(UserError, match=r"texts\[0\]: 13 units"):
        translator.translate(LONG)
    with pytest.raises(UserError, match=r"texts\[40\]: 13 units"):
        list(translator.translate(iter(["w1"] * 40 + [LONG]), batch_size=1))
    assert len(translator.translate("w1 " * 11).source) == 11


def test_a_translation_of_its_sources_length_has_positions_or_is_refused(translator):
    assert translator.translate("w1 " * 10, match_source_len=True).text
    with pytest.raises(UserError) as raised:
        translator.translate("w1 " * 11, match_source_len=True)
    assert str(raised.value) == (
        "match_source_len: a source of 11 words, but the model has positions for translations of "
        "10: shorten or split it"
    )


def test_the_text_of_a_pair_that_is_too_long_is_named(translator):
    with pytest.raises(UserError, match=r"pairs\[1\]\[0\]: 13 units"):
        translator.score([("w1", "w1"), (LONG, "w1")])
    with pytest.raises(UserError, match=r"pairs\[0\]\[1\]: 13 units"):
        translator.score([("w1", LONG)])
    assert len(translator.score([("w1 " * 11, "w1 " * 11)])[0].tokens) == 12


def test_sources_and_translations_have_positions_of_their_own(tmp_path):
    sizes = {**LEARNED, "max_target_positions": 8}
    model = load(save_checkpoint(tmp_path, "transformer_outlayers", **sizes))
    assert len(model.translate("w1 " * 11).source) == 11
    assert len(model.score([("w1 " * 11, "w1 " * 7)])[0].tokens) == 8
    with pytest.raises(UserError, match=r"pairs\[0\]\[0\]: 13 units, .* only 12 positions"):
        model.score([(LONG, "w1")])
    with pytest.raises(UserError, match=r"pairs\[0\]\[1\]: 9 units, .* only 8 positions"):
        model.score([("w1", "w1 " * 8)])


def test_computed_positions_do_not_bound_a_sentence(tmp_path):
    model = load(save_checkpoint(tmp_path, "transformer_outlayers", **SIZES))
    assert len(model.translate(LONG).source) == 12


def test_a_language_model_names_a_text_longer_than_its_positions(language_model):
    with pytest.raises(UserError, match=r"texts\[1\]: 13 units"):
        language_model.score(["w1", LONG])
    assert len(language_model.score("w1 " * 11).tokens) == 12


def test_a_continuation_ends_where_the_positions_end(language_model):
    with pytest.raises(UserError, match=r"a prompt of 12 units, .* 12 positions .* at most 10"):
        language_model.continue_(LONG)
    with pytest.raises(UserError, match="a prompt of 11 units"):
        language_model.continue_("w1 " * 11)
    found = language_model.continue_("w1 " * 10, max_units=20, min_len=11)
    assert len(found.units) == 1
    assert math.isfinite(found.score)


def test_an_ensemble_has_the_positions_of_its_shortest_model(tmp_path):
    sizes = [{"decoder_learned_pos": True, "max_target_positions": size} for size in (16, 12)]
    paths = [
        save_checkpoint(tmp_path, "transformer_lm_outlayers", seed, **options)
        for seed, options in enumerate(sizes)
    ]
    model = load(paths)
    with pytest.raises(UserError, match=r"a prompt of 11 units, .* 12 positions .* at most 10"):
        model.continue_("w1 " * 11)
    with pytest.raises(UserError, match=r"texts\[0\]: 13 units, .* only 12 positions"):
        model.score(LONG)


@pytest.mark.parametrize("prompt", ["w1 </s> w2", "</s>", "w1 <pad>"])
def test_nothing_follows_an_ending(language_model, prompt):
    with pytest.raises(UserError, match="which no text may have"):
        language_model.continue_(prompt)


def test_a_continuation_shorter_than_asked_for_is_refused(language_model):
    with pytest.raises(UserError, match="min_len=9: a prompt of 1 units and max_units=3"):
        language_model.continue_("w1", max_units=3, min_len=9)
    with pytest.raises(UserError, match="min_len=12: the model has positions for 11 units only"):
        language_model.continue_("w1", max_units=30, min_len=12)


def test_one_text_has_one_score(language_model):
    assert language_model.score("w1 w2") == language_model.score(["w1 w2"])[0]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "texts=None: must be a text, a list"),
        (3, "texts=3: must be"),
        (["w1", 1], r"texts\[1\]=1: must be a text"),
        ([None], r"texts\[0\]=None: must be a text"),
        (b"w1", "texts=b'w1': must be"),
    ],
)
def test_what_is_no_text_is_named(translator, texts, message):
    with pytest.raises(UserError, match=message):
        translator.translate(texts)


@pytest.mark.parametrize("pairs", [None, "ab", ("ab", "cd"), [("a", "b", "c")], [("a", None)]])
def test_what_is_no_pair_is_named(translator, pairs):
    with pytest.raises(UserError, match=r"pairs.*: (must be|has 3 texts)"):
        translator.score(pairs)


def test_a_language_model_names_what_is_no_text(language_model):
    with pytest.raises(UserError, match="texts=None"):
        language_model.score(None)
    with pytest.raises(UserError, match="text=1: must be a text"):
        language_model.continue_(1)
    with pytest.raises(UserError, match="seed='x': must be a whole number"):
        language_model.continue_("w1", seed="x")
    with pytest.raises(UserError, match=r"max_units=2.5: must be a whole number"):
        language_model.continue_("w1", max_units=2.5)
