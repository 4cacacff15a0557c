"""How far coded tables are from each other in all ordered columns at once: MMD with a Gaussian kernel.

What is computed from private rows is private: nothing here adds noise.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.judge.distances.kernels import mean_features, mmd, mmd_from_features, random_frequencies
from lapwing.judge.metrics import Compared, Estimate, Floats, Metric, height, some_rows
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

# -- Rows of coded tables as points: all columns with an order at once, each of length 1.


Codes = Mapping[str, npt.NDArray[np.integer]]


def placed_columns(schema: Schema) -> list[Field]:
    """Return the columns whose regular codes have a place on a line: ordered ones, and any with just two.

    Returns in the schema's order, with at least two regular codes each.

    Two values are as far apart in one order as in the other, so that 0 and 1 may be categories as well as numbers.

    >>> kinds = {"sex": ["f", "m"], "side": ["l", "m", "r"], "only": ["x"]}
    >>> fields = [{"name": name, "type": "string", "categories": values} for name, values in kinds.items()]
    >>> [column.name for column in placed_columns(Schema.from_dict({"fields": fields}))]
    ['sex']
    """
    return [
        column
        for column in schema.columns
        if column.domain.values == 2 or (column.domain.ordered and column.domain.values > 1)
    ]


def table_points(
    tables: Sequence[Codes], columns: Sequence[Field], *, rows: int, rng: np.random.Generator
) -> list[Floats]:
    """Return the rows of each table as points: places on [0, 1], then whether a cell is none of the regular ones.

    tables: sequence of mapping of str to integers (n,), codes of the columns, at least one row each; rows: most rows of
    a table; of more, so many are drawn. Returns list of float64 (min(n, rows), one for each table, with the same
    coordinates: those that are 0 in all rows of all tables are left out, but for one where all are.

    The regular codes of a column lie on [0, 1]. A cell that is missing, special or a misfit lies in the middle, one
    length away in a direction of its own, so that the whole range and being missing weigh alike. Memory 16 bytes a
    cell.

    >>> schema = Schema.from_dict({"fields": [{"name": "old", "type": "boolean"}]})
    >>> tables = [{"old": np.array([0, 1])}, {"old": np.array([1, 2])}]  # 2 is missing
    >>> found = table_points(tables, placed_columns(schema), rows=9, rng=np.random.default_rng(0))
    >>> [points.tolist() for points in found]
    [[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 1.0]]]
    """
    names = [column.name for column in columns]
    found = []
    for codes in tables:
        some = some_rows(codes, names, rows, rng)
        places = np.column_stack([_places(some[column.name], column) for column in columns])
        is_apart = np.isnan(places)
        found.append(np.column_stack((np.where(is_apart, 0.5, places), is_apart)))
    # A coordinate that is 0 everywhere costs time and changes no distance.
    is_used = np.any([points.any(axis=0) for points in found], axis=0)
    is_used[0] |= not is_used.any()  # a point has a coordinate
    return [points[:, is_used] for points in found]


def _places(codes: npt.NDArray[np.integer], column: Field) -> Floats:
    """Return where the regular codes of a column lie on [0, 1]; nan for the others."""
    domain = column.domain
    return np.where(codes < domain.values, codes / (domain.values - 1), np.nan)


GAMMA: Final = 3.0
"""Gamma of the kernel, times the number of columns. The median heuristic without data: the mean squared distance of two
uniform rows is a sixth for each column of length 1, and gamma is one over twice that."""

EXACT: Final = 10_000
"""Most rows of every table for which distances are exact."""

FEATURES: Final = 256
"""Random frequencies where a table has more rows."""

MOST_ROWS: Final = 2**19
"""Rows of a table that are compared; of more, so many are drawn."""

_MOST_CELLS: Final = 2**25  # 256 MB a table: fewer rows where there are more than 64 columns


MMD: Final = Metric(
    key="mmd",
    title="MMD, all ordered columns",
    unit="difference of means",
    meaning="The largest difference in mean that a smooth function of all ordered columns can have, 0 to 1.41.",
    best=0.0,
    reference="Gretton et al., A kernel two-sample test (2012); kernel exp(-3 distance**2 / columns), columns 1 long.",
)


def compare_kernels(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> Compared | None:
    """Return the MMD between the real table and others, over all ordered columns and those of two values.

    real_codes: mapping of str to integers (n,), codes of every modelled column of the schema, at least one row; rng:
    draws frequencies, and rows of tables with more than 2**19, or with more than 2**25 cells. Returns the MMD (not its
    square), 0 to sqrt(2); None where no column is ordered.

    Rows are points as in `table_points`. Exact up to 10,000 rows in every table, else by 256 random features. Time
    ``O(d n**2)`` up to there, then 3 microseconds a row and table.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]})
    >>> real, other = {"a": np.array([0, 1])}, {"a": np.array([1, 1])}
    >>> found = compare_kernels(real, {"other": other}, schema, rng=np.random.default_rng(0))
    >>> round(found.values["other"].value, 4)
    0.6893
    """
    columns = placed_columns(schema)
    if not columns:
        return None
    gamma, rows = GAMMA / len(columns), min(MOST_ROWS, _MOST_CELLS // len(columns))
    real, *rest = table_points([real_codes, *others.values()], columns, rows=rows, rng=rng)
    if max(map(len, (real, *rest))) <= EXACT:
        found = [Estimate(value=mmd(real, points, gamma=gamma), standard_error=0.0) for points in rest]
    else:
        frequencies = random_frequencies(real.shape[1], FEATURES, rng, gamma=gamma)
        features = mean_features(real, frequencies)
        found = [mmd_from_features(features, mean_features(points, frequencies)) for points in rest]
    is_all = max(map(height, (real_codes, *others.values()))) <= rows
    return Compared(
        metric=MMD,
        values=dict(zip(others, found, strict=True)),
        rows=None if is_all else rows,
        columns=len(columns),
    )
