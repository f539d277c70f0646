"""Let ``--finetune-from-model`` change the output layer and the words.

fairseq only loads a checkpoint into the same architecture with the same words. With the patch, a
model of this package can start from a fairseq model or from one of ours with another output layer
or other dictionaries (:mod:`fairseq_outlayers.checkpoints.finetuning`); the log lists what is
loaded, mapped, new and not used.
"""

import logging
from typing import Any, Callable, Sequence

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager
from fairseq.trainer import Trainer

from fairseq_outlayers.checkpoints.names import LAST, last_of, without_average
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

logger = logging.getLogger(__name__)
NEW_BIASES = "outlayers_new_biases"  # in the extra_state of an adapted checkpoint


class _Begun:
    """The training that is being started."""

    path: str = ""  # of the model that it starts from, if that is adapted
    trainer: Any = None  # if it starts in epoch 1, of another model


@replaces(checkpoint_utils, "load_checkpoint")
def _track_start(stock: Callable[..., Any], cfg: Any, trainer: Any, **passthrough: Any) -> Any:
    if _begins(cfg, trainer):
        _Begun.path, _Begun.trainer = cfg.finetune_from_model, trainer
    elif cfg.reset_dataloader:
        _Begun.trainer = trainer
    try:
        return stock(cfg, trainer, **passthrough)
    finally:
        _Begun.path, _Begun.trainer = "", None


def _begins(cfg: Any, trainer: Any) -> bool:
    """Whether training starts from another model, and the model is ours."""
    from fairseq_outlayers.output_layers import output_layer_of

    if not cfg.finetune_from_model or cfg.restore_file != LAST:
        return False
    last = last_of(cfg.save_dir, trainer.checkpoint_suffix)
    if PathManager.exists(last) or getattr(cfg, "continue_once", None) is not None:
        return False
    return output_layer_of(trainer.get_model()) is not None


@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _adapt_checkpoint(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    state = stock(path, *args, **kwargs)
    trainer = _Begun.trainer
    if trainer is None:
        return state
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.checkpoints.finetuning import adapt
    from fairseq_outlayers.checkpoints.stored_options import arch_of, task_options

    if hasattr(trainer.task, "check_start"):
        options = dict(task_options(state)), dict(state["cfg"].get("criterion") or {})
        trainer.task.check_start(path, *options)
    if path != _Begun.path:
        return state
    adapted = adapt(path, state, trainer.get_model(), trainer.task)
    if getattr(trainer.cfg.task, "freeze_embeddings", False):
        _refuse_untrained(path, adapted.untrained(), trainer.get_model())
    for line in adapted.lines(path, arch_of(state)):
        logger.info(line)
    state["model"] = adapted.state
    extra = without_average(state.get("extra_state") or {})
    if trainer.cfg.ema.store_ema:  # the moving average starts at the model
        extra["ema"] = dict(adapted.state)
    if adapted.new_biases is not None:
        extra[NEW_BIASES] = adapted.new_biases
    state["extra_state"] = extra
    return state


def _refuse_untrained(path: str, untrained: Sequence[str], model: Any) -> None:
    """Refuse to freeze tables at random values."""
    frozen = {name for name, value in model.named_parameters() if not value.requires_grad}
    lost = sorted(frozen.intersection(untrained))
    if lost:
        raise UserError(
            f"--freeze-embeddings needs trained embeddings, but {path} has not all of "
            f"{', '.join(lost)}: train without it first"
        )


@replaces(Trainer, "load_checkpoint")
def _start_new_biases(stock: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    """On every process: fairseq broadcasts the state, which one process has read."""
    extra = stock(self, *args, **kwargs)
    new_biases = None if extra is None else extra.pop(NEW_BIASES, None)
    if new_biases is not None and hasattr(self.task, "start_classes"):
        self.task.start_classes(new_biases)
    return extra
