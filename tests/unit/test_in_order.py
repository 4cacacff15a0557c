"""Work in several threads whose results come in order."""

import os
import signal
import subprocess
import sys
import threading
import time

import polars  # noqa: F401 - its handling of signals is what a wait must cope with
import pytest

from lapwing.rows.threads import in_order


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

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background of a shell
    stop = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        list(in_order(work, range(3), threads=2, is_over=is_over))
    stop.join()
    signal.signal(signal.SIGINT, before)

    assert sorted(begun) == [0, 1]


@pytest.mark.parametrize(("items", "threads"), [(1, 4), (3, 1)], ids=["item", "thread"])
def test_a_lone_item_or_thread_is_the_callers(items, threads):
    found = list(in_order(lambda _: threading.get_ident(), range(items), threads=threads))

    assert found == [threading.get_ident()] * items


SURPRISED = """
import gc, sys, _thread, time
from lapwing.rows import threads

threads._LONGEST_WAIT = 0.01
gc.disable()

def left():
    cycle = [threads.in_order(abs, range(9), threads=2)]
    next(cycle[0])
    cycle.append(cycle)

def work(item):
    time.sleep(0.001)
    return item

def run(at):
    events = 0
    def surprise(frame, event, _):
        nonlocal events
        events += event in ("call", "c_return")  # where Python itself looks for signals
        if events == at:
            events += 1
            SURPRISE
    sys.setprofile(surprise)
    try:
        assert list(threads.in_order(work, range(4), threads=2)) == [0, 1, 2, 3]
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return events > at

def stays():
    until = time.monotonic() + 10
    while _thread._count() and time.monotonic() < until:
        time.sleep(0.001)
    return _thread._count()

at = 1
while left() or run(at):
    gc.collect()
    assert not stays()
    at += 1
left()
print(at)
"""


@pytest.mark.parametrize("surprise", ["raise KeyboardInterrupt", "gc.collect()"], ids=["interrupt", "garbage"])
def test_neither_an_interrupt_nor_a_left_iterator_in_garbage_leaves_threads_that_wait_for_ever(surprise):
    command = [sys.executable, "-c", SURPRISED.replace("SURPRISE", surprise)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def test_an_iterator_that_ends_in_one_of_its_own_threads_as_garbage_may_waits_for_nobody():
    is_left, is_closed, found = threading.Event(), threading.Event(), []

    def work(item):
        if item == 1:
            is_left.wait(20)
            found[0].close()
            is_closed.set()
        return item

    found.append(in_order(work, range(9), threads=2))
    assert next(found[0]) == 0
    is_left.set()

    assert is_closed.wait(20)


FORKED = """
import os
from lapwing.rows.threads import in_order

left = in_order(abs, range(9), threads=2)
next(left)
child = os.fork()
left.close()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_waits_for_no_thread_of_the_other():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], timeout=30, check=True)
