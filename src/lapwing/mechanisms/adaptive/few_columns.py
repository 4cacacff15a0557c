"""One or two ordered columns: nested cells of all of them together, finer where released counts show rows.

Of one column: the tree of counts that PMM asks for, then a search of its heaviest cells for single values. Of two:
one-way tables, then the leaves of a tree, counted three times, each time cut further. How far the model is from the
table is stated with 95 % probability.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.one_way import (
    PRESENT,
    SOUGHT_DEVIATIONS,
    OneWayTable,
    Search,
    ask_columns,
    is_staged,
    least_found,
    no_states,
    stage_questions,
    start_search,
)
from lapwing.mechanisms.shared.one_way import public_or_expected_rows, uniform_model
from lapwing.mechanisms.shared.trees.accuracy import counted_tree, noise_tree, planned_statements, released_statements
from lapwing.mechanisms.shared.trees.cell_levels import TreeLevel, epsilon_of, tree_levels
from lapwing.mechanisms.shared.trees.model import cells_as_model, fit_leaves, has_exact_root, known_root
from lapwing.mechanisms.shared.trees.plans import default_plan, tree_shapes
from lapwing.mechanisms.shared.trees.simulation import simulate_noise
from lapwing.mechanisms.shared.trees.stated import largest_cell
from lapwing.model.certificate.cost_lines import PlannedQuestion
from lapwing.model.certificate.statements import Statement
from lapwing.model.laws import Laws
from lapwing.model.model import Indexed, ReleasedModel, narrow, whole_rows
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, interval_grouping
from lapwing.schema.groupings.hierarchies import Hierarchy, diameters, group_ends
from lapwing.schema.schemas import Schema

MOST_FEW: Final = 2  # columns


def are_few_columns(schema: Schema) -> bool:
    """Return whether a schema has one or two ordered columns of many values and nothing that ties them."""
    is_free = not schema.rules and not schema.public_tables
    return is_free and len(schema.columns) <= MOST_FEW and all(is_staged(field) for field in schema.columns)


# -- One column.
FIRST_COUNT: Final = Fraction(3, 100)
"""Part of the budget for one count of all regular values, beside misfits and reserved ones."""
SEARCH_PART: Final = Fraction(7, 100)
"""Part for the search, where the tree does not end in single values."""
SURE: Final = 1000
"""A value is found where the largest of so many times as many noises would hardly be so large."""
MAX_NODES: Final = 2**22
_TINY_SHARE: Final = 1e-12
OneColumnQuestions = tuple[MarginalCounts, TreeCounts, Budget | None]
"""The first look, the tree, and what a search may cost."""


def one_column_model(
    curator: Curator, schema: Schema, budget: Budget, rows: float, rng: np.random.Generator
) -> ReleasedModel:
    """Return one atom per leaf with rows; rows: a number that may be known."""
    terms, (field,) = curator.terms, schema.columns
    look, tree, left = one_column_questions(schema, budget, terms, rows)
    curator.ask(look)
    (noisy,) = curator.ask(tree)
    assert isinstance(noisy, NoisyTree)
    leaves: np.ndarray = fit_leaves(noisy, known_root(tree, terms.rows, None), rng)
    cells = _regular_cells(tree, field)
    states = leaves[cells[0].size :]
    states[states < PRESENT * min(law.sd for law in noisy.noises if law is not None)] = 0  # noise explains them
    model = cells_as_model(schema, tree, leaves, terms.rows, "uniform")
    masses = leaves[: cells[0].size].astype(np.float64)
    search = None if left is None else start_search(field, cells, masses, left, terms)
    if search is None:
        return model
    found, sd = _found_values(curator, field, search)
    if not found.starts.size:
        return model
    at = np.searchsorted(cells[0], found.starts, "right") - 1
    rest = masses.sum() - found.counts.sum()
    if rest < SOUGHT_DEVIATIONS * sd * found.starts.size**0.5:  # noise may explain all other rows
        gathered = np.bincount(at, found.counts * masses.sum() / found.counts.sum(), leaves.size)
        gathered[cells[0].size :] = leaves[cells[0].size :]
        leaves = gathered
        model = replace(cells_as_model(schema, tree, leaves, terms.rows, "uniform"), rows=model.rows)
    law = model.laws[field.name]
    assert isinstance(law, Indexed)
    laws = {field.name: Indexed(law.index, _with_values(law.laws, leaves, at, found, sd))}
    return ReleasedModel(weights=model.weights, rows=model.rows, laws=laws)


def _regular_cells(tree: TreeCounts, field: Field) -> tuple[np.ndarray, np.ndarray]:
    """Return the first code of each leaf of regular values, which are the first leaves, and the one after its last."""
    (nested,) = tree.hierarchies
    starts, stops = nested.starts(nested.depth), nested.stops(nested.depth)
    is_regular = starts < field.domain.values
    return starts[is_regular], np.minimum(stops[is_regular], field.domain.values)


def one_column_questions(schema: Schema, budget: Budget, terms: Terms, rows: float) -> OneColumnQuestions:
    """Return the first questions, and the budget of the search: none where the tree ends in single values."""
    (field,) = schema.columns
    shapes = tree_shapes(schema, None, MAX_NODES, is_paper=False)
    of_look, of_tree, of_search = budget.split([FIRST_COUNT, 1 - FIRST_COUNT - SEARCH_PART, SEARCH_PART])
    look = MarginalCounts(
        columns=(field.name,),
        groupings=(interval_grouping(field.domain, ()),),
        cost=of_look,
        apart=field.domain.missing,
    )
    (nested,) = (tree := default_plan(shapes, terms, of_tree, None, rows).question(schema, of_tree)).hierarchies
    if (nested.stops(nested.depth) - nested.starts(nested.depth) > 1).any():
        return look, tree, of_search
    both = Budget(budget.notion, of_tree.amount + of_search.amount)
    return look, default_plan(shapes, terms, both, None, rows).question(schema, both), None


def planned_one_column(
    schema: Schema, budget: Budget, terms: Terms, rows: float
) -> tuple[MarginalCounts | TreeCounts, ...]:
    """Return what `one_column_model` asks, a search as one question."""
    look, tree, left = one_column_questions(schema, budget, terms, rows)
    search = () if left is None else (MarginalCounts(columns=look.columns, groupings=look.groupings, cost=left),)
    return (look, tree, *search)


def one_column_expected(
    schema: Schema, questions: Sequence[PlannedQuestion], terms: Terms, rng: np.random.Generator
) -> tuple[Statement, ...]:
    """Return the distance to expect of what `planned_one_column` asks."""
    (tree,) = (each for each in questions if isinstance(each, TreeCounts))
    laws = tree.noises(terms.relation, terms.max_rows)
    is_root_exact = terms.rows is not None and tree.costs[0] is None and has_exact_root(tree)
    of_noise = noise_tree(tree, laws, schema, is_root_exact=is_root_exact)
    return planned_statements(tree, of_noise, float(public_or_expected_rows(terms)), rng)


def one_column_statements(
    schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
) -> tuple[Statement, ...]:
    """State how far the model is from the table: values that stand alone move rows in their cells, as centres do."""
    noisy = next(answer for answer in answers if isinstance(answer, NoisyTree))
    is_root_exact = terms.rows is not None and has_exact_root(noisy.question)
    tree = noise_tree(noisy.question, noisy.noises, schema, is_root_exact=is_root_exact)
    counted = counted_tree(noisy, tree, schema, terms.rows)
    return released_statements(noisy, tree, counted, model, placement="centre", rng=rng)


def _found_values(curator: Curator, field: Field, search: Search) -> tuple[Search, float]:
    """Return the single values that stand out, and the noise on their counts."""
    least, sd = 0.0, 0.0
    while search.steps:
        (answer,) = curator.ask(search.question(field))
        assert isinstance(answer, NoisyCounts)
        search, sd = search.narrowed(answer), answer.noise.sd
        least = max(least, least_found(SURE * answer.counts.size, answer.noise))
    is_single = (search.stops - search.starts == 1) & (search.counts > least)
    kept = (each[is_single] for each in (search.starts, search.stops, search.counts))
    return replace(search, **dict(zip(("starts", "stops", "counts"), kept, strict=True))), sd


def _with_values(laws: Laws, leaves: np.ndarray, at: np.ndarray, found: Search, sd: float) -> Laws:
    """Return laws of one piece each with the values found in them; all of a cell where noise may explain the rest."""
    sums = np.bincount(at, found.counts, leaves.size)[at]
    noise = SOUGHT_DEVIATIONS * sd * np.bincount(at, minlength=leaves.size)[at] ** 0.5
    parts = found.counts / np.where(leaves[at] - sums < noise, sums, np.maximum(leaves[at], 1))
    rest = 1 - np.bincount(at, parts, leaves.size)
    leaf = np.concatenate((np.arange(leaves.size), at))
    shares = np.concatenate((np.where(rest > _TINY_SHARE, rest, 0.0), parts))
    starts, stops = np.concatenate((laws.starts, found.starts)), np.concatenate((laws.stops, found.stops))
    kept = np.flatnonzero(shares > 0)
    kept = kept[np.argsort(leaf[kept], kind="stable")]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(leaf[kept], minlength=leaves.size))))
    return Laws(offsets, starts[kept], stops[kept], shares[kept])


# -- Two columns.
ONE_WAY: Final = Fraction(3, 20)
"""Part of the budget for the one-way tables."""
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
LeafCounts = tuple[np.ndarray, float]  # noisy counts of a tree's leaves, level by level, and the sd of their noise
MOST_RUNS: Final = 2**16
MOST_LEVELS: Final = 40


def two_column_model(curator: Curator, schema: Schema, budget: Budget, share: float | None) -> ReleasedModel:
    """Spend a budget on one-way tables and the leaves of trees, and return one atom per leaf."""
    of_columns, of_tree = _map_costs(schema, budget, share)
    tables, total = ask_columns(curator, schema, of_columns)
    noise = _leaf_questions(_uncut(schema), of_tree)[-1].noise(curator.terms.relation, curator.terms.max_rows)
    least = max(1.0, WORTH * noise.sd) / FINER
    sides = [column_runs(table, field, least) for table, field in zip(tables, schema.columns, strict=True)]
    nodes, masses = _count_trees(curator, sides, of_tree, total)
    rows = curator.terms.rows if curator.terms.rows is not None else whole_rows(round(float(masses[0][0])))
    return _map_model(schema, sides, nodes, masses, rows)


def two_column_questions(
    schema: Schema, budget: Budget, share: float | None
) -> tuple[MarginalCounts | SparseCounts, ...]:
    """Return the questions of `two_column_model` for a plan: a tree stands as it is before any cut."""
    of_columns, of_tree = _map_costs(schema, budget, share)
    return (*stage_questions(schema, of_columns), *_leaf_questions(_uncut(schema), of_tree))


def _map_costs(schema: Schema, budget: Budget, share: float | None) -> tuple[tuple[Budget, ...], Budget]:
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


# -- Each column of the two in nested runs, cut where its one-way table has rows.


@dataclass(frozen=True, slots=True, eq=False)
class ColumnRuns:
    """A column: its one-way table, its nested runs, and all cells of the table with their masses, in order of codes.

    ends: int64 (k + 1,); masses: float64 (k,), 0 where noise explains a missing or special state.
    """

    field: Field
    table: OneWayTable
    nested: Hierarchy
    ends: np.ndarray
    masses: np.ndarray

    def masses_of(self, level: int) -> np.ndarray:
        """Return the mass of each run of a level."""
        codes = np.append(self.nested.starts(level), self.ends[-1])
        return np.asarray(np.diff(_mass_below(codes, self.ends, self.masses)))


def column_runs(table: OneWayTable, field: Field, least: float) -> ColumnRuns:
    """Cut a column while a run holds more than some rows.

    First where reserved codes begin, then around what is empty, then at ends of the cells that were counted, the first
    ones first, and below those in the middle.
    """
    domain = field.domain
    covered = domain.size if domain.missing else domain.last
    starts, _, _ = table.grouping.pieces()
    ends = np.concatenate((starts[: table.grouping.regular], np.arange(domain.values, covered + 1)))
    assert table.masses is not None
    masses = table.masses.copy()
    masses[table.grouping.regular :][no_states(table, domain)] = 0.0
    tiers = [*(stage.starts for stage in table.stages), ends]
    least = max(least, float(masses.sum()) / MOST_RUNS)
    low, high = np.zeros(1, dtype=np.int64), np.full(1, covered, dtype=np.int64)
    cuts, born = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for level in range(1, MOST_LEVELS + 1):
        held = np.diff(_mass_below(np.stack((low, high), axis=1), ends, masses))[:, 0]
        is_open = (high - low > 1) & (held > least)
        low, high = low[is_open], high[is_open]
        if not low.size:
            break
        at = _cut_places(low, high, tiers, np.flatnonzero(masses > 0))
        at = np.where((low < domain.values) & (domain.values < high), domain.values, at)
        cuts, born = np.append(cuts, at), np.append(born, np.full(at.size, level))
        low, high = np.append(low, at), np.append(at, high)
    order = np.argsort(cuts, kind="stable")
    nested = Hierarchy(domain.values, domain.reserved, covered, cuts[order], born[order])
    return ColumnRuns(field, table, nested, ends, masses)


def _mass_below(codes: np.ndarray, ends: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return the mass below some codes, that of a cell spread evenly."""
    return np.asarray(np.interp(codes.astype(np.float64), ends.astype(np.float64), np.append(0.0, np.cumsum(masses))))


def _cut_places(low: np.ndarray, high: np.ndarray, tiers: Sequence[np.ndarray], full: np.ndarray) -> np.ndarray:
    """Return where runs with rows are cut; full: the cells of the last tier that have rows."""
    ends, middle = tiers[-1], low + (high - low) // 2
    found, is_open = middle, np.ones(low.size, dtype=bool)
    for tier in tiers:
        after = np.searchsorted(tier, middle)
        below, above = tier[np.maximum(after - 1, 0)], tier[np.minimum(after, tier.size - 1)]
        has_below, has_above = (below > low) & (below < high), (above > low) & (above < high)
        nearer = np.where(has_below & ~(has_above & (above - middle < middle - below)), below, above)
        found = np.where(is_open & (has_below | has_above), nearer, found)
        is_open &= ~(has_below | has_above)
    first_cell, last_cell = np.searchsorted(ends, low, "right") - 1, np.searchsorted(ends, high) - 1
    first = np.maximum(low, ends[full[np.minimum(np.searchsorted(full, first_cell), full.size - 1)]])
    last = np.minimum(high, ends[full[np.searchsorted(full, last_cell, "right") - 1] + 1])
    is_right = (2 * (high - last) >= high - low) & (last > low)
    is_left = (2 * (first - low) >= high - low) & (first < high)
    return np.asarray(np.where(is_right, last, np.where(is_left, first, found)))


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


def whole_tree(sides: Sequence[ColumnRuns]) -> CellTree:
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


def _mean_length(side: ColumnRuns, level: int) -> float:
    """Return the mean length of the runs in which rows are."""
    masses = side.masses_of(level)
    return float(masses @ diameters(side.nested, side.field.domain, level)) / max(float(masses.sum()), _LEAST_SD)


def _independent_parts(
    tree: CellTree, sides: Sequence[ColumnRuns], level: int, cells: np.ndarray, above: np.ndarray
) -> np.ndarray:
    """Return which part of its parent's rows each cell has where columns do not depend on each other."""
    axis = tree.schedule[level - 1]
    depth = tree.depths(level)[axis]
    own, whole = sides[axis].masses_of(depth), sides[axis].masses_of(depth - 1)
    return np.asarray(own[cells[:, axis]] / np.maximum(whole[above[:, axis]], _TINY))


def _grown_tree(
    tree: CellTree, sides: Sequence[ColumnRuns], known: Nodes, masses: Sequence[np.ndarray], worth: float
) -> CellTree:
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
        mass = mass[goes_on][parents] * _independent_parts(tree, sides, level + 1, cells, above[parents])
        was_inner = is_inner[goes_on][parents]
        at = np.where(was_inner, np.cumsum(was_inner) - 1, -1)
    return tree.grown(chosen, decisions)


def _count_trees(
    curator: Curator, sides: Sequence[ColumnRuns], budget: Budget, total: float
) -> tuple[Nodes, list[np.ndarray]]:
    """Count the leaves of trees, each cut further where the counts before show rows; return the last one's masses."""
    tree, terms = whole_tree(sides), curator.terms
    nodes, masses = Nodes.of(tree), [np.array([total])]
    told: list[tuple[Nodes, LeafCounts]] = []
    for question, parts in zip(_leaf_questions(tree, budget), LEAST_PARTS, strict=True):
        sd = question.noise(terms.relation, terms.max_rows).sd
        worth = max(1.0, WORTH * sd, float(masses[0][0]) / parts)
        nodes = Nodes.of(_grown_tree(tree, sides, nodes, masses, worth))
        (noisy,) = curator.ask(replace(question, tree=nodes.tree))
        assert isinstance(noisy, NoisyCells)
        told.append((nodes, (noisy.counts[nodes.order].astype(np.float64), sd)))
        masses = _node_masses(nodes, sides, told, terms.rows)
    return nodes, masses


# -- What all counts say together, and the model.


def _node_masses(
    nodes: Nodes, sides: Sequence[ColumnRuns], told: Sequence[tuple[Nodes, LeafCounts]], rows: int | None
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
        part = _independent_parts(nodes.tree, sides, level, cells[first], above[parents[first]])
        one, two = ((estimates[level][at], variances[level][at]) for at in (first, first + 1))
        left = _left_half(found[first], one, two, part)
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


def _left_half(
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


def _map_model(
    schema: Schema, sides: Sequence[ColumnRuns], nodes: Nodes, masses: Sequence[np.ndarray], rows: int
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


def _run_laws(side: ColumnRuns, starts: np.ndarray, stops: np.ndarray) -> Laws:
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


# -- How far the model is from the table, from the last counts of all of it.
#
# Earlier counts chose which cells are counted last; given them, the last noise is fresh. Let ``y = c + e`` be a node's
# noisy count (a leaf's, or the sum of its leaves'), ``w`` its part of the model, ``N`` all rows. Between cells, mass
# moves along the tree, on which two leaves are as far apart as the cell that holds both is wide; within one, no farther
# than it is wide. So ``N W1`` is at most ``sum diameter / 2 |y - Y w| + sum (diameter / 2 |e| - ...)``, in which only
# the noise is unknown: of 39 draws of it the largest is passed with probability 1/40, and so is that of the noise in
# ``Y``.
DRAWS: Final = 39  # the largest of them, twice: 1/40 + 1/40 = 5 %
LeafTree = tuple[list[TreeLevel], list[np.ndarray], np.ndarray, np.ndarray]
"""A tree, the diameters of its nodes, and for its leaves noisy counts and parts of the model."""


def distance_statements(
    schema: Schema, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
) -> tuple[Statement, ...]:
    """State how far a released model is from the table, where the last counts of all its columns together tell."""
    names = [field.name for field in schema.columns]
    whole = [each for each in answers if set(each.question.columns) == set(names)]
    trees = [each for each in whole if isinstance(each, NoisyCells)]
    tables = [each for each in whole if isinstance(each, NoisyCounts)]
    if not model.rows or not (trees or tables):
        return ()
    law = (trees or tables)[-1].noise
    counted = _counted_leaves(schema, trees[-1], model) if trees else _counted_cells(schema, tables[-1], model)
    bound = _distance_bound(counted, law, rng)
    leaves = _leaf_values(*counted[:2])
    return Statement("distance", bound, {"columns": tuple(names)}), largest_cell(leaves.size, float(leaves.max()))


def _distance_bound(counted: LeafTree, law: NoiseLaw, rng: np.random.Generator) -> float:
    """Return the bound of the module's text, at most 1."""
    levels, sizes, counts, shares = counted
    total, inside = float(counts.sum()), _leaf_values(levels, sizes)
    edges = [size[below.parents] / 2 for size, below in zip(sizes, levels[1:], strict=False)]

    def moved(leaves: np.ndarray) -> float:
        return sum(float(edge @ np.abs(each)) for edge, each in zip(edges, _sums_below(levels, leaves), strict=True))

    noises = [simulate_noise(law.kind, float(law.parameter), counts.shape, rng) for _ in range(DRAWS)]
    unknown = max(moved(noise) - float(inside @ noise) for noise in noises)
    rows = max(abs(float(noise.sum())) for noise in noises)
    found = moved(counts - total * shares) + float(inside @ counts) + unknown + rows * moved(shares)
    return min(1.0, max(0.0, found) / max(1.0, total - rows))


def _leaf_values(levels: Sequence[TreeLevel], values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the values of the leaves, level by level."""
    return np.concatenate([value[level.is_leaf] for level, value in zip(levels, values, strict=True)])


def _sums_below(levels: Sequence[TreeLevel], leaves: np.ndarray) -> Iterator[np.ndarray]:
    """Return the sum over the leaves below each node, for all levels but the root's, from the first on."""
    found: list[np.ndarray] = []
    stop = leaves.size
    for place in range(len(levels) - 1, 0, -1):
        is_leaf = levels[place].is_leaf
        own = np.zeros(is_leaf.size)
        start = stop - int(np.count_nonzero(is_leaf))
        own[is_leaf] = leaves[start:stop]
        if found:
            own += np.bincount(levels[place + 1].parents, found[0], own.size)
        found.insert(0, own)
        stop = start
    return iter(found)


def _counted_leaves(schema: Schema, noisy: NoisyCells, model: ReleasedModel) -> LeafTree:
    """Return the leaves of a tree; each atom of the model lies in one of them."""
    nodes = Nodes.of(noisy.question.tree)
    domains = [schema.field(name).domain for name in noisy.question.columns]
    sizes = []
    for level, cells in enumerate(nodes.cells):
        each = zip(nodes.tree.hierarchies, domains, nodes.tree.depths(level), cells.T, strict=True)
        sizes.append(np.max([diameters(nested, domain, depth)[run] for nested, domain, depth, run in each], axis=0))
    at = _leaf_of(nodes, [_first_codes(model, name) for name in noisy.question.columns])
    weights = np.bincount(at, model.weights, noisy.counts.size)
    return nodes.levels, sizes, noisy.counts[nodes.order].astype(np.float64), weights / weights.sum()


def _first_codes(model: ReleasedModel, name: str) -> np.ndarray:
    """Return a code of each atom."""
    law = model.laws[name]
    assert isinstance(law, Indexed)
    return np.asarray(law.laws.starts[law.laws.offsets[law.index]])


def _leaf_of(nodes: Nodes, codes: Sequence[np.ndarray]) -> np.ndarray:
    """Return the number of the leaf that holds each place."""
    node, found, before = np.zeros(codes[0].size, dtype=np.int64), np.zeros(codes[0].size, dtype=np.int64), 0
    is_open = np.ones(node.size, dtype=bool)
    for level, here in enumerate(nodes.levels):
        if level:
            axis = nodes.tree.schedule[level - 1]
            starts, _ = nodes.runs(axis, level)
            child = np.searchsorted(here.parents, node[is_open])
            other = np.minimum(child + 1, starts.size - 1)
            is_second = (
                (here.parents[other] == node[is_open]) & (codes[axis][is_open] >= starts[other]) & (other > child)
            )
            node[is_open] = child + is_second
        is_in = is_open.copy()
        is_in[is_open] = here.is_leaf[node[is_open]]
        found[is_in] = before + (np.cumsum(here.is_leaf) - 1)[node[is_in]]
        before += int(np.count_nonzero(here.is_leaf))
        is_open &= ~is_in
    return found


def _counted_cells(schema: Schema, noisy: NoisyCounts, model: ReleasedModel) -> LeafTree:
    """Return the cells of a table, which are as far apart as the whole is wide."""
    names, groupings = noisy.question.columns, noisy.question.groupings
    domains = [schema.field(name).domain for name in names]
    kept = np.ix_(
        *(np.arange(each.groups - (not domain.missing)) for each, domain in zip(groupings, domains, strict=True))
    )
    sides = [_group_lengths(each, domain) for each, domain in zip(groupings, domains, strict=True)]
    size = np.zeros(noisy.counts.shape)
    for side in np.meshgrid(*sides, indexing="ij"):
        size = np.maximum(size, side)
    counts, shares = (
        noisy.counts[kept].astype(np.float64).reshape(-1),
        marginal(model, names, groupings)[kept].reshape(-1),
    )
    root = TreeLevel(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=bool))
    cells = TreeLevel(np.zeros(counts.size, dtype=np.int64), np.ones(counts.size, dtype=bool))
    return [root, cells], [np.ones(1), size[kept].reshape(-1)], counts, shares / shares.sum()


def _group_lengths(grouping: Grouping, domain: Domain) -> np.ndarray:
    """Return the length of each group in its column's own metric."""
    low, high = group_ends(grouping)
    if domain.continuous and domain.values > 1:
        return np.where(low < domain.values, (high - low) / domain.values, 0.0)
    codes = (high - low - 1) / max(1, domain.values - 1) if domain.ordered else (high - low > 1).astype(np.float64)
    return np.where(low < domain.values, codes, 0.0)
