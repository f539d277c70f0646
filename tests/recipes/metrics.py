"""Metrics of texts."""


def resampled(metric, hypotheses, references):
    """Scores of a whole test set, then of its resamples, ``(1 + RESAMPLES,)``."""
    return metric.of_rows(metric.statistics(hypotheses, references))
