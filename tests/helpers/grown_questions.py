"""Every kind of question about tables of any size: asked in the real room, counted again by plain array arithmetic.

A slip may show beyond a size only: of a table's cells, of its rows, of a batch. So each kind of question is asked at
every order of magnitude, of two neighbours that differ in the last rows, and three times: twice in one batch and once
again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from lapwing.kernel.questions.cell_sums.question import MEAN_BITS, CellSums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.questions.private_draw.question import PrivateDraw
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.kernel.terms import Terms
from lapwing.model.statistics.expressions import compile_statistic
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

REACH = 2**19


@dataclass(frozen=True, eq=False)
class Grown:
    """A table whose codes are known, and its terms: rows of single persons, then those of the one that may go."""

    schema: Schema
    terms: Terms
    codes: dict[str, np.ndarray]
    frame: pl.DataFrame
    values: int

    @property
    def rows(self):
        return self.frame.height


def grown_pair(values, rows, relation="add-remove", max_rows=1, *, has_unit=True):
    """Return two neighbours of so many rows, of a column of so many values, two truths and a text.

    The person that differs owns the last ``max_rows`` rows, all alike, and is gone, or has the first values instead.
    """
    rng = np.random.default_rng(values + 7 * rows)
    others = max(rows - max_rows, 0)
    base = {"x": rng.integers(0, values, others), "a": rng.integers(0, 2, others), "b": rng.integers(0, 2, others)}
    last = {"x": values - 1, "a": 1, "b": 1}
    found = []
    for own in (last, {} if relation == "add-remove" else dict.fromkeys(last, 0)):
        count = max_rows if own else 0
        codes = {name: np.concatenate((each, np.full(count, own.get(name, 0)))) for name, each in base.items()}
        found.append(_grown(codes, values, relation, max_rows, others, has_unit=has_unit))
    return tuple(found)


def _grown(codes, values, relation, max_rows, others, *, has_unit):
    rows = len(codes["x"])
    people = np.concatenate((np.arange(others), np.full(rows - others, others)))
    frame = pl.DataFrame(
        {
            **({"person": people} if has_unit else {}),
            "x": codes["x"],
            "a": codes["a"].astype(bool),
            "b": codes["b"].astype(bool),
        }
    )
    public = relation == "replace-one" and max_rows == 1
    terms = Terms(relation=relation, rows=rows) if public else Terms(relation=relation, max_rows=max_rows)
    return Grown(_schema(values, max_rows, has_unit=has_unit), terms, codes, frame, values)


def _schema(values, max_rows, *, has_unit):
    required = {"required": True}
    fields = [
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": values - 1} | required},
        {"name": "a", "type": "boolean", "constraints": required},
        {"name": "b", "type": "boolean", "constraints": required},
    ]
    if not has_unit:
        return Schema.from_dict({"fields": fields})
    person = {"name": "person", "type": "integer", "role": "identifier", "constraints": required}
    return Schema.from_dict({"fields": [person, *fields], "privacyUnit": {"field": "person", "maxRows": max_rows}})


# ---------------------------------------------------------------------------------------------------- the questions


@dataclass(frozen=True)
class Kind:
    """How a kind of question grows, and what it is about.

    ask: from a table, how large it may be, and a cost, to a question; exact: what the rechecks compare it with, from
    the table's codes; most: the size at which it ends; copies: so many are asked in one batch; relation: the only one;
    is_narrow: whether the column of values stays small.
    """

    ask: Callable[..., Any]
    exact: Callable[..., list[Any]]
    most: int = 10**6
    copies: int = 2
    relation: str | None = None
    is_narrow: bool = False


def _grouping(grown, name):
    return identity(grown.schema.field(name).domain)


def _marginal(grown, size, cost):
    return MarginalCounts(columns=("x",), groupings=(_grouping(grown, "x"),), cost=cost)


def _marginal_exact(grown, question):
    shape = question.counted
    cells = np.ravel_multi_index([grown.codes[name] for name in question.columns], shape)
    return [np.bincount(cells, minlength=math.prod(shape)).reshape(shape)]


def _pair(grown, size, cost):
    return MarginalCounts(columns=("x", "a"), groupings=(_grouping(grown, "x"), _grouping(grown, "a")), cost=cost)


def _triple(grown, size, cost):
    names = ("a", "x", "b")
    return MarginalCounts(columns=names, groupings=tuple(_grouping(grown, name) for name in names), cost=cost)


def _total(grown, size, cost):
    return MarginalCounts(columns=(), groupings=(), cost=cost)


def _total_exact(grown, question):
    return [np.array(grown.rows)]


def _tree(grown, size, cost):
    depth = max((grown.values - 1).bit_length(), 1)
    nested = hierarchy(grown.schema.field("x").domain, depth)
    amounts = (cost.amount / (depth + 1),) * (nested.depth + 1)
    schedule = (0,) * nested.depth
    return TreeCounts(columns=("x",), hierarchies=(nested,), schedule=schedule, notion=cost.notion, amounts=amounts)


def _tree_exact(grown, question):
    (nested,) = question.hierarchies
    found = []
    for level in range(nested.depth + 1):
        runs = np.searchsorted(nested.starts(level), grown.codes["x"], side="right") - 1
        found.append(np.bincount(runs, minlength=nested.groups(level)))
    return found


def _selection(grown, size, cost):
    """Ask about so many tables of a truth, of which the model is off in each by another number."""
    rng = np.random.default_rng(size)
    estimates = rng.integers(0, max(8, grown.rows), (size, 3))
    estimates[:, 2] = -1
    return _selected(grown, np.tile([[0, 0]], (size, 1, 1)), estimates.reshape(-1), cost)


def _selection_of_large(grown, size, cost):
    """Ask about two tables of as many cells as there are values."""
    groups = _grouping(grown, "x").groups
    estimates = np.random.default_rng(size).integers(0, 4, 2 * groups)
    return _selected(grown, np.array([[[1, 0]], [[1, 0]]]), estimates, cost)


def _selected(grown, candidates, estimates, cost):
    epsilon = Fraction(2)
    return SelectWorst(
        columns=("a", "x"),
        levels=((_grouping(grown, "a"),), (_grouping(grown, "x"),)),
        candidates=candidates,
        estimates=estimates.astype(np.int64),
        penalties=np.zeros(len(candidates), dtype=np.int64),
        epsilon=epsilon,
        notion=cost.notion,
    )


def _selection_exact(grown, question):
    name = question.columns[question.candidates[0, 0, 0]]
    counts = np.bincount(grown.codes[name], minlength=_grouping(grown, name).groups)
    estimates = question.estimates.reshape(len(question.candidates), -1)
    return [(np.abs(counts - estimates) * (estimates >= 0)).sum(axis=1) - question.penalties]


def _grid(grown):
    depth = max((grown.values - 1).bit_length(), 1)
    nested = hierarchy(grown.schema.field("x").domain, depth)
    return nested, (0,) * nested.depth


def _sparse(grown, size, cost, threshold=None):
    nested, schedule = _grid(grown)
    tree = CellTree(columns=("x",), hierarchies=(nested,), schedule=schedule, first=len(schedule))
    return SparseCounts(tree=tree, threshold=threshold, epsilon=Fraction(1), notion=cost.notion)


def _sparse_kept(grown, size, cost):
    return _sparse(grown, size, cost, threshold=5)


def _splits(grown, size, cost):
    nested, schedule = _grid(grown)
    tree = CellTree(columns=("x",), hierarchies=(nested,), schedule=schedule, first=max(len(schedule) - 2, 0))
    return SplitDecisions(tree=tree, rule="paper", threshold=8, epsilon=Fraction(1), notion=cost.notion)


def _cells_exact(grown, question):
    tree = question.tree
    (nested,) = tree.hierarchies
    found = {}
    for level in range(tree.first, tree.depth + 1):
        runs = np.searchsorted(nested.starts(level), grown.codes["x"], side="right") - 1
        cells, counts = np.unique(runs, return_counts=True)
        found |= {(level, int(cell)): int(count) for cell, count in zip(cells, counts, strict=True)}
    return [found]


def _coordinates(grown, *names, kinds, bits=0):
    return Coordinates(
        columns=names,
        groupings=tuple(_grouping(grown, name) for name in names),
        kinds=kinds,
        listed=(0,) * len(names),
        bits=bits,
    )


def _moment(grown, size, cost):
    return SecondMoment(coordinates=_coordinates(grown, "x", "a", kinds=("list", "line")), diagonal=True, cost=cost)


def _moment_exact(grown, question):
    """Return counts of values on the diagonal, signed sums of the truth by value, and rows."""
    x, sign, values = grown.codes["x"], 2 * grown.codes["a"] - 1, grown.values
    products = np.zeros((values + 1, values + 1), dtype=np.int64)
    np.fill_diagonal(products, [*np.bincount(x, minlength=values), grown.rows])
    np.add.at(products[:, values], x, sign)
    first, second = np.triu_indices(values + 1)
    return [products[first, second]]


def _projected(grown, size, cost):
    """Ask for the rows of so many cells along a line, on whose ends all rows lie."""
    cuts = np.arange(size - 1) - size // 2
    cells = Projection(directions=np.array([[REACH]]), cuts=(cuts,), origin=np.zeros(0, dtype=np.int64))
    return CellSums(coordinates=_coordinates(grown, "a", kinds=("line",)), projection=cells, summed="rows", cost=cost)


def _projected_exact(grown, question):
    counts = np.zeros(question.cells, dtype=np.int64)
    counts[0] += np.count_nonzero(grown.codes["a"] == 0)
    counts[-1] += np.count_nonzero(grown.codes["a"] == 1)
    return [counts]


def _vectors(grown, size, cost):
    coordinates = _coordinates(grown, "a", "x", kinds=("line", "list"))
    return CellSums(coordinates=coordinates, projection=None, summed="vectors", cost=cost)


def _vector_sums(grown):
    counts = np.bincount(grown.codes["x"], minlength=grown.values)
    return np.array([[int((2 * grown.codes["a"] - 1).sum()), *counts]], dtype=np.int64)


def _means(grown, size, cost):
    coordinates = _coordinates(grown, "a", "x", kinds=("line", "list"))
    return CellSums(coordinates=coordinates, projection=None, summed="damped means", damping=50, cost=cost)


def _means_exact(grown, question):
    return [np.floor_divide(_vector_sums(grown) << MEAN_BITS, max(grown.rows, 50))]


def _statistics(grown, size, cost):
    fields = [field.name for field in grown.schema.columns]
    both = [compile_statistic(each, grown.schema) for each in ("a", "b")]
    return LinearStatistics(
        columns=tuple(fields),
        groupings=tuple(_grouping(grown, name) for name in fields),
        statistics=tuple(both[place % 2] for place in range(size)),
        cost=cost,
    )


def _statistics_exact(grown, question):
    sums = [int(grown.codes[name].sum()) << question.bits for name in ("a", "b")]
    return [np.array([sums[place % 2] for place in range(len(question.statistics))], dtype=np.int64)]


def _distance(grown, size, cost):
    """Ask how far the table of values is from a public one that lists all but the last value."""
    listed = np.arange(max(grown.values - 1, 1))
    return TableDistances(
        columns=("x",),
        groupings=(_grouping(grown, "x"),),
        tables=((0,),),
        cells=(listed,),
        expected=(np.arange(len(listed)) % 5,),
        bits=1,
        cost=cost,
    )


def _distance_exact(grown, question):
    counts = np.bincount(grown.codes["x"], minlength=grown.values) << 1
    (listed,), (expected,) = question.cells, question.expected
    inside = np.abs(counts[listed] - expected).sum()
    return [np.array([inside + counts.sum() - counts[listed].sum()])]


def _distance_twice(grown, size, cost):
    once = _distance(grown, size, cost)
    return replace(once, tables=once.tables * 2, cells=once.cells * 2, expected=once.expected * 2)


def _distance_twice_exact(grown, question):
    once = replace(question, tables=((0,),), cells=question.cells[:1], expected=question.expected[:1])
    return [2 * each for each in _distance_exact(grown, once)]


def _draw(grown, size, cost):
    floor = Fraction(1, 2)
    return PrivateDraw(columns=("a", "b"), degree=1, floor=floor, rows=grown.rows, draws=size, notion=cost.notion)


def _draw_exact(grown, question):
    a, b = (1 - 2 * grown.codes[name] for name in ("a", "b"))
    points = [(1 - 2 * (point & 1), 1 - 2 * (point >> 1)) for point in range(4)]
    heights = [grown.rows + s * int(a.sum()) + t * int(b.sum()) for s, t in points]
    return [np.maximum(heights, question.least)]


def _misfits(grown, size, cost):
    return MisfitRows(columns=("x", "a", "b"), cost=cost)


def _misfits_exact(grown, question):
    return [np.array([0, grown.rows])]


KINDS = {
    "MarginalCounts": Kind(_marginal, _marginal_exact),
    "MarginalCounts of two columns": Kind(_pair, _marginal_exact, most=10**4, copies=300),
    "MarginalCounts of three columns": Kind(_triple, _marginal_exact, most=100, copies=40),
    "MarginalCounts of no column": Kind(_total, _total_exact, copies=300, most=1),
    "MisfitRows": Kind(_misfits, _misfits_exact, copies=200, is_narrow=True, most=1),
    "TreeCounts": Kind(_tree, _tree_exact),
    "SelectWorst": Kind(_selection, _selection_exact, is_narrow=True),
    "SelectWorst of large tables": Kind(_selection_of_large, _selection_exact),
    "SparseCounts": Kind(_sparse, _cells_exact, most=10**5),
    "SparseCounts above a threshold": Kind(_sparse_kept, _cells_exact, most=10**5),
    "SplitDecisions": Kind(_splits, _cells_exact, most=10**5),
    "SecondMoment": Kind(_moment, _moment_exact, most=1000),
    "CellSums": Kind(_projected, _projected_exact, is_narrow=True),
    "CellSums of vectors": Kind(_vectors, lambda grown, _: [_vector_sums(grown)], most=1000),
    "CellSums of means": Kind(_means, _means_exact, most=1000),
    "LinearStatistics": Kind(_statistics, _statistics_exact, most=1000, is_narrow=True),
    "TableDistances": Kind(_distance, _distance_exact, copies=40),
    "TableDistances of two tables alike": Kind(_distance_twice, _distance_twice_exact, most=1000, copies=2),
    "PrivateDraw": Kind(_draw, _draw_exact, relation="replace-one", is_narrow=True),
}
"""By a name that begins with that of the question."""
