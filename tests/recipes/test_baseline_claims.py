"""What is claimed of the baseline, and how equal sizes are judged."""

import pytest

from recipes.baseline_multi30k import claims
from recipes.lab import ledger
from recipes.lab.arms import load
from recipes.lab.claims import FAILS, HOLDS, NOT_RUN
from recipes.lab.runs import Runs
from tests.recipes.test_table import add


def test_the_inequalities_have_their_direction():
    found = [part for claim in claims.claims_of(Runs([])) for part in claim.parts]
    assert [part.inequality for part in found] == [
        "BLEU(luong_linear) ≥ BLEU(stock_lstm)",
        "parameters(luong_linear) = parameters(stock_lstm)",
        "BLEU(transformer_linear) ≈ BLEU(stock_transformer)",
        "BLEU(luong_tied) ≥ BLEU(luong_linear)",
        "BLEU(transformer_tied) ≥ BLEU(transformer_linear)",
        "BLEU(transformer_joint) ≥ BLEU(transformer_tied)",
    ]
    assert {part.verdict for part in found} == {NOT_RUN}


@pytest.mark.parametrize(("other", "verdict"), [(100, HOLDS), (101, FAILS)])
def test_models_of_one_size_have_as_many_parameters(other, verdict):
    sizes = {"luong_linear": 100, "stock_lstm": other}
    lines = [{"arm": arm, "key": "k", "seed": 1, "figures": {"parameters": size}}
             for arm, size in sizes.items()]  # fmt: skip
    assert claims.same_size(Runs(lines), "luong_linear", "stock_lstm").verdict == verdict


def test_the_page_names_the_model_then_its_baseline(tmp_path):
    path = tmp_path / "ledger.jsonl"
    for arm, ppl in (("luong_tied", 8.0), ("luong_linear", 10.0)):
        for seed in (1, 2, 3):
            add(path, arm, seed, 50.0, best_valid_ppl=ppl + seed / 100)
    (row,) = claims.find(load("baseline_multi30k", {}), Runs(ledger.read(path))).compared
    assert (row.method, row.against) == ("our LSTM, tied", "our LSTM, linear")
    assert row.verdict == "better"
