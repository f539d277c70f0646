"""Let the task and the optimizer prepare the model before fairseq wraps it.

fairseq wraps a model for data parallelism before it builds the optimizer (``Trainer.model`` and
``Trainer._build_optimizer`` in fairseq/trainer.py), and passes only parameters to the optimizer. So
an optimizer cannot request gradients of another form, such as ``nn.Embedding(sparse=True)``, and a
task cannot train only a part of a table.

When the trainer is constructed, the patch calls these hooks where they exist:
``prepare_training(options)`` of the model and ``prepare_training(options, model)`` of the task with
all options, and ``prepare_model(options, model)`` of the optimizer with its own.

fairseq does not tell a criterion which update a batch belongs to, nor for which model it is.
``follow_updates(get_number)`` of the criterion, if it exists, receives the trainer's function for
the number, and ``check_model(model)`` may refuse a model before anything is trained.
"""

from typing import Any, Callable

from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.trainer import Trainer

from fairseq_outlayers.patches.replacing import replaces


@replaces(Trainer, "__init__")
def _with_preparation(
    stock: Callable[..., Any],
    self: Any,
    cfg: Any,
    task: Any,
    model: Any,
    *others: Any,
    **named: Any,
) -> None:
    criterion: Any = others[0] if others else named.get("criterion")
    if hasattr(criterion, "check_model"):
        criterion.check_model(model)
    if hasattr(model, "prepare_training"):
        model.prepare_training(cfg)
    if hasattr(task, "prepare_training"):
        task.prepare_training(cfg, model)
    optimizer = OPTIMIZER_REGISTRY.get(getattr(cfg.optimizer, "_name", None))
    if hasattr(optimizer, "prepare_model"):
        optimizer.prepare_model(cfg.optimizer, model)
    stock(self, cfg, task, model, *others, **named)
    if hasattr(criterion, "follow_updates"):
        criterion.follow_updates(self.get_num_updates)
