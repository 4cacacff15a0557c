"""How far long work is, and who is shown it: a bar on a terminal or in a notebook, lines in a log, a function.

How far a release is is public, because kinds and costs of the answers are. Also how the work ends before its time:
Ctrl-C, or a function of the caller's that raises.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from lapwing.errors import CallInterrupted, LapwingError, ParameterError, visible
from lapwing.kernel.questions.misfit_rows.question import NoisyRows
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.room.begun import Finish, collect_runs, finished_by, resume_hint

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from lapwing.release.runs.settings import TableSettings


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
def _holding(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Let a variable have a value inside."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def watch_releases(watch: Watch) -> contextlib.AbstractContextManager[None]:
    """Tell ``watch`` of every step of the releases that are made inside; elsewhere nobody is told.

    watch: gets a `Progress` before the first answer and its debit, and after each; after one that watches outside.
    """
    outer = _WATCH.get()

    def both(step: Progress) -> None:
        for each in (outer, watch):
            if each is not None:
                each(step)

    return _holding(_WATCH, both)


def report_progress(step: str, share: float) -> None:
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

    return _holding(_WATCH, tell)


def untold() -> contextlib.AbstractContextManager[None]:
    """Tell nobody of the steps inside."""
    return _holding(_WATCH, None)


def progress_counter(total: int, step: str) -> Callable[[int], None]:
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

    __slots__ = ("_is_table", "_one_way", "_rounds", "_settings", "_spent")

    def __init__(self, settings: "TableSettings", recorded: Sequence[Answer]) -> None:
        self._settings = settings
        self._spent = Fraction(0)
        self._one_way = 0  # tables of one column
        self._rounds, self._is_table = 0, False  # rounds that were measured; whether the last answer is a table of one
        self.add(recorded)

    def add(self, answers: Sequence[Answer]) -> None:
        """Count the answers, and tell."""
        for answer in answers:
            self._spent += answer.question.cost.amount
            if isinstance(answer, NoisyRows):
                continue
            self._one_way += len(answer.question.columns) == 1
            is_table = len(answer.question.columns) > 1 and not isinstance(answer, Selection)
            self._rounds += is_table and not self._is_table
            self._is_table = is_table
        if _WATCH.get() is not None:
            report_progress(self._step(), float(self._spent / self._settings.request.budget.amount))

    def _step(self) -> str:
        """Say what comes next."""
        if self._spent >= self._settings.request.budget.amount * _ALL_BUT_ROUNDING:
            return "fitting"
        return self._settings.mechanism.next_step(self._settings.schema, self._one_way, self._rounds)


# -- Who is shown how far long work is.


ProgressLike = bool | Watch | None  # what public calls take as ``progress``

_AFTER: Final = 1.0  # seconds that work lasts before anybody is shown it who did not ask

_IS_DECIDED: ContextVar[bool] = ContextVar("progress is decided", default=False)
_BUDGET: Final = "of the budget spent"


class StoppedError(LapwingError):
    """The caller's own function of progress ended the work."""


@contextlib.contextmanager
def following(
    progress: ProgressLike, *, first: str = "reading and counting", of: str = _BUDGET, finish: Finish = resume_hint
) -> Iterator[None]:
    """Show how far the work inside is, and say in a sentence what to do where it is ended before its time.

    progress: None where somebody watches, after a second; True in any case; False never; or who is told of each step;
    what is done outside decides, where that is shown already; finish: what finishes the work.
    """
    if progress is None and _IS_DECIDED.get():
        yield
        return
    reason, is_stopped = "", False
    with collect_runs() as begun:
        try:
            with show_progress(progress, first=first, of=of), finished_by(finish):
                yield
        except KeyboardInterrupt:
            reason = "interrupted"
        except StoppedError as error:
            reason, is_stopped = str(error), True
        if not reason:
            return
        from lapwing.release.runs.records import kept_transcript  # noqa: PLC0415 - it needs the room

        path = kept_transcript(begun[-1]) if begun else None
    kind = StoppedError if is_stopped else CallInterrupted
    if path is None:
        raise kind(f"{reason}; nothing was spent", code="LW904")
    raise kind(f"{reason}; the answers are kept: {finish(path, False)} finishes free of charge", code="LW905")


@contextlib.contextmanager
def show_progress(progress: ProgressLike, *, first: str, of: str) -> Iterator[None]:
    """Show how far the work inside is, and nothing else."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ParameterError(
            f"progress must be True, False, None or a function, got a {type(progress).__name__}; leave it out",
            code="LW304",
        )
    with _holding(_IS_DECIDED, True), contextlib.ExitStack() as stack:
        if callable(progress):
            stack.enter_context(watch_releases(_asked(progress)))
        elif screen := _screen(progress, of):
            late = _Late(screen, first, 0.0 if progress else _AFTER)
            stack.callback(late.close)
            stack.enter_context(watch_releases(late.show))
        yield


def _asked(watch: Watch) -> Watch:
    """Return what tells the caller's function, whose own exceptions could lead to rows from here."""

    def tell(step: Progress) -> None:
        try:
            watch(step)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - code of the caller's: whatever it raises, the work ends
            name = type(error).__name__
        else:
            return
        raise StoppedError(f"progress raised {name}, which ended the work")

    return tell


# -- Screens.


class _Screen(Protocol):
    def open(self, began: float) -> None:
        """Begin; the work began at this time of `time.monotonic`."""

    def show(self, step: Progress) -> None:
        """Show a step."""

    def close(self) -> None:
        """Take away what goes away."""


def _screen(progress: bool | None, of: str) -> "_Screen | None":
    """Return where a bar is shown; None where nobody watches, or nobody should."""
    if progress is False:
        return None
    if sys.stderr.isatty() or _has_widgets():
        return _Bar(of)
    return _Log(of) if progress else None


def _has_widgets() -> bool:
    """Return whether this runs in a notebook in which rich can draw: it needs ipywidgets."""
    ipython = sys.modules.get("IPython")
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return False
    try:
        import ipywidgets  # noqa: F401, PLC0415 - the notebook's own
    except ImportError:
        return False
    return True


class _Late:
    """A screen that begins once the work has lasted for a while; told by any thread."""

    def __init__(self, screen: _Screen, first: str, after: float) -> None:
        self._screen, self._began = screen, time.monotonic()
        self._step = Progress(step=first, share=0.0)
        self._is_open = self._is_closed = False
        self._lock = threading.RLock()
        self._timer = threading.Timer(after, self._open)
        self._timer.daemon = True
        if after:
            self._timer.start()
        else:
            self._open()

    def _open(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._screen.open(self._began)
                self._is_open = True
                self._screen.show(self._step)

    def show(self, step: Progress) -> None:
        with self._lock:
            self._step = step
            if self._is_open:
                self._screen.show(step)

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_closed = True
            if self._is_open:
                self._screen.close()


_ALMOST: Final = 0.999


def terminal() -> "Console":
    """Return what rich draws bars on: a notebook, or stderr as a terminal, below what makes all other text visible."""
    from rich.console import Console  # noqa: PLC0415

    return Console(file=getattr(sys.stderr, "bare", sys.stderr))


def progress_bar(share: str, **settings: Any) -> "Bar":  # noqa: ANN401 - those of rich
    """Return a bar that says what is done, how much, since when and for how long still."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn  # noqa: PLC0415

    words = (TextColumn(text) for text in ("{task.description}", share, "elapsed, about", "left"))
    what, done, elapsed, left = words
    columns = (what, BarColumn(), done, TimeElapsedColumn(), elapsed, TimeRemainingColumn(), left)
    return Progress(*columns, transient=True, **settings)


_TAKEN = threading.Lock()  # of two releases at once, one has the last line


class _Bar:
    """A bar, gone at the end. The remaining time is extrapolated from the share and the clock."""

    def __init__(self, of: str) -> None:
        self._of = of
        self._bar: Bar | None = None

    def open(self, began: float) -> None:
        if _TAKEN.acquire(blocking=False):
            self._bar = progress_bar("{task.percentage:>3.0f}% " + self._of, console=terminal())
            self._bar.add_task("", total=1.0)
            self._bar.tasks[0].start_time = began
            self._bar.start()

    def show(self, step: Progress) -> None:
        if self._bar is not None:
            # A task that is complete stops its clock, and the last fit is still to come.
            what = visible(step.step)
            self._bar.update(self._bar.task_ids[0], description=what, completed=min(step.share, _ALMOST))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            _TAKEN.release()


class _Log:
    """A line on stderr for each new step, and for each tenth of the whole."""

    def __init__(self, of: str) -> None:
        self._of, self._said = of, ("", 0)

    def open(self, began: float) -> None:
        """Begin with nothing."""

    def show(self, step: Progress) -> None:
        if (step.step, int(step.share * 10)) != self._said:
            self._said = step.step, int(step.share * 10)
            print(f"lapwing: {step.step}, {step.share:.0%} {self._of}", file=sys.stderr, flush=True)  # noqa: T201

    def close(self) -> None:
        """Leave the lines."""
