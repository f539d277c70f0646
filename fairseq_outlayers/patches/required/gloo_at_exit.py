"""Let gloo's threads finish before the interpreter exits.

A thread of PyTorch's gloo backend wakes whoever waits for an operation, and only then releases the
operation's tensors, which needs the interpreter for those that Python has seen. Where the thread
comes to it while the interpreter exits, the process is aborted ("terminate called without an active
exception"): a run that has saved everything exits with 134. ``destroy_process_group`` does not join
these threads as long as fairseq and ``DistributedDataParallel`` keep the group.

At exit, the patch waits until the threads are idle. One that is blocked in an operation, because
another process has gone, is idle, too.
"""

import atexit
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, List, Tuple

import torch.distributed as dist
from fairseq.trainer import Trainer

from fairseq_outlayers.patches.replacing import replaces

THREAD = "pt_gloo_runloop"
LONGEST_WAIT = 10.0  # seconds
INTERVAL, LOOKS = 0.01, 3  # seconds between looks; looks in a row that must find them idle


@replaces(Trainer, "__init__")
def _with_idle_threads(stock: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> None:
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        register()
    stock(self, *args, **kwargs)


def register() -> None:
    """Wait at exit, after the hooks that are registered later have run."""
    atexit.unregister(_wait_until_idle)
    atexit.register(_wait_until_idle)


def _wait_until_idle() -> None:
    deadline, idle = time.monotonic() + LONGEST_WAIT, 0
    while idle < LOOKS and time.monotonic() < deadline:
        time.sleep(INTERVAL)  # without the interpreter's lock, so that they can release tensors
        idle = idle + 1 if all(state == "S" for state in _states()) else 0


def _states() -> List[str]:
    """The state of each gloo thread, or of all other threads where none has its name (PyTorch 2.6).

    States are those of proc(5); there are none where the system does not tell.
    """
    others: List[Tuple[str, str]] = []
    for task in Path("/proc/self/task").glob("*"):
        if task.name != str(threading.get_native_id()):
            with suppress(OSError):
                state = (task / "stat").read_text().rpartition(")")[2].split()[0]
                others.append(((task / "comm").read_text().strip(), state))
    return [s for name, s in others if name == THREAD] or [s for _, s in others]
