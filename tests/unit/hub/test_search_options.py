"""Options of the search: acted on, or refused in one line."""

from dataclasses import fields
from enum import EnumMeta
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from fairseq.dataclass.configs import GenerationConfig

from fairseq_outlayers import load
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.translator import SEARCH_OPTIONS
from fairseq_outlayers.hub.typed_options import (
    ContinuationOptions,
    DecodingOptions,
    TranslateKeywords,
    TranslationOptions,
)
from fairseq_outlayers.tasks.translation_outlayers import TranslationOutlayersConfig
from tests.unit.hub.conftest import save_checkpoint

FIELDS = GenerationConfig.__dataclass_fields__


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    return load(save_checkpoint(tmp_path_factory.mktemp("translator"), "luong_lstm"))


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    return load(save_checkpoint(tmp_path_factory.mktemp("language_model"), "subword_lm"))


@pytest.mark.parametrize("name", sorted(set(FIELDS) - set(SEARCH_OPTIONS) - {"_name", "lenpen"}))
def test_an_option_that_does_nothing_here_is_refused(translator, name):
    with pytest.raises(UserError, match=f"{name}=1 has no effect here: "):
        translator.translate("w1", **{name: 1})


@pytest.mark.parametrize("name", ["max_len_a", "max_len_b", "match_source_len", "lm_path"])
def test_a_continuation_refuses_what_it_does_not_act_on(language_model, name):
    with pytest.raises(UserError, match=f"{name}=3 has no effect here"):
        language_model.continue_("w1", **{name: 3})


@pytest.mark.parametrize(
    ("keywords", "config"),
    [
        (TranslationOptions, GenerationConfig),
        (ContinuationOptions, GenerationConfig),
        (DecodingOptions, TranslationOutlayersConfig),
    ],
)
def test_keywords_have_the_types_that_the_command_line_declares(keywords, config):
    declared = {field.name: field.type for field in fields(config)}
    for name, kind in keywords.__annotations__.items():
        chosen = [each for each in (get_args(declared[name]) or [declared[name]]) if each]
        kinds = {str if isinstance(each, EnumMeta) else each for each in chosen} - {type(None)}
        assert kinds & set(get_args(kind) or [kind]) == kinds, name


def test_the_page_names_every_option_of_the_search(translator):
    page = (Path(__file__).parents[3] / "docs" / "python.md").read_text()
    options = {*SEARCH_OPTIONS, *ContinuationOptions.__annotations__}
    assert not [name for name in options if f"`{name}`" not in page]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": "5"}, "beam='5': must be a whole number"),
        ({"beam": 2.5}, "beam=2.5: must be a whole number"),
        ({"beam": True}, "beam=True: must be a whole number"),
        ({"batch_size": "5"}, "batch_size='5': must be a whole number"),
        ({"length_penalty": "1"}, "length_penalty='1': must be a number"),
        ({"sampling": "yes"}, "sampling='yes': must be True or False"),
        ({"max_len_a": 0, "max_len_b": 0}, "min_len=1: .*one word has at most 0 .*raise max_len_b"),
        ({"max_len_a": 0.4, "max_len_b": 0}, "min_len=1: .*=0.4 .*one word has at most 0.8 tokens"),
        ({"diverse_beam_groups": 3, "beam": 4}, "diverse_beam_groups=3: beam=4 is not a mul"),
        ({"diverse_beam_strength": 3.0}, "has no effect without diverse_beam_groups"),
        ({"sampling_topp": 0.5}, "sampling_topp=0.5 has no effect without sampling"),
        ({"sampling_topk": 5}, "sampling_topk=5 has no effect without sampling"),
        ({"sampling_topk": 99, "sampling": True}, "sampling_topk=99: there are only 2"),
        ({"sampling": True, "sampling_topk": 2, "sampling_topp": 0.5}, "_topk=2 has no effect wit"),
        ({"sampling": True, "diversity_rate": 0.5}, "sampling and diversity_rate exclude"),
        (
            {"unnormalized": True, "length_penalty": 2.0},
            "^length_penalty=2.0 has no effect with unnormalized: leave one of them out$",
        ),
    ],
)
def test_a_wrong_value_is_one_line(translator, options, message):
    with pytest.raises(UserError, match=message) as raised:
        translator.translate(["w1"], **options)
    assert "\n" not in str(raised.value)


def test_lengths_that_leave_nothing_for_an_empty_text_are_taken_because_none_is_searched(
    translator,
):
    found = translator.translate(["", "w1", "w1 w2 w3"], max_len_a=0.5, max_len_b=0)
    assert [len(each.target) for each in found] == [0, 1, 2]


def test_every_option_of_the_search_is_taken(translator):
    translator.translate("w1 w2", beam=4, diverse_beam_groups=2, diverse_beam_strength=0.2)
    translator.translate("w1 w2", sampling=True, sampling_topk=4, temperature=2, unnormalized=True)
    translator.translate("w1 w2", sampling=True, sampling_topp=0.5, unkpen=1, min_len=2)
    translator.translate("w1 w2", match_source_len=True, no_repeat_ngram_size=2)
    translator.translate("w1 w2", diversity_rate=0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"match_source_len": True, "min_len": 5}, "min_len=5 has no effect with match_source_len"),
        ({"match_source_len": True, "max_len_a": 1}, "max_len_a=1 has no effect with match_source"),
        ({"beam": 50, "diverse_beam_groups": 25}, "the options of the search do not fit"),
    ],
)
def test_options_that_do_not_fit_the_text_or_the_model_are_one_line(translator, options, message):
    with pytest.raises(UserError, match=message):
        translator.translate("w1", **options)


@pytest.mark.parametrize("sampling", [False, True])
def test_a_continuation_that_cannot_end_is_named_by_what_bounds_it(language_model, sampling):
    options = {"no_repeat_ngram_size": 1, "min_len": 30, "max_units": 40, "sampling": sampling}
    with pytest.raises(UserError, match=r"the text has no .* min_len or max_units"):
        language_model.continue_("w1", **options)


def test_the_length_penalty_of_continue_is_taken(language_model):
    first, second = (
        language_model.continue_("w1", beam=1, max_units=4, lenpen=penalty) for penalty in (0, 2)
    )
    assert first == second  # of the only hypothesis; its score is the mean


def test_no_keyword_of_translate_is_always_refused():
    assert "lenpen" not in TranslateKeywords.__annotations__


def test_a_continuation_names_the_length_penalty_as_it_takes_it(language_model):
    with pytest.raises(UserError, match=r"^lenpen=2.0 has no effect with unnormalized: leave"):
        language_model.continue_("w1", unnormalized=True, lenpen=2.0)
    language_model.continue_("w1", unnormalized=True, lenpen=1)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            {"beam": 1000},
            "beam=1000: this search needs 21 candidates, but a sentence has only 12: raise "
            "candidate_frequent, or lower beam",
        ),
        (
            {"beam": 12},
            "beam=12: this search needs 13 candidates, but a sentence has only 12: raise "
            "candidate_frequent, or lower beam",
        ),
    ],
)
def test_a_beam_larger_than_the_candidates_is_named_as_in_python(options, line, tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"), candidate_frequent=12)
    with pytest.raises(UserError) as raised:
        model.translate("w1", **options)
    assert str(raised.value) == line


@pytest.mark.parametrize(
    ("loading", "search", "line"),
    [
        (
            {"min_len_a": 0.5},
            {"match_source_len": True},
            "min_len_a=0.5 has no effect with match_source_len: translations are as long as their "
            "source with its </s>; leave one of them out",
        ),
        (
            {"min_len_a": 2},
            {"max_len_a": 1, "max_len_b": 0},
            "min_len_a=2 contradicts max_len_a=1 max_len_b=0: no length is allowed: lower "
            "min_len_a, or raise one of the others",
        ),
        (
            {"min_len_a": 2.5},
            {"max_len_a": 1, "max_len_b": 3},
            "min_len_a=2.5 contradicts max_len_a=1 max_len_b=3: a source of 3 words, with </s>, "
            "needs at least 7 words and may have 6: lower min_len_a, or raise one of the others",
        ),
        (
            {"ensemble_average": "log_probabilities"},
            {},
            "ensemble_average='log_probabilities' has no effect with one model: it averages the "
            "models of an ensemble; leave it out",
        ),
        (
            {"int8_projection": True, "candidate_frequent": 9},
            {},
            "int8_projection needs the whole vocabulary: leave it out, or leave out candidates and "
            "candidate_frequent",
        ),
    ],
)
def test_options_of_load_are_named_as_in_python(loading, search, line, tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    with pytest.raises(UserError) as raised:
        load(path, **loading).translate("w1 w2", **search)
    assert str(raised.value) == line


def test_the_length_penalty_of_translate_has_one_name(tmp_path):
    """Given twice, one of the two would be ignored."""
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    with pytest.raises(UserError, match=r"lenpen=3.0: its name is length_penalty"):
        model.translate("w1", lenpen=3.0, length_penalty=1.0)


def test_an_option_of_one_search_is_not_kept_for_the_next(translator):
    options = ({}, {"temperature": 5.0}, {})
    first, other, again = (translator.translate("w1 w2", **given).score for given in options)
    assert first == again != other


def test_numbers_of_numpy_are_numbers(translator):
    given = {"beam": 2, "batch_size": 1, "length_penalty": 0.5}
    of_numpy = {"beam": np.int64(2), "batch_size": np.int16(1), "length_penalty": np.float32(0.5)}
    (expected,), (found,) = (translator.translate(["w1"], **each) for each in (given, of_numpy))
    assert (found.target, found.score) == (expected.target, expected.score)


@pytest.mark.parametrize("model", ["translator", "language_model"])
def test_a_sample_is_one_by_default_and_the_best_of_several_is_more_probable(model, request):
    loaded, count = request.getfixturevalue(model), 50

    def mean_score(**beam):
        torch.manual_seed(1)
        if model == "translator":
            found = loaded.translate(["w1 w2"] * count, sampling=True, **beam)
        else:
            found = [loaded.continue_("w1", sampling=True, seed=n, **beam) for n in range(count)]
        return np.mean([each.score for each in found])

    assert mean_score() == mean_score(beam=None) == mean_score(beam=1) < mean_score(beam=5)


def test_a_search_has_five_hypotheses_by_default(translator, language_model, monkeypatch):
    beams = []
    for model in (translator, language_model):
        built = model.build_generator
        monkeypatch.setattr(
            model, "build_generator", lambda o, b=built: beams.append(o["beam"]) or b(o)
        )
    translator.translate("w1")
    translator.translate("w1", None, sampling=False)
    language_model.continue_("w1")
    assert beams == [5, 5, 5]


def test_a_seed_without_samples_is_refused(language_model):
    with pytest.raises(UserError, match="seed=3 has no effect without sampling=True"):
        language_model.continue_("w1", seed=3)
