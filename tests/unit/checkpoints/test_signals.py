"""Forked children of a process that listens: whose signals end them."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.warm_server import ROOT, run_python

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}

LISTENS = """
import os, signal, subprocess, time
import torch
from fairseq_outlayers.checkpoints import signals

class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        time.sleep(0.3)
        return index

def end_group():
    group = str(-os.getpgrp())
    subprocess.run(["kill", "--", group], start_new_session=True, check=True)

def load():
    batches = iter(torch.utils.data.DataLoader(Slow(), batch_size=1, num_workers=1))
    print(int(next(batches)))
    end_group()
    print(*map(int, batches), signals.received())

def child():
    number = os.fork()
    if not number:
        time.sleep(20)
        print("still here", flush=True)
        os._exit(0)
    return number

seconds_before_hook = 0
os.register_at_fork(after_in_child=lambda: time.sleep(seconds_before_hook))
signals.listen()
"""


def said_by(code):
    """What a process of its own group prints, and its exit code."""
    process = run_python(["-c", LISTENS + textwrap.dedent(code)], environment=ENVIRONMENT)
    return process.stdout.split(), process.returncode


def test_a_signal_to_the_group_leaves_the_loader_its_workers():
    """It comes from another process, while this one waits for a batch."""
    assert said_by("load()") == (["0", "1", "2", "3", "15"], 0)


def test_a_child_ends_when_its_parent_says_so():
    said, _ = said_by("""
        ended = child()
        end_group()
        time.sleep(0.3)
        print(os.waitpid(ended, os.WNOHANG)[0])
        os.kill(ended, signal.SIGTERM)
        print(os.waitpid(ended, 0)[1])
    """)
    assert said == ["0", "0"]


def test_a_signal_before_the_child_has_left_is_not_the_parents_second():
    """Until its hook has run, the child holds the parent's handlers and pipe."""
    said, ended = said_by("""
        mask = {signal.SIGHUP, signal.SIGUSR1}
        signal.pthread_sigmask(signal.SIG_BLOCK, mask)
        seconds_before_hook = 0.5
        late = child()
        end_group()
        time.sleep(1)
        print(signals.received(), os.waitpid(late, os.WNOHANG)[0])
        print(signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask)
        os.kill(late, signal.SIGKILL)
    """)
    assert (said, ended) == (["15", "0", "True"], 0)


@pytest.mark.parametrize("before_hook", [0, 0.5])
def test_a_child_ends_when_its_parent_is_gone(before_hook):
    """Also if the parent has gone before the child's hook runs."""
    code = f"{LISTENS}seconds_before_hook = {before_hook}; signals.ORPHAN_SECONDS = 0.1\n"
    code += "child(); os._exit(0)"
    # The child writes into the same pipe, so its end is that of the output.
    said = subprocess.check_output(
        [sys.executable, "-c", code], env=ENVIRONMENT, start_new_session=True, timeout=100
    )
    assert said == b""


def test_a_signal_ignored_at_the_start_stays_ignored():
    """As under nohup."""
    code = "import os, signal, time\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    code += "from fairseq_outlayers.checkpoints import signals\nsignals.listen(False)\n"
    code += "os.kill(os.getpid(), signal.SIGHUP); time.sleep(0.3); print(signals.received())"
    assert run_python(["-c", code], environment=ENVIRONMENT).stdout == "None\n"


@pytest.mark.parametrize(("several", "code"), [(True, 0), (False, 143)])
def test_a_signal_repeated_at_once_counts_once_for_several_processes(several, code):
    script = "import os, signal, time\nfrom fairseq_outlayers.checkpoints import signals\n"
    script += f"signals.SAME_SIGNAL_SECONDS = 60\nsignals.listen({several})\n"
    script += "for _ in range(2): os.kill(os.getpid(), signal.SIGTERM); time.sleep(0.3)\n"
    script += f"time.sleep({0 if several else 60})"
    assert run_python(["-c", script], environment=ENVIRONMENT).returncode == code
