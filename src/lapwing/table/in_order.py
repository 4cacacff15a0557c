"""Work of several threads whose results come in order. Sees no private row."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

_MOST_THREADS = 8
"""More would hold more chunks of rows than they save time."""
_PATIENCE_SECONDS = 0.1


def usable_threads() -> int:
    """Return how many threads this process may run at once, at most 8."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MOST_THREADS)


def in_order(work: Callable[[int], T], count: int, threads: int, is_over: threading.Event | None = None) -> Iterator[T]:
    """Call a function with 0, 1, ... in several threads, and yield what it returns in order.

    Parameters
    ----------
    work : callable
        May be called by several threads at once.
    count : int, at least 0
        Number of calls.
    threads : int, at least 1
        With 1 no thread is started.
    is_over : Event, optional
        Set at the end, also an early one, before calls that have begun are waited for: they may then end early too.

    Yields
    ------
    T
        At most ``threads + 1`` results wait to be taken.

    Notes
    -----
    An exception of a call, or one raised while a result is waited for, ends it: calls that have not begun are never
    made, and those that have are waited for.

    Examples
    --------
    >>> list(in_order(lambda number: number**2, 4, 2))
    [0, 1, 4, 9]
    """
    if threads == 1 or count == 1:
        yield from map(work, range(count))
        return
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for number in range(count):
            waiting.append(pool.submit(work, number))
            if len(waiting) > threads:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # first, so that a thread that ends early begins no other call
        if is_over is not None:
            is_over.set()
        pool.shutdown()


def _result(future: Future[T]) -> T:
    """Return what a call returned, or raise what it raised; an interrupt ends the wait soon.

    Where Polars is loaded, a signal ends no wait for a lock: the system goes on with it.
    """
    while not future.done():
        wait((future,), timeout=_PATIENCE_SECONDS)
    return future.result()
