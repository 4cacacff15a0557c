"""Read DuckDB relations: streamed as Arrow batches, by the user's own connection and its threads.

A relation is a query: every pass runs it anew. What DuckDB says when it fails may quote a cell, and is never passed on.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from lapwing.errors import DataError
from lapwing.rows.codec.cells import RawColumn
from lapwing.rows.engines.frames import ArrowReader
from lapwing.rows.guard import guarded
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


T = TypeVar("T")

_WHAT: Final = (
    "the DuckDB relation cannot be run; keep its connection open and free of other results, and what it reads in place"
)
_INTERRUPTED: Final = "Query interrupted"

# Whatever the connection's settings of Arrow are, these arrive as the text that DuckDB itself writes: numbers of more
# digits than Arrow's decimals hold, and bytes of which only DuckDB knows the meaning.
_AS_TEXT: Final = frozenset({"hugeint", "uhugeint", "bignum", "varint", "uuid", "bit"})
_NESTED: Final = frozenset({"list", "array", "struct", "map", "union", "variant"})


class RelationReader:
    """Read a DuckDB relation, batch by batch, in the order that DuckDB gives."""

    def __init__(self, relation: "duckdb.DuckDBPyRelation") -> None:
        if not _has_arrow():
            raise DataError(
                "DuckDB hands rows over by PyArrow, which is not installed; install lapwing[duckdb]", code="LW701"
            )
        self._relation = relation
        self.kind: Literal["duckdb"] = "duckdb"
        self.known_rows: int | None = None
        self.names: list[str] = guarded(_WHAT, lambda: list(relation.columns))
        self._types: dict[str, str] = dict(
            zip(self.names, guarded(_WHAT, lambda: [each.id for each in relation.types]), strict=True)
        )

    @property
    def nested(self) -> set[str]:
        """The names of columns that hold several values per cell."""
        return {name for name, kind in self._types.items() if kind in _NESTED}

    def check_case(self, wanted: Sequence[str]) -> None:
        """Refuse names that another column has in another case: in SQL they are one."""
        folded = Counter(name.lower() for name in self.names)
        for name in wanted:
            if folded[name.lower()] > 1:
                raise DataError(
                    f"the relation has a column that differs from {quote(name)} in case alone; rename or drop it",
                    code="LW105",
                )

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        reader = guarded(_WHAT, lambda: _interruptible(lambda: self._stream(columns, rows)))
        try:
            while (batch := guarded(_WHAT, lambda: _interruptible(lambda: next(reader, None)))) is not None:
                yield from _batch_reader(batch).chunks(columns, rows)
        finally:
            # The connection takes no other query while a result is open.
            guarded(_WHAT, reader.close)

    def _stream(self, columns: Sequence[str], rows: int) -> "pa.RecordBatchReader":
        selected: Any = self._relation.project(", ".join(self._expression(name) for name in columns))
        if list(selected.columns) != list(columns):
            raise DataError(
                "the DuckDB relation's columns changed or have names that SQL reads otherwise; rename them",
                code="LW105",
            )
        open_stream = getattr(selected, "to_arrow_reader", None) or selected.fetch_record_batch  # the latter before 1.5
        stream: pa.RecordBatchReader = open_stream(rows)
        return stream

    def _expression(self, name: str) -> str:
        column = '"' + name.replace('"', '""') + '"'
        kind = self._types[name]
        if kind in _AS_TEXT:
            return f"CAST({column} AS VARCHAR) AS {column}"
        if kind == "time with time zone":  # no field holds a time of day, and Arrow has none with a zone
            return f"CAST({column} AS TIME) AS {column}"
        return column


def _has_arrow() -> bool:
    try:
        import pyarrow  # noqa: F401, PLC0415 - the user's own
    except ImportError:
        return False
    return True


def _batch_reader(batch: "pa.RecordBatch") -> ArrowReader:
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    return ArrowReader(pa.Table.from_batches([batch]))


def _interruptible(work: Callable[[], T]) -> T:
    """Run a query; where Ctrl-C ends it, which DuckDB tells as an error of its own, let it be what it is."""
    try:
        return work()
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
    raise KeyboardInterrupt
