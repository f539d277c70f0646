"""RNG seeded by (seed, update, micro-batch), not by rank."""

import numpy as np
from fairseq.distributed import utils as distributed_utils


class BatchRNG:
    """An RNG for every micro-batch, a pure function of (seed, update, micro-batch).

    Micro-batches of an update are numbered in fairseq's order: with ``W`` processes, the ``i``-th
    of process ``r`` has number ``i W + r``. So a resumed run draws the same as an uninterrupted
    one, and two processes the same as ``--update-freq 2``. Batches of an update that AMP skipped
    count for the next one, which has its number: only a run resumed between the two draws others.
    """

    def __init__(self, seed: int):
        self.seed = seed
        self._update = -1
        self._turn = 0

    def next(self, update: int) -> np.random.Generator:
        """The RNG of this process's next micro-batch within ``update``."""
        self._turn = self._turn + 1 if update == self._update else 0
        self._update = update
        world_size = distributed_utils.get_data_parallel_world_size()
        rank = distributed_utils.get_data_parallel_rank() if world_size > 1 else 0
        entropy = np.random.SeedSequence((self.seed, update, self._turn * world_size + rank))
        return np.random.Generator(np.random.Philox(entropy))
