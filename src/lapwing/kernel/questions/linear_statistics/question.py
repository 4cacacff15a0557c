"""The question for sums of linear statistics over all rows."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.linear_statistics.programs import (
    BITS,
    ONE,
    Step,
    columns_of,
    interval_of,
    values_of,
)
from lapwing.kernel.questions.questions import (
    TABLE,
    RecordedQuestion,
    WithoutDelta,
    check_cost,
    noise_for_cost,
    one_table,
)
from lapwing.kernel.terms import Relation, Terms
from lapwing.rows.guard import numbers_of_records
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

MOST_TEXT: Final = 8192
"""Most characters of a statistic's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic(RecordedQuestion):
    """A compiled expression: a function of the codes of one row, with values in [-1, 1], exact in whole numbers.

    bits: 0 where the program tells whether something holds; else 16: values are multiples of ``2**-16``; lower, upper:
    bounds of all values, in units of ``2**-bits``, by interval arithmetic on the program; 0 lies between them where a
    value can be unknown.

    Guarantee: the value of a row is a function of that row's codes alone and lies in ``[lower, upper]``. The bounds are
    derived anew from the program by every construction and cannot be given.

    >>> senior = Statistic(text="age >= 65", program=(("in", "age", (65, 121)),))
    >>> senior.values({"age": np.array([64, 65, 121])}).tolist(), senior.bits, senior.upper
    ([0, 1, 0], 0, 1)
    """

    kind: ClassVar[str] = "statistic"

    text: str
    program: tuple[Step, ...]
    columns: tuple[str, ...] = field(init=False, compare=False, repr=False)
    bits: int = field(init=False, compare=False, repr=False)
    lower: int = field(init=False, compare=False, repr=False)
    upper: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_text(self.text)
        found = interval_of(self.program)
        columns = columns_of(self.program)
        if not columns:
            raise ParameterError("a statistic without a column is the same for every row; name one", code="LW341")
        unit = 1 if found.is_truth else ONE
        lower, upper = found.lower, found.upper
        if found.can_be_unknown:
            lower, upper = min(lower, 0), max(upper, 0)
        if max(-lower, upper) > unit:
            raise ParameterError(
                f"a statistic lies in [-1, 1], but this one can go from {lower / ONE:.6g} to {upper / ONE:.6g}; "
                f"divide it by {math.ceil(max(-lower, upper) / ONE)}",
                code="LW341",
            )
        if lower == upper:
            raise ParameterError(
                "it is the same for every row, so there is nothing to measure; leave it out", code="LW341"
            )
        derived = {"columns": columns, "bits": 0 if found.is_truth else BITS, "lower": lower, "upper": upper}
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def values(self, codes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the statistic of coded rows, each from the codes of its own row alone.

        codes: mapping of str to integers (n,), codes of at least `columns`. Returns int64 (n,), in units of
        ``2**-bits``, within [lower, upper].
        """
        found = values_of(self.program, {name: codes[name] for name in self.columns})
        np.clip(found, self.lower, self.upper, out=found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowStatistic(RecordedQuestion):
    """A statistic that is code of the caller's, which is given one decoded record at a time.

    columns: all modelled columns: any of them may be read; lower, upper: bounds in units of ``2**-16``, within [-1, 1];
    every value is clipped to them; function: from a dict of one row's values to a number. None in a record that was
    read back.

    Guarantee: every value lies in ``[lower, upper]`` and is computed from one row, whatever the function does with it.
    That the function keeps nothing from one call to the next is the caller's claim.
    """

    document: ClassVar = ("kind", "text", "columns", "lower", "upper")
    kind: ClassVar[str] = "row function"
    bits: ClassVar[int] = BITS

    text: str
    columns: tuple[str, ...]
    lower: int
    upper: int
    function: Callable[[dict[str, Any]], object] | None = None

    def __post_init__(self) -> None:
        _check_text(self.text)
        if type(self.columns) is not tuple or not all(type(each) is str for each in self.columns):
            raise ParameterError(
                "the columns of a row function are a tuple of names; list those of the schema", code="LW342"
            )
        ends = (self.lower, self.upper)
        if not all(type(each) is int for each in ends) or not -ONE <= self.lower < self.upper <= ONE:
            raise ParameterError(
                f"a row function needs bounds -1 <= lower < upper <= 1, in 2**-{BITS}; got {ends}", code="LW342"
            )
        if not (self.function is None or callable(self.function)):
            raise ParameterError(
                f"a row function is called with a record, but {self.text!r} cannot be called", code="LW342"
            )

    def values_of_records(self, records: Iterable[dict[str, object]]) -> np.ndarray:
        """Return the statistic of decoded rows, one record at a time.

        records: a fresh one for each row, as `lapwing.rows.out.decode.records` gives them. Returns int64 (n,),
        multiples
        of ``2**-16``, rounded to the nearest and clipped to [lower, upper]; `lower` where the function fails or gives
        no finite number.
        """
        if self.function is None:
            raise ParameterError(f"the function {self.text!r} is not part of a record; give it again", code="LW342")
        fixed = (_fixed(each, self.lower, self.upper) for each in numbers_of_records(self.function, records))
        return np.fromiter(fixed, dtype=np.int64)


def _fixed(number: float | None, lower: int, upper: int) -> int:
    """Return a number in units of ``2**-16``, clipped; the lower bound where there is none."""
    if number is None or not -math.inf < number < math.inf:
        return lower
    return min(max(round(min(max(number, -1), 1) * ONE), lower), upper)


def _check_text(text: object) -> None:
    """Refuse what is no text, or a very long one."""
    if type(text) is not str or len(text) > MOST_TEXT:
        raise ParameterError(
            f"the text of a statistic is a str of at most {MOST_TEXT} characters; shorten it", code="LW340"
        )
    if not text.isprintable():
        raise ParameterError(
            "the text of a statistic is one line of printable characters; leave line ends out", code="LW340"
        )


# -- The question.

MOST_STATISTICS: Final = 4096
"""Most statistics of one question: the noise on each grows with their number."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LinearStatistics(WithoutDelta[NoisySums]):
    """Ask what each of some statistics sums to over all rows.

    groupings: one per column, every code on its own: statistics are functions of codes; statistics: 1 to 4096 functions
    of one row, each with public bounds inside -1 and 1.

    Guarantee: ε-DP with discrete Laplace, ρ-zCDP with discrete Gaussian noise of one law on every sum, under the
    relation and ``max_rows`` that `sensitivity` is given (proof: ``proof.md``). Indicators
    alone are counted in whole rows; otherwise every sum is in multiples of ``2**-16``.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Algorithm 1, step 1. What we
    changed: sums of integers in place of means of reals, and each statistic's own bounds in place of -1 and 1.
    """

    kind: ClassVar[str] = "LinearStatistics"
    called: ClassVar[str] = TABLE
    purpose: ClassVar[str] = "chosen statistics"

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    statistics: tuple[Statistic | RowStatistic, ...]
    cost: Budget

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.groupings) or len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                "LinearStatistics needs distinct columns with one grouping each; name each once", code="LW641"
            )
        if not self.statistics:
            raise ParameterError("LinearStatistics needs at least one statistic; name one", code="LW641")
        if len(self.statistics) > MOST_STATISTICS:
            raise CapacityError(
                f"{len(self.statistics)} statistics are above {MOST_STATISTICS}; ask for fewer", code="LW504"
            )
        if any(grouping.regular != grouping.values for grouping in self.groupings):
            raise ParameterError(
                "LinearStatistics needs groupings in which every code is a group; use identity", code="LW641"
            )
        if not {name for each in self.statistics for name in each.columns} <= set(self.columns):
            raise ParameterError(
                "LinearStatistics must name the columns of all its statistics; add the others", code="LW641"
            )
        check_cost(self.cost)

    @property
    def bits(self) -> int:
        """Sums are in multiples of ``2**-bits``: 0 where all statistics are indicators."""
        return max(each.bits for each in self.statistics)

    @property
    def scale(self) -> int:
        """What stands for a statistic of 1 in one row."""
        return 1 << self.bits

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of statistics."""
        return (len(self.statistics),)

    @property
    def is_askable(self) -> bool:
        """Whether every row function is at hand; a question that was read back from a record has none."""
        return all(each.function is not None for each in self.statistics if isinstance(each, RowStatistic))

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse a question whose row functions are not at hand."""
        del terms, schema
        if not self.is_askable:
            raise ParameterError(
                "a row function is kept in no file: a release that has one cannot be resumed", code="LW343"
            )

    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Return the least and the largest value of each statistic in one row, in multiples of ``2**-bits``."""
        return tuple(
            (each.lower << self.bits - each.bits, each.upper << self.bits - each.bits) for each in self.statistics
        )

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of all sums: a unit owns at most ``max_rows`` rows."""
        changes = [largest_change(lower, upper, relation) for lower, upper in self.bounds()]
        return Sensitivity(max_rows * sum(changes), max_rows**2 * sum(change**2 for change in changes))

    noise = noise_for_cost
    parts = one_table


def largest_change(lower: int, upper: int, relation: Relation) -> int:
    """Return how far the sum of a statistic moves when one row is added or removed, or replaced.

    relation: a unit of several rows may be replaced by one of fewer, so replacing covers removing too.

    >>> largest_change(0, 1, "replace-one"), largest_change(-1, 1, "add-remove"), largest_change(-1, 1, "replace-one")
    (1, 1, 2)
    """
    alone = max(abs(lower), abs(upper))
    return alone if relation == "add-remove" else max(alone, upper - lower)
