"""The tables that are to be measured: columns, groups of values, weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from lapwing.errors import ParameterError, SchemaError
from lapwing.mechanisms.shared.one_way import one_way_grouping
from lapwing.schema.conditions import Asker, Between, reader
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly, interval_grouping
from lapwing.schema.scalars import nearest, safe_repr
from lapwing.schema.schemas import Schema

WAY_OUT: Final = 'write ["sex", "age"], or {"columns": ["sex", "age"], "groups": {"age": [18, 65]}, "weight": 2}'
_GROUPS: Final = 64
_MOST_COLUMNS: Final = 8
_refused = partial(ParameterError, code="LW304")


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table that is to be measured.

    columns: distinct; groups: of some columns: a number of runs, or of tiers of a hierarchy, or the first value of each
    group but the first; weight: how much its errors count, beside those of other tables.
    """

    columns: tuple[str, ...]
    groups: tuple[tuple[str, int | tuple[object, ...]], ...] = ()
    weight: float = 1.0

    @classmethod
    def of(cls, entry: object) -> "NamedTable":
        """Read an entry of the setting: a column, a list of columns, or an object."""
        if isinstance(entry, cls):
            return entry
        given: Mapping[Any, Any] = entry if isinstance(entry, Mapping) else {"columns": entry}
        columns: Any = given.get("columns")
        columns = (columns,) if isinstance(columns, str) else columns
        groups, weight = given.get("groups") or {}, given.get("weight", 1)
        is_named = isinstance(columns, list | tuple) and all(isinstance(name, str) for name in columns)
        if not is_named or not set(given) <= {"columns", "groups", "weight"} or not isinstance(groups, Mapping):
            raise _refused(f"a table must be a list of columns, or an object, got {safe_repr(entry)}; {WAY_OUT}")
        if not 1 <= len(columns) <= _MOST_COLUMNS or len(set(columns)) != len(columns) or not set(groups) <= {*columns}:
            raise _refused(
                f"a table has 1 to {_MOST_COLUMNS} distinct columns, and groups of these, got {safe_repr(entry)}; "
                f"{WAY_OUT}"
            )
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.001 <= weight <= 1000:
            raise ParameterError(
                f"the weight of a table must be a number from 0.001 to 1000, got {safe_repr(weight)}", code="LW301"
            )
        return cls(tuple(columns), tuple((name, _groups(each)) for name, each in groups.items()), float(weight))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as an entry of a file."""
        groups = {name: each if isinstance(each, int) else list(each) for name, each in self.groups}
        return {"columns": list(self.columns), "groups": groups, "weight": self.weight}

    def groupings(self, schema: Schema) -> tuple[Grouping, ...]:
        """Return the groups of each column, or refuse columns that the schema does not model."""
        known = {field.name: field for field in schema.columns}
        unknown = next((name for name in self.columns if name not in known), None)
        if unknown is not None:
            near = nearest(unknown, known)
            raise SchemaError(
                f"tables name {unknown!r}, which is no modelled column; "
                + (f"did you mean {near[0]}?" if near else "see the schema"),
                code="LW219",
            )
        asked = dict(self.groups)
        return tuple(_grouping(known[name], asked.get(name)) for name in self.columns)


def _groups(value: object) -> int | tuple[object, ...]:
    """Return the groups of a column as a setting has them."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, list | tuple) and value:
        return tuple([getattr(each, "item", lambda own=each: own)() for each in value])  # numbers of NumPy as Python's
    raise _refused(f"groups of a column must be a number, or a list of first values, got {safe_repr(value)}; {WAY_OUT}")


def _grouping(field: Field, asked: int | Sequence[object] | None) -> Grouping:
    """Return the groups of a column that a table asks for."""
    domain, tiers = field.domain, 0 if field.domain.ordered else len(field.domain.cuts)
    if asked is None:
        return one_way_grouping(field, _GROUPS)
    if isinstance(asked, int):
        most = tiers or (domain.values if domain.ordered else 0)
        if not 1 <= asked <= most:
            what = "tiers of its hierarchy" if tiers else "runs of values" if domain.ordered else "groups, in no order"
            raise ParameterError(f"column {field.name!r} has 1 to {most} {what}, got {asked}", code="LW302")
        if domain.ordered:
            return evenly(domain, asked)
        return interval_grouping(domain, sorted(code for tier in domain.cuts[:asked] for code in tier))
    codes_from = reader(field, Asker("the groups of a table"))
    cuts = sorted({int(codes_from([Between(first, None)])[0, 0]) for first in asked} - {0})
    return interval_grouping(domain, cuts)
