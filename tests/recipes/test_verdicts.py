"""A claim holds or fails only where the numbers say so."""

import pytest

import ledger
import recorded_runs
import resampling
import run_files
import scoring
import verdicts
from recorded_runs import Runs
from resampling import Interval
from verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, Part

SENTENCES = 40
REFERENCE = "the cat sat on the mat today ."


@pytest.mark.parametrize(
    ("difference", "low", "high", "seeds", "verdict"),
    [
        (1.2, 0.1, 2.3, 1, HOLDS),
        (-1.2, -2.3, -0.1, 1, FAILS),
        (1.2, -0.1, 2.5, 1, UNDECIDED),
        (-1.2, -2.5, 0.1, 3, UNDECIDED),
        (1.2, 0.0, 2.4, 3, UNDECIDED),
        # Below half a point one seed decides nothing, however narrow the interval.
        (0.4, 0.3, 0.5, 1, UNDECIDED),
        (-0.4, -0.5, -0.3, 1, UNDECIDED),
        (0.4, 0.3, 0.5, 3, HOLDS),
    ],
)
def test_an_interval_decides_an_inequality(difference, low, high, seeds, verdict):
    assert verdicts.verdict_of(Interval(difference, low, high), seeds) == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.65, 0.85, HOLDS),
        (0.5, 0.59, FAILS),
        (0.91, 0.99, FAILS),
        (0.55, 0.7, UNDECIDED),
        (0.85, 0.95, UNDECIDED),
        (0.5, 0.95, UNDECIDED),
    ],
)
def test_a_ratio_must_lie_between_two_limits(low, high, verdict):
    found = Interval((low + high) / 2, low, high)
    assert verdicts.verdict_of(found, 1, low=0.6, high=0.9, smallest=0.0) == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.4, 0.4, HOLDS),
        (0.1, 0.4, HOLDS),
        (0.1, 0.6, UNDECIDED),
        (-0.9, 0.9, UNDECIDED),
        (0.6, 1.5, FAILS),
        (-1.5, -0.6, FAILS),
    ],
)
def test_an_interval_decides_an_equality(low, high, verdict):
    assert verdicts.equality_of(Interval((low + high) / 2, low, high), 1) == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([0.9, 0.85], HOLDS), ([0.8, 0.84], FAILS), ([0.8, 0.9], UNDECIDED), ([], NOT_RUN)],
)
def test_every_measurement_must_reach_the_threshold(values, verdict):
    assert verdicts.measured("x", values, 0.85).verdict == verdict


@pytest.mark.parametrize(
    ("parts", "all_needed", "one_is_enough"),
    [
        ([HOLDS, HOLDS], HOLDS, HOLDS),
        ([HOLDS, FAILS, NOT_RUN, UNDECIDED], FAILS, HOLDS),
        ([HOLDS, UNDECIDED], UNDECIDED, HOLDS),
        ([FAILS, UNDECIDED], FAILS, UNDECIDED),
        ([HOLDS, UNDECIDED, NOT_RUN], NOT_RUN, HOLDS),
        ([FAILS, FAILS], FAILS, FAILS),
        ([], NOT_RUN, NOT_RUN),
    ],
)
def test_a_claim_is_as_good_as_its_inequalities(parts, all_needed, one_is_enough):
    parts = [Part("x", verdict) for verdict in parts]
    assert Claim(1, "text", parts).verdict == all_needed
    assert Claim(1, "text", parts, any_is_enough=True).verdict == one_is_enough


@pytest.fixture
def entry(tmp_path, monkeypatch):
    """Makes a ledger line with translations of which some share is right."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)

    def make(arm, right, seed=1, key="k", keep=True, **figures):
        run = f"work/{arm}/{seed}-{key}"
        lines = [REFERENCE if n < right * SENTENCES else "no" for n in range(SENTENCES)]
        if keep:
            (tmp_path / run).mkdir(parents=True)
            scoring.write_lines(tmp_path / run / "test.plain.hyp", lines)
            scoring.write_lines(tmp_path / run / "test.plain.ref", [REFERENCE] * SENTENCES)
        scores = scoring.score(lines, [REFERENCE] * SENTENCES, tokenised=False)
        figures = {**scores, "sentences": SENTENCES, **figures}
        return {"arm": arm, "seed": seed, "key": key, "run": run, "figures": figures}

    return make


def test_a_weighted_sum_is_that_of_the_scores(entry):
    entries = [entry("a", 0.9), entry("b", 0.5), entry("c", 0.7)]
    a, b, c = (line["figures"]["bleu"] for line in entries)
    found, seeds = Runs(entries).difference({"a": 1, "b": -1, "c": 2})
    assert seeds == 1
    assert found.difference == pytest.approx(a - b + 2 * c)
    assert found.low < found.difference < found.high


def test_only_seeds_that_all_arms_have_are_compared(entry):
    entries = [entry("a", 0.9, seed) for seed in (1, 2, 3)]
    entries += [entry("b", 0.5, seed) for seed in (2, 3, 4)]
    assert Runs(entries).difference({"a": 1, "b": -1})[1] == 2


def test_seeds_that_disagree_widen_the_interval(entry):
    """The sentences alone would make every one of these intervals exclude 0."""
    agreeing = [entry("a", 0.7, seed) for seed in (1, 2, 3)]
    entries = [*agreeing, *(entry("b", 0.5, seed) for seed in (1, 2, 3))]
    narrow, _ = Runs(entries).difference({"a": 1, "b": -1})
    entries = [
        *agreeing,
        *(entry("c", right, seed) for seed, right in ((1, 0.2), (2, 0.5), (3, 0.8))),
    ]
    wide, _ = Runs(entries).difference({"a": 1, "c": -1})
    assert narrow.low > 0 > wide.low
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_the_newest_setting_of_an_arm_counts(entry):
    old, new = entry("a", 0.9, key="old"), entry("a", 0.2, key="new")
    runs = Runs([old, new])
    assert runs.bleu("a") == new["figures"]["bleu"]
    assert runs.seeds(["a"]) == [1]


def test_arms_without_translations_here_are_said_to_be_missing(entry):
    runs = Runs([entry("a", 0.9), entry("b", 0.5, keep=False)])
    assert verdicts.at_least(runs, "a", "c") == Part("BLEU(a) ≥ BLEU(c)", NOT_RUN, "missing: c")
    assert verdicts.at_least(runs, "a", "b").numbers == "missing: translations"


def test_files_of_runs_are_found_in_the_order_asked_for(entry, tmp_path, capsys):
    path = tmp_path / "ledger.jsonl"
    lines = [entry("a", 0.9, seed=2), entry("a", 0.9, seed=1), entry("b", 0.5)]
    for line in [*lines, entry("c", 0.5, keep=False), entry("b", 0.7, key="newer")]:
        ledger.append(path, line)
    arms = ["d", "b", "c", "a"]
    assert run_files.main([str(path), "test.plain.hyp", "--arms", *arms]) == 0
    expected = [f"{tmp_path}/work/{run}/test.plain.hyp" for run in ("b/1-newer", "a/1-k")]
    assert capsys.readouterr().out.split() == expected
    assert run_files.main([str(path), "test.plain.hyp", "--all-seeds", "--arms", *arms]) == 0
    expected.append(f"{tmp_path}/work/a/2-k/test.plain.hyp")
    assert capsys.readouterr().out.split() == expected


def test_numbers_say_difference_interval_and_seeds(entry):
    runs = Runs([entry("a", 0.9), entry("b", 0.4)])
    part = verdicts.at_least(runs, "a", "b")
    found, _ = runs.difference({"a": 1, "b": -1})
    assert part.verdict == HOLDS
    assert part.numbers == f"{found}, 1 seed"
    assert verdicts.at_least(runs, "b", "a").verdict == FAILS


def test_equal_arms_are_undecided(entry):
    runs = Runs([entry("a", 0.5), entry("b", 0.5)])
    assert verdicts.at_least(runs, "a", "b").verdict == UNDECIDED
    assert verdicts.about_equal(runs, "a", "b").verdict == HOLDS


def test_an_arm_is_not_compared_with_itself(entry):
    """Both of its weights stand under one name, and only the last would count."""
    runs = Runs([entry("a", 0.5), entry("b", 0.5)])
    for part in (verdicts.at_least(runs, "a", "a"), verdicts.about_equal(runs, "a", "a")):
        assert part[1:] == (NOT_RUN, "the same arm on both sides")


def test_arms_that_translate_nothing_decide_nothing(entry):
    runs = Runs([entry("a", 0), entry("b", 0)])
    for part in (verdicts.at_least(runs, "a", "b"), verdicts.about_equal(runs, "a", "b")):
        assert part[1:] == (UNDECIDED, "BLEU is 0 everywhere")


def test_the_report_shows_every_inequality():
    claims = [Claim(3, "a claim", [Part("x ≥ y", HOLDS, "+1.00")], any_is_enough=True)]
    text = verdicts.markdown("Title", claims, ["a note"])
    for line in ("# Title", "| 3. a claim | **holds** |", "- a note", "| x ≥ y | holds | +1.00 |"):
        assert line in text.split("\n")
    (found,) = verdicts.as_json(claims)
    assert found["verdict"] == HOLDS
    assert found["parts"] == [{"inequality": "x ≥ y", "verdict": HOLDS, "numbers": "+1.00"}]


def test_resamples_are_scored_once(entry, monkeypatch):
    runs = Runs([entry("a", 0.9), entry("b", 0.5), entry("c", 0.7)])
    calls = []
    scored = resampling.resampled_bleu
    monkeypatch.setattr(
        recorded_runs, "resampled_bleu", lambda *arguments: calls.append(1) or scored(*arguments)
    )
    for other in ("b", "c", "b"):
        verdicts.at_least(runs, "a", other)
    assert len(calls) == 3
