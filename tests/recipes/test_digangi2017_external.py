"""Verdicts on the paper's claims follow from the ledger's figures, and from nothing else."""

import json

import pytest

import ledger
from digangi2017_external import claims, results_by_size
from digangi2017_external.results_by_size import Arm, Results
from tests.recipes.test_report import add
from verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, together

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


def verdict(parts):
    return together([part.verdict for part in parts])


def test_an_order_holds_if_every_step_does(path):
    names = [f"{s}.1000{'' if s == 'baseline' else '.captions'}" for s in ORDER]
    wrong = dict(zip(names, (0.05, 0.3, 0.5, 0.7), strict=True))
    read = fill(path, {n: [40 - 40 * w] * 2 for n, w in wrong.items()}, wrong)
    assert verdict(claims.ordered(read, "1000", "captions", ORDER)) == HOLDS
    assert verdict(claims.ordered(read, "1000", "captions", ORDER[::-1])) == FAILS
    assert verdict(claims.ordered(read, "10000", "captions", ORDER)) == NOT_RUN


def test_a_difference_that_the_translations_do_not_confirm_is_undecided(path):
    wrong = {"baseline.1000": 0.3, "mix_sum.1000.captions": 0.3}
    read = fill(path, {"baseline.1000": [20], "mix_sum.1000.captions": [25]}, wrong)
    folders = [ledger.ROOT / f"work/{name}/1/test.tokenised.hyp" for name in wrong]
    folders[1].write_text(folders[0].read_text())
    pair = Arm("mix_sum", "1000", "captions"), Arm("baseline", "1000")
    assert claims.above(read, *pair).verdict == UNDECIDED


@pytest.mark.parametrize(
    ("differences", "expected"),
    [([1, 2], HOLDS), ([-1, -2], FAILS), ([1, -1], UNDECIDED), ([0, 2], UNDECIDED), ([], NOT_RUN)],
)
def test_seeds_must_agree_on_counts(differences, expected):
    assert claims.same_sign("x", differences).verdict == expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [(("1000", "10000", "29000"), HOLDS), (("29000", "10000", "1000"), FAILS)],
)
def test_the_gain_falls_only_if_it_does_from_size_to_size(path, sizes, expected):
    wrong = {}
    for size, base, mixed in zip(sizes, (0.8, 0.5, 0.3), (0.05, 0.15, 0.25), strict=True):
        wrong |= {f"baseline.{size}": base, f"mix_sum.{size}.captions": mixed}
    read = fill(path, {name: [1] for name in wrong}, wrong)
    assert read.sizes == ["1000", "10000", "29000"]
    parts = claims.gain_falls(read, "captions")
    assert [part.verdict for part in parts] == [expected] * 2


def test_unknown_symbols_are_counted_in_the_translations(path):
    read = fill(path, {"baseline.1000": [1]}, {"baseline.1000": 0.1})
    folder = ledger.ROOT / "work/baseline.1000/1"
    lines = (folder / "test.tokenised.hyp").read_text().splitlines()
    lines[:2] = ["<unk> a <unk>", "<unk>"]
    (folder / "test.tokenised.hyp").write_text("\n".join(lines) + "\n")
    assert read.unknown_symbols(Arm("baseline", "1000")) == {1: 3}


@pytest.mark.parametrize(("both", "expected"), [(3, HOLDS), (6, FAILS)])
def test_words_unknown_to_both_are_checked_in_the_tables(tmp_path, both, expected):
    lines = ["| source words unknown to | tokens | types |", "|---|---|---|"]
    lines += ["| internal | 7 | 5 |", "| external | 5 | 4 |", f"| both | {both} | 2 |"]
    (tmp_path / "unknown_words.1000.md").write_text("\n".join(lines) + "\n")
    assert verdict(claims.fewest_unknown_to_both(tmp_path)) == expected


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
    # There are no translations to resample.
    facts = json.loads((path.parent / "claims.json").read_text())
    assert set(facts["claims"].values()) == {NOT_RUN}


def test_an_empty_ledger_is_refused(path, capsys):
    assert claims.main([str(path)]) == 2
    assert "no arm with external vectors yet" in capsys.readouterr().err


def test_in_domain_vectors_come_first(path):
    read = fill(path, {f"mix_sum.1000.{kind}": [1] for kind in ("abc", "ptb", "captions")})
    assert read.kinds == ["captions", "abc", "ptb"]
    labels = [label for label, _ in results_by_size.lines_of(read)]
    assert labels[:2] == ["baseline", "only_external, captions"]
