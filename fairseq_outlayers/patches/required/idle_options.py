"""Load old checkpoints with options of parts that are not selected.

Such options of output layers, samplers, compositions and source embeddings are refused today
(``registry.Selection``), but older checkpoints may contain some, without effect. The patch wraps
``_upgrade_state_dict`` (fairseq/checkpoint_utils.py), which processes every checkpoint, and resets
these options to their defaults.
"""

import functools
from typing import Any, Callable, Dict

from fairseq import checkpoint_utils
from fairseq.models import MODEL_DATACLASS_REGISTRY

from fairseq_outlayers.patches.replacing import replace_once


def apply() -> None:
    """Replace ``_upgrade_state_dict``."""
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
    """Reset options of entries that are not selected to their defaults.

    Args:
        config: of a model or a criterion, as stored; anything else is not changed.
    """
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.compositions import COMPOSITION
    from fairseq_outlayers.output_layers import OUTPUT_LAYER
    from fairseq_outlayers.samplers import SAMPLER
    from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDING

    kind = MODEL_DATACLASS_REGISTRY.get(getattr(config, "_name", None))
    for axis in (OUTPUT_LAYER, COMPOSITION, SOURCE_EMBEDDING, SAMPLER):
        if hasattr(config, axis.option):
            for name, default in list(axis.idle(config, kind)):
                setattr(config, name, default)
