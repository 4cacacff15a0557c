"""Linear statistics: what is averaged over the rows of a table, as public functions of one row."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.plain import read_key, read_list
from lapwing.kernel.questions.linear_statistics.programs import (
    BITS,
    MOST_STEPS,
    ONE,
    Step,
    columns_of,
    interval_of,
    values_of,
)
from lapwing.rows.guard import numbers_of_records

MOST_TEXT: Final = 8192
"""Most characters of a statistic's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
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

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain JSON values."""
        steps = [[list(each) if type(each) is tuple else each for each in step] for step in self.program]
        return {"kind": self.kind, "text": self.text, "program": steps}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where it is something else."""
        listed = read_list(values, "program", list)
        if len(listed) > MOST_STEPS:
            raise ParameterError(f"a statistic has at most {MOST_STEPS} steps, got {len(listed)}", code="LW641")
        steps = tuple(tuple(tuple(each) if type(each) is list else each for each in step) for step in listed)
        return cls(text=read_key(values, "text", str), program=steps)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowStatistic:
    """A statistic that is code of the caller's, which is given one decoded record at a time.

    columns: all modelled columns: any of them may be read; lower, upper: bounds in units of ``2**-16``, within [-1, 1];
    every value is clipped to them; function: from a dict of one row's values to a number. None in a record that was
    read back.

    Guarantee: every value lies in ``[lower, upper]`` and is computed from one row, whatever the function does with it.
    That the function keeps nothing from one call to the next is the caller's claim.
    """

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

    def to_dict(self) -> dict[str, Any]:
        """Return all but the function as plain JSON values."""
        return {
            "kind": self.kind,
            "text": self.text,
            "columns": list(self.columns),
            "lower": self.lower,
            "upper": self.upper,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote, without a function; a ParameterError where it is something else."""
        return cls(
            text=read_key(values, "text", str),
            columns=read_list(values, "columns", str),
            lower=read_key(values, "lower", int),
            upper=read_key(values, "upper", int),
        )


def statistic_from_dict(values: Mapping[str, Any]) -> Statistic | RowStatistic:
    """Read back a statistic of either kind; a ParameterError where it is something else."""
    kind = read_key(values, "kind", str)
    if kind not in (Statistic.kind, RowStatistic.kind):
        raise ParameterError(
            f"unknown kind of statistic {kind[:20]!r}; it is {Statistic.kind} or {RowStatistic.kind}", code="LW641"
        )
    return Statistic.from_dict(values) if kind == Statistic.kind else RowStatistic.from_dict(values)


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
