"""Development tables as integer codes of public domains: what peers are given, and the cells that all are scored on.

private-pgm's own tables are codes already and stay as they are. In the others, categories, booleans, special values and
missing have codes of their own, and the range of a number or date is cut into at most 64 equal parts, without which
most peers cannot run. Nothing here looks at the rows to choose a code.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from splits import train_test

from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly, identity
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
PARTS = 64
CODED_ALREADY = ("adult-pgm", "salary-pgm")
HELD_BACK = ("adult-pgm", "magic", "rhc-icu")
"""Tables that are fitted on four fifths of their rows and tested on the rest; the others are fitted on all rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """The codes of one development table.

    Parameters
    ----------
    table : str
        Its folder under ../shared/data.
    schema : Schema
        Its own schema.
    groups : tuple of Grouping
        For every modelled column, from the codes of the schema to those used here.
    sizes : tuple of int
        Codes of every modelled column.
    """

    table: str
    schema: Schema
    groups: tuple[Grouping, ...]
    sizes: tuple[int, ...]

    @property
    def names(self) -> list[str]:
        """The modelled columns."""
        return [field.name for field in self.schema.columns]

    def apply(self, data: object) -> np.ndarray:
        """Return rows of the table's own values (a path or data frame) as codes: int32, shape (n, d)."""
        blocks = [
            np.stack([group.apply(chunk[name]) for name, group in zip(self.names, self.groups, strict=True)], axis=1)
            for chunk in code_table(data, self.schema).chunks()
        ]
        rows = np.concatenate([np.zeros((0, len(self.sizes)), dtype=np.int32), *blocks]).astype(np.int32)
        if (rows >= np.array(self.sizes)).any():
            raise ValueError("the table holds values outside its schema; benchmark data must fit it")
        return rows

    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of the rows to fit on, and of those held back (none for most tables)."""
        rows = self.apply(SHARED / self.table / "data.parquet")
        if self.table not in HELD_BACK:
            return rows, rows[:0]
        train, test = train_test(len(rows))
        return rows[train], rows[test]

    def schema_of_codes(self) -> Schema:
        """Return the schema of the codes themselves, by which they are scored."""
        pairs = zip(self.schema.columns, self.sizes, strict=True)
        return Schema.from_dict({"fields": [_field_of_codes(field, size) for field, size in pairs]})


def coding_of(table: str) -> Coding:
    """Return the coding of a development table."""
    schema = Schema.load(SHARED / table / "schema.json")
    as_it_is = table in CODED_ALREADY
    groups = tuple(
        identity(field.domain) if as_it_is or field.is_categorical else evenly(field.domain, PARTS)
        for field in schema.columns
    )
    # The last code counts only where it means missing.
    sizes = tuple(
        group.groups - (not field.domain.missing) for field, group in zip(schema.columns, groups, strict=True)
    )
    return Coding(table, schema, groups, sizes)


def _field_of_codes(field: Field, size: int) -> dict[str, object]:
    """Return a field of codes; those of categories are listed, so that they are compared one by one, however many."""
    listed = {"categories": list(range(size))} if field.is_categorical else {}
    ends = {} if field.is_categorical else {"minimum": 0, "maximum": size - 1}
    return {"name": field.name, "type": "integer", "constraints": {"required": True} | ends} | listed
