"""``python -m fairseq_outlayers inspect`` from its options to the page."""

import sys
from argparse import ArgumentParser
from inspect import signature
from types import SimpleNamespace

import pytest

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.analysis import inspection
from fairseq_outlayers.commands import inspect
from fairseq_outlayers.decoding.candidates import SCOPES
from fairseq_outlayers.decoding.unk_replacement import HEURISTICS
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.search_options import BEAM
from fairseq_outlayers.hub.translator import Translator
from tests.unit.hub.conftest import save_checkpoint
from tests.unit.pages.conftest import Page, command


def test_it_says_scores_what_took_how_long_and_where_the_page_is(tmp_path, capsys):
    assert main(command(tmp_path, "--names", "first", "second", "--title", "A <test>")) == 0
    out = capsys.readouterr().out
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert [text for _, text in page.find("h1")] == ["A <test>"]
    for letter, name in (("A", "first"), ("B", "second")):
        assert f"{name}: BLEU " in out
        assert [letter + name] == [t for _, t in page.find("h2") if t.endswith(name)]
    for stage in ("loading", "decoding", "scores and neighbours", "page"):
        assert f"{stage} " in out.splitlines()[2]
    assert out.splitlines()[3].startswith(f"{tmp_path / 'page.html'} (0.0")


def test_its_defaults_and_choices_are_those_of_translate():
    """It repeats them, because its help imports no PyTorch."""
    parser = ArgumentParser()
    inspect.add_arguments(parser)
    actions = {action.dest: action for action in parser._actions}
    parameters = signature(Translator.translate).parameters
    names = ("batch_size", "max_len_a", "max_len_b")
    defaults = {name: parameters[name].default for name in names}
    defaults |= {"beam": BEAM, "lenpen": parameters["length_penalty"].default}
    for name, expected in defaults.items():
        assert actions[name].default == expected, name
        assert f"default: {expected:g}" in actions[name].help
    assert list(actions["candidate_scope"].choices) == list(SCOPES)
    assert list(actions["unk_replacement"].choices) == list(HEURISTICS)


def test_one_model_has_no_difference(tmp_path):
    assert main(command(tmp_path, models=1)) == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.data["models"] == [tmp_path.name]
    assert page.find("input", name="differ") == []
    assert page.find("p", class_="finding") == []


def test_how_to_decode_is_passed_on(tmp_path):
    assert main(command(tmp_path, "--candidate-frequent", "5", "--beam", "2", models=1)) == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    words = {page.data["words"][k] for k in page.data["candidates"][0]["shared"]}
    assert words == {"<unk>", "w0", "w1", "w2"}
    assert all(set(s["models"][0].get("target", [])) <= words for s in page.data["sentences"])


def test_every_option_reaches_the_search_and_the_study(tmp_path, monkeypatch):
    seen, translate, study = [], Translator.translate, inspection.inspect_test_set

    def translating(self, texts, **search):
        seen.append(search)
        return translate(self, texts, **search)

    def studying(pairs, systems, *options):
        seen.append(options)
        return study(pairs, systems, *options)

    monkeypatch.setattr(Translator, "translate", translating)
    monkeypatch.setattr(inspection, "inspect_test_set", studying)
    options = "--beam 3 --lenpen 0.5 --max-len-a 1 --max-len-b 4 --batch-size 2 --number 2"
    more = "--neighbour-words 3 --bleu-tokenizer char"
    assert main(command(tmp_path, *options.split(), *more.split(), models=1)) == 0
    search = {"beam": 3, "batch_size": 2, "max_len_a": 1.0, "max_len_b": 4, "length_penalty": 0.5}
    assert seen == [search, ("char", 3, 2)]


def test_words_that_are_copied_are_candidates_of_the_page(tmp_path):
    options = ["--candidate-frequent", "5", "--candidate-copies", "--beam", "2"]
    assert main(command(tmp_path, *options, models=1)) == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    added = page.data["candidates"][0]["translations"]
    assert {word: [page.data["words"][k] for k in ids] for word, ids in added.items()} == {
        f"w{n}": [f"w{n}"] for n in range(11)
    }


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--names", "one"], "--names: 1 for 2 checkpoints"),
        (["--names", "one", "one"], "--names one one: give each model another name"),
        (["--number", "0"], "--number 0: must be at least 1"),
        (["--neighbour-words", "-1"], "--neighbour-words -1: must be at least 0"),
        (["--bleu-tokenizer", "ja-mecab"], "--bleu-tokenizer ja-mecab: Japanese .*pip install"),
        (["--bleu-tokenizer", "14a"], "--bleu-tokenizer 14a: known are .*13a"),
        (["--output", "/nowhere/page.html"], "no folder /nowhere"),
        (["--candidate-copies"], "--candidate-copies has no effect without --candidate-frequent"),
        (["--unk-dictionary", "x"], "--unk-dictionary x has no effect without --unk-replacement"),
    ],
)
def test_mistakes_are_said_before_anything_is_translated(tmp_path, more, message, monkeypatch):
    monkeypatch.setitem(sys.modules, "MeCab", None)  # not installed
    monkeypatch.setattr(Translator, "translate", lambda *_, **__: pytest.fail("translates"))
    with pytest.raises(UserError, match=message):
        main(command(tmp_path, *more))
    assert not (tmp_path / "page.html").exists()


def test_language_models_and_three_models_are_refused(tmp_path):
    arguments = command(tmp_path, models=1)
    arguments[2] = save_checkpoint(tmp_path, "subword_lm")
    with pytest.raises(UserError, match="a language model; inspect needs a translation model"):
        main(arguments)
    with pytest.raises(UserError, match="3 checkpoints; a page compares at most two"):
        main(command(tmp_path, models=3))


@pytest.mark.parametrize("shared", [[], ["Berlin", "."]])
def test_an_exchanged_source_and_reference_are_refused(tmp_path, shared, monkeypatch):
    source = SimpleNamespace(source_dictionary={"dog", "a", *shared}, target_dictionary={"Hund"})
    source.target_dictionary |= {"ein", *shared}
    text = SimpleNamespace(encode=str, encode_target=str)
    model = SimpleNamespace(text=text, task=source)
    monkeypatch.setattr(inspect, "_load", lambda path, options: model)
    for name, words in (("en", ["a dog .", "Berlin"]), ("de", ["ein Hund .", "Berlin"])):
        (tmp_path / f"test.{name}").write_text("\n".join(words) + "\n")

    def arguments(first, second):
        texts = ["--source", f"{tmp_path}/test.{first}", "--reference", f"{tmp_path}/test.{second}"]
        return ["inspect", "--path", "m.pt", *texts, "--output", f"{tmp_path}/page.html"]

    with pytest.raises(UserError) as raised:
        main(arguments("de", "en"))
    known = f"the source dictionary has {len(shared)}, the target dictionary {2 + len(shared)}"
    assert str(raised.value).startswith(f"--source {tmp_path}/test.de --reference ")
    assert str(raised.value).endswith(f"of the first 4 units of the source {known}")
    with pytest.raises(
        AttributeError, match="translate"
    ):  # it goes on, to a model that cannot translate
        main(arguments("en", "de"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lenpen", "nan"], "^--lenpen nan: "),
        (["--device", "foo"], "^--device foo: "),
        (["--beam", "5", "--candidate-frequent", "4"], "^--beam 5: this search needs 6 candidates"),
    ],
)
def test_a_wrong_value_is_named_as_it_was_given(tmp_path, options, message):
    with pytest.raises(UserError, match=message):
        main(command(tmp_path, *options, models=1))


def test_a_line_that_cannot_be_translated_is_named_by_its_file(tmp_path):
    words = command(tmp_path, models=1)
    source = tmp_path / "test.src"
    lines = source.read_text(encoding="utf-8").split("\n")
    source.write_text("\n".join([lines[0], "w1 </s> w2", *lines[2:]]), encoding="utf-8")
    with pytest.raises(UserError) as raised:
        main(words)
    line = f"--source {source}:2: has </s>, which no text may have; remove it"
    assert str(raised.value) == line
