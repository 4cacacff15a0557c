"""The reduced space of linear statistics: points of the domain, drawn from a known distribution.

Known means bought with a part of the budget, uniform, or public; a part of the points is always uniform, so that no
cell is out of reach.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import read_only
from lapwing.mechanisms.shared.one_way import one_way_questions, product_model
from lapwing.mechanisms.shared.public_cells import one_way_grouping
from lapwing.mechanisms.shared.trees.points import tree_points, tree_questions
from lapwing.mechanisms.shared.vectors.model import box_cells, details_and_rest, microaggregated_model, planned_cells
from lapwing.model.model import ReleasedModel
from lapwing.model.rows import sample_codes
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

MeasuredMu = Literal["microaggregation", "tree", "product"]
Mu = Literal["microaggregation", "tree", "product", "uniform"]

MuQuestion = MarginalCounts | SecondMoment | CellSums

ONE_WAY_GROUPS: Final = 128
"""About how many groups ordered columns of a product have."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublicPoints:
    """Rows that their owner says are public, in code.

    codes: mapping of str to integers (rows,), of each modelled column; at least one row, none with the misfit code.
    """

    codes: Mapping[str, np.ndarray]
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", {name: read_only(codes) for name, codes in self.codes.items()})
        if self.rows == 0:
            raise ParameterError(
                "mu has no row that fits the schema; give public rows of the schema's columns", code="LW353"
            )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.codes.values())))

    def __repr__(self) -> str:
        return self.name


def measured_mu(
    curator: Curator, schema: Schema, budget: Budget, kind: tuple[MeasuredMu, int], rng: np.random.Generator
) -> ReleasedModel:
    """Spend a budget on a model whose rows lie where the table's rows lie.

    kind: means of similar rows; a tree of pairs of columns; one-way tables. The number of points is for the tree.
    """
    name, count = kind
    if name == "microaggregation":
        return microaggregated_model(curator, schema, box_cells(schema), budget)
    if name == "product":
        return product_model(curator, schema, one_way_groupings(schema, ONE_WAY_GROUPS), budget)
    return tree_points(curator, schema, budget, count, rng)


def planned_mu(schema: Schema, budget: Budget, terms: Terms, kind: MeasuredMu, rows: float) -> tuple[MuQuestion, ...]:
    """Return the questions that `measured_mu` would ask for an expected number of rows; parameters as there."""
    if kind == "microaggregation":
        cells = box_cells(schema)
        details, left = details_and_rest(schema, cells.coordinates, budget)
        return (*details, *planned_cells(cells.coordinates, left, terms, cells.settings, rows)[0])
    if kind == "product":
        return one_way_questions(schema, one_way_groupings(schema, ONE_WAY_GROUPS), budget)
    return tree_questions(schema, budget)


def one_way_groupings(schema: Schema, groups: int) -> dict[str, Grouping]:
    """Return the public grouping of each column into about so many groups."""
    return {field.name: one_way_grouping(field, groups) for field in schema.columns}


def drawn_points(
    mu: ReleasedModel | PublicPoints | None,
    schema: Schema,
    groupings: Mapping[str, Grouping],
    shape: tuple[int, float],
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Draw the points of the reduced space.

    mu: where most points lie; None for none but uniform ones; groupings: uniform points are uniform on the groups of
    each column, and inside a group on its codes; shape: number m of points, at least 1, and the part of them that is
    uniform. Returns dict of str to int64 (m,), codes. Points of a model are one systematic sample of it, so each has
    its law; public rows are drawn with replacement.
    """
    count, mixed = shape
    uniform = count if mu is None else round(mixed * count)
    found = {
        field.name: _uniform(groupings[field.name], field.domain.missing, uniform, rng) for field in schema.columns
    }
    if mu is None or uniform == count:
        return found
    if isinstance(mu, PublicPoints):
        place = rng.integers(mu.rows, size=count - uniform)
        drawn = {name: mu.codes[name][place] for name in found}
    else:
        (drawn,) = sample_codes(mu, schema, count - uniform, rng)
    return {name: np.concatenate((drawn[name].astype(np.int64), codes)) for name, codes in found.items()}


def _uniform(grouping: Grouping, missing: bool, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return codes of groups that are equally likely; the last group only where it means missing."""
    starts, stops, _ = grouping.pieces()
    last = starts.size if missing else starts.size - 1
    place = rng.integers(last, size=count)
    return rng.integers(starts[place], stops[place])
