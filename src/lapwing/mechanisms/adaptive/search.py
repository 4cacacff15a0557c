"""The search for single values that many rows share: the heaviest cells are cut until such a value stands alone."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.cells import (
    FOUND_ROWS,
    MOST_SEARCHED,
    going_on,
    least_found,
    outstanding,
    search_steps,
    searched_parts,
)
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import cut

SOUGHT_DEVIATIONS: Final = 4.0  # a cell is searched if it has so many standard deviations of a step's noise


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Search:
    """Cells that may hold single values of many rows, what each step costs, and the steps that are left.

    starts, stops: int64 (k,), the codes of each cell; counts: float64 (k,), the last noisy count of each.
    """

    starts: np.ndarray
    stops: np.ndarray
    counts: np.ndarray
    cost: Budget
    steps: int

    def question(self, field: Field) -> MarginalCounts:
        """Return the question for the parts of the cells."""
        starts, stops, _ = searched_parts(self.starts, self.stops, self.steps)
        cuts = np.union1d(starts, stops)
        inside = cut(field.domain, cuts[(cuts > 0) & (cuts < field.domain.values)])
        return MarginalCounts(columns=(field.name,), groupings=(inside,), cost=self.cost)

    def narrowed(self, answer: NoisyCounts) -> "Search":
        """Return the search of the parts that stand out; no steps are left where all of them are single codes."""
        grouping = answer.question.groupings[0]
        firsts = grouping.pieces()[0][: grouping.regular]
        starts, stops, cell = searched_parts(self.starts, self.stops, self.steps)
        counts = answer.counts[np.searchsorted(firsts, starts)].astype(np.float64)
        least, most = least_found(starts.size, answer.noise), going_on(stops - starts, self.steps - 1)
        found = outstanding(counts, cell, least, most)
        starts, stops, counts = starts[found], stops[found], counts[found]
        steps = self.steps - 1 if (stops - starts > 1).any() else 0
        return replace(self, starts=starts, stops=stops, counts=counts, steps=steps)


def begun(
    field: Field, cells: tuple[np.ndarray, np.ndarray], masses: np.ndarray, budget: Budget, terms: Terms
) -> Search | None:
    """Return the search of the heaviest cells of a column; None where none holds enough rows to be searched."""
    starts, stops = cells
    widths = stops - starts
    leaders = np.argsort(-masses * (widths > 1), kind="stable")[:MOST_SEARCHED]
    for _ in range(2):  # fewer cells need fewer steps, whose noise is less
        steps = search_steps(widths[leaders])
        cost = budget * Fraction(1, steps)
        step = MarginalCounts(columns=(field.name,), groupings=(cut(field.domain, ()),), cost=cost)
        least = max(SOUGHT_DEVIATIONS * step.noise(terms.relation, terms.max_rows).sd, FOUND_ROWS)
        leaders = leaders[(masses[leaders] >= least) & (widths[leaders] > 1)]
        if not leaders.size:
            return None
    leaders = np.sort(leaders)
    return Search(starts=starts[leaders], stops=stops[leaders], counts=masses[leaders], cost=cost, steps=steps)
