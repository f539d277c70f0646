"""What ``python ...`` does, in forks of a warm process, which has imported torch and fairseq.

A command would else spend seconds on imports. The fork has a folder, an environment, files and
arguments of its own and imports ``fairseq_outlayers`` itself, so patches and registries are those
of a fresh process. What a test says about the process or its imports needs a real one.

``python -m tests.warm_server SOCKET`` serves until its standard input is closed.
"""

import atexit
import functools
import gc
import importlib
import json
import logging
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Dict, List, Sequence

from tests.forks import exit_code, take_streams

ROOT = Path(__file__).parents[1]
COMMANDS = ("preprocess", "train", "generate", "interactive", "eval_lm", "hydra_train")
LATE = ("sacrebleu", "tensorboardX", "torch._dynamo")  # imported when a command is under way


def run_python(
    arguments: Sequence[str],
    stdin: str = "",
    timeout: float = 180,
    cwd: Any = ROOT,
    environment: Any = os.environ,
) -> "subprocess.CompletedProcess[str]":
    """What ``python ARGUMENT ...`` does, by a fork that leads a process group.

    Raises:
        subprocess.TimeoutExpired: after ``timeout`` seconds, when the fork has been killed.
    """
    request = {"arguments": list(arguments), "cwd": str(cwd)}
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
        socket.socket(socket.AF_UNIX) as connection,
    ):
        given.write(stdin)
        given.seek(0)
        connection.connect(socket_of_server())
        data = json.dumps({**request, "environment": dict(environment)}).encode()
        files = [file.fileno() for file in (given, out, err)]
        socket.send_fds(connection, [len(data).to_bytes(8, "big")], files)
        connection.sendall(data)
        pid = int.from_bytes(connection.recv(8), "big")
        connection.settimeout(timeout)
        try:
            code = int.from_bytes(connection.recv(8), "big", signed=True)
        except TimeoutError:
            os.killpg(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(arguments), timeout) from None
        texts = [_text_of(file) for file in (out, err)]
        return subprocess.CompletedProcess(list(arguments), code, *texts)


def _text_of(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


@functools.cache
def socket_of_server() -> str:
    """The socket of this process's server."""
    folder = tempfile.mkdtemp()
    path = f"{folder}/socket"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm_server", path],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def end() -> None:
        assert server.stdin
        server.stdin.close()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"
    return path


def serve(path: str) -> None:
    """Fork for every request until the parent goes."""
    gc.disable()
    for name in LATE:
        importlib.import_module(name)
    for name in COMMANDS:
        importlib.import_module(f"fairseq_cli.{name}")
        del sys.modules[f"fairseq_cli.{name}"]  # a command runs it as __main__
    for handler in list(logging.root.handlers):  # which the imports have set
        logging.root.removeHandler(handler)
    logging.root.setLevel(logging.WARNING)
    assert "fairseq_outlayers" not in sys.modules
    if sys.dont_write_bytecode:  # every fork would compile this package
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.path.dirname(path)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        gc.freeze()  # forks need not search what is imported here for garbage
        gc.enable()
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
    left, data = int.from_bytes(head, "big"), b""
    while len(data) < left:
        data += connection.recv(left - len(data))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            connection.close()
            code = _command(json.loads(data), files)
        finally:
            os._exit(code)
    connection.sendall(child.to_bytes(8, "big"))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    connection.sendall(code.to_bytes(8, "big", signed=True))


def _command(request: Dict[str, Any], files: List[int]) -> int:
    """The exit code of ``python ARGUMENT ...``."""
    os.setpgid(0, 0)
    take_streams(files)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.executable = request.get("executable", sys.executable)
    return exit_code(functools.partial(_run, request["arguments"]))


def _run(arguments: List[str]) -> None:
    """A module (``-m``), code (``-c``), code from standard input (``-``) or a script."""
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path.insert(0, "")
        exec(arguments[1], {"__name__": "__main__"})
    elif arguments[0] == "-":
        sys.argv = arguments
        exec(sys.stdin.read(), {"__name__": "__main__"})
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.realpath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1])
