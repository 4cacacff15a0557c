"""The question for the well filled leaves of a tree of cells, of which there may be more than can be written out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.kernel.codec import KNOWN, Seen, packed_array
from lapwing.kernel.noise_law import (
    NoiseLaw,
    NoisyTable,
    Sensitivity,
    calibrate_noise,
    log_tail,
    row_sensitivity,
    tail_ratio,
    value_ratio,
)
from lapwing.kernel.plain import MAX_CELLS
from lapwing.kernel.questions.questions import TABLE, RecordedAnswer, WithoutDelta, checked_counts, one_table
from lapwing.kernel.questions.shared.cells import CellTree, check_listed
from lapwing.kernel.questions.split_decisions.question import Cell, check_epsilon, laplace_noise
from lapwing.kernel.terms import Relation, Terms
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SparseCounts(WithoutDelta["NoisyCells"]):
    """Ask for the noisy count of every leaf of a tree where it reaches a threshold; the others are left out.

    tree: the leaves; a flat grid is a tree without split cells; threshold: from -2**60 to 2**60; None for the counts of
    all leaves, whatever they are; notion: how the ε is charged: as it is, or as ε²/2.

    Guarantee: every leaf gets its own noise, empty or not (the empty ones that reach the threshold are drawn without
    going through the others, by the exact law), so the answer is ε-DP, or ε²/2-zCDP, under the relation and
    ``max_rows`` that `noise` is given (proof: ``proof.md``).

    >>> from lapwing.schema.groupings.domains import Domain
    >>> from lapwing.schema.groupings.hierarchies import hierarchy
    >>> eighths = hierarchy(Domain(8, 0, False, True, False), 3)
    >>> grid = CellTree(columns=("x",), hierarchies=(eighths,), schedule=(0, 0, 0), first=3)
    >>> SparseCounts(tree=grid, threshold=5, epsilon=Fraction(1, 2), notion="zcdp").cost.rho
    Fraction(1, 8)
    """

    kind: ClassVar[str] = "SparseCounts"
    called: ClassVar[str] = TABLE
    purpose: ClassVar[str] = "counts of the cells of a grid"

    tree: CellTree
    threshold: int | None
    epsilon: Fraction
    notion: Notion

    def __post_init__(self) -> None:
        threshold = self.threshold
        if threshold is not None and (
            isinstance(threshold, bool) or not isinstance(threshold, int) or abs(threshold) > 2**60
        ):
            raise ParameterError(
                f"the threshold of counts must be from -2**60 to 2**60, got {threshold!r}", code="LW641"
            )
        check_epsilon(self.epsilon, self.notion)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the tree."""
        return self.tree.columns

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """The deepest runs of each column."""
        return self.tree.groupings

    @property
    def cost(self) -> Budget:
        """What the answer spends: ε, or ε²/2 of ρ."""
        return Budget(self.notion, self.epsilon if self.notion == "pure" else self.epsilon**2 / 2)

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of the leaves' counts: each row lies in at most one leaf."""
        return row_sensitivity(relation, max_rows)

    def noise(self, relation: Relation, max_rows: int) -> NoiseLaw:
        """Return the noise of each leaf: Gaussian where ρ is charged and no count is left out."""
        if self.notion == "zcdp" and self.threshold is None:
            return calibrate_noise(self.sensitivity(relation, max_rows), self.cost)
        return laplace_noise(self.sensitivity(relation, max_rows), self.epsilon)

    parts = one_table

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse a grid of which more than ``2**26`` empty cells are expected to reach the threshold by noise alone."""
        del schema
        log_kept = math.log(self.tree.cells)
        if self.threshold is not None:
            log_kept += log_tail(self.noise(terms.relation, terms.max_rows).parameter, self.threshold)
        if log_kept + math.log(len(self.columns)) > math.log(MAX_CELLS):
            raise CapacityError(
                f"of 2**{math.log2(self.tree.cells):.1f} cells about 2**{log_kept / math.log(2):.1f} would be released "
                f"with the threshold {self.threshold} though they are empty; raise it or use wider cells",
                code="LW509",
            )


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCells(RecordedAnswer):
    """Hold the answer to a `SparseCounts` question: the leaves that reach the threshold, with their noisy counts.

    first_cells: int64 (j, d), the leaves of the tree's first level among them, by rank increasing: the run of each
    column; listed_places: int64 (k - j,), the others: their increasing places in the tree's lists of leaves, all levels
    one after the other; counts: int64 (k,), exact count plus noise, at least the threshold; first those of
    `first_cells`, then those of `listed_places`.
    """

    document: ClassVar = ("firsts", "places", "first_cells", "listed_places", "counts", "noise")

    question: SparseCounts = field(metadata=KNOWN)
    first_cells: np.ndarray = field(metadata=packed_array(lambda seen: _shapes(seen)[0]))
    listed_places: np.ndarray = field(metadata=packed_array(lambda seen: _shapes(seen)[1]))
    counts: np.ndarray = field(metadata=packed_array(lambda seen: _shapes(seen)[2]))
    noise: NoiseLaw

    def __post_init__(self) -> None:
        shapes = _shapes({"question": self.question, "firsts": self.firsts, "places": self.places})
        for name, shape in zip(("first_cells", "listed_places", "counts"), shapes, strict=True):
            checked = checked_counts(f"{name} of noisy cells", getattr(self, name), shape)
            object.__setattr__(self, name, checked)
        threshold, size = self.question.threshold, self.counts.size
        if self.noise.kind != "laplace" and threshold is not None:
            raise ParameterError(f"filtered cells carry Laplace noise, got {self.noise.kind}", code="LW643")
        if threshold is not None and size and int(self.counts.min()) < threshold:
            raise ParameterError(
                f"noisy cells must reach the threshold {threshold}; the record is damaged", code="LW643"
            )
        self._check_leaves()

    def _check_leaves(self) -> None:
        """Refuse cells that are no leaves, repeat or are out of order."""
        tree = self.question.tree
        listed = sum(len(leaves) for _, leaves in tree.leaves())
        inside = bool(((self.first_cells >= 0) & (self.first_cells < np.array(tree.shape))).all())
        if inside:
            ranks, split = tree.ranks_of(self.first_cells), tree.ranks_of(tree.split_cells)
            inside = bool((ranks[1:] > ranks[:-1]).all())
            inside = inside and not np.intersect1d(ranks, split, assume_unique=True).size
        ends = np.concatenate(([-1], self.listed_places, [listed]))
        every = tree.cells - len(tree.split_cells) + listed
        inside = inside and (self.question.threshold is not None or self.counts.size == every)
        if not inside or not (ends[1:] > ends[:-1]).all():
            raise ParameterError(
                "noisy cells must be distinct leaves of the tree, in its order; the record is damaged", code="LW643"
            )

    @property
    def firsts(self) -> int:
        """Number of cells of the first level."""
        return len(self.first_cells)

    @property
    def places(self) -> int:
        """Number of cells below it."""
        return len(self.listed_places)

    @property
    def leaves(self) -> tuple[np.ndarray, np.ndarray]:
        """The leaves: levels, shape (k,), and runs of each column, shape (k, d), both int64."""
        tree = self.question.tree
        listed = tree.leaves()
        levels = np.concatenate(
            [np.full(len(cells), level) for level, cells in [(tree.first, self.first_cells), *listed]]
        )
        cells = np.concatenate([self.first_cells, *(cells for _, cells in listed)])
        kept = np.concatenate((np.arange(self.firsts), self.firsts + self.listed_places))
        return levels[kept], cells[kept]

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The noisy counts as one table."""
        return (NoisyTable(self.counts, self.noise, self.question.cost),)

    def privacy_loss(self, exact: Mapping[Cell, int], other: Mapping[Cell, int]) -> Fraction:
        """Return the exact log-likelihood ratio of this answer between two tables; under Gaussian noise the ρ of it.

        exact, other: the rows of each leaf that holds any, on either table.
        """
        if self.noise.kind == "gaussian":
            return self.noise.loss(np.array([exact.get(each, 0) - other.get(each, 0) for each in {*exact, *other}]))
        levels, cells = self.leaves
        named = zip(levels.tolist(), cells.tolist(), self.counts.tolist(), strict=True)
        shown = {(level, *cell): count for level, cell, count in named}
        scale, threshold, loss = self.noise.parameter, self.question.threshold, Fraction(0)
        for cell in {*exact, *other}:
            one, two = exact.get(cell, 0), other.get(cell, 0)
            if cell in shown:
                loss += value_ratio(scale, shown[cell], one, two)
            elif threshold is not None:
                loss += tail_ratio(scale, 1 - (threshold - one), 1 - (threshold - two))
        return abs(loss)


def _shapes(seen: Seen) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of an answer's cells, places and counts; a CapacityError where these are too many."""
    firsts, places, columns = seen["firsts"], seen["places"], len(seen["question"].columns)
    check_listed(firsts * columns + places)
    return (firsts, columns), (places,), (firsts + places,)
