"""Silence warnings that every run prints and no user can act on.

fairseq 0.12 was written for hydra 1.0 and an older PyTorch, so each command starts with some 25
lines of deprecation warnings. The patch ignores exactly these; with ``-W`` or ``PYTHONWARNINGS``
all warnings are shown.

One warning comes before ``--user-dir`` is imported: fairseq imports tensorboardX at its own import
(fairseq/tasks/text_to_speech.py). Therefore this package requires tensorboardX.
"""

import logging
import sys
import warnings

# Regular expressions for the beginning of a message, after whitespace.
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
    # torch.nn.functional.multi_head_attention_forward, called by fairseq's Transformers
    r"Support for mismatched key_padding_mask and attn_mask is deprecated",
    # torch 2.13, once, at the first sparse tensor, such as a row-sparse gradient
    r"Sparse invariant checks are implicitly disabled",
)


def apply() -> None:
    """Ignore these messages and hydra's debug messages, unless ``-W`` is given."""
    if sys.warnoptions:
        return
    for message in MESSAGES:
        warnings.filterwarnings("ignore", message=rf"\s*{message}")
    # fairseq/models/wav2vec/wav2vec2_classification.py enables debug logging globally.
    logging.getLogger("hydra").setLevel(logging.INFO)
