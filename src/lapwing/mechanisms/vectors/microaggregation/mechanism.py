"""Microaggregation: means of similar rows, in cells along the leading directions.

ask -> solve -> model: totals and second moment, counts and sums of cells, one product of Bernoullis (and other simple
laws) per cell.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal, Self, get_args

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import ConvexSet, Coordinates
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.base import Mechanism, Questions
from lapwing.mechanisms.shared.one_way import public_or_expected_rows
from lapwing.mechanisms.shared.settings import Variant, check_choice, check_number, check_unread, check_whole
from lapwing.mechanisms.shared.vectors.certified_pairs import pair_statements, planned_noise
from lapwing.mechanisms.shared.vectors.means import CellSettings
from lapwing.mechanisms.shared.vectors.row_vectors import (
    Numbers,
    check_projection,
    projector,
    row_coordinates,
)
from lapwing.mechanisms.vectors.microaggregation.model import (
    INTERVALS,
    Details,
    VectorCells,
    details_and_rest,
    fitting_cells,
    fixed_cells,
    means_as_model,
    microaggregated_means,
    paper_means,
    paper_questions,
    planned_cells,
)
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel, whole_rows
from lapwing.schema.scalars import is_among, safe_repr
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

ALL_ROWS: Final = 2.0**60  # so many rows that every question is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Microaggregation(Mechanism):
    """Release noisy means of rows that lie together, and draw rows from them by randomised rounding.

    Parameters
    ----------
    variant : {"default", "paper"}, default "default"
        ``default``: exact sensitivities, cells by the rules below. ``paper``: Algorithm 2 with its noise, net and
        damping; replace-one neighbours with one row per unit, and pure ε.
    convex_set : {"box", "ball", "simplex"} or callable, default "box"
        Where the means of rows lie. ``box``: inside the bounds of the schema. ``ball``, ``simplex``: columns are
        numbers (simplex: or Booleans) that are never missing, their bounds taken as -1 and 1 (simplex: 0 and 1); rows
        outside are moved inwards, one by one, and noise is far smaller. A callable: the Euclidean projection of points
        (n, p), coordinates from -1 to 1, on a convex set inside the box; it sees noisy means only, and no file keeps
        it.
    numbers : {"intervals", "means"}, default "intervals"
        Whether wide ordered columns are lists of intervals, whose shares are released, or one coordinate, whose mean
        is. Balls, simplices and callables take means.
    intervals : int, default 16
        About how many intervals, 2 to 256; columns with at most twice as many values are counted value by value.
    one_way_share : float, default 0.2
        Part of the budget for a noisy number of rows and noisy one-way marginals, from 0.01 to 0.9: they are the
        centre of the cells, and the result is calibrated to them.
    directions : int or None, default None
        Leading eigenvectors that are cut, 0 to 64. By default those whose eigenvalue is above what noise alone gives.
    bins : int or None, default None
        Cells along each direction, 2 to 4096. By default as many as the noise allows, more for larger eigenvalues.
    damping : int or None, default None
        Sums of cells are divided by at least so many rows (the paper's b). By default the standard deviation of the
        noise on a sum; for the paper's variant that of its formula (5.16).
    calibrate : bool, default True
        Whether the means are moved so that they have the noisy one-way marginals.
    fit_moments : bool, default True
        Whether the means are moved so that they come near the noisy second moment, as far as its noise lets it be
        trusted.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: a `MarginalCounts` for each column that is wider than its groups, two `CellSums` for the totals, one
    `SecondMoment`, two `CellSums` for the cells: ε-DP in all, or ρ-zCDP, for add-remove and replace-one neighbours and
    any number of rows per unit; ``variant="paper"``: a third of ε each on second moment, counts and damped means,
    replace-one neighbours only.

    Expected error: `lapwing.anonymous.covariance_loss` has the theorems' bounds. Noise moves one-way marginals by about
    d / (ε n); what cells lose of the covariance is made up from the noisy second moment. Time ``O(n p**2)`` for the
    second moment of n rows with p coordinates, and ``O(n p t)`` for t directions; memory ``O(p**2 + s p)`` for s cells.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Algorithm 2 and Theorems 5.8-5.11. What we
    changed with the default variant: sums in place of damped means, so that noise falls with the cell's rows; centred
    coding and exact sensitivities; product cells along directions above the edge of noise; means fitted to the noisy
    second moment, which is post-processing.

    Examples
    --------
    >>> Microaggregation(directions=2).bins is None
    True
    """

    __repr__ = short
    name: ClassVar[str] = "Microaggregation"
    summary: ClassVar[str] = "means of similar rows in cells along the leading directions; many Boolean columns"
    caveat: ClassVar[str] = "columns_apart_in_cells"
    report: ClassVar[str] = (
        "put similar rows into cells, took noisy means of each cell, and draws rows around these means. Single rows "
        "are blurred by it."
    )
    not_proved: ClassVar[Statement] = Statement("not_proved_of_uncounted")

    variant: Variant = "default"
    convex_set: ConvexSet | Callable[[np.ndarray], np.ndarray] = "box"
    numbers: Numbers = "intervals"
    intervals: int = INTERVALS
    one_way_share: float = 0.2
    directions: int | None = None
    bins: int | None = None
    damping: int | None = None
    calibrate: bool = True
    fit_moments: bool = True

    def __post_init__(self) -> None:
        check_choice(self, "variant", Variant, "; default is more accurate")
        if self.variant == "paper":
            check_unread(self, "one_way_share", "directions", "bins", "calibrate", "fit_moments")
        if not callable(self.convex_set) and not is_among(self.convex_set, get_args(ConvexSet)):
            raise ParameterError(
                f"convex_set must be box, ball, simplex or a callable, got {safe_repr(self.convex_set)}; a callable is "
                "given in Python and kept in no file, so a release with one cannot be resumed",
                code="LW303",
            )
        check_choice(self, "numbers", Numbers, "; intervals suits most tables")
        for name in ("calibrate", "fit_moments"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(
                    f"{name} must be true or false, got {safe_repr(getattr(self, name))}", code="LW304"
                )
        check_number(self, "one_way_share", 0.01, 0.9, "; 0.2 suits most tables")
        for name, least, most in (("directions", 0, 64), ("bins", 2, 4096), ("damping", 1, 2**31)):
            check_whole(self, name, least, most, optional=True)
        if self.intervals is None:
            raise ParameterError("intervals must be a whole number from 2 to 256; 16 suits most tables", code="LW302")
        check_whole(self, "intervals", 2, 256)

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(intervals=2, directions=1, bins=2)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:  # noqa: ARG002
        """Return one atom per cell, spending exactly ``budget``."""
        coordinates = self._checked(schema, budget, curator.terms)
        project = projector(coordinates, self.convex_set if callable(self.convex_set) else None)

        # Ask and solve (Algorithm 2, steps 2 to 13): S + R, cells F_1..F_s in the span of its leading eigenvectors,
        # noisy weights and means of the cells, projected on simplex and K.
        details: Details = {}
        if self.variant == "paper":
            damping = self._paper_damping(coordinates, budget, curator.terms)  # step 8: b
            found = paper_means(curator, coordinates, budget, damping, project)
        else:
            cells = VectorCells(coordinates, self._cells(schema, coordinates), project)
            found, details = microaggregated_means(curator, schema, cells, budget)

        # Model: rows are drawn from the means by the weights, and rounded at random, coordinate by coordinate.
        rows = curator.terms.rows
        return means_as_model(schema, coordinates, found, whole_rows(found.rows) if rows is None else rows, details)

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Say how far all pairs are from the rows, where that is known, and into how many cells these were divided."""
        del schema
        last = next(answer.question for answer in reversed(answers) if isinstance(answer, NoisySums))
        assert isinstance(last, CellSums)
        directions = 0 if last.projection is None else last.projection.count
        return (
            *pair_statements(answers, terms, model, rng),
            Statement("cells_of_directions", float(last.cells), {"directions": directions}),
        )

    def questions(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Questions:
        """Return what `run` would ask; cells stand there as one, because earlier answers choose them."""
        del rng
        return self._planned(
            schema, self._checked(schema, budget, terms), budget, terms, float(public_or_expected_rows(terms))
        )[0]

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return the noise on the means, and how many cells there may be."""
        del rng
        rows, coordinates = float(public_or_expected_rows(terms)), self._coordinates(schema)
        _, cells = self._planned(schema, coordinates, budget, terms, rows)
        sums = next(each for each in reversed(questions) if isinstance(each, CellSums))
        noise = sums.noise(terms.relation, terms.max_rows).mean_absolute / sums.scale
        return (
            Statement("expected_mean_noise", noise)
            if sums.damping is not None
            else Statement("expected_mean_noise_of_all", noise / rows),
            Statement("cells_of_vectors", cells, {"coordinates": coordinates.size}),
            *planned_noise(questions, terms, rows),
        )

    def _checked(self, schema: Schema, budget: Budget, terms: Terms) -> Coordinates:
        """Refuse, from public numbers alone, what some answers would lead to; return the coordinates otherwise."""
        coordinates = self._coordinates(schema)
        if callable(self.convex_set):
            box = projector(coordinates)
            corners = np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0]]) * np.ones(coordinates.size)
            check_projection(self.convex_set, box(np.concatenate((corners, np.eye(coordinates.size)))), box)
        if self.variant == "paper":
            self._check_paper(budget, terms)
        settings = self._cells(schema, coordinates)
        cells, most = fixed_cells(coordinates, settings) or 1, settings.most_cells
        if cells > most:
            raise CapacityError(
                f"{self.bins} bins along {self.directions} directions are {cells:.3g} cells, above the {most} whose "
                "laws fit in memory for these columns; use fewer",
                code="LW502",
            )
        for question in self._planned(schema, coordinates, budget, terms, ALL_ROWS)[0]:
            question.noise(terms.relation, terms.max_rows)  # refuses noise that could leave 64 bits
        return coordinates

    def _cells(self, schema: Schema, coordinates: Coordinates) -> CellSettings:
        """Return how cells are made; the laws of all of them have to fit in memory."""
        return CellSettings(
            most_cells=fitting_cells(schema, coordinates),
            one_way_share=Fraction(str(self.one_way_share)),
            directions=self.directions,
            bins=self.bins,
            damping=self.damping,
            calibrate=self.calibrate,
            fit_moments=self.fit_moments,
            is_box=self.convex_set == "box",
        )

    def _coordinates(self, schema: Schema) -> Coordinates:
        """Return the coordinates of the columns."""
        coding: Literal["unit", "centred"] = "unit" if self.variant == "paper" else "centred"
        if callable(self.convex_set):
            for field in schema.columns:
                if field.domain.specials or field.domain.missing or (field.is_categorical and field.domain.values != 2):
                    raise ParameterError(
                        f'column "{field.name}" must be one coordinate under a convex_set of one\'s own: a required '
                        "number or Boolean; leave it out, or use convex_set='box'",
                        code="LW355",
                    )
            return row_coordinates(schema, "means", self.intervals, coding=coding)
        if self.variant == "paper" and self.convex_set != "box":
            raise ParameterError("variant='paper' is for convex_set='box'; use variant='default'", code="LW316")
        return row_coordinates(schema, self.numbers, self.intervals, self.convex_set, coding=coding)

    def _check_paper(self, budget: Budget, terms: Terms) -> None:
        """Refuse the paper's constants where its proof does not reach."""
        if budget.notion != "pure":
            raise ParameterError(
                "variant='paper' is for pure epsilon; leave delta out, or use variant='default'", code="LW316"
            )
        if terms.rows is None:
            raise ParameterError(
                "variant='paper' is for replace-one neighbours with one row per unit and a public number of rows; "
                "use variant='default'",
                code="LW316",
            )

    def _paper_damping(self, coordinates: Coordinates, budget: Budget, terms: Terms) -> int:
        """Return b of formula (5.16)."""
        rows = max(1, terms.rows or terms.expected_rows or 1)
        return self.damping or max(1, math.ceil(math.sqrt(coordinates.size * math.sqrt(rows) / budget.epsilon)))

    def _planned(
        self, schema: Schema, coordinates: Coordinates, budget: Budget, terms: Terms, rows: float
    ) -> tuple[tuple[MarginalCounts | SecondMoment | CellSums, ...], float]:
        """Return the questions, with one cell in place of those that answers choose, and the most cells."""
        if self.variant == "paper":
            moment, (of_rows, of_means) = paper_questions(coordinates, budget)
            counts = CellSums(coordinates=coordinates, projection=None, summed="rows", cost=of_rows)
            damping = self._paper_damping(coordinates, budget, terms)
            means = CellSums(
                coordinates=coordinates, projection=None, summed="damped means", damping=damping, cost=of_means
            )
            return (moment, counts, means), max(1.0, math.floor(math.sqrt(rows)))
        details, left = details_and_rest(schema, coordinates, budget)
        questions, most = planned_cells(coordinates, left, terms, self._cells(schema, coordinates), rows)
        return (*details, *questions), most
