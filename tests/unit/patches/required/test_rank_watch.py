"""The watch over other processes ends before the interpreter does."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from torch.distributed import Store

from fairseq_outlayers.patches.required import rank_watch
from tests.system.commands import ROOT

# It counts without a pause: so it is within the store when the interpreter ends.
COUNTING = """
import time
from datetime import timedelta
from torch.distributed import TCPStore
from fairseq_outlayers.patches.required import rank_watch

rank_watch.INTERVAL = 0.0
store = TCPStore("127.0.0.1", 0, 1, True, timedelta(seconds=30))
watch = rank_watch.RankWatch(store.clone(), 0, 2, 30.0).start()
time.sleep(0.2)
"""


@pytest.mark.system
@pytest.mark.skipif(not hasattr(Store, "clone"), reason="before PyTorch 2.8 nothing is watched")
def test_a_process_that_ends_while_it_counts_is_not_aborted():
    """Nine in ten were, with the threads left to the end of the interpreter."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", COUNTING],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")


class Counts(dict):
    """A group's store, as far as the watch uses it."""

    def check(self, names):
        return all(name in self for name in names)

    def get(self, name):
        return self[name].encode()

    def set(self, name, value):
        self[name] = value


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(rank_watch.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("counts", "seconds"), [(True, 10), (False, 50)])
def test_a_process_that_stops_counting_or_never_counts_is_named(clock, counts, seconds):
    store = Counts({"1": "0 process 5 on here"}) if counts else Counts()
    watch = rank_watch.RankWatch(store, 0, 2, timeout=10.0)
    for second in range(seconds + 1):
        assert watch.verdict() is None
        watch.exchange(second)
        clock[0] += 1
    said = watch.verdict()
    assert said is not None
    assert "rank 1 (process 5 on here)" in said if counts else "rank 1 (place unknown)" in said


def test_time_in_which_this_process_was_stopped_does_not_count(clock):
    watch = rank_watch.RankWatch(Counts({"1": "0 process 5 on here"}), 0, 2, timeout=10.0)
    watch.exchange(0)
    clock[0] += 60
    watch.excuse(60.0)
    assert watch.verdict() is None
    clock[0] += 11
    assert "rank 1" in watch.verdict()


def test_a_count_that_came_before_the_excuse_is_not_put_into_the_future(clock):
    watch = rank_watch.RankWatch(Counts({"1": "0 process 5 on here"}), 0, 2, timeout=10.0)
    clock[0] += 60
    watch.exchange(0)
    watch.excuse(60.0)
    clock[0] += 11
    assert "rank 1" in watch.verdict()


def test_a_limit_of_0_starts_no_watch(monkeypatch):
    dist = rank_watch.dist
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(dist.distributed_c10d, "_get_default_store", lambda: pytest.fail("starts"))
    rank_watch._start(SimpleNamespace(heartbeat_timeout=0))


def test_a_store_without_a_second_connection_starts_no_watch(monkeypatch, caplog):
    """As before PyTorch 2.8."""
    monkeypatch.setattr(rank_watch.dist, "is_initialized", lambda: True)
    monkeypatch.setattr(rank_watch.dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(rank_watch.dist.distributed_c10d, "_get_default_store", object)
    rank_watch._start(SimpleNamespace(heartbeat_timeout=-1))
    assert rank_watch._watch is None
    assert "--heartbeat-timeout has no effect before PyTorch 2.8" in caplog.text


def test_a_store_that_does_not_answer_is_rank_0(clock):
    watch = rank_watch.RankWatch(Counts(), 1, 3, timeout=10.0)
    clock[0] += 11
    assert "rank 1: rank 0 (place unknown) has not responded for 10 s" in watch.verdict()


def test_a_rank_that_never_counted_is_not_silent_after_this_process_was_stopped(monkeypatch):
    from fairseq_outlayers.patches.required import rank_watch

    now = [100.0]
    monkeypatch.setattr(rank_watch.time, "monotonic", lambda: now[0])
    watch = rank_watch.RankWatch(None, 0, 2, timeout=10.0)
    now[0] += 1000  # stopped with its job
    watch.excuse(1000)
    assert watch.silent(10.0) == []
    now[0] += 51
    assert watch.silent(10.0) == [1]
