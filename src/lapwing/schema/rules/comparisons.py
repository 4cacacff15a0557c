"""Rules that compare numbers, on codes: which rows break them, and which boxes of codes hold rows that do not."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.rules.rules import Order, Sum
from lapwing.schema.scalars import quote
from lapwing.schema.values.shown import Codes, Numbers, Shown, in_moments, shown

_LARGEST: Final = 2**62
_EXACT: Final = 2**53

Boxes = Mapping[str, tuple[Codes, Codes]]
"""Per column the first codes of boxes and the first codes after them, each of shape (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderPair:
    """One column is at most, or less than, another; rows where either is missing or special keep it.

    It compares what rows out show: a number without resolution may be anywhere in its cell, so two such cells must lie
    apart, or show one number each. A date compared with a moment is its midnight.

    sides: what rows out show, of the lower and the upper column.

    >>> hours = Field(name="from", type="integer", minimum=0, maximum=23), Field(
    ...     name="to", type="integer", minimum=0, maximum=23
    ... )
    >>> pair = order_pairs(Order(columns=("from", "to")), hours, "rule 1")[0]
    >>> pair.broken({"from": np.array([3, 9, 24]), "to": np.array([3, 8, 8])}).tolist()
    [False, True, False]
    """

    rule: Order
    columns: tuple[str, str]
    strict: bool
    sides: tuple[Shown, Shown]

    @property
    def values(self) -> tuple[int, int]:
        """Regular codes of each column."""
        return self.sides[0].values, self.sides[1].values

    def broken(self, codes: Mapping[str, np.ndarray]) -> npt.NDArray[np.bool_]:
        """Return which rows break the rule.

        codes: mapping of column to integers (n,). Returns bool (n,).
        """
        lower, upper = (np.asarray(codes[name]).astype(np.int64) for name in self.columns)
        is_bound = (lower < self.sides[0].values) & (upper < self.sides[1].values)
        most = self.numbers(0, np.where(is_bound, lower, 0))[1]
        least = self.numbers(1, np.where(is_bound, upper, 0))[0]
        return is_bound & ~self.holds(most, least)

    def possible(self, boxes: Boxes) -> npt.NDArray[np.bool_]:
        """Return which boxes hold codes that keep the rule, exactly.

        boxes: ndarrays of int64, shape (n,): codes ``start`` to ``stop - 1``; none where ``stop <= start``. Returns
        bool (n,).
        """
        runs = [_checked(*boxes[name]) for name in self.columns]
        is_empty = (runs[0][0] >= runs[0][1]) | (runs[1][0] >= runs[1][1])
        is_free = (runs[0][1] > self.sides[0].values) | (runs[1][1] > self.sides[1].values)
        is_bound = ~is_empty & ~is_free
        lowest = self.extreme(0, np.where(is_bound, runs[0], [[0], [1]]))
        highest = self.extreme(1, np.where(is_bound, runs[1], [[0], [1]]))
        return np.asarray(~is_empty & (is_free | self.holds(lowest, highest)))

    def extreme(self, side: int, runs: Codes) -> Numbers:
        """Return the number of each run of regular codes that is easiest to keep the rule with.

        side: 0 for the lower column, whose number should be small; 1 for the upper one; runs: int64 (2, n), starts and
        stops, none empty. Returns (n,).
        """
        told, ends = self.sides[side], 1 - side
        best = np.maximum if side else np.minimum
        if told.listed is not None:
            listed = np.append(in_moments(told.field, told.listed), 0)
            return best.reduceat(listed, runs.T.reshape(-1))[::2]
        found = self.numbers(side, runs[1] - 1 if side else runs[0])[ends]
        # An exact number may lie beyond its cell by a rounding.
        for cell, number in zip(told.exact.tolist(), told.numbers.tolist(), strict=True):
            is_inside = (runs[0] <= cell) & (cell < runs[1])
            found = np.where(is_inside, best(found, number), found)
        return found

    def numbers(self, side: int, codes: Codes) -> tuple[Numbers, Numbers]:
        """Return the least and the most that regular codes of one column (0 lower, 1 upper) may show."""
        told = self.sides[side]
        least, most = told.ends(codes)
        return in_moments(told.field, least), in_moments(told.field, most)

    def holds(self, low: Numbers, high: Numbers) -> npt.NDArray[np.bool_]:
        """Return where the rule holds between a number of the lower column and one of the upper."""
        return np.asarray(low < high) if self.strict else np.asarray(low <= high)


def order_pairs(rule: Order, fields: Sequence[Field], where: str) -> tuple[OrderPair, ...]:
    """Return an order as one comparison for each two columns that follow each other."""
    sides = [shown(field) for field in fields]
    for first, other in pairwise(fields):
        _check_comparable(first, other, where)
    return tuple(
        OrderPair(rule, (first.field.name, other.field.name), rule.strict, (first, other))
        for first, other in pairwise(sides)
    )


def _check_comparable(first: Field, other: Field, where: str) -> None:
    """Refuse two columns whose values have no common order, or none that is exact."""
    names = f"{where}: columns {quote(first.name)} and {quote(other.name)}"
    numeric, times = {"integer", "number"}, {"date", "datetime"}
    types = {first.type, other.type}
    if not (types <= numeric or types <= times):
        if first.type != other.type:
            raise SchemaError(
                f"{names} have types that no order compares; compare numbers, dates, or equal lists", code="LW231"
            )
        is_ordered = first.domain.ordered and other.domain.ordered
        if not is_ordered or first.categories != other.categories:
            raise SchemaError(
                f'{names} must have equal lists of categories, both with "categoriesOrdered": true; or compare numbers '
                "or dates",
                code="LW231",
            )
    if types == numeric:
        whole = first if first.type == "integer" else other
        numbers = shown(whole).listed
        ends = (whole.range.lo, whole.range.hi) if numbers is None else (int(numbers.min()), int(numbers.max()))
        if max(map(abs, ends)) > _EXACT:
            raise SchemaError(
                f"{names}: beyond 2**53 whole numbers are not compared with others; make both integers", code="LW231"
            )


@dataclass(frozen=True, slots=True, eq=False)
class ExactSum:
    """Whole multiples of columns add up to another; rows where any of them is missing or special keep it.

    columns: the columns of the terms, then the one that they add up to; strides: what one code more adds to the
    difference, per column, in ``1 / unit``; 0 where the column is a list; listed: tuple of ndarray or None, per column
    that is a list what each code adds.

    >>> fields = [Field(name=name, type="integer", minimum=0, maximum=9) for name in ("a", "b", "c")]
    >>> rule = exact_sum(Sum(terms=(("a", 1), ("b", 1)), equals="c"), fields, "rule 1")
    >>> rule.broken({"a": np.array([1, 1]), "b": np.array([2, 2]), "c": np.array([3, 4])}).tolist()
    [False, True]
    """

    rule: Sum
    columns: tuple[str, ...]
    values: tuple[int, ...]
    strides: tuple[int, ...]
    listed: tuple[Codes | None, ...]
    constant: int

    def broken(self, codes: Mapping[str, np.ndarray]) -> npt.NDArray[np.bool_]:
        """Return which rows break the rule, as `OrderPair.broken` does."""
        columns = [np.asarray(codes[name]).astype(np.int64) for name in self.columns]
        is_bound = np.logical_and.reduce([own < size for own, size in zip(columns, self.values, strict=True)])
        total = np.full(len(columns[0]), self.constant, dtype=np.int64)
        for place, own in enumerate(columns):
            total += self.added(place, np.where(is_bound, own, 0))
        return np.asarray(is_bound & (total != 0))

    def possible(self, boxes: Boxes) -> npt.NDArray[np.bool_]:
        """Return which boxes may hold codes that keep the rule; False is certain, True is not."""
        runs = [_checked(*boxes[name]) for name in self.columns]
        is_empty = np.logical_or.reduce([own[0] >= own[1] for own in runs])
        is_free = np.logical_or.reduce([own[1] > size for own, size in zip(runs, self.values, strict=True)])
        is_bound = ~is_empty & ~is_free
        low = np.full(len(is_empty), self.constant, dtype=np.int64)
        high = low.copy()
        for place, own in enumerate(runs):
            least, most = self.extremes(place, np.where(is_bound, own, [[0], [1]]))
            low, high = low + least, high + most
        return np.asarray(~is_empty & (is_free | ((low <= 0) & (high >= 0))))

    def added(self, place: int, codes: Codes) -> Codes:
        """Return what regular codes of one column add to the difference."""
        listed = self.listed[place]
        return codes * self.strides[place] if listed is None else listed[codes]

    def extremes(self, place: int, runs: Codes) -> tuple[Codes, Codes]:
        """Return the least and the most that runs of regular codes of one column add; runs of shape (2, n)."""
        listed = self.listed[place]
        if listed is None:
            ends = self.added(place, runs[0]), self.added(place, runs[1] - 1)
            return np.minimum(*ends), np.maximum(*ends)
        padded, bounds = np.append(listed, 0), runs.T.reshape(-1)
        return np.minimum.reduceat(padded, bounds)[::2], np.maximum.reduceat(padded, bounds)[::2]


def exact_sum(rule: Sum, fields: Sequence[Field], where: str) -> ExactSum:
    """Return a sum on codes, in exact whole numbers.

    fields: its columns: those of the terms, then the one that they add up to.
    """
    times = [*(factor for _, factor in rule.terms), -1]
    lines = [_line(field, where) for field in fields]
    unit = math.lcm(*(number.denominator for line in lines for number in line))
    strides, listed, constant, reach = [], [], Fraction(0), 0
    for field, line, factor in zip(fields, lines, times, strict=True):
        scaled = [int(number * unit) * factor for number in line]
        is_list = field.categories is not None
        if not is_list:
            constant += scaled[0]
        reach += max(map(abs, scaled)) if is_list else abs(scaled[0]) + abs(scaled[1]) * field.domain.values
        strides.append(0 if is_list else scaled[1])
        listed.append(scaled if is_list else None)
    if reach >= _LARGEST:
        raise SchemaError(
            f"{where}: the numbers are too large to add up in 64 bits; narrow the bounds of its columns", code="LW231"
        )
    return ExactSum(
        rule=rule,
        columns=rule.columns,
        values=tuple(field.domain.values for field in fields),
        strides=tuple(strides),
        listed=tuple(None if one is None else np.array(one, dtype=np.int64) for one in listed),
        constant=int(constant),
    )


def _line(field: Field, where: str) -> list[Fraction]:
    """Return the first number of a column and the step to the next, or all numbers where it is a list."""
    if field.type not in ("integer", "number"):
        raise SchemaError(
            f"{where}: column {quote(field.name)} has type {field.type}; add up integers or numbers", code="LW231"
        )
    if field.categories is not None:
        return [Fraction(str(value)) for value in field.categories]
    found = field.range
    if found.step is None:
        raise SchemaError(
            f"{where}: column {quote(field.name)} is a number without resolution, whose sums rows out cannot keep; "
            "give it a resolution such as 0.01",
            code="LW231",
        )
    return [Fraction(str(field.minimum)), Fraction(found.step)]


def _checked(starts: Codes, stops: Codes) -> Codes:
    """Return runs as one array of shape (2, n)."""
    return np.stack(np.broadcast_arrays(np.asarray(starts, dtype=np.int64), np.asarray(stops, dtype=np.int64)))
