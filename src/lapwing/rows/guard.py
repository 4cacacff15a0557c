"""Keep private values out of exceptions, warnings and tracebacks, and out of what compiled libraries print.

Exceptions of the libraries that read tables quote cells. Code of others that touches rows therefore runs inside
`run_guarded`, and public calls that are given rows are `bounded`. Both raise outside of the except block, so that
``__context__`` is empty, and hold no rows in the frame that raises; `native_silence` drops what Rust prints itself.
"""

import contextlib
import errno
import functools
import inspect
import os
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, NoReturn, ParamSpec, TypeVar

import numpy as np

from lapwing.errors import CallInterrupted, DataError, LapwingError, LapwingWarning, ParameterError

P = ParamSpec("P")
T = TypeVar("T")

_PACKAGE = Path(__file__).resolve().parents[1]


def run_guarded(what: str, work: Callable[[], T]) -> T:
    """Run code of others on private rows, and let no value out through an exception or a warning.

    `what`, the start of the error sentence, is built from settings and schema only.

    >>> run_guarded("the table cannot be read", lambda: int("secret"))
    Traceback (most recent call last):
    lapwing.errors.DataError: the table cannot be read (ValueError)
    `lapwing explain LW103` says why, and what to do
    """
    with _QUIET.lasting(), native_silence():
        outcome = _attempt(work)
    del work
    if not isinstance(outcome, _Failure):
        return outcome
    _raise(outcome.own or DataError(f"{what} ({outcome.words})", code="LW103"))


def cell_by_cell(function: Callable[[list[object]], Sequence[T]], cells: list[object], otherwise: T) -> Sequence[T]:
    """Return what a function makes of cells, each by itself; `otherwise` where a cell's own methods raise.

    Interrupts alone go on, also out of a cell's own method.

    >>> cell_by_cell(lambda cells: [1 // cell for cell in cells], [1, 0, 2], -1)
    [1, -1, 0]
    """
    outcome = _attempt(functools.partial(function, cells))
    if not isinstance(outcome, _Failure):
        return outcome
    if isinstance(outcome.own, KeyboardInterrupt | CallInterrupted):
        _raise(outcome.own)
    if len(cells) == 1:
        return [otherwise]
    return [each for cell in cells for each in cell_by_cell(function, [cell], otherwise)]


def native_silence() -> AbstractContextManager[None]:
    """Drop what compiled libraries print on file descriptor 2, such as Rust's word on a failed assertion.

    Process-wide, as the descriptor is: what other threads print there meanwhile is dropped too. Inside of another one,
    or where the descriptor is closed, this does nothing.

    >>> with native_silence():
    ...     _ = os.write(2, b"assertion failed: 40 rows")
    """
    return _SILENCE.lasting()


class _Shared:
    """Something done to the whole process, from the first who asks for it until the last has ended, of all threads."""

    __slots__ = ("_begin", "_depth", "_lock", "_undone")

    def __init__(self, begin: Callable[[], contextlib.ExitStack]) -> None:
        # A collection of garbage may end the silence of a forgotten reader while this thread has the lock.
        self._lock = threading.RLock()
        self._depth = 0
        self._begin = begin
        self._undone: contextlib.ExitStack | None = None

    @contextlib.contextmanager
    def lasting(self) -> Iterator[None]:
        """Ask for it, and end; an OSError leaves all as it was."""
        with self._lock:
            self._depth += 1
            try:
                if self._depth == 1 and self._undone is None:
                    self._undone = self._begin()
            except OSError:
                self._depth -= 1
                raise
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                if self._depth == 0 and self._undone is not None:
                    self._undone.close()
                    self._undone = None


def _without_warnings() -> contextlib.ExitStack:
    undone = contextlib.ExitStack()
    undone.enter_context(warnings.catch_warnings())
    before = [*warnings.filters, ("default", None, Warning, None, 0)]
    warnings.simplefilter("ignore")
    # Ours hold no value, and may be another thread's: for them alone the caller's filters stay.
    ours = [(*each[:2], LapwingWarning, *each[3:]) for each in before if issubclass(LapwingWarning, each[2])]
    warnings.filters[:0] = ours  # type: ignore[index]
    return undone


def _led_to_nowhere() -> contextlib.ExitStack:
    """Lead descriptor 2 to nowhere, unless it is closed, and prints nothing."""
    undone = contextlib.ExitStack()
    try:
        before = os.dup(_STDERR)
    except OSError as error:
        if error.errno == errno.EBADF:
            return undone
        raise
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
    except OSError:
        os.close(before)
        raise
    os.dup2(nowhere, _STDERR)
    os.close(nowhere)
    undone.callback(os.close, before)
    undone.callback(os.dup2, before, _STDERR)
    return undone


_WORDS: Final = {
    "BadGzipFile": "it is not in gzip's format",
    "ComputeError": "it is damaged, or something else than its name or type says",
    "PermissionError": "permission denied",
}
"""What is said of common exceptions; of another one its type is, which tells a developer more."""

_STDERR: Final = 2
_SILENCE: Final = _Shared(_led_to_nowhere)
_QUIET: Final = _Shared(_without_warnings)


def numbers_of_records(
    function: Callable[[dict[str, object]], object], records: Iterable[dict[str, object]]
) -> Iterator[int | float | None]:
    """Call code of others with one private record at a time, and take nothing but numbers from it.

    Each record is a fresh dict, which the function may keep or change. Its number may not be finite. None where the
    function raises anything but ``KeyboardInterrupt`` (``SystemExit`` and ``MemoryError`` too), or returns anything but
    an int, a float, a bool (1 or 0) or a NumPy scalar of one of those kinds. What it warns of is not shown.

    >>> list(numbers_of_records(lambda row: 1 / row["x"], [{"x": 2}, {"x": 0}]))
    [0.5, None]
    """
    for record in records:
        with _QUIET.lasting():
            found = _number_of_record(function, record)
        yield found


ROWS: Final = ("data", "real", "test", "tables", "parent", "child", "X", "frame")
"""What parameters are called that take private rows."""


def bounded(function: Callable[P, T], enter: Callable[[object], AbstractContextManager[object]]) -> Callable[P, T]:
    """Wrap a public call that is given rows, so that what it raises leads to no row.

    Errors of ours come out without context and without the frames between the caller and the place of the error; any
    other exception becomes a `LapwingError` that names its type and our line, but for ``KeyboardInterrupt`` and
    ``SystemExit``, as in `run_guarded`. A missing or unknown argument is a `ParameterError` before the call begins.

    enter: makes of what is given under a name of `ROWS` what the call gets, for as long as it lasts.
    """
    signature = inspect.signature(function)
    name = function.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__")

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        mistake = _mistake(signature, args, kwargs)
        if mistake:
            del args, kwargs
            _raise(ParameterError(f"{name}(): {mistake}", code="LW308"))
        outcome = _attempt(functools.partial(_entered, function, signature.bind(*args, **kwargs), enter))
        del args, kwargs
        if not isinstance(outcome, _Failure):
            return outcome
        said = f"unexpected {outcome.type_name} at {outcome.place}; please report it"
        _raise(outcome.own or LapwingError(said, code="LW901"))

    return call


def _entered(
    function: Callable[..., T], given: inspect.BoundArguments, enter: Callable[[object], AbstractContextManager[object]]
) -> T:
    """Make a call with what is entered of its rows."""
    with contextlib.ExitStack() as entered:
        for name in [each for each in given.arguments if each in ROWS]:
            given.arguments[name] = entered.enter_context(enter(given.arguments[name]))
        return function(*given.args, **given.kwargs)


class _Failure:
    """What may be said of an exception: itself if it is ours, or its type and place."""

    __slots__ = ("own", "place", "type_name", "words")

    def __init__(self, error: BaseException) -> None:
        self.own = _own(error)
        name = type(error).__name__
        self.type_name = name
        self.words = _WORDS.get(name, name)
        self.place = _our_last_line(error.__traceback__)


def _attempt(work: Callable[[], T]) -> "T | _Failure":
    """Return the result of `work`, or what may be said of the exception that ended it."""
    try:
        # With the user's own settings of NumPy a cell close to zero may raise, or be printed.
        with np.errstate(all="ignore"):
            return work()
    except BaseException as error:  # a failed assertion inside Polars is no ``Exception``
        return _Failure(error)


def _own(error: BaseException) -> BaseException | None:
    """Return what goes on as it is: our own errors, and the ends that others ask for, whose own could carry cells."""
    if isinstance(error, LapwingError | CallInterrupted):
        return error
    if isinstance(error, KeyboardInterrupt) or _is_interrupted_panic(error):
        return KeyboardInterrupt()
    return SystemExit(1) if isinstance(error, SystemExit) else None


def _is_interrupted_panic(error: BaseException) -> bool:
    """Return whether Rust gave up because of Ctrl-C, which reaches us as a panic where Polars does not translate it."""
    is_panic = type(error).__name__ == "PanicException"
    return is_panic and any(each in str(error) for each in ("KeyboardInterrupt", "KEYBOARD_INTERRUPT"))


def _number_of_record(function: Callable[[dict[str, object]], object], record: dict[str, object]) -> int | float | None:
    """Return the number that a function gives for a record, or None where it gives none."""
    found, is_stopped = None, False
    try:
        # What is not of these types itself could run code of its own when it is used as a number.
        with np.errstate(all="ignore"):
            found = function(record)
            if isinstance(found, np.bool_ | np.integer | np.floating):
                found = found.item()
    except KeyboardInterrupt:
        is_stopped = True
    except BaseException:
        found = None
    if is_stopped:
        raise KeyboardInterrupt  # a new one: the function's own could carry the record
    kind = type(found)  # compared by identity: a metaclass could have an equality of its own
    return found if kind is bool or kind is int or kind is float else None  # type: ignore[return-value]


def _mistake(signature: inspect.Signature, args: tuple[object, ...], kwargs: dict[str, object]) -> str | None:
    """Return what is wrong with the arguments of a call, in names alone, and what the call takes."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        said = str(error)  # Python's own sentence names parameters, never a value
    else:
        return None
    by_name = [name for name, each in signature.parameters.items() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    placed = [name for name in signature.parameters if name not in (*by_name, "self")]
    listed = f" and, by name, {', '.join(by_name)}" if by_name else ""
    return f"{said}; it takes {', '.join(placed)}{listed}"


def _our_last_line(trace: types.TracebackType | None) -> str:
    """Return file and line of the innermost frame of this package, public text only."""
    place = "an unknown place"
    for frame, line in traceback.walk_tb(trace):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(_PACKAGE):
            place = f"{path.relative_to(_PACKAGE.parent).as_posix()}:{line}"
    return place


def _raise(error: BaseException) -> NoReturn:
    """Raise `error` with nothing attached that leads back to rows."""
    try:
        raise error.with_traceback(None) from None
    finally:
        # Set by the statement above wherever a caller is handling another exception.
        error.__context__ = None
