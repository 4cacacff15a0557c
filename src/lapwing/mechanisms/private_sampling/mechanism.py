"""Private sampling: rows drawn from a density so flat that no row of the table shows, and no noise.

ask -> model: one question, whose answer is the rows; one point atom per row. A theorem about the limit of huge tables:
at realistic sizes few rows are allowed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import ClassVar, Final, Self

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget, as_text, exact_number
from lapwing.kernel.questions.private_draw.question import (
    MOST_DRAWS,
    MOST_POINTS,
    MOST_ROWS,
    TWO_VALUES,
    DrawnRows,
    PrivateDraw,
    check_density,
    row_price,
)
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Relation, Terms
from lapwing.maths.reduced_density import MOST_COLUMNS, is_well_conditioned, low_sets
from lapwing.mechanisms.shared.base import Mechanism, Questions
from lapwing.mechanisms.shared.settings import Variant, check_choice, check_whole
from lapwing.model.certificate.statements import Statement
from lapwing.model.laws import point_laws
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short
from lapwing.theorems.private_sampling import draw_error

_FAILURE: Final = 0.05
_ATTEMPTS: Final = 64
_GOLDEN: Final = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateSampling(Mechanism):
    """Draw rows from a density that has the table's marginals up to a degree and is nowhere far from uniform.

    Parameters
    ----------
    variant : {"default", "paper"}, default "default"
        ``default``: on the whole cube of at most 20 columns, in whole numbers. ``paper``: the published algorithm, on
        at most 32 public random points.
    degree : int, default 2
        Marginals of up to so many columns are kept (the paper's d), 1 to 20; of all columns where there are fewer.
    floor : float, default 0.1
        δ: no point is less likely than this times the uniform probability. From 10^-6 to 1 (paper: below 0.5).
        Larger: more rows are allowed, and the density is flatter.
    draws : int or None, default None
        How many rows (the paper's k); more than the budget allows are refused. By default as many as it allows, at
        most ``2**20``.
    points : int or None, default None
        Paper: m, the number of random points, at most 32. By default twice as many as there are Walsh functions of
        the degree, at most 32.
    ceiling : float, default 2.0
        Paper: Δ, the largest density times the number of points.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: one `PrivateDraw` question at the price of its rows: ε-DP or ρ-zCDP for replace-one neighbours with one
    row per unit; the number of rows is public. Research: proved (``private_draw/proof.md``), of little use at
    realistic sizes, and never chosen by default. The accuracy theorem of the published variant is restated from a
    secondary source and is not derived here; nothing in a certificate rests on it.

    Expected error: the drawn rows have the marginals of the density up to ``sqrt(ln(C / 0.025) / (2 k))``, for C cells
    in all, with 95 % probability. The density has those of the table exactly where none of its values is below the
    floor; how far it is off otherwise is private. Time ``O(n p + p 2**p)``, memory ``O(2**p)``; paper: some seconds
    at most.

    References
    ----------
    Boedihardjo, Strohmer and Vershynin, "Private sampling: a noiseless approach for generating differentially private
    synthetic data" (2109.14839). Changed in ``default``: the whole cube in place of m points, a floor in place of
    shrinking and projecting, so that all is whole numbers and far more rows are allowed. Changed in ``paper``: both
    programs are solved in rational numbers, points are drawn again (64 times at most) until they distinguish
    the marginals, and the rounding of the density to ``2**-40`` is charged.

    Examples
    --------
    >>> PrivateSampling(degree=1).floor
    0.1
    """

    __repr__ = short
    name: ClassVar[str] = "PrivateSampling"
    summary: ClassVar[str] = "rows drawn from a flattened density, without noise (research; few rows, Boolean columns)"
    relations: ClassVar[tuple[Relation, ...]] = ("replace-one",)
    caveat: ClassVar[str] = "few_draws"
    report: ClassVar[str] = "drew rows by chance, without noise, from a density so flat that no single row shows in it."
    not_proved: ClassVar[Statement] = Statement("not_proved_beyond_degree")
    one_row_per_unit: ClassVar[bool] = True
    two_valued: ClassVar[bool] = True

    variant: Variant = "default"
    degree: int = 2
    floor: float = 0.1
    draws: int | None = None
    points: int | None = None
    ceiling: float = 2.0

    def __post_init__(self) -> None:
        check_choice(self, "variant", Variant, "; default allows more rows")
        for key, most in (("degree", MOST_COLUMNS), ("draws", MOST_DRAWS), ("points", MOST_POINTS)):
            check_whole(self, key, 1, most, optional=key != "degree")
        exact_number("ceiling", self.ceiling)  # also where it is not used: the certificate shows it
        check_density(self._floor, self._ceiling, is_reduced=self._is_paper)

    @classmethod
    def small(cls) -> Self:
        """Return settings under which tiny tables give rows, for privacy tests."""
        return cls(degree=1, floor=0.9)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return one point atom per drawn row, spending at most ``budget``."""
        # Ask: k rows from h*, which is solved for and drawn from behind the question: the draw is the protection. Lemma
        # of private sampling: k draws are ε-DP where h* of neighbours differs by a factor of at most exp(ε / k).
        (drawn,) = curator.ask(self._question(schema, budget, curator.terms, rng))

        # Model: the rows themselves.
        laws = {
            name: Indexed(drawn.codes(place).astype(np.uint8), point_laws([0, 1]))
            for place, name in enumerate(drawn.question.columns)
        }
        return ReleasedModel(weights=np.ones(drawn.rows.size), rows=drawn.rows.size, laws=laws)

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return how far the drawn rows would be from the density."""
        del schema, budget, terms, rng
        (question,) = (each for each in questions if isinstance(each, PrivateDraw))
        return _statements(question)

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return what is proved about the accuracy of a release: a function of its question alone."""
        del schema, terms, model, rng
        return _statements(next(answer.question for answer in answers if isinstance(answer, DrawnRows)))

    def next_step(self, schema: Schema, one_way: int, rounds: int) -> str:
        """Say that rows are drawn, without noise."""
        del schema, one_way, rounds
        return "drawing rows"

    @property
    def _is_paper(self) -> bool:
        return self.variant == "paper"

    @property
    def _floor(self) -> Fraction:
        return exact_number("floor", self.floor)

    @property
    def _ceiling(self) -> Fraction | None:
        return exact_number("ceiling", self.ceiling) if self._is_paper else None

    def _question(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> PrivateDraw:
        """Return the question for as many rows as are wanted and allowed."""
        draws = self._allowed(schema, budget, terms)
        columns = tuple(column.name for column in schema.columns)
        degree = min(self.degree, len(columns))
        assert terms.rows is not None
        return PrivateDraw(
            columns=columns,
            degree=degree,
            floor=self._floor,
            rows=terms.rows,
            draws=draws,
            notion=budget.notion,
            points=_points(self._size(len(columns)), len(columns), degree, rng) if self._is_paper else None,
            ceiling=self._ceiling,
        )

    def _allowed(self, schema: Schema, budget: Budget, terms: Terms) -> int:
        """Return how many rows will be drawn, or refuse."""
        columns = _cube(schema, terms)
        degree = min(self.degree, columns)
        assert terms.rows is not None
        size = self._size(columns) if self._is_paper else None
        price = row_price(
            columns, degree, self._floor, terms.rows, notion=budget.notion, points=size, ceiling=self._ceiling
        )
        allowed = math.floor(budget.amount / price)  # k
        if allowed < 1:
            raise ParameterError(
                f"not one row can be drawn with {budget} from {columns} columns at degree {degree} and a table of "
                f"{terms.rows} rows, because one costs {as_text(price)}; spend at least that, or use fewer columns, a "
                "smaller degree or a larger floor",
                code="LW356",
            )
        if self.draws is not None and allowed < self.draws:
            raise ParameterError(
                f"draws must be at most {allowed} for {budget}, {columns} columns, degree {degree} and a table of "
                f"{terms.rows} rows, where one row costs {as_text(price)}, got {self.draws}; draw no more, or use "
                "a lower degree, a higher floor or more budget",
                code="LW356",
            )
        return self.draws or min(allowed, MOST_DRAWS)

    def _size(self, columns: int) -> int:
        """Return the number of points of the paper's variant."""
        sets = low_sets(columns, min(self.degree, columns))
        size = self.points or min(2 * sets, MOST_POINTS)
        if sets > size:
            raise ParameterError(
                f"degree {self.degree} of {columns} columns has {sets} Walsh functions, more than {size} points; use "
                f"as many points (at most {MOST_POINTS}), a lower degree, fewer columns or variant='default'",
                code="LW356",
            )
        return size


def _cube(schema: Schema, terms: Terms) -> int:
    """Return the number of columns, if they are a cube and the terms are those of the theorem."""
    for column in schema.columns:
        domain = column.domain
        if domain.missing or (domain.values, domain.reserved) != (TWO_VALUES.values, TWO_VALUES.reserved):
            raise ParameterError(
                f'column "{column.name}" must be required and have two values for private sampling; declare it so in '
                "the schema, leave it out, or use another mechanism",
                code="LW355",
            )
    if len(schema.columns) > MOST_COLUMNS:
        raise ParameterError(
            f"private sampling takes at most {MOST_COLUMNS} columns, got {len(schema.columns)}; leave some out, or use "
            "another mechanism",
            code="LW355",
        )
    if terms.relation != "replace-one" or terms.max_rows != 1:
        raise ParameterError(
            f"private sampling protects replace-one neighbours with one row per unit, got {terms.relation} and maxRows "
            f"{terms.max_rows}; use maxRows 1, or another mechanism",
            code="LW314",
        )
    if terms.rows is None:
        raise ParameterError(
            "private sampling needs a public number of rows, and rows may lack their privacy unit; make the unit's "
            "field required, if no row lacks it, or use another mechanism",
            code="LW314",
        )
    if not 1 <= terms.rows <= MOST_ROWS:
        raise ParameterError(
            f"private sampling needs a table of 1 to 2**31 rows, got {terms.rows}; use another mechanism",
            code="LW356",
        )
    return len(schema.columns)


def _points(size: int, columns: int, degree: int, rng: np.random.Generator) -> np.ndarray:
    """Return uniform points that tell the marginals apart; steps 1 and 2 of the algorithm.

    Where the generator finds none, even ones: a check before the debit draws what the run draws.
    """
    drawn = (rng.integers(2**columns, size=size) for _ in range(_ATTEMPTS))
    for points in chain(drawn, _even_points(size, columns)):
        if is_well_conditioned(points, columns, degree):
            return points
    raise ParameterError(
        f"{_ATTEMPTS} draws of {size} points never told the marginals of degree {degree} apart; use more points",
        code="LW356",
    )


def _even_points(size: int, columns: int) -> Iterator[np.ndarray]:
    """Yield points that are spread by multiples of the golden ratio, of one odd number after the other."""
    numbers = np.arange(1, size + 1, dtype=np.uint64)
    for odd in range(1, 2 * _ATTEMPTS, 2):
        yield (numbers * np.uint64(_GOLDEN * odd % 2**64) >> np.uint64(64 - columns)).astype(np.int64)


def _statements(question: PrivateDraw) -> tuple[Statement, ...]:
    """Return Hoeffding's bound over all cells of all marginals up to the degree, and what is known of the density."""
    columns = len(question.columns)
    cells = sum(math.comb(columns, size) * 2**size for size in range(1, question.degree + 1))
    stated = (
        Statement("error_of_draw", draw_error(cells, question.draws, _FAILURE)),
        Statement("rows_drawn", question.draws, {"price": as_text(question.row_price), "notion": question.notion}),
    )
    if question.points is not None:
        return (*stated, Statement("restated_theorem"))
    return stated if question.degree < columns else (*stated, _distance(question))


def _distance(question: PrivateDraw) -> Statement:
    """Return how far the density is from the table where the degree is the number of columns.

    Without a floor it is the table. With x for the mass that a floor c adds, at most 2**p c of 2**p n, the density is
    ``max(f, c / (2**p n)) / (1 + x)``, below f by at most x / (1 + x) in all.
    """
    return Statement("distance_of_density", question.least / (question.rows + question.least))
