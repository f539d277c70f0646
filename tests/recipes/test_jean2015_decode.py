"""A decoding is a row of its own, made once from models that were trained before."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from recipes.jean2015_large_vocabulary import claims, decodings
from recipes.lab import ledger
from recipes.lab.arms import Arm, Decoding, TranslationTest, load
from recipes.lab.running import run_arm
from recipes.lab.running.run_arm import MissingRun, Place, Run, execute
from recipes.lab.runs import Runs
from tests.recipes.conftest import calls
from tests.recipes.conftest import run as train

PLACE = Place(Path("ledger.jsonl"), Path("runs"))


@pytest.fixture
def trained(checkout):
    """A checkout where two arms were trained with seeds 1 and 2, "tied" and "linear"."""
    (checkout / "valid.de").write_text((checkout / "test.de").read_text())
    (checkout / "lists").write_text("a list\n")
    for name in ("tied", "linear"):
        for seed in (1, 2):
            assert train(name, seed)
    Path("calls").unlink()
    return checkout


def run(
    *files, name="tied.k9.kp1", of=("tied",), seed=1, generate="--beam 2 --text {subset}.en", **more
):
    test = TranslationTest(generate, "test.de", valid_reference="valid.de")
    arm = Arm(name, "", "data", test, decoding=Decoding(of, files=files, **more))
    execute(Run(arm, seed, PLACE))
    return True


def last():
    return ledger.read(Path("ledger.jsonl"))[-1]


def test_both_sets_are_decoded_with_their_own_text(trained):
    assert run()
    entry = last()
    assert entry["arm"] == "tied.k9.kp1"
    assert entry["generate_command"].endswith("--beam 2 --text test.en")
    assert entry["valid_generate_command"].endswith("--beam 2 --text valid.en --gen-subset valid")
    figures = entry["figures"]
    assert figures["bleu_tokenised"] == figures["valid_bleu_tokenised"] == pytest.approx(100)
    assert figures["sentences"] == figures["valid_sentences"] == 11
    assert calls() == ["generate", "generate"]  # nothing is trained again
    (kept,) = Path("translations").glob("tied.k9.kp1.*.hyp")
    assert len(kept.read_text().splitlines()) == 11


def test_models_are_found_in_a_folder_with_a_space(checkout):
    """Absolute, as OUTLAYERS_WORK may be."""
    place = Place(Path("ledger.jsonl"), checkout / "my runs")
    test = TranslationTest("--beam 2", "test.de")
    execute(Run(Arm("tied", "", "data", test, ("--max-epoch", "1")), 1, place))
    decoding = Arm("tied.unk2", "", "data", test, decoding=Decoding(("tied",)))
    execute(Run(decoding, 1, place))
    assert [entry["arm"] for entry in ledger.read(place.ledger)] == ["tied", "tied.unk2"]
    assert Path(last()["run"]).is_dir()


def test_a_decoding_in_the_ledger_is_skipped_unless_something_changed(trained):
    run("lists")
    run("lists")
    assert len(calls()) == 2
    (trained / "lists").write_text("another list\n")
    run("lists")
    assert len(calls()) == 4
    run("lists", generate="--beam 3")
    assert len(calls()) == 6
    assert train(epochs=4)  # the model is another one now
    run("lists", generate="--beam 3")
    assert calls()[6:] == ["train", "generate", "generate", "generate"]


def test_a_decoding_is_repeated_if_its_model_was(trained, monkeypatch):
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    monkeypatch.setattr(run_arm, "datetime", SimpleNamespace(now=lambda zone: now[0]))
    run()
    assert calls() == ["generate"] * 2
    for tied, repeated in ((False, False), (True, True)):
        now[0] += timedelta(days=1)
        train("tied" if tied else "linear", force=True)
        Path("calls").unlink()
        now[0] += timedelta(days=1)
        for _ in range(2):  # once
            run()
        assert (calls() == ["generate"] * 2) == repeated
        Path("calls").touch()


def test_the_checkpoint_is_that_of_the_same_seed(trained):
    run(seed=2)
    (path,) = {word for word in last()["generate_command"].split() if word.endswith(".pt")}
    assert path.startswith("runs/tied/seed2-")


def test_an_ensemble_has_every_checkpoint_of_the_pattern(trained):
    for folder in Path("runs").rglob("checkpoints"):
        for loss in ("3.1", "3.2"):
            (folder / f"checkpoint.best_loss_{loss}.pt").touch()
    of, pattern = ("tied", "linear"), "checkpoint.best_loss_*.pt"
    run(checkpoints=pattern, of=of, name="ensemble4.k9.kp1")
    words = last()["generate_command"].split()
    paths = words[words.index("--path") + 1].split(":")
    assert [(path.split("/")[1], path[-6:]) for path in paths] == [
        ("tied", "3.1.pt"),
        ("tied", "3.2.pt"),
        ("linear", "3.1.pt"),
        ("linear", "3.2.pt"),
    ]
    assert set(last()["setting"]["of"]) == {"tied", "linear"}


def test_seeds_of_an_arm_are_decoded_together_and_once(trained):
    assert run(name="tied.seeds2.k9.kp1", seeds=(1, 2))
    words = last()["generate_command"].split()
    paths = words[words.index("--path") + 1].split(":")
    assert [path.split("/")[2].partition("-")[0] for path in paths] == ["seed1", "seed2"]
    assert last()["setting"]["seeds"] == [1, 2]
    run(name="tied.seeds2.k9.kp1", seeds=(1, 2))
    assert len(calls()) == 2
    with pytest.raises(MissingRun, match=r"decoded once, with seed 1: tied\.seeds2\.k9\.kp1"):
        run(name="tied.seeds2.k9.kp1", seeds=(1, 2), seed=2)
    with pytest.raises(MissingRun, match=r"because tied \(seed 3\) was not run"):
        run(name="tied.seeds3.k9.kp1", seeds=(1, 2, 3))


def test_what_was_not_trained_here_is_not_decoded(trained):
    with pytest.raises(MissingRun, match=r"not decoded, because tied was not run: tied\.k9\.kp1"):
        run(seed=3)
    with pytest.raises(MissingRun, match="not decoded, because none was not run"):
        run(of=("none", "tied"))
    for path in Path("runs/linear").rglob("*.pt"):
        path.unlink()
    with pytest.raises(MissingRun, match=r"has no checkpoint_best\.pt: linear ran elsewhere"):
        run(of=("linear",))
    assert not Path("calls").exists()


def write(path, **scores):
    """Ledger lines with these dev scores, `_` in their names standing for a dot."""
    for name, score in scores.items():
        figures = {"valid_bleu_tokenised": score}
        entry = {"arm": name.replace("_", "."), "key": "k", "seed": 1, "figures": figures}
        ledger.append(path, entry)


def test_the_lists_are_chosen_on_the_dev_set(tmp_path):
    path = tmp_path / "ledger.jsonl"
    recipe = load("jean2015_large_vocabulary", {"OUTLAYERS_RESULTS": str(tmp_path)})
    assert recipe.choice() == "k2000.kp10"
    write(path, lv_k500_kp10=20.5, lv_k2000_kp10=21.0, lv_k2000_kp20=21.0, lv_k1000_kp10=19)
    # Other rows are no candidates for the choice, however high.
    write(path, lv_k2000_kp10_unk2=30, other_k500_kp1=40, lv=50, lv_frozen_k7_kp7=60)
    assert recipe.choice() == "k2000.kp10"
    write(path, lv_k500_kp1=22.0)
    assert recipe.choice() == "k500.kp1"
    assert decodings.choice(Runs(ledger.read(path)), "k1.kp1") == "k500.kp1"


def test_lists_are_compared_by_the_seeds_that_all_of_them_have(tmp_path):
    path = tmp_path / "ledger.jsonl"
    write(path, lv_k500_kp10=20.5, lv_k2000_kp10=21.0)
    other = {"arm": "lv.k500.kp10", "key": "k", "figures": {"valid_bleu_tokenised": 30.0}}
    ledger.append(path, other | {"seed": 2})
    runs = Runs(ledger.read(path))
    assert decodings.choice(runs, "k1.kp1") == "k2000.kp10"
    assert claims.chosen_among(runs, "k2000.kp10") == (
        "K and K' chosen on the dev set: k2000.kp10, of k500.kp10, k2000.kp10 (1 seed)."
    )


def test_lists_are_sorted_by_number_and_of_one_model(tmp_path):
    path = tmp_path / "ledger.jsonl"
    write(path, lv_k10000_kp1=1, lv_k500_kp20=1, lv_k500_kp3=1, lv_frozen_k1_kp1=1)
    names = [str(lists) for lists in decodings.lists_of(Runs(ledger.read(path)), "lv")]
    assert names == ["lv.k500.kp3", "lv.k500.kp20", "lv.k10000.kp1"]


def test_a_model_whose_repeat_has_saved_nothing_is_not_decoded(trained):
    (best,) = Path("runs/tied").glob("seed1-*/checkpoints/checkpoint_best.pt")
    best.unlink()
    (best.parent.parent / "train.log").write_text("x | num. shared model params: 1,000\n")
    with pytest.raises(MissingRun, match="unfinished: run that arm again"):
        run()
    assert not Path("calls").exists()


def test_a_model_whose_repeat_is_unfinished_is_not_decoded(trained):
    (best,) = Path("runs/tied").glob("seed1-*/checkpoints/checkpoint_best.pt")
    best.with_name("checkpoint_last.pt").touch()
    with pytest.raises(MissingRun, match="unfinished: run that arm again"):
        run()
    assert not Path("calls").exists()


def test_the_dev_set_overwrites_nothing_of_the_test_set(trained):
    dev = (trained / "test.de").read_text().replace("cat", "dog")
    (trained / "valid.de").write_text(dev)
    run()
    folder = Path(last()["run"])
    assert (folder / "test.tokenised.ref").read_text() == Path("test.de").read_text()
    assert (folder / "valid/test.tokenised.ref").read_text() == dev
    assert last()["figures"]["valid_bleu_tokenised"] < 99
