"""Provide names that fairseq uses and NumPy 2 has removed.

``np.compat.long`` in ``TokenBlockDataset`` (fairseq/data/token_block_dataset.py), hence in every
language model with ``--sample-break-mode eos``, and in ``LanguagePairDataset``
(fairseq/data/language_pair_dataset.py); ``np.percentile(interpolation=...)`` in ``get_buckets``
(fairseq/data/data_utils.py), hence in ``--num-batch-buckets``. All raise exceptions. The patch
gives only these three modules a ``np`` with the old names.
"""

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from fairseq.data import data_utils, language_pair_dataset, token_block_dataset


class _NumpyWithOldNames(ModuleType):
    compat = SimpleNamespace(long=int)

    @staticmethod
    def percentile(values: Any, shares: Any, interpolation: str = "linear") -> Any:
        return np.percentile(values, shares, method=interpolation)  # type: ignore[call-overload]

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def apply() -> None:
    """Apply the patch, unless numpy still has the names."""
    if not hasattr(np, "compat"):
        for module in (data_utils, language_pair_dataset, token_block_dataset):
            module.np = _NumpyWithOldNames("numpy")
