"""Recall and BLEU by how often training has seen the words, from counts kept beside the ledger."""

import pytest
from sacrebleu.metrics import BLEU

from recipes.jean2015_large_vocabulary import rare_words
from recipes.lab.scores.resampling import bleu
from tests.recipes.metrics import resampled

TRAINING = "often " * 100 + "some " * 10 + "rare\n"
REFERENCES = ["often some rare often", "often often some some", "often never often some"] * 4
HYPOTHESES = ["often some some often", "often some often", "often never rare some"] * 4


@pytest.fixture
def bins(tmp_path):
    training, references = tmp_path / "train", tmp_path / "test"
    training.write_text(TRAINING)
    references.write_text("\n".join(REFERENCES) + "\n")
    found = rare_words.counts(tmp_path, training, references)
    assert found == {"often": 100, "some": 10, "rare": 1, "never": 0}
    training.unlink()
    # Only the first time are the texts needed.
    assert rare_words.counts(tmp_path, training, references) == found
    assert rare_words.counts(tmp_path / "elsewhere", training, references) == {}
    return rare_words.bins_of(found)


def test_recall_counts_each_word_of_the_reference_once(bins):
    found = [resampled(metric, HYPOTHESES, REFERENCES)[0] for metric in rare_words.recall(bins)]
    # By hand: 2 of 2, 2 of 2, 1 of 2 often; 1 of 1, 1 of 2, 1 of 1 some; no rare; every never.
    assert found == pytest.approx([100 * 5 / 6, 75.0, 0.0, 100.0])


def test_bleu_by_the_rarest_word_is_that_of_the_sentences_that_have_it(bins):
    metrics = rare_words.of_rarest(bleu(tokenised=True), bins)
    for group, start in ((1, 1), (2, 0), (3, 2)):
        texts = HYPOTHESES[start::3], [REFERENCES[start::3]]
        expected = BLEU(tokenize="none", force=True).corpus_score(*texts).score
        assert resampled(metrics[group], HYPOTHESES, REFERENCES)[0] == pytest.approx(expected)
    assert resampled(metrics[0], HYPOTHESES, REFERENCES)[0] == 0  # no sentence
