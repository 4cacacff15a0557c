"""The question for rows drawn straight from a density made of the table, and its answer: rows, and no noisy table."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.kernel.budget.conversions import log_between, rounded_up
from lapwing.kernel.codec import KNOWN, packed_array
from lapwing.kernel.noise_law import NoisyTable, Sensitivity
from lapwing.kernel.questions.questions import Part, RecordedAnswer, WithoutDelta
from lapwing.kernel.terms import Relation, Terms
from lapwing.maths.arrays import integers
from lapwing.maths.reduced_density import (
    EULER_ABOVE,
    MOST_COLUMNS,
    UNIT,
    is_well_conditioned,
    largest_odd_family,
    low_sets,
)
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.scalars import check_whole_number
from lapwing.schema.schemas import Schema

MOST_DRAWS: Final = 2**20
"""Most rows of one answer."""

MOST_ROWS: Final = 2**31
"""Largest table that is drawn from: all weights of a cube of 20 columns then sum to less than 2**62."""

MOST_POINTS: Final = 32
"""Largest reduced space: its programs are solved in rational numbers, in about a second."""

LEAST_FLOOR: Final = Fraction(1, 10**6)
"""Far above the rounding of a density on few points, to ``2**-40`` of the mass, as its price needs it."""

TWO_VALUES: Final = Grouping(2, 1, "shift", 0)
"""The codes of a column that takes part: two values, and misfits."""

_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PrivateDraw(WithoutDelta["DrawnRows"]):
    """Ask for rows drawn from a density that has the table's marginals up to a degree, as far as its floor lets it.

    columns: 1 to 20 distinct columns, each with two values and never missing: the cube; floor: the paper's δ: no point
    of the space is less likely than this times the uniform probability. From 10^-6 to 1; with points below 1/2; rows:
    the public number n of rows, 1 to ``2**31``; draws: how many rows to draw, k, 1 to ``2**20``; points: int64 (m,),
    none: the density is on the whole cube, weights ``max(g, ceil(δ n))``. Else the published algorithm on these public
    points, at most 32; bit j of a point is the code of column j.

    Guarantee: ``draws * row_price`` of ε-DP or ρ-zCDP for replace-one neighbours with one row per unit (proof:
    ``proof.md``). The cost follows from the other fields, so it cannot be too small.

    >>> question = PrivateDraw(
    ...     columns=tuple("abcdefghij"), degree=1, floor=Fraction(1, 10), rows=10**6, draws=4847, notion="pure"
    ... )
    >>> 0.9998 < question.cost.epsilon <= 1
    True
    """

    kind: ClassVar[str] = "PrivateDraw"
    called: ClassVar[str] = "private draw"
    purpose: ClassVar[str] = "rows drawn by chance"

    columns: tuple[str, ...]
    degree: int
    floor: Fraction
    rows: int
    draws: int
    notion: Notion
    points: np.ndarray | None = None
    ceiling: Fraction | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.columns) <= MOST_COLUMNS or len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                f"a private draw needs 1 to {MOST_COLUMNS} distinct columns, got {len(self.columns)}", code="LW641"
            )
        for name, most in (("degree", len(self.columns)), ("rows", MOST_ROWS), ("draws", MOST_DRAWS)):
            check_whole_number(f"{name} of a private draw", getattr(self, name), 1, most, code="LW641")
        Budget(self.notion, Fraction(0))  # refuses another notion
        if self.points is not None:
            object.__setattr__(self, "points", integers("points of a private draw", self.points))
            is_inside = ((self.points >= 0) & (self.points < 2 ** len(self.columns))).all()
            if not 1 <= self.points.size <= MOST_POINTS or not is_inside:
                raise ParameterError(
                    f"a private draw takes 1 to {MOST_POINTS} points, all of its cube; give other points",
                    code="LW641",
                )
        check_density(self.floor, self.ceiling, is_reduced=self.points is not None)

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """One per column: two values, and misfits."""
        return (TWO_VALUES,) * len(self.columns)

    @property
    def least(self) -> int:
        """The least weight of a point of the cube, ``ceil(δ n)``."""
        return math.ceil(self.floor * self.rows)

    @property
    def row_price(self) -> Fraction:
        """What one drawn row costs, rounded up."""
        size = None if self.points is None else self.points.size
        return row_price(
            len(self.columns), self.degree, self.floor, self.rows, notion=self.notion, points=size, ceiling=self.ceiling
        )

    @property
    def cost(self) -> Budget:
        """What the answer spends."""
        return Budget(self.notion, self.draws * self.row_price)

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of the sums of all Walsh functions, and of their density times ``2**p``."""
        if relation != "replace-one" or max_rows != 1:
            raise ParameterError(
                f"a private draw protects replace-one neighbours with one row per unit, got {relation} and max_rows "
                f"{max_rows}; use neighbours replace-one and a schema with maxRows 1",
                code="LW314",
            )
        odd = largest_odd_family(len(self.columns), self.degree)
        return Sensitivity(2 * odd, 4 * odd)

    def parts(self, relation: Relation, max_rows: int) -> tuple[Part, ...]:
        """Return the one draw."""
        del relation, max_rows
        return (Part(None, self.cost),)

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse, before any row is read, what the price does not hold for."""
        del schema
        if self.rows != terms.rows:
            raise ParameterError(
                f"the private draw is for {self.rows} rows, which is not the public number of rows; take it from the "
                "terms",
                code="LW641",
            )
        if self.points is not None and not is_well_conditioned(self.points, len(self.columns), self.degree):
            raise ParameterError(
                f"the smallest singular value of {self.points.size} points is below sqrt(m) / (2 e**{self.degree}): "
                "they do not tell the marginals apart; draw other points, or more of them",
                code="LW356",
            )


def check_density(floor: Fraction, ceiling: Fraction | None, *, is_reduced: bool) -> None:
    """Refuse bounds of a density for which nothing is proved."""
    if (ceiling is None) == is_reduced:
        raise ParameterError(
            "a ceiling goes with points, and points with a ceiling; give both or neither", code="LW316"
        )
    if not isinstance(floor, Fraction) or not LEAST_FLOOR <= floor <= 1:
        raise ParameterError(f"floor must be from 0.000001 to 1, got {floor}; 0.1 suits most tables", code="LW301")
    if ceiling is None:
        return
    room = min(1 - 2 * floor, ceiling - floor - 1)
    if not isinstance(ceiling, Fraction) or room <= 0 or 2 * (ceiling - floor - 1) > 3 * ceiling**2 * room:
        raise ParameterError(
            "variant paper needs 2 floor < 1 < ceiling - floor, and 2 (ceiling - floor - 1) at most "
            f"3 ceiling**2 (1 - 2 floor), got floor {float(floor):g} and ceiling {float(ceiling):g}; use 0.25 and 2",
            code="LW316",
        )


@lru_cache(maxsize=64)
def row_price(
    columns: int,
    degree: int,
    floor: Fraction,
    rows: int,
    *,
    notion: Notion,
    points: int | None = None,
    ceiling: Fraction | None = None,
) -> Fraction:
    """Return what one drawn row costs: an ε or a ρ, rounded up at the twelfth digit.

    Returns on the whole cube ``ln(1 + 2 O / ceil(δ n)) + ln(1 + 2 sqrt(O) / n)`` of ε, or, by bounded range, ``ln(1 + 2
    O / ceil(δ n))**2 / 2`` of ρ. On m points ``4 sqrt(2) (Δ/δ)**1.5 e**(d/2) N**0.25 m**0.75 / sqrt(n)`` and what
    rounding the density adds, of ε; half its square of ρ.

    References
    ----------
    ``proof.md``; the bound for m points is that of Boedihardjo, Strohmer and Vershynin as
    Pierquin, Zimmermann and Boussard (2312.07139) restate it, proved there anew.

    >>> float(1 / row_price(16, 2, Fraction(1, 10), 10**6, notion="pure"))  # rows at ε = 1
    686.84...
    """
    if points is not None and ceiling is not None:
        fourth = 1024 * (ceiling / floor) ** 6 * EULER_ABOVE ** (2 * degree) * low_sets(columns, degree)
        epsilon = _root_above(_root_above(fourth * points**3 / rows**2)) + Fraction(4 * points, UNIT) / floor
        return rounded_up(epsilon if notion == "pure" else epsilon**2 / 2, _DIGITS)
    odd = largest_odd_family(columns, degree)
    weight = log_between(1 + Fraction(2 * odd, math.ceil(floor * rows)))[1]
    if notion == "zcdp":
        return rounded_up(weight**2 / 2, _DIGITS)  # bounded range 2 * weight: its square by 8
    total = log_between(1 + 2 * _root_above(Fraction(odd)) / rows)[1]
    return rounded_up(weight + total, _DIGITS)


def _root_above(x: Fraction) -> Fraction:
    """Return a number of 30 decimals above the square root of x."""
    return Fraction(math.isqrt(math.ceil(x * 10**60)) + 1, 10**30)


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRows(RecordedAnswer):
    """Hold the answer to a `PrivateDraw` question.

    rows: int64 (draws,), the drawn rows: bit j is the code of column j.
    """

    question: PrivateDraw = field(metadata=KNOWN)
    rows: np.ndarray = field(metadata=packed_array(lambda seen: (seen["question"].draws,)))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", integers("drawn rows", self.rows))
        asked = self.question
        space = np.arange(2 ** len(asked.columns)) if asked.points is None else asked.points
        if self.rows.shape != (asked.draws,) or not np.isin(self.rows, space).all():
            raise ParameterError(
                f"an answer must hold {asked.draws} rows of the space that they are drawn from", code="LW643"
            )

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """None: drawn rows are no noisy table."""
        return ()

    def codes(self, place: int) -> np.ndarray:
        """Return the codes of one column: ndarray of int64, shape (draws,)."""
        return self.rows >> place & 1

    def privacy_loss(self, weights: np.ndarray, other: np.ndarray) -> Fraction:
        """Return the loss of this answer between two tables on which the points have these weights.

        weights, other: int64 (points,), exact weights on the two tables, above 0. Returns of a pure question the
        largest absolute log-ratio of a point's probabilities, times the draws; of a zCDP one their range, squared, by
        8, times the draws. Rounded down at about the fiftieth digit.
        """
        pairs = set(zip(weights.tolist(), other.tolist(), strict=True))
        ratios = [Fraction(one, two) for one, two in pairs]
        if self.question.notion == "zcdp":
            return self.question.draws * max(log_between(max(ratios) / min(ratios))[0], Fraction(0)) ** 2 / 8
        total = Fraction(sum(other.tolist()), sum(weights.tolist()))
        largest = max(max(ratios) * total, 1 / (min(ratios) * total))
        return self.question.draws * max(log_between(largest)[0], Fraction(0))
