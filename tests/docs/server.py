"""One warm process that has imported torch and fairseq; every command is a fork of it.

``python -m tests.docs.server SOCKET`` serves until its standard input is closed. A fork becomes
what the console script of the command would be: folder, environment, files and arguments.
"""

import contextlib
import importlib
import json
import logging
import os
import runpy
import select
import signal
import socket
import sys
import traceback
from typing import Any

MODULES = {
    "fairseq-preprocess": "fairseq_cli.preprocess",
    "fairseq-train": "fairseq_cli.train",
    "fairseq-generate": "fairseq_cli.generate",
    "fairseq-interactive": "fairseq_cli.interactive",
    "fairseq-eval-lm": "fairseq_cli.eval_lm",
    "fairseq-hydra-train": "fairseq_cli.hydra_train",
    "ct2-fairseq-converter": "ctranslate2.converters.fairseq",
}
COMMANDS = ("python", *MODULES)
WARM = [name for name in MODULES.values() if name.startswith("fairseq_cli")]


def serve(path: str) -> None:
    """Fork for every request until the parent goes."""
    for name in [*WARM, "sacrebleu", "tensorboardX"]:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(connection)
                os._exit(0)
            connection.close()


def _answer(connection: socket.socket) -> None:
    """Run one command in a child, so that its status is known however it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, files, _, _ = socket.recv_fds(connection, 8, 3)
    left = int.from_bytes(head, "big")
    message = b""
    while len(message) < left:
        message += connection.recv(left - len(message))
    request = json.loads(message)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            connection.close()
            _become(request, files)
            code = _run(request["name"], request["arguments"])
        finally:
            os._exit(code)
    for number in files:
        os.close(number)
    _, status = os.waitpid(child, 0)
    code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(bytes([code]))


def _become(request: Any, files: list) -> None:
    for target, number in enumerate(files):
        os.dup2(number, target)
        os.close(number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request["set"])
    os.chdir(request["folder"])
    for handler in list(logging.root.handlers):
        logging.root.removeHandler(handler)
    if request["name"] not in ("python", "fairseq-generate"):  # those configure no logs at import
        logging.basicConfig(
            format="%(asctime)s | %(levelname)s | %(name)s | %(message)s",
            level=logging.INFO,
            stream=sys.stdout,
        )


def _run(name: str, arguments: list) -> int:
    """The exit code of a command, run as its interpreter would."""
    try:
        _call(name, arguments)
        return 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:  # `| head` has gone
                traceback.print_exc()


def _call(name: str, arguments: list) -> None:
    sys.argv = [name, *arguments]
    if name == "ct2-fairseq-converter":
        importlib.import_module(MODULES[name]).main()
    elif name != "python":
        importlib.import_module(MODULES[name]).cli_main()
    elif arguments[:1] == ["-m"]:
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[:1] == ["-c"]:
        sys.argv = ["-c", *arguments[2:]]
        sys.path.insert(0, "")
        exec(arguments[1], {"__name__": "__main__"})
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.realpath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1])
