"""How far a running release is: public, because kinds and costs of the answers are."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.select_worst.question import Selected

if TYPE_CHECKING:
    from lapwing.runs.settings import Settings


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Say how far a release is.

    share: part of the budget that is spent, or of the steps that are done, 0 to 1.
    """

    step: str
    share: float


_ALL_BUT_ROUNDING = Fraction(9_999, 10_000)
"""A budget of which this part is spent is spent: an ε bought with a ρ is rounded down."""

Watch = Callable[[Progress], None]  # is told of every step

_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextlib.contextmanager
def holding(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Let a variable have a value inside."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def watched(watch: Watch) -> contextlib.AbstractContextManager[None]:
    """Tell ``watch`` of every step of the releases that are made inside; elsewhere nobody is told.

    watch: gets a `Progress` before the first answer and its debit, and after each; after one that watches outside.
    """
    outer = _WATCH.get()

    def both(step: Progress) -> None:
        for each in (outer, watch):
            if each is not None:
                each(step)

    return holding(_WATCH, both)


def told(step: str, share: float) -> None:
    """Tell whoever watches of a step; nobody where nobody does.

    share: part of the work that is done, 0 to 1.
    """
    watch = _WATCH.get()
    if watch is not None:
        watch(Progress(step=step, share=share))


def part_told(what: str, before: float, share: float) -> contextlib.AbstractContextManager[None]:
    """Tell whoever watches of the steps inside as of a part of the whole, which begins once ``before`` is done."""
    watch = _WATCH.get()

    def tell(step: Progress) -> None:
        if watch is not None:
            watch(Progress(step=f"{what}: {step.step}", share=before + share * step.share))

    return holding(_WATCH, tell)


def counted(total: int, step: str) -> Callable[[int], None]:
    """Return what tells whoever watches now that more of ``total`` is done; it is called by any thread."""
    watch, lock, done = _WATCH.get(), threading.Lock(), 0

    def add(more: int) -> None:
        nonlocal done
        with lock:
            done += more
            if watch is not None:
                watch(Progress(step=step, share=done / max(total, 1)))

    return add


class ReleaseProgress:
    """Tell whoever watches how far a release is."""

    __slots__ = ("_is_table", "_one_way", "_rounds", "_settings", "_spent", "_watch")

    def __init__(self, settings: "Settings", recorded: Sequence[Answer]) -> None:
        self._settings = settings
        self._watch = _WATCH.get()
        self._spent = Fraction(0)
        self._one_way = 0  # tables of one column
        self._rounds, self._is_table = 0, False  # rounds that were measured; whether the last answer is a table of one
        self.add(recorded)

    def add(self, answers: Sequence[Answer]) -> None:
        """Count the answers, and tell."""
        for answer in answers:
            self._spent += answer.question.cost.amount
            self._one_way += len(answer.question.columns) == 1
            is_table = len(answer.question.columns) > 1 and not isinstance(answer, Selected)
            self._rounds += is_table and not self._is_table
            self._is_table = is_table
        if self._watch is not None:
            self._watch(Progress(step=self._step(), share=float(self._spent / self._settings.request.budget.amount)))

    def _step(self) -> str:
        """Say what comes next."""
        if self._spent >= self._settings.request.budget.amount * _ALL_BUT_ROUNDING:
            return "fitting"
        from lapwing.mechanisms.registry import registration_of  # noqa: PLC0415

        known = registration_of(self._settings.mechanism)
        return known.next_step(self._settings.schema, self._one_way, self._rounds)
