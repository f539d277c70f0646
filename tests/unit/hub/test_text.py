"""Plain text becomes the units of the training text, on both sides."""

import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from fairseq import file_utils
from omegaconf import OmegaConf

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.text import TextProcessor
from tests.conftest import make_dictionary

pytest.importorskip("sacremoses")

ROOT = Path(__file__).parents[3]
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


def test_a_language_model_says_whose_rules_it_takes(caplog):
    """It stores no language."""
    config = OmegaConf.create({"tokenizer": None, "bpe": None})
    task = SimpleNamespace(cfg=None, target_dictionary=make_dictionary(9))
    with caplog.at_level(logging.WARNING):
        text = TextProcessor.build(config, task, tokenizer="moses")
    assert text.encode(ENGLISH) == 'it \'s a " ten-foot " wall'
    (record,) = caplog.records
    assert "rules of English" in record.message


TYPOGRAPHIC = "„Hallo“ – sagte er\u00a0… «gut» don’t\tx\u2028y"  # noqa: RUF001


def test_a_named_moses_gives_the_words_that_the_preparation_writes(tmp_path):
    for language in ("de", "en"):
        (tmp_path / f"raw.{language}").write_text(TYPOGRAPHIC + "\n", encoding="utf-8")
    command = [sys.executable, "data_prep/tokenize_corpus.py", "--input", tmp_path / "raw",
               "--output", tmp_path / "tok", "--languages", "de", "en"]  # fmt: skip
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    text = text_of(None, "moses", "de", "en")
    for language, found in (
        ("de", text.encode(TYPOGRAPHIC)),
        ("en", text.encode_target(TYPOGRAPHIC)),
    ):
        assert found == (tmp_path / f"tok.{language}").read_text(encoding="utf-8").rstrip("\n")
        assert "„" not in found
    assert text.decode("don 't") == "don't"


@pytest.mark.parametrize("space", ["\t", "\u00a0", "\n", "\r\n", "\u2028", "\u3000", "  "])
def test_codes_split_words_at_any_white_space_like_the_training_text(space, tmp_path):
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\na b\n", encoding="utf-8")
    config = OmegaConf.create({"tokenizer": None, "bpe": None})
    task = SimpleNamespace(cfg=SimpleNamespace(), target_dictionary=make_dictionary(9))
    text = TextProcessor.build(config, task, bpe="subword_nmt", codes=str(codes))
    assert text.encode(f"abc{space}ab") == text.encode_target(f"abc{space}ab") == "ab@@ c a@@ b"
    stored = {"_name": "subword_nmt", "bpe_codes": str(codes), "bpe_separator": "@@"}
    config = OmegaConf.create({"tokenizer": None, "bpe": stored})
    assert TextProcessor.build(config, task).encode(f"abc{space}ab") == "ab@@ c a@@ b"


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


@pytest.mark.parametrize(
    ("units", "joined", "bpe"),
    [("ab@@ c d", "abc d", "subword_nmt"), ("▁ab c ▁d", "abc d", "sentencepiece")],
)
def test_units_are_joined_without_their_codes_too(units, joined, bpe, caplog):
    dictionary = make_dictionary(9)
    for unit in units.split():
        dictionary.add_symbol(unit)
    config = OmegaConf.create({"tokenizer": None, "bpe": None})
    with caplog.at_level(logging.WARNING):
        text = TextProcessor.build(config, SimpleNamespace(target_dictionary=dictionary))
    assert f"has units of {bpe}, but the checkpoint stores no codes" in caplog.text
    assert text.encode(units) == units
    assert text.decode(units) == joined


@pytest.fixture
def requested(monkeypatch):
    """The URLs that fairseq requests; every one is missing."""
    urls = []

    def request(url, cache_dir):
        urls.append(url)
        raise OSError("no such page")

    monkeypatch.setattr(file_utils, "get_from_cache", request)
    return urls


SEEN = "http://evil.example/seen"


@pytest.mark.parametrize(
    ("kind", "stored", "remedy"),
    [
        ("bpe", {"_name": "gpt2", "gpt2_encoder_json": SEEN}, "bpe= and bpe_codes="),
        ("bpe", {"_name": "sentencepiece", "sentencepiece_model": SEEN}, "bpe= and bpe_codes="),
        ("bpe", {"_name": "subword_nmt", "bpe_codes": SEEN}, "bpe= and bpe_codes="),
        ("bpe", {"_name": "subword_nmt", "bpe_codes": f"\n{SEEN}"}, "bpe= and bpe_codes="),
        ("bpe", {"_name": "subword_nmt", "bpe_codes": "S3:/\t/evil"}, "bpe= and bpe_codes="),
        ("tokenizer", {"_name": "moses", "source_lang": SEEN, "target_lang": "en"}, "tokenizer="),
    ],
)
def test_a_url_in_stored_settings_is_refused_and_not_requested(kind, stored, remedy, requested):
    config = OmegaConf.create({"tokenizer": None, "bpe": None, kind: stored})
    dictionary = make_dictionary(9)
    task = SimpleNamespace(cfg=SimpleNamespace(), target_dictionary=dictionary)
    option, url = list(stored.items())[1]
    message = rf"{kind}, {stored['_name']}, has a URL, {option}={url}, .*: give {remedy}$"
    with pytest.raises(UserError, match=message):
        TextProcessor.build(config, task)
    assert not requested


@pytest.mark.parametrize("stored", [{"_name": "subword_nmt", "bpe_codes": "???"}, {"_name": [1]}])
def test_a_stored_bpe_without_its_file_cannot_be_built(stored):
    config = OmegaConf.create({"tokenizer": None, "bpe": stored})
    with pytest.raises(UserError, match=r"the checkpoint's bpe, .*, cannot be built"):
        TextProcessor.build(config, SimpleNamespace(target_dictionary=make_dictionary(9)))


def test_fairseqs_own_url_of_the_gpt2_codes_is_requested(requested):
    default = "https://dl.fbaipublicfiles.com/fairseq/gpt2_bpe/encoder.json"
    stored = {"_name": "gpt2", "gpt2_encoder_json": default}
    config = OmegaConf.create({"tokenizer": None, "bpe": stored})
    with pytest.raises(UserError, match=r"bpe, gpt2, cannot be built \(no such page\): give bpe="):
        TextProcessor.build(config, SimpleNamespace(target_dictionary=make_dictionary(9)))
    assert requested == [default]
