"""Let checkpoints load whose options name parts that were not selected.

Options of an output layer, sampler, composition or source embedding that is not selected are
refused (``registry.Selection``). Checkpoints from before that may hold some, which changed nothing.
The patch follows ``_upgrade_state_dict`` (fairseq/checkpoint_utils.py), through which every
checkpoint comes, and gives such options their default back.
"""

import functools
from typing import Any, Callable, Dict

from fairseq import checkpoint_utils
from fairseq.models import MODEL_DATACLASS_REGISTRY

from fairseq_outlayers.patches.replacing import replace_once


def apply() -> None:
    """Replace ``_upgrade_state_dict``, which ``load_checkpoint_to_cpu`` looks up in its module."""
    replace_once(checkpoint_utils, "_upgrade_state_dict", _forget_idle)


def _forget_idle(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def _upgrade_state_dict(state: Dict[str, Any]) -> Dict[str, Any]:
        state = stock(state)
        if state.get("cfg") is not None:
            for part in ("model", "criterion"):
                forget_idle(state["cfg"].get(part))
        return state

    return _upgrade_state_dict


def forget_idle(config: Any) -> None:
    """Give options that only entries not selected have their default back.

    Args:
        config: a model's or a criterion's, as it is stored; or anything else, which stays as it is.
    """
    # Not above: patches are in place before the parts of the package are imported.
    from fairseq_outlayers.compositions import COMPOSITION
    from fairseq_outlayers.output_layers import OUTPUT_LAYER
    from fairseq_outlayers.samplers import SAMPLER
    from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDING

    kind = MODEL_DATACLASS_REGISTRY.get(getattr(config, "_name", None))
    for axis in (OUTPUT_LAYER, COMPOSITION, SOURCE_EMBEDDING, SAMPLER):
        if hasattr(config, axis.option):
            for name, default in list(axis.idle(config, kind)):
                setattr(config, name, default)
