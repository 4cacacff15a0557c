"""Read DuckDB relations. What DuckDB says may quote a cell, and is not told."""

import glob
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lapwing.errors import DataError
from lapwing.rows.cells import RawColumn
from lapwing.rows.frames import Types, batch_chunks
from lapwing.rows.guard import run_guarded
from lapwing.rows.kinds import Held
from lapwing.rows.out.databases import not_installed, sql_name
from lapwing.schema.named_files import TABLES
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
_HELD_BY: Final[dict[Held, tuple[str, ...]]] = {
    "several": ("list", "array", "struct", "map", "union", "variant"),
    "none": ("time", "time with time zone", "time_ns", "interval"),
    "moments": ("date", "timestamp", "timestamp with time zone", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    "numbers": (
        "boolean",
        "tinyint",
        "smallint",
        "integer",
        "bigint",
        "hugeint",
        "decimal",
        "utinyint",
        "usmallint",
        "uinteger",
        "ubigint",
        "uhugeint",
        "float",
        "double",
    ),
}
_HELD: Final = {name: held for held, names in _HELD_BY.items() for name in names}


class RelationReader:
    """Read a DuckDB relation, batch by batch, in the order that DuckDB gives."""

    def __init__(self, relation: "duckdb.DuckDBPyRelation") -> None:
        if not has_arrow():
            raise not_installed("DuckDB hands rows over by PyArrow", "duckdb")
        self._relation = relation
        self.known_rows: int | None = None
        names = run_guarded(_WHAT, lambda: list(relation.columns))
        kinds = run_guarded(_WHAT, lambda: [each.id for each in relation.types])
        self._types: dict[str, str] = dict(zip(names, kinds, strict=True))
        self.types: Types = [(name, _HELD.get(kind, "any")) for name, kind in zip(names, kinds, strict=True)]

    def check_case(self, wanted: Sequence[str]) -> None:
        """Refuse names that another column has in another case: in SQL they are one."""
        folded = Counter(name.lower() for name, _ in self.types)
        for name in wanted:
            if folded[name.lower()] > 1:
                raise DataError(
                    f"the relation has a column that differs from {quote(name)} in case alone; rename or drop it",
                    code="LW105",
                )

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        reader = run_guarded(_WHAT, lambda: _interruptible(lambda: self._stream(columns, rows)))
        try:
            while (batch := run_guarded(_WHAT, lambda: _interruptible(lambda: next(reader, None)))) is not None:
                yield from batch_chunks(batch, columns, rows)
        finally:
            # The connection takes no other query while a result is open.
            run_guarded(_WHAT, reader.close)

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
        column = sql_name(name)
        kind = self._types[name]
        if kind in _AS_TEXT:
            return f"CAST({column} AS VARCHAR) AS {column}"
        if kind == "time with time zone":  # no field holds a time of day, and Arrow has none with a zone
            return f"CAST({column} AS TIME) AS {column}"
        return column


_QUOTED: Final = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)\"""")


def files_of_relation(relation: "duckdb.DuckDBPyRelation") -> list[str]:
    """Return files and patterns that the SQL of a relation quotes; of views it reads, and of other objects, none."""
    try:
        sql = run_guarded(_WHAT, relation.sql_query)
    except DataError:
        return []  # it is refused where it is opened
    found = _QUOTED.findall(sql)
    texts = [re.sub(r"^file:(//(localhost)?)?(?=/)", "", text.replace("''", "'")) for text, _ in found]
    names = [name.replace('""', '"') for _, name in found]
    # Functions read files of any ending; a text of dots and slashes alone separates other texts.
    places = [text for text in texts if text.strip("./") and "\0" not in text]
    return [
        *(each for each in (*texts, *names) if each.lower().endswith(TABLES)),
        *(place for place in places if any(glob.iglob(place, recursive=True))),
    ]


def has_arrow() -> bool:
    """Return whether PyArrow is installed."""
    try:
        import pyarrow  # noqa: F401, PLC0415 - the user's own
    except ImportError:
        return False
    return True


def _interruptible(work: Callable[[], T]) -> T:
    """Run a query; where Ctrl-C ends it, which DuckDB tells as an error of its own, let it be what it is."""
    try:
        return work()
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
    raise KeyboardInterrupt
