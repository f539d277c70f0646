"""Refuse options that the checkpoint leaves without effect.

``fairseq-validate`` builds criterion and task from the checkpoint (fairseq_cli/validate.py,
``main``). Another criterion of its command line is ignored, so the figures would be those of
another loss. So are options of the search that the task of the training does not have; others are
read only with ``--eval-bleu``, which the checkpoint may have.

``--retain-dropout-modules`` with a name of no module turns dropout off (``FairseqDropout``, in
``make_generation_fast_``). The command line gives one text, in which fairseq looks for names.
"""

import re
from typing import Any, Callable, Mapping, Optional

from fairseq import checkpoint_utils
from fairseq.modules import FairseqDropout
from fairseq.tasks import FairseqTask

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


@replaces(FairseqTask, "build_generator")
def _refuse_no_dropout(
    stock: Callable[..., Any], self: Any, models: Any, args: Any, *more: Any, **named: Any
) -> Any:
    chosen = getattr(args, "retain_dropout_modules", None)
    if getattr(args, "retain_dropout", False) and chosen is not None:
        owners = {_dropout_owner(module) for model in models for module in model.modules()}
        names = re.findall(r"\w+", chosen) or [chosen] if isinstance(chosen, str) else chosen
        for name in names:
            if name not in owners:
                known = ", ".join(sorted(filter(None, owners))) or "none"
                raise UserError(
                    f"--retain-dropout-modules {name}: not a module with dropout; the model has "
                    f"{known}: name some of these, or leave it out to retain all"
                )
    return stock(self, models, args, *more, **named)


def _dropout_owner(module: Any) -> Optional[str]:
    """The name of a dropout for ``--retain-dropout-modules``; None for other modules."""
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.layers.dropout import RetainableDropout

    if isinstance(module, RetainableDropout):
        return module.owner or type(module).__name__
    return module.module_name if isinstance(module, FairseqDropout) else None
