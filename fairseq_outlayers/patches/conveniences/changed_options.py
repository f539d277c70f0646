"""Report model options that differ from those of the checkpoint that a training resumes from.

fairseq loads the weights and ignores the options. An option that changes shapes fails there. One
that changes only the function, such as ``--joint-activation`` or ``--leak-rate``, continues with
weights that were trained for another function, silently.
"""

import logging
from typing import Any, Callable, Dict, Tuple

from fairseq import checkpoint_utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY

from fairseq_outlayers.patches.replacing import replace_once
from fairseq_outlayers.patches.required.checkpoint_options import last_options, plain
from fairseq_outlayers.registry import command_line_name

logger = logging.getLogger(__name__)


def apply() -> None:
    """Replace ``load_checkpoint``."""
    replace_once(checkpoint_utils, "load_checkpoint", _compared)


def _compared(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load_checkpoint(cfg: Any, trainer: Any, **passthrough_args: Any) -> Tuple[Any, Any]:
        loaded = stock(cfg, trainer, **passthrough_args)
        # Fine-tuning begins at 0 updates; other processes than the first have read no checkpoint.
        if trainer.get_num_updates() > 0 and trainer.is_data_parallel_master:
            stored = plain(last_options(), resolve=False) or {}
            # Checkpoints before Hydra have one Namespace for all.
            changed = changed_options(stored.get("model", stored), trainer.cfg.model)
            if changed:
                listed = ", ".join(
                    f"{command_line_name(name)} {new!r} (checkpoint: {old!r})"
                    for name, (old, new) in changed.items()
                )
                logger.warning(f"the training continues with other model options: {listed}")
        return loaded

    return load_checkpoint


def changed_options(stored: Any, given: Any) -> Dict[str, Tuple[Any, Any]]:
    """Options of a model with two different values.

    Args:
        stored: the model's options in a checkpoint.
        given: those of the command.
    Returns:
        The stored and the given value by name; only options that both have and that the model
        declares.
    """
    model = getattr(given, "_name", None) or ARCH_MODEL_NAME_REGISTRY.get(
        getattr(given, "arch", None)
    )
    declared = MODEL_DATACLASS_REGISTRY.get(model)
    stored, given = (plain(each, resolve=True, enum_to_str=True) for each in (stored, given))
    names = [n for n in getattr(declared, "__dataclass_fields__", ()) if not n.startswith("_")]
    return {
        name: (stored[name], given[name])
        for name in names
        if name in stored and name in given and str(stored[name]) != str(given[name])
    }
