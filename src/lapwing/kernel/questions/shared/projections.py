"""In which public cell a row lies when its vector is projected on a few directions, each cut into intervals."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.codec import packed_array
from lapwing.kernel.questions.shared.coordinates import MOST_COORDINATES
from lapwing.maths.arrays import read_only
from lapwing.maths.lattice_net import lattice_points, lattice_ranks, nearest_lattice_points

MOST_PROJECTED_CELLS: Final = 2**20
"""Most cells of one partition."""

MOST_DIRECTIONS: Final = 64

MOST_NET_NUMBERS: Final = 2**23
"""Most numbers of all points of a lattice."""

MOST_NORM: Final = 10_000
"""Largest squared length of a lattice point: within it nearest points are found in 64-bit integers for every row."""

LARGEST_PROJECTION: Final = 2**40
"""Projections are whole numbers of at most this size: exact in floats, and inside int64 when they are squared."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Projection:
    """Cut a few directions into cells, or take the nearest points of a lattice in a ball; decided in whole numbers.

    directions: int64 (p, t), whole multiples of unit vectors, t from 0 to 64. A row's projection is the product of its
    vector with them; cuts: tuple of int64 (bins - 1,), increasing, one array per direction: cells are the product of
    the intervals between cuts (a cut is the first number of its interval). Empty for a lattice; origin: int64 (t,), of
    the lattice; of shape (0,) for cuts; spacing: of the lattice, at least 1; 0 for cuts; norm: lattice points have at
    most this squared length, in spacings; 0 for cuts.

    The cell of a row is a function of its own codes alone: products and sums of whole numbers below ``2**53`` are exact
    in floats, so no other row, no order and no number of threads moves a near tie.
    """

    document: ClassVar = ("shape", "directions", "cuts", "origin", "spacing", "norm")

    directions: np.ndarray = field(metadata=packed_array(lambda seen: _checked_shape(*seen["shape"])))
    cuts: tuple[np.ndarray, ...] = ()
    origin: np.ndarray
    spacing: int = 0
    norm: int = 0
    _net: np.ndarray = field(init=False, repr=False)  # derived once: the points of the lattice in its ball

    def __post_init__(self) -> None:
        for name in ("directions", "origin"):
            object.__setattr__(self, name, _whole(getattr(self, name)))
        object.__setattr__(self, "cuts", tuple(_whole(each) for each in self.cuts))
        if self.directions.ndim != 2 or self.count > MOST_DIRECTIONS:
            raise ParameterError(
                f"directions must have shape (p, up to {MOST_DIRECTIONS}), got {self.directions.shape}",
                code="LW641",
            )
        self._check_cells()
        most = min(MOST_PROJECTED_CELLS, MOST_NET_NUMBERS // max(1, self.count))
        points = lattice_points(self.count, self.norm, most) if self.spacing else self.origin
        object.__setattr__(self, "_net", read_only(points))
        if self.cells > MOST_PROJECTED_CELLS:
            raise CapacityError(
                f"{self.cells} cells are above {MOST_PROJECTED_CELLS}; use fewer directions or bins", code="LW502"
            )

    def _check_cells(self) -> None:
        """Refuse cuts that do not increase, and lattices without a spacing."""
        if self.spacing == 0:
            if len(self.cuts) != self.count or self.origin.size or self.norm:
                raise ParameterError(
                    f"cells need cuts along each of {self.count} directions, and no lattice", code="LW641"
                )
            if not all(each.ndim == 1 and (each[1:] > each[:-1]).all() for each in self.cuts):
                raise ParameterError("the cuts of a direction must increase; sort them", code="LW641")
        elif self.cuts or self.origin.shape != (self.count,):
            raise ParameterError(f"a lattice needs an origin of {self.count} numbers, and no cuts", code="LW641")
        elif not (1 <= self.spacing <= 2 * LARGEST_PROJECTION and 0 <= self.norm <= MOST_NORM):
            raise ParameterError(
                f"a lattice needs a spacing from 1 to 2**41 and a norm from 0 to {MOST_NORM}, got {self.spacing} and "
                f"{self.norm}",
                code="LW641",
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Coordinates and directions."""
        return self.width, self.count

    @property
    def count(self) -> int:
        """Number of directions, t."""
        return int(self.directions.shape[1])

    @property
    def width(self) -> int:
        """Number of coordinates that are projected, p."""
        return int(self.directions.shape[0])

    def reach(self, row_norm: int) -> int:
        """Return the largest distance from the origin that vectors of this L1 norm can have along a direction."""
        return _largest(self.directions) * row_norm + _largest(self.origin)

    @property
    def cells(self) -> int:
        """Number of cells, empty ones included."""
        if self.spacing == 0:
            return math.prod(each.size + 1 for each in self.cuts)
        return len(self._net)

    def cells_of(self, vectors: np.ndarray) -> np.ndarray:
        """Return the cell of each vector.

        vectors: float64, whole numbers, shape (n, p), with projections up to ``2**40``. Returns int64 (n,).
        """
        projected = (vectors @ self.directions.astype(np.float64)).astype(np.int64)  # exact: sums stay below 2**53
        if self.spacing:
            return lattice_ranks(nearest_lattice_points(projected - self.origin, self.spacing, self.norm), self._net)
        cells = np.zeros(len(vectors), dtype=np.int64)
        for place, cuts in enumerate(self.cuts):
            cells = cells * (cuts.size + 1) + np.searchsorted(cuts, projected[:, place], side="right")
        return cells


def _checked_shape(width: int, count: int) -> tuple[int, int]:
    """Return the shape of recorded directions, unless it is none or too large."""
    if not 0 <= width <= MOST_COORDINATES or not 0 <= count <= MOST_DIRECTIONS:
        raise ParameterError(f"a projection has up to {MOST_COORDINATES} x {MOST_DIRECTIONS} numbers", code="LW641")
    return width, count


def _largest(values: np.ndarray) -> int:
    """Return the largest absolute value, exact also where int64 has no positive counterpart."""
    return max(-int(values.min(initial=0)), int(values.max(initial=0)))


def _whole(values: np.ndarray) -> np.ndarray:
    """Return whole numbers as a read-only array of int64, or refuse them."""
    if values.dtype != np.int64:
        raise ParameterError(
            f"directions, cuts and origins must be int64, got {values.dtype}; round them first", code="LW641"
        )
    return read_only(values)
