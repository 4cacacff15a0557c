"""Privacy units as points: what two of them have in common, as a squared distance.

A number, date or Boolean is one coordinate on 0 to 1, as is the place of an ordered category; other categories, missing
and special values are corners of a simplex. A number that is none lies at the mean of its column, a unit with several
rows at the mean of its rows. Misfits, and numbers of fewer units than a group, have no coordinate, and are never shown.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.errors import CapacityError
from lapwing.rows.codec import without_misfits
from lapwing.rows.counting import Codes
from lapwing.rows.kinds import Kind
from lapwing.rows.linked import CodedRows
from lapwing.rows.units import UnitNumbers
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeptRows:
    """Hold the rows that are kept of every privacy unit, and the unit of each, from 0 up without gaps. Private."""

    codes: Codes
    units: np.ndarray
    count: int
    kind: Kind

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.units)

    @property
    def per_unit(self) -> np.ndarray:
        """Rows of each unit: ndarray of int64, shape (units,)."""
        return np.bincount(self.units, minlength=self.count)


def read_rows(data: object, schema: Schema) -> KeptRows:
    """Read a table into memory as codes, and keep the rows of each privacy unit that `code_table` keeps.

    Without a privacy unit every row is a unit. Memory: 1 to 8 bytes a cell.
    """
    unit = schema.privacy_unit
    numbers = None if unit is None else UnitNumbers(schema.field(unit.field))
    read = CodedRows.of(data, schema, schema.columns, {} if numbers is None else {numbers.column: numbers})
    units = np.arange(read.rows) if numbers is None else numbers.numbers()
    kept = np.ones(read.rows, dtype=bool) if numbers is None else read.kept(units, schema.max_rows)
    (codes,) = without_misfits([read.taken(kept)], schema.columns)
    return KeptRows(codes, units[kept], int(units.max(initial=-1)) + 1, read.layout.kind)


MOST_COORDINATES: Final = 2000
"""Coordinates of a unit at most: distances take time and memory in proportion."""

_MOST_CORNERS: Final = 64
_MISMATCH: Final = 2.0  # of two categories, and the mean of two standardised numbers
_GIGABYTES_PER_COORDINATE: Final = 16e-3  # of 10**6 units, as they are and standardised


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Vectors:
    """Hold one point for each privacy unit. Private.

    Points lie in a ball whose squared radius is `bound`: columns, and one more for each number or Boolean that may be
    missing or special. A coordinate is multiplied by its `spread`, so that two units differ by 2 on average in the
    square of a number, and by 2 where their categories differ.
    """

    raw: np.ndarray
    spread: np.ndarray
    bound: int

    @property
    def standardised(self) -> np.ndarray:
        """Centred points in the unit in which distances are taken: ndarray of float64, shape (units, p)."""
        return np.asarray((self.raw - self.raw.mean(axis=0)) * self.spread)


def coordinates_of(field: Field) -> int:
    """Return how many coordinates a column has at most.

    >>> coordinates_of(Field(name="age", type="integer", minimum=0, maximum=120, special=(-1,)))
    3
    >>> coordinates_of(Field(name="sex", type="string", categories=("f", "m")))
    3
    """
    domain = field.domain
    shown = domain.specials + domain.missing
    return 1 + shown if domain.ordered else min(domain.values + shown, _MOST_CORNERS)


def check_coordinates(schema: Schema) -> None:
    """Refuse a schema whose rows have too many coordinates."""
    total = sum(map(coordinates_of, schema.columns))
    if total > MOST_COORDINATES:
        raise CapacityError(
            f"the schema's columns make {total} coordinates, more than {MOST_COORDINATES}; for 10^6 units they would "
            f"take {total * _GIGABYTES_PER_COORDINATE:.0f} GB of memory: leave columns out, or set categoriesOrdered",
            code="LW505",
        )


def unit_vectors(rows: KeptRows, schema: Schema, size: int, rng: np.random.Generator) -> Vectors:
    """Return the point of every privacy unit.

    A column with more than 64 categories has 64 coordinates: its categories are unit vectors in random directions, the
    squared distance between two of which is 2 with a standard deviation of 1/4. Two categories share a coordinate, as
    Booleans do, and of coordinates that are 0 for all units only one is kept.
    """
    columns = [_column(field, rows, size, rng) for field in schema.columns]
    blocks = [column.values for column in columns if column.values.shape[1]]
    bound = sum(column.bound for column in columns)
    if not blocks:
        return Vectors(np.zeros((rows.count, 1)), np.ones(1), bound)
    spread = np.concatenate([column.spread for column in columns])
    return Vectors(np.concatenate(blocks, axis=1), spread, bound)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Column:
    """The coordinates of one column, shape (units, w), their spread, and the squared radius of a ball they lie in."""

    values: np.ndarray
    spread: np.ndarray
    bound: int


def _column(field: Field, rows: KeptRows, size: int, rng: np.random.Generator) -> _Column:
    codes = rows.codes[field.name]
    if field.domain.ordered:
        return _ordered(field, codes, rows, size)
    if field.domain.size > _MOST_CORNERS:
        directions = rng.standard_normal((field.domain.size, _MOST_CORNERS))
        directions /= np.sqrt(np.square(directions).sum(axis=1, keepdims=True))
        each = [_unit_means(direction[codes], rows) for direction in directions.T]
    else:
        each = _corners(codes, range(_first_hidden(field)), rows)
        if len(each) == 2:
            # One of the two says all, as that of a Boolean does; the distances are the same.
            return _Column(each[1][:, None], np.array([np.sqrt(_MISMATCH)]), 1)
    values = np.stack(each, axis=1) if each else np.zeros((rows.count, 0))  # none: all are misfits, which are not shown
    return _Column(values, np.ones(len(each)), 1)


def _first_hidden(field: Field) -> int:
    """Return the misfit code, or, where it means missing, the code behind it."""
    return field.domain.last + field.domain.missing


def _ordered(field: Field, codes: np.ndarray, rows: KeptRows, size: int) -> _Column:
    """Return the place of each unit in an ordered domain, and a corner for each special value and for missing."""
    domain = field.domain
    regular = codes < domain.values
    cells = np.bincount(rows.units[regular], minlength=rows.count)
    known = cells > 0
    # Codes are summed as whole numbers, so that the mean of equal cells is the same in any order of rows.
    sums = np.bincount(rows.units[regular], codes[regular], minlength=rows.count)[known]
    means = sums / cells[known] / max(1, domain.values - 1)
    reserved = _corners(codes, range(domain.values, _first_hidden(field)), rows)
    bound = 1 + bool(domain.specials or domain.missing)
    spread = [np.sqrt(_MISMATCH)] * len(reserved)
    if means.size < size or means.min() == means.max():
        return _Column(np.stack(reserved, axis=1) if reserved else np.empty((rows.count, 0)), np.array(spread), bound)
    place = np.full(rows.count, means.mean())
    place[known] = means
    own = np.sqrt(_MISMATCH) if field.type == "boolean" else 1 / means.std()
    return _Column(np.stack([place, *reserved], axis=1), np.array([own, *spread]), bound)


def _corners(codes: np.ndarray, wanted: range, rows: KeptRows) -> list[np.ndarray]:
    """Return the share of each unit's cells that have each code, of those codes that any cell has."""
    found = (codes == code for code in wanted)
    return [_unit_means(cells, rows) for cells in found if cells.any()]


def _unit_means(values: np.ndarray, rows: KeptRows) -> np.ndarray:
    return np.asarray(np.bincount(rows.units, values, minlength=rows.count) / rows.per_unit)
