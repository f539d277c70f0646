"""Keep N checkpoints with ``--keep-best-checkpoints N``, whatever their order.

``save_checkpoint`` (fairseq/checkpoint_utils.py) saves a best checkpoint only if it is at least as
good as the worst one kept, also while fewer than N are kept. If the first validation is the best,
one file is kept, and an ensemble or average of the N best has fewer models, silently.

While fewer than N are kept, the patch adds one of infinite loss to fairseq's list of them.
"""

import math
from typing import Any, Callable, List

from fairseq import checkpoint_utils

from fairseq_outlayers.patches.replacing import replaces

BEST = r"checkpoint\.best_"  # begins fairseq's pattern of their names


@replaces(checkpoint_utils, "save_checkpoint")
def _keep_up_to_n(
    stock: Callable[..., Any], cfg: Any, trainer: Any, epoch_itr: Any, val_loss: Any
) -> Any:
    # fairseq's pattern does not match other values, such as -1.0: these files are never removed.
    if val_loss is None or not 0 <= val_loss < math.inf:
        return stock(cfg, trainer, epoch_itr, val_loss)
    listed = checkpoint_utils.checkpoint_paths

    def with_infinite_loss(path: str, pattern: str, **options: Any) -> List[Any]:
        found = listed(path, pattern=pattern, **options)
        # The list has at most N names in the end, so fairseq removes none of them.
        if not pattern.startswith(BEST) or len(found) >= cfg.keep_best_checkpoints:
            return found
        return [*found, "_-inf"] if cfg.maximize_best_checkpoint_metric else ["_inf", *found]

    checkpoint_utils.checkpoint_paths = with_infinite_loss
    try:
        return stock(cfg, trainer, epoch_itr, val_loss)
    finally:
        checkpoint_utils.checkpoint_paths = listed
