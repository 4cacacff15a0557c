"""Conditions as somebody types them: texts that name a column and a value, a range, or several of them."""

import itertools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from lapwing.errors import ParameterError
from lapwing.schema.scalars import asked_about, category_key, is_finite_number, nearest, quote

if TYPE_CHECKING:
    from lapwing.schema.fields import Field, Scalar
    from lapwing.schema.schemas import Schema

_LISTED: Final = 40
_FEW: Final = 10


def read_conditions(texts: Sequence[str], schema: "Schema") -> dict[str, object] | None:
    """Return the conditions that the command line names, None where there are none.

    texts: each ``col=value``, ``col=a..b``, ``col=`` for missing, or several of these with commas between them.
    """
    conditions: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ParameterError(
                f"where must be col=value or col=a..b, got {text!r}; write for example age=30..40", code="LW320"
            )
        if name in conditions:
            raise ParameterError(
                f"where names column {name!r} twice; give one value or range for each column", code="LW320"
            )
        conditions[name] = wanted_of(_column(schema, name), value)
    return conditions or None


def _column(schema: "Schema", name: str) -> "Field":
    """Return a modelled column."""
    columns = {field.name: field for field in schema.columns}
    if name in columns:
        return columns[name]
    is_identifier = any(field.name == name for field in schema.fields)
    what = f"column {quote(name)} is an identifier and cannot be conditioned on"
    listed = ", ".join(itertools.islice(columns, _LISTED))
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    way_out = asked_about(None if is_identifier else name, columns, f"columns: {listed}{more}")
    raise ParameterError(f"{what if is_identifier else f'no column {quote(name)}'}; {way_out}", code="LW330")


def wanted_of(field: "Field", text: str) -> object:
    """Return the value, the range or the list of them that a text asks a field for; see `read_conditions`."""
    if "," not in text or text in {category_key(value) for value in field.categories or ()}:
        return _condition(field, text)
    return [_condition(field, part) for part in text.split(",")]


def _condition(field: "Field", text: str) -> object:
    """Return one value or range of a field."""
    categories = field.categories or ()
    if not text and text not in categories:
        return None
    low, dots, high = text.partition("..")
    if not dots or not field.domain.ordered or text in categories:
        return value_of(field, text)
    if not (low or high):
        raise ParameterError(f"where: a range needs an end, got {field.name}={text}; write A..B", code="LW320")
    from lapwing.schema.conditions import Between  # noqa: PLC0415 - it needs NumPy

    return Between(*(value_of(field, end) if end else None for end in (low, high)))


def value_of(field: "Field", text: str) -> "Scalar":
    """Return a text as a value of the field's type."""
    if field.categories is not None:
        keys = {category_key(value): value for value in field.categories}
        if text in keys:
            return keys[text]
        from lapwing.schema.values import stand_in  # noqa: PLC0415 - it needs NumPy

        shown_as = stand_in(field, text)
        way_out = _nearest(text, keys) if shown_as is None else f"it is counted under {shown_as!r}: ask for that"
        raise ParameterError(f"where: {text!r} is no category of column {field.name!r}; {way_out}", code="LW323")
    if field.type == "boolean":
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise ParameterError(
            f"where: column {field.name!r} is true or false, got {text!r}; write one of the two", code="LW323"
        )
    if field.type in ("date", "datetime"):
        return text
    try:
        number = int(text) if field.type == "integer" else float(text)
    except ValueError:
        number = float("nan")
    if not is_finite_number(number):
        raise ParameterError(
            f"where: column {field.name!r} holds numbers, got {text!r}; write a number or a range a..b", code="LW323"
        )
    return number


def _nearest(text: str, known: Collection[str]) -> str:
    """Return a question about the nearest categories, or the first ones."""
    near = nearest(text, known)
    listed = ", ".join(map(quote, itertools.islice(known, _FEW))) + (", ..." if len(known) > _FEW else "")
    return f"did you mean {' or '.join(near)}?" if near else f"choose one of {listed}"
