"""Report options that differ from those of the checkpoint that a training starts from.

fairseq loads the weights and ignores the options of the model. An option that changes shapes fails
there. One that changes only the function, such as ``--joint-activation`` or ``--leak-rate``,
continues with weights that were trained for another function, silently. Options of the optimizer,
such as ``--weight-decay``, are those of its state, so the given ones have no effect.
"""

import ast
import logging
from typing import Any, Callable, Container, Dict, Set, Tuple

from fairseq import checkpoint_utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY

from fairseq_outlayers.errors import as_flag
from fairseq_outlayers.patches.replacing import replaces
from fairseq_outlayers.patches.required.checkpoint_options import last_options, plain

logger = logging.getLogger(__name__)


@replaces(checkpoint_utils, "load_checkpoint")
def _report_changes(
    stock: Callable[..., Any], cfg: Any, trainer: Any, **passthrough_args: Any
) -> Tuple[Any, Any]:
    loaded = stock(cfg, trainer, **passthrough_args)
    resumes = trainer.get_num_updates() > 0
    # Other processes than the first have read no checkpoint.
    if (resumes or cfg.finetune_from_model) and trainer.is_data_parallel_master:
        stored = plain(last_options(), resolve=False) or {}
        # Checkpoints before Hydra have one Namespace for all.
        changed = changed_options(stored.get("model", stored), trainer.cfg.model)
        exchanged = () if resumes else options_of_exchanged_parts(changed)
        listed = ", ".join(
            f"{as_flag(name)} {new!r} (checkpoint: {old!r})"
            for name, (old, new) in changed.items()
            if name not in exchanged
        )
        if listed:
            how = "continues" if resumes else "starts from the checkpoint"
            logger.warning(f"the training {how} with other model options: {listed}")
        if resumes and not trainer.cfg.checkpoint.reset_optimizer:
            _report_ignored(stored.get("optimizer"), trainer)
    return loaded


def _report_ignored(stored: Any, trainer: Any) -> None:
    """Warn of options of the optimizer whose values are those of the loaded state.

    Args:
        stored: the optimizer's options in the checkpoint; before Hydra, its name.
    """
    from fairseq_outlayers.checkpoints.stored_options import changed_values

    stored, given = (
        plain(each, resolve=True, enum_to_str=True) for each in (stored, trainer.cfg.optimizer)
    )
    if not isinstance(stored, dict):
        return
    # --adam-betas is betas there; the learning rate is the schedule's.
    loaded = trainer.optimizer.param_groups[0].keys() - {"params", "lr"}
    loaded -= ast.literal_eval(trainer.cfg.checkpoint.optimizer_overrides).keys()
    names = [name for name in given if name.endswith(tuple(loaded))]
    for name, (old, new) in changed_values(stored, given, names).items():
        logger.warning(
            f"{as_flag(name)} {new!r} has no effect: the training continues with the optimizer's "
            f"{old!r} (to change it: --optimizer-overrides)"
        )


def options_of_exchanged_parts(changed: Container[str]) -> Set[str]:
    """Options of output layers, compositions and source embeddings that fine-tuning replaces.

    Args:
        changed: names of changed options.
    """
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.compositions import COMPOSITION
    from fairseq_outlayers.output_layers import OUTPUT_LAYER
    from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDING

    names: Set[str] = set()
    for axis in (OUTPUT_LAYER, COMPOSITION, SOURCE_EMBEDDING):
        if axis.option in changed:
            names |= {axis.option, *axis.options()}
    return names


def changed_options(stored: Any, given: Any) -> Dict[str, Tuple[Any, Any]]:
    """Options of a model with two different values.

    Args:
        stored: the model's options in a checkpoint.
        given: those of the command.
    Returns:
        The stored and the given value by name; only options that both have and that the model
        declares, or, of a model without a dataclass, that are of this package.
    """
    from fairseq_outlayers.checkpoints.stored_options import changed_values
    from fairseq_outlayers.options import OutputLayerConfig, SourceEmbeddingConfig

    model = getattr(given, "_name", None) or ARCH_MODEL_NAME_REGISTRY.get(
        getattr(given, "arch", None)
    )
    declared = MODEL_DATACLASS_REGISTRY.get(model)
    ours = [declared] if declared else [OutputLayerConfig, SourceEmbeddingConfig]
    stored, given = (plain(each, resolve=True, enum_to_str=True) for each in (stored, given))
    fields = (name for config in ours for name in config.__dataclass_fields__)
    return changed_values(stored, given, [name for name in fields if not name.startswith("_")])
