"""What a certificate says of the public tables that a release holds or leans on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from lapwing.errors import ParameterError
from lapwing.release.plain import read_key, read_list, read_optional

OFF: Final = "moved to a public table"
"""Kind of the statement that says what holding a public table changed."""

CHANGED: Final = "moved in all"
"""Kind of the statement that says what rules and public tables changed together."""

_HOLDS: Final = ("exact", "prior")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTable:
    """A public table of the schema.

    Parameters
    ----------
    columns : tuple of str
        Its columns.
    source : str
        Who published it, by the owner's declaration.
    cells : int
        Cells that it counts.
    total : int
        The sum of its counts.
    hold : {"exact", "prior"}
        Whether rows out are to reproduce it, or it only steered the mechanism.
    before : float or None
        Of an exact one: share of the weight of the mechanism's model that had to move between its cells, 0 to 1.
    missed : float or None
        Of an exact one that could not be held: the share by which the released model is off, above 0.

    Examples
    --------
    >>> KeptTable(columns=("sex",), source="census", cells=2, total=9, hold="exact", before=0.125).to_dict()["before"]
    0.125
    """

    columns: tuple[str, ...]
    source: str
    cells: int
    total: int
    hold: Literal["exact", "prior"]
    before: float | None = None
    missed: float | None = None

    def __post_init__(self) -> None:
        is_share = all(each is None or 0 <= each <= 1 for each in (self.before, self.missed))
        if self.hold not in _HOLDS or not self.columns or min(self.cells, self.total) < 1 or not is_share:
            raise ParameterError(
                "a public table of a certificate has columns, cells and a total of at least 1, is exact or a prior, "
                "and the model before and after was off by a share from 0 to 1",
                code="LW621",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain JSON values."""
        return {
            "columns": list(self.columns),
            "source": self.source,
            "cells": self.cells,
            "total": self.total,
            "hold": self.hold,
            "before": self.before,
            "missed": self.missed,
        }


def kept_tables_from(values: object) -> tuple[KeptTable, ...]:
    """Read back the public tables of a certificate; one of before has none.

    Raises
    ------
    ParameterError
        If they are something else.
    """
    if not isinstance(values, Mapping) or "public_tables" not in values:
        return ()
    return tuple(
        KeptTable(
            columns=read_list(entry, "columns", str),
            source=read_key(entry, "source", str),
            cells=read_key(entry, "cells", int),
            total=read_key(entry, "total", int),
            hold=cast("Any", read_key(entry, "hold", str)),
            before=read_optional(entry, "before", float),
            missed=read_optional({"missed": None, **entry}, "missed", float),
        )
        for entry in read_list(values, "public_tables", dict)
    )


def table_lines(tables: Sequence[KeptTable]) -> list[str]:
    """Say which public tables the rows hold, and which only steered the model: a sentence each.

    Examples
    --------
    >>> table_lines([KeptTable(columns=("sex",), source="census", cells=2, total=9, hold="exact", before=0.125)])
    ['Rows hold the public table of sex (2 cells, 9 rows; source: census); the model before was off by 12.5%.']
    """
    return [_line(each) for each in tables]


def weight_lines(weight: str | None) -> list[str]:
    """Say which column holds survey weights: a sentence, or none.

    Examples
    --------
    >>> weight_lines("factor"), weight_lines(None)
    (['Survey weight: factor.'], [])
    """
    return [] if weight is None else [f"Survey weight: {weight}."]


def _line(table: KeptTable) -> str:
    """Say one of them."""
    of = f"the public table of {', '.join(table.columns)}"
    told = f"{table.cells} cells, {table.total} rows; source: {table.source}"
    if table.hold == "prior":
        return f"The model leans on {of} ({told})."
    kept = "Rows hold" if table.missed is None else f"Rows miss, by {100 * table.missed:.3g}%,"
    return f"{kept} {of} ({told}); the model before was off by {100 * (table.before or 0.0):.3g}%."
