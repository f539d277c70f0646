"""Compare the task that evaluates a language model with the one that it was trained for.

``fairseq-eval-lm`` and ``fairseq-generate`` take the task from their command lines, not from the
checkpoint (fairseq_cli/eval_lm.py, ``main``). Without ``--add-bos-token``, a model that was trained
with it starts every text from another symbol, and has a higher perplexity, silently.
"""

import logging
from typing import Any, Callable, Optional

from fairseq import checkpoint_utils
from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.language_modeling import LanguageModelingTask

from fairseq_outlayers.errors import UserError, as_flag
from fairseq_outlayers.patches.replacing import replaces

logger = logging.getLogger(__name__)

# Options of the task that change what precedes a position, or what is predicted there.
OPTIONS = ("add_bos_token", "self_target", "future_target", "past_target")


class _Evaluating:
    task: Optional[LanguageModelingTask] = None  # given by a command


@replaces(checkpoint_utils, "load_model_ensemble_and_task")
def _for_the_task(
    stock: Callable[..., Any],
    filenames: Any,
    arg_overrides: Any = None,
    task: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    _Evaluating.task = task if isinstance(task, LanguageModelingTask) else None
    try:
        return stock(filenames, arg_overrides, task, *args, **kwargs)
    finally:
        _Evaluating.task = None


@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _compared(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    state = stock(path, *args, **kwargs)
    if _Evaluating.task is not None:
        # Imported here, because patches are applied before other parts are imported.
        from fairseq_outlayers.tasks.stored_options import task_options

        compare(path, dict(task_options(state)), _Evaluating.task)
    return state


def compare(path: str, trained: Any, task: LanguageModelingTask) -> None:
    """Compare a task with the options of the one in a checkpoint.

    Args:
        path: of the checkpoint.
        trained: its task's options by name.
        task: given by the command.
    Raises:
        UserError: if texts start or targets lie elsewhere.
    """
    for name in OPTIONS:
        before, now = bool(trained.get(name, False)), bool(getattr(task.args, name, False))
        if before != now:
            how, remedy = ("with", "add it") if before else ("without", "leave it out")
            raise UserError(
                f"{path}: was trained {how} {as_flag(name)}: other texts than it knows would be "
                f"scored; {remedy}"
            )
    stored = trained.get("_name") or trained.get("task")
    known = TASK_REGISTRY.get(stored)
    if known not in (None, type(task)):
        logger.warning(
            f"{path}: was trained with --task {stored}; without it the text is split otherwise, "
            "and its perplexity differs"
        )
