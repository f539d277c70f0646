"""A release is small, loads without the recipe, and writes what the checkpoint does."""

import json
from types import SimpleNamespace

import pytest
import torch

from fairseq_outlayers import load
from recipes.lab import ledger
from recipes.lab.running import release
from recipes.lab.settings import UserError
from tests.unit.hub.conftest import save_checkpoint

TEXTS = ["w1 w2 w3", "w4 w5", "w6"]


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A checkout with two trained arms, each with a checkpoint of its own."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results" / "ledger.jsonl"
    for seed, (arm, perplexity) in enumerate((("worse", 9.0), ("better", 7.0)), start=1):
        data, run = tmp_path / "data", tmp_path / "runs" / arm / "checkpoints"
        data.mkdir(exist_ok=True)
        run.mkdir(parents=True)
        saved = save_checkpoint(data, "luong_lstm", seed=seed)
        state = torch.load(saved, weights_only=False)
        state["last_optimizer_state"] = {"moments": torch.zeros(10**6)}
        torch.save(state, run / "checkpoint_best.pt")
        figures = {"best_valid_ppl": perplexity, "bleu": 20.0 + seed, "parameters": 1234}
        ledger.append(path, {
            "arm": arm, "seed": 1, "key": "k", "setting": {"data": "d"}, "figures": figures,
            "command": f"fairseq-train {data} --arch luong_lstm", "commit": "c",
            "date": "2026-01-01",
            "versions": {"torch": "2"}, "run": f"runs/{arm}",
        })  # fmt: skip
    arms = ["worse", "better", "nowhere"]
    return SimpleNamespace(name="toy", title="A toy", ledger=path, arms=lambda: arms)


def test_the_best_arm_in_validation_is_released_and_translates_as_its_checkpoint(recipe, tmp_path):
    files = release.write(recipe)
    assert [path.name for path in files] == [
        "model.pt",
        "dict.src.txt",
        "dict.tgt.txt",
        "dict.txt",
        "README.md",
    ]
    original = tmp_path / "runs" / "better" / "checkpoints" / "checkpoint_best.pt"
    assert files[0].stat().st_size < original.stat().st_size - 3_900_000
    expected = load(original).translate(TEXTS)
    found = load(files[0], data=files[0].parent).translate(TEXTS)
    assert [(one.text, one.score) for one in found] == [(one.text, one.score) for one in expected]
    card = files[-1].read_text()
    for words in (
        "# better of A toy",
        "validation perplexity 7.00, the best of 2 runs",
        "| bleu | 22.00 |",
    ):
        assert words in card


def test_a_large_model_is_stored_in_half_precision_and_then_refused(recipe, monkeypatch):
    model = load(release.write(recipe)[0], data="data").models[0]
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    monkeypatch.setattr(release, "LARGEST", int(0.7 * size))
    files = release.write(recipe)
    assert "half precision" in files[-1].read_text()
    halved = load(files[0], data="data").models[0]
    for (name, one), other in zip(model.named_parameters(), halved.parameters(), strict=True):
        torch.testing.assert_close(other, one.half().float() if one.dim() > 1 else one, msg=name)
    monkeypatch.setattr(release, "LARGEST", int(0.3 * size))
    before = files[0].read_bytes()
    with pytest.raises(UserError, match="in half precision; a release has at most"):
        release.write(recipe)
    assert files[0].read_bytes() == before


def test_a_table_of_two_names_is_halved_once():
    table, scale = torch.randn(5, 3), torch.randn(4)
    halves = release.in_half({"input": table, "output": table, "other": table[:2], "scale": scale})
    assert halves["input"] is halves["output"]
    assert release.size_of(halves) == 5 * 3 * 2 + 2 * 3 * 2 + 4 * 4
    assert halves["scale"] is scale


def test_an_arm_may_be_named_and_one_without_a_checkpoint_is_not_released(recipe):
    assert "# worse of" in release.write(recipe, ["worse"])[-1].read_text()
    with pytest.raises(UserError, match="no checkpoint of nowhere is on this machine"):
        release.write(recipe, ["nowhere"])


def test_perplexities_of_other_data_are_not_compared(recipe):
    lines = [json.loads(line) for line in recipe.ledger.read_text().splitlines()]
    lines[1]["setting"]["data"] = "another"
    entry, why = release.choose(recipe, lines, None)
    assert (entry["arm"], why) == ("worse", "validation perplexity 9.00, the best of 1 runs")


def test_perplexities_of_two_directions_are_not_compared(recipe):
    lines = [json.loads(line) for line in recipe.ledger.read_text().splitlines()]
    for line, language, seed in zip([*lines, lines[0]], ("en", "de", "en"), (1, 1, 2), strict=True):
        lines.append(line | {"seed": seed, "command": f"fairseq-train d --target-lang {language}"})
    entry, why = release.choose(recipe, lines[2:], None)
    assert (entry["arm"], why) == ("worse", "validation perplexity 9.00, the best of 2 runs")


def test_bleu_on_the_validation_set_comes_before_perplexity(recipe):
    lines = [json.loads(line) for line in recipe.ledger.read_text().splitlines()]
    of = {"arm": "worse.k9.kp1", "key": "d", "figures": {"valid_bleu_tokenised": 30.0}}
    lines.append({**lines[0], **of, "setting": {"of": {"worse": "k"}}, "run": "nowhere"})
    lines[1]["figures"]["valid_bleu_tokenised"] = 29.0
    entry, why = release.choose(recipe, lines, None)
    assert (entry["arm"], why) == ("worse", "validation BLEU 30.00, the best of 2 runs")


def test_of_an_arm_the_best_seed_is_released_not_the_last(recipe):
    lines = ledger.read(recipe.ledger)
    better = lines[1]["figures"]
    lines += [lines[1] | {"seed": 2, "figures": better | {"best_valid_ppl": 6.0}},
              lines[1] | {"seed": 3, "figures": better | {"best_valid_ppl": 6.5}}]  # fmt: skip
    entry, why = release.choose(recipe, lines, None)
    assert (entry["seed"], why) == (2, "validation perplexity 6.00, the best of 4 runs")


def test_a_repeat_that_has_begun_is_not_released(recipe, tmp_path):
    (tmp_path / "runs" / "better" / "checkpoints" / "checkpoint_last.pt").touch()
    assert release.choose(recipe, ledger.read(recipe.ledger), None)[0]["arm"] == "worse"
