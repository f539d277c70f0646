"""Take away the warnings that every run prints and no user can act on.

fairseq 0.12 speaks to hydra 1.0 and to an older PyTorch, so that each command starts with some 25
lines of notices about interfaces that fairseq, not its user, would have to change. The patch
ignores exactly every other warning is still shown, and with ``-W`` or ``PYTHONWARNINGS`` all of
them are.

One line comes too early for a ``--user-dir``: fairseq asks for tensorboardX while it is being
imported (fairseq/tasks/text_to_speech.py). The package therefore requires tensorboardX.
"""

import logging
import sys
import warnings

# Regular expressions for the beginning of a message, after any white space.
MESSAGES = (
    # fairseq/dataclass/initialize.py and fairseq/dataclass/utils.py, through hydra
    r"hydra\.experimental\.(initialize|compose)\(\) is no longer experimental",
    r"The version_base parameter is not specified",
    r"In 'config': Usage of deprecated keyword in package header",
    r"'config' is validated against ConfigStore schema with the same name",
    r"The strict flag in the compose API is deprecated",
    # fairseq/data/iterators.py pins memory on machines without an accelerator too
    r"'pin_memory' argument is set as true but no accelerator is found",
    # fairseq/tasks/fairseq_task.py, in every training step
    r"`torch\.cuda\.amp\.(autocast|GradScaler)\(args\.\.\.\)` is deprecated",
    # fairseq/models/distributed_fairseq_model.py, with the default --ddp-backend
    r"`broadcast_buffers` is deprecated",
    # torch 2.13, once, when a sparse tensor is made, as row-sparse gradients are
    r"Sparse invariant checks are implicitly disabled",
)


def apply() -> None:
    """Ignore these messages and hydra's debugging lines, unless ``-W`` has said what to show."""
    if sys.warnoptions:
        return
    for message in MESSAGES:
        warnings.filterwarnings("ignore", message=rf"\s*{message}")
    # fairseq/models/wav2vec/wav2vec2_classification.py turns debugging on for everybody.
    logging.getLogger("hydra").setLevel(logging.INFO)
