"""Work on the chunks of a table in several threads, with results in the order of the chunks.

NumPy and Polars let other threads run while they compute, so that threads share the cores of a machine. At most a
fixed number of chunks is in memory at a time, whatever the length of the table.
"""

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

S = TypeVar("S")
T = TypeVar("T")

_MOST_WORKERS: Final = 8
"""More threads than this wait for the one that reads."""


def workers() -> int:
    """Return how many threads work on chunks: one for each core that this process may use, and no more than 8.

    Examples
    --------
    >>> 1 <= workers() <= 8
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST_WORKERS, cores)


def in_order(work: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Yield ``work(item)`` for every item, in order, while threads work on those that follow.

    Parameters
    ----------
    work : callable
        Of one item; called in other threads, several at a time. It changes nothing that others read.
    items : iterable
        Taken one by one in the thread of the caller, at most ``workers() + 1`` ahead.

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
    A lone item is worked on in the caller's thread, and so is every item where there is one core.

    Examples
    --------
    >>> list(in_order(abs, [-3, 1, -2]))
    [3, 1, 2]
    """
    each = iter(items)
    first = list(itertools.islice(each, 2))
    if len(first) < 2 or workers() < 2:
        yield from map(work, itertools.chain(first, each))
        return
    most = workers()
    pool = ThreadPoolExecutor(most)
    try:
        begun: deque[Future[T]] = deque()
        for item in itertools.chain(first, each):
            begun.append(pool.submit(work, item))
            if len(begun) > most:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


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
