"""How far a table is from the real one within every group of people: the rows that agree in some named columns.

What is computed from private rows is private: no noise is added.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, SYNTHETIC, Estimate, bootstrap_rows, some_columns
from lapwing.maths.arrays import Codes, Floats, Ints
from lapwing.model.compared import compared_cells
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly, identity
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.schema.values import label

MOST_GROUPS: Final = 200  # groups that are compared: those with the most real rows
MOST_COLUMNS: Final = 60  # other columns that are compared; of more, so many are drawn
FEWEST_ROWS: Final = 50
"""Rows of a group below which it is too small: a share of one half is then off by 7 % or more one time in three."""

LARGEST_NOISE: Final = 0.1
"""Mean total variation by chance alone above which a group is too small: one row in ten lies in the wrong cell."""

_AS_THEY_ARE: Final = 8  # values of an ordered column that are not grouped
_PARTS: Final = 5
_DENSE: Final = 4  # cells a row up to which counting is faster than sorting


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupAccuracy:
    """Hold how far one group of rows is from the same group of the real table.

    variation: mean over the other columns of the total variation distance of their 1-way tables, given the group; 1
    where a table has no row of it; bootstrap: the same for as many real rows drawn with replacement; is_too_small: to
    trust either, by the rule of `FEWEST_ROWS` and `LARGEST_NOISE`.
    """

    columns: tuple[str, ...]
    labels: tuple[str, ...]
    rows: int
    synthetic_rows: int
    variation: Estimate
    bootstrap: Estimate
    is_too_small: bool


def compare_subgroups(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, columns: Sequence[str], *, rng: np.random.Generator
) -> tuple[SubgroupAccuracy, ...]:
    """Return how far the synthetic table is from the real one within each group of rows, in the order of their values.

    An ordered column with more than 8 values makes at most 5 nearly equal parts of its public domain; other columns
    make a group of each value; missing, and each special value, is a group. Of more than 200 groups, those with the
    most real rows (then synthetic ones) are kept. The other columns are compared in the cells of `compared_cells`. Both
    figures are exact where all of at most 60 other columns take part; else the standard error is that of choosing
    columns. A fresh sample of the same people is farther off than the bootstrap, by ``sqrt(2)`` or more: the real rows
    are a sample too. Time and memory ``O(d (n + m))`` and ``O(n + m)``.
    """
    chosen = check_subgroups(schema, columns)
    tables = (real_codes, others[SYNTHETIC], others.get(BOOTSTRAP) or bootstrap_rows(real_codes, rng))
    domains = [column.domain for column in chosen]
    groupings = [
        evenly(each, _PARTS) if each.ordered and each.values > _AS_THEY_ARE else identity(each) for each in domains
    ]
    members, parts = _members(tables, [column.name for column in chosen], groupings)
    sizes = np.array([np.bincount(each[each >= 0], minlength=len(parts)) for each in members])
    rest = [column for column in schema.columns if column.name not in columns]
    is_all = len(rest) <= MOST_COLUMNS
    distances = _distances(tables, members, sizes, some_columns(rest, MOST_COLUMNS, rng))
    found = []
    for number, part in enumerate(parts.tolist()):
        rows, synthetic_rows, _ = sizes[:, number].tolist()
        variation, bootstrap = (_estimate(each[:, number], is_all) for each in distances)
        found.append(
            SubgroupAccuracy(
                columns=tuple(columns),
                labels=tuple(label(*each) for each in zip(groupings, chosen, part, strict=True)),
                rows=rows,
                synthetic_rows=synthetic_rows,
                variation=variation,
                bootstrap=bootstrap,
                is_too_small=_is_too_small(rows, synthetic_rows, bootstrap.value),
            )
        )
    return tuple(found)


def check_subgroups(schema: Schema, columns: Sequence[str]) -> list[Field]:
    """Return the columns whose crossing makes groups, or refuse them."""
    by_name = {column.name: column for column in schema.columns}
    if isinstance(columns, str) or not columns:
        raise ParameterError("subgroups need a list of at least one column; name the columns to cross", code="LW330")
    for name in columns:
        if name not in by_name:
            listed = ", ".join(quote(each) for each in list(by_name)[:10])
            raise ParameterError(
                f"the subgroup column {quote(name)} is no modelled column of the schema; choose among {listed}",
                code="LW330",
            )
    if len(set(columns)) < len(columns) or len(columns) >= len(by_name):
        raise ParameterError(
            "subgroup columns must be different, and leave a column to compare; name each once, and fewer", code="LW330"
        )
    return [by_name[name] for name in columns]


def _members(tables: Sequence[Codes], names: Sequence[str], groupings: Sequence[Grouping]) -> tuple[list[Ints], Ints]:
    """Return the group of every row of each table, -1 for none, and the part of each column that each group has.

    Groups are those of the first two tables with the most rows, in the order of their parts.
    """
    lengths = [len(codes[names[0]]) for codes in tables]
    group: Ints = np.zeros(sum(lengths), dtype=np.int64)
    parts: Ints = np.zeros((1, 0), dtype=np.int64)
    for name, grouping in zip(names, groupings, strict=True):
        own = np.concatenate([grouping.apply(codes[name]) for codes in tables])
        # Numbered afresh after each column, so that no product of domains can overflow.
        occurring, group = np.unique(group * grouping.groups + own, return_inverse=True)
        parts = np.column_stack((parts[occurring // grouping.groups], occurring % grouping.groups))
    ends = np.cumsum(lengths)
    rows, synthetic_rows = (
        np.bincount(group[end - length : end], minlength=len(parts))
        for end, length in zip(ends[:2], lengths[:2], strict=True)
    )
    order = np.lexsort((-synthetic_rows, -rows))[:MOST_GROUPS]
    kept = np.sort(order[(rows + synthetic_rows)[order] > 0])
    number = np.full(len(parts), -1)
    number[kept] = np.arange(len(kept))
    return [number[each] for each in np.split(group, ends[:-1])], parts[kept]


def _distances(
    tables: Sequence[Codes], members: Sequence[Ints], sizes: Ints, columns: Sequence[Field]
) -> tuple[Floats, Floats]:
    """Return the total variation of each column in each group: of the second and of the third table."""
    found: tuple[list[Floats], list[Floats]] = ([], [])
    inside = [each >= 0 for each in members]
    kept = [each[each >= 0] for each in members]
    for column in columns:
        grouping = compared_cells(column.domain)
        cells = [grouping.apply(codes[column.name][is_in]) for codes, is_in in zip(tables, inside, strict=True)]
        for place in (1, 2):
            pair = (kept[0], kept[place]), (cells[0], cells[place]), (sizes[0], sizes[place])
            found[place - 1].append(_variations(*pair, grouping.groups))
    return np.array(found[0]), np.array(found[1])


def _variations(
    groups: tuple[Ints, Ints], cells: tuple[Ints, Ints], sizes: tuple[Ints, Ints], cell_count: int
) -> Floats:
    """Return the total variation of one column between two tables, in each group; 1 where a table has no row of it."""
    number = len(sizes[0])
    keys = [group * cell_count + cell for group, cell in zip(groups, cells, strict=True)]
    if number * cell_count > _DENSE * sum(map(len, keys)):
        occurring, flat = np.unique(np.concatenate(keys), return_inverse=True)
        keys, owner = np.split(flat, [len(keys[0])]), occurring // cell_count
    else:
        owner = np.repeat(np.arange(number), cell_count)
    counts, other_counts = (np.bincount(each, minlength=len(owner)) for each in keys)
    # In whole numbers, divided once: equal shares are at distance 0 exactly.
    gaps = np.abs(counts * sizes[1][owner] - other_counts * sizes[0][owner])
    scale = 2.0 * sizes[0] * sizes[1]
    return np.where(scale > 0, np.bincount(owner, gaps, number) / np.maximum(scale, 1), 1.0)


def _estimate(distances: Floats, is_all: bool) -> Estimate:
    """Return the mean over columns; its error where they are a sample."""
    error = 0.0 if is_all else float(np.std(distances, ddof=1)) / math.sqrt(len(distances))
    return Estimate(value=float(np.mean(distances)), standard_error=error)


def _is_too_small(rows: int, synthetic_rows: int, noise: float) -> bool:
    """Return whether a group is too small to trust, by the rule of `FEWEST_ROWS` and `LARGEST_NOISE`."""
    if min(rows, synthetic_rows) < FEWEST_ROWS:
        return True
    # A bootstrap of n rows has the noise of n rows; the real ones are a sample too: 1 / n + 1 / m instead of 1 / n.
    return noise * math.sqrt(1 + rows / synthetic_rows) > LARGEST_NOISE
