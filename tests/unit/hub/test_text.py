"""Plain text becomes the units of the training text, on both sides."""

from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from fairseq_outlayers.hub.text import TextProcessor
from tests.conftest import make_dictionary

pytest.importorskip("sacremoses")

FRENCH, ENGLISH = "l'homme qu'il a vu", 'it\'s a "ten-foot" wall'


def text_of(stored, name=None, source="fr", target="en"):
    config = OmegaConf.create({"tokenizer": stored, "bpe": None})
    cfg = SimpleNamespace(source_lang=source, target_lang=target)
    task = SimpleNamespace(cfg=cfg, target_dictionary=make_dictionary(9))
    return TextProcessor.build(config, task, tokenizer=name)


def test_a_named_moses_tokenizes_like_the_preparation_of_the_data():
    text = text_of(None, "moses")
    assert text.encode(FRENCH) == "l' homme qu' il a vu"
    assert text.encode_target(ENGLISH) == 'it \'s a " ten-foot " wall'
    back = text_of(None, "moses", "en", "fr")
    assert back.encode(ENGLISH) == 'it \'s a " ten-foot " wall'
    assert back.encode_target(FRENCH) == "l' homme qu' il a vu"


def test_a_stored_moses_keeps_its_options_and_tokenizes_targets_by_their_language():
    stored = {"_name": "moses", "source_lang": "en", "target_lang": "fr"}
    stored |= {"moses_no_dash_splits": False, "moses_no_escape": False}
    text = text_of(stored, source="en", target="fr")
    assert text.encode("a ten-foot wall") == "a ten @-@ foot wall"
    assert text.encode_target(FRENCH) == "l&apos; homme qu&apos; il a vu"


def test_another_tokenizer_is_the_same_for_both_sides():
    text = text_of(None, "space")
    assert text.of_targets.encode(FRENCH) == text.encode(FRENCH) == FRENCH
    assert text_of(None).encode_target(FRENCH) == FRENCH
