"""Random numbers that do not depend on the machine or on versions."""

import hashlib
from typing import Tuple

import numpy as np


def uniform(seed: int, name: str, shape: Tuple[int, ...], sparsity: float = 0.0) -> np.ndarray:
    """Weights in [-1, 1), each zero with probability ``sparsity``.

    NumPy guarantees that the stream of ``RandomState`` never changes, and sha256 maps every name to
    its own seed. torch's generators differ between instruction sets.

    Returns:
        Float64 values of the given shape.
    """
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    stream = np.random.RandomState(np.frombuffer(digest, dtype="<u4").astype(np.uint32))
    draws = stream.random_sample(shape)
    # One draw decides whether a weight is pruned and, rescaled, its value if not.
    values = 2 * ((draws - sparsity) / (1 - sparsity)) - 1
    return np.where(draws < sparsity, 0.0, values)
