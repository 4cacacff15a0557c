"""How well two linked tables fit their schema, and what of their rows breaks rules of both, counted without noise."""

from dataclasses import dataclass, replace

import numpy as np

from lapwing.evaluate.kinds import Internal
from lapwing.evaluate.rules import REAL, Declared, compare_declared
from lapwing.internal.misfits import FieldFit, check_table
from lapwing.internal.units import UnitFit, check_units
from lapwing.schema.linked import LinkedSchema
from lapwing.schema.schemas import PrivacyUnit, Schema
from lapwing.table.guard import private_boundary
from lapwing.table.linked import code_linked
from lapwing.table.source import CodedSource


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedFit:
    """Say how two linked tables fit their schema.

    Parameters
    ----------
    parent, child : tuple of FieldFit
        How the cells of all rows of a table fit its own fields.
    children : UnitFit
        How many child rows the keys have, and what each ``maxChildren`` would keep.
    used : tuple of two int
        Parent rows and child rows that a release uses.
    declared : tuple of two (Declared or None)
        Of the rows used: what parents with their number of children break, and children with the columns of their
        parent.
    """

    parent: tuple[FieldFit, ...]
    child: tuple[FieldFit, ...]
    children: UnitFit
    used: tuple[int, int]
    declared: tuple[Declared | None, Declared | None]


@private_boundary
def check_linked(parent: object, child: object, schema: LinkedSchema) -> Internal[LinkedFit]:
    """Count what of two linked tables does not fit their schema or breaks its rules.

    Parameters
    ----------
    parent, child : path, list of paths, pandas, Polars or PyArrow table
        The private rows.
    schema : LinkedSchema

    Returns
    -------
    Internal of LinkedFit

    Raises
    ------
    DataError
        If a table cannot be read or lacks a column.

    Examples
    --------
    >>> import polars as pl
    >>> home = {"name": "home", "type": "integer", "role": "identifier"}
    >>> schema = LinkedSchema.load({
    ...     "key": "home", "maxChildren": 2, "rules": [{"never": {"rented": True, "children": 2}}],
    ...     "parent": {"fields": [home, {"name": "rented", "type": "boolean"}]},
    ...     "child": {"fields": [home, {"name": "adult", "type": "boolean"}]},
    ... })
    >>> people = pl.DataFrame({"home": [1, 1, 3], "adult": [True, True, False]})
    >>> found = check_linked(pl.DataFrame({"home": [1, 2], "rented": [True, False]}), people, schema).value
    >>> found.used, found.declared[0].broken["real"]
    ((2, 2), 1)
    """
    pair = code_linked(parent, child, schema)
    of_child = replace(schema.child, privacy_unit=PrivacyUnit(schema.key, schema.max_children))
    return Internal(
        LinkedFit(
            parent=check_table(parent, schema.parent).value,
            child=check_table(child, schema.child).value,
            children=check_units(child, of_child).value,
            used=(pair.parent.rows, pair.child.rows),
            declared=(_declared(pair.parent, schema.counted), _declared(pair.child, schema.joined)),
        )
    )


def _declared(source: CodedSource, schema: Schema) -> Declared | None:
    """Return what the rows of one part break."""
    chunks = [{field.name: np.empty(0, dtype=field.domain.dtype) for field in schema.columns}, *source.chunks()]
    codes = {field.name: np.concatenate([chunk[field.name] for chunk in chunks]) for field in schema.columns}
    return compare_declared({REAL: codes}, schema)
