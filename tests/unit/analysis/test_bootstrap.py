"""Intervals of BLEU, against sacreBLEU on every resampled text."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from fairseq_outlayers.analysis.bootstrap import SEED, bleu_intervals

REFERENCES = ["the cat sat on the mat", "a dog ran", "it rains again in the north today", "so"]
ONE = ["the cat sat on a mat", "a dog runs", "it rains today in the north", "so"]
TWO = ["a cat sat", "a dog ran", "it rains again in the south today", "no"]


def naive(systems, references, metric, resamples):
    """Score whole texts, sentence by sentence as they were drawn."""
    random = np.random.RandomState(SEED)
    drawn = random.randint(len(references), size=(resamples, len(references)))
    scores = []
    for row in drawn:
        texts = [references[k] for k in row]
        scores.append([metric.corpus_score([s[k] for k in row], [texts]).score for s in systems])
    return np.array(scores)


@pytest.mark.parametrize("tokenizer", ["none", "char"])
def test_intervals_are_percentiles_of_the_scores_of_resampled_texts(tokenizer):
    metric = BLEU(tokenize=tokenizer, force=True)
    found = bleu_intervals([ONE, TWO], REFERENCES, metric, resamples=60)
    scores = naive([ONE, TWO], REFERENCES, metric, 60)
    wholes = [metric.corpus_score(system, [REFERENCES]).score for system in (ONE, TWO)]
    for interval, whole, column in zip(found.systems, wholes, scores.T, strict=True):
        assert interval == pytest.approx((whole, *np.percentile(column, (2.5, 97.5))), abs=1e-9)
    differences = np.percentile(scores[:, 1] - scores[:, 0], (2.5, 97.5))
    assert found.difference == pytest.approx((wholes[1] - wholes[0], *differences), abs=1e-9)


def test_equal_systems_differ_by_nothing_in_every_resample():
    found = bleu_intervals([ONE, ONE], REFERENCES, BLEU(tokenize="none", force=True))
    assert found.difference == (0, 0, 0)


def test_one_system_has_no_difference():
    assert bleu_intervals([ONE], REFERENCES, BLEU(force=True), 10).difference is None
