"""Handle signals that ask training to stop.

Python runs signal handlers only between bytecode instructions, not while PyTorch waits for another
process. So a thread reads signals from the pipe that ``signal.set_wakeup_fd`` writes to.
"""

import os
import signal
import sys
import threading
import time
from typing import List, Optional

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
DEFAULT = int(signal.SIGTERM)  # if another process of the run received the signal
# torchrun forwards a signal that a terminal has already sent to the whole group.
SAME_SIGNAL_SECONDS = 2.0
ORPHAN_SECONDS = 5  # how often a forked child looks whether its parent still runs

_received: List[int] = []
_listening_process: Optional[int] = None
_forking = threading.local()  # what the thread's child needs to know: process id, signal mask


def received() -> Optional[int]:
    """The number of the first signal received, if any."""
    return _received[0] if _received else None


def name(number: int) -> str:
    return signal.Signals(number).name


def listen(several_processes: bool = False) -> None:
    """Record the first signal from now on, and end the process at the second.

    Ignored signals stay ignored. Does nothing outside the main thread.

    Args:
        several_processes: count repeats within ``SAME_SIGNAL_SECONDS`` as one signal.
    """
    global _listening_process
    mine = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    main = threading.current_thread() is threading.main_thread()
    if _listening_process == os.getpid() or not main or not mine:
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in mine:
        signal.signal(number, lambda *_: None)
    if _listening_process is None:
        os.register_at_fork(
            before=_block, after_in_parent=_unblock, after_in_child=_leave_signals_to_the_parent
        )
    _listening_process = os.getpid()
    grace = SAME_SIGNAL_SECONDS if several_processes else 0.0
    threading.Thread(target=_watch, args=(reading, mine, grace), daemon=True).start()


def _watch(reading: int, mine: List[signal.Signals], grace: float) -> None:
    first = 0.0
    while True:
        for number in os.read(reading, 64):
            if number not in mine:
                continue
            if not _received:
                _received.append(number)
                first = time.monotonic()
            elif time.monotonic() - first > grace:
                _say(f"{name(number)} again: ended without saving")
                os._exit(128 + number)


def _say(line: str) -> None:
    # Not print: the main thread may hold the lock of the stream.
    os.write(sys.__stderr__.fileno(), f"{line}\n".encode())  # type: ignore[union-attr]


def _block() -> None:
    # A signal between fork and hook would reach the parent's pipe from the child: its second.
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    # Not getppid() in the child: the parent may have ended by then.
    _forking.parent = os.getpid()


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _leave_signals_to_the_parent() -> None:
    """In a forked child: leave the parent's pipe, and stay alive for its last update.

    A signal to the whole group must not end data loader workers: the update under way needs their
    batches. PyTorch gives its workers a handler of SIGTERM that does end them, so the signal stays
    blocked, which no handler can undo, and a thread waits for the parent's own (``terminate()``).
    """
    signal.set_wakeup_fd(-1)
    _received.clear()
    mask = _forking.mask
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            continue
        if number != signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)
        elif hasattr(signal, "sigtimedwait"):
            mask = mask | {number}
            threading.Thread(target=_end_with, args=(_forking.parent,), daemon=True).start()
        else:  # macOS
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _end_with(parent: int) -> None:
    """End this process at a SIGTERM of its parent, or when the parent is gone."""
    while os.getppid() == parent:
        sent = signal.sigtimedwait([signal.SIGTERM], ORPHAN_SECONDS)
        if sent is not None and sent.si_pid == parent:
            break
    os._exit(0)
