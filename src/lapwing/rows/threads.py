"""Work of several threads whose results come in order: chunks of a table that is read, or rows that are written.

NumPy and Polars let other threads run while they compute. At most a fixed number of chunks is in memory at a time.
"""

import _thread
import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

S = TypeVar("S")
T = TypeVar("T")

_MOST_WORKERS: Final = 8
"""More threads than this wait for the one that reads."""

_LONGEST_WAIT: Final = 0.2
"""Seconds until the caller's thread looks for Ctrl-C: where Polars is loaded, a signal ends no wait for a lock."""


def workers() -> int:
    """Return how many threads work on chunks: one for each core that this process may use, and no more than 8.

    >>> 1 <= workers() <= 8
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST_WORKERS, cores)


def in_order(
    work: Callable[[S], T], items: Iterable[S], *, threads: int | None = None, is_over: threading.Event | None = None
) -> Iterator[T]:
    """Yield ``work(item)`` for every item, in order, while threads work on those that follow.

    Work changes nothing that others read. Items are taken one by one in the thread of the caller, at most ``threads +
    1`` ahead; a lone item is worked on there, and so is every item where there is one thread. `is_over` is set at the
    end, also an early one, before what is being worked on is waited for: it may then end early too.

    >>> list(in_order(abs, [-3, 1, -2]))
    [3, 1, 2]
    """
    most = workers() if threads is None else threads
    each = iter(items)
    first = list(itertools.islice(each, 2))
    if len(first) < 2 or most < 2:
        yield from map(work, itertools.chain(first, each))
        return
    crew = _Crew(work, most)
    try:
        begun: deque[_Call[S, T]] = deque()
        for item in itertools.chain(first, each):
            begun.append(crew.begin(item))
            if len(begun) > most:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        # Plain steps, not a function of ours, on whose entry an interrupt could leave the threads to wait for ever.
        crew.is_stopped = True  # first, so that a thread that ends early begins no other call
        crew.calls.put(None)
        if is_over is not None:
            is_over.set()
        crew.wait()


class _Call(Generic[S, T]):
    """One item, and what became of it.

    Threads here wait for plain locks and queues alone: those of `threading` and `concurrent.futures` are made of
    several steps, and an interrupt, or garbage collected between two of them, may leave a lock held for ever.
    """

    __slots__ = ("_error", "_is_done", "_item", "_result", "_work")

    def __init__(self, work: Callable[[S], T], item: S) -> None:
        self._work, self._item = work, item
        self._error: BaseException | None = None
        self._is_done = threading.Lock()
        self._is_done.acquire()

    def run(self) -> None:
        """Work on the item, in whatever thread."""
        with self:
            self._result = self._work(self._item)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self._error = error
        self._is_done.release()
        return True

    def is_open(self) -> bool:
        """Return whether it has not ended yet."""
        return self._is_done.locked()

    def result(self) -> T:
        """Wait, and return what the work returned, or raise what it raised."""
        while not self._is_done.acquire(timeout=_LONGEST_WAIT):
            pass
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # whose frames lead to it
        return self._result


class _Crew(Generic[S, T]):
    """Threads that make calls in the order in which they are begun.

    Started at Python's lowest level: an interrupt while ``threading.Thread`` waits could leave a lock for ever.
    """

    __slots__ = ("_begun", "_last", "_members", "_most", "_process", "_work", "calls", "is_stopped")

    def __init__(self, work: Callable[[S], T], most: int) -> None:
        self._work, self._most, self._begun = work, most, 0
        self._process = os.getpid()
        self.calls: SimpleQueue[_Call[S, T] | None] = SimpleQueue()  # after None, which stays in it, nothing is taken
        self.is_stopped = False
        self._members: list[tuple[int, threading.Lock]] = []
        self._last: _Call[S, T] | None = None

    def begin(self, item: S) -> _Call[S, T]:
        """Have a call made; another thread is started while there are fewer than allowed and the last call is open."""
        call = _Call(self._work, item)
        self.calls.put(call)
        if self._begun < self._most and (self._last is None or self._last.is_open()):
            self._begun += 1
            # No process waits at its end for a thread whose iterator was left: one that works on nothing else matters.
            _thread.start_new_thread(self._serve, ())
        self._last = call
        return call

    def _serve(self) -> None:
        is_gone = threading.Lock()
        is_gone.acquire()
        # Before it looks whether all has been stopped: a thread that `wait` does not see makes no call.
        self._members.append((threading.get_ident(), is_gone))
        try:
            while (call := self.calls.get()) is not None:
                if not self.is_stopped:
                    call.run()
                del call  # or its rows would stay while the next one is waited for
            self.calls.put(None)  # for the next thread
        finally:
            is_gone.release()

    def wait(self) -> None:
        """Wait until the calls that are being made have ended; a thread that stops itself waits for nobody."""
        members = list(self._members)
        # In a process that was forked there are no other threads.
        if self._process != os.getpid() or any(ident == threading.get_ident() for ident, _ in members):
            return
        for _, is_gone in members:
            # Nor does another thread go on once the process is at its end.
            while not sys.is_finalizing() and not is_gone.acquire(timeout=_LONGEST_WAIT):
                pass


def each_done(work: Callable[[S], None], items: Iterable[S]) -> None:
    """Call ``work(item)`` for every item, several at a time, in any order; like `in_order` otherwise."""
    deque(in_order(work, items), maxlen=0)
