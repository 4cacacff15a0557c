"""Kinds of frames, and how a frame holds its columns; needs none of their libraries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from lapwing.errors import ParameterError
from lapwing.schema.scalars import told

Kind = Literal["pandas", "polars", "pyarrow", "path", "duckdb", "dask", "spark"]
"""What the user's table is; synthetic rows come back in the same kind."""


def check_kind(kind: object) -> None:
    """Refuse what is no kind of table."""
    if not isinstance(kind, str) or kind not in get_args(Kind):
        raise ParameterError(
            f"kind must be one of {', '.join(get_args(Kind))}, got {told(kind)}; name the frames you want",
            code="LW303",
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """How a frame holds its columns; nothing of its cells.

    Parameters
    ----------
    kind : {"pandas", "polars", "pyarrow", "path", "duckdb", "dask", "spark"}
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
