"""Optimizers and learning-rate schedules; importing a module here registers it with fairseq."""

from fairseq_outlayers.optim import lazy_adam, shrink_after_rise

__all__ = ["lazy_adam", "shrink_after_rise"]
