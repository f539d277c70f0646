"""Let an optimizer prepare the model before fairseq wraps it.

fairseq wraps a model for data parallelism before it builds the optimizer (``Trainer.model`` and
``Trainer._build_optimizer`` in fairseq/trainer.py), and hands the optimizer bare parameters. An
optimizer that wants gradients of another form, as those of ``nn.Embedding(sparse=True)``, can tell
nobody in time.

The mend calls the optimizer's ``prepare_model(options, model)``, if it has one, when the trainer is
made.
"""

import functools
from typing import Any, Callable

from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.trainer import Trainer

from fairseq_outlayers.compat.replacing import replace_once


def apply() -> None:
    """Replace the constructor of the trainer."""
    replace_once(Trainer, "__init__", _with_preparation)


def _with_preparation(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def __init__(self: Any, cfg: Any, task: Any, model: Any, *others: Any, **named: Any) -> None:
        optimizer = OPTIMIZER_REGISTRY.get(getattr(cfg.optimizer, "_name", None))
        if hasattr(optimizer, "prepare_model"):
            optimizer.prepare_model(cfg.optimizer, model)
        stock(self, cfg, task, model, *others, **named)

    return __init__
