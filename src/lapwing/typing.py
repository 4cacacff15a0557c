"""Types of what public calls take, for annotations of your own.

>>> from lapwing.typing import IntoFrame, SchemaLike
>>> def released(rows: IntoFrame, schema: SchemaLike) -> None: ...
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from lapwing.kernel.budget.budget import Number
from lapwing.kernel.terms import Relation
from lapwing.mechanisms.registry import Trusted
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.release.runs.plan.effort import Memory
from lapwing.release.runs.watching import Progress, ProgressLike
from lapwing.rows.elsewhere import Query
from lapwing.rows.kinds import Kind
from lapwing.schema.public_tables.tables import PublicTable
from lapwing.schema.schemas import Schema

__all__ = [
    "ForeignLike",
    "IntoFrame",
    "IntoSeries",
    "Kind",
    "MechanismLike",
    "Memory",
    "Number",
    "PathLike",
    "PriorLike",
    "Progress",
    "ProgressLike",
    "PublicTablesLike",
    "Relation",
    "SchemaLike",
]


class _Columns(Protocol):
    """A frame of pandas, Polars or Spark, a relation of DuckDB, a table of PyArrow."""

    @property
    def columns(self) -> Any:  # noqa: ANN401
        """Names, or columns."""


class _Stream(Protocol):
    """Anything that hands over an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...  # noqa: ANN401


class _Dataset(Protocol):
    """A dataset of PyArrow."""

    to_batches: Callable[..., Any]


class _Series(Protocol):
    """A series of pandas or Polars."""

    @property
    def name(self) -> Any: ...  # noqa: ANN401


class _Checked(Protocol):
    """A schema of Pandera."""

    columns: Any
    checks: Any


PathLike = str | os.PathLike[str]
IntoFrame = PathLike | Sequence[PathLike] | Query | _Columns | _Stream | _Dataset
"""A table: the path of a file or folder, or several; a frame of pandas, Polars, PyArrow, DuckDB or Spark."""
IntoSeries = _Series
SchemaLike = Schema | Mapping[str, Any] | PathLike
ForeignLike = PathLike | Mapping[str, Any] | type[Any] | _Checked
"""What `Schema.from_foreign` reads: other tools' metadata, and classes that say what a row is."""
MechanismLike = str | Mechanism | Trusted
"""A mechanism's settings, such as ``lw.Adaptive()``, or its name."""
PriorLike = object
"""A saved release's path, a `Release`, a file or frame of public rows, or a list of those; None for none."""
PublicTablesLike = PublicTable | Mapping[str, Any] | PathLike | Sequence[PublicTable | Mapping[str, Any] | PathLike]
