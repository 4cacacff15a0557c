"""Questions hold plain values only: a subclass could bring code of its own into the room."""

from dataclasses import fields
from fractions import Fraction
from types import NoneType
from typing import Any, Final

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.release.cells import CellTree
from lapwing.release.coordinates import Coordinates
from lapwing.release.projections import Projection
from lapwing.release.statistics import RowStatistic, Statistic
from lapwing.schema.groupings import Grouping
from lapwing.schema.hierarchies import Hierarchy

_PLAIN: Final = frozenset({int, bool, str, NoneType, Fraction, np.ndarray})
_MADE: Final = frozenset({Budget, Grouping, Hierarchy, CellTree, Coordinates, Projection, Statistic})


def is_plain(question: object) -> bool:
    """Tell whether every part of a question is of a known type itself, and not of a subclass.

    Parameters
    ----------
    question : dataclass instance
        Of the closed set.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_plain(Budget.pure(1))
    True
    """
    return all(_is_plain_part(getattr(question, each.name)) for each in fields(question))  # type: ignore[arg-type]


def _is_plain_part(value: Any) -> bool:  # noqa: ANN401
    """Tell whether one part, and all of its own parts, are of known types."""
    kind = type(value)
    if kind is tuple:
        return all(map(_is_plain_part, value))
    if kind is RowStatistic:
        # The function is code of the caller's on purpose: it is called in the guard, with one record at a time.
        return all(_is_plain_part(getattr(value, each.name)) for each in fields(value) if each.name != "function")
    return kind in _PLAIN or (kind in _MADE and is_plain(value))
