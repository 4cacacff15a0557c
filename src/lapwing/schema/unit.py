"""The privacy unit of a schema."""

from dataclasses import dataclass
from typing import Final

from lapwing.errors import SchemaError
from lapwing.schema.scalars import quote, whole_number

_MAX_ROWS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Whose records are protected together.

    Parameters
    ----------
    field : str
        Column whose equal values name one unit, such as a person.
    max_rows : int
        Rows of one unit that are used at most, at least 1.

    Examples
    --------
    >>> PrivacyUnit("patient", 5).max_rows
    5
    """

    field: str
    max_rows: int

    def __post_init__(self) -> None:
        if not isinstance(self.field, str):
            raise SchemaError(f"privacyUnit: field must be the name of a field, got {quote(self.field)}", code="LW217")
        max_rows = whole_number(self.max_rows)
        if max_rows is None or not 1 <= max_rows <= _MAX_ROWS:
            said = f"privacyUnit: maxRows must be a whole number of at least 1, got {quote(self.max_rows)}"
            raise SchemaError(said, code="LW217")
        object.__setattr__(self, "max_rows", max_rows)
