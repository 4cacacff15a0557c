"""How many private rows break the rules that a schema declares, and how far they are from its public totals."""

from dataclasses import replace

import numpy as np

from lapwing.evaluate.kinds import Internal
from lapwing.evaluate.rules import REAL, Declared, compare_declared
from lapwing.schema.schemas import Schema
from lapwing.table.guard import private_boundary
from lapwing.table.source import coded_table


@private_boundary
def check_declared(data: object, schema: Schema) -> Internal[Declared | None]:
    """Count, for every rule of a schema, the rows that break it, and compare the rows with its public tables.

    Parameters
    ----------
    data : path, list of paths, pandas, Polars or PyArrow table
        The private rows; all of them, whatever the privacy unit.
    schema : Schema
        Complete.

    Returns
    -------
    Internal of Declared or None
        The one table is called ``real``; None where the schema declares neither rules nor public tables.

    Raises
    ------
    DataError
        If the table cannot be read or lacks a column.

    Notes
    -----
    Memory: the codes of the columns that are spoken of, 1 to 8 bytes a cell.

    Examples
    --------
    >>> import polars as pl
    >>> fields = [{"name": "child", "type": "boolean"}, {"name": "works", "type": "boolean"}]
    >>> schema = Schema.from_dict({"fields": fields, "rules": [{"never": {"child": True, "works": True}}]})
    >>> found = check_declared(pl.DataFrame({"child": [True, True], "works": [True, False]}), schema).value
    >>> found.rules[0].broken["real"]
    1
    """
    spoken_of = {name for each in (*schema.rules, *schema.public_tables) for name in each.columns}
    if not spoken_of:
        return Internal(None)
    with coded_table(data, replace(schema, privacy_unit=None)) as source:
        chunks = list(source.chunks())
    codes = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in sorted(spoken_of)}
    return Internal(compare_declared({REAL: codes}, schema))
