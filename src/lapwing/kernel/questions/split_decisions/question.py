"""The question which cells of a public tree to split, level by level, and its answer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Final, Literal, get_args

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.kernel.codec import KNOWN
from lapwing.kernel.noise_law import MAX_SD, NoiseLaw, NoisyTable, Sensitivity, log_tail, row_sensitivity, tail_ratio
from lapwing.kernel.questions.questions import RecordedAnswer, WithoutDelta, one_table
from lapwing.kernel.questions.shared.cells import CellSplits, CellTree
from lapwing.kernel.terms import Relation, Terms
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

SplitRule = Literal["paper", "privtree"]

LN_2: Final = Fraction(693_147_180_559_945_310, 10**18)
"""Just above the natural logarithm of 2, so that a step that is rounded up with it is never too short."""

MOST_SPLITS: Final = 2**22
"""Most splits of empty cells, times columns, that are expected of a tree: seconds of work."""

PRIVTREE_COUNTS: Final = 3
"""With steps of at least scale * ln 2, all decisions on a path together lose no more than this many counts."""

Cell = tuple[int, ...]
"""A cell: its level, then its run of each column."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SplitDecisions(WithoutDelta["Splits"]):
    """Ask which cells of a tree hold many rows: each is split, its children decide in turn, down to the last level.

    A cell with c rows, after k decisions on its path, is split if ``b + Z > threshold`` for fresh noise Z. By the rule
    ``paper``, b is c. By the rule ``privtree`` it is ``max(threshold - step, c - step * k)``, which needs the same
    noise however deep the tree is. Only the decisions are released.

    tree: without split cells. Every cell of its first level decides, empty or not, and so does every cell below it that
    can be divided; notion: how the ε is charged: as it is, or as ε²/2, by the span of losses.

    Guarantee: the answer is ε-DP, or ε²/2-zCDP, under the relation and ``max_rows`` that `noise` is given
    (proof: ``proof.md``).
    """

    kind: ClassVar[str] = "SplitDecisions"
    called: ClassVar[str] = "noisily split tree"
    purpose: ClassVar[str] = "deciding where cells are split"

    tree: CellTree
    rule: SplitRule
    threshold: int
    epsilon: Fraction
    notion: Notion

    def __post_init__(self) -> None:
        if self.rule not in get_args(SplitRule):
            raise ParameterError(
                f"the rule of a tree's splits must be paper or privtree, got {self.rule!r}", code="LW641"
            )
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int) or abs(self.threshold) > 2**60:
            raise ParameterError(
                f"the threshold of splits must be from -2**60 to 2**60, got {self.threshold!r}", code="LW641"
            )
        check_epsilon(self.epsilon, self.notion)
        if self.tree.is_split or self.deciding < 1:
            raise ParameterError(
                "split decisions need a tree without split cells and with levels below its first", code="LW641"
            )

    @property
    def deciding(self) -> int:
        """Levels whose cells decide; also the most decisions on a path."""
        return self.tree.depth - self.tree.first

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
        """Bound the counts that decisions depend on: one per level of a path, or three in all (privtree).

        For ρ the span of the losses of k counts matters, which is that of k + 1: half of it, rounded up.
        """
        lost = self.deciding if self.rule == "paper" else PRIVTREE_COUNTS
        counts, bound = lost if self.notion == "pure" else lost // 2 + 1, row_sensitivity(relation, max_rows)
        return Sensitivity(counts * bound.l1, counts * bound.l2_squared)

    def noise(self, relation: Relation, max_rows: int) -> NoiseLaw:
        """Return the noise of each decision."""
        return laplace_noise(self.sensitivity(relation, max_rows), self.epsilon)

    parts = one_table

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse a tree whose empty cells alone, expected over the noise, split more than ``2**22 / columns`` times."""
        del schema
        splits = self._log_empty_splits(self.noise(terms.relation, terms.max_rows))
        if splits + math.log(len(self.columns)) > math.log(MOST_SPLITS):
            raise CapacityError(
                f"a tree of 2**{math.log2(self.tree.cells):.1f} first cells and {self.deciding} levels below splits "
                f"about 2**{splits / math.log(2):.1f} empty cells; raise tau or use fewer levels",
                code="LW509",
            )

    def step(self, noise: NoiseLaw) -> int:
        """Return by how much the rule ``privtree`` lowers counts with each decision: at least ``scale * ln 2``."""
        product = noise.parameter * LN_2
        return -(-product.numerator // product.denominator)

    def biased(self, counts: np.ndarray, decided: np.ndarray, noise: NoiseLaw) -> np.ndarray:
        """Return the b of cells: what is compared with the threshold once noise is added.

        counts: int64 (k,), exact counts; decided: int64 (k,), decisions on the path above each cell. Returns int64
        (k,).
        """
        if self.rule == "paper":
            return counts
        step = self.step(noise)
        return np.asarray(np.maximum(self.threshold - step, counts - step * decided))

    def _log_empty_splits(self, noise: NoiseLaw) -> float:
        """Return the logarithm of how many empty cells are expected to be split, all others being empty too."""
        reached, splits = math.log(self.tree.cells), []
        for decided in range(self.deciding):
            none, depth = np.zeros(1, dtype=np.int64), np.full(1, decided)
            needed = self.threshold + 1 - int(self.biased(none, depth, noise)[0])
            splits.append(reached + log_tail(noise.parameter, needed))
            reached = splits[-1] + math.log(2)
        return float(np.logaddexp.reduce(splits))


@dataclass(frozen=True, slots=True, eq=False)
class Splits(RecordedAnswer):
    """Hold the answer to a `SplitDecisions` question.

    tree: the question's tree, with the cells that are split.
    """

    question: SplitDecisions = field(metadata=KNOWN)
    splits: CellSplits
    noise: NoiseLaw
    tree: CellTree = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", replace(self.question.tree, splits=self.splits))
        if self.noise.kind != "laplace":
            raise ParameterError(f"split decisions carry Laplace noise, got {self.noise.kind}", code="LW643")

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """None: decisions are no counts."""
        return ()

    def privacy_loss(self, exact: Mapping[Cell, int], other: Mapping[Cell, int]) -> Fraction:
        """Return the exact log-likelihood ratio of these decisions between two tables.

        exact, other: the rows in each cell of the first and the listed levels that holds any, on either table.
        """
        loss = Fraction(0)
        for cell, decided, is_split in self._decided({*exact, *other}):
            needed = [self._needed(table.get(cell, 0), decided) for table in (exact, other)]
            above, below = needed if is_split else [1 - each for each in needed]
            loss += tail_ratio(self.noise.parameter, above, below)
        return abs(loss)

    def _needed(self, count: int, decided: int) -> int:
        """Return the least noise with which a cell is split."""
        counts, depths = np.array([count], dtype=np.int64), np.array([decided], dtype=np.int64)
        return self.question.threshold + 1 - int(self.question.biased(counts, depths, self.noise)[0])

    def _decided(self, wanted: set[Cell]) -> list[tuple[Cell, int, bool]]:
        """Return which of some cells decided: each with the number of decisions above it, and whether it was split."""
        tree = self.tree
        chosen = {(tree.first, *cell) for cell in tree.split_cells.tolist()}
        found = [(cell, 0, cell in chosen) for cell in wanted if cell[0] == tree.first]
        decided = np.ones(0, dtype=np.int64)
        for level, cells in tree.levels():
            decided = np.ones(len(cells), dtype=np.int64) if level == tree.first + 1 else decided
            is_open, goes_on = tree.divisible(level, cells), tree.next_level(level, cells)
            if goes_on is None:
                break
            for place in np.flatnonzero(is_open):
                cell = (level, *cells[place].tolist())
                if cell in wanted:
                    found.append((cell, int(decided[place]), bool(goes_on[place])))
            _, parents = tree.children(level, cells[goes_on])
            decided = (decided + is_open)[goes_on][parents]
        return found


def check_epsilon(epsilon: Fraction, notion: Notion) -> None:
    """Refuse an ε that is no positive Fraction, or an unknown notion."""
    if not isinstance(epsilon, Fraction) or epsilon <= 0:
        raise ParameterError(f"the epsilon of a question must be a Fraction above 0, got {epsilon!r}", code="LW641")
    Budget(notion, epsilon)  # refuses another notion


def laplace_noise(bound: Sensitivity, epsilon: Fraction) -> NoiseLaw:
    """Return the discrete Laplace noise of scale ``l1 / ε``; a ParameterError where it could leave int64."""
    noise = NoiseLaw("laplace", Fraction(bound.l1) / epsilon)
    if noise.sd > MAX_SD:
        raise ParameterError(f"a cost of {epsilon} gives noise above 2**50 records; give a larger budget", code="LW508")
    return noise
