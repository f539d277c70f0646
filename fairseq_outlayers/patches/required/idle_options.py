"""Load old checkpoints with options of parts that are not selected.

Such options of output layers, samplers, compositions and source embeddings are refused today
(``registry.Selection``), and those of frozen parts where none are frozen, but older checkpoints may
contain some, without effect. The patch wraps ``_upgrade_state_dict`` (fairseq/checkpoint_utils.py),
which processes every checkpoint, and resets these options to their defaults. Likewise
``--left-pad-target`` of a recurrent model, which is refused because results depended on the other
sentences of a batch: those of a batch of one are the same without it.
"""

from typing import Any, Callable, Dict

from fairseq import checkpoint_utils

from fairseq_outlayers.patches.replacing import replaces


@replaces(checkpoint_utils, "_upgrade_state_dict")
def _reset_idle_options(stock: Callable[..., Any], state: Dict[str, Any]) -> Dict[str, Any]:
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.options import reset_idle_options

    state = stock(state)
    if state.get("cfg") is not None:
        for part in ("model", "criterion"):
            reset_idle_options(state["cfg"].get(part))
        _reset_frozen_parts(state["cfg"].get("model"))
        _pad_on_the_right(state["cfg"])
    return state


def _reset_frozen_parts(config: Any) -> None:
    """Reset options of frozen parts in a model that has none."""
    from fairseq.models import MODEL_DATACLASS_REGISTRY

    from fairseq_outlayers.reservoirs.options import idle_echo_options
    from fairseq_outlayers.reservoirs.transformer import SEED, FrozenLayersConfig, freezes_none

    if hasattr(config, "release"):
        kind = MODEL_DATACLASS_REGISTRY.get(getattr(config, "_name", None))
        for name, default in list(idle_echo_options(config, kind)):
            setattr(config, name, default)
    if hasattr(config, "frozen_encoder_layers") and hasattr(config, SEED) and freezes_none(config):
        setattr(config, SEED, getattr(FrozenLayersConfig, SEED))


def _pad_on_the_right(cfg: Any) -> None:
    """Undo ``--left-pad-target`` of a recurrent model."""
    from fairseq.models import MODEL_REGISTRY

    from fairseq_outlayers.models.base import AttentionalModel

    model = MODEL_REGISTRY.get(getattr(cfg.get("model"), "_name", None))
    task = cfg.get("task")
    if model and issubclass(model, AttentionalModel) and getattr(task, "left_pad_target", False):
        task.left_pad_target = False
