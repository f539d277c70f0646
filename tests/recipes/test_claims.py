"""A claim holds or fails only where the numbers say so."""

import re

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from recipes.lab import claims, ledger
from recipes.lab.claims import FAILS, HOLDS, NOT_RUN, SAME, UNDECIDED, Claim, Part
from recipes.lab.repeats import begun_repeats, without_begun_repeats
from recipes.lab.runs import Runs
from recipes.lab.scores import resampling, scoring
from recipes.lab.scores.resampling import Estimate

SENTENCES = 40
REFERENCE = "the cat sat on the mat today ."


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 2.3, HOLDS),
        (-2.3, -0.1, FAILS),
        (-0.1, 2.5, UNDECIDED),
        (-2.5, 0.1, UNDECIDED),
        (0.0, 2.4, UNDECIDED),
        # Narrow, and away from 0: it holds by little.
        (0.3, 0.45, HOLDS),
        (-0.45, -0.3, FAILS),
        # Half a point in either direction is no difference.
        (-0.3, 0.4, SAME),
        (0.0, 0.0, SAME),
        (-0.3, 0.6, UNDECIDED),
        (-0.6, 0.3, UNDECIDED),
    ],
)
def test_an_interval_decides_an_inequality(low, high, verdict):
    assert claims.judge(Estimate((low + high) / 2, low, high, 3)) == verdict


@pytest.mark.parametrize(("low", "high"), [(8.0, 9.0), (-9.0, -8.0), (-0.1, 0.1), (0.1, 0.4)])
def test_one_seed_decides_nothing_whatever_the_difference(low, high):
    assert claims.judge(Estimate((low + high) / 2, low, high, 1)) == UNDECIDED
    assert claims.judge(Estimate((low + high) / 2, low, high, 1), -0.5, 0.5, 0) == UNDECIDED


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
    found = Estimate((low + high) / 2, low, high, 3)
    assert claims.judge(found, low=0.6, high=0.9, margin=0) == verdict


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
    found = Estimate((low + high) / 2, low, high, 3)
    assert claims.judge(found, -claims.MARGIN, claims.MARGIN, margin=0) == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.9, 0.85, 0.9, 0.9, 0.9], HOLDS),
        ([0.8, 0.84, 0.8, 0.8, 0.8], FAILS),
        ([0.8, 0.9, 0.9, 0.9, 0.9], UNDECIDED),
        ([0.9, 0.9, 0.9, 0.9], UNDECIDED),  # too few rounds
        ([], NOT_RUN),
    ],
)
def test_every_round_must_reach_the_threshold(values, verdict):
    assert claims.every_round("x", values, 0.85, "80.sh").verdict == verdict


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([100], [110], UNDECIDED),  # one seed, however large the difference
        ([110], [100], UNDECIDED),
        ([100, 101], [110, 112], UNDECIDED),  # two
        ([100, 101, 100], [110, 112, 111], HOLDS),
        ([110, 112, 111], [100, 101, 100], FAILS),
        ([100, 102, 101], [101, 98, 100], UNDECIDED),  # the seeds disagree, by more than a per cent
        ([100, 100.2, 100.1], [100.1, 100.1, 100.1], SAME),
        ([10, 10.3, 10.15], [10.15, 10.15, 10.15], UNDECIDED),  # within 0.5, not within 1%
        ([100, 100.1, 100], [100.5, 100.4, 100.5], HOLDS),
        ([100, 90], [110], UNDECIDED),  # a seed that one side lacks is left out
        ([], [1], NOT_RUN),
    ],
)
def test_figures_without_sentences_are_compared_seed_by_seed(first, second, expected):
    assert claims.smaller("a < b", first, second).verdict == expected


# Two-sided quantiles of Student's t, by number of seeds: 95%, and with more than three 97.06%.
STUDENT = {2: 12.706, 3: 4.303, 6: 3.02, 11: 2.539, 31: 2.287}


@pytest.mark.parametrize("seeds", STUDENT)
def test_the_interval_over_seeds_is_that_of_students_t(seeds):
    """Also where one seed is far from the others. The draws give its ends within 1.5%, further out
    in the tails within 2%."""
    for values in np.random.default_rng(1).normal(3, 2, (200, seeds)) ** 3:
        found = resampling.estimate(resampling.over_seeds(values[:, None]), seeds)
        half = STUDENT[seeds] * values.std(ddof=1) / np.sqrt(seeds)
        assert found.value == pytest.approx(values.mean())
        within = 0.015 if seeds <= 3 else 0.02
        assert found.high - found.value == pytest.approx(half, rel=within)
        assert found.value - found.low == pytest.approx(half, rel=within)


def test_figures_of_seeds_are_compared_by_the_interval_of_their_differences():
    part = claims.smaller("a < b", [1, 2, 3], [2, 4, 9])
    value, low, high = map(float, re.findall(r"[+-][0-9.]+", part.numbers))
    assert value == 3.0
    assert high - 3 == pytest.approx(3 - low) == pytest.approx(4.303 * 7**0.5 / 3**0.5, rel=0.015)


def test_what_is_counted_is_exact_whatever_the_seeds():
    assert claims.exact("a < b", True).verdict == HOLDS
    assert claims.exact("a < b", False).verdict == FAILS
    assert claims.exact("a < b", None).verdict == NOT_RUN


@pytest.mark.parametrize(
    ("parts", "all_needed", "one_is_enough"),
    [
        ([HOLDS, HOLDS], HOLDS, HOLDS),
        ([HOLDS, FAILS, NOT_RUN, UNDECIDED], FAILS, HOLDS),
        ([HOLDS, UNDECIDED], UNDECIDED, HOLDS),
        ([FAILS, UNDECIDED], FAILS, UNDECIDED),
        ([HOLDS, UNDECIDED, NOT_RUN], NOT_RUN, HOLDS),
        ([HOLDS, SAME], SAME, HOLDS),
        ([FAILS, SAME], FAILS, SAME),
        ([SAME, UNDECIDED], UNDECIDED, UNDECIDED),
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
    found = Runs(entries).difference({"a": 1, "b": -1, "c": 2})
    assert found.seeds == 1
    assert found.value == pytest.approx(a - b + 2 * c)
    assert found.low < found.value < found.high


def test_only_seeds_that_all_arms_have_are_compared(entry):
    entries = [entry("a", 0.9, seed) for seed in (1, 2, 3)]
    entries += [entry("b", 0.5, seed) for seed in (2, 3, 4)]
    assert Runs(entries).difference({"a": 1, "b": -1}).seeds == 2


def test_seeds_that_disagree_widen_the_interval(entry):
    """The sentences alone would make every one of these intervals exclude 0."""
    agreeing = [entry("a", 0.7, seed) for seed in (1, 2, 3)]
    entries = [*agreeing, *(entry("b", 0.5, seed) for seed in (1, 2, 3))]
    narrow = Runs(entries).difference({"a": 1, "b": -1})
    entries = [
        *agreeing,
        *(entry("c", right, seed) for seed, right in ((1, 0.2), (2, 0.5), (3, 0.8))),
    ]
    wide = Runs(entries).difference({"a": 1, "c": -1})
    assert narrow.low > 0 > wide.low
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_the_newest_setting_of_an_arm_counts(entry):
    old, new = entry("a", 0.9, key="old"), entry("a", 0.2, key="new")
    runs = Runs([old, new])
    assert runs.bleu("a") == new["figures"]["bleu"]
    assert runs.seeds(["a"]) == [1]


@pytest.mark.parametrize(
    ("seeds_before", "seeds_now", "expected"),
    [((1,), (1,), "new"), ((1, 2, 3), (1, 2), "old"), ((1, 2, 3), (1, 2, 3), "new"),
     ((1, 2, 3, 4), (1, 2, 3), "new"), ((1, 2), (4,), "old")],
)  # fmt: skip
def test_in_a_report_a_begun_repeat_does_not_hide_more_seeds(
    entry, seeds_before, seeds_now, expected
):
    before = [entry("a", 0.9, seed=seed, key="old") for seed in seeds_before]
    now = [entry("a", 0.2, seed=seed, key="new") for seed in seeds_now]
    tuning = entry("a", 0.1, seed=9, key="new") | {"kind": "tuning"}
    kept = without_begun_repeats([*before, *now, tuning])
    assert {line["key"] for line in Runs(kept).entries("a")} == {expected}
    assert tuning in kept


def test_arms_repeated_together_count_together(entry):
    before = [entry(arm, 0.9, seed=n, key="old") for arm in "abc" for n in (1, 2, 3)]
    alone = [entry("new", 0.5, key="only")]
    now = [entry(arm, 0.2, seed=n, key="new") for arm in "ab" for n in (1, 2, 3)]
    lines = [*before, *now[:-1], *alone]
    runs = Runs(without_begun_repeats(lines))
    assert [runs.entry(arm)["key"] for arm in ("a", "b", "c", "new")] == ["old"] * 3 + ["only"]
    runs = Runs(without_begun_repeats([*lines, now[-1]]))
    assert [runs.entry(arm)["key"] for arm in "abc"] == ["new", "new", "old"]


def test_an_earlier_repeat_is_not_held_back_by_a_later_one(entry):
    first = [entry("a", 0.9, seed=n, key="old") for n in (1, 2, 3)]
    repeated = [entry("a", 0.7, seed=n, key="new") for n in (1, 2, 3)]
    other = [entry("b", 0.9, seed=n, key="old") for n in (1, 2, 3)]
    runs = Runs(without_begun_repeats([*first, *repeated, *other, entry("b", 0.2, key="new")]))
    assert (runs.entry("a")["key"], runs.entry("b")["key"]) == ("new", "old")


def test_an_abandoned_repeat_holds_no_later_one_back(entry):
    first = [entry(arm, 0.9, seed=n, key="old") for arm in "ab" for n in (1, 2, 3)]
    abandoned = [entry("a", 0.5, key="tried")]
    now = [entry(arm, 0.2, seed=n, key="new") for arm in "ab" for n in (1, 2, 3)]
    runs = Runs(without_begun_repeats([*first, *abandoned, *now]))
    assert [runs.entry(arm)["key"] for arm in "ab"] == ["new", "new"]


def test_a_repeat_that_began_first_is_not_held_back_by_its_later_seeds(entry):
    """B is being repeated with y, since its last x; x of A began before that, and ended later."""
    lines = [("a", "y", 2), ("a", "x", 3), ("b", "x", 2), ("b", "x", 1), ("a", "x", 1),
             ("b", "y", 1)]  # fmt: skip
    entries = [entry(arm, 0.5, seed=seed, key=key) for arm, key, seed in lines]
    assert begun_repeats(entries) == {("b", "y")}


def test_a_decoding_of_a_model_that_does_not_count_does_not_count(entry):
    model = [entry("a", 0.9, seed=n, key="old") for n in (1, 2, 3)]
    begun = entry("a", 0.2, key="new")
    decoding = entry("a.k10", 0.3) | {"setting": {"of": {"a": "new"}}}
    assert decoding not in without_begun_repeats([*model, begun, decoding])
    assert decoding in without_begun_repeats([*model[:1], begun, decoding])


def test_arms_without_translations_here_are_said_to_be_missing(entry):
    runs = Runs([entry("a", 0.9), entry("b", 0.5, keep=False)])
    assert claims.at_least(runs, "a", "c") == Part("BLEU(a) ≥ BLEU(c)", NOT_RUN, "missing: c")
    assert claims.at_least(runs, "a", "b")[1:] == (UNDECIDED, "translations were not kept")


def test_arms_that_share_no_seed_are_said_to_lack_one(entry):
    part = claims.at_least(Runs([entry("a", 0.9, seed=1), entry("b", 0.5, seed=2)]), "a", "b")
    assert part[1:] == (NOT_RUN, "missing: a seed that all arms have")


def test_files_of_runs_are_found_with_every_seed(entry, tmp_path):
    lines = [entry("a", 0.9, seed=2), entry("a", 0.9, seed=1), entry("b", 0.5)]
    runs = Runs([*lines, entry("c", 0.5, keep=False), entry("b", 0.7, key="newer")])
    found = {arm: runs.files(arm, "test.plain.hyp") for arm in "abcd"}
    expected = {"a": ("a/1-k", "a/2-k"), "b": ("b/1-newer",), "c": (), "d": ()}
    assert found == {
        arm: [tmp_path / f"work/{run}/test.plain.hyp" for run in paths]
        for arm, paths in expected.items()
    }
    assert runs.file("a", "test.plain.hyp", seed=2) == found["a"][1]
    assert runs.file("b", "test.plain.hyp", seed=2) is None


def thrice(entry, *arms):
    """Three seeds of each arm, alike."""
    return Runs([entry(arm, right, seed) for arm, right in arms for seed in (1, 2, 3)])


def test_numbers_say_difference_interval_and_seeds(entry):
    runs = thrice(entry, ("a", 0.9), ("b", 0.4))
    part = claims.at_least(runs, "a", "b")
    found = runs.difference({"a": 1, "b": -1})
    assert part.verdict == HOLDS
    assert part.numbers == (f"{found.value:+.2f} [{found.low:+.2f}, {found.high:+.2f}], 3 seeds")
    assert claims.at_least(runs, "b", "a").verdict == FAILS


def test_one_seed_is_undecided_with_its_numbers(entry):
    runs = Runs([entry("a", 0.9), entry("b", 0.1)])
    part = claims.at_least(runs, "a", "b")
    assert part.verdict == UNDECIDED
    assert part.numbers.endswith("1 seed")


def test_equal_arms_have_no_difference(entry):
    runs = thrice(entry, ("a", 0.5), ("b", 0.5))
    assert claims.at_least(runs, "a", "b").verdict == SAME
    assert claims.about_equal(runs, "a", "b").verdict == HOLDS


def test_resamples_draw_sentences_and_seeds_together(entry):
    """Some worked out by hand: BLEU of the drawn sentences, and weighted deviations of seeds."""
    right = {("a", 1): 0.9, ("a", 2): 0.6, ("b", 1): 0.5, ("b", 2): 0.7}
    runs = Runs([entry(arm, share, seed) for (arm, seed), share in right.items()])
    seen = []
    found = runs.estimate(["a", "b"], lambda score: seen.append(score("a") - score("b")) or seen[0])
    metric = BLEU(tokenize="13a", force=True)

    def scores(arm, sentences):
        return [metric.corpus_score(
            [REFERENCE if n < right[arm, seed] * SENTENCES else "no" for n in sentences],
            [[REFERENCE] * SENTENCES],
        ).score for seed in (1, 2)]  # fmt: skip

    times, weights = resampling.multiplicities(SENTENCES), resampling.seed_weights(2)
    for number in (0, 1, 2, 500, 999):
        sentences = np.repeat(np.arange(SENTENCES), times[number])
        draws = slice(number * resampling.DEVIATIONS, (number + 1) * resampling.DEVIATIONS)
        expected = {}
        for arm in "ab":
            whole = scores(arm, range(SENTENCES))
            deviations = (np.array(whole) - np.mean(whole)) @ weights[:, draws]
            expected[arm] = np.mean(scores(arm, sentences)) + deviations
        assert seen[0][1:][draws] == pytest.approx(expected["a"] - expected["b"], rel=1e-3)
    assert (found.low, found.high) == tuple(np.percentile(seen[0][1:], (2.5, 97.5)))
    assert found == runs.difference({"a": 1, "b": -1})


def test_an_arm_is_not_compared_with_itself(entry):
    """Both of its weights stand under one name, and only the last would count."""
    runs = Runs([entry("a", 0.5), entry("b", 0.5)])
    for part in (claims.at_least(runs, "a", "a"), claims.about_equal(runs, "a", "a")):
        assert part[1:] == (NOT_RUN, "the same arm on both sides")


def test_arms_that_translate_nothing_decide_nothing(entry):
    runs = Runs([entry("a", 0), entry("b", 0)])
    for part in (claims.at_least(runs, "a", "b"), claims.about_equal(runs, "a", "b")):
        assert part[1:] == (UNDECIDED, "BLEU is 0 everywhere")


def test_the_report_shows_every_inequality():
    found = [Claim(3, "a claim", [Part("x ≥ y", HOLDS, "+1.00")], any_is_enough=True)]
    lines = claims.markdown("Title", found, ["a note"])
    for line in ("# Title", "| 3. a claim | **holds** |", "- a note", "| x ≥ y | holds | +1.00 |"):
        assert line in lines
    (facts,) = claims.as_json(found)
    assert facts["verdict"] == HOLDS
    assert facts["parts"] == [{"inequality": "x ≥ y", "verdict": HOLDS, "numbers": "+1.00"}]


def test_what_was_not_run_is_listed_once():
    missing = [Part(f"a ≥ {other}", NOT_RUN, f"missing: a, {other}") for other in "bcd"]
    found = [Claim(1, "none of it", missing), Claim(2, "some of it", [Part("x", HOLDS), *missing])]
    text = "\n".join(claims.markdown("Title", found, []))
    assert text.count("none of it") == 1
    assert "| 3 more | not run | a, b, c, d |" in text
    assert "a ≥ b" not in text


def test_resamples_are_scored_once(entry, monkeypatch):
    runs = Runs([entry("a", 0.9), entry("b", 0.5), entry("c", 0.7)])
    calls = []
    of_rows = resampling.Metric.of_rows
    monkeypatch.setattr(
        resampling.Metric, "of_rows", lambda *arguments: calls.append(1) or of_rows(*arguments)
    )
    for other in ("b", "c", "b"):
        claims.at_least(runs, "a", other)
    assert len(calls) == 3


def test_bleu_without_case_is_resampled_without_case(entry, tmp_path):
    line = entry("a", 0.9, bleu_signature="case:lc")
    for path in tmp_path.rglob("*.hyp"):
        path.write_text(path.read_text().upper())
    found = Runs([line]).estimate(["a"], lambda score: score("a"))
    assert found.value == pytest.approx(line["figures"]["bleu"])


def test_an_arm_that_translates_nothing_is_worse(entry):
    runs = thrice(entry, ("a", 0.9), ("b", 0))
    assert claims.at_least(runs, "a", "b").verdict == HOLDS


def test_bleu_is_that_of_the_form(entry):
    line = entry("a", 0.5, bleu_tokenised=77.0)
    assert Runs([line], "tokenised").bleu("a") == 77.0
    for form in ("plain", None):
        assert Runs([line], form).bleu("a") == line["figures"]["bleu"]


@pytest.mark.parametrize(("spread", "verdict"), [(0.3, SAME), (0.5, UNDECIDED)])
def test_perplexities_within_one_percent_are_no_difference(spread, verdict):
    by_seed = [np.array([[100 - spread], [100.0], [100 + spread]]), np.full((3, 1), 100.0)]
    assert claims.smaller_in_percent("a < b", by_seed).verdict == verdict
