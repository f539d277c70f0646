"""The contents of a checkpoint as fairseq stores them, without building its model."""

from typing import Any, Dict

import torch

from fairseq_outlayers.checkpoints.integrity import require_whole
from fairseq_outlayers.checkpoints.refusal import explain_refusal
from fairseq_outlayers.errors import UserError, require_checkpoint


def load_stored(path: str) -> Dict[str, Any]:
    """Load a checkpoint on the CPU; no code in it can run.

    Raises:
        UserError: if there is none, or it is damaged or not fairseq's.
    """
    require_checkpoint(path)
    require_whole(path)
    try:
        checkpoint = torch.load(path, map_location="cpu")
    except UserError:
        raise
    except Exception as error:  # torch.load can raise anything for other files
        raise UserError(explain_refusal(path, str(error))) from error
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get("model"), dict):
        raise UserError(f"{path}: not a fairseq checkpoint, it has no 'model'")
    return checkpoint
