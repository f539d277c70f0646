"""METEOR over groups of words, against its formula with numbers counted by hand."""

import pytest

from fairseq_outlayers.analysis.meteor import PARAMETERS, MatchStatistics, MeteorParameters

# Capital letters are group 0, all others group 1.
HYPOTHESES = ["A B c d", "A A e"]
REFERENCES = ["A B c x y", "e A f g"]
# Matches: A B c | A e. Chunks: "A B c" | "A", "e".
CHUNKS, MATCHES = 3, 5


def statistics(hypotheses=HYPOTHESES, references=REFERENCES):
    return MatchStatistics(
        [line.split() for line in hypotheses],
        [line.split() for line in references],
        lambda word: int(not word.isupper()),
    )


@pytest.mark.parametrize("language", sorted(PARAMETERS))
def test_precision_and_recall_are_restricted_to_the_group_and_chunks_are_not(language):
    alpha, beta, gamma, delta = PARAMETERS[language]
    assert delta == 0
    counts = {0: (3, 4, 3), 1: (2, 3, 6), None: (5, 7, 9)}  # matches, hypothesis, reference
    for group, (matches, hypothesis, reference) in counts.items():
        scores = statistics().scores(PARAMETERS[language], group)
        assert scores[:3] == (reference, hypothesis, matches)
        precision, recall = matches / hypothesis, matches / reference
        mean = 1 / (alpha / recall + (1 - alpha) / precision)
        assert scores.precision == pytest.approx(precision, rel=1e-12)
        assert scores.recall == pytest.approx(recall, rel=1e-12)
        assert scores.f1 == pytest.approx(2 * matches / (hypothesis + reference), rel=1e-12)
        penalty = gamma * (CHUNKS / MATCHES) ** beta
        assert scores.meteor == pytest.approx(mean * (1 - penalty), rel=1e-12)


def test_the_parameters_are_those_of_the_paper():
    assert PARAMETERS["en"] == (0.85, 0.2, 0.6, 0)
    assert PARAMETERS["de"] == (0.95, 1, 0.55, 0)


def test_delta_is_the_weight_of_the_words_outside_the_group():
    alpha, delta = 0.3, 0.25
    scores = statistics().scores(MeteorParameters(alpha, 1.0, 0.0, delta), group=0)
    matches = 0.75 * 3 + 0.25 * 2
    precision, recall = matches / (0.75 * 4 + 0.25 * 3), matches / (0.75 * 3 + 0.25 * 6)
    expected = 1 / (alpha / recall + (1 - alpha) / precision)
    assert scores.meteor == pytest.approx(expected, rel=1e-12)
    assert scores.precision == 3 / 4  # plain figures have no weights


def test_the_corpus_is_scored_by_sums_and_not_by_a_mean_over_sentences():
    parameters = PARAMETERS["de"]
    both = statistics().scores(parameters).meteor
    alone = [statistics([h], [r]).scores(parameters).meteor
             for h, r in zip(HYPOTHESES, REFERENCES, strict=True)]  # fmt: skip
    assert both != pytest.approx(sum(alone) / 2, abs=1e-3)
    one_line = statistics([" | ".join(HYPOTHESES)], [" || ".join(REFERENCES)])
    assert one_line.chunks == CHUNKS


def test_nothing_to_find_and_nothing_found_are_told_apart():
    parameters = PARAMETERS["en"]
    absent = statistics(["a"], ["a b"]).scores(parameters, 0)
    assert absent == (0, 0, 0, None, None, None, None)
    missed = statistics(["a"], ["A b"]).scores(parameters, 0)
    assert missed == (1, 0, 0, None, 0, 0, 0)
    invented = statistics(["A"], ["a b"]).scores(parameters, 0)
    assert invented == (0, 1, 0, 0, None, 0, 0)
