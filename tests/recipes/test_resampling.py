"""Resampled BLEU is the BLEU of the sentences drawn, and the interval holds 95% of it."""

import json
import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from scipy import stats

from fairseq_outlayers.analysis import bootstrap
from recipes.lab import ledger
from recipes.lab.repeats import without_begun_repeats
from recipes.lab.runs import Runs
from recipes.lab.scores import resampling, scoring, sentence_scores
from tests.recipes.metrics import resampled

SENTENCES = 30


def corpus(seed, wrong):
    """References, and hypotheses in which the given share of the words is wrong."""
    draw = random.Random(0)
    references = [
        " ".join(draw.choices("abcdefgh", k=draw.randint(3, 9))) for _ in range(SENTENCES)
    ]
    draw = random.Random(seed)
    hypotheses = [
        " ".join("wrong" if draw.random() < wrong else word for word in line.split())
        for line in references
    ]
    hypotheses[3] = ""  # a translation can be empty
    return references, hypotheses


@pytest.mark.parametrize(("tokenised", "lowercase"), [(True, False), (False, True)])
def test_a_resample_scores_like_the_sentences_it_drew(tokenised, lowercase):
    references, hypotheses = corpus(1, 0.3)
    metric = scoring.bleu_metric(tokenised, lowercase)
    found = resampled(resampling.bleu(tokenised, lowercase), hypotheses, references)
    assert found.shape == (1 + resampling.RESAMPLES,)
    assert found[0] == metric.corpus_score(hypotheses, [references]).score
    times = resampling.multiplicities(SENTENCES)
    for number in (0, 1, 500, 999):
        drawn = np.repeat(np.arange(SENTENCES), times[number])
        chosen = [[lines[index] for index in drawn] for lines in (hypotheses, references)]
        assert found[1 + number] == metric.corpus_score(chosen[0], [chosen[1]]).score


def test_without_brevity_penalty_short_translations_lose_only_their_words():
    references, hypotheses = corpus(1, 0.3)
    short = [" ".join(line.split()[:-1]) for line in hypotheses]
    plain = resampling.without_brevity_penalty(resampling.bleu(tokenised=True))
    expected = scoring.bleu_metric(True, False).corpus_score(short, [references])
    assert expected.bp < 0.9
    found = resampled(plain, short, references)
    assert found[0] == pytest.approx(expected.score / expected.bp)
    longer = [f"{line} more words" for line in hypotheses]
    usual = resampled(resampling.bleu(tokenised=True), longer, references)
    assert (resampled(plain, longer, references) == usual).all()


def test_every_resample_is_as_large_as_the_test_set_and_always_the_same():
    times = resampling.multiplicities(SENTENCES)
    assert set(times.sum(axis=1)) == {SENTENCES}
    assert (times == resampling.multiplicities(SENTENCES)).all()
    assert len({tuple(row) for row in times}) == resampling.RESAMPLES


def test_the_draws_are_made_once_and_cannot_be_changed():
    times = resampling.multiplicities(SENTENCES)
    assert resampling.multiplicities(SENTENCES) is times
    with pytest.raises(ValueError, match="read-only"):
        times[0] = 0


def test_the_interval_leaves_out_a_fortieth_at_either_end():
    found = resampling.estimate(np.array([7.0, *(np.arange(1001)[::-1] / 10)]), 2)
    assert found == pytest.approx((7.0, 2.5, 97.5, 2))
    assert found.text() == "+7.00 [+2.50, +97.50], 2 seeds"


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution():
    # Every sentence is one word, right or wrong; with unigrams alone BLEU is the share of right
    # ones, so the resamples are binomial with a standard deviation of sqrt(p (1 - p) / n).
    metric = BLEU(tokenize="none", max_ngram_order=1, force=True)
    sentences, right = 400, 0.3
    hypotheses = ["a" if number < right * sentences else "b" for number in range(sentences)]
    unigrams = resampling.Metric(
        "unigrams",
        "tokenised",
        lambda hypotheses, references: bootstrap.sentence_statistics(
            hypotheses, references, metric
        ),
        lambda sums: bootstrap.bleu_of(sums, metric),
    )
    found = resampling.estimate(resampled(unigrams, hypotheses, ["a"] * sentences), 1)
    half = 1.96 * 100 * (right * (1 - right) / sentences) ** 0.5
    # A percentile of 1,000 resamples is itself off by a tenth of the half width or so.
    assert (found.low, found.high) == pytest.approx((30 - half, 30 + half), abs=half / 5)


def test_differences_are_paired():
    references, first = corpus(1, 0.3)
    better = list(first)
    better[5] = references[5]  # never worse than the first, whatever is drawn
    metric = resampling.bleu(tokenised=True)
    scores = [resampled(metric, lines, references) for lines in (first, better)]
    found = resampling.estimate(scores[1] - scores[0], 1)
    assert found.value > 0
    assert found.low >= 0


def test_bleu_of_short_sentences_is_that_of_the_short_sentences_drawn():
    references, hypotheses = corpus(1, 0.3)
    metric = BLEU(tokenize="none", force=True)
    found = resampling.of_lengths(resampling.bleu(tokenised=True), 4, 7)
    short = np.array([4 <= len(line.split()) < 7 for line in references])
    times = [np.ones(SENTENCES, dtype=int), *resampling.multiplicities(SENTENCES)]
    values = resampled(found, hypotheses, references)
    for number in (0, 1, 500, 1000):
        drawn = np.repeat(np.arange(SENTENCES), times[number] * short)
        chosen = [[lines[index] for index in drawn] for lines in (hypotheses, references)]
        assert values[number] == metric.corpus_score(chosen[0], [chosen[1]]).score


@pytest.mark.parametrize(
    ("of_seeds", "of_sentences", "of_both"),
    [(1, 0, 0), (0.1, 3, 0), (0.1, 3, 3)],
    ids=["seeds differ", "sentences", "sentences, differently for each seed"],
)
def test_the_interval_over_three_seeds_and_the_sentences_holds_the_truth(
    of_seeds, of_sentences, of_both
):
    """In about 93 to 99% of experiments; given are the deviations of three kinds of noise."""
    trials, sentences = 400, 100
    draw = np.random.default_rng(1)
    times = resampling.multiplicities(sentences)
    held = 0
    for _ in range(trials):
        rows = draw.normal(0, of_seeds, (3, 1)) + draw.normal(0, of_sentences, sentences)
        rows = rows + draw.normal(0, of_both, (3, sentences))
        values = np.concatenate([rows.mean(1)[:, None], rows @ times.T / sentences], axis=1)
        found = resampling.estimate(resampling.over_seeds(values), 3)
        held += found.low <= 0 <= found.high
    assert 0.93 <= held / trials < 0.995


def test_a_ratio_of_perplexities_has_students_interval_of_its_logarithm_by_seed():
    one, other = np.array([[19.5], [11.0], [14.0]]), np.array([[20.0], [16.0], [15.5]])
    found = resampling.percent_saved(one, other)
    logs = np.log(one / other)[:, 0]
    half = stats.t.ppf(0.975, 2) * logs.std(ddof=1) / np.sqrt(3)
    ends = (100 * (1 - np.exp(logs.mean() + side * half)) for side in (1, -1))
    assert found.value == pytest.approx(100 * (1 - np.exp(logs.mean())))
    # Percentiles of draws: within a few percent of the width.
    assert (found.low, found.high) == pytest.approx(tuple(ends), rel=0.03)
    assert found.seeds == 3


def test_with_six_seeds_the_interval_is_that_of_a_second_look():
    """At 97.06% (two-sided): Student's t with five degrees of freedom."""
    values = np.array([[3.0], [4.5], [5.0], [2.0], [4.0], [6.5]])
    found = resampling.estimate(resampling.over_seeds(values), 6)
    half = stats.t.ppf(0.9853, 5) * values.std(ddof=1) / np.sqrt(6)
    assert found.value == pytest.approx(values.mean())
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.02)
    assert [resampling.confidence(seeds) for seeds in (1, 3, 4, 6)] == [95, 95, 97.06, 97.06]


@pytest.mark.parametrize(("seeds", "share"), [(3, 0.95), (6, 0.9706)])
def test_the_interval_of_unpaired_seeds_is_welchs(seeds, share):
    draw = np.random.default_rng(1)
    for _ in range(20):
        one, other = draw.normal(3, 2, (seeds, 1)), draw.normal(2, 0.5, (seeds, 1))
        found = resampling.estimate(resampling.over_unpaired_seeds([one, -other]), seeds)
        test = stats.ttest_ind(one[:, 0], other[:, 0], equal_var=False)
        low, high = test.confidence_interval(share)
        assert found.value == pytest.approx(one.mean() - other.mean())
        within = 0.02 * (high - low)
        assert (found.low, found.high) == pytest.approx((low, high), abs=within)


def test_unpaired_seeds_of_perplexities_have_welchs_interval_of_their_logarithms():
    one, other = np.array([[19.5], [11.0], [14.0]]), np.array([[20.0], [16.0], [15.5]])
    found = resampling.percent_saved_unpaired(one, other)
    logs = np.log(one[:, 0]), np.log(other[:, 0])
    ends = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    expected = [100 * (1 - np.exp(end)) for end in (ends.high, ends.low)]
    assert (found.low, found.high) == pytest.approx(expected, rel=0.03)
    assert found.value == pytest.approx(resampling.percent_saved(one, other).value)


def test_sentences_stay_paired_where_seeds_are_not():
    resamples = np.random.RandomState(1).normal(size=1 + resampling.RESAMPLES)
    level = np.array([[1.0], [2.0], [3.0]]) + resamples - resamples[0]
    found = resampling.estimate(resampling.over_unpaired_seeds([level, -level]), 3)
    freedom, of_both = 4, np.sqrt(2 / 3)
    half = stats.t.ppf(0.975, freedom) * of_both
    assert (found.low, found.high) == pytest.approx((-half, half), rel=0.02)
    alone = resampling.over_unpaired_seeds([level[:1], -level[:1]])
    assert not alone.any()


def test_bleu_of_unpaired_seeds_varies_with_the_seeds_of_both_arms():
    lines = [{"arm": arm, "seed": seed, "key": "k", "command": "", "figures": {}}
             for arm in "ab" for seed in (1, 2, 3)]  # fmt: skip
    runs, above = Runs(lines), {"a": 1.0, "b": 0.0}
    runs._resampled = lambda arm, seed, metric=None: np.full(
        1 + resampling.RESAMPLES, 20.0 + seed + above[arm]
    )
    weights = {"a": 1, "b": -1}
    assert runs.difference(weights)[:3] == pytest.approx((1, 1, 1))
    half = stats.t.ppf(0.975, 4) * np.sqrt(2 / 3)
    found = runs.unpaired_difference(weights)
    assert found[:3] == pytest.approx((1, 1 - half, 1 + half), rel=0.03)
    assert runs.unpaired_difference({"a": 1, "c": -1}) is None


def test_it_does_not_matter_which_perplexity_is_the_baseline():
    one, other = np.array([[19.5], [11.0], [14.0]]), np.array([[20.0], [16.0], [15.5]])
    there, back = resampling.percent_saved(one, other), resampling.percent_saved(other, one)
    kept = [1 - saved / 100 for saved in (there.value, there.high, there.low)]
    assert [1 / k for k in kept] == pytest.approx([1 - s / 100 for s in back[:3]], rel=1e-3)


def test_a_ratio_is_resampled_over_sentences_in_pairs():
    common = np.exp(np.random.RandomState(1).normal(size=(2, 1 + resampling.RESAMPLES)) / 10)
    found = resampling.percent_saved(90 * common, 100 * common)
    assert found[:3] == pytest.approx((10, 10, 10))


def test_two_looks_decide_seven_percent_of_the_rows_without_a_difference():
    """At three seeds and at six, as the comment at CONFIDENCE_OF_SECOND_LOOK says."""
    values = np.random.default_rng(1).normal(size=(200_000, 6))
    decided = np.zeros(len(values), dtype=bool)
    for seeds in (3, 6):
        found = values[:, :seeds]
        share = 0.5 + resampling.confidence(seeds) / 200
        half = stats.t.ppf(share, seeds - 1) * found.std(axis=1, ddof=1) / seeds**0.5
        decided |= abs(found.mean(axis=1)) > half
    assert decided.mean() == pytest.approx(0.071, abs=0.003)


@pytest.mark.parametrize(
    ("seeds", "words"),
    [((1, 3), "95%"), ((3, 6), "95% (97% with more than 3 seeds)"), ((), "95%")],
)
def test_the_confidence_is_named_by_the_numbers_of_seeds(seeds, words):
    assert resampling.confidence_in_words(seeds) == words


def test_stored_intervals_of_perplexities_are_those_of_the_stored_scores():
    """Worked out without draws: Student's t over seeds, a normal error of the sentences."""
    folder = ledger.ROOT / "results" / "assylbekov2018"
    runs = Runs(without_begun_repeats(ledger.read(folder / "ledger.jsonl")))
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    decided = [row for row in rows if row["found"][3] >= resampling.SEEDS_NEEDED]
    assert len(decided) > 10
    for row in decided:
        one, other = row["arms"]
        seeds = runs.seeds([one, other])
        first, second = (
            np.stack([sentence_scores.find(runs.entry(arm, s)) for s in seeds])
            for arm in (one, other)
        )
        words, more = first[0, :, 1], first[:, :, 0] - second[:, :, 0]
        logs = more.sum(1) / words.sum()
        share = 0.5 + resampling.confidence(len(seeds)) / 200
        of_seeds = stats.t.ppf(share, len(seeds) - 1) * logs.std(ddof=1) / len(seeds) ** 0.5
        error = len(words) ** 0.5 * (more.mean(0) - logs.mean() * words).std() / words.sum()
        half = np.hypot(of_seeds, stats.norm.ppf(share) * error)
        ends = [100 * (1 - np.exp(logs.mean() + side * half)) for side in (0, 1, -1)]
        assert row["found"][:3] == pytest.approx(ends, abs=0.08 * (ends[2] - ends[1])), one


@pytest.mark.parametrize("seeds", [3, 6])
def test_a_ratio_has_the_errors_of_seeds_and_of_sentences(seeds):
    """In quadrature: Student's t over the seeds' log ratios, a normal error of the sentences."""
    generator = np.random.default_rng(1)
    of_sentences = generator.normal(scale=0.03, size=resampling.RESAMPLES)
    of_seeds = generator.normal(scale=0.02, size=seeds)
    of_seeds -= of_seeds.mean()
    one = 30 * np.exp(of_seeds[:, None] + np.concatenate([[0.0], of_sentences]))
    found = resampling.estimate(
        resampling.ratio_over_seeds(one, np.full((seeds, 1 + resampling.RESAMPLES), 40.0)), seeds
    )
    share = 0.5 + resampling.confidence(seeds) / 200
    half = np.hypot(
        stats.t.ppf(share, seeds - 1) * of_seeds.std(ddof=1) / seeds**0.5,
        stats.norm.ppf(share) * of_sentences.std(),
    )
    expected = [0.75 * np.exp(side * half + of_sentences.mean() * abs(side)) for side in (0, -1, 1)]
    assert found[:3] == pytest.approx(expected, abs=0.08 * (expected[2] - expected[1]))
