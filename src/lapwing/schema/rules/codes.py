"""Rules on codes: which rows break them. Public rules and domains only; no row comes here but what a caller passes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.rules.rules import Determines, Implies, Order, Rule, Sum
from lapwing.schema.scalars import quote
from lapwing.schema.values import Codes, Numbers, ShownValues, in_moments, shown_values

_LARGEST: Final = 2**62
_EXACT: Final = 2**53

Boxes = Mapping[str, tuple[Codes, Codes]]
"""Per column the first codes of boxes and the first codes after them, each of shape (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderPair:
    """One column is at most, or less than, another; rows where either is missing or special keep it.

    It compares what synthetic rows show: cells of numbers without resolution must lie apart, or show one number each.
    """

    rule: Order
    columns: tuple[str, str]
    strict: bool
    sides: tuple[ShownValues, ShownValues]  # what synthetic rows show, of the lower and the upper column

    @property
    def values(self) -> tuple[int, int]:
        """Regular codes of each column."""
        return self.sides[0].values, self.sides[1].values

    def broken(self, codes: Mapping[str, np.ndarray]) -> npt.NDArray[np.bool_]:
        """Return which rows, given as the codes of each column, break the rule."""
        lower, upper = (np.asarray(codes[name]).astype(np.int64) for name in self.columns)
        is_bound = (lower < self.sides[0].values) & (upper < self.sides[1].values)
        most = self.numbers(0, np.where(is_bound, lower, 0))[1]
        least = self.numbers(1, np.where(is_bound, upper, 0))[0]
        return is_bound & ~self.holds(most, least)

    def possible(self, boxes: Boxes) -> npt.NDArray[np.bool_]:
        """Return which boxes hold codes that keep the rule, exactly."""
        runs = [_checked(*boxes[name]) for name in self.columns]
        is_empty = (runs[0][0] >= runs[0][1]) | (runs[1][0] >= runs[1][1])
        is_free = (runs[0][1] > self.sides[0].values) | (runs[1][1] > self.sides[1].values)
        is_bound = ~is_empty & ~is_free
        lowest = self.extreme(0, np.where(is_bound, runs[0], [[0], [1]]))
        highest = self.extreme(1, np.where(is_bound, runs[1], [[0], [1]]))
        return np.asarray(~is_empty & (is_free | self.holds(lowest, highest)))

    def extreme(self, side: int, runs: Codes) -> Numbers:
        """Return the number of each run of regular codes, of shape (2, n), that is easiest to keep the rule with."""
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
    sides = [shown_values(field) for field in fields]
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
            said = f"{names} have types that no order compares; compare numbers, dates, or equal lists"
            raise SchemaError(said, code="LW231")
        is_ordered = first.domain.ordered and other.domain.ordered
        if not is_ordered or first.categories != other.categories:
            raise SchemaError(
                f'{names} must have equal lists of categories, both with "categoriesOrdered": true; or compare numbers '
                "or dates",
                code="LW231",
            )
    if types == numeric:
        whole = first if first.type == "integer" else other
        numbers = shown_values(whole).listed
        ends = (whole.range.lo, whole.range.hi) if numbers is None else (int(numbers.min()), int(numbers.max()))
        if max(map(abs, ends)) > _EXACT:
            said = f"{names}: beyond 2**53 whole numbers are not compared with others; make both integers"
            raise SchemaError(said, code="LW231")


@dataclass(frozen=True, slots=True, eq=False)
class ExactSum:
    """Whole multiples of columns add up to the last one; rows where any of them is missing or special keep it."""

    rule: Sum
    columns: tuple[str, ...]  # of the terms, then the one that they add up to
    values: tuple[int, ...]
    strides: tuple[int, ...]  # what one code more adds, in ``1 / unit``; 0 where the column is a list
    listed: tuple[Codes | None, ...]  # what each code of a list adds
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
    """Return a sum on codes, in exact whole numbers; of `fields` the one that the terms add up to stands last."""
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
        said = f"{where}: the numbers are too large to add up in 64 bits; narrow the bounds of its columns"
        raise SchemaError(said, code="LW231")
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
        said = f"{where}: column {quote(field.name)} has type {field.type}; add up integers or numbers"
        raise SchemaError(said, code="LW231")
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


# -- All rules on codes.


@dataclass(frozen=True, slots=True, eq=False)
class CombinationRule:
    """Some combinations of groups of codes stand in no row; all that hold a misfit are alive."""

    rule: Rule
    columns: tuple[str, ...]  # of an implication or a map, what follows stands last
    groupings: tuple[Grouping, ...]
    alive: npt.NDArray[np.bool_]  # shaped by the numbers of groups

    def broken(self, codes: Mapping[str, np.ndarray]) -> npt.NDArray[np.bool_]:
        """Return which rows, given as the codes of each column, break the rule."""
        pairs = zip(self.columns, self.groupings, strict=True)
        return ~np.asarray(self.alive[tuple(grouping.apply(codes[name]) for name, grouping in pairs)])


@dataclass(frozen=True, slots=True, eq=False)
class DependencyRule:
    """Rows that agree in some columns agree in another, in what nobody says beforehand; misfits keep the rule."""

    rule: Determines
    of: tuple[str, ...]
    column: str
    misfits: tuple[int | None, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that determine, then the one that is determined."""
        return (*self.of, self.column)

    def broken(self, codes: Mapping[str, np.ndarray]) -> npt.NDArray[np.bool_]:
        """Return the rows whose value is not the commonest (of equals: the lowest) of those with their determinants."""
        columns = [np.asarray(codes[name]).astype(np.int64) for name in self.columns]
        is_bound = np.ones(len(columns[0]), dtype=bool)
        for own, misfit in zip(columns, self.misfits, strict=True):
            if misfit is not None:
                is_bound &= own != misfit
        found = np.zeros(len(is_bound), dtype=bool)
        if not is_bound.any():
            return found
        kept = [own[is_bound] for own in columns]
        _, cause = np.unique(np.stack(kept[:-1]), axis=1, return_inverse=True)
        pairs, pair, counts = np.unique(
            np.stack([cause.reshape(-1), kept[-1]]), axis=1, return_inverse=True, return_counts=True
        )
        # Sorted by cause, then commonest first, then lowest code: the first of each cause is right.
        order = np.lexsort((pairs[1], -counts, pairs[0]))
        is_first = np.diff(pairs[0][order], prepend=-1) != 0
        is_right = np.zeros(len(order), dtype=bool)
        is_right[order[is_first]] = True
        found[is_bound] = ~is_right[pair.reshape(-1)]
        return found


ComparisonRule = OrderPair | ExactSum
CodedRule = CombinationRule | OrderPair | ExactSum | DependencyRule


class RuledSchema(Protocol):
    """What rules need of a `lapwing.schema.schemas.Schema`, which imports this module and not the other way round."""

    @property
    def coded_rules(self) -> tuple[CodedRule, ...]:
        """The rules on the codes of the columns."""

    def field(self, name: str) -> Field:
        """Return the field of a name."""


def components(rules: Sequence[CodedRule]) -> tuple[tuple[str, ...], ...]:
    """Return the sets of columns that rules tie together, each with causes before effects as far as possible."""
    home: dict[str, list[str]] = {}
    for rule in rules:
        joined = list(dict.fromkeys(name for own in rule.columns for name in home.get(own, [own])))
        home.update(dict.fromkeys(joined, joined))
    sets = {id(names): names for names in home.values()}
    causes: dict[str, set[str]] = {name: set() for name in home}
    for rule in rules:
        if isinstance(rule.rule, Implies | Determines | Sum):
            causes[rule.columns[-1]].update(rule.columns[:-1])
    return tuple(_causes_first(names, causes) for names in sets.values())


def _causes_first(names: Sequence[str], causes: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Put causes before effects; of columns in a circle the first as named goes first."""
    left, found = list(names), list[str]()
    while left:
        free = next((name for name in left if not causes[name].intersection(left)), left[0])
        left.remove(free)
        found.append(free)
    return tuple(found)
