"""Learning-rate schedules; importing a module here registers it with fairseq."""

from fairseq_outlayers.optim import shrink_after_rise

__all__ = ["shrink_after_rise"]
