"""Show a user's mistake as one line instead of a traceback.

fairseq's commands do not catch exceptions, and ``Trainer.load_checkpoint`` (fairseq/trainer.py)
replaces any cause by "Cannot load model parameters from checkpoint …; please ensure that the
architectures match" (fairseq issues 307 and 4590). The patch is an exception hook: if a
:class:`UserError` is anywhere in the chain of exceptions, it prints only that message, and
likewise one line for mistakes that fairseq detects (``stock/mistakes.py``).
Ctrl-C prints ``interrupted``. If the reader of the output ends (``| head``), nothing is printed.
Other exceptions are shown as before. The exit status is 1, after Ctrl-C 130.

``OUTLAYERS_TRACEBACK=1`` shows full tracebacks. The hook does not apply to ``fairseq-hydra-train``
(hydra prints its own traceback) or to processes that fairseq spawns for several devices, whose
traceback text ends with the same message.
"""

import os
import select
import sys
from typing import Any, Callable, Iterator, Optional

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces
from fairseq_outlayers.patches.required.rank_watch import lost_rank
from fairseq_outlayers.stock.mistakes import plain_message

TRACEBACK_VARIABLE = "OUTLAYERS_TRACEBACK"


def user_error_in(error: Optional[BaseException]) -> Optional[UserError]:
    """The first ``UserError`` among ``error``, its causes and its contexts, if any."""
    return next((link for link in _chain(error) if isinstance(link, UserError)), None)


def _chain(error: Optional[BaseException]) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        hidden = error.__suppress_context__
        error = error.__cause__ or (None if hidden else error.__context__)


def _one_line(error: UserError) -> str:
    # Exceptions of data loader workers have the traceback in their message.
    return str(error).rpartition("UserError: ")[2].strip()


def _line_for(error: Exception) -> Optional[str]:
    user_error = user_error_in(error)
    if user_error is not None:
        return _one_line(user_error)
    return lost_rank(error) or plain_message(error)


def _nobody_reads() -> bool:
    """Whether standard output is a closed pipe; then also keep Python from writing at exit."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        closed = True
    else:
        closed = _has_no_reader(sys.stdout)
    if closed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return closed


def _has_no_reader(file: Any) -> bool:
    """Whether a file is a pipe whose reader has ended.

    Unbuffered output (``PYTHONUNBUFFERED=1``) has nothing left to flush after a write that failed.
    """
    try:
        descriptor = file.fileno()
    except (AttributeError, OSError):  # no file of the operating system
        return False
    poll = select.poll()
    poll.register(descriptor, 0)  # reports errors alone
    return any(event & select.POLLERR for _, event in poll.poll(0))


@replaces(sys, "excepthook")
def _show(former: Callable[..., Any], kind: type, error: BaseException, traceback: Any) -> None:
    # Exception only: a KeyboardInterrupt may have a UserError in its chain.
    line = _line_for(error) if isinstance(error, Exception) else None
    if isinstance(error, KeyboardInterrupt):
        line = "interrupted"
    if isinstance(error, BrokenPipeError) and _nobody_reads():
        return
    if line is None or os.environ.get(TRACEBACK_VARIABLE) == "1":
        former(kind, error, traceback)
    else:
        print(f"error: {line}", file=sys.stderr)
