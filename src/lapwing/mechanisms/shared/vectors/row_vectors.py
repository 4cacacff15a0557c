"""Rows as vectors: which coordinates the columns of a schema get, and the convex set that means of rows lie in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.questions.shared.coordinates import Coding, ColumnKind, ConvexSet, Coordinates
from lapwing.mechanisms.shared.one_way import one_way_grouping, public_cells
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly, identity
from lapwing.schema.schemas import Schema

# -- Euclidean projections of many points at once: on simplices, and on products of intervals and simplices.


def rows_on_simplex(points: np.ndarray) -> np.ndarray:
    """Return the nearest point of the standard simplex for every row.

    As `lapwing.maths.arrays.project_to_simplex`, for many rows.

    >>> rows_on_simplex(np.array([[3.0, -2.0, 1.0], [0.2, 0.3, 0.5]])).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]
    """
    shifted = points - points.max(axis=1, keepdims=True)
    largest_first = -np.sort(-shifted, axis=1)
    excess = np.cumsum(largest_first, axis=1) - 1.0
    ranks = np.arange(1, points.shape[1] + 1)
    support = np.count_nonzero(largest_first * ranks > excess, axis=1)
    level = np.take_along_axis(excess, support[:, None] - 1, axis=1) / support[:, None]
    projected = np.maximum(shifted - level, 0.0)
    return np.asarray(projected / projected.sum(axis=1, keepdims=True))


def rows_in_ball(points: np.ndarray) -> np.ndarray:
    """Return the nearest point of the unit Euclidean ball for every row: ndarray of float64, shape of ``points``."""
    lengths = np.sqrt((points * points).sum(axis=1, keepdims=True))
    return np.asarray(points / np.maximum(lengths, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """A product of intervals and simplices, block by block.

    lows: float64 (p,), lower end of each coordinate that is an interval; NaN where it belongs to a simplex. Upper ends
    are 1; simplices: sequence of int64 (blocks, width), the coordinates of each simplex; one array per width.

    >>> product = Blocks(np.array([-1.0, np.nan, np.nan]), [np.array([[1, 2]])])
    >>> product.project(np.array([[3.0, 0.7, 0.7]])).tolist()
    [[1.0, 0.5, 0.5]]
    """

    lows: np.ndarray
    simplices: Sequence[np.ndarray]

    def __post_init__(self) -> None:
        owned = np.bincount(
            np.concatenate([np.flatnonzero(~np.isnan(self.lows)), *(each.ravel() for each in self.simplices)]),
            minlength=self.lows.size,
        )
        if owned.size != self.lows.size or (owned != 1).any():
            raise ParameterError("each coordinate must be an interval or in one simplex; list it once", code="LW390")

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return the nearest point of the product for every row: ndarray of float64, shape (n, p)."""
        is_interval = ~np.isnan(self.lows)
        nearest = np.empty_like(points)
        nearest[:, is_interval] = np.clip(points[:, is_interval], self.lows[is_interval], 1.0)
        for places in self.simplices:
            blocks = points[:, places]
            flat = rows_on_simplex(blocks.reshape(-1, blocks.shape[2]))
            nearest[:, places] = flat.reshape(blocks.shape)
        return nearest


Numbers = Literal["intervals", "means"]
Projector = Callable[[np.ndarray], np.ndarray]

LINE_CELLS: Final = 2**12
"""About how many places a line of numbers has; their distance is far below the noise on any mean."""

MOST_CATEGORIES: Final = 4
"""Categories are put together where they are more than so many times the intervals of a column."""

LINE_BITS: Final = 12


def row_coordinates(
    schema: Schema, numbers: Numbers, intervals: int, convex_set: ConvexSet = "box", *, coding: Coding = "centred"
) -> Coordinates:
    """Return the coordinates of the columns of a schema; a function of public things alone.

    numbers: whether a wide ordered column is a list of intervals, or one coordinate; intervals: about how many
    intervals; unordered categories that are more than four times as many are put together in runs; convex_set: of the
    vectors; a ball or a simplex needs required columns without categories. Returns two values without missing and
    special ones are a line, other categories a list, with missing and special ones.

    >>> flag = {"name": "flag", "type": "boolean", "constraints": {"required": True}}
    >>> kind = {"name": "kind", "type": "string", "categories": ["a", "b", "c"]}
    >>> row_coordinates(Schema.from_dict({"fields": [flag, kind]}), "intervals", 16).widths
    (1, 4)
    """
    kinds: list[ColumnKind] = ["line" if _is_line(field, numbers, convex_set) else "list" for field in schema.columns]
    groupings = [
        _list_groups(field, intervals) if kind == "list" else evenly(field.domain, min(LINE_CELLS, field.domain.values))
        for field, kind in zip(schema.columns, kinds, strict=True)
    ]
    is_coarse = convex_set == "box" and all(
        kind == "list" or grouping.regular <= 2 for kind, grouping in zip(kinds, groupings, strict=True)
    )
    return Coordinates(
        columns=tuple(field.name for field in schema.columns),
        groupings=tuple(groupings),
        kinds=tuple(kinds),
        listed=tuple(field.domain.specials + field.domain.missing for field in schema.columns),
        coding="unit" if convex_set == "simplex" else coding,
        convex_set=convex_set,
        bits=0 if is_coarse else LINE_BITS,
    )


def _list_groups(field: Field, intervals: int) -> Grouping:
    """Return the groups of a list: categories, intervals, or runs of many categories (branches, where declared)."""
    most = MOST_CATEGORIES * intervals
    if field.domain.ordered and not field.is_categorical:
        return one_way_grouping(field, intervals)
    return identity(field.domain) if field.domain.values <= most else public_cells(field, most)


def _is_line(field: Field, numbers: Numbers, convex_set: ConvexSet) -> bool:
    """Tell whether the regular values of a column lie on one coordinate."""
    domain = field.domain
    if convex_set == "ball" and domain.values == 2:
        raise ParameterError(
            f'column "{field.name}" has two values, which lie at -1 and 1: no row of several columns is in a ball '
            "then; use convex_set='box'",
            code="LW355",
        )
    if domain.values == 2 and domain.specials == 0 and not domain.missing:
        return True
    if not domain.ordered or (field.is_categorical and domain.values > 2):
        return False
    if convex_set != "box" and domain.reserved - (not domain.missing):
        raise ParameterError(
            f'column "{field.name}" has missing or special values, which no {convex_set} has; require it in the schema '
            "or use convex_set='box'",
            code="LW355",
        )
    return convex_set != "box" or numbers == "means"


def is_binary(coordinates: Coordinates) -> bool:
    """Tell whether the squares of all lines are known: each has two groups, and nothing beside them."""
    columns = zip(coordinates.kinds, coordinates.groupings, coordinates.listed, strict=True)
    return coordinates.convex_set == "box" and all(
        kind == "list" or (grouping.regular == 2 and not listed) for kind, grouping, listed in columns
    )


def projector(coordinates: Coordinates, own: Projector | None = None) -> Projector:
    """Return the Euclidean projection of means, in units, on their convex set."""
    if coordinates.convex_set == "ball":
        return rows_in_ball
    if coordinates.convex_set == "simplex":
        return rows_on_simplex
    box = _blocks(coordinates).project
    return box if own is None else lambda points: check_projection(own, box(points), box)


def _as_numbers(returned: object) -> np.ndarray:
    """Return what a callable gave as an array of float64; an empty one where it is no array of real numbers."""
    try:
        found = np.asarray(returned)
    except ValueError:  # lists of unequal lengths
        return np.empty(0)
    return found.astype(np.float64) if found.dtype.kind in "iuf" else np.empty(0)


def _blocks(coordinates: Coordinates) -> Blocks:
    """Return the box: an interval for each line of its own, a simplex for each list."""
    lows = np.full(coordinates.size, np.nan)
    by_width: dict[int, list[np.ndarray]] = {}
    starts = np.cumsum([0, *coordinates.widths])
    for place, kind in enumerate(coordinates.kinds):
        block = np.arange(starts[place], starts[place + 1])
        if kind == "line":
            lows[block] = 0.0
            lows[block[0]] = -1.0 if coordinates.coding == "centred" else 0.0
        else:
            by_width.setdefault(block.size, []).append(block)
    return Blocks(lows, [np.array(blocks) for blocks in by_width.values()])


def check_projection(own: Projector, points: np.ndarray, box: Projector) -> np.ndarray:
    """Return what a projection of one's own makes of points, or refuse it."""
    found = _as_numbers(own(points.copy()))
    if found.shape != points.shape or not np.isfinite(found).all():
        raise ParameterError(
            f"convex_set must return an array of finite numbers of shape {points.shape}; check the callable",
            code="LW344",
        )
    if np.abs(box(found) - found).max(initial=0.0) > 1e-9:
        raise ParameterError(
            "convex_set returned points outside the box of the schema; intersect its set with the box", code="LW344"
        )
    again = _as_numbers(own(found.copy()))
    if again.shape != found.shape or not np.abs(again - found).max(initial=0.0) <= 1e-6:
        raise ParameterError(
            "convex_set moved points that it returned itself, so it is no projection; check the callable",
            code="LW344",
        )
    return found
