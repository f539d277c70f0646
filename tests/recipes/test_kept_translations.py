"""Arms are compared by translations that lie beside the ledger, wherever they were run."""

import json
import shutil
from pathlib import Path

import pytest

from recipes.lab import ledger
from recipes.lab.pages import table
from recipes.lab.runs import Runs
from recipes.lab.scores import kept_translations
from tests.recipes.conftest import ROOT
from tests.recipes.conftest import run as run_arm

LEDGER = Path("results/mine/ledger.jsonl")


def run(name="tied", **more):
    more = {"language": "de", "raw_reference": "raw.de", "epochs": 1, **more}
    assert run_arm(name, ledger=LEDGER, **more)


@pytest.fixture
def recipe(checkout):
    """The checkout, with references in plain text too."""
    lines = (checkout / "test.de").read_text().replace(" .", ".")
    (checkout / "raw.de").write_text(lines)
    return checkout


def entries():
    return ledger.read(LEDGER)


def kept():
    return sorted(path.name for path in LEDGER.parent.rglob("*.hyp"))


@pytest.mark.parametrize("kind", ["tokenised", "plain"])
def test_translations_outlive_their_run_folder(recipe, kind):
    run()
    (entry,) = entries()
    (hypotheses,) = Path("runs").rglob(f"test.{kind}.hyp")
    written = hypotheses.read_text().splitlines()
    references = Path("test.de" if kind == "tokenised" else "raw.de").read_text().splitlines()
    shutil.rmtree("runs")
    assert kept_translations.translations(entry, kind) == (written, references)
    assert kept() == [f"tied.seed1.{entry['key']}.hyp"]


def test_intervals_are_the_same_without_run_folders(recipe, monkeypatch):
    run("tied")
    run("linear", generate="--beam 2")
    (recipe / "bin" / "fairseq-generate").write_text(
        (recipe / "bin" / "fairseq-generate").read_text().replace("cat number", "dog number")
    )
    run("joint")
    weights = {"tied": 1, "joint": -1}
    before = Runs(entries()).difference(weights)
    assert before.value > 10
    shutil.rmtree("runs")
    assert Runs(entries()).difference(weights) == before
    comparison = table.Comparison(Runs.by_setting(entries()))
    assert comparison.problems == []
    assert comparison.differences["joint"] == Runs(entries()).difference({"joint": 1, "tied": -1})


def test_files_of_runs_are_found_where_they_are_kept(recipe):
    run()
    shutil.rmtree("runs")
    runs = Runs(entries())
    assert runs.file("tied", "test.tokenised.hyp").parent == LEDGER.parent / "translations"
    assert runs.file("tied", "test.tokenised.ref").read_text() == Path("test.de").read_text()
    assert runs.file("tied", "checkpoints/checkpoint_best.pt") is None


def test_skipping_an_arm_keeps_what_was_not_kept_when_it_ran(recipe):
    run()
    shutil.rmtree(LEDGER.parent / "translations")
    run()
    assert len(entries()) == 1
    shutil.rmtree("runs")
    assert kept_translations.translations(entries()[0], "plain") is not None


def test_translations_that_the_line_does_not_tell_of_are_not_kept(recipe, capsys):
    run()
    shutil.rmtree(LEDGER.parent / "translations")
    (hypotheses,) = Path("runs").rglob("test.tokenised.hyp")
    hypotheses.write_text(hypotheses.read_text().replace("cat", "dog"))
    run()
    assert kept() == []
    assert "their BLEU is not that of the ledger" in capsys.readouterr().out


def test_an_arm_that_is_run_again_replaces_what_was_kept(recipe):
    run()
    generate = recipe / "bin" / "fairseq-generate"
    generate.write_text(generate.read_text().replace("cat number", "dog number"))
    run("tied", force=True)
    assert len(kept()) == 1
    assert (
        kept_translations.translations(entries()[1], "tokenised")[0][3]
        == "the dog number 3 sat down ."
    )


def test_other_references_in_the_same_place_are_not_taken(recipe):
    run()
    shutil.rmtree("runs")
    Path("test.de").write_text(Path("test.de").read_text().replace("cat", "dog"))
    assert kept_translations.translations(entries()[0], "tokenised") is None


def test_each_set_of_references_is_noted_once(recipe):
    run("tied")
    run("linear")
    noted = json.loads((LEDGER.parent / "translations" / "references.json").read_text())
    fingerprint = entries()[0]["setting"]["references"]
    place = {"tokenised": "test.de", "plain": "raw.de", "language": "de"}
    assert noted == {fingerprint: place}


@pytest.mark.parametrize("path", sorted(ROOT.glob("results/*/ledger.jsonl")))
def test_ledgers_from_before_are_read(path):
    lines = [line for line in ledger.read(path) if ledger.kind_of(line) == ledger.ARM]
    runs = Runs(ledger.read(path))
    assert set(runs.arms) == {line["arm"] for line in lines}
    for line in lines:
        kept = kept_translations.kept_file(path.parent, line)
        if kept.exists():
            sentences = kept.read_text(encoding="utf-8").splitlines()
            assert len(sentences) == line["figures"]["sentences"]


def test_some_hypotheses_of_each_recipe_that_translates_are_stored():
    with_hypotheses = {
        path.parent.parent.name for path in ROOT.glob("results/*/translations/*.hyp")
    }
    recipes = {path.parent.name for path in ROOT.glob("results/*/ledger.jsonl")}
    assert recipes - with_hypotheses == {"assylbekov2018"}


def test_case_counts_unless_the_arm_says_otherwise(recipe):
    (recipe / "raw.de").write_text((recipe / "raw.de").read_text().upper())
    run("tied")
    run("linear", lowercase=True)
    cased, lower = (entry["figures"]["bleu"] for entry in entries())
    assert cased < 50 < lower == pytest.approx(100)
