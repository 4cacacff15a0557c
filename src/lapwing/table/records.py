"""Coded rows as records, for code that is given one row at a time. Deterministic: a record is a function of its row."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from lapwing.schema.schemas import Schema
from lapwing.table.decode import decoded_column

_ROWS_AT_ONCE: Final = 2**14


def records(codes: Mapping[str, np.ndarray], schema: Schema) -> Iterator[dict[str, Any]]:
    """Yield coded rows as dicts of Python values, in order.

    Parameters
    ----------
    codes : mapping of str to ndarray of integers, shape (n,)
        Codes of every modelled column.
    schema : Schema
        The schema that they were made under.

    Yields
    ------
    dict of str to int, float, str, bool, date, datetime or None
        A fresh one for each row: modelled columns in the schema's order. Missing cells and misfits are None, special
        values themselves. A date or moment is where its week, month, hour or the like begins; a number without
        resolution is the middle of its cell, or the minimum, zero or maximum in the cells that hold them.

    Notes
    -----
    Guarantee: a record depends on the codes of its own row and on the schema, and on nothing else.

    Examples
    --------
    >>> schema = Schema.from_dict({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
    >>> list(records({"sex": np.array([1, 2])}, schema))
    [{'sex': 'm'}, {'sex': None}]
    """
    names = [field.name for field in schema.columns]
    for start in range(0, len(codes[names[0]]), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        columns = [decoded_column(field, codes[field.name][part]).to_list() for field in schema.columns]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))
