"""Read Dask frames, and run steps of ours on the workers that have their partitions.

What Dask says when a task fails may quote cells: nothing of it but the type of the error is passed on. Steps of ours
return what went wrong instead of raising it, because a worker logs the arguments of a task that raises.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from lapwing.errors import DataError
from lapwing.table.cells import RawColumn
from lapwing.table.distributed import STOPPED, check_installed, fault_of, fault_text, installed
from lapwing.table.guard import guarded
from lapwing.table.pandas_frames import PandasReader, is_nested_pandas
from lapwing.table.threads import workers

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

T = TypeVar("T")

_WHAT: Final = "the Dask frame cannot be computed; see that its sources are in place, and its workers have Lapwing"
_MERGED: Final = 8  # answers of partitions that one task sums


class DaskReader:
    """Read a Dask frame, some partitions at a time, in their order; every pass computes them anew.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    """

    def __init__(self, frame: "dd.DataFrame") -> None:
        self.frame = frame
        self.kind: Literal["dask"] = "dask"
        self.known_rows: int | None = None
        self.names: list[Any] = guarded(_WHAT, lambda: list(frame.columns))
        self._types = guarded(_WHAT, lambda: list(frame.dtypes))

    @property
    def nested(self) -> set[str]:
        """The names of columns that hold several values per cell."""
        return {name for name, dtype in zip(self.names, self._types, strict=True) if is_nested_pandas(dtype)}

    def selected(self, columns: Sequence[str]) -> Any:  # noqa: ANN401 - a Dask frame, which has half a type
        """Return the frame with some columns alone."""
        return guarded(_WHAT, lambda: self.frame[list(columns)])

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        for part in in_turn(partitions(self.selected(columns))):
            yield from part_cells(part, columns, rows)


# ------------------------------------------------------------------------------------------------------------- tasks


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong on a worker: the code and the sentence of an error of ours."""

    sentence: str


def partitions(frame: Any) -> list[Any]:  # noqa: ANN401 - a Dask frame, which has half a type
    """Return the partitions of a frame as values that Dask has yet to compute."""
    return guarded(_WHAT, lambda: list(frame.to_delayed()))


def worked(step: Callable[..., T], parts: Sequence[Any], *told: object) -> list[Any]:
    """Return ``step(part, *told)`` of each part, as values that the workers have yet to compute.

    Parameters
    ----------
    step : callable
        A function of a module; what it raises as an error of ours becomes a `Fault`, which later steps pass on.
    parts : sequence
        Of `partitions` or of this function.
    told : tuple
        What each task is told besides: settings, never a cell.
    """
    # Random names: Dask would name the arguments by what they hold, and look them through for tasks.
    sent = _dask().delayed((installed(), *told), name=f"lapwing-{uuid.uuid4()}", traverse=False)
    task = _dask().delayed(on_worker, pure=False, traverse=False)
    return [task(step, part, sent) for part in parts]


def merged(step: Callable[..., T], parts: Sequence[Any], *told: object) -> T:
    """Compute ``step([part, part, ...], *told)`` of all parts, some at a time, as a tree, and return it.

    Raises
    ------
    DataError
    """
    gather = _dask().delayed(_gathered, pure=False)
    while True:
        bundles = [gather(list(parts[start : start + _MERGED])) for start in range(0, len(parts), _MERGED)]
        parts = worked(step, bundles, *told)
        if len(parts) == 1:
            found: T = computed(parts)[0]
            return found


def computed(parts: Sequence[Any]) -> list[Any]:
    """Have Dask compute some values at once, with the scheduler that the user has set.

    Raises
    ------
    DataError
        If a task fails, in one sentence without what Dask says, or a worker found a fault.
    """
    return _checked(guarded(_WHAT, lambda: list(_dask().compute(*parts))))


def in_turn(parts: list[Any]) -> Iterator[Any]:
    """Yield some values in their order, and empty the list; few of them are in this process at a time."""
    while parts:
        found = computed(parts[: workers()])
        del parts[: workers()]
        while found:
            yield found.pop(0)


def held(parts: Sequence[Any]) -> list[Any]:
    """Have the workers compute some values and keep them until they are asked for and dropped."""
    return guarded(_WHAT, lambda: list(_dask().persist(*parts)))


def _dask() -> Any:  # noqa: ANN401 - a module, of which half has types
    import dask  # noqa: PLC0415 - the user's own

    return dask


def _checked(values: list[Any]) -> list[Any]:
    faults = sorted(value.sentence for value in values if isinstance(value, Fault))
    if faults:
        raise fault_of(faults[0])
    return values


# -------------------------------------------------------------------------------------------------------- on workers


def on_worker(step: Callable[..., T], part: Any, sent: tuple[Any, ...]) -> T | Fault:  # noqa: ANN401 - a partition
    """Run a step on one part; return what went wrong instead of raising it."""
    if isinstance(part, Fault):
        return part
    expected, *told = sent
    try:
        check_installed(expected)
        return guarded(STOPPED, lambda: step(part, *told))
    except DataError as error:
        fault = Fault(fault_text(error))
    return fault


def _gathered(parts: list[Any]) -> list[Any] | Fault:
    return next((part for part in parts if isinstance(part, Fault)), parts)


def part_cells(part: "pd.DataFrame", columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
    """Yield the cells of a partition, at most `rows` rows at a time."""
    return PandasReader(part).chunks(columns, rows)
