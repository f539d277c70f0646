"""Patches of fairseq, one per file; docs/patches.md lists all of them.

The functions of a file declare what they replace (:mod:`fairseq_outlayers.patches.replacing`). A
file that changes anything else, such as a setting of PyTorch, does so in a function ``apply``.

``required/`` contains what models and guarantees of this package need: checkpoints load with
current PyTorch, they cannot run code, no data or progress is lost. ``conveniences/`` makes error
messages readable, and refuses input that fairseq would accept silently; the environment variable
``OUTLAYERS_CONVENIENCES=0`` disables them.

:func:`apply` runs at import, when fairseq reads ``--user-dir``, before any data or checkpoint is
opened.
"""

import os
from importlib import import_module

from fairseq_outlayers.patches.replacing import apply_recorded

CONVENIENCES_VARIABLE = "OUTLAYERS_CONVENIENCES"

# Names of files. The later a patch, the further out it wraps a function that others wrap, too: a
# checkpoint is checked before its options are read, and finetuning adapts one that has passed.
# Conveniences come last, to word the errors of all others.
REQUIRED = (
    "safe_checkpoints",
    "whole_checkpoints",
    "checkpoint_options",
    "literal_options",
    "idle_options",
    "moved_tables",
    "numpy_names",
    "dictionary_file",
    "diverse_beams",
    "ngram_blocking",
    "scored_targets",
    "counted_words",
    "dropped_tail",
    "atomic_checkpoint",
    "best_checkpoints",
    "resumed_updates",
    "resumed_lr_step",
    "resumed_patience",
    "finished_training",
    "resumed_batches",
    "same_batches",
    "grouped_batches",
    "curriculum",
    "finetuning",
    "locked_folder",
    "amp_step",
    "amp_gradients",
    "amp_scale",
    "moving_average",
    "prepared_model",
    "torchrun_on_cpu",
    "resume_in_parallel",
    "rank_watch",
    "loader_at_exit",
    # After these two, so that its hook is registered before theirs, and runs after them.
    "gloo_at_exit",
    "empty_batches",
    "stop_signals",
    "taken_names",
)
CONVENIENCES = (
    "clear_errors",
    "option_hints",
    "quiet_start",
    "replace_unk",
    "scored_words",
    "adaptive_loss",
    "checkpoint_structure",
    "checkpoint_content",
    "trained_task",
    "validated_options",
    "retained_dropout",
    "resumed_schedule",
    "changed_options",
    "named_checkpoint",
    "known_words",
    "parallel_texts",
    "marked_input",
    "readable_corpus",
    "readable_dictionary",
    "released_batches",
    "unused_validation_sets",
    "joined_sets",
    "fused_language_model",
    "writable_folder",
)

__all__ = ["CONVENIENCES", "REQUIRED", "apply"]


def apply() -> None:
    """Apply all enabled patches. Idempotent."""
    names = [f"required.{name}" for name in REQUIRED]
    if os.environ.get(CONVENIENCES_VARIABLE) != "0":
        names += [f"conveniences.{name}" for name in CONVENIENCES]
    # All are imported before any is applied, so that none imports a function already replaced.
    for patch in [import_module(f"{__name__}.{name}") for name in names]:
        if hasattr(patch, "apply"):
            patch.apply()
        apply_recorded(patch)
