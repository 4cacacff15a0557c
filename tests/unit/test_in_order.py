"""Work in several threads whose results come in order."""

import os
import signal
import threading
import time

import polars  # noqa: F401 - its handling of signals is what a wait must cope with
import pytest

from lapwing.table.threads import in_order, workers


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_however_long_each_takes(threads):
    def slow(number):
        time.sleep(0.01 * (number % 3))
        return number

    assert list(in_order(slow, range(10), threads=threads)) == list(range(10))


def test_no_more_results_wait_than_are_stated():
    begun = []

    def work(number):
        begun.append(number)
        return number

    results = in_order(work, range(100), threads=2)
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
        list(in_order(work, range(3), threads=2, is_over=is_over))

    assert all(ended_early)
    assert is_over.is_set()


def test_an_interrupt_ends_it_without_the_calls_that_have_not_begun():
    is_over, begun = threading.Event(), []

    def work(number):
        begun.append(number)
        is_over.wait(30)

    stop = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        list(in_order(work, range(3), threads=2, is_over=is_over))
    stop.join()

    assert sorted(begun) == [0, 1]


@pytest.mark.parametrize(("items", "threads"), [(1, 4), (3, 1)], ids=["item", "thread"])
def test_a_lone_item_or_thread_is_the_callers(items, threads):
    found = list(in_order(lambda _: threading.get_ident(), range(items), threads=threads))

    assert found == [threading.get_ident()] * items


def test_there_is_always_a_thread_to_use():
    assert 1 <= workers() <= 8
