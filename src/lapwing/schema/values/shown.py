"""Which numbers rows out show for the codes of a field, in code space. Pure; no row comes here."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.schema.checks import code_number
from lapwing.schema.fields import Field
from lapwing.schema.ranges import Range
from lapwing.schema.scalars import MICROSECONDS
from lapwing.schema.values.values import exact_cells

Numbers = npt.NDArray[Any]
"""int64 or float64."""
Codes = npt.NDArray[np.int64]

_EXACT: Final = 2**53  # integers up to here are exact as floats
_NO_CODES: Final = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The numbers that rows out show for the regular codes of a field.

    Integers stay integers, dates are days, moments microseconds, numbers floats; made by `shown`.

    grid: where they lie, if the field is no list; listed: ndarray or None, the number of each code, where the field is
    a list; of texts and booleans their place in it; exact: int64 (cells,), cells of a number without resolution that
    show one number, in increasing order; numbers: float64 (cells,), those numbers.

    >>> age = shown(Field(name="age", type="integer", minimum=10, maximum=19, resolution=5))
    >>> [part.tolist() for part in age.ends(np.array([0, 1]))]
    [[10, 15], [10, 15]]
    """

    field: Field
    values: int
    grid: Range | None
    listed: Numbers | None
    exact: Codes
    numbers: npt.NDArray[np.float64]

    @property
    def is_increasing(self) -> bool:
        """Whether higher codes show higher numbers."""
        return self.listed is None or bool((np.diff(self.listed) > 0).all())

    def ends(self, codes: Codes) -> tuple[Numbers, Numbers]:
        """Return the least and the most that rows out may show for each regular code; equal but for cells.

        codes: int64 (n,). Returns least, most: ndarrays of int64 or float64, shape (n,).
        """
        field, grid = self.field, self.grid
        if self.listed is not None:
            found = self.listed[codes]
            return found, found
        assert grid is not None
        numbers: Numbers
        if grid.calendar is not None:
            numbers = grid.calendar.starts(codes)
        elif grid.step is None:
            return self._cell_ends(codes, float(grid.lo), float(grid.hi))
        elif field.type == "number":
            numbers = multiples(codes, Fraction(str(field.minimum)), Fraction(grid.step), self.values - 1)
        else:
            numbers = int(grid.lo) + codes * int(grid.step)
        return numbers, numbers

    def _cell_ends(self, codes: Codes, lo: float, hi: float) -> tuple[Numbers, Numbers]:
        """Return both ends of cells, as far as rounding may carry a value, and exact numbers where cells hold one."""
        cell = (hi - lo) / 2**32
        least = lo + codes * cell
        most = np.maximum(least + cell, lo + (codes + 1) * cell)
        least, most = np.clip(least, lo, hi), np.clip(most, lo, hi)
        place = np.minimum(np.searchsorted(self.exact, codes), max(len(self.exact) - 1, 0))
        if len(self.exact):
            is_exact = self.exact[place] == codes
            least, most = (np.where(is_exact, self.numbers[place], end) for end in (least, most))
        return least, most


def shown(field: Field) -> Shown:
    """Return the numbers that rows out show for the regular codes of a modelled field."""
    listed: Numbers | None = None
    exact: dict[int, float] = {}
    if field.is_categorical:
        listed = _listed(field)
    elif field.domain.continuous:
        exact = exact_cells(field)
    cells = np.array(sorted(exact), dtype=np.int64) if exact else _NO_CODES
    return Shown(
        field=field,
        values=field.domain.values,
        grid=None if field.is_categorical else field.range,
        listed=listed,
        exact=cells,
        numbers=np.array([exact[cell] for cell in cells.tolist()], dtype=np.float64),
    )


def _listed(field: Field) -> Numbers:
    """Return the number of each category, or its place in the list."""
    if field.categories is None or field.type in ("string", "boolean"):
        return np.arange(field.domain.values, dtype=np.int64)
    numbers = [code_number(field.type, value) for value in field.categories]
    return np.array(numbers, dtype=np.float64 if field.type == "number" else np.int64)


def in_moments(field: Field, numbers: Numbers) -> Numbers:
    """Return days as the microseconds at which they begin, and anything else as it is."""
    return numbers * MICROSECONDS["day"] if field.type == "date" else numbers


def multiples(codes: np.ndarray, first: Fraction, grid: Fraction, last: int) -> np.ndarray:
    """Return ``first + codes * grid`` as the floats that the decimal numbers read as; `last` is the largest code.

    >>> multiples(np.array([0, 3]), Fraction(0), Fraction(1, 10), 9).tolist()
    [0.0, 0.3]
    """
    below = math.lcm(first.denominator, grid.denominator)
    start, stride = int(first * below), int(grid * below)
    largest = max(abs(start), abs(start + last * stride))
    if max(largest, stride, below) <= _EXACT:
        # One division of two exact integers is rounded once, like the reading of a decimal literal.
        return np.asarray((start + codes * stride) / below)
    return np.asarray(float(first) + codes * float(grid))
