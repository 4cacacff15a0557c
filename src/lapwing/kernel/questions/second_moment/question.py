"""The question for the second moment of the rows' vectors."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.questions import (
    TABLE,
    WithoutDelta,
    check_cost,
    noise_for_cost,
    nothing_more,
    one_table,
)
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.terms import Relation
from lapwing.schema.groupings.grouping import Grouping

Bound = Literal["tight", "paper"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SecondMoment(WithoutDelta[NoisySums]):
    """Ask for the sums over rows of the products of two coordinates, each unordered pair once.

    diagonal: whether squares and products inside one column's block are asked for as well. Of centred lines and of
    lists they say nothing that the totals do not; bound: ``paper``: the noise is calibrated to a change of ``2 p**2``
    units of L1, as in Theorem 5.8, which is more than the true one; replace-one, unit lines in a box, and pure ε only.

    Guarantee: ε-DP with discrete Laplace, ρ-zCDP with discrete Gaussian noise of one law on every product, under the
    relation and ``max_rows`` that `sensitivity` is given (proof: ``proof.md``).
    """

    kind: ClassVar[str] = "SecondMoment"
    called: ClassVar[str] = TABLE
    purpose: ClassVar[str] = "how columns vary together"

    coordinates: Coordinates
    diagonal: bool
    bound: Bound = "tight"
    cost: Budget

    def __post_init__(self) -> None:
        if self.bound not in get_args(Bound) or not isinstance(self.diagonal, bool):
            raise ParameterError(f"a second moment needs the bound tight or paper, got {self.bound!r}", code="LW641")
        if not self.shape[0]:
            raise ParameterError(
                "a second moment of one column has no products between columns; ask for its totals", code="LW641"
            )
        check_cost(self.cost)
        lines = self.coordinates.coding == "unit" and self.coordinates.convex_set == "box"
        if self.bound == "paper" and (not lines or self.cost.notion != "pure"):
            raise ParameterError(
                "the paper's bound is for unit lines in a box and pure epsilon; use bound='tight'", code="LW641"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the vectors."""
        return self.coordinates.columns

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """One per column."""
        return self.coordinates.groupings

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second coordinate of each product, first at most second: ndarrays of int64, shape (q,)."""
        first, second = np.triu_indices(self.coordinates.size, 0)
        if self.diagonal:
            return first, second
        owners = self.coordinates.owners
        between = owners[first] != owners[second]
        return first[between], second[between]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of products."""
        size = self.coordinates.size
        if self.diagonal:
            return (size * (size + 1) // 2,)
        return ((size**2 - sum(width**2 for width in self.coordinates.widths)) // 2,)

    @property
    def scale(self) -> int:
        """What stands for one row in which both coordinates are 1."""
        return self.coordinates.unit**2

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of the products: a unit owns at most ``max_rows`` rows."""
        if self.bound == "paper":
            if relation != "replace-one":
                raise ParameterError(
                    "the paper's constants are for replace-one neighbours; use bound='tight'", code="LW641"
                )
            square = self.coordinates.unit**2
            change = Sensitivity(2 * self.coordinates.size**2 * square, (2 * self.coordinates.size**2 * square) ** 2)
        else:
            change = product_change(self.coordinates, relation, self.diagonal)
        return Sensitivity(max_rows * change.l1, max_rows**2 * change.l2_squared)

    noise = noise_for_cost
    parts = one_table
    check = nothing_more


def product_change(coordinates: Coordinates, relation: Relation, diagonal: bool) -> Sensitivity:
    """Bound how far the products move when one row is added or replaced.

    Returns never exceeded; without diagonal attained by lines of one coordinate, and by centred mixes of them with
    lists of two coordinates and more.

    Proof: ``proof.md``.

    >>> from lapwing.schema.groupings.domains import Domain
    >>> from lapwing.schema.groupings.grouping import identity
    >>> flag = identity(Domain(2, 0, False, True, False))
    >>> three = Coordinates(columns=("a", "b", "c"), groupings=(flag,) * 3, kinds=("line",) * 3, listed=(0,) * 3)
    >>> product_change(three, "add-remove", False), product_change(three, "replace-one", False)
    (Sensitivity(l1=3, l2_squared=3), Sensitivity(l1=4, l2_squared=8))
    """
    square = coordinates.unit**2
    if coordinates.convex_set != "box":
        size = coordinates.size if coordinates.convex_set == "ball" else 1
        add = Sensitivity((size + 1) * square // 2, square**2)
        return add if relation == "add-remove" else Sensitivity((size + 1) * square, 2 * square**2)
    blocks = len(coordinates.columns)
    pairs = blocks * (blocks - 1) // 2
    inside = blocks if diagonal else 0
    if relation == "add-remove":
        return Sensitivity((pairs + inside) * square, (pairs + inside) * square**2)
    kinds = zip(coordinates.kinds, coordinates.widths, strict=True)
    movable = sum(kind == "list" or width > 1 for kind, width in kinds)  # can be 1 on another coordinate, or zero
    inside += movable if diagonal else 0
    if coordinates.coding == "unit":
        touched = pairs - (blocks - movable) * (blocks - movable - 1) // 2
        return Sensitivity((pairs + touched + inside) * square, (pairs + touched + inside) * square**2)
    lines = coordinates.kinds.count("line")
    l1, l2_squared = 0, 0
    for moved in range(movable + 1):
        flipped = min(lines, (blocks - moved) // 2)
        flips = flipped * (blocks - moved - flipped)
        touched = pairs - (blocks - moved) * (blocks - moved - 1) // 2
        l1 = max(l1, 2 * (flips + touched))
        l2_squared = max(l2_squared, 4 * flips + 2 * touched)
    return Sensitivity((l1 + inside) * square, (l2_squared + inside) * square**2)
