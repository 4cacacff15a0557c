"""Bounds of numbers and dates, from noisy counts on a public coarse grid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing.budget.budget import Budget
from lapwing.release.curator import Curator
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedBounds:
    """Hold what noisy counts say about the bounds of one field.

    Parameters
    ----------
    minimum, maximum : int, float, str or None
        As the field's type wants them, dates as ISO text; None where nothing was found.
    is_found : bool
        Whether the counts rise above the noise anywhere.
    unseen : int
        With 95 % confidence at most so many rows lie beyond each end; where nothing was found, have a value at all.
    """

    minimum: int | float | str | None
    maximum: int | float | str | None
    is_found: bool
    unseen: int


def learn_bounds(
    curator: Curator,
    schema: Schema,
    names: Sequence[str],
    costs: Sequence[Budget],
    *,
    quantile: Fraction,
    limits: Mapping[str, tuple[Any, Any]],
) -> tuple[LearnedBounds, ...]:
    """Find the bounds of numbers and dates."""
    raise NotImplementedError
