"""What a promise covers and what it takes as given, in plain words: for certificates, plans and messages."""

from collections.abc import Sequence
from typing import Final, Literal

from lapwing.release.terms import Relation
from lapwing.schema.schemas import Schema

ROW: Final = "row"
"""The privacy unit where each row is protected by itself."""

_NAMED_FIELDS: Final = 8


def unit_field(privacy_unit: str) -> str | None:
    """Return the field of a privacy unit FIELD:MAXROWS, or None where it is a row.

    Examples
    --------
    >>> unit_field("patient:5")
    'patient'
    """
    return None if privacy_unit == ROW else privacy_unit.rpartition(":")[0]


def protection_lines(relation: Relation, privacy_unit: str) -> list[str]:
    """Say what is protected, under which relation, and what this means for rows without identifier and for rows out.

    Parameters
    ----------
    relation : {"add-remove", "replace-one"}
        The neighbour relation.
    privacy_unit : str
        ``row``, or ``FIELD:MAXROWS``.

    Returns
    -------
    list of str
        Two sentences where a row is protected; three where a unit is.

    Examples
    --------
    >>> protection_lines("add-remove", "patient:5")[0]
    'Protected: all rows that share one value of patient, of which at most 5 are used: whether they are in the table, \
and what they say (add-remove neighbours).'
    """
    field = unit_field(privacy_unit)
    if field is None:
        what = (
            "whether any one row is in the table, and what it says"
            if relation == "add-remove"
            else "what any one row says, not how many rows there are"
        )
        return [
            f"Protected: {what} ({relation} neighbours).",
            "A person with several rows is not protected as a whole: each row is, by itself.",
        ]
    max_rows = privacy_unit.rpartition(":")[2]
    used = "only 1 is used" if max_rows == "1" else f"at most {max_rows} are used"
    what = (
        "whether they are in the table, and what they say"
        if relation == "add-remove"
        else f"how many they are and what they say, but not how many different values of {field} there are"
    )
    return [
        f"Protected: all rows that share one value of {field}, of which {used}: {what} ({relation} neighbours).",
        f"Rows without {field} are protected together only, as if they shared one more value.",
        f"Rows out are drawn one by one: how many rows share one value of {field} cannot be counted in them.",
    ]


def fields_of_origin(schema: Schema, origin: Literal["assumed", "dp"]) -> tuple[str, ...]:
    """Return the modelled fields whose domain was taken from the data, or was bought with budget."""
    return tuple(column.name for column in schema.columns if column.provenance == origin)


def origin_lines(assumed_fields: Sequence[str], dp_fields: Sequence[str]) -> list[str]:
    """Say which bounds and categories the promise takes as given, or paid for."""
    found = (("taken as given", assumed_fields), ("bought with budget", dp_fields))
    return [f"Bounds and categories {origin}: {_named(fields)}." for origin, fields in found if fields]


def _named(fields: Sequence[str]) -> str:
    """Return a few names, and how many more there are."""
    more = len(fields) - _NAMED_FIELDS
    return ", ".join(fields[:_NAMED_FIELDS]) + (f" and {more} more" if more > 0 else "")
