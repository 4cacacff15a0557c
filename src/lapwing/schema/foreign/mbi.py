"""The domain of private-pgm (mbi): ``{"age": 85, "sex": 2}``, names of columns and their numbers of codes."""

from collections.abc import Mapping
from typing import Final

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.foreign.converted import Converted, converted, number_of
from lapwing.schema.scalars import quote
from lapwing.schema.values.parsing import check_object

FORMAT: Final = "mbi domain"


def is_mbi(value: object) -> bool:
    """Return whether a value is an object of whole numbers."""
    if not isinstance(value, dict) or not value:
        return False
    return all(isinstance(size, int) and not isinstance(size, bool) for size in value.values())


def mbi_misfit(value: object) -> str:
    """Return why an object that looks like a domain is none: its first size that is no whole number; or nothing.

    >>> mbi_misfit({"age": 85, "sex": "2"})
    'column "sex" has the size "2"; a size is a whole number, without quotes or point'
    """
    if not isinstance(value, dict) or any(isinstance(size, Mapping | list) for size in value.values()):
        return ""
    if not any(number_of(size) is not None for size in value.values()):
        return ""
    for column, size in value.items():
        if not isinstance(size, int) or isinstance(size, bool):
            said = f"column {quote(column)} has the size {quote(size)}"
            return f"{said}; a size is a whole number, without quotes or point"
    return ""


def read_mbi(value: object, name: str) -> Converted:
    """Return the schema of an mbi domain: integers from 0 to size - 1, never missing.

    >>> read_mbi({"age": 85}, "the domain").schema.field("age").maximum
    84
    """
    sizes = check_object(value, name)
    for column, size in sizes.items():
        if size < 1:
            raise SchemaError(
                f"{name}: column {quote(column)} has size {quote(size)}; a domain has at least one code", code="LW261"
            )
    # A column of k codes has none for missing cells: with one it would have k + 1.
    fields = [
        Field(name=column, type="integer", minimum=0, maximum=size - 1, required=True) for column, size in sizes.items()
    ]
    note = (
        "the columns hold codes, 0 to size - 1, made by whatever cut and numbered the table for mbi; "
        "give the table in these codes, as the file does not say what they stand for"
    )
    return converted(fields, FORMAT, notes=[note])
