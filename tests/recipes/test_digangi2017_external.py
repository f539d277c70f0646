"""Verdicts on the paper's claims follow from the ledger's figures, and from nothing else."""

import sys

import pytest

import ledger
from tests.recipes.conftest import ROOT
from tests.recipes.test_report import add

sys.path.insert(0, str(ROOT / "recipes" / "digangi2017_external"))

import claims
import results_by_size
from results_by_size import Arm, Results

ORDER = ("mix_sum", "mix_gate", "only_external", "baseline")


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The ledger of an empty checkout."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    return tmp_path / "results" / "mine" / "ledger.jsonl"


def fill(path, bleu, wrong=None):
    """Ledger lines for arms by name; ``wrong`` gives the share of wrong words of each."""
    for name, seeds in bleu.items():
        for seed, value in enumerate(seeds, start=1):
            add(path, name, seed, value, wrong=None if wrong is None else wrong[name])
    return Results.read(path)


def test_an_order_holds_if_every_step_is_significant_in_every_seed(path):
    names = [f"{s}.1000{'' if s == 'baseline' else '.captions'}" for s in ORDER]
    wrong = dict(zip(names, (0.05, 0.3, 0.5, 0.7), strict=True))
    read = fill(path, {n: [40 - 40 * w] * 2 for n, w in wrong.items()}, wrong)
    assert claims.ordered(read, "1000", "captions", ORDER) == claims.HOLDS
    assert claims.ordered(read, "1000", "captions", ORDER[::-1]) == claims.FAILS
    assert claims.ordered(read, "10000", "captions", ORDER) == claims.NOT_RUN


def test_a_difference_that_the_bootstrap_does_not_confirm_is_undecided(path):
    wrong = {"baseline.1000": 0.3, "mix_sum.1000.captions": 0.3}
    read = fill(path, {"baseline.1000": [20], "mix_sum.1000.captions": [25]}, wrong)
    folders = [ledger.ROOT / f"work/{name}/1/test.tokenised.hyp" for name in wrong]
    folders[1].write_text(folders[0].read_text())
    pair = Arm("mix_sum", "1000", "captions"), Arm("baseline", "1000")
    assert claims.above(read, *pair) == claims.UNDECIDED


@pytest.mark.parametrize(
    ("differences", "least", "expected"),
    [
        ([1, 2], 0, claims.HOLDS),
        ([-1, -2], 0, claims.FAILS),
        ([1, -1], 0, claims.UNDECIDED),
        ([0.4, 2], 0.5, claims.UNDECIDED),
        ([], 0, claims.NOT_RUN),
    ],
)
def test_seeds_must_agree(differences, least, expected):
    assert claims.same_sign(differences, least) == expected


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([claims.HOLDS, claims.FAILS, claims.UNDECIDED], claims.FAILS),
        ([claims.HOLDS, claims.UNDECIDED, claims.NOT_RUN], claims.NOT_RUN),
        ([claims.HOLDS, claims.UNDECIDED], claims.UNDECIDED),
        ([claims.HOLDS, claims.HOLDS], claims.HOLDS),
        ([], claims.NOT_RUN),
    ],
)
def test_a_claim_is_as_good_as_its_weakest_part(verdicts, expected):
    assert claims.together(verdicts) == expected


def test_the_gain_falls_only_if_it_does_from_size_to_size(path):
    bleu = {}
    for size, base, gain in (("1000", 10, 6), ("10000", 25, 3), ("29000", 30, 1)):
        bleu[f"baseline.{size}"] = [base]
        bleu[f"mix_sum.{size}.captions"] = [base + gain]
    read = fill(path, bleu)
    assert read.sizes == ["1000", "10000", "29000"]
    assert claims.gain_falls(read, "captions") == claims.HOLDS
    read.rows[Arm("mix_sum", "29000", "captions")].entries[1]["figures"]["bleu_tokenised"] = 35
    assert claims.gain_falls(read, "captions") == claims.FAILS


def test_unknown_symbols_are_counted_in_the_translations(path):
    read = fill(path, {"baseline.1000": [1]}, {"baseline.1000": 0.1})
    folder = ledger.ROOT / "work/baseline.1000/1"
    lines = (folder / "test.tokenised.hyp").read_text().splitlines()
    lines[:2] = ["<unk> a <unk>", "<unk>"]
    (folder / "test.tokenised.hyp").write_text("\n".join(lines) + "\n")
    assert read.unknown_symbols(Arm("baseline", "1000")) == {1: 3}


@pytest.mark.parametrize(("both", "expected"), [(3, claims.HOLDS), (6, claims.FAILS)])
def test_words_unknown_to_both_are_checked_in_the_tables(tmp_path, both, expected):
    lines = ["| source words unknown to | tokens | types |", "|---|---|---|"]
    lines += ["| internal | 7 | 5 |", "| external | 5 | 4 |", f"| both | {both} | 2 |"]
    (tmp_path / "unknown_words.1000.md").write_text("\n".join(lines) + "\n")
    assert claims.fewest_unknown_to_both(tmp_path) == expected


def test_the_page_has_every_arm_every_claim_and_what_is_missing(path, capsys):
    fill(path, {"baseline.1000": [10.0, 12.0], "mix_sum.1000.captions": [15.0, 15.0]})
    arms = ["baseline.1000", "mix_sum.1000.captions", "mix_gate.1000.captions"]
    assert claims.main([str(path), "--arms", *arms, "--seeds", "1", "2", "3"]) == 0
    page = (path.parent / "claims.md").read_text()
    assert "| baseline | 11.00 ± 1.41 |" in page
    assert "| mix_sum, captions | 15.00 |" in page
    assert [f"| {n}. " in page for n in range(1, 7)] == [True] * 6
    missing = "baseline.1000 (seed 3), mix_sum.1000.captions (seed 3), mix_gate.1000.captions"
    assert f"Arms not run: {missing}." in page


def test_an_empty_ledger_is_refused(path, capsys):
    assert claims.main([str(path)]) == 2
    assert "no arm with external vectors yet" in capsys.readouterr().err


def test_in_domain_vectors_come_first(path):
    read = fill(path, {f"mix_sum.1000.{kind}": [1] for kind in ("abc", "ptb", "captions")})
    assert read.kinds == ["captions", "abc", "ptb"]
    labels = [label for label, _ in results_by_size.lines_of(read)]
    assert labels[:2] == ["baseline", "only_external, captions"]
