"""Refuse damaged checkpoints.

torch does not verify the checksums in a checkpoint
(:mod:`fairseq_outlayers.checkpoints.integrity`), so damage silently changes weights. The patch
verifies them before ``load_checkpoint_to_cpu`` and ``load_ema_from_checkpoint``
(fairseq/checkpoint_utils.py) read a file.
"""

import os
from typing import Any, Callable

from fairseq import checkpoint_utils

from fairseq_outlayers.checkpoints.integrity import require_whole
from fairseq_outlayers.patches.replacing import replaces


@replaces(checkpoint_utils, "load_ema_from_checkpoint")
@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _refuse_damaged(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    if os.path.isfile(path):  # otherwise it is remote, or stock reports that it is missing
        require_whole(path)
    return stock(path, *args, **kwargs)
