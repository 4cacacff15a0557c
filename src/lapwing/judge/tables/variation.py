"""Total variation distance between the contingency tables of two coded tables: all 1-way, most 2-way, some 3-way.

The total variation distance of two laws on the same cells is half the sum of the absolute differences of their shares:
the largest difference in probability that any event can have. It lies between 0 (same shares) and 1 (no cell in
common), and has no unit. What is computed from private rows is private: nothing here adds noise.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import CapacityError, ParameterError
from lapwing.judge.metrics import Floats, shares
from lapwing.maths.arrays import read_only
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

# -- Rows of several tables counted in the same cells, and how far the counts are apart.


Ints = npt.NDArray[np.int64]

_MOST_CELLS: Final = 2**62
_DENSE: Final = 4  # cells for each row up to which counting is faster than sorting


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Parts:
    """Hold the cells of one column in which the rows of several tables lie, numbered among those that occur.

    tables: tuple of unsigned integers (n,), for each table the cell of each row.
    """

    tables: tuple[npt.NDArray[np.unsignedinteger], ...]
    size: int
    groups: int


def side_by_side(grouping: Grouping, tables: Sequence[npt.NDArray[np.integer]]) -> Parts:
    """Return the cells of the codes of one column in several tables.

    tables: sequence of integers (n,), the codes of the column in each table.

    >>> from lapwing.schema.groupings.domains import Domain
    >>> from lapwing.schema.groupings.grouping import identity
    >>> cells = side_by_side(identity(Domain(9, 0, True, True, False)), [np.array([7, 2]), np.array([7])])
    >>> [each.tolist() for each in cells.tables], cells.size
    ([[1, 0], [1]], 2)
    """
    groups = [grouping.apply(codes) for codes in tables]
    is_used = np.zeros(grouping.groups, dtype=np.bool_)
    for each in groups:
        is_used[each] = True
    number = np.cumsum(is_used) - 1
    size = int(number[-1]) + 1
    short = number.astype(np.min_scalar_type(size))
    return Parts(tables=tuple(short[each] for each in groups), size=size, groups=grouping.groups)


def count_distances(parts: Sequence[Parts], rows: Sequence[int]) -> Floats:
    """Return the total variation distance of the first table from each of the others, in the cells of some columns.

    Returns float64 (tables - 1,), 0 to 1. Shares are compared in integers: 0 exactly where all are equal, 1 where no
    cell is shared.

    >>> one = Parts(tables=(np.array([0, 0, 1], np.uint8), np.array([1, 1], np.uint8)), size=2, groups=2)
    >>> count_distances([one], [3, 2]).round(4).tolist()
    [0.6667]
    """
    cells = math.prod(part.size for part in parts)
    if cells <= _DENSE * sum(rows):
        own, *others = (np.bincount(_keys(parts, place), minlength=cells) for place in range(len(rows)))
        shared = [
            int(np.minimum(own * size, each * rows[0]).sum()) for each, size in zip(others, rows[1:], strict=True)
        ]
    else:
        found, *rest = (np.unique(_keys(parts, place), return_counts=True) for place in range(len(rows)))
        shared = [_shared(found, each, rows[0], size) for each, size in zip(rest, rows[1:], strict=True)]
    wholes = [rows[0] * size for size in rows[1:]]
    return np.array([(whole - common) / whole for common, whole in zip(shared, wholes, strict=True)])


def step_distance(parts: Sequence[Parts], steps: Floats) -> float:
    """Return the sum over cells of the absolute sum of steps of two tables' rows.

    steps: float64 (n + m,), of the rows of the first table, then of the second.

    >>> one = Parts(tables=(np.array([0, 1], np.uint8), np.array([1], np.uint8)), size=2, groups=2)
    >>> step_distance([one], np.array([0.75, 0.25, -1.0]))
    1.5
    """
    keys = np.concatenate([_keys(parts, place) for place in (0, 1)])
    if math.prod(part.size for part in parts) <= _DENSE * len(keys):
        return float(np.abs(np.bincount(keys, steps)).sum())
    order = np.argsort(keys)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return float(np.abs(np.add.reduceat(steps[order], starts)).sum())


def _keys(parts: Sequence[Parts], place: int) -> Ints:
    """Return the cell of each row of one table, one number for all columns."""
    if math.prod(part.groups for part in parts) > _MOST_CELLS:
        raise CapacityError(
            "a table has more than 2**62 cells; compare fewer columns at a time or merge categories", code="LW506"
        )
    keys: Ints = parts[0].tables[place].astype(np.int64)
    for more in parts[1:]:
        keys *= more.size
        keys += more.tables[place]
    return keys


def _shared(own: tuple[Ints, Ints], other: tuple[Ints, Ints], rows: int, other_rows: int) -> int:
    """Return the sum over cells of the smaller of both shares, times the rows of both tables."""
    _, left, right = np.intersect1d(own[0], other[0], assume_unique=True, return_indices=True)
    return int(np.minimum(own[1][left] * other_rows, other[1][right] * rows).sum())


Codes = Mapping[str, npt.NDArray[np.integer]]

VALUE_BY_VALUE: Final = 256
"""Ordered columns with at most so many regular codes are compared value by value."""

PARTS: Final = 64
"""Parts of the public domain in which a wider ordered column is compared."""

PAIRS: Final = 8192
"""Tables of two columns that are compared where there are more: all, up to 128 columns."""

TRIPLES: Final = 128
"""Tables of three (or more) columns that are compared where there are more."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Variation:
    """Hold the total variation distances of all compared tables with the same number of columns.

    possible: tables of so many columns that there are; not all of them need be compared; tables: the columns of each
    compared table, at least one table; distances: float64 (tables,), total variation distance of each table, 0 to 1.

    >>> found = Variation(ways=1, possible=2, tables=(("age",), ("sex",)), distances=np.array([0.25, 0.5]))
    >>> found.mean, found.maximum, found.worst(1)
    (0.375, 0.5, ((('sex',), 0.5),))
    """

    ways: int
    possible: int
    tables: tuple[tuple[str, ...], ...]
    distances: np.ndarray

    def __post_init__(self) -> None:
        if len(self.tables) != len(self.distances) or not self.tables:
            raise ParameterError(
                "a variation needs one distance for each of its tables; check their number", code="LW802"
            )
        object.__setattr__(self, "distances", read_only(np.asarray(self.distances, dtype=np.float64)))

    @property
    def mean(self) -> float:
        """Mean distance over the compared tables."""
        return float(self.distances.mean())

    @property
    def maximum(self) -> float:
        """Largest distance of a compared table."""
        return float(self.distances.max())

    def worst(self, count: int = 10) -> tuple[tuple[tuple[str, ...], float], ...]:
        """Return the tables with the largest distances, the largest first, each with its distance."""
        order = np.argsort(-self.distances, kind="stable")[:count]
        return tuple((self.tables[position], float(self.distances[position])) for position in order)


def compared_cells(domain: Domain) -> Grouping:
    """Return the cells in which a column is compared: a function of its public domain alone.

    Returns every value a cell where the column has at most 256 regular codes or is unordered; else at most 64 nearly
    equal parts of the domain. Special values and missing (or misfit) are cells of their own, in each case.

    >>> compared_cells(Domain(121, 0, True, True, False)).groups
    122
    >>> compared_cells(Domain(2**32, 1, True, True, True)).groups
    66
    """
    # Neighbouring codes of an unordered column have nothing in common that merging them would keep.
    if domain.values <= VALUE_BY_VALUE or not domain.ordered:
        return identity(domain)
    return evenly(domain, PARTS)


def table_variations(
    real_codes: Codes,
    other_codes: Codes,
    schema: Schema,
    *,
    ways: Sequence[int] = (1, 2, 3),
    triples: int = TRIPLES,
    rng: np.random.Generator,
) -> tuple[Variation, ...]:
    """Return the total variation distances between the contingency tables of two coded tables.

    real_codes, other_codes: mapping of str to integers (n,) and (m,), codes of every modelled column of the schema, at
    least one row each; triples: tables compared for each number of columns above 2, at least 1; all where there are
    fewer; rng: chooses those tables, and nothing else: the same state chooses the same tables. Returns one for each of
    ``ways`` that is at most the number of columns.

    `choose_tables`, then `compare_tables`: call these to compare several tables on the same columns, or with weights.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> real = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 0, 1, 1])}
    >>> other = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
    >>> [found.mean for found in table_variations(real, other, schema, rng=np.random.default_rng(0))]
    [0.0, 0.5]
    """
    tables = choose_tables(schema, ways=ways, triples=triples, rng=rng)
    return compare_tables(real_codes, other_codes, schema, tables)


def choose_tables(
    schema: Schema, *, ways: Sequence[int] = (1, 2, 3), triples: int = TRIPLES, rng: np.random.Generator
) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return which tables are compared: all of one column, up to 8,192 of two, and a sample of those with more.

    Returns for each of ``ways`` that is at most the number of columns, the tables, each as its columns in the schema's
    order.

    >>> schema = Schema.from_dict({"fields": [{"name": name, "type": "boolean"} for name in "abcd"]})
    >>> choose_tables(schema, ways=[1, 3], triples=2, rng=np.random.default_rng(0))
    ((('a',), ('b',), ('c',), ('d',)), (('a', 'c', 'd'), ('b', 'c', 'd')))
    """
    if any(isinstance(way, bool) or not isinstance(way, int) or way < 1 for way in ways):
        raise ParameterError(f"ways must be whole numbers of at least 1, got {list(ways)!r:.80}", code="LW302")
    if isinstance(triples, bool) or not isinstance(triples, int) or triples < 1:
        raise ParameterError(f"triples must be a whole number of at least 1, got {triples!r:.80}", code="LW302")
    chosen, names = [], [column.name for column in schema.columns]
    for way in ways:
        possible = math.comb(len(names), way)
        most = {1: possible, 2: PAIRS}.get(way, triples)
        if possible and possible <= most:
            chosen.append(tuple(itertools.combinations(names, way)))
        elif possible:
            ranks = np.sort(rng.choice(possible, most, replace=False))
            chosen.append(tuple(_combination(names, way, int(rank)) for rank in ranks))
    return tuple(chosen)


def compare_tables(
    real_codes: Codes,
    other_codes: Codes,
    schema: Schema,
    tables: Sequence[Sequence[tuple[str, ...]]],
    *,
    weights: npt.ArrayLike | None = None,
    other_weights: npt.ArrayLike | None = None,
) -> tuple[Variation, ...]:
    """Return the total variation distances of chosen tables.

    tables: as `choose_tables` returns them: the tables of one entry have the same number of columns; weights: of the
    real rows: at least 0, not all 0; scaled to sum 1. Equal when left out.

    Without weights shares are compared in integers: equal tables are at distance 0, those without a common cell at 1,
    exactly. A table of k cells takes time ``O(n + m + k)`` where k is at most ``4 (n + m)`` and
    ``O((n + m) log(n + m))`` beyond; memory ``O(d (n + m))`` bytes for the columns, and 40 bytes a row.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]})
    >>> real, other = {"a": np.array([0, 1])}, {"a": np.array([0, 1])}
    >>> compare_tables(real, other, schema, [[("a",)]], weights=[3.0, 1.0])[0].maximum
    0.25
    """
    if weights is None and other_weights is None:
        return compare_with_each(real_codes, {"other": other_codes}, schema, tables)["other"]
    columns = {column.name: column for column in schema.columns}
    rows, other_rows = _rows("the real table", real_codes, columns), _rows("the other table", other_codes, columns)
    masses = shares("weights", weights, rows), shares("other_weights", other_weights, other_rows)
    steps = np.concatenate((masses[0], -masses[1]))
    parts = _parts([real_codes, other_codes], columns, tables)
    distances = [[step_distance([parts[name] for name in table], steps) / 2 for table in group] for group in tables]
    return _variations(len(columns), tables, [np.clip(each, 0, 1) for each in distances])


def compare_with_each(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, tables: Sequence[Sequence[tuple[str, ...]]]
) -> dict[str, tuple[Variation, ...]]:
    """Return the total variation distances of chosen tables of several coded tables from those of the real one.

    others: the other tables by name, at least one row each. Returns by the name of the table, as `compare_tables`
    returns them; the real rows are counted once for all.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]})
    >>> real, others = {"a": np.array([0, 1])}, {"same": {"a": np.array([1, 0])}, "far": {"a": np.array([2])}}
    >>> {name: each.maximum for name, (each,) in compare_with_each(real, others, schema, [[("a",)]]).items()}
    {'same': 0.0, 'far': 1.0}
    """
    columns = {column.name: column for column in schema.columns}
    rows = [_rows("the real table", real_codes, columns)]
    rows += [_rows("the other table", codes, columns) for codes in others.values()]
    parts = _parts([real_codes, *others.values()], columns, tables)
    distances = [
        np.array([count_distances([parts[name] for name in table], rows) for table in group]).T for group in tables
    ]
    return {
        name: _variations(len(columns), tables, [each[place] for each in distances])
        for place, name in enumerate(others)
    }


def _combination(names: Sequence[str], size: int, rank: int) -> tuple[str, ...]:
    """Return the combination of a rank, in the order of `itertools.combinations`."""
    chosen: list[str] = []
    for position, name in enumerate(names):
        missing = size - len(chosen)
        # Combinations that go on with this name come before those that pass it over.
        here = math.comb(len(names) - position - 1, missing - 1) if missing else 0
        if rank < here:
            chosen.append(name)
        else:
            rank -= here
    return tuple(chosen)


def _rows(what: str, codes: Codes, columns: Mapping[str, Field]) -> int:
    """Return the number of rows, at least one and the same in every column."""
    for name in columns:
        if name not in codes:
            raise ParameterError(
                f"{what} has no codes of column {quote(name)}; give those of every modelled column", code="LW801"
            )
    lengths = {len(codes[name]) for name in columns}
    if lengths == {0}:
        raise ParameterError(
            f"{what} has no row; total variation compares shares, which need at least one", code="LW110"
        )
    if len(lengths) > 1:
        raise ParameterError(f"{what} has columns of different lengths; give one code for each row", code="LW801")
    return lengths.pop()


def _parts(
    tables: Sequence[Codes], columns: Mapping[str, Field], chosen: Sequence[Sequence[tuple[str, ...]]]
) -> dict[str, Parts]:
    """Return the cells of the rows of several tables in every column that is compared."""
    wanted = {name for group in chosen for table in group for name in table}
    return {
        name: side_by_side(compared_cells(columns[name].domain), [codes[name] for codes in tables]) for name in wanted
    }


def _variations(
    columns: int, tables: Sequence[Sequence[tuple[str, ...]]], distances: Sequence[Floats]
) -> tuple[Variation, ...]:
    """Return the distances with the tables that they are of."""
    return tuple(
        Variation(ways=len(group[0]), possible=math.comb(columns, len(group[0])), tables=tuple(group), distances=found)
        for group, found in zip(tables, distances, strict=True)
    )
