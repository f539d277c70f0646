"""Output layers for fairseq: ``fairseq-train DATA --user-dir fairseq_outlayers --arch ...``.

Importing the package registers everything in it and applies its patches to fairseq. fairseq itself
would import ``models/`` and ``tasks/`` of a ``--user-dir``, but neither criterions nor optimizers
and learning-rate schedules.
"""

from fairseq_outlayers import patches

patches.apply()  # before the rest: the patches must be in place when fairseq's parts are looked up

from fairseq_outlayers import criterions, models, optim, tasks  # noqa: E402

__version__ = "0.1.0"
__all__ = ["criterions", "models", "optim", "tasks"]
