"""Tables that are public about a population: official totals, which a release holds exactly or leans on."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from lapwing.errors import SchemaError
from lapwing.on_demand import LazyFunction
from lapwing.schema.conditions import Condition as Items
from lapwing.schema.conditions import Item, condition_from, condition_to_value
from lapwing.schema.scalars import MOST_ROWS, finite_number, is_among, is_encodable, quote, visible, whole_number
from lapwing.schema.short import short
from lapwing.schema.typed import TypedObject

HOLDS: Final = ("exact", "prior")
MOST_TABLES: Final = 100
"""Public tables of one schema."""

MOST_CELLS: Final = 2**16
"""Cells of one public table."""


_MOST_SD: Final = 2**53
_LONGEST: Final = 1_000
_SHOWN: Final = 80
_PUBLIC: Final = "public"
_COUNT: Final = "count"
_KEYS: Final = ("columns", "cells", "source", "provenance", "hold", "sd", "complete")
_WAY_OUT: Final = 'say who published it ("source") and that it is public ("provenance": "public")'

Condition = Item | Items
"""What a cell asks of one column: missing, a value, a range (an end may be None: open), or a list of those."""


def _refusal(said: str) -> SchemaError:
    """Return the error that a public table is not written as the format has it."""
    return SchemaError(said, code="LW240")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTable:
    """Say how many rows of the table lie in each cell of a cross-table that is public.

    Parameters
    ----------
    columns : tuple of str
        The columns of the table, at least one, none twice.
    cells : tuple of tuples
        Per cell a condition for each column and then the count; or a mapping of columns to conditions and ``"count"``
        to the count, where no column has that name. A condition is a value, None (missing), a range
        ``{"minimum": a, "maximum": b}`` with both ends included (one may be left out), or a list of those. Of numbers,
        dates and ordered categories the text ``"a..b"`` is a range as well, for frames and CSV files. A range of a
        number without resolution ends just below its maximum, except at the end of the domain. Counts are whole
        numbers from 0.
    source : str
        Who published it, and where: printed in the certificate.
    provenance : "public"
        The owner's declaration that the table was public before, or besides, this release.
    hold : {"exact", "prior"}, default "exact"
        ``exact``: it is of this very table, and synthetic rows meet it. ``prior``: it is of a similar population, such
        as an earlier census, and only steers the model.
    sd : float or None
        Of a prior: standard deviation of each count, in rows of the public table: how far this table's counts may be
        from it, when both are scaled to one total.
    complete : bool, default False
        Whether nobody lies outside the listed cells. Otherwise these must cover all that a row can be.

    Raises
    ------
    SchemaError
        If a rule is broken; the sentence names the table by its columns.

    Examples
    --------
    >>> PublicTable(columns=("sex",), cells=(("f", 510), ("m", 490)), source="Census 2020", provenance="public").total
    1000
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    source: str
    provenance: str
    hold: Literal["exact", "prior"] = "exact"
    sd: float | None = None
    complete: bool = False

    __repr__ = short

    from_frame = LazyFunction("from_frame")

    def __post_init__(self) -> None:
        values = {key: getattr(self, key) for key in _KEYS}
        object.__setattr__(self, "columns", TypedObject(values, "a public table", "LW240").names("columns"))
        own = TypedObject(values, self.name, "LW240")
        if not isinstance(self.source, str) or not self.source.strip() or len(self.source) > _LONGEST:
            raise SchemaError(f"{self.name} has no source of 1 to {_LONGEST} characters; {_WAY_OUT}", code="LW241")
        if not is_encodable(self.source) or not self.source.isprintable():
            raise own.refusal("source", "must be printable text on one line; write it anew", "LW241")
        if not is_among(self.provenance, (_PUBLIC,)):
            said = f"{self.name} is not declared public, got {quote(self.provenance)}; {_WAY_OUT}"
            raise SchemaError(said, code="LW241")
        own.one_of("hold", HOLDS)
        object.__setattr__(self, "complete", own.flag("complete"))
        object.__setattr__(self, "sd", _sd(self))
        object.__setattr__(self, "cells", _cells(self.name, self.columns, self.cells))
        if not 1 <= self.total <= MOST_ROWS:
            raise _refusal(f"{self.name}: the counts must sum to 1 to 2**40, got {self.total}; check the counts")

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"public table of {', '.join(map(quote, self.columns))}"

    @property
    def counts(self) -> tuple[int, ...]:
        """The count of each cell."""
        return tuple(cell[-1] for cell in self.cells)

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return sum(self.counts)

    def to_dict(self) -> dict[str, Any]:
        """Return the table in the file format."""
        return {
            "columns": list(self.columns),
            "source": self.source,
            "provenance": self.provenance,
            "hold": self.hold,
            **({} if self.sd is None else {"sd": self.sd}),
            **({"complete": True} if self.complete else {}),
            "cells": [list(map(condition_to_value, cell)) for cell in self.cells],
        }

    @classmethod
    def from_dict(cls, value: object) -> "PublicTable":
        """Return the table that a mapping in the file format describes.

        Raises
        ------
        SchemaError
            Where a rule of the format is broken, also where source or provenance is left out.
        """
        source = TypedObject.of(value, "a public table").only(_KEYS).values
        given: dict[str, Any] = {"columns": (), "cells": (), "source": "", "provenance": "", **source}
        return cls(**given)


def public_tables_from(value: object) -> tuple[PublicTable, ...]:
    """Return the public tables of a schema in the file format; none where the key is absent or null."""
    listed = TypedObject({"publicTables": value}, "the schema", "LW240").listed("publicTables", most=MOST_TABLES)
    return tuple(each if isinstance(each, PublicTable) else PublicTable.from_dict(each) for each in listed)


def _sd(table: PublicTable) -> float | None:
    """Return the standard deviation of a prior's counts; an exact table has none."""
    if table.hold == "exact":
        if table.sd is not None:
            raise _refusal(f'{table.name} is held exactly and takes no sd; remove it, or set "hold": "prior"')
        return None
    sd = finite_number(table.sd)
    if sd is None or not 0 < sd <= _MOST_SD:
        rule = "needs sd, the standard deviation of each count in rows, above 0"
        raise _refusal(f"{table.name} is a prior and {rule}, got {quote(table.sd)}")
    return float(sd)


def _cells(name: str, columns: tuple[str, ...], value: object) -> tuple[tuple[Any, ...], ...]:
    """Return the cells with conditions that cannot be changed and whole counts."""
    listed = list(cast("Iterable[object]", value)) if isinstance(value, list | tuple) else []
    if not 1 <= len(listed) <= MOST_CELLS:
        raise _refusal(f'{name} needs "cells", a list of 1 to {MOST_CELLS} cells, got {len(listed)}')
    found = []
    # A cell may be written as an object, unless one of its columns is called as the count is.
    keys = (*columns, _COUNT) if _COUNT not in columns else ()
    for each in listed:
        cell = [each[key] for key in keys] if isinstance(each, Mapping) and set(each) == set(keys) else each
        if not isinstance(cell, list | tuple) or len(cell) != len(columns) + 1:
            rule = f"each cell has a condition for each of {len(columns)} columns and a count"
            raise _refusal(f"{name}: {rule}, got {_text(each)}")
        count = whole_number(cell[-1])
        if count is None or count < 0:
            raise _refusal(f"{name}: the count of the cell {_text(cell[:-1])} must be a whole number from 0")
        found.append((*(_condition(name, each) for each in cell[:-1]), count))
    return tuple(found)


def _condition(name: str, value: object) -> Condition:
    """Return one condition that cannot be changed."""
    items = condition_from(value, f"{name}: a cell", "LW240", takes_all=True)
    return items if len(items) > 1 else items[0]


def _text(value: object) -> str:
    """Return a public value from a file in a message."""
    try:
        text = visible(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError):
        return quote(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
