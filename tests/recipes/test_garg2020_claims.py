"""The verdicts on the claims of Garg et al. (2020)."""

import json
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from garg2020_esnmt import claims

WORDS = [f"w{number}" for number in range(20)]


def sentences(quality, count=60):
    """References of 6 to 15 words, and hypotheses that share that many of their words."""
    generator = np.random.default_rng(0)
    references, hypotheses = [], []
    for number in range(count):
        words = [str(word) for word in generator.choice(WORDS, 6 + number % 10)]
        kept = generator.random(len(words)) < quality
        hypotheses.append(" ".join(w if k else "x" for w, k in zip(words, kept, strict=True)))
        references.append(" ".join(words))
    return hypotheses, references


def run(arm, quality, seed=1):
    hypotheses, references = sentences(quality)
    statistics = claims.records.statistics_of(hypotheses, references)
    lengths = np.array([len(line.split()) for line in references])
    return claims.Run(arm, seed, statistics, lengths, Path("/nowhere"))


def test_bleu_of_summed_statistics_is_sacrebleus():
    hypotheses, references = sentences(0.8)
    expected = BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references]).score
    found = run("esnmt", 0.8)
    assert found.bleu() == pytest.approx(expected)
    half = BLEU(tokenize="none", force=True).corpus_score(hypotheses[:30], [references[:30]]).score
    assert found.bleu(np.arange(30)) == pytest.approx(half)


def claim(words):
    return next(claim for claim in claims.CLAIMS if words in claim.words)


@pytest.mark.parametrize(
    ("higher", "lower", "verdict"),
    [(0.95, 0.6, "holds"), (0.6, 0.95, "fails"), (0.8, 0.8, "undecided")],
)
def test_a_difference_is_judged_by_its_interval(higher, lower, verdict):
    tried = claim("+ attention > + embeddings")
    assert tried.arms == ("esnmt_lstm", "release_embeddings")
    runs = {name: [run(name, q)] for name, q in zip(tried.arms, (higher, lower), strict=True)}
    result = claims.try_claim(tried, runs)
    assert result["verdict"] == verdict
    low, high = result["interval"]
    assert low <= result["value"] <= high


def test_one_seed_decides_nothing_under_half_a_point():
    tried = claim("+ attention > + embeddings")
    better, worse = (run(name, 0.8) for name in tried.arms)
    better.statistics[0, :8] += 1  # better in every resample that has this sentence, by little
    assert 0 < better.bleu() - worse.bleu() < 0.5
    runs = {"esnmt_lstm": [better], "release_embeddings": [worse]}
    assert claims.try_claim(tried, runs)["verdict"] == "undecided"


def test_a_claim_without_its_arms_was_not_run():
    runs = {"esnmt": [run("esnmt", 0.8)]}
    assert {claims.try_claim(tried, runs)["verdict"] for tried in claims.CLAIMS} == {"not run"}
    assert {row["verdict"] for row in claims.radius_claims({})} == {"not run"}


@pytest.mark.parametrize("qualities", [(0.0, 0.0), (0.8, 0.0)])
@pytest.mark.parametrize("number", "123456")
def test_a_share_of_a_bleu_of_0_decides_nothing(number, qualities):
    tried = next(claim for claim in claims.CLAIMS if claim.number == number)
    runs = {arm: [run(arm, q)] for arm, q in zip(tried.arms, qualities, strict=True)}
    result = claims.try_claim(tried, runs)
    if qualities == (0.0, 0.0):
        assert result["verdict"] == "undecided"
    if number in "16":
        assert result["why"] == "divides by a BLEU of 0 on 1001 of 1001 test sets"
        assert f"| undecided: {result['why']} | - | - | 1 |" in claims.markdown([result])
    json.dumps(result, allow_nan=False)


def test_seeds_are_paired():
    tried = claim("+ attention > + embeddings")
    runs = {
        "esnmt_lstm": [run("esnmt_lstm", 0.9, seed) for seed in (1, 2)],
        "release_embeddings": [run("release_embeddings", 0.6, seed) for seed in (2, 3)],
    }
    assert claims.try_claim(tried, runs)["seeds"] == 1


def test_seeds_that_disagree_decide_nothing():
    tried = claim("+ attention > + embeddings")
    runs = {
        "esnmt_lstm": [run("esnmt_lstm", quality, seed) for seed, quality in ((1, 0.7), (2, 0.99))],
        "release_embeddings": [run("release_embeddings", 0.7, seed) for seed in (1, 2)],
    }
    assert claims.try_claim(tried, runs)["verdict"] == "undecided"
    second = {arm: found[1:] for arm, found in runs.items()}
    assert claims.try_claim(tried, second)["verdict"] == "holds"


def with_radii(seed, slopes, noise=0.0):
    """A run whose radii rise by so much a layer in each direction."""
    random = np.random.default_rng(seed)
    found = run("esnmt", 0.8, seed)
    for side, gain in zip(claims.SIDES, slopes, strict=True):
        for layer in range(3):
            radius = 0.5 + gain * layer + noise * random.standard_normal()
            found.echo[f"radius_{side}_{layer}"] = radius
    return found


def radius_result(runs):
    return next(
        row for row in claims.radius_claims({"esnmt": runs}) if row["words"].endswith(" esnmt")
    )


@pytest.mark.parametrize(
    ("slopes", "verdict"),
    [
        ([[0.2, 0.3, 0.1], [0.2, 0.1, 0.3], [0.3, 0.2, 0.1]], "holds"),
        ([[-0.2, -0.3, -0.1], [-0.2, -0.1, -0.3]], "fails"),
        ([[0.3, -0.3, 0.1], [0.2, -0.2, 0.0], [-0.1, 0.2, -0.1]], "undecided"),
        ([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "undecided"),
        ([[0.2, 0.3, 0.1]], "undecided"),  # one seed
    ],
)
def test_claim_7_is_decided_by_all_layers_directions_and_seeds(slopes, verdict):
    result = radius_result([with_radii(seed, found) for seed, found in enumerate(slopes)])
    assert result["verdict"] == verdict
    assert result["value"] == pytest.approx(np.mean(slopes), abs=1e-4)
    low, high = result["interval"]
    assert np.min(slopes) - 1e-4 <= low <= result["value"] <= high <= np.max(slopes) + 1e-4
    assert result["seeds"] == len(slopes)


def test_the_gain_per_layer_is_that_of_a_straight_line():
    assert claims.slope([1.0, 1.5, 2.0, 2.5]) == pytest.approx(0.5)
    assert claims.slope([0.0, 3.0, 0.0]) == pytest.approx(0.0)
    # By hand: sum (x - 1) (y - mean y) / 2 over the layers 0, 1, 2.
    assert claims.slope([0.7, 0.5, 1.8]) == pytest.approx((1.8 - 0.7) / 2)


def test_radii_come_from_the_ledger_when_the_log_is_elsewhere():
    found = with_radii(1, [0.1, 0.2, 0.3])
    assert found.radii("decoder") == pytest.approx([0.5, 0.8, 1.1])


def test_radii_are_read_layer_by_layer_from_the_log(tmp_path):
    line = '2026-01-31 10:00:00 | INFO | train_inner | {{"num_updates": "{}", {}}}\n'
    radii = '"radius_decoder_0": "{}", "radius_decoder_1": "{}"'
    text = "".join(line.format(n, radii.format(1 - n / 10, 1 + n / 10)) for n in (1, 2))
    (tmp_path / "train.log").write_text(text)
    found = run("esnmt", 0.8)
    found.folder = tmp_path
    assert found.radii("decoder") == [0.8, 1.2]
    assert found.curve("radius_decoder_0") == ([1, 2], [0.9, 0.8])
    assert found.radii("encoder_forward") == []
