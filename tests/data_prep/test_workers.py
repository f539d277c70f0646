"""Work in several processes: results in order, and a dead worker is told, not waited for."""

import os
import signal

import pytest

from lib.workers import ordered_map

from fairseq_outlayers.errors import UserError


def die_at_seven(number):
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_order_across_chunks(workers):
    with ordered_map(workers) as mapping:
        assert list(mapping(str, iter(range(1000)))) == [str(i) for i in range(1000)]


def test_worker_that_dies_is_an_error_with_advice():
    message = r"one of 2 worker processes died .*fewer --workers"
    with pytest.raises(UserError, match=message), ordered_map(2) as mapping:
        list(mapping(die_at_seven, iter(range(1000))))
