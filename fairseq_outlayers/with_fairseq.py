"""Importing this module patches fairseq and registers all parts of the package.

For a ``--user-dir``, fairseq itself imports only ``models/`` and ``tasks/``, not criterions,
optimizers and learning-rate schedules.
"""

from fairseq_outlayers import patches

patches.apply()  # before the imports below, which look up fairseq's functions

from fairseq_outlayers import criterions, models, tasks  # noqa: E402
from fairseq_outlayers.extensions import import_installed_modules  # noqa: E402
from fairseq_outlayers.optim import lazy_adam, shrink_after_rise  # noqa: E402

import_installed_modules()

__all__ = ["criterions", "lazy_adam", "models", "shrink_after_rise", "tasks"]
