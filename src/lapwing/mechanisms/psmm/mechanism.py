"""The private signed measure mechanism.

ask -> solve -> model: noisy counts of equal cells, the nearest measure without negative counts, and rows in the cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, get_args

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import calibrated, row_sensitivity
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Relation, Terms
from lapwing.mechanisms.psmm.accuracy import planned_statements, released_statements, suitable_cells
from lapwing.mechanisms.psmm.box_cells import BoxCells, box_cells, cells_of
from lapwing.mechanisms.psmm.fit import Surplus, exact_total, fitted_measure, measure_as_model, model_as_measure
from lapwing.mechanisms.shared.one_way import known_rows
from lapwing.mechanisms.shared.registration import (
    INSIDE_CELLS,
    Registration,
    no_warnings,
    nothing_assumed,
    nothing_certified,
)
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.model.certificate.certificate import Statement
from lapwing.model.model import ReleasedModel
from lapwing.model.planned import Planned
from lapwing.schema.scalars import is_among, told
from lapwing.schema.schemas import Schema

LIMIT: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class PSMM:
    """Count equal cells with noise, and release the nearest measure without negative counts.

    Parameters
    ----------
    cells : int or None, default None
        Cells asked for, 1 to ``max_cells``; the table has at most so many, but at least one for each combination of
        categories, special values and missing. By default as many as suit the number of rows and the noise: about
        ``epsilon * rows / 4`` for two columns and add-remove neighbours, fewer for one.
    max_cells : int, default 65_536
        Most cells, up to 2**20.
    surplus : {"rescale", "lp"}, default "rescale"
        What happens to the difference between the noisy counts' sum and a public number of rows. ``rescale``: negative
        counts are covered from positive ones, then all are scaled. ``lp``: the published linear program, which also
        covers from what is missing.
    placement : {"uniform", "centre"}, default "uniform"
        Where in its cell a row lies.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: one `MarginalCounts` question of the whole budget, or, where no number of rows is public or expected and
    ``cells`` is left out, one for it with 2 % and the table with the rest; ε-DP or ρ-zCDP in all, for add-remove and
    replace-one neighbours and any number of rows per unit.

    Expected error: with n rows, in 1-Wasserstein distance where each column has length 1 (the largest coordinate
    counts), ``O((ε n)**(-1/2))`` for one column, ``O(log(ε n) (ε n)**(-1/2))`` for two and ``O((ε n)**(-1/3))`` for
    three. Rows with a misfit are in no cell and not stood for. At most three columns may be ordered with more than two
    values. Time ``O(n d + m log m)`` for m cells of one column; a min-cost flow for more.

    References
    ----------
    He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data", Section 3. What we changed:
    the noise is that of the neighbour relation; a private number of rows is replaced by the sum of the noisy counts;
    the linear program is solved as a flow between neighbouring cells; categories, special values and missing lie at
    distance 1.

    Examples
    --------
    >>> PSMM(cells=1024).surplus
    'rescale'
    """

    name: ClassVar[str] = "PSMM"
    summary: ClassVar[str] = "noisy counts of equal cells, nearest measure to them; up to three ordered columns"
    relations: ClassVar[tuple[Relation, ...]] = ("add-remove", "replace-one")
    caveat: ClassVar[str] = ""

    cells: int | None = None
    max_cells: int = 65_536
    surplus: Surplus = "rescale"
    placement: Placement = "uniform"

    def __post_init__(self) -> None:
        _check_cells("max_cells", self.max_cells, LIMIT)
        if self.cells is not None:
            _check_cells("cells", self.cells, self.max_cells)
        for key, choices in (("surplus", Surplus), ("placement", Placement)):
            if not is_among(getattr(self, key), get_args(choices)):
                raise ParameterError(
                    f"{key} must be one of {', '.join(get_args(choices))}, got {told(getattr(self, key))}",
                    code="LW303",
                )

    certified = nothing_certified
    assumptions = nothing_assumed

    @classmethod
    def small(cls) -> "PSMM":
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(cells=32, max_cells=256)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return one atom per cell with mass, spending exactly ``budget``."""
        del rng
        self.check(schema, budget, curator.terms)
        rows, left = (1.0, budget) if self.cells is not None else known_rows(curator, budget)
        cells = self._chosen_cells(schema, curator.terms, left, rows)

        (noisy,) = curator.ask(_question(cells, left))
        measure = fitted_measure(cells.within(noisy.counts), cells, self._total(schema, curator.terms))
        return measure_as_model(schema, cells, measure, curator.terms.rows, self.placement)

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return what is proved about the accuracy of a release."""
        noisy = next(answer for answer in answers if isinstance(answer, NoisyCounts) and answer.question.columns)
        cells = cells_of(schema, noisy.question.groupings)
        counts, total = cells.within(noisy.counts), self._total(schema, terms)
        is_uniform = (int(counts.sum()) if total is None else total) <= 0
        measure = None if is_uniform else model_as_measure(model, cells)
        return released_statements(cells, noisy.noise, counts, measure, rng)

    def plan(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Planned:
        """Return what `run` would ask, and the expected distance between table and model."""
        known = terms.rows if terms.rows is not None else terms.expected_rows
        if known is None:
            raise ParameterError("a plan needs the number of rows that is expected; give expected_rows", code="LW315")
        rows = float(max(1, known))
        cells = self._chosen_cells(schema, terms, budget, rows)
        question = _question(cells, budget)
        noise = question.noise(terms.relation, terms.max_rows)
        is_sum_public = self._total(schema, terms) is not None
        accuracy = planned_statements(cells, noise, rows, rng, is_sum_public=is_sum_public)
        return Planned(questions=(question,), accuracy=accuracy)

    def check(self, schema: Schema, budget: Budget, terms: Terms) -> None:
        """Refuse, from public numbers alone, the tables that `run` would refuse."""
        del budget, terms
        box_cells(schema, 1, self.max_cells)

    def _chosen_cells(self, schema: Schema, terms: Terms, budget: Budget, rows: float) -> BoxCells:
        """Return as many cells as were asked for, else as many as suit the noise."""
        if self.cells is not None:
            return box_cells(schema, self.cells, self.max_cells)
        noise = calibrated(row_sensitivity(terms.relation, terms.max_rows), budget)
        return suitable_cells(schema, noise, rows, self.max_cells)

    def _total(self, schema: Schema, terms: Terms) -> int | None:
        """Return what the measure sums to; None for the sum of the noisy counts."""
        return exact_total(schema, terms) if self.surplus == "lp" else None


def _question(cells: BoxCells, cost: Budget) -> MarginalCounts:
    """Return the question for the counts of all cells."""
    return MarginalCounts(columns=cells.columns, groupings=cells.groupings, cost=cost)


def _check_cells(key: str, value: object, most: int) -> None:
    """Refuse what is no number of cells."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ParameterError(f"{key} must be a whole number from 1 to {most}, got {told(value)}", code="LW302")


REGISTRATION: Final = Registration(
    kind=PSMM,
    page="docs/psmm.md",
    report="counted, with noise, the rows in equal cells, and took the nearest table that has no negative counts.",
    not_proved=INSIDE_CELLS,
    one_row_per_unit=False,
    two_valued=False,
    takes_priors=False,
    warnings=no_warnings,
)
