"""Work in several threads whose results come in order."""

import threading
import time

import pytest

from lapwing.table.in_order import in_order, usable_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_however_long_each_takes(threads):
    def slow(number):
        time.sleep(0.01 * (number % 3))
        return number

    assert list(in_order(slow, 10, threads)) == list(range(10))


def test_no_more_results_wait_than_are_stated():
    begun = []

    def work(number):
        begun.append(number)
        return number

    results = in_order(work, 100, 2)
    assert next(results) == 0
    time.sleep(0.1)

    assert len(begun) <= 4
    results.close()


def test_an_exception_ends_it_and_sets_the_event_before_running_calls_are_waited_for():
    is_over, ended_early = threading.Event(), []

    def work(number):
        if number == 0:
            raise ValueError("no more")
        ended_early.append(is_over.wait(30))

    with pytest.raises(ValueError, match="no more"):
        list(in_order(work, 3, 2, is_over))

    assert all(ended_early)
    assert is_over.is_set()


def test_there_is_always_a_thread_to_use():
    assert 1 <= usable_threads() <= 8
