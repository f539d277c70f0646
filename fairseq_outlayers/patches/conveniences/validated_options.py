"""Refuse options of ``fairseq-validate`` that the checkpoint's options leave without effect.

It builds criterion and task from the checkpoint (fairseq_cli/validate.py, ``main``). Another
criterion of its command line is ignored, so the figures would be those of another loss. So are
options of the search that the task of the training does not have; others are read only with
``--eval-bleu``, which the checkpoint may have.
"""

from typing import Any, Callable, Mapping

from fairseq import checkpoint_utils

from fairseq_outlayers.errors import UserError, changes_nothing
from fairseq_outlayers.patches.replacing import replaces
from fairseq_outlayers.stock.unused_options import ADD_OR_LEAVE_OUT


@replaces(checkpoint_utils, "load_model_ensemble_and_task")
def _refuse_ignored(
    stock: Callable[..., Any], filenames: Any, arg_overrides: Any = None, *more: Any, **options: Any
) -> Any:
    models, cfg, task = stock(filenames, arg_overrides, *more, **options)
    given = arg_overrides or {}
    _check_criterion(filenames[0], given, cfg)
    _check_search(given, cfg.task)
    return models, cfg, task


def _check_criterion(path: str, given: Mapping[str, Any], cfg: Any) -> None:
    criterion = given.get("criterion")
    trained = getattr(cfg.criterion, "_name", None)
    if isinstance(criterion, str) and trained is not None and criterion != trained:
        raise UserError(
            f"--criterion {criterion}: {path} was trained with {trained}, and is validated "
            "with that: leave --criterion out"
        )


def _check_search(given: Mapping[str, Any], task: Any) -> None:
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.decoding.search_options import search_option_names

    for name in search_option_names():
        if name not in given:
            continue
        if not hasattr(task, name):
            where = f"in fairseq-validate on a model trained with --task {task._name}"
            remedy = "use fairseq-generate, or leave it out"
            raise changes_nothing(name, given[name], where, remedy)
        if not task.eval_bleu:
            raise changes_nothing(name, given[name], "without --eval-bleu", ADD_OR_LEAVE_OUT)
