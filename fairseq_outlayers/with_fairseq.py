"""Importing this registers every part of the package with fairseq, and patches fairseq.

fairseq itself would import ``models/`` and ``tasks/`` of a ``--user-dir``, but neither criterions
nor optimizers and learning-rate schedules.
"""

from fairseq_outlayers import patches

patches.apply()  # before the rest: the patches must be in place when fairseq's parts are looked up

from fairseq_outlayers import criterions, models, tasks  # noqa: E402
from fairseq_outlayers.optim import lazy_adam, shrink_after_rise  # noqa: E402

__all__ = ["criterions", "lazy_adam", "models", "shrink_after_rise", "tasks"]
