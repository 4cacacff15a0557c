"""Kinds of frames, and how a frame holds its columns; needs none of their libraries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from lapwing.errors import ParameterError
from lapwing.schema.fields import Field
from lapwing.schema.scalars import safe_repr

Kind = Literal["pandas", "polars", "pyarrow", "path", "duckdb", "spark"]
"""What the user's table is; synthetic rows come back in the same kind."""


Held = Literal["several", "none", "moments", "numbers", "any"]
"""What a column's type, which is as public as its name, says of its cells: several values each, what no field holds,
days or moments, numbers or truth values, or nothing."""

_FITTING: Final[Mapping[str, tuple[str, ...]]] = {
    "moments": ("date", "datetime", "string"),
    "numbers": ("integer", "number", "boolean", "string"),
}


def can_fit(held: Held, field: Field) -> bool:
    """Return whether any cell of a column of such a type can fit a field.

    >>> can_fit("moments", Field(name="age", type="integer", minimum=0, maximum=120))
    False
    """
    return held == "any" or (held in _FITTING and (field.identifier or field.type in _FITTING[held]))


def check_kind(kind: object) -> None:
    """Refuse what is no kind of table."""
    if not isinstance(kind, str) or kind not in get_args(Kind):
        raise ParameterError(
            f"kind must be one of {', '.join(get_args(Kind))}, got {safe_repr(kind)}; name the frames you want",
            code="LW303",
        )


@dataclass(frozen=True, slots=True)
class FrameLayout:
    """How a frame holds its columns; nothing of its cells.

    Parameters
    ----------
    kind : {"pandas", "polars", "pyarrow", "path", "duckdb", "spark"}
        The frame's library.
    dtypes : mapping of str to str
        The types of the schema's columns, in the order of rows, as its library writes them: ``Int64``,
        ``int64[pyarrow]``, ``Datetime[us]``, ``category of string``. NumPy's are ``object``, whichever it is, but for
        ``float32`` and times of another unit than microseconds. Empty for the types that the schema gives in this
        library.
    """

    kind: Kind = "path"
    dtypes: Mapping[str, str] = field(default_factory=dict)


Like = Any
"""What synthetic rows shall look like: a frame of any library, or the name of one; None as the input."""
