"""What lies inside the groups of wide columns: finer noisy one-way tables, asked apart."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.mechanisms.steps.public_cells import VALUE_BY_VALUE, public_cells
from lapwing.numerics.simplex import project_to_simplex
from lapwing.release.coordinates import Coordinates
from lapwing.release.questions import MarginalCounts, NoisyCounts
from lapwing.schema.groupings import Grouping, cut, identity
from lapwing.schema.schemas import Schema

FINE_CELLS: Final = 128
"""About how many cells a wide ordered column is counted in."""

DETAIL_SHARE: Final = Fraction(3, 10)
"""Part of the budget for details if every column has them; less in proportion."""


def detail_groupings(schema: Schema, coordinates: Coordinates) -> dict[str, Grouping]:
    """Return finer public groups of the columns whose groups hold several values; each lies inside one group.

    Parameters
    ----------
    schema : Schema
        Of the table.
    coordinates : Coordinates
        Of its columns.

    Returns
    -------
    dict of str to Grouping
        Value by value for categories and up to 512 values, else about 128 cells.
    """
    found = {}
    for name, grouping, kind in zip(coordinates.columns, coordinates.groupings, coordinates.kinds, strict=True):
        field = schema.field(name)
        if kind != "list" or grouping.regular == field.domain.values:
            continue
        if not field.domain.ordered or field.domain.values <= VALUE_BY_VALUE:
            found[name] = identity(field.domain)
        else:
            inner = grouping.pieces()[0][1 : grouping.regular]
            found[name] = cut(field.domain, np.union1d(inner, public_cells(field, FINE_CELLS).cuts))
    return found


def pieces_of(coordinates: Coordinates, details: Mapping[str, Grouping]) -> int:
    """Return of how many pieces the laws of one atom consist, at least 1."""
    both = zip(coordinates.columns, coordinates.groupings, strict=True)
    return sum(details[name].groups if name in details else grouping.groups for name, grouping in both)


def detail_share(details: Mapping[str, Grouping], coordinates: Coordinates) -> Fraction:
    """Return the part of the budget that details cost."""
    return DETAIL_SHARE * Fraction(len(details), len(coordinates.columns))


def detail_questions(details: Mapping[str, Grouping], cost: Budget) -> tuple[MarginalCounts, ...]:
    """Return one question per column with details, at equal costs."""
    return tuple(
        MarginalCounts(columns=(name,), groupings=(grouping,), cost=cost / len(details))
        for name, grouping in details.items()
    )


def detail_shares(answers: Sequence[NoisyCounts]) -> dict[str, tuple[Grouping, np.ndarray]]:
    """Return the finer groups of each answer, and non-negative masses of the regular ones: noisy counts on a simplex.

    Parameters
    ----------
    answers : sequence of NoisyCounts
        To `detail_questions`.

    Returns
    -------
    dict of str to (Grouping, ndarray of float64)
    """
    found = {}
    for answer in answers:
        (grouping,) = answer.question.groupings
        counts = answer.counts.astype(np.float64)
        masses = project_to_simplex(counts, max(1.0, float(counts.sum())))
        found[answer.question.columns[0]] = (grouping, masses[: grouping.regular])
    return found
