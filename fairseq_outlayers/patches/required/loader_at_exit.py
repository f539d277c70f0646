"""Stop the thread that prefetches batches before the interpreter exits.

``BufferedIterator`` (fairseq/data/iterators.py) fills its buffer in a daemon thread. When training
ends within an epoch (``--max-update``, a signal), that thread may be collating a batch. The
interpreter kills it within PyTorch's C++ code, which aborts the process ("terminate called without
an active exception"): a run that has saved everything exits with 134.

At exit, the patch stops the thread after its current batch and waits for it.
"""

import atexit
import queue
import time
import weakref
from typing import Any, Callable

from fairseq.data.iterators import BufferedIterator

from fairseq_outlayers.patches.replacing import replaces

LONGEST_WAIT = 10.0  # seconds, for the current batch

_consumers: Any = weakref.WeakSet()


# The method that starts the thread.
@replaces(BufferedIterator, "_create_consumer")
def _remembered(stock: Callable[..., Any], self: Any) -> None:
    stock(self)
    if not _consumers:
        atexit.unregister(_end_all)
        atexit.register(_end_all)
    _consumers.add(self._consumer)


def _end_all() -> None:
    deadline = time.monotonic() + LONGEST_WAIT
    for consumer in list(_consumers):
        consumer._max_len = 0  # stop after the current batch
        while consumer.is_alive() and time.monotonic() < deadline:
            try:  # the buffer may be full
                consumer._queue.get(timeout=0.02)
            except queue.Empty:
                continue
