"""Name the process that blocks a data-parallel run.

When one process of a data-parallel run is frozen (stopped, swapped out, its machine gone), the
others wait in a collective operation, silently, until the backend's own timeout: 30 minutes for
gloo, which then names a neighbour. When one is killed, the others end in a traceback that names an
address.

With the patch, every process counts seconds in the group's store and watches the others' counts. If
one has not counted for ``--heartbeat-timeout`` seconds (by default 120; 0 disables the watch), or
never for five times as long, the others print one line that names it and exit. fairseq uses this
option, off by default, for a timer in each process (``DistributedTimeoutWrapper``), which cannot
tell which process is frozen and sends a signal that is not handled while waiting; the watch
replaces it.
"""

import atexit
import logging
import os
import re
import socket
import sys
import threading
import time
from datetime import timedelta
from typing import Any, Callable, Dict, List, Optional

import torch.distributed as dist
from fairseq.models import distributed_fairseq_model
from fairseq.trainer import Trainer

from fairseq_outlayers.patches.replacing import replaces

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT = 120.0
INTERVAL = 1.0
MISSED = 4  # counts, before a process is named after its connection was lost
LEAVING = 5.0  # seconds to wait for the current count at exit
STARTING = 5  # timeouts within which a process must count for the first time: it may load data

LOST = r"Connection (closed|reset|refused)|Broken pipe|Socket closed|remote process exited"


class RankWatch:
    """Counts seconds and watches the counts of the other processes.

    Args:
        store: of the group, on a separate connection.
        rank: of this process.
        world_size: number of processes.
        timeout: seconds without a count after which a process is considered frozen.
    """

    def __init__(self, store: Any, rank: int, world_size: int, timeout: float):
        self.rank, self.timeout = rank, timeout
        self._store, self._others = store, [r for r in range(world_size) if r != rank]
        self._counts: Dict[int, bytes] = {}
        self._seen: Dict[int, float] = {}
        self._began = time.monotonic()
        self._where: Dict[int, str] = {}
        self._store_answered = time.monotonic()
        self._leaving = threading.Event()
        self._threads: List[threading.Thread] = []

    def start(self) -> "RankWatch":
        """Count and watch in the background until the process ends."""
        for work in (self._count, self._end_when_silent):
            self._threads.append(threading.Thread(target=work, daemon=True))
            self._threads[-1].start()
        # The interpreter kills threads at exit, and within the store's C++ code that aborts the
        # process ("terminate called without an active exception").
        atexit.register(self.stop)
        return self

    def stop(self) -> None:
        """Stop counting and watching; waits for the current count."""
        self._leaving.set()
        for thread in self._threads:
            thread.join(LEAVING)

    def silent(self, seconds: float) -> List[int]:
        """Ranks that have not counted for ``seconds``, or never for ``STARTING`` times as long."""
        now = time.monotonic()
        return [
            rank
            for rank in self._others
            if now - self._seen.get(rank, self._began + (STARTING - 1) * seconds) > seconds
        ]

    def excuse(self, seconds: float) -> None:
        """Do not count time in which this process was stopped itself, with its job."""
        now = time.monotonic()
        self._began += seconds
        self._store_answered = min(now, self._store_answered + seconds)
        for rank, seen in list(self._seen.items()):
            self._seen[rank] = min(now, seen + seconds)

    def name(self, rank: int) -> str:
        return f"rank {rank} ({self._where.get(rank, 'place unknown')})"

    def exchange(self, count: int) -> None:
        """Publish this process's count and read the others'."""
        where = f"process {os.getpid()} on {socket.gethostname()}"
        self._store.set(str(self.rank), f"{count} {where}")
        for rank in self._others:
            if not self._store.check([str(rank)]):
                continue
            found = self._store.get(str(rank))
            if found != self._counts.get(rank):
                self._counts[rank], self._seen[rank] = found, time.monotonic()
                self._where[rank] = found.decode().partition(" ")[2]
        self._store_answered = time.monotonic()

    def _count(self) -> None:
        count = 0
        while not self._leaving.is_set():
            try:
                self.exchange(count)
            except RuntimeError:  # the store's host has exited, and so has the run
                return
            count += 1
            self._leaving.wait(INTERVAL)

    def _end_when_silent(self) -> None:
        looked = time.monotonic()
        while not self._leaving.wait(INTERVAL):
            late, looked = time.monotonic() - looked - INTERVAL, time.monotonic()
            if late > INTERVAL:
                self.excuse(late)
            line = self.verdict()
            if line is not None:
                os.write(sys.__stderr__.fileno(), f"error: {line}\n".encode())  # type: ignore[union-attr]
                os._exit(1)

    def verdict(self) -> Optional[str]:
        """An error message if the run is blocked, else None."""
        silent = self.silent(self.timeout)
        if not silent and time.monotonic() - self._store_answered > self.timeout:
            silent = [0]  # hosts the store unless torchrun does
        if not silent:
            return None
        names = ", ".join(map(self.name, silent))
        return (
            f"rank {self.rank}: {names} has not responded for {self.timeout:.0f} s: it is frozen, "
            "or its machine is gone. Exiting; run the same command again to resume from the last "
            "checkpoint (--heartbeat-timeout sets the limit, 0 disables it)"
        )


_watch: Optional[RankWatch] = None


def lost_rank(error: BaseException) -> Optional[str]:
    """An error message with the lost processes if ``error`` is a lost connection; else None."""
    if _watch is None or re.search(LOST, str(error)) is None:
        return None
    deadline = time.monotonic() + 2 * MISSED * INTERVAL
    gone: List[int] = []
    while not gone and time.monotonic() < deadline:
        gone = _watch.silent(MISSED * INTERVAL)
        time.sleep(INTERVAL / 10)
    names = ", ".join(map(_watch.name, gone)) or "another process of the run"
    return (
        f"rank {_watch.rank}: {names} has exited or was killed: see its output; run the same "
        "command again to resume from the last checkpoint"
    )


@replaces(Trainer, "__init__")
def _watched(stock: Callable[..., Any], self: Any, cfg: Any, *others: Any, **named: Any) -> None:
    _start(cfg.distributed_training)
    stock(self, cfg, *others, **named)


def _start(options: Any) -> None:
    global _watch
    timeout = DEFAULT_TIMEOUT if options.heartbeat_timeout < 0 else options.heartbeat_timeout
    grouped = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
    if not grouped or timeout == 0 or _watch is not None:
        return
    store = dist.distributed_c10d._get_default_store()
    if not hasattr(store, "clone"):
        logger.warning("--heartbeat-timeout has no effect before PyTorch 2.8")
        return
    # A separate connection, because the group's may block for minutes in an operation.
    store = dist.PrefixStore("outlayers_rank_watch", store.clone())
    store.set_timeout(timedelta(seconds=timeout))
    _watch = RankWatch(store, dist.get_rank(), dist.get_world_size(), float(timeout)).start()


@replaces(distributed_fairseq_model, "DistributedTimeoutWrapper")
def _without_timer(stock: Callable[..., Any], module: Any, timeout: int, *_: Any, **__: Any) -> Any:
    return module
