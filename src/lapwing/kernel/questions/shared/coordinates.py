"""Public maps from the rows of a table to vectors of integers, and how far sums of such vectors can move."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.terms import Relation
from lapwing.maths.arrays import read_only
from lapwing.schema.groupings.grouping import Grouping

ColumnKind = Literal["line", "list"]
ConvexSet = Literal["box", "ball", "simplex"]
Coding = Literal["centred", "unit"]

MOST_COORDINATES: Final = 2000
"""More make a second-moment matrix that no budget pays for."""

MOST_BITS: Final = 16
"""Most bits: products of fewer than 2**31 rows sum up inside int64."""

MOST_GROUPS: Final = 2**13
"""Most groups of one column: the blocks of all of them are listed."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Coordinates:
    """A public map from rows to integer vectors: each column gives a block of coordinates of L1 norm at most ``unit``.

    kinds: ``line``: the regular groups lie on one coordinate, evenly by their middle codes, two of them at its ends;
    ``list``: each regular group has a coordinate, which is ``unit`` in its rows and 0 in others; listed: of each
    column: so many of its first reserved codes have a coordinate of their own, after the regular ones. A row with
    another reserved code (a misfit) has zeros in the block; coding: a line goes from ``-unit`` to ``unit``, or from 0
    to ``unit``; convex_set: where the vectors lie: in the product of the blocks; in the Euclidean ball of radius
    ``unit`` (centred lines only; longer vectors are shortened); or in the simplex of non-negative vectors of sum
    ``unit`` (unit lines only; every vector is divided by its sum, zero is the middle). Shortening and dividing round
    towards zero.
    """

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    kinds: tuple[ColumnKind, ...]
    listed: tuple[int, ...]
    coding: Coding = "centred"
    convex_set: ConvexSet = "box"
    bits: int = 0
    _tables: tuple[np.ndarray, ...] = field(init=False, repr=False)  # derived once: the block of each group

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                f"coordinates need distinct columns, got {self.columns}; name each column once", code="LW641"
            )
        if not len(self.columns) == len(self.groupings) == len(self.kinds) == len(self.listed):
            raise ParameterError(
                "coordinates need one grouping, kind and number of listed codes for each column", code="LW641"
            )
        if not all(0 <= listed <= each.reserved for listed, each in zip(self.listed, self.groupings, strict=True)):
            raise ParameterError(
                "coordinates can list only the reserved codes of their column; list 0 to all of them", code="LW641"
            )
        words = ((self.coding, Coding), (self.convex_set, ConvexSet), *((kind, ColumnKind) for kind in self.kinds))
        if not all(word in get_args(choices) for word, choices in words):
            raise ParameterError(
                "coordinates got a word that is no kind, coding or convex set; use those of the list", code="LW641"
            )
        if isinstance(self.bits, bool) or not 0 <= self.bits <= MOST_BITS:
            raise ParameterError(
                f"bits of coordinates must be a whole number from 0 to {MOST_BITS}, got {self.bits}", code="LW641"
            )
        if self.convex_set != "box":
            self._check_lines()
        self._check_sizes()
        tables = (read_only(self._table(place)) for place in range(len(self.columns)))
        object.__setattr__(self, "_tables", tuple(tables))

    def _check_sizes(self) -> None:
        """Refuse more coordinates, or groups of a column, than there is memory for."""
        if self.size > MOST_COORDINATES:
            memory = 8 * self.size**2 / 2**20
            raise CapacityError(
                f"{self.size} coordinates are above {MOST_COORDINATES} (their second moment would take {memory:.0f} "
                "MiB); leave columns out, or coarsen them",
                code="LW505",
            )
        for name, grouping in zip(self.columns, self.groupings, strict=True):
            if grouping.groups > MOST_GROUPS:
                raise CapacityError(
                    f'column "{name}" has {grouping.groups} groups, above {MOST_GROUPS}; use a coarser grouping',
                    code="LW505",
                )

    def _check_lines(self) -> None:
        """Refuse columns and codings that a ball or a simplex cannot have."""
        for name, kind, listed in zip(self.columns, self.kinds, self.listed, strict=True):
            if kind != "line" or listed:
                raise ParameterError(
                    f'column "{name}" must be one coordinate in a {self.convex_set}, but has categories, special or '
                    "missing values; use convex_set='box'",
                    code="LW355",
                )
        if self.coding != ("centred" if self.convex_set == "ball" else "unit"):
            raise ParameterError(
                f"a {self.convex_set} does not go with {self.coding} coding; use the other one", code="LW641"
            )

    @property
    def unit(self) -> int:
        """The integer that stands for 1."""
        return 1 << self.bits

    @property
    def widths(self) -> tuple[int, ...]:
        """Coordinates of each column's block."""
        return tuple(
            (1 if kind == "line" else grouping.regular) + listed
            for kind, grouping, listed in zip(self.kinds, self.groupings, self.listed, strict=True)
        )

    @property
    def size(self) -> int:
        """Number of coordinates, p."""
        return sum(self.widths)

    @property
    def owners(self) -> np.ndarray:
        """The column of each coordinate: ndarray of int64, shape (p,)."""
        return np.repeat(np.arange(len(self.columns)), self.widths)

    def _table(self, place: int) -> np.ndarray:
        """Return the block of each group of a column: ndarray of float64, whole numbers, shape (groups, width)."""
        grouping, listed, width = self.groupings[place], self.listed[place], self.widths[place]
        blocks = np.zeros((grouping.groups, width))
        if self.kinds[place] == "list":
            np.fill_diagonal(blocks[: grouping.regular + listed], self.unit)
            return blocks
        blocks[: grouping.regular, 0] = self._line(grouping)
        np.fill_diagonal(blocks[grouping.regular : grouping.regular + listed, 1:], self.unit)
        return blocks

    def _line(self, grouping: Grouping) -> list[int]:
        """Return where the regular groups of a column lie on its line, in exact arithmetic."""
        if grouping.values == 1:
            return [0]
        if grouping.regular == 2:
            return [-self.unit if self.coding == "centred" else 0, self.unit]
        starts, stops, group = grouping.pieces()
        of_values = group < grouping.regular
        twice = dict(zip(group[of_values].tolist(), (starts + stops - 1)[of_values].tolist(), strict=True))
        last = 2 * (grouping.values - 1)
        spread, first = (2 * self.unit, -self.unit) if self.coding == "centred" else (self.unit, 0)
        return [first + spread * twice[each] // last for each in range(grouping.regular)]

    def vectors(self, codes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the vectors of coded rows; each depends on the codes of its own row alone.

        codes: mapping of str to integers (n,). Returns float64 (n, p), whole numbers of absolute value at most
        ``unit``.
        """
        blocks = [
            table[grouping.apply(codes[name])]
            for name, grouping, table in zip(self.columns, self.groupings, self._tables, strict=True)
        ]
        vectors = np.concatenate(blocks, axis=1)
        if self.convex_set == "ball":
            return _in_ball(vectors, self.unit)
        return _in_simplex(vectors, self.unit) if self.convex_set == "simplex" else vectors

    @property
    def row_norm(self) -> int:
        """The largest L1 norm of a vector."""
        if self.convex_set == "ball":
            return math.isqrt(self.size * self.unit**2)
        return self.unit * (1 if self.convex_set == "simplex" else len(self.columns))

    def sum_change(self, relation: Relation) -> Sensitivity:
        """Bound how far the sums of vectors over cells move when one row is added, or replaced in any cell.

        Proof: ``cell_sums/proof.md``.
        """
        norm, square = self.row_norm, self.unit**2
        lines = self.kinds.count("line")
        lists = len(self.kinds) - lines
        if relation == "add-remove":
            return Sensitivity(norm, square * (lines + lists if self.convex_set == "box" else 1))
        if self.convex_set != "box":
            return Sensitivity(2 * norm, square * (4 if self.convex_set == "ball" else 2))
        return Sensitivity(2 * norm, square * ((4 if self.coding == "centred" else 2) * lines + 2 * lists))


def _in_ball(vectors: np.ndarray, unit: int) -> np.ndarray:
    """Shorten the vectors that are longer than ``unit``, in integers, towards zero."""
    whole = vectors.astype(np.int64)
    squares = (whole * whole).sum(axis=1)
    lengths = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    lengths += lengths * lengths < squares  # the root is rounded; up, so that the result lies inside
    lengths += lengths * lengths < squares
    is_long = squares > unit**2
    short = np.sign(whole) * (np.abs(whole) * unit // np.maximum(lengths, 1)[:, None])
    return np.asarray(np.where(is_long[:, None], short, whole), dtype=np.float64)


def _in_simplex(vectors: np.ndarray, unit: int) -> np.ndarray:
    """Divide vectors by their sum, in integers, towards zero; the zero vector becomes the middle."""
    whole = vectors.astype(np.int64)
    sums = whole.sum(axis=1)
    divided = whole * unit // np.maximum(sums, 1)[:, None]
    return np.asarray(np.where((sums == 0)[:, None], unit // vectors.shape[1], divided), dtype=np.float64)
