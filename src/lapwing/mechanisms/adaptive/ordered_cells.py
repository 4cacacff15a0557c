"""Two ordered columns: a tree of cells that is cut further, step by step, where released counts show rows.

ask -> fit -> model: one-way tables say which values stand alone and where rows are at all; then the leaves of a tree
are counted three times, each time cut further. Everything but the counts is post-processing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.room.curator import Curator
from lapwing.mechanisms.adaptive.ask_columns import ask_columns, stage_questions
from lapwing.mechanisms.adaptive.sides import Side, side_of
from lapwing.mechanisms.shared.cell_model import TreeLevel, epsilon_of, tree_levels
from lapwing.mechanisms.shared.one_way import is_staged, uniform_model
from lapwing.model.laws import Laws
from lapwing.model.model import Indexed, ReleasedModel, narrow, whole_rows
from lapwing.schema.groupings.hierarchies import Hierarchy, diameters
from lapwing.schema.schemas import Schema

ONE_WAY: Final = Fraction(3, 20)
"""Part of the budget for the one-way tables."""

MOST_MAPPED: Final = 2  # columns
STEPS: Final = (Fraction(3, 20), Fraction(1, 4), Fraction(3, 5))
"""Parts of the rest for the leaves of each tree."""

LEAST_PARTS: Final = (32, 512, 2**17)
"""No cell with a smaller part of the rows than one of so many is cut: sums of few noisy counts are near the truth."""

WORTH: Final = 8.0  # a cell is cut if it holds so many standard deviations of the noise that its parts will have
EMPTY: Final = 1.5  # a half with fewer rows than so many of its noise, beside a fuller one, is taken to be empty
EVEN: Final = 1.0  # halves follow the one-way tables where they differ from them by fewer, and lean on them otherwise
CLEAR: Final = 4.0  # so many are believed where the one-way table shows no rows
FINER: Final = 16  # columns are cut down to so many times fewer rows: those of two may lie in one place
_LEAST_SD, _TINY = 1e-3, 1e-15

Told = tuple[np.ndarray, float]  # noisy counts of a tree's leaves, level by level, and the sd of their noise


def is_mapped(schema: Schema) -> bool:
    """Return whether a schema has one or two ordered columns of many values and nothing that ties them."""
    is_free = not schema.rules and not schema.public_tables
    return is_free and len(schema.columns) <= MOST_MAPPED and all(is_staged(field) for field in schema.columns)


def mapped_model(curator: Curator, schema: Schema, budget: Budget, share: float | None) -> ReleasedModel:
    """Spend a budget on one-way tables and the leaves of trees, and return one atom per leaf."""
    of_columns, of_tree = _divided(schema, budget, share)
    tables, total = ask_columns(curator, schema, of_columns)
    noise = _leaf_questions(_uncut(schema), of_tree)[-1].noise(curator.terms.relation, curator.terms.max_rows)
    least = max(1.0, WORTH * noise.sd) / FINER
    sides = [side_of(table, field, least) for table, field in zip(tables, schema.columns, strict=True)]
    nodes, masses = _asked_tree(curator, sides, of_tree, total)
    rows = curator.terms.rows if curator.terms.rows is not None else whole_rows(round(float(masses[0][0])))
    return _model(schema, sides, nodes, masses, rows)


def mapped_questions(schema: Schema, budget: Budget, share: float | None) -> tuple[MarginalCounts | SparseCounts, ...]:
    """Return the questions of `mapped_model` for a plan: a tree stands as it is before any cut."""
    of_columns, of_tree = _divided(schema, budget, share)
    return (*stage_questions(schema, of_columns), *_leaf_questions(_uncut(schema), of_tree))


def _divided(schema: Schema, budget: Budget, share: float | None) -> tuple[tuple[Budget, ...], Budget]:
    """Return the costs of the one-way tables, and the budget of the trees."""
    part = ONE_WAY if share is None else Fraction(str(share))
    of_columns, of_tree = budget.split([part, 1 - part])
    return tuple(of_columns.split([Fraction(1)] * len(schema.columns))), of_tree


def _uncut(schema: Schema) -> CellTree:
    """Return a tree of one cell."""
    none = np.empty(0, dtype=np.int64)
    sizes = [(each.domain, each.domain.size if each.domain.missing else each.domain.last) for each in schema.columns]
    whole = tuple(Hierarchy(domain.values, domain.reserved, covered, none, none) for domain, covered in sizes)
    return CellTree(columns=tuple(each.name for each in schema.columns), hierarchies=whole, schedule=(), first=0)


def _leaf_questions(tree: CellTree, budget: Budget) -> list[SparseCounts]:
    """Return the questions for the leaves of each tree."""
    return [
        SparseCounts(tree=tree, threshold=None, epsilon=epsilon_of(budget * part), notion=budget.notion)
        for part in STEPS
    ]


# -- Which cells are counted next.


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """A tree's nodes, level by level; order: of the leaves in an answer, as the levels have them."""

    tree: CellTree
    levels: list[TreeLevel]
    cells: list[np.ndarray]
    order: np.ndarray

    @classmethod
    def of(cls, tree: CellTree) -> "Nodes":
        """Return the nodes of a tree."""
        return cls(tree, *tree_levels(tree))

    def placed_in(self, other: "Nodes") -> list[np.ndarray]:
        """Return the place of each node in a tree that this one refines, -1 where it does not go so deep."""
        found = [np.zeros(1, dtype=np.int64)]
        for above, here in zip(other.levels, self.levels[1:], strict=False):
            place = found[-1][here.parents]
            is_there = (place >= 0) & ~above.is_leaf[place]
            found.append(np.where(is_there, np.cumsum(is_there) - 1, -1))
        return found

    def on_leaves(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the values of the leaves level by level, 0 for other nodes."""
        found, start = [], 0
        for level in self.levels:
            found.append(np.zeros(level.is_leaf.size))
            stop = start + int(np.count_nonzero(level.is_leaf))
            found[-1][level.is_leaf] = values[start:stop]
            start = stop
        return found

    def runs(self, place: int, level: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first code of each node of a level in one column, and the one after its last."""
        nested, depth = self.tree.hierarchies[place], self.tree.depths(level)[place]
        run = self.cells[level][:, place]
        return nested.starts(depth)[run], nested.stops(depth)[run]


def whole_tree(sides: Sequence[Side]) -> CellTree:
    """Return the tree before any cut: on each level the column is cut whose runs are longest where rows are."""
    lengths = [[_mean_length(side, level) for level in range(side.nested.depth + 1)] for side in sides]
    depths, schedule = [0] * len(sides), []
    while left := [place for place, side in enumerate(sides) if depths[place] < side.nested.depth]:
        place = max(left, key=lambda at: (lengths[at][depths[at]], -depths[at], -at))
        schedule.append(place)
        depths[place] += 1
    return CellTree(
        columns=tuple(side.field.name for side in sides),
        hierarchies=tuple(side.nested for side in sides),
        schedule=tuple(schedule),
        first=0,
    )


def _mean_length(side: Side, level: int) -> float:
    """Return the mean length of the runs in which rows are."""
    masses = side.masses_of(level)
    return float(masses @ diameters(side.nested, side.field.domain, level)) / max(float(masses.sum()), _LEAST_SD)


def _parts(tree: CellTree, sides: Sequence[Side], level: int, cells: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return which part of its parent's rows each cell has where columns do not depend on each other."""
    axis = tree.schedule[level - 1]
    depth = tree.depths(level)[axis]
    own, whole = sides[axis].masses_of(depth), sides[axis].masses_of(depth - 1)
    return np.asarray(own[cells[:, axis]] / np.maximum(whole[above[:, axis]], _TINY))


def _grown(tree: CellTree, sides: Sequence[Side], known: Nodes, masses: Sequence[np.ndarray], worth: float) -> CellTree:
    """Cut the leaves of a tree further, while a cell is expected to hold what is worth a cut."""
    cells, mass, at = np.zeros((1, len(sides)), dtype=np.int64), masses[0], np.zeros(1, dtype=np.int64)
    chosen, decisions = np.empty((0, len(sides)), dtype=np.int64), []
    for level in range(tree.depth):
        is_inner, is_known = np.zeros(at.size, dtype=bool), at >= 0
        if is_known.any():
            mass[is_known] = masses[level][at[is_known]]
            is_inner[is_known] = ~known.levels[level].is_leaf[at[is_known]]
        is_open = tree.divisible(level, cells)
        is_split = is_open & (is_inner | (mass >= worth))
        if level:
            decisions.append(is_split[is_open])
        else:
            chosen = cells[is_split]
        goes_on = is_split | ~is_open
        if not goes_on.any():
            break
        cells, above = cells[goes_on], cells[goes_on]
        cells, parents = tree.children(level, above)
        mass = mass[goes_on][parents] * _parts(tree, sides, level + 1, cells, above[parents])
        was_inner = is_inner[goes_on][parents]
        at = np.where(was_inner, np.cumsum(was_inner) - 1, -1)
    return tree.grown(chosen, decisions)


def _asked_tree(
    curator: Curator, sides: Sequence[Side], budget: Budget, total: float
) -> tuple[Nodes, list[np.ndarray]]:
    """Count the leaves of trees, each cut further where the counts before show rows; return the last one's masses."""
    tree, terms = whole_tree(sides), curator.terms
    nodes, masses = Nodes.of(tree), [np.array([total])]
    told: list[tuple[Nodes, Told]] = []
    for question, parts in zip(_leaf_questions(tree, budget), LEAST_PARTS, strict=True):
        sd = question.noise(terms.relation, terms.max_rows).sd
        worth = max(1.0, WORTH * sd, float(masses[0][0]) / parts)
        nodes = Nodes.of(_grown(tree, sides, nodes, masses, worth))
        (noisy,) = curator.ask(replace(question, tree=nodes.tree))
        assert isinstance(noisy, NoisyCells)
        told.append((nodes, (noisy.counts[nodes.order].astype(np.float64), sd)))
        masses = _settled(nodes, sides, told, terms.rows)
    return nodes, masses


# -- What all counts say together.


def _settled(
    nodes: Nodes, sides: Sequence[Side], told: Sequence[tuple[Nodes, Told]], rows: int | None
) -> list[np.ndarray]:
    """Return the mass of each node that explains all counts: least squares from the leaves up, then handed down."""
    precisions = [np.zeros(level.is_leaf.size) for level in nodes.levels]
    weighted = [np.zeros(level.is_leaf.size) for level in nodes.levels]
    for other, (counts, sd) in told:
        placed = zip(nodes.placed_in(other), other.levels, other.on_leaves(counts), strict=False)
        for level, (at, there, own) in enumerate(placed):
            here = (at >= 0) & there.is_leaf[at]
            precisions[level][here] += 1 / max(sd, _LEAST_SD) ** 2
            weighted[level][here] += own[at[here]] / max(sd, _LEAST_SD) ** 2
    estimates, variances = _from_leaves(nodes, precisions, weighted)
    masses = [np.array([max(0.0, float(estimates[0][0])) if rows is None else float(rows)])]
    for level in range(1, len(nodes.levels)):
        parents = nodes.levels[level].parents
        found, first = masses[-1][parents], np.flatnonzero(parents[1:] == parents[:-1])
        cells, above = nodes.cells[level], nodes.cells[level - 1]
        part = _parts(nodes.tree, sides, level, cells[first], above[parents[first]])
        one, two = ((estimates[level][at], variances[level][at]) for at in (first, first + 1))
        left = _left_mass(found[first], one, two, part)
        found[first + 1] = found[first] - left
        found[first] = left
        masses.append(found)
    return masses


def _from_leaves(
    nodes: Nodes, precisions: Sequence[np.ndarray], weighted: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return for each node the best estimate from the counts of itself and of all below, and its variance."""
    estimates: list[np.ndarray] = []
    variances: list[np.ndarray] = []
    for level in range(len(nodes.levels) - 1, -1, -1):
        precision, mean = precisions[level].copy(), weighted[level].copy()
        if estimates:
            parents, inner = nodes.levels[level + 1].parents, ~nodes.levels[level].is_leaf
            below = 1 / np.bincount(parents, variances[0], precision.size)[inner]
            mean[inner] += np.bincount(parents, estimates[0], precision.size)[inner] * below
            precision[inner] += below
        estimates.insert(0, mean / precision)
        variances.insert(0, 1 / precision)
    return estimates, variances


def _left_mass(
    mass: np.ndarray, left: tuple[np.ndarray, np.ndarray], right: tuple[np.ndarray, np.ndarray], part: np.ndarray
) -> np.ndarray:
    """Return what the first half gets of a mass: estimates and variances of both, and the part that is expected."""
    (one, spread), (two, other) = left, right
    given = np.clip(one + (mass - one - two) * spread / (spread + other), 0.0, mass)
    even, variance = mass * part, spread * other / (spread + other)
    given = even + (given - even) * np.maximum(0.0, 1 - EVEN**2 * variance / np.maximum(np.square(given - even), _TINY))
    has_one, has_two = one > EMPTY * np.sqrt(spread), two > EMPTY * np.sqrt(other)
    is_sure = (mass > EMPTY * np.sqrt(spread + other)) & (has_one != has_two) & ((one > two) == has_one)
    given = np.where(is_sure, mass * has_one, given)
    given = np.where((part <= 0) & (one < CLEAR * np.sqrt(spread)), 0.0, given)
    return np.where((part >= 1) & (two < CLEAR * np.sqrt(other)), mass, given)


# -- The model.


def _model(
    schema: Schema, sides: Sequence[Side], nodes: Nodes, masses: Sequence[np.ndarray], rows: int
) -> ReleasedModel:
    """Return one atom per leaf with mass, in which each column follows its one-way table."""
    held = [level.is_leaf & (mass > 0) for level, mass in zip(nodes.levels, masses, strict=True)]
    weights = np.concatenate([mass[at] for mass, at in zip(masses, held, strict=True)])
    if not weights.size:
        return uniform_model(schema, rows)
    laws = {}
    for place, side in enumerate(sides):
        ends = [np.stack(nodes.runs(place, level))[:, at] for level, at in enumerate(held)]
        runs, index = np.unique(np.concatenate(ends, axis=1), axis=1, return_inverse=True)
        laws[side.field.name] = Indexed(narrow(index.reshape(-1)), _run_laws(side, *runs))
    return ReleasedModel(weights=weights, rows=rows, laws=laws)


def _run_laws(side: Side, starts: np.ndarray, stops: np.ndarray) -> Laws:
    """Return for each run the law of the column in it: even where its one-way table has no rows there."""
    first, last = np.searchsorted(side.ends, starts, "right") - 1, np.searchsorted(side.ends, stops)
    run = np.repeat(np.arange(starts.size), last - first)
    cell = np.arange(run.size) - np.searchsorted(run, run) + first[run]
    low, high = np.maximum(side.ends[cell], starts[run]), np.minimum(side.ends[cell + 1], stops[run])
    values = side.field.domain.values
    masses = side.masses[cell] * (high - low) / (side.ends[cell + 1] - side.ends[cell])
    lengths = (high - low) * ((low < values) | (starts[run] >= values))
    whole = np.bincount(run, masses)[run]
    shares = np.where(whole > 0, masses / np.where(whole > 0, whole, 1), lengths / np.bincount(run, lengths)[run])
    kept = shares > _TINY
    run, shares = run[kept], shares[kept]
    offsets = np.append(0, np.cumsum(np.bincount(run)))
    return Laws(offsets, low[kept], high[kept], shares / np.bincount(run, shares)[run])
