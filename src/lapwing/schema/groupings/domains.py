"""The codes of one field, and the range of numbers that they stand for."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError, SchemaError
from lapwing.schema.checks import code_number, field_error
from lapwing.schema.scalars import MICROSECONDS, parse_date, quote

CONTINUOUS_VALUES: Final = 2**32
"""Cells into which a continuous number field is cut."""

MAX_VALUES: Final = 2**53
"""Most regular codes of one field: beyond, a float could not tell neighbouring values apart."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The codes of one field: everything that a row can be in that column.

    Codes ``0 .. values-1`` are regular, then come the special values, and the one last code is *missing* where the
    field allows it, else *misfit* (a cell outside the schema; in no synthetic row). Where it is missing, misfits count
    as missing, but for the tables that tell them apart under the code behind it.
    """

    values: int
    specials: int
    missing: bool
    ordered: bool
    continuous: bool  # a regular code is an interval of real numbers
    cuts: tuple[tuple[int, ...], ...] = ()  # of a tree, before it is halved; coarse tiers first

    def __post_init__(self) -> None:
        if not 1 <= self.values <= MAX_VALUES:
            raise SchemaError(f"a domain needs 1 to 2**53 values, got {self.values}; coarsen the field", code="LW280")
        if self.specials < 0:
            raise SchemaError(f"a domain cannot have {self.specials} special values; give at least 0", code="LW280")
        for tier in self.cuts:
            if not tier or tier[0] < 1 or tier[-1] >= self.values or any(a >= b for a, b in pairwise(tier)):
                said = f"the cuts of a domain must increase within 1 to {self.values - 1}; sort them"
                raise SchemaError(said, code="LW280")
        if len({code for tier in self.cuts for code in tier}) < sum(map(len, self.cuts)):
            raise SchemaError("the cuts of a domain name a code twice; list each in its coarsest tier", code="LW280")

    @property
    def reserved(self) -> int:
        """Codes beside the regular ones: the special values and the last code."""
        return self.specials + 1

    @property
    def size(self) -> int:
        """All codes, regular and reserved."""
        return self.values + self.reserved

    @property
    def last(self) -> int:
        """The code of missing (where allowed) or misfit."""
        return self.size - 1

    @property
    def misfit(self) -> int:
        """The code of misfits where they are told from missing cells: behind the last code, if that is missing."""
        return self.last + self.missing

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest of uint8, uint16, uint32 and int64 that holds every code, and that of misfits."""
        for kind in (np.uint8, np.uint16, np.uint32):
            if self.misfit <= np.iinfo(kind).max:
                return np.dtype(kind)
        return np.dtype(np.int64)


_IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Calendar months or years from that of a field's minimum; `base`: whether numbers are days or microseconds."""

    unit: str
    base: str
    minimum: int

    def codes(self, numbers: _IntArray) -> _IntArray:
        """Return the months or years from the minimum to each number, which lies in the years 1 to 9999."""
        return self._count(numbers) - self._count(np.array([self.minimum]))

    def starts(self, codes: _IntArray) -> _IntArray:
        """Return the first number of each month or year, but never one below the minimum."""
        count = codes + self._count(np.array([self.minimum]))
        first = count.astype(f"datetime64[{self.unit[0].upper()}]").astype(f"datetime64[{self.base}]")
        return np.maximum(first.astype(np.int64), self.minimum)

    def _count(self, numbers: _IntArray) -> _IntArray:
        """Return the months or years since 1970."""
        moments = numbers.astype(np.int64).astype(f"datetime64[{self.base}]")
        return moments.astype(f"datetime64[{self.unit[0].upper()}]").astype(np.int64)


# -- The public grid of numbers: two decimal digits of every size, so that any number fits before its bounds are
# known.


_STEPS: Final = 90  # cells of one decade: m = 10, ..., 99
_LOWEST, _HIGHEST = -13, 17  # exponents of the step within the nearest and the farthest decade
_SIDE: Final = _STEPS * (_HIGHEST - _LOWEST + 1)

MAGNITUDE_VALUES: Final = 2 * _SIDE + 1
"""Cells of the grid: 31 decades on both sides of zero, 90 cells each, and zero."""

# A float literal is the float nearest to its decimal: the rule of `magnitude_codes` at an edge rests on that.
_REAL_EDGES: Final = np.array(
    [float(f"{m}e{k}") for k in range(_LOWEST, _HIGHEST + 1) for m in range(10, 100)], dtype=np.float64
)
# The least whole number that is not below the edge.
_WHOLE_EDGES: Final = np.array(
    [-(-m * 10 ** max(k, 0) // 10 ** max(-k, 0)) for k in range(_LOWEST, _HIGHEST + 1) for m in range(10, 100)],
    dtype=np.uint64,
)


def magnitude_codes(x: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the cell of every finite number, float64 or int64; beyond the grid that of its end.

    With ``z = MAGNITUDE_VALUES // 2``: code z is what is nearer to zero than 1e-12, code ``z + 1 + 90 * (k + 13) + (m -
    10)`` is ``[m * 10**k, (m + 1) * 10**k)``, negative numbers mirror that. Whole numbers are compared exactly; a float
    is taken for the shortest decimal that reads back as it: 0.3 lies in [0.3, 0.31).
    """
    if x.dtype == np.float64:
        place = np.searchsorted(_REAL_EDGES, np.abs(x), side="right")
    else:
        # The one number that has no absolute value in int64 wraps to itself, and from there to 2**63.
        place = np.searchsorted(_WHOLE_EDGES, np.abs(x.astype(np.int64)).astype(np.uint64), side="right")
    return np.where(x < 0, _SIDE - place, _SIDE + place).astype(np.int64)


def cell_ends(code: int) -> tuple[Fraction, Fraction]:
    """Return the two ends of a cell as exact decimals, the lower one first; the one nearer to zero belongs to it."""
    if not 0 <= code < MAGNITUDE_VALUES:
        said = f"a code of the grid of magnitudes is from 0 to {MAGNITUDE_VALUES - 1}, got {code}"
        raise ParameterError(said, code="LW280")
    place = abs(code - _SIDE) - 1
    if place < 0:
        least = 10 * Fraction(10) ** _LOWEST
        return -least, least
    decade, step = divmod(place, _STEPS)
    unit = Fraction(10) ** (_LOWEST + decade)
    near, far = (10 + step) * unit, (11 + step) * unit
    return (near, far) if code > _SIDE else (-far, -near)


def decade_starts() -> tuple[int, ...]:
    """Return the cuts between the decades of the grid: 31 of negative numbers, zero alone, 31 of positive ones."""
    return (*range(_STEPS, _SIDE + 1, _STEPS), *range(_SIDE + 1, MAGNITUDE_VALUES, _STEPS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The regular codes of a numeric or date field: code i stands for ``lo + i * step``, or for a month or year."""

    lo: int | float  # integers; days or microseconds since 1970-01-01; floats
    hi: int | float
    top: int | float  # last number that is not beyond the maximum: `hi`, or one that shares its code
    step: int | Fraction | None  # None where codes are cells, or months or years
    values: int
    calendar: Calendar | None = None

    @property
    def zero(self) -> int:
        """The code of zero in a numeric field; where zero is out of bounds, what it would be if codes went on."""
        if self.lo == self.hi:
            return 0
        if self.step is None:
            code = math.floor((0.0 - self.lo) / (self.hi - self.lo) * CONTINUOUS_VALUES)
        elif isinstance(self.lo, float):
            code = round((0.0 - self.lo) / float(self.step))
        else:
            code = round(Fraction(-self.lo) / self.step)
        return min(code, self.values - 1) if self.lo <= 0 <= self.top else code

    def cell(self, number: float) -> int:
        """Return the code of a number within a continuous range, rounded at every step as the codec rounds."""
        if self.lo == self.hi:
            return 0
        code = math.floor((number - self.lo) / (self.hi - self.lo) * CONTINUOUS_VALUES)
        return min(code, self.values - 1)


_Bound = str | float | None


def range_of(name: str, kind: str, *, minimum: _Bound, maximum: _Bound, resolution: _Bound) -> Range:
    """Return the range that checked and complete bounds describe."""
    if minimum is None or maximum is None:
        missing = "minimum" if minimum is None else "maximum"
        way_out = "write one that is public knowledge into its constraints, or list categories"
        raise field_error(name, f"{missing} is missing or blank; {way_out}", "LW210")
    where = f"field {quote(name)}: bounds {quote(minimum)} and {quote(maximum)}"
    if kind == "number":
        found = _number_range(where, minimum, maximum, resolution)
    elif kind == "integer":
        found = _stepped_range(int(minimum), int(maximum), int(resolution or 1))
    else:
        found = _time_range(kind, minimum, maximum, str(resolution or ("day" if kind == "date" else "second")))
    if found.values < 1:
        raise field_error(name, f"minimum {quote(minimum)} is above maximum {quote(maximum)}; swap them", "LW211")
    if found.values > MAX_VALUES:
        raise SchemaError(f"{where} leave more than 2**53 values; narrow them or use a coarser type", code="LW211")
    return found


def _number_range(where: str, minimum: str | float, maximum: str | float, resolution: _Bound) -> Range:
    """Return the range of a number field, counted in fractions where it has a resolution."""
    lo, hi = float(minimum), float(maximum)
    if hi - lo == float("inf"):
        raise SchemaError(f"{where} are too far apart for a float; narrow them", code="LW211")
    if resolution is None:
        return Range(lo=lo, hi=hi, top=hi, step=None, values=CONTINUOUS_VALUES if lo < hi else int(lo == hi))
    step = Fraction(str(resolution))
    if step < 4 * Fraction(math.ulp(max(abs(lo), abs(hi)))):
        # Neighbouring multiples would be written as the same float and read back as each other.
        raise SchemaError(f"{where} are too large for resolution {quote(resolution)}; use a coarser one", code="LW211")
    count = (Fraction(str(maximum)) - Fraction(str(minimum))) // step + 1
    return Range(lo=lo, hi=hi, top=hi, step=step, values=int(count))


def _time_range(kind: str, minimum: str | float, maximum: str | float, unit: str) -> Range:
    """Return the range of a date or datetime field; a last moment without a time of day includes that whole day."""
    lo, hi = (int(code_number(kind, bound)) for bound in (minimum, maximum))
    if kind == "datetime" and parse_date(maximum) is not None:
        hi += MICROSECONDS["day"] - 1
    if unit in ("month", "year"):
        calendar = Calendar(unit=unit, base="D" if kind == "date" else "us", minimum=lo)
        last = calendar.codes(np.array([hi]))
        values = int(last[0]) + 1 if lo <= hi else 0
        return Range(lo=lo, hi=int(calendar.starts(last)[0]), top=hi, step=None, values=values, calendar=calendar)
    if kind == "date":
        return _stepped_range(lo, hi, 7 if unit == "week" else 1)
    found = _stepped_range(lo, hi, MICROSECONDS[unit])
    return replace(found, top=int(found.hi) + MICROSECONDS[unit] - 1)  # the last unit is inside as a whole


def _stepped_range(lo: int, top: int, step: int) -> Range:
    """Return the range of whole steps from `lo` that do not pass `top`."""
    values = (top - lo) // step + 1
    return Range(lo=lo, hi=lo + (values - 1) * step, top=top, step=step, values=values)


def octave_cuts(found: Range) -> tuple[tuple[int, ...], ...]:
    """Return the cuts of a logarithmic scale: around zero, then where the distance from it passes a power of two."""
    zero, values = found.zero, found.values
    farthest = max(abs(zero), abs(values - zero))
    powers = [2**k for k in range(1, farthest.bit_length())]
    tiers = ({zero, zero + 1}, {zero + power for power in powers} | {zero + 1 - power for power in powers})
    inside = (tuple(sorted(code for code in tier if 1 <= code < values)) for tier in tiers)
    return tuple(tier for tier in inside if tier)
