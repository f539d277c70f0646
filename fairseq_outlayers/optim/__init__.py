"""Optimizers and learning-rate schedules; ``row_adam`` and ``row_gradients`` need no fairseq."""
