"""One table among linked ones: its columns, whose rows it has, and in which order they come."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.named_files import Identity, refuse_private
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short
from lapwing.schema.typed import TypedObject

MOST_ROWS: Final = 10_000
"""Most rows of one parent row that may be used."""


def refusal(said: str) -> SchemaError:
    """Return the error that linked tables break a rule."""
    return SchemaError(said, code="LW250")


def table_title(name: str) -> str:
    """Return what sentences call a public table."""
    return f"the public table {quote(name)} of the schema"


def fields_of(name: str, source: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the fields of a table in the file format, if each has a name."""
    listed = source.get("fields")
    each = listed if isinstance(listed, list | tuple) else [None]
    if all(isinstance(field, Mapping) and isinstance(field.get("name"), str) for field in each):
        return tuple(each)
    raise refusal(f'{name} needs a list "fields" with one object per column, which has a "name"')


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOrder:
    """In which order the rows of one parent come.

    Parameters
    ----------
    by : str
        A column of numbers, dates, moments or ordered categories.
    descending : bool, default False
        Whether the largest comes first.
    """

    by: str
    descending: bool = False

    __repr__ = short

    @classmethod
    def load(cls, value: object) -> "RowOrder":
        """Return an order from its column, or from ``{"by": ..., "descending": ...}``."""
        source = TypedObject.of({"by": value} if isinstance(value, str) else value, "order", "LW250")
        source.only(("by", "descending"), code="LW250")
        return cls(by=source.text("by", None), descending=source.flag("descending"))

    def to_json(self) -> str | dict[str, Any]:
        """Return the order in the file format."""
        return {"by": self.by, "descending": True} if self.descending else self.by


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """A public table that private ones refer to, such as clinics: its rows are written as they are."""

    name: str
    schema: Schema
    key: str  # the column that is referred to
    rows: tuple[tuple[Any, ...], ...]  # cells in the order of the fields
    path: Path | None = field(default=None, compare=False)  # of the file that they are of
    identity: Identity | None = field(default=None, compare=False)
    file: str = field(default="", compare=False)  # what that is called; a transcript keeps this alone

    __repr__ = short

    def refuse_private(self) -> None:
        """Refuse a file that is a private table of the call, by the name it has and as the file that was read."""
        refuse_private(self.path, table_title(self.name), self.identity)

    @property
    def keys(self) -> tuple[Any, ...]:
        """The values that may be referred to."""
        place = self.schema.names.index(self.key)
        return tuple(row[place] for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTable:
    """One private table among linked ones.

    Parameters
    ----------
    name : str
        What the table is called.
    schema : Schema
        Its columns, and at the end how many rows of each of its child tables there are; without a privacy unit.
    key : str or None
        The identifier that its child tables refer to.
    parent, link : str or None
        The table whose rows its rows belong to, and its own column with the key of these; None for the first table.
    max_rows : int
        Rows of one parent row that are used at most, 1 to 10,000.
    count : str
        What the number of its rows is called, among the columns of the parent.
    order : RowOrder or None
        In which order the rows of a parent come; None where this means nothing.
    lookups : mapping of str to str
        Columns that refer to public tables.
    """

    name: str
    schema: Schema
    key: str | None = None
    parent: str | None = None
    link: str | None = None
    max_rows: int = 1
    count: str = ""
    order: RowOrder | None = None
    lookups: Mapping[str, str]
    counts: tuple[str, ...] = ()

    __repr__ = short

    def __post_init__(self) -> None:
        hint = "; it is the number of rows of one parent that are used at most"
        own = TypedObject({"maxRows": self.max_rows}, self.name, "LW250")
        object.__setattr__(self, "max_rows", own.whole("maxRows", 1, MOST_ROWS, hint=hint))
        if self.order is not None:
            self._check_order(self.order.by)
        for column in (self.key, self.link):
            if column is not None and not self._field(column).identifier:
                way_out = 'give it "role": "identifier"'
                raise refusal(f"{self.name}: the key {quote(column)} must be an identifier; {way_out}")
            if column is not None and self._field(column).made_up is not None:
                raise refusal(f'{self.name}: the key {quote(column)} must be fresh numbers; remove "madeUp" from it')
        if self.key is not None and self.key == self.link:
            raise refusal(
                f"{self.name}: {quote(self.key)} is its own key and that of {self.parent}; give it one in another "
                'column, or leave its "primaryKey" out'
            )
        if self.parent is not None and not self.own:
            raise refusal(f"{self.name}: there is no field to model; list one that is not an identifier")
        for table in self.schema.public_tables if self.parent is not None else ():
            # Rows follow those of their parents, and so does their number.
            if table.hold == "exact":
                raise refusal(
                    f"{self.name}: the public table of {', '.join(table.columns)} is exact, and rows follow their "
                    'parents; declare it "hold": "prior" with an "sd", which the model starts from, or count parents'
                )

    @property
    def own(self) -> tuple[Field, ...]:
        """The modelled columns but for the numbers of rows."""
        return tuple(field for field in self.schema.columns if field.name not in self.counts)

    @property
    def written(self) -> tuple[Field, ...]:
        """The columns that are written: all but the numbers of rows."""
        return tuple(field for field in self.schema.fields if field.name not in self.counts)

    @property
    def as_written(self) -> Schema:
        """The schema of the rows that are written; of a table of keys alone, that of its coded rows."""
        if not self.own:
            return self.schema
        return replace(self.schema, fields=self.written, rules=(), public_tables=(), weight=None)

    def _check_order(self, by: str) -> None:
        """Refuse an order by a column whose values are in none."""
        if not (self._field(by).identifier or self._field(by).domain.ordered):
            raise refusal(
                f"{self.name}: order must name a column of numbers, dates or ordered categories, got {quote(by)}"
            )
        if self._field(by).identifier:
            raise refusal(f"{self.name}: order must name a modelled column, and {quote(by)} is an identifier")

    def _field(self, name: str) -> Field:
        """Return a field; an error about it says of which table it is."""
        try:
            return self.schema.field(name)
        except SchemaError as error:
            said = f"{self.name}: {error}"
        raise refusal(said)
