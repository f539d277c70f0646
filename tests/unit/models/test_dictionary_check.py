import copy
import logging
from collections import OrderedDict
from types import SimpleNamespace

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models.ema.ema import EMA
from torch import nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import fingerprint
from fairseq_outlayers.models import dictionary_check
from fairseq_outlayers.models.dictionary_check import register_dictionaries, register_dictionary

WORDS = ("der", "die", "und", "Haus")


def dictionary_of(*words):
    dictionary = Dictionary()
    for word in words:
        dictionary.add_symbol(word)
    return dictionary


class Model(nn.Module):
    """Two sides, each with the fingerprint of its dictionary, as encoder and decoder have it."""

    def __init__(self, source=WORDS, target=WORDS, registered=True):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(2, 2), nn.Linear(2, 2)
        if registered:
            register_dictionary(self.encoder, "source", dictionary_of(*source), "en")
            register_dictionary(self.decoder, "target", dictionary_of(*target), "de")


@pytest.fixture(autouse=True)
def warn_anew():
    dictionary_check._warn_once.cache_clear()


@pytest.mark.parametrize(
    "other",
    [
        ("der", "die", "und", "haus"),
        ("die", "der", "und", "Haus"),
        ("der", "die", "undHa", "us"),
    ],
    ids=["another word", "another order", "other borders"],
)
def test_another_dictionary_of_the_same_size_is_refused_by_side_and_file(other):
    message = (
        r"another target dictionary .dict\.de\.txt.: both have 8 symbols, but not .* Pass the data"
    )
    with pytest.raises(UserError, match=message):
        Model(target=other).load_state_dict(Model().state_dict())
    with pytest.raises(UserError, match=r"another source dictionary .dict\.en\.txt"):
        Model(source=other).load_state_dict(Model().state_dict())


def test_each_side_of_a_model_is_compared_with_its_own_dictionary_and_language():
    def build(source, target):
        model = Model(registered=False)
        languages = SimpleNamespace(source_lang="en", target_lang="de")
        sides = {"source_dictionary": dictionary_of(*source)}
        sides["target_dictionary"] = dictionary_of(*target)
        register_dictionaries(model, SimpleNamespace(cfg=languages, **sides))
        return model

    other, state = ("a", "b", "c"), build(WORDS, ("x", "y")).state_dict()
    build(WORDS, ("x", "y")).load_state_dict(state)
    with pytest.raises(UserError, match=r"another source dictionary .dict\.en\.txt"):
        build(other, ("x", "y")).load_state_dict(state)
    with pytest.raises(UserError, match=r"another target dictionary .dict\.de\.txt"):
        build(WORDS, other).load_state_dict(state)


def test_another_size_is_refused_with_both_sizes():
    with pytest.raises(UserError, match="8 symbols in training, 7 given"):
        Model(source=WORDS[:3]).load_state_dict(Model().state_dict())


def test_exchanged_languages_are_asked_about():
    with pytest.raises(UserError, match="Or are --source-lang and --target-lang exchanged"):
        Model(source=WORDS[:3]).load_state_dict(Model().state_dict())
    language_model, other = nn.Linear(2, 2), nn.Linear(2, 2)
    register_dictionary(language_model, "target", dictionary_of(*WORDS))
    register_dictionary(other, "target", dictionary_of(*WORDS[:3]))
    with pytest.raises(UserError) as caught:
        language_model.load_state_dict(other.state_dict())
    assert "--source-lang" not in str(caught.value)


def test_padding_words_count_because_they_have_rows_of_weights():
    padded, other = dictionary_of(*WORDS), dictionary_of(*WORDS, "madeupword0000")
    padded.pad_to_multiple_(9)
    assert len(padded) == 9
    assert fingerprint(padded) == fingerprint(other)
    assert fingerprint(padded) != fingerprint(dictionary_of(*WORDS))


def test_the_fingerprint_does_not_depend_on_counts():
    counted = dictionary_of(*WORDS, *WORDS)
    assert fingerprint(counted) == fingerprint(dictionary_of(*WORDS))


@pytest.mark.parametrize("convert", ["half", "bfloat16", "double"])
def test_the_fingerprint_survives_conversion(convert):
    model = getattr(Model(), convert)()
    assert model.encoder.source_dictionary_version.dtype == torch.int64
    Model().load_state_dict(model.state_dict())


def test_a_checkpoint_from_before_loads_whole_with_one_warning_a_side(caplog):
    old = Model(registered=False)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            model = Model()
            model.load_state_dict(old.state_dict())
    assert torch.equal(model.encoder.weight, old.encoder.weight)
    assert [record.message.count("dictionary") for record in caplog.records] == [1, 1]
    assert "fingerprint of its source dictionary" in caplog.text
    assert "fingerprint of its target dictionary" in caplog.text


def test_what_was_loaded_from_before_is_saved_with_the_fingerprint():
    model = Model()
    model.load_state_dict(Model(registered=False).state_dict())
    with pytest.raises(UserError, match="target"):
        Model(target=WORDS[::-1]).load_state_dict(model.state_dict())


@pytest.mark.parametrize("ema_fp32", [False, True])
def test_a_moving_average_updates_without_a_warning_and_keeps_the_check(ema_fp32, caplog):
    options = {"ema_decay": 0.9, "ema_seed_model": None, "ema_start_update": 0}
    model = Model()
    ema = EMA(model, SimpleNamespace(**options, ema_update_freq=1, ema_fp32=ema_fp32))
    before = ema.get_model().encoder.weight.clone()
    with torch.no_grad():
        model.encoder.weight.add_(1.0)
    with caplog.at_level(logging.WARNING):
        ema.step(model, updates=1)
    assert not caplog.records
    torch.testing.assert_close(ema.get_model().encoder.weight, before + 0.1)
    averaged = ema.get_model().state_dict()
    Model().load_state_dict(averaged)
    with pytest.raises(UserError, match="target"):
        ema.restore(Model(target=WORDS[::-1]).state_dict())


def averaged(*models):
    """As fairseq's scripts/average_checkpoints.py: add up, divide integers without remainder."""
    total = OrderedDict()
    for model in models:
        for key, value in model.state_dict().items():
            total[key] = total[key] + value if key in total else value.clone()
    return {
        key: value / len(models) if value.is_floating_point() else value // len(models)
        for key, value in total.items()
    }


def test_the_average_of_checkpoints_with_one_dictionary_loads():
    models = [Model() for _ in range(5)]
    mean = Model()
    mean.load_state_dict(averaged(*models))
    expected = sum(model.encoder.weight for model in models) / 5
    torch.testing.assert_close(mean.encoder.weight, expected)


def test_the_average_of_checkpoints_with_different_dictionaries_is_refused():
    mixed = averaged(Model(), Model(target=WORDS[::-1]))
    with pytest.raises(UserError, match="target"):
        Model().load_state_dict(mixed)


def test_a_copy_of_the_model_compares_its_own_dictionary():
    model = Model()
    twin = copy.deepcopy(model)
    twin.decoder.target_dictionary_version += 1
    model.load_state_dict(Model().state_dict())
    with pytest.raises(UserError, match="target"):
        twin.load_state_dict(Model().state_dict())
