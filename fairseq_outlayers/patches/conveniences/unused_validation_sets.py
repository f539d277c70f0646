"""Refuse validation sets that are not used by the names that select them.

``raise_if_valid_subsets_unintentionally_ignored`` (fairseq/data/data_utils.py) compares names of
files (``valid1.de-en.de``) with names of sets (``valid1``), so that a set counts as ignored
although ``--valid-subset valid,valid1`` names it.
"""

from typing import Any, Callable

from fairseq.data import data_utils

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(data_utils, "raise_if_valid_subsets_unintentionally_ignored")
def _refuse_unused_sets(stock: Callable[[Any], None], cfg: Any) -> None:
    options = cfg.dataset
    chosen = (
        options.ignore_unused_valid_subsets
        or options.combine_valid_subsets
        or options.disable_validation
    )
    if chosen or not hasattr(cfg.task, "data"):
        return
    found = {path.partition(".")[0] for path in data_utils._find_extra_valid_paths(cfg.task.data)}
    unused = sorted(found - set(options.valid_subset.split(",")))
    if unused:
        raise UserError(
            f"the data have validation sets that are not used: {', '.join(unused)}: add "
            f"--valid-subset {','.join([options.valid_subset, *unused])} to validate on each, "
            "--combine-val to join them, or --ignore-unused-valid-subsets to leave them out"
        )
