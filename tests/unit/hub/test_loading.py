"""Arguments of load: what is wrong is named, with its value and what it can be."""

import math
import shutil
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from omegaconf import OmegaConf

from fairseq_outlayers import load
from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.checkpoints.stored import refuse_not_finite
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub import LanguageModel, Translator
from fairseq_outlayers.hub import loading as hub_loading
from fairseq_outlayers.hub.environment import check_equal_dictionaries
from tests.conftest import make_dictionary
from tests.unit.hub.conftest import STOCK, save_checkpoint


@pytest.fixture
def checkpoint(tmp_path):
    (tmp_path / "plain.txt").write_text("a dog runs home\nthree words here too\n")
    return save_checkpoint(tmp_path, "luong_lstm")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unk_replacement": "copie"}, "unk_replacement='copie': must be one of .*mean copy"),
        ({"candidate_scope": "all"}, "candidate_scope='all': must be one of batch, common, sent"),
        ({"ensemble_average": "mean"}, "ensemble_average='mean': must be one of log_prob"),
        ({"min_len_a": "x"}, "min_len_a='x': must be a number"),
        ({"min_len_a": -1}, r"min_len_a=-1.0: must be at least 0"),
        ({"candidate_frequent": 30.5}, r"candidate_frequent=30.5: must be a whole number"),
        ({"int8_projection": "yes"}, "int8_projection='yes': must be True or False"),
        ({"tokenizer": "mooses"}, "tokenizer='mooses': must be one of .*did you mean moses"),
        ({"tokenizer": 3}, "tokenizer=3: must be one of"),
        ({"bpe": "subword-nmt"}, "bpe='subword-nmt': must be one of .*mean subword_nmt"),
        ({"bpe": "subword_nmt"}, "bpe=subword_nmt needs bpe_codes"),
        ({"dtype": torch.int8}, r"dtype=torch.int8: must be one of torch.float32"),
        ({"dtype": "float32"}, "dtype='float32': must be one of torch.float32"),
        ({"data": ""}, "data='': must be a folder; leave it out"),
        ({"device": "meta"}, "device=meta: PyTorch has no such device here"),
        ({"device": 1.5}, "device=1.5: PyTorch has no such device here"),
    ],
)
def test_a_wrong_argument_is_named_with_its_choices(checkpoint, options, message):
    with pytest.raises(UserError, match=message) as raised:
        load(checkpoint, **options)
    assert "\n" not in str(raised.value)
    assert "another checkpoint" not in str(raised.value)


@pytest.mark.parametrize(
    ("bpe", "package"), [("subword_nmt", "subword_nmt"), ("sentencepiece", "sentencepiece")]
)
def test_a_file_that_has_no_codes_does_not_end_the_program(checkpoint, tmp_path, bpe, package):
    pytest.importorskip(package)
    codes = tmp_path / "plain.txt"
    with pytest.raises(UserError, match=rf"bpe={bpe}, bpe_codes=.*plain.txt: cannot be"):
        load(checkpoint, bpe=bpe, bpe_codes=codes)


@pytest.mark.parametrize(
    ("paths", "message"),
    [([], r"checkpoint=\[\]: must have at least one path"), (None, "checkpoint=None: must be a"),
     ([3], "checkpoint=3: must be a path")],
)  # fmt: skip
def test_no_checkpoint_is_named(paths, message):
    with pytest.raises(UserError, match=message):
        load(paths)


def test_a_checkpoint_of_another_kind_is_refused(tmp_path, checkpoint):
    language_model = save_checkpoint(tmp_path, "subword_lm")
    assert isinstance(load(checkpoint, kind=Translator), Translator)
    assert isinstance(load(language_model, kind=LanguageModel), LanguageModel)
    for path, kind, gives in (
        (checkpoint, LanguageModel, "translation, which gives a Translator"),
        (language_model, Translator, "subword_language_modeling, which gives a LanguageModel"),
    ):
        with pytest.raises(UserError, match=f"{path}: --task {gives}, but kind={kind.__name__}"):
            load(path, kind=kind)
    with pytest.raises(UserError, match="kind='Translator': must be Translator or LanguageModel"):
        load(checkpoint, kind="Translator")


def test_a_checkpoint_of_a_model_that_is_not_imported_is_refused(tmp_path, checkpoint):
    state = torch.load(checkpoint, weights_only=False)
    state["cfg"]["model"]["_name"] = "mean_context"
    torch.save(state, tmp_path / "other.pt")
    with pytest.raises(UserError, match=r"its model is .mean_context., .*in Python, import it"):
        load(tmp_path / "other.pt")


def test_models_of_different_tasks_are_no_ensemble(tmp_path, checkpoint):
    language_model = save_checkpoint(tmp_path, "subword_lm")
    for paths in ([checkpoint, language_model], [language_model, checkpoint]):
        with pytest.raises(UserError, match="models of an ensemble must have the same task"):
            load(paths)


def test_options_by_which_the_training_validated_are_not_those_of_the_model(tmp_path, checkpoint):
    """Of --eval-bleu: its files may be gone, and its text is of other sentences."""
    state = torch.load(checkpoint, weights_only=False)
    state["cfg"]["task"].update(
        _name="translation_outlayers", eval_bleu=True, eval_bleu_args='{"beam": 2}',
        candidates="gone.npz", candidate_frequent=9, unk_replacement="dictionary",
        unk_dictionary="gone.txt", source_text="gone.de", min_len_a=2.0, int8_projection=True,
    )  # fmt: skip
    torch.save(state, tmp_path / "validated.pt")
    found = load(tmp_path / "validated.pt").translate("w1 w2")
    assert found.text == load(checkpoint).translate("w1 w2").text
    task = loading.load(str(tmp_path / "validated.pt")).task
    assert (task.cfg.candidates, task.unk_replacement) == (None, None)


def test_a_folder_without_the_languages_is_named(tmp_path, checkpoint):
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(tmp_path / "dict.txt", other)
    with pytest.raises(UserError, match=r"other, the data of .*, has no dict.src.txt, dict.tgt"):
        load(checkpoint, data=other)
    without_languages(checkpoint)
    with pytest.raises(UserError, match="other: the checkpoint stores no languages"):
        load(checkpoint, data=other)


@pytest.mark.parametrize(
    ("arch", "name", "trained"),
    [
        ("transformer", "dict.src.txt", 17),
        ("lstm", "dict.tgt.txt", 21),
        ("transformer_lm_outlayers", "dict.txt", 21),
    ],
)
def test_dictionaries_of_another_size_are_named(tmp_path, arch, name, trained):
    """By models without a fingerprint of their words, such as fairseq's own."""
    path, other = save_checkpoint(tmp_path, arch), tmp_path / "other"
    state = torch.load(path, weights_only=False)
    state["model"].pop("decoder.target_dictionary_version", None)
    torch.save(state, path)
    other.mkdir()
    for file in tmp_path.glob("dict.*txt"):
        shutil.copy(file, other)
    for read in (load, loading.load_with_dictionaries):
        read(path, data=other)
    make_dictionary(8).save(str(other / name))
    for read in (load, loading.load_with_dictionaries):
        with pytest.raises(UserError) as raised:
            read(path, data=other)
        assert str(raised.value) == (
            f"{other / name}: has 12 symbols, but {path} has {trained}: pass --data (in Python "
            "data=) with the folder that the model was trained on, or one with the same "
            "dictionaries"
        )


def test_a_model_of_an_ensemble_with_other_sizes_is_named(tmp_path):
    """Its own dictionaries are gone, so that only sizes can be compared."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    paths = [save_checkpoint(folder, "transformer") for folder in (first, second)]
    state = torch.load(paths[0], weights_only=False)
    for name in ("embed_tokens", "output_projection"):
        table = state["model"][f"decoder.{name}.weight"]
        state["model"][f"decoder.{name}.weight"] = torch.cat([table, table[:1]])
    torch.save(state, paths[0])
    make_dictionary(18).save(str(first / "dict.tgt.txt"))
    for file in second.glob("dict.*txt"):
        file.unlink()
    with pytest.raises(UserError, match=f"{first}/dict.tgt.txt: has 22 symbols, but {paths[1]} h"):
        load(paths)


def without_languages(checkpoint):
    """As fairseq saves a training that was not given any."""
    state = torch.load(checkpoint, weights_only=False)
    state["cfg"]["task"].update(source_lang=None, target_lang=None)
    torch.save(state, checkpoint)


def test_dictionaries_alone_are_recognized_by_their_words(tmp_path, checkpoint):
    expected = load(checkpoint).translate("w1 w2").text
    without_languages(checkpoint)
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(tmp_path / "dict.src.txt", other / "dict.xx.txt")
    shutil.copy(tmp_path / "dict.tgt.txt", other / "dict.aa.txt")
    found = load(checkpoint, data=other)
    assert (found.task.cfg.source_lang, found.task.cfg.target_lang) == ("xx", "aa")
    assert found.translate("w1 w2").text == expected
    assert loading.load(checkpoint, str(other)).task.cfg.target_lang == "aa"


@pytest.mark.parametrize("known", [True, False])
def test_dictionaries_beside_a_checkpoint_that_has_moved_are_found(tmp_path, checkpoint, known):
    expected = load(checkpoint).translate("w1 w2").text
    if not known:
        without_languages(checkpoint)
    moved = tmp_path / "mv é"
    moved.mkdir()
    for file in (*tmp_path.glob("dict.*.txt"), *tmp_path.glob("dict.txt")):
        file.rename(moved / file.name)
    found = load([shutil.copy(checkpoint, moved), shutil.copy(checkpoint, moved / "b.pt")])
    assert found.translate("w1 w2").text == expected
    assert loading.load(str(moved / "b.pt")).task.cfg.target_lang == "tgt"


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinite_weights_are_refused_but_a_bias_may_exclude_a_word(tmp_path, value):
    checkpoint = save_checkpoint(tmp_path, "subword_lm")
    state = torch.load(checkpoint, weights_only=False)
    state["model"]["decoder.output_projection.bias"][5] = -math.inf
    torch.save(state, checkpoint)
    score = load(checkpoint).score("w3 w4").score
    assert math.isfinite(score)
    matrix = "decoder.lstm.layers.0.recurrent"
    state["model"][matrix][1, 2] = value
    torch.save(state, checkpoint)
    with pytest.raises(UserError, match=f"{checkpoint}: {matrix} has infinite values"):
        load(checkpoint)


def test_weights_whose_sum_overflows_are_not_infinite():
    refuse_not_finite("model.pt", [("weight", torch.full((2, 2), 60_000.0, dtype=torch.half))])


def test_of_several_parameters_that_are_not_finite_the_first_is_named_by_its_kind():
    infinite, both = torch.tensor([1, math.inf]), torch.tensor([math.inf, -math.inf, math.nan])
    with pytest.raises(UserError, match=r"^model.pt: a has infinite values"):
        refuse_not_finite("model.pt", [("bias", infinite), ("a", infinite), ("b", both)])
    with pytest.raises(UserError, match=r"^model.pt: b has values that are not numbers"):
        refuse_not_finite("model.pt", [("bias", infinite), ("b", both), ("a", infinite)])
    with pytest.raises(UserError, match=r"^model.pt: b.bias has values that are not numbers"):
        refuse_not_finite("model.pt", [("b.bias", both)])
    opposite = both[:2]  # of sum NaN
    refuse_not_finite("model.pt", [("b.bias", opposite)])
    with pytest.raises(UserError, match=r"^model.pt: b has infinite values"):
        refuse_not_finite("model.pt", [("b", opposite)])


def test_a_fingerprint_of_another_shape_recognizes_no_dictionary(checkpoint):
    without_languages(checkpoint)
    state = torch.load(checkpoint, weights_only=False)
    state["model"]["decoder.target_dictionary_version"] = torch.tensor([1, 2])
    torch.save(state, checkpoint)
    with pytest.raises(UserError, match="the checkpoint stores no languages"):
        load(checkpoint)


def test_two_equal_dictionaries_are_of_no_certain_language(tmp_path, checkpoint):
    without_languages(checkpoint)
    shutil.copy(tmp_path / "dict.src.txt", tmp_path / "dict.xx.txt")
    with pytest.raises(UserError, match="the checkpoint stores no languages"):
        load(checkpoint)


def test_threads_load_one_after_the_other(tmp_path, monkeypatch):
    """What the patches of fairseq note while a model is built is of one checkpoint."""
    path, stock = save_checkpoint(tmp_path, "luong_lstm"), hub_loading._load_models
    inside, most = [], []

    def slow(*arguments):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        found = stock(*arguments)
        inside.pop()
        return found

    monkeypatch.setattr(hub_loading, "_load_models", slow)
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda _: load(path), range(4)))
    assert most == [1] * 4
    assert len({model.translate("w1").text for model in models}) == 1


def test_language_models_of_other_words_are_no_ensemble(tmp_path):
    make_dictionary(9).save(str(tmp_path / "dict.txt"))
    first = make_dictionary(8)
    task = SimpleNamespace(source_dictionary=first, target_dictionary=first)
    config = OmegaConf.create({"task": {"data": str(tmp_path)}})
    with pytest.raises(UserError, match=r"dict\.txt is not that of the first model"):
        check_equal_dictionaries("b.pt", config, task)


def with_args(checkpoint, folder, **options):
    """The same checkpoint as before fairseq had dataclasses, in a folder with its dictionaries."""
    state = torch.load(checkpoint, weights_only=False)
    common = {"arch": "transformer", "criterion": "cross_entropy", "data": "/gone"}
    languages = {"source_lang": None, "target_lang": None}
    given = {**common, "task": "translation", **languages, **STOCK["transformer"], **options}
    state.update(args=Namespace(**given), cfg=None)
    folder.mkdir()
    for file in Path(checkpoint).parent.glob("dict*.txt"):
        shutil.copy(file, folder)
    torch.save(state, folder / "old.pt")
    return str(folder / "old.pt")


def test_a_checkpoint_with_args_takes_the_dictionaries_beside_it(tmp_path):
    path = save_checkpoint(tmp_path, "transformer")
    old = with_args(path, tmp_path / "old", source_lang="src", target_lang="tgt")
    expected = load(path).translate("w1 w2").text
    assert load(old).translate("w1 w2").text == expected
    assert load([path, old], data=tmp_path).translate("w1 w2").text == expected
    task = loading.load_with_dictionaries(old).task
    assert (task.cfg.source_lang, task.cfg.data) == ("src", str(tmp_path / "old"))


def test_the_languages_of_a_checkpoint_with_args_must_be_known(tmp_path):
    old = with_args(save_checkpoint(tmp_path, "transformer"), tmp_path / "old")
    for read in (load, loading.load_with_dictionaries):
        with pytest.raises(UserError, match="the checkpoint stores no languages"):
            read(old)


def test_a_task_whose_options_are_a_namespace_is_refused_by_name(checkpoint):
    state = torch.load(checkpoint, weights_only=False)
    task = {**state["cfg"]["task"], "_name": "multilingual_translation"}
    state["cfg"]["task"] = Namespace(**task)
    torch.save(state, checkpoint)
    with pytest.raises(UserError, match="load supports only translation and language"):
        load(checkpoint)
