"""Optimizers and learning-rate schedules.

``row_adam``, ``row_gradients`` and ``tables`` need no fairseq.
"""
