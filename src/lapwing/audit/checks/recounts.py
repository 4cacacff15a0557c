"""What answers are about, found the slow way: row by row, in Python's own integers."""

import itertools
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from lapwing.audit.held import Rows
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS, CellSums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics, RowStatistic, Statistic
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.rows.out.decode import records
from lapwing.schema.schemas import Schema

# -- Distances of tables from public ones, found the slow way: row by row, cell by cell, in Python's own integers.


def remeasured(question: TableDistances, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise.

    Returns int64 (1,).
    """
    assert question.cells is not None
    assert question.expected is not None
    rows = [
        row
        for chunk in source.chunks()
        for row in zip(
            *(g.apply(chunk[name]).tolist() for name, g in zip(question.columns, question.groupings, strict=True)),
            strict=True,
        )
    ]
    distance = 0
    for table, listed, counts in zip(question.tables, question.cells, question.expected, strict=True):
        sizes = [question.groupings[place].groups for place in table]
        pairs = zip(listed.tolist(), counts.tolist(), strict=True)
        gaps = Counter({_cell(number, sizes): -count for number, count in pairs})
        for row in rows:
            gaps[tuple(row[place] for place in table)] += 2**question.bits
        distance += sum(map(abs, gaps.values()))
    return np.array([distance], dtype=np.int64)


def _cell(number: int, sizes: list[int]) -> tuple[int, ...]:
    """Return the group of each column in a cell."""
    groups: list[int] = []
    for size in reversed(sizes):
        number, group = divmod(number, size)
        groups.insert(0, group)
    return tuple(groups)


# -- Linear statistics, found the slow way: row by row, in Python's own integers.


_ONE: Final = 2**16


def resummed_statistics(question: LinearStatistics, source: Rows, schema: Schema) -> np.ndarray:
    """Return what a question asks, without noise.

    Returns int64, shape ``question.shape``.
    """
    sums = [0] * len(question.statistics)
    for chunk in source.chunks():
        names = list(chunk)
        for codes in zip(*(chunk[name].tolist() for name in names), strict=True):
            row = dict(zip(names, codes, strict=True))
            for place, each in enumerate(question.statistics):
                value = _called(each, row, schema) if isinstance(each, RowStatistic) else _evaluated(each, row)
                value = min(max(value, each.lower), each.upper)
                sums[place] += value * 2 ** (question.bits - each.bits)
    return np.array(sums, dtype=np.int64)


def _called(each: RowStatistic, row: Mapping[str, int], schema: Schema) -> int:
    """Return what a row function makes of one row, in units of ``2**-16``; its lower bound where it fails."""
    (record,) = records({name: np.array([code]) for name, code in row.items()}, schema)
    (value,) = each.values_of_records([record]).tolist()
    return int(value)


def _evaluated(each: Statistic, row: Mapping[str, int]) -> int:
    """Return what a program makes of one row's codes; unknown is None on the way and 0 at the end."""
    stack: list[Any] = []
    for word, *settings in each.program:
        stack = _after(word, settings, stack, row)
    (found,) = stack
    return 0 if found is None else int(found)


def _after(word: str, settings: list[Any], stack: list[Any], row: Mapping[str, int]) -> list[Any]:
    """Return the stack after one step."""
    if word in ("in", "number", "lookup", "constant"):
        return [*stack, _loaded(word, settings, row)]
    if word in ("not", "indicator", "negate", "absolute", "scale"):
        return [*stack[:-1], _of_one(word, settings, stack[-1])]
    return [*stack[:-2], _of_two(word, stack[-2], stack[-1])]


def _loaded(word: str, settings: list[Any], row: Mapping[str, int]) -> Any:  # noqa: ANN401
    """Return a constant, or what a column's code stands for."""
    if word == "constant":
        return settings[0]
    code = row[settings[0]]
    if word == "in":
        return bisect_right(list(settings[1]), code) % 2 == 1
    if word == "lookup":
        return settings[1][code] if code < len(settings[1]) else None
    values, start, step, divisor = settings[1:]
    return math.floor((start + step * code) // divisor) if code < values else None


def _of_one(word: str, settings: list[Any], x: Any) -> Any:  # noqa: ANN401
    """Return a function of one value."""
    if word == "not":
        return not x
    if x is None:
        return None
    if word == "indicator":
        return _ONE if x else 0
    if word == "scale":
        return (2 * settings[0] * x + settings[1]) // (2 * settings[1])
    return -x if word == "negate" else abs(x)


def _of_two(word: str, x: Any, y: Any) -> Any:  # noqa: ANN401
    """Return a function of two values; a comparison with the unknown is false, everything else with it unknown."""
    if word in ("and", "or"):
        return (x and y) if word == "and" else (x or y)
    compares = {"less": "<", "at_most": "<=", "equal": "==", "differs": "!="}
    if x is None or y is None:
        return False if word in compares else None
    if word in compares:
        return {"less": x < y, "at_most": x <= y, "equal": x == y, "differs": x != y}[word]
    if word == "multiply":
        return (2 * x * y + _ONE) // (2 * _ONE)
    return {"add": x + y, "subtract": x - y, "minimum": min(x, y), "maximum": max(x, y)}[word]


def resummed(question: SecondMoment | CellSums, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise.

    Returns int64, shape ``question.shape``.
    """
    rows = list(_rows(question.coordinates, source))
    if isinstance(question, SecondMoment):
        pairs = zip(*(each.tolist() for each in question.pairs), strict=True)
        return np.array([sum(row[i] * row[j] for row in rows) for i, j in pairs], dtype=np.int64)
    cells = [0] * len(rows)
    if question.projection is not None:
        cells = [_summed_cell(question.projection, row) for row in rows]
    counts = [0] * question.cells
    sums = [[0] * question.coordinates.size for _ in counts]
    for cell, row in zip(cells, rows, strict=True):
        counts[cell] += 1
        sums[cell] = [total + each for total, each in zip(sums[cell], row, strict=True)]
    if question.summed == "rows":
        return np.array(counts, dtype=np.int64)
    if question.damping is not None:
        divisors = [max(count, question.damping) * question.coordinates.unit for count in counts]
        sums = [
            [total * 2**MEAN_BITS // divisor for total in cell] for cell, divisor in zip(sums, divisors, strict=True)
        ]
    return np.array(sums, dtype=np.int64).reshape(question.shape)


def _rows(coordinates: Coordinates, source: Rows) -> Iterator[list[int]]:
    """Yield the vector of each row."""
    for chunk in source.chunks():
        groups = [
            grouping.apply(chunk[name]).tolist()
            for name, grouping in zip(coordinates.columns, coordinates.groupings, strict=True)
        ]
        for row in zip(*groups, strict=True):
            blocks = (_block(coordinates, place, group) for place, group in enumerate(row))
            yield _inside(coordinates, list(itertools.chain.from_iterable(blocks)))


def _block(coordinates: Coordinates, place: int, group: int) -> list[int]:
    """Return the coordinates of one column for a row in a group."""
    grouping, unit = coordinates.groupings[place], coordinates.unit
    is_line = coordinates.kinds[place] == "line"
    width = (1 if is_line else grouping.regular) + coordinates.listed[place]
    block = [0] * width
    if is_line and group < grouping.regular:
        starts, stops, groups = grouping.pieces()
        at = np.flatnonzero(groups == group)[-1]
        twice, last = int(starts[at] + stops[at] - 1), 2 * (grouping.values - 1)
        if last:
            low = -unit if coordinates.coding == "centred" else 0
            block[0] = low + (unit - low) * twice // last
    elif group < grouping.regular + coordinates.listed[place]:
        block[group - grouping.regular + 1 if is_line else group] = unit
    return block


def _inside(coordinates: Coordinates, row: list[int]) -> list[int]:
    """Bring a vector into its convex set."""
    unit = coordinates.unit
    if coordinates.convex_set == "ball":
        square = sum(each * each for each in row)
        if square > unit * unit:
            length = math.isqrt(square - 1) + 1
            return [(1 if each > 0 else -1) * (abs(each) * unit // length) for each in row]
    if coordinates.convex_set == "simplex":
        total = sum(row)
        return [each * unit // total for each in row] if total else [unit // len(row)] * len(row)
    return row


def _summed_cell(projection: Projection, row: list[int]) -> int:
    """Return the cell of one vector: its place among the cuts, or the nearest lattice point by looking at all."""
    axes = projection.directions.T.tolist()
    projected = [sum(each * weight for each, weight in zip(row, axis, strict=True)) for axis in axes]
    if not projection.spacing:
        cell = 0
        for number, cuts in zip(projected, projection.cuts, strict=True):
            cell = cell * (len(cuts) + 1) + bisect_right(cuts.tolist(), number)
        return cell
    reach = math.isqrt(projection.norm)
    points = [
        point
        for point in itertools.product(range(-reach, reach + 1), repeat=projection.count)
        if sum(each * each for each in point) <= projection.norm
    ]
    shifted = [number - offset for number, offset in zip(projected, projection.origin.tolist(), strict=True)]

    def distance(point: tuple[int, ...]) -> int:
        return sum((a - projection.spacing * b) ** 2 for a, b in zip(shifted, point, strict=True))

    return min(range(len(points)), key=lambda place: distance(points[place]))


# -- What answers are about, counted the slow way: row by row, from the codes.


def recounted_levels(question: TreeCounts, source: Rows) -> list[np.ndarray]:
    """Count the released levels of a tree, from the root downwards: a list of int64."""
    rows = [
        row for chunk in source.chunks() for row in zip(*(chunk[c].tolist() for c in question.columns), strict=True)
    ]
    return [_recount_level(question, level, rows) for level, cost in enumerate(question.costs) if cost is not None]


def recounted_table(question: MarginalCounts, source: Rows) -> list[np.ndarray]:
    """Count the one table of a question: a list of int64."""
    counts = np.zeros(tuple(grouping.groups for grouping in question.groupings), dtype=np.int64)
    for chunk in source.chunks():
        if not question.columns:
            counts += len(next(iter(chunk.values())))
            continue
        groups = [g.apply(chunk[name]) for name, g in zip(question.columns, question.groupings, strict=True)]
        for cell in zip(*(each.tolist() for each in groups), strict=True):
            counts[cell] += 1
    return [counts]


def rescored(question: SelectWorst, source: Rows) -> np.ndarray:
    """Score the candidates of a selection: each table counted by itself, each cell looked at in turn.

    Returns int64 (candidates,).
    """
    assert question.estimates is not None
    assert question.penalties is not None
    rows = _group_lists(question, source)
    estimates = iter(question.estimates.tolist())
    scores = []
    for candidate, penalty in zip(question.candidates, question.penalties.tolist(), strict=True):
        shape = tuple(question.levels[place][level].groups for place, level in candidate)
        counts = Counter(zip(*(rows[axis] for axis in candidate), strict=True))
        cells = [(counts[cell], next(estimates)) for cell in itertools.product(*map(range, shape))]
        scores.append(sum(abs(count - estimate) for count, estimate in cells if estimate != -1) - penalty)
    return np.array(scores, dtype=np.int64)


def _group_lists(question: SelectWorst, source: Rows) -> dict[tuple[int, int], list[int]]:
    """Return the group of every row, for each column and level that candidates use."""
    axes = sorted({axis for candidate in question.candidates for axis in candidate})
    rows: dict[tuple[int, int], list[int]] = {axis: [] for axis in axes}
    for chunk in source.chunks():
        for place, level in axes:
            rows[place, level] += question.levels[place][level].apply(chunk[question.columns[place]]).tolist()
    return rows


def _recount_level(question: TreeCounts, level: int, rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Count one level of a tree: the cell of each row by looking for its codes among the level's cuts."""
    nested = list(zip(question.hierarchies, question.depths(level), strict=True))
    counts = np.zeros(question.shapes[level], dtype=np.int64)
    cuts = [hierarchy.starts(depth)[1:].tolist() for hierarchy, depth in nested]
    for row in rows:
        if all(code < hierarchy.covered for code, (hierarchy, _) in zip(row, nested, strict=True)):
            counts[tuple(map(bisect_right, cuts, row))] += 1
    return counts
