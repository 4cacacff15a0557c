"""Work of several threads whose results come in order: chunks of a table that is read, or rows that are written.

NumPy and Polars let other threads run while they compute, so that threads share the cores of a machine. At most a
fixed number of chunks is in memory at a time, whatever the length of the table.
"""

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final, TypeVar

S = TypeVar("S")
T = TypeVar("T")

_MOST_WORKERS: Final = 8
"""More threads than this wait for the one that reads."""

_LONGEST_WAIT: Final = 0.2
"""Seconds until the caller's thread looks for Ctrl-C: where Polars is loaded, a signal ends no wait for a lock."""


def workers() -> int:
    """Return how many threads work on chunks: one for each core that this process may use, and no more than 8.

    Examples
    --------
    >>> 1 <= workers() <= 8
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST_WORKERS, cores)


def in_order(
    work: Callable[[S], T], items: Iterable[S], *, threads: int | None = None, is_over: threading.Event | None = None
) -> Iterator[T]:
    """Yield ``work(item)`` for every item, in order, while threads work on those that follow.

    Parameters
    ----------
    work : callable
        Of one item; called in other threads, several at a time. It changes nothing that others read.
    items : iterable
        Taken one by one in the thread of the caller, at most ``threads + 1`` ahead.
    threads : int, at least 1, optional
        `workers` where None.
    is_over : Event, optional
        Set at the end, also an early one, before what is being worked on is waited for: it may then end early too.

    Yields
    ------
    object
        The results, in the order of the items.

    Raises
    ------
    Exception
        What `work` raised, for the first item for which it did. Nothing is begun after that, nor after a
        ``KeyboardInterrupt``, nor once the caller is done with this iterator; what is being worked on is waited for.

    Notes
    -----
    A lone item is worked on in the caller's thread, and so is every item where there is one thread.

    Examples
    --------
    >>> list(in_order(abs, [-3, 1, -2]))
    [3, 1, 2]
    """
    most = workers() if threads is None else threads
    each = iter(items)
    first = list(itertools.islice(each, 2))
    if len(first) < 2 or most < 2:
        yield from map(work, itertools.chain(first, each))
        return
    pool = ThreadPoolExecutor(most)
    try:
        begun: deque[Future[T]] = deque()
        for item in itertools.chain(first, each):
            begun.append(pool.submit(work, item))
            if len(begun) > most:
                yield _result(begun.popleft())
        while begun:
            yield _result(begun.popleft())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # first, so that a thread that ends early begins no other call
        if is_over is not None:
            is_over.set()
        pool.shutdown()


def _result(future: Future[T]) -> T:
    while not future.done():
        wait([future], timeout=_LONGEST_WAIT)
    return future.result()


def each_done(work: Callable[[S], None], items: Iterable[S]) -> None:
    """Call ``work(item)`` for every item, several at a time, in any order; like `in_order` otherwise.

    Examples
    --------
    >>> seen: list[int] = []
    >>> each_done(seen.append, [5, 5])
    >>> seen
    [5, 5]
    """
    deque(in_order(work, items), maxlen=0)
