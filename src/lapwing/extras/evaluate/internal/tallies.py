"""Count how often each different cell of a column occurs, over all rows of a table: one pass, in bounded memory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from lapwing.rows.cells import Numbers, RawColumn, Texts, Times, missing_cells, read_numbers, read_times
from lapwing.rows.spelling import plain_cells
from lapwing.schema.fields import Field

CHUNK_ROWS: Final = 2**18
MOST_BYTES: Final = 2**29
"""Of different cells that are held at a time. Columns beyond it wait for another pass; of one alone the rest of the
rows is left out, and its tally says so."""

_DATES: Final = ("date", "datetime")
_NUMBERS: Final = ("integer", "number")
_FEW: Final = 2**18
_SOME: Final = 1000
_LARGEST: Final = 1e300  # a number beyond, as one that reads as infinite, is as good as missing here
_COUNT: Final = "\x00count"
_Kind = tuple[type, tuple[tuple[str, pl.DataType], ...]]
"""A shape of cells, and the columns of the table that they are counted in."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tally:
    """The different cells of a column, by kind, each with its count; last: the cell of the last row.

    is_whole: whether all rows were counted, or those before the one that would have taken too much memory.
    """

    parts: tuple[tuple[RawColumn, pl.Series], ...]
    last: RawColumn | None
    is_whole: bool = True

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return sum(int(counts.sum()) for _, counts in self.parts)

    @property
    def first(self) -> RawColumn:
        """Some of the different cells; of a tally with rows."""
        cells, _ = self.parts[0]
        return _cells(type(cells), _frame(cells).head(_SOME))

    @property
    def texts(self) -> pl.Series:
        """The different cells that are texts."""
        found = [cells.values for cells, _ in self.parts if isinstance(cells, Texts)]
        return pl.concat(found) if found else pl.Series([], dtype=pl.String)


@dataclass(slots=True, repr=False)
class _Counter:
    """What was counted of a column, and rows that wait to be: as many as there are different cells, or some more."""

    counts: dict[_Kind, pl.DataFrame] = field(default_factory=dict)
    waiting: dict[_Kind, list[pl.DataFrame]] = field(default_factory=dict)
    rows_waiting: int = 0
    size: int = 0
    last: tuple[type, pl.DataFrame] | None = None
    is_whole: bool = True

    def add(self, cells: RawColumn) -> None:
        found = _frame(cells)
        self.waiting.setdefault((type(cells), tuple(found.schema.items())), []).append(found)
        self.rows_waiting += found.height
        self.last = (type(cells), found) if found.height else self.last
        if self.rows_waiting > max(_FEW, sum(frame.height for frame in self.counts.values())):
            self.count()

    def count(self) -> None:
        for kind, frames in self.waiting.items():
            names = [name for name, _ in kind[1]]
            found = pl.concat(frames).group_by(names).agg(pl.len().cast(pl.Int64).alias(_COUNT))
            if kind in self.counts:
                found = pl.concat([self.counts[kind], found]).group_by(names).agg(pl.col(_COUNT).sum())
            self.counts[kind] = found
        self.waiting, self.rows_waiting = {}, 0
        self.size = sum(int(frame.estimated_size()) for frame in self.counts.values())

    def tally(self) -> Tally:
        self.count()
        parts = tuple((_cells(kind, frame), frame[_COUNT]) for (kind, _), frame in self.counts.items())
        last = None if self.last is None else _cells(self.last[0], self.last[1].tail(1))
        return Tally(parts=parts, last=last, is_whole=self.is_whole)


def tally_cells(
    read: Callable[[Sequence[str]], Iterable[Mapping[str, RawColumn]]], names: Sequence[str], most: int = MOST_BYTES
) -> dict[str, Tally]:
    """Return how often each cell of some columns occurs.

    read: reads columns by their names, chunk by chunk, as often as it is asked to.
    """
    found: dict[str, Tally] = {}
    left = list(names)
    while left:
        counters, later = {name: _Counter() for name in left}, list[str]()
        for chunk in read(left):
            if len(counters) == 1 and next(iter(counters.values())).size > most:
                next(iter(counters.values())).is_whole = False
                break
            for name, counter in counters.items():
                counter.add(chunk[name])
            while len(counters) > 1 and sum(each.size for each in counters.values()) > most:
                later.append(max(counters, key=lambda name: counters[name].size))
                del counters[later[-1]]
        found |= {name: counter.tally() for name, counter in counters.items()}
        left = later
    return {name: found[name] for name in names}


def _frame(cells: RawColumn) -> pl.DataFrame:
    """Return cells as a table of what tells them apart."""
    if isinstance(cells, Texts):
        found = {"value": cells.values}
        if cells.typed is not False:
            found["typed"] = pl.repeat(True, len(cells), eager=True) if cells.typed is True else cells.typed
        if cells.zoned is not None:
            found["clock"] = cells.zoned
        return pl.DataFrame(found)
    values = {"value": cells.values} if isinstance(cells, Numbers) or cells.zoned is None else _of_zone(cells)
    made = pl.DataFrame(values)
    return made if cells.nulls is None else made.with_columns(pl.when(~pl.Series(cells.nulls)).then(pl.all()))


def _of_zone(cells: Times) -> dict[str, np.ndarray]:
    return {"value": cells.values, "clock": cells.clock}


def _cells(kind: type, frame: pl.DataFrame) -> RawColumn:
    """Return the cells that a table of what tells them apart is made of."""
    value, zoned = frame["value"], frame["clock"] if "clock" in frame.columns else None
    if kind is Texts:
        return Texts(value, typed=frame["typed"] if "typed" in frame.columns else False, zoned=zoned)
    nulls = value.is_null().to_numpy() if value.null_count() else None
    filled = value.fill_null(False if value.dtype == pl.Boolean else 0).to_numpy()
    if kind is Numbers:
        return Numbers(filled, nulls)
    return Times(filled, nulls, None if zoned is None else zoned.fill_null(0).to_numpy())


def values_of(cells: RawColumn, field: Field) -> pl.Series:
    """Return cells as values of their type, moments in microseconds, null where they are empty or not of it."""
    kind, cells = field.type, plain_cells(cells, field)
    if isinstance(cells, Texts) and kind in _DATES:
        moments, is_time = read_times(cells.values)
        return pl.Series(moments).set(pl.Series(~is_time), None)
    if isinstance(cells, Texts) and kind in _NUMBERS:
        read = read_numbers(cells.values)
        if kind == "integer":
            return pl.Series(read.integers).set(pl.Series(~read.is_integer), None)
        values = pl.Series(np.where(read.is_integer, read.integers, read.reals))
        return values.set(~values.is_between(-_LARGEST, _LARGEST), None)
    if isinstance(cells, Texts):
        return cells.values.replace("", None)
    is_missing = pl.Series(missing_cells(cells))
    if kind == "integer":  # one beyond 64 bits is as good as missing here
        return pl.Series(cells.values).set(is_missing, None).cast(pl.Int64, strict=False)
    if kind in _NUMBERS:
        values = pl.Series(cells.values.astype(np.float64))
        return values.set(is_missing | ~values.is_between(-_LARGEST, _LARGEST), None)
    values = pl.Series(cells.values).set(is_missing, None)
    return values if kind in _DATES else values.cast(pl.String)
