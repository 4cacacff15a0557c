"""`--where col=value` and `--where col=a..b`: text to conditions on released rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing.errors import ParameterError
from lapwing.schema.scalars import category_key, is_finite_number

if TYPE_CHECKING:
    from lapwing.schema.fields import Field, Scalar
    from lapwing.schema.schemas import Schema


def read_conditions(texts: Sequence[str], schema: "Schema") -> dict[str, object] | None:
    """Return the conditions that the command line names, None where there are none.

    Parameters
    ----------
    texts : sequence of str
        Each ``col=value``, or ``col=a..b`` for a range with both ends included on an ordered column.
    schema : Schema
        Of the released model.

    Raises
    ------
    SchemaError
        If there is no such column.
    ParameterError
        If a text is no condition, a column comes twice, or a value does not fit its column.
    """
    conditions: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ParameterError(f"where must be col=value or col=a..b, got {text!r}; write for example age=30..40")
        if name in conditions:
            raise ParameterError(f"where names column {name!r} twice; give one value or range for each column")
        conditions[name] = _condition(schema.field(name), value)
    return conditions or None


def _condition(field: "Field", text: str) -> object:
    """Return one value or range of a field."""
    low, dots, high = text.partition("..")
    if not dots or not field.domain.ordered or (field.categories is not None and text in field.categories):
        return _value(field, text)
    from lapwing.sample.conditions import Between  # noqa: PLC0415

    return Between(_value(field, low), _value(field, high))


def _value(field: "Field", text: str) -> "Scalar":
    """Return a text as a value of the field's type."""
    if field.categories is not None:
        keys = {category_key(value): value for value in field.categories}
        if text in keys:
            return keys[text]
        raise ParameterError(
            f"where: {text!r} is no category of column {field.name!r}; see the schema for its categories"
        )
    if field.type == "boolean":
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise ParameterError(f"where: column {field.name!r} is true or false, got {text!r}; write one of the two")
    if field.type in ("date", "datetime"):
        return text
    try:
        number = int(text) if field.type == "integer" else float(text)
    except ValueError:
        number = float("nan")
    if not is_finite_number(number):
        raise ParameterError(
            f"where: column {field.name!r} holds numbers, got {text!r}; write a number or a range a..b"
        )
    return number
