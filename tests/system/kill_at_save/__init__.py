"""A ``--user-dir`` that kills training at every interesting moment of its second save.

At that save the process forks once for each moment in ``KILLS``. The child gets a copy of the save
folder, in which there are good checkpoints from the first save, starts saving into it and dies
without a chance to clean up. The process itself then goes on as if nothing had happened.
"""

import contextlib
import functools
import os
import resource
import shutil
import signal
from pathlib import Path

SWITCH = "KILL_AT_SAVE"


def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at_byte(size):
    """The kernel kills the process when it has written ``size`` bytes of any file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def replace(owner, name, make):
    stock = getattr(owner, name)
    replacement = functools.wraps(stock)(make(stock))
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


def in_first_file(size):
    kill_at_byte(size)


def in_copy(number, size):
    from fairseq.file_io import PathManager

    without_links()
    nth_call(PathManager, "copy", number, before=functools.partial(kill_at_byte, size))


def around_copy(number, **moment):
    from fairseq.file_io import PathManager

    nth_call(PathManager, "copy", number, **moment)


KILLS = {
    **{f"first-file-byte-{size}": (in_first_file, size) for size in (1, 999, 30_000, 50_000)},
    **{f"copy-1-byte-{size}": (in_copy, 1, size) for size in (1, 999, 30_000, 50_000)},
    **{f"copy-2-byte-{size}": (in_copy, 2, size) for size in (1, 30_000, 50_000)},
    **{
        f"{moment}-rename-{number}": (nth_call, os, "replace", number, {moment: kill})
        for number in (1, 2, 3)
        for moment in ("before", "after")
    },
    "after-link-1": (nth_call, os, "link", 1, {"after": kill}),
    "before-copy-1": (around_copy, 1, {"before": kill}),
    "after-copy-2": (around_copy, 2, {"after": kill}),
}


def arm(function, *arguments):
    options = arguments[-1] if isinstance(arguments[-1], dict) else {}
    function(*(argument for argument in arguments if argument is not options), **options)


def folder_of(save_dir, name):
    return f"{save_dir}-killed-{name}"


def die_in_a_child(name, save, cfg):
    folder = folder_of(cfg.save_dir, name)
    shutil.copytree(cfg.save_dir, folder)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            cfg.save_dir = folder
            arm(*KILLS[name])
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
                    die_in_a_child(name, functools.partial(stock, cfg, *arguments), cfg)
            return stock(cfg, *arguments)

        return save_checkpoint

    replace(checkpoint_utils, "save_checkpoint", make)


if os.environ.get(SWITCH) == "1":
    import fairseq_outlayers  # noqa: F401  (the mends, and the models to train)

    install()
