"""What a promise covers and what it takes as given, in plain words: for certificates, plans and messages."""

from collections.abc import Sequence
from typing import Final, Literal

from lapwing.kernel.terms import Relation
from lapwing.schema.schemas import Schema

ROW: Final = "row"
"""The privacy unit where each row is protected by itself."""

UNCOVERED: Final = "the promise does not cover what these say"
"""How the warning begins that names lists and bounds which were taken from the table."""

_NAMED_FIELDS: Final = 8


def unit_field(privacy_unit: str) -> str | None:
    """Return the field of a privacy unit FIELD:MAXROWS, or None where it is a row.

    >>> unit_field("patient:5")
    'patient'
    """
    return None if privacy_unit == ROW else privacy_unit.rpartition(":")[0]


def protection_lines(relation: Relation, privacy_unit: str) -> list[str]:
    """Say what is protected, under which relation, and what this means for rows without identifier and for rows out.

    Returns two sentences where a row is protected; three where a unit is.
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


def origin_lines(assumed_fields: Sequence[str], dp_fields: Sequence[str], warnings: Sequence[str] = ()) -> list[str]:
    """Say which bounds and categories the promise takes as given, all by name, or paid for.

    The first are left out where ``warnings`` name them already.
    """
    is_told = any(warning.startswith(UNCOVERED) for warning in warnings)
    assumed = "" if is_told else ", ".join(assumed_fields)
    found = (("taken as given", assumed), ("bought with budget", _named(dp_fields)))
    return [f"Bounds and categories {origin}: {fields}." for origin, fields in found if fields]


def uncovered_warnings(schema: Schema) -> tuple[str, ...]:
    """Say which lists and bounds were taken from the table, all by name: what they say is outside the promise.

    Returns one, or none. Lists come first, the longest of them before others: a text in it may be one person's alone.
    """
    assumed = [column for column in schema.columns if column.provenance == "assumed"]
    lists = sorted(
        (column for column in assumed if column.categories is not None),
        key=lambda column: (column.type != "string", -len(column.categories or ())),
    )
    bounds = [column.name for column in assumed if column.categories is None and column.type != "boolean"]
    told = [
        f"{column.name} ({len(column.categories or ())} {'texts' if column.type == 'string' else 'values'})"
        for column in lists
    ]
    kinds = (("lists", told), ("bounds", bounds))
    named = "; ".join(f"the {kind} of {', '.join(names)}" for kind, names in kinds if names)
    if not named:
        return ()
    return (
        f"{UNCOVERED}, as they were taken from the table: {named}. A text or a bound may be one person's alone: buy "
        "them with `lapwing schema learn`, or take them from a public source",
    )


def _named(fields: Sequence[str]) -> str:
    """Return a few names, and how many more there are."""
    more = len(fields) - _NAMED_FIELDS
    return ", ".join(fields[:_NAMED_FIELDS]) + (f" and {more} more" if more > 0 else "")
