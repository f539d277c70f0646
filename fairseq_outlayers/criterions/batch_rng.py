"""RNG seeded by (seed, update, micro-batch), not by rank."""

import numpy as np
from fairseq.distributed import utils as distributed_utils


class BatchRNG:
    """An RNG for every batch, a pure function of (seed, update, micro-batch of the update).

    Micro-batches of an update are numbered as fairseq deals them out: with ``W`` processes, process
    ``r`` has number ``i W + r`` in its ``i``-th turn. So a resumed run, and two processes in place
    of ``--update-freq 2``, draw what one unbroken process would have drawn.
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
