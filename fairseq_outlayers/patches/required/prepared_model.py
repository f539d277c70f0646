"""Let the task and the optimizer prepare the model before fairseq wraps it.

fairseq wraps a model for data parallelism before it builds the optimizer (``Trainer.model`` and
``Trainer._build_optimizer`` in fairseq/trainer.py), and hands the optimizer bare parameters. An
optimizer that wants gradients of another form, as those of ``nn.Embedding(sparse=True)``, can tell
nobody in time; nor can a task that trains a part of a table only.

When the trainer is made, the patch calls, if they have them, ``prepare_training(options, model)``
of the task with all options, and ``prepare_model(options, model)`` of the optimizer with its own.

Nor does fairseq tell a criterion which update a batch belongs to. ``follow_updates(get_number)`` of
the criterion, if it has that, is called with the trainer's function that says so.
"""

import functools
from typing import Any, Callable

from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.trainer import Trainer

from fairseq_outlayers.patches.replacing import replace_once


def apply() -> None:
    """Replace the constructor of the trainer."""
    replace_once(Trainer, "__init__", _with_preparation)


def _with_preparation(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def __init__(self: Any, cfg: Any, task: Any, model: Any, *others: Any, **named: Any) -> None:
        if hasattr(model, "prepare_training"):
            model.prepare_training(cfg)
        if hasattr(task, "prepare_training"):
            task.prepare_training(cfg, model)
        optimizer = OPTIMIZER_REGISTRY.get(getattr(cfg.optimizer, "_name", None))
        if hasattr(optimizer, "prepare_model"):
            optimizer.prepare_model(cfg.optimizer, model)
        stock(self, cfg, task, model, *others, **named)
        criterion = others[0] if others else named.get("criterion")
        if criterion is not None and hasattr(criterion, "follow_updates"):
            criterion.follow_updates(self.get_num_updates)

    return __init__
