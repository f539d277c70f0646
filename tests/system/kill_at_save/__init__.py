"""A ``--user-dir`` that kills training at every interesting moment of its second save.

At that save the process forks once for each moment in ``KILLS``. The child gets a copy of the save
folder, in which there are good checkpoints from the first save, starts saving into it and dies
without a chance to clean up. The process itself then goes on as if nothing had happened.
"""

import contextlib
import os
import resource
import shutil
import signal
from functools import partial, wraps
from pathlib import Path

SWITCH = "KILL_AT_SAVE"


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at_byte(size):
    """The kernel kills the process when it has written ``size`` bytes of any file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def replace(owner, name, make):
    stock = getattr(owner, name)
    replacement = wraps(stock)(make(stock))
    setattr(owner, name, staticmethod(replacement) if isinstance(owner, type) else replacement)


def nth_call(owner, name, number, before=lambda: None, after=lambda: None):
    """Run ``before`` and ``after`` around the call number ``number`` of ``owner.name``."""

    def make(stock):
        calls = iter(range(1, 1000))

        def wrapper(*args, **kwargs):
            this_one = next(calls) == number
            if this_one:
                before()
            result = stock(*args, **kwargs)
            if this_one:
                after()
            return result

        return wrapper

    replace(owner, name, make)


def without_links():
    def make(stock):
        def refuse(*args, **kwargs):
            raise PermissionError(1, "Operation not permitted")

        return refuse

    replace(os, "link", make)


def around_copy(number, **moment):
    from fairseq.file_io import PathManager

    nth_call(PathManager, "copy", number, **moment)


def in_copy(number, size):
    without_links()
    around_copy(number, before=partial(kill_at_byte, size))


KILLS = {
    **{f"first-file-byte-{size}": partial(kill_at_byte, size) for size in (1, 999, 30_000, 50_000)},
    **{f"copy-1-byte-{size}": partial(in_copy, 1, size) for size in (1, 999, 30_000, 50_000)},
    **{f"copy-2-byte-{size}": partial(in_copy, 2, size) for size in (1, 30_000, 50_000)},
    **{
        f"{moment}-rename-{number}": partial(nth_call, os, "replace", number, **{moment: kill})
        for number in (1, 2, 3)
        for moment in ("before", "after")
    },
    "after-link-1": partial(nth_call, os, "link", 1, after=kill),
    "before-copy-1": partial(around_copy, 1, before=kill),
    "after-copy-2": partial(around_copy, 2, after=kill),
}


def folder_of(save_dir, name):
    return f"{save_dir}-killed-{name}"


def die_in_a_child(name, save, cfg):
    folder = folder_of(cfg.save_dir, name)
    shutil.copytree(cfg.save_dir, folder)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            cfg.save_dir = folder
            KILLS[name]()
            save()
        os._exit(0)  # not reached if the moment came
    _, status = os.waitpid(child, 0)
    died_of = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    Path(f"{folder}.signal").write_text(str(died_of), encoding="utf-8")


def install():
    from fairseq import checkpoint_utils

    def make(stock):
        calls = iter(range(1, 1000))

        def save_checkpoint(cfg, *arguments):
            if next(calls) == 2:
                for name in KILLS:
                    die_in_a_child(name, partial(stock, cfg, *arguments), cfg)
            return stock(cfg, *arguments)

        return save_checkpoint

    replace(checkpoint_utils, "save_checkpoint", make)


if os.environ.get(SWITCH) == "1":
    import fairseq_outlayers  # noqa: F401  (the mends, and the models to train)

    install()
