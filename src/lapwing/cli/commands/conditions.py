"""`--where col=value`, `col=a,b`, `col=a..b` and `col=`, and `--where-file`: conditions on released rows."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.errors import ParameterError
from lapwing.schema.scalars import category_key, is_finite_number, nearest, quote

if TYPE_CHECKING:
    import polars as pl

    from lapwing.schema.fields import Field, Scalar
    from lapwing.schema.schemas import Schema


_DRAWN = {
    "atoms": "atoms that match",
    "sweeps": "Gibbs sweeps",
    "nearest": "atoms that match in some columns",
}
_LISTED = 40


def read_conditions(texts: Sequence[str], schema: "Schema") -> dict[str, object] | None:
    """Return the conditions that the command line names, None where there are none.

    texts: each ``col=value``, ``col=a..b`` for a range with both ends included on an ordered column, or ``col=`` for
    missing, unless the empty text is a category; or several of these with commas between them, unless the whole is a
    category.
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
        conditions[name] = _listed(_column(schema, name), value)
    return conditions or None


def read_condition_rows(path: Path, schema: "Schema") -> "pl.DataFrame":
    """Return the table of conditions in a file: its values in the types of rows out."""
    from lapwing.rows.given import given_rows  # noqa: PLC0415 - it imports polars

    return given_rows(path, schema).values


def support_text(found: "pl.DataFrame") -> str:
    """Return one line on the support of a table of conditions."""
    atoms = found["effective_atoms"]
    counts = {how: int((found["drawn"] == how).sum()) for how in _DRAWN}
    said = [f"{count} drawn from {_DRAWN[how]}" for how, count in counts.items() if count]
    refused = int((found["drawn"] == "nothing").sum())
    drawn = ", ".join([*said, *([f"{refused} refused"] if refused else [])])
    middle = f", {atoms.to_numpy().mean():.1f} effective atoms on average" if len(atoms) else ""
    return f"support of {len(atoms)} condition rows{middle}: {drawn or 'none to draw'}"


def _column(schema: "Schema", name: str) -> "Field":
    """Return a modelled column."""
    columns = {field.name: field for field in schema.columns}
    if name in columns:
        return columns[name]
    is_identifier = any(field.name == name for field in schema.fields)
    what = f"column {quote(name)} is an identifier and cannot be conditioned on"
    listed = ", ".join(itertools.islice(columns, _LISTED))
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    raise ParameterError(
        f"{what if is_identifier else f'no column {quote(name)}'}; columns: {listed}{more}", code="LW330"
    )


def _listed(field: "Field", text: str) -> object:
    """Return one value or range of a field, or a list of them."""
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
        return _value(field, text)
    if not (low and high):
        raise ParameterError(f"where: a range needs both ends, got {field.name}={text}; write A..B", code="LW320")
    from lapwing.model.sampling.conditions import Between  # noqa: PLC0415

    return Between(_value(field, low), _value(field, high))


def _value(field: "Field", text: str) -> "Scalar":
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
            f"where: column {field.name!r} holds numbers, got {text!r}; write a number or a range a..b",
            code="LW323",
        )
    return number


def _nearest(text: str, known: Iterable[str]) -> str:
    """Return a question about the nearest categories, or where to find them."""
    near = nearest(text, known)
    return f"did you mean {' or '.join(near)}?" if near else "see the schema for its categories"
