"""The verdicts on the claims of Garg et al. (2020)."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "garg2020_esnmt"
WORDS = [f"w{number}" for number in range(20)]


@pytest.fixture(scope="module")
def claims():
    """The recipe's script, which imports its neighbours by name."""
    sys.path.insert(0, str(RECIPE))
    specification = importlib.util.spec_from_file_location("garg2020_claims", RECIPE / "claims.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["garg2020_claims"] = module
    specification.loader.exec_module(module)
    yield module
    sys.path.remove(str(RECIPE))
    del sys.modules["garg2020_claims"]


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


def run(claims, arm, quality, seed=1):
    hypotheses, references = sentences(quality)
    statistics = claims.records.statistics_of(hypotheses, references)
    lengths = np.array([len(line.split()) for line in references])
    return claims.Run(arm, seed, statistics, lengths, Path("/nowhere"))


def test_bleu_of_summed_statistics_is_sacrebleus(claims):
    hypotheses, references = sentences(0.8)
    expected = BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references]).score
    found = run(claims, "esnmt", 0.8)
    assert found.bleu() == pytest.approx(expected)
    half = BLEU(tokenize="none", force=True).corpus_score(hypotheses[:30], [references[:30]]).score
    assert found.bleu(np.arange(30)) == pytest.approx(half)


def claim(claims, words):
    return next(claim for claim in claims.CLAIMS if words in claim.words)


@pytest.mark.parametrize(
    ("higher", "lower", "verdict"),
    [(0.95, 0.6, "holds"), (0.6, 0.95, "fails"), (0.8, 0.8, "undecided")],
)
def test_a_difference_is_judged_by_its_interval(claims, higher, lower, verdict):
    tried = claim(claims, "+ attention > + embeddings")
    assert tried.arms == ("esnmt_lstm", "release_embeddings")
    runs = {
        name: [run(claims, name, q)] for name, q in zip(tried.arms, (higher, lower), strict=True)
    }
    result = claims.try_claim(tried, runs)
    assert result["verdict"] == verdict
    low, high = result["interval"]
    assert low <= result["value"] <= high


def test_one_seed_decides_nothing_under_half_a_point(claims):
    tried = claim(claims, "+ attention > + embeddings")
    better, worse = (run(claims, name, 0.8) for name in tried.arms)
    better.statistics[0, :8] += 1  # better in every resample that has this sentence, by little
    assert 0 < better.bleu() - worse.bleu() < 0.5
    runs = {"esnmt_lstm": [better], "release_embeddings": [worse]}
    assert claims.try_claim(tried, runs)["verdict"] == "undecided"


def test_a_claim_without_its_arms_was_not_run(claims):
    runs = {"esnmt": [run(claims, "esnmt", 0.8)]}
    assert {claims.try_claim(tried, runs)["verdict"] for tried in claims.CLAIMS} == {"not run"}
    assert {row["verdict"] for row in claims.radius_claims({})} == {"not run"}


def test_seeds_are_paired(claims):
    tried = claim(claims, "+ attention > + embeddings")
    runs = {
        "esnmt_lstm": [run(claims, "esnmt_lstm", 0.9, seed) for seed in (1, 2)],
        "release_embeddings": [run(claims, "release_embeddings", 0.6, seed) for seed in (2, 3)],
    }
    assert claims.try_claim(tried, runs)["seeds"] == 1


def test_rank_correlation_is_one_for_radii_that_rise(claims):
    assert claims.rank_correlation([0.5, 0.7, 1.8]) == pytest.approx(1)
    assert claims.rank_correlation([1.8, 0.7, 0.5]) == pytest.approx(-1)


def test_radii_are_read_layer_by_layer_from_the_log(claims, tmp_path):
    line = '2026-01-31 10:00:00 | INFO | train_inner | {{"num_updates": "{}", {}}}\n'
    radii = '"radius_decoder_0": "{}", "radius_decoder_1": "{}"'
    text = "".join(line.format(n, radii.format(1 - n / 10, 1 + n / 10)) for n in (1, 2))
    (tmp_path / "train.log").write_text(text)
    found = run(claims, "esnmt", 0.8)
    found.folder = tmp_path
    assert found.radii("decoder") == [0.8, 1.2]
    assert found.curve("radius_decoder_0") == ([1, 2], [0.9, 0.8])
    assert found.radii("encoder_forward") == []
