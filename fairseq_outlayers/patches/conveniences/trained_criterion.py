"""Refuse another ``--criterion`` for ``fairseq-validate`` than that of the checkpoint.

It builds the criterion from the checkpoint (fairseq_cli/validate.py, ``main``) and ignores the one
of its command line, so the figures would be those of another loss.
"""

from typing import Any, Callable

from fairseq import checkpoint_utils

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(checkpoint_utils, "load_model_ensemble_and_task")
def _refuse_other_criterion(
    stock: Callable[..., Any], filenames: Any, arg_overrides: Any = None, *more: Any, **options: Any
) -> Any:
    models, cfg, task = stock(filenames, arg_overrides, *more, **options)
    given = (arg_overrides or {}).get("criterion")
    trained = getattr(cfg.criterion, "_name", None)
    if isinstance(given, str) and trained is not None and given != trained:
        raise UserError(
            f"--criterion {given}: {filenames[0]} was trained with {trained}, and is validated "
            "with that: leave --criterion out"
        )
    return models, cfg, task
