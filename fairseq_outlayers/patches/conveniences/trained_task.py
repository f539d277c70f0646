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

from fairseq_outlayers.patches.replacing import replaces

logger = logging.getLogger(__name__)


class _Evaluating:
    task: Optional[LanguageModelingTask] = None  # given by a command


@replaces(checkpoint_utils, "load_model_ensemble_and_task")
def _track_task(
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
def _compare_task(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    state = stock(path, *args, **kwargs)
    if _Evaluating.task is not None:
        # Imported here, because patches are applied before other parts are imported.
        from fairseq_outlayers.checkpoints.stored_options import check_texts, task_options

        trained = dict(task_options(state))
        check_texts(path, trained, _Evaluating.task.args)
        _warn_of_another(path, trained, _Evaluating.task)
    return state


def _warn_of_another(path: str, trained: Any, task: LanguageModelingTask) -> None:
    stored = trained.get("_name") or trained.get("task")
    known = TASK_REGISTRY.get(stored)
    if known not in (None, type(task)):
        logger.warning(
            f"{path}: was trained with --task {stored}; without it the text is split otherwise, "
            "and its perplexity differs"
        )
