"""What fairseq needs on today's PyTorch and Python: one small mend a file.

Each file names the fairseq function that is wrong, the upstream issue where there is one, and what
the mend does. :func:`apply` puts them all in place; it runs when the package is imported, which is
when fairseq reads ``--user-dir``, before any data or checkpoint is opened.
"""

from fairseq_outlayers.patches import (
    atomic_checkpoint,
    clear_errors,
    dictionary_file,
    dropped_tail,
    numpy_names,
    option_hints,
    prepared_model,
    quiet_start,
    replace_unk,
    resume_in_parallel,
    resumed_lr_step,
    safe_checkpoints,
    torchrun_on_cpu,
)
from fairseq_outlayers.patches.dictionary_hash import register_dictionaries, update_dictionary

MENDS = (
    clear_errors,
    option_hints,
    quiet_start,
    safe_checkpoints,
    numpy_names,
    dictionary_file,
    dropped_tail,
    atomic_checkpoint,
    resumed_lr_step,
    prepared_model,
    replace_unk,
    torchrun_on_cpu,
    resume_in_parallel,
)

__all__ = ["MENDS", "apply", "register_dictionaries", "update_dictionary"]


def apply() -> None:
    """Put every mend in place. Calling it again changes nothing."""
    for mend in MENDS:
        mend.apply()
