"""Postfix programs on the codes of one row, in whole numbers: what a statistic computes, and between which bounds.

A program is a tuple of steps on a stack of truths (0 or 1) and of numbers, whole multiples of ``2**-16`` that may be
unknown. Steps are monotone between the corners of their arguments, so the corners give the bounds of results.
"""

import itertools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from lapwing.errors import ParameterError

BITS: Final = 16
"""Numbers are whole multiples of ``2**-BITS``."""

ONE: Final = 1 << BITS
"""The integer that stands for the number 1."""

LIMIT: Final = 2**62
"""No value on the way is larger: sums of two stay inside int64."""

MOST_STEPS: Final = 4096
MOST_LISTED: Final = 2**16
"""Most ends of runs, or listed numbers, in one step."""

MOST_CODES: Final = 2**54
"""Above every code of a domain."""

Step = tuple[Any, ...]
"""A word and its settings: whole numbers, a column's name, or a tuple of whole numbers."""

_SETTINGS: Final[dict[str, tuple[type, ...]]] = {
    "in": (str, tuple),
    "number": (str, int, int, int, int),
    "lookup": (str, tuple),
    "constant": (int,),
    "scale": (int, int),
}
"""The types of the settings of the steps that have any."""

_OF_NUMBERS: Final[dict[str, tuple[int, Callable[..., Any]]]] = {
    "indicator": (1, lambda truth: truth * ONE),
    "negate": (1, operator.neg),
    "absolute": (1, abs),
    "scale": (1, lambda x, p, q: (2 * p * x + q) // (2 * q)),
    "add": (2, operator.add),
    "subtract": (2, operator.sub),
    "multiply": (2, lambda x, y: (x * y + ONE // 2) >> BITS),
    "minimum": (2, np.minimum),
    "maximum": (2, np.maximum),
}
"""Steps that leave a number: how many values they take, and the function, on Python's integers and on int64 alike."""

_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "less": operator.lt,
    "at_most": operator.le,
    "equal": operator.eq,
    "differs": operator.ne,
}
_LOGIC: Final[dict[str, tuple[int, Callable[..., Any]]]] = {
    "not": (1, np.logical_not),
    "and": (2, np.logical_and),
    "or": (2, np.logical_or),
}


@dataclass(frozen=True, slots=True)
class Interval:
    """Between which whole numbers a value lies, and what kind of value it is."""

    lower: int
    upper: int
    is_truth: bool = False
    can_be_unknown: bool = False


_TRUTH: Final = Interval(0, 1, is_truth=True)


def interval_of(program: tuple[Step, ...]) -> Interval:
    """Return the bounds of what a program leaves, after checking every step of it.

    Returns of every result, whatever the codes are; where the number can be unknown, 0 is not yet in it.

    >>> interval_of((("number", "age", 121, 0, 2**16, 120),)).upper == 2**16
    True
    """
    if type(program) is not tuple or not 1 <= len(program) <= MOST_STEPS:
        raise ParameterError(
            f"the program of a statistic is a tuple of 1 to {MOST_STEPS} steps; compile its text", code="LW641"
        )
    stack: list[Interval] = []
    for step in program:
        _check_settings(step)
        count, is_truth = _taken(step[0])
        taken = stack[len(stack) - count :]
        if len(taken) < count or any(each.is_truth is not is_truth for each in taken):
            raise ParameterError(
                f"step {step[0]!r} of a statistic finds no values of its kind; compile its text", code="LW641"
            )
        stack = [*stack[: len(stack) - count], _interval_after(step, taken)]
    if len(stack) != 1:
        raise ParameterError(
            f"the program of a statistic leaves {len(stack)} values, not one; compile its text", code="LW641"
        )
    return stack[0]


def values_of(program: tuple[Step, ...], codes: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return what a checked program leaves for each row; an unknown number is 0.

    codes: mapping of str to integers (n,). Returns int64 (n,).
    """
    stack: list[_Values] = []
    for step in program:
        count, _ = _taken(step[0])
        taken = stack[len(stack) - count :]
        stack = [*stack[: len(stack) - count], _values_after(step, taken, codes)]
    (found,) = stack
    numbers = found.numbers.astype(np.int64)
    if found.unknown is not None:
        numbers[found.unknown] = 0
    return numbers


def columns_of(program: tuple[Step, ...]) -> tuple[str, ...]:
    """Return the columns that a program reads, each once, in the order of their first use."""
    return tuple(dict.fromkeys(step[1] for step in program if step[0] in ("in", "number", "lookup")))


def _taken(word: str) -> tuple[int, bool]:
    """Return how many values a step takes, and whether these are truths."""
    if word in _LOGIC:
        return _LOGIC[word][0], True
    if word in _COMPARISONS:
        return 2, False
    return _OF_NUMBERS.get(word, (0, None))[0], word == "indicator"


# --------------------------------------------------------------------------------------------------------- bounds


def _check_settings(step: object) -> None:
    """Refuse a step that is no plain tuple of a known word and settings of its types."""
    if type(step) is not tuple or not step or type(step[0]) is not str:
        raise ParameterError("a step of a statistic is a tuple that starts with a word; compile its text", code="LW641")
    word, settings = step[0], step[1:]
    known = word in _SETTINGS or word in _OF_NUMBERS or word in _COMPARISONS or word in _LOGIC
    if not known or tuple(map(type, settings)) != _SETTINGS.get(word, ()):
        raise ParameterError(
            f"{word[:20]!r} with these settings is no step of a statistic; compile its text", code="LW641"
        )
    numbers = [each for each in settings if type(each) is int]
    numbers += next((each for each in settings if type(each) is tuple), ())
    if len(numbers) > MOST_LISTED or not all(type(each) is int and -LIMIT <= each <= LIMIT for each in numbers):
        raise ParameterError(
            f"step {word!r} of a statistic takes up to {MOST_LISTED} whole numbers within 2**62; use coarser numbers",
            code="LW641",
        )


def _interval_after(step: Step, taken: list[Interval]) -> Interval:
    """Return the bounds of what a step leaves."""
    word = step[0]
    if word in _LOGIC or word in _COMPARISONS:
        return _TRUTH
    if word == "in":
        return _check_runs(step[2])
    if word == "constant":
        return Interval(step[1], step[1])
    if word == "lookup":
        if not step[2]:
            raise ParameterError("a lookup of a statistic lists at least one number; compile its text", code="LW641")
        return Interval(min(step[2]), max(step[2]), can_be_unknown=True)
    if word == "number":
        return _number_interval(*step[2:])
    return _corners(step, taken)


def _check_runs(ends: tuple[int, ...]) -> Interval:
    """Refuse runs of codes that are not disjoint and increasing."""
    if len(ends) % 2 or not all(a < b for a, b in itertools.pairwise((-1, *ends, MOST_CODES))):
        raise ParameterError(
            "runs of codes in a statistic are disjoint and increase from 0; compile its text", code="LW641"
        )
    return _TRUTH


def _number_interval(values: int, start: int, step: int, divisor: int) -> Interval:
    """Return the bounds of a column's number, ``(start + step * code) // divisor`` over its regular codes."""
    if not 1 <= values < MOST_CODES or divisor < 1 or abs(start) + abs(step) * values > LIMIT:
        raise ParameterError(
            "the numbers of a column in a statistic are too large; divide it by a constant", code="LW341"
        )
    ends = start // divisor, (start + step * (values - 1)) // divisor
    return Interval(min(ends), max(ends), can_be_unknown=True)


def _corners(step: Step, taken: list[Interval]) -> Interval:
    """Return the bounds of a function that lies between its values at the corners, if it cannot leave ``LIMIT``."""
    word, settings = step[0], step[1:]
    if word == "scale" and settings[1] < 1:
        raise ParameterError(
            "a statistic is divided by a positive whole number in each step; compile its text", code="LW641"
        )
    corners = list(itertools.product(*((each.lower, each.upper) for each in taken)))
    found = [
        int(_OF_NUMBERS[word][1](*corner, *settings)) for corner in corners if _way(word, corner, settings) < LIMIT
    ]
    if len(found) < len(corners) or max(map(abs, found)) > LIMIT:
        raise ParameterError(
            "the numbers of a statistic can grow beyond 2**46 on the way; divide its columns by constants first",
            code="LW341",
        )
    can_be_zero = word == "absolute" and taken[0].lower <= 0 <= taken[0].upper
    lower = 0 if can_be_zero else min(found)
    return Interval(lower, max(found), can_be_unknown=any(each.can_be_unknown for each in taken))


def _way(word: str, corner: tuple[int, ...], settings: tuple[int, ...]) -> int:
    """Return how large a product is before it is divided; 0 for steps that divide nothing."""
    if word == "scale":
        return 2 * max(abs(corner[0]), 1) * abs(settings[0]) + settings[1]
    return abs(corner[0] * corner[1]) if word == "multiply" else 0


# --------------------------------------------------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class _Values:
    """Truths as booleans or numbers as int64, shape (n,), and where they are unknown, if anywhere."""

    numbers: np.ndarray
    unknown: np.ndarray | None = None


def _values_after(step: Step, taken: list[_Values], codes: Mapping[str, np.ndarray]) -> _Values:
    """Return what a step leaves for each row."""
    word = step[0]
    if word == "in":
        return _Values(_lies_in(codes[step[1]], step[2]))
    if word == "number":
        values, start, slope, divisor = step[2:]
        regular, unknown = _regular(codes[step[1]], values)
        return _Values((regular * slope + start) // divisor, unknown)
    if word == "lookup":
        regular, unknown = _regular(codes[step[1]], len(step[2]))
        return _Values(np.array(step[2], dtype=np.int64)[regular], unknown)
    if word == "constant":
        return _Values(np.full(len(next(iter(codes.values()))), step[1], dtype=np.int64))
    numbers = [each.numbers for each in taken]
    if word in _LOGIC:
        return _Values(_LOGIC[word][1](*numbers))
    unknown = _either(taken)
    if word in _COMPARISONS:
        truths = _COMPARISONS[word](*numbers)
        return _Values(truths if unknown is None else truths & ~unknown)
    return _Values(_OF_NUMBERS[word][1](*(each.astype(np.int64, copy=False) for each in numbers), *step[1:]), unknown)


def _lies_in(codes: np.ndarray, ends: tuple[int, ...]) -> np.ndarray:
    """Tell which codes lie in runs, given as the code where each begins and the one after it."""
    if len(ends) == 2:
        return np.asarray((codes >= ends[0]) & (codes < ends[1]))
    if codes.dtype in (np.uint8, np.uint16):
        every = np.arange(2 ** (8 * codes.dtype.itemsize))
        return np.asarray(_lies_in(every, ends)[codes])
    return np.asarray(np.searchsorted(np.array(ends, dtype=np.int64), codes, side="right") % 2 == 1)


def _regular(codes: np.ndarray, values: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return regular codes as int64, any of them where a code is reserved, and where that is, if anywhere."""
    wide = codes.astype(np.int64, copy=False)
    reserved = codes >= values
    return (np.minimum(wide, values - 1), reserved) if reserved.any() else (wide, None)


def _either(taken: list[_Values]) -> np.ndarray | None:
    """Return where any of some values is unknown."""
    masks = [each.unknown for each in taken if each.unknown is not None]
    return np.logical_or.reduce(masks) if masks else None
