"""Random numbers that are the same on every machine and in every version."""

import hashlib
from typing import Tuple

import numpy as np


def uniform(seed: int, name: str, shape: Tuple[int, ...], sparsity: float = 0.0) -> np.ndarray:
    """Weights in [-1, 1), each zero with probability ``sparsity``.

    ``RandomState`` is a stream that numpy promises never to change, and sha256 gives every name its
    own place in it. torch's generators differ between instruction sets.

    Returns:
        Float64 values of the given shape.
    """
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    stream = np.random.RandomState(np.frombuffer(digest, dtype="<u4").astype(np.uint32))
    draws = stream.random_sample(shape)
    # One draw decides whether a weight is pruned and, spread out again, what it is if not.
    values = 2 * ((draws - sparsity) / (1 - sparsity)) - 1
    return np.where(draws < sparsity, 0.0, values)
