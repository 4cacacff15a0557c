"""Generated neighbouring tables of two-valued columns, as private draws need them."""

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl

from lapwing.audit.pairs import NeighbourPair
from lapwing.schema.schemas import Schema

Point = tuple[int, ...] | None

TEXTS = ("false", "true")
MISFIT = None
"""Stands for a row with a misfit."""


def cube_schema(columns: int) -> Schema:
    """Return a schema of so many required Booleans, named x0, x1 and so on."""
    return Schema.from_dict(
        {
            "fields": [
                {"name": f"x{place}", "type": "boolean", "constraints": {"required": True}} for place in range(columns)
            ]
        }
    )


def frame_of(points: Sequence[Point], columns: int) -> pl.DataFrame:
    """Return a table with one row per point (a tuple of 0 and 1, or MISFIT): a misfit's last cell does not fit."""
    rows = [[*["true"] * (columns - 1), "?"] if point is MISFIT else [TEXTS[bit] for bit in point] for point in points]
    return pl.DataFrame(
        {f"x{place}": pl.Series([row[place] for row in rows], dtype=pl.String) for place in range(columns)}
    )


def kinds_of_rows(columns: int) -> list[Point]:
    """Return everything that a row can be: each point of the cube, and a misfit."""
    return [*itertools.product((0, 1), repeat=columns), MISFIT]


def two_valued_pair(
    rng: np.random.Generator, *, most_columns: int = 3, least_rows: int = 0, most_rows: int = 12
) -> NeighbourPair:
    """Return two random tables of two-valued columns that differ in one row, which lies anywhere.

    Parameters
    ----------
    rng : numpy.random.Generator
        Public randomness.
    most_columns : int, at least 1
        The number of columns is drawn from 1 to this.
    least_rows, most_rows : int, at least 0
        Between which the number of rows that both have is drawn; each table has one more.
    """
    columns = int(rng.integers(1, most_columns + 1))
    kinds = kinds_of_rows(columns)
    common = [kinds[each] for each in rng.integers(len(kinds), size=rng.integers(least_rows, most_rows + 1))]
    one, other = ([*common, kinds[each]] for each in rng.integers(len(kinds), size=2))
    shuffled = [other[place] for place in rng.permutation(len(other))]
    return NeighbourPair(cube_schema(columns), frame_of(one, columns), frame_of(shuffled, columns))
