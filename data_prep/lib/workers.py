"""Ordered maps over lines in several processes."""

import functools
import itertools
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from fairseq_outlayers.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")
BLOCK_LINES = 20_000
CHUNK_LINES = 200

# Maps a function over an iterator, results in order.
OrderedMap = Callable[[Callable[[Item], Result], Iterator[Item]], Iterator[Result]]


@contextmanager
def ordered_map(workers: int) -> Iterator[OrderedMap]:
    """An ordered ``map`` in ``workers`` processes (in this one if 1).

    The function must be picklable. When the block ends early, pending work is cancelled.

    Raises:
        UserError: if a worker process dies.
    """
    if workers == 1:
        yield map
        return
    # multiprocessing.Pool would wait forever if its workers are killed with their parent.
    executor = ProcessPoolExecutor(workers, initializer=_leave_signals_to_the_parent)
    try:
        yield functools.partial(_map_in_blocks, executor)
    except BrokenProcessPool:
        raise UserError(
            f"one of {workers} worker processes died (out of memory?); try fewer --workers"
        ) from None
    finally:
        executor.shutdown(cancel_futures=True)


def _map_in_blocks(
    executor: ProcessPoolExecutor, function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """Map block by block, because an executor reads all of its input in advance."""
    iterator = iter(items)
    while block := list(itertools.islice(iterator, BLOCK_LINES)):
        yield from executor.map(function, block, chunksize=CHUNK_LINES)


def _leave_signals_to_the_parent() -> None:
    """Ctrl-C reaches every process: only the parent reports it. SIGTERM ends a worker silently."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
