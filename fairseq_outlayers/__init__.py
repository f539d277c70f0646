"""Output layers for fairseq: ``fairseq-train DATA --user-dir fairseq_outlayers --arch ...``.

Importing the package registers everything in it and mends what fairseq needs mended on today's
PyTorch and Python. fairseq itself would import ``models/`` and ``tasks/`` of a ``--user-dir``, but
neither criterions nor optimizers and learning-rate schedules.
"""

import sys

__version__ = "0.1.0"


def register() -> None:
    """Patch fairseq, and register models, criterions, optimizers and tasks; once is enough."""
    from fairseq_outlayers import patches

    patches.apply()  # first: the patches must be in place when fairseq's parts are looked up
    from fairseq_outlayers import criterions, models, optim, tasks  # noqa: F401


# `python -m fairseq_outlayers` registers when its command needs it, so that its help is quick.
if sys.orig_argv[1:3] != ["-m", __name__] and "-m" not in sys.argv[:1]:
    register()
