"""Tables of two-valued columns, and the law of one drawn row written from the paper, slowly and in fractions."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from lapwing.audit.pairs import NeighbourPair
from lapwing.release.private_draw import PrivateDraw
from lapwing.schema.schemas import Schema

TEXTS = ("false", "true")
MISFIT = None
"""Stands for a row with a misfit."""


def cube_schema(columns):
    """Return a schema of required Booleans."""
    return Schema.from_dict(
        {
            "fields": [
                {"name": f"x{place}", "type": "boolean", "constraints": {"required": True}} for place in range(columns)
            ]
        }
    )


def frame_of(points, columns):
    """Return a table with one row per point (a tuple of 0 and 1, or MISFIT): a misfit's last cell does not fit."""
    rows = [[*["true"] * (columns - 1), "?"] if point is MISFIT else [TEXTS[bit] for bit in point] for point in points]
    return pl.DataFrame(
        {f"x{place}": pl.Series([row[place] for row in rows], dtype=pl.String) for place in range(columns)}
    )


@dataclass(frozen=True, slots=True)
class CodedRows:
    """The codes of some rows, without the frame, which takes most of the time."""

    points: tuple
    columns: int

    def chunks(self):
        """Yield one chunk; the last cell of a misfit is one."""
        rows = [(*[1] * (self.columns - 1), 2) if point is MISFIT else point for point in self.points]
        codes = np.array(rows, dtype=np.uint8).reshape(-1, self.columns)
        yield {f"x{place}": codes[:, place] for place in range(self.columns)}


def source_of(points, columns):
    """Return the coded rows."""
    return CodedRows(tuple(points), columns)


def kinds_of_rows(columns):
    """Return everything that a row can be: each point of the cube, and a misfit."""
    return [*itertools.product((0, 1), repeat=columns), MISFIT]


def asked(columns, rows, *, degree=1, floor="1/10", draws=1, notion="pure", points=None, ceiling=None):
    """Return a question over the columns of `cube_schema`."""
    return PrivateDraw(
        columns=tuple(f"x{place}" for place in range(columns)),
        degree=degree,
        floor=Fraction(floor),
        rows=rows,
        draws=draws,
        notion=notion,
        points=None if points is None else np.array(points, dtype=np.int64),
        ceiling=None if ceiling is None else Fraction(ceiling),
    )


def walsh(members, point):
    """Return the Walsh function of a set of columns: the product of their signs."""
    return math.prod((-1) ** point[place] for place in members)


def sets_up_to(columns, degree):
    """Return all sets of at most so many columns."""
    return [members for size in range(degree + 1) for members in itertools.combinations(range(columns), size)]


def law_by_hand(points, columns, degree, floor):
    """Return the law of one drawn row of the exact variant: a Fraction per point, the first column changing fastest."""
    sets = sets_up_to(columns, degree)
    means = {
        members: Fraction(sum(walsh(members, point) for point in points if point is not MISFIT), len(points))
        for members in sets
    } | {(): Fraction(1)}
    least = Fraction(math.ceil(floor * len(points)), len(points))
    cube = [point[::-1] for point in itertools.product((0, 1), repeat=columns)]
    heights = [max(sum(mean * walsh(members, point) for members, mean in means.items()), least) for point in cube]
    return [height / sum(heights) for height in heights]


def two_valued_pair(rng, *, most_columns=3, least_rows=0, most_rows=12):
    """Return two random tables of two-valued columns that differ in one row, which lies anywhere."""
    columns = int(rng.integers(1, most_columns + 1))
    kinds = kinds_of_rows(columns)
    common = [kinds[each] for each in rng.integers(len(kinds), size=rng.integers(least_rows, most_rows + 1))]
    one, other = ([*common, kinds[each]] for each in rng.integers(len(kinds), size=2))
    shuffled = [other[place] for place in rng.permutation(len(other))]
    return NeighbourPair(cube_schema(columns), frame_of(one, columns), frame_of(shuffled, columns))
