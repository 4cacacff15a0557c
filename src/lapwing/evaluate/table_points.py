"""Rows of coded tables as points: all columns with an order at once, each of length 1."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from lapwing.evaluate.checks import Floats
from lapwing.evaluate.row_samples import some_rows
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]


def placed_columns(schema: Schema) -> list[Field]:
    """Return the columns whose regular codes have a place on a line: ordered ones, and any with just two.

    Parameters
    ----------
    schema : Schema
        Gives the columns.

    Returns
    -------
    list of Field
        In the schema's order, with at least two regular codes each.

    Notes
    -----
    Two values are as far apart in one order as in the other, so that 0 and 1 may be categories as well as numbers.

    Examples
    --------
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

    Parameters
    ----------
    tables : sequence of mapping of str to ndarray of integers, shape (n,)
        Codes of the columns, at least one row each.
    columns : sequence of Field
        As `placed_columns` returns them; at least one.
    rows : int
        Most rows of a table; of more, so many are drawn.
    rng : Generator
        Draws them, from one table after the other.

    Returns
    -------
    list of ndarray of float64, shape (min(n, rows), coordinates)
        One for each table, with the same coordinates: those that are 0 in all rows of all tables are left out, but
        for one where all are.

    Notes
    -----
    The regular codes of a column lie on [0, 1]. A cell that is missing, special or a misfit lies in the middle, one
    length away in a direction of its own, so that the whole range and being missing weigh alike. Memory 16 bytes a
    cell.

    Examples
    --------
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
