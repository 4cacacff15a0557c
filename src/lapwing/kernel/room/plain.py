"""Questions hold plain values only: a subclass could bring code of its own into the room."""

from dataclasses import fields
from fractions import Fraction
from itertools import chain
from types import NoneType
from typing import Final, cast

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.linear_statistics.statistics import RowStatistic, Statistic
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import Hierarchy

_PLAIN: Final = frozenset({int, bool, str, NoneType, Fraction, np.ndarray})
_WHOLE: Final = frozenset({Budget, Grouping, Hierarchy, CellTree, Coordinates, Projection, Statistic, RowStatistic})
_KNOWN: Final = _PLAIN | _WHOLE | {tuple}


def is_plain(question: object) -> bool:
    """Tell whether every part of a question is of a known type itself, and not of a subclass.

    >>> is_plain(Budget.pure(1))
    True
    """
    return all(_is_plain_part(getattr(question, each.name)) for each in fields(question))  # type: ignore[arg-type]


def _is_plain_part(value: object) -> bool:
    """Tell whether one part, and all of its own parts, are of known types; tuples level by level, as some are long."""
    level = [value]
    while level:
        kinds = set(map(type, level))
        if not kinds <= _KNOWN:
            return False
        if kinds & _WHOLE and not all(_is_plain_inside(each) for each in level if type(each) in _WHOLE):
            return False
        tuples = level if kinds == {tuple} else [each for each in level if type(each) is tuple]
        level = list(chain.from_iterable(cast("list[tuple[object, ...]]", tuples)))
    return True


def _is_plain_inside(value: object) -> bool:
    """Tell whether all parts of something that has some are of known types."""
    if type(value) is RowStatistic:
        # The function is code of the caller's on purpose: it is called in the guard, with one record at a time.
        return all(_is_plain_part(getattr(value, each.name)) for each in fields(value) if each.name != "function")
    return is_plain(value)
