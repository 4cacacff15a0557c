"""Read a Spark frame, classic or of Spark Connect, and run steps of ours on its executors.

What Spark says when a job fails may quote cells: the error's type alone is passed on. Its own log is the cluster's.
"""

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lapwing.errors import DataError
from lapwing.extras.spark.distributed import STOPPED, check_installed, fault_of, fault_text, installed_versions
from lapwing.rows.cells import UNREADABLE, RawColumn
from lapwing.rows.frames import Types, arrow_reader
from lapwing.rows.guard import run_guarded
from lapwing.rows.kinds import Held

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession


T = TypeVar("T")

Step = Callable[..., Iterator[dict[str, Any]]]
"""Work on one partition: from arguments and record batches to columns of an answer; a function of a module."""

_UNUSABLE: Final = "the Spark frame cannot be used; is its session still running?"
_FAILED: Final = "a Spark job over the rows failed; Spark's own log says why"
_UNABLE: Final = (
    "Spark's executors cannot run Lapwing; install it on each of them, for the same Python, and name that Python in "
    "PYSPARK_PYTHON before the session starts"
)

_HELD_BY: Final[dict[Held, tuple[str, ...]]] = {
    "several": ("ArrayType", "MapType", "StructType", "VariantType", "GeographyType", "GeometryType"),
    "none": ("DayTimeIntervalType", "YearMonthIntervalType", "CalendarIntervalType", "TimeType"),
    "moments": ("DateType", "TimestampType", "TimestampNTZType"),
    "numbers": (
        "ByteType",
        "ShortType",
        "IntegerType",
        "LongType",
        "DecimalType",
        "BooleanType",
        "FloatType",
        "DoubleType",
    ),
}
_HELD: Final = {name: held for held, names in _HELD_BY.items() for name in names}
_LOGGERS: Final = (
    "SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging",
    "py4j", "py4j.clientserver", "py4j.java_gateway",
)  # fmt: skip
"""Loggers of PySpark in this process, which quote cells where a job fails."""

_PART_BYTES: Final = 2**24
_FAULT: Final = "fault"


class SparkReader:
    """Read a Spark frame; every pass runs it anew, and its order is the one that Spark gives."""

    def __init__(self, frame: Any) -> None:  # noqa: ANN401 - a frame of PySpark, also as pandas on Spark has it
        if type(frame).__module__.startswith("pyspark.pandas."):
            frame = run_guarded("the Spark frame cannot be used", frame.to_spark)
        self._frame: DataFrame = frame
        self.known_rows: int | None = None
        self._types = run_guarded(_UNUSABLE, lambda: [(field.name, field.dataType) for field in frame.schema.fields])
        self.jobs = SparkJobs(run_guarded(_UNUSABLE, lambda: frame.sparkSession))
        if run_guarded(_UNUSABLE, lambda: frame.isStreaming):
            raise DataError("the Spark frame is a stream, which has no last row; give a frame of a batch", code="LW702")

    @property
    def types(self) -> Types:
        """The columns."""
        # A type of the user's own is stored as another one.
        stored = ((name, kind.sqlType() if hasattr(kind, "sqlType") else kind) for name, kind in self._types)
        return [(name, _HELD.get(type(kind).__name__, "any")) for name, kind in stored]

    def selected(self, columns: Sequence[str]) -> "DataFrame":
        """Return the frame with some columns alone, by place: Spark takes names that differ in case for one."""
        names = [name for name, _ in self._types]
        places = [names.index(name) for name in columns]
        numbered = [f"c{place}" for place in range(len(self._types))]
        wanted = [_expression(f"c{place}", self._types[place][1]) for place in places]
        return run_guarded(_UNUSABLE, lambda: self._frame.toDF(*numbered).selectExpr(*wanted))

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        import pyarrow as pa  # noqa: PLC0415 - comes with Spark

        self.jobs.probe()
        sent = self.jobs.mapped(self.selected(columns), streamed, (rows,), {"cells": "binary"})
        for row in self.jobs.streamed(sent):
            table = pa.ipc.open_stream(row.cells).read_all()
            yield from arrow_reader(table.rename_columns(list(columns))).chunks(columns, rows)


class SparkJobs:
    """Run steps of ours in one session of Spark."""

    __slots__ = ("_session", "_tag")

    def __init__(self, session: "SparkSession") -> None:
        self._session = session
        self._tag = f"lapwing-{uuid.uuid4()}"

    def probe(self) -> None:
        """Refuse a cluster that does not run our code, or runs another version of it."""
        row = run_guarded(_UNUSABLE, lambda: self._session.range(1))  # fails where the session has ended
        answer = self.mapped(row, asked, (), {"worker": "long"})
        self._run(_UNABLE, lambda: _check_faults([row.fault for row in answer.collect()]))

    def mapped(
        self, frame: "DataFrame", step: Step, arguments: tuple[object, ...], kinds: Mapping[str, str]
    ) -> "DataFrame":
        """Return the frame of what a step gives for each partition, not run yet, and of ``fault``."""
        work = partial(on_worker, step, dict(kinds), installed_versions(), arguments)
        columns = ", ".join(f"{name} {kind}" for name, kind in {**kinds, _FAULT: "string"}.items())
        return run_guarded(_UNUSABLE, lambda: frame.mapInArrow(work, columns))

    def collected(self, frame: "DataFrame") -> "pa.Table":
        """Return all rows of a small frame; an error of ours on an executor is raised here."""
        table = self._run(_FAILED, frame.toArrow)
        for name in table.column_names:
            if _FAULT in name:
                _check_faults(table.column(name).to_pylist())
        return table

    def streamed(self, frame: "DataFrame") -> Iterator["Row"]:
        """Yield the rows of a frame, one partition after the other; an error of ours on an executor is raised here."""
        rows = self._run(_FAILED, frame.toLocalIterator)
        while (row := self._run(_FAILED, lambda: next(rows, None))) is not None:
            _check_faults([row.fault])
            yield row

    def _run(self, what: str, work: Callable[[], T]) -> T:
        """Run a job, let nothing private out of its errors, and end it on the cluster where the user stops it."""
        run_guarded(_UNUSABLE, lambda: self._session.addTag(self._tag))
        try:
            with _silent_loggers():
                return run_guarded(what, lambda: _stoppable(work))
        except KeyboardInterrupt:
            run_guarded(_UNUSABLE, lambda: self._session.interruptTag(self._tag))
            raise
        finally:
            run_guarded(_UNUSABLE, lambda: self._session.removeTag(self._tag))


@contextlib.contextmanager
def _silent_loggers() -> Iterator[None]:
    """Drop what PySpark logs from this thread."""
    here = threading.get_ident()

    def is_of_others(record: logging.LogRecord) -> bool:
        return record.thread != here

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(is_of_others)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_others)


def _stoppable(work: Callable[[], T]) -> T:
    """Where the user stops a job, raise that, and not the error of a job that was stopped."""
    with contextlib.ExitStack() as stack:
        stack.push(_stop)
        return work()


def _stop(_kind: object, error: BaseException | None, _trace: object) -> None:
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt
        error = error.__context__


def _check_faults(faults: Iterable[str | None]) -> None:
    found = sorted(fault for fault in faults if fault is not None)
    if found:
        raise fault_of(found[0])


def _expression(column: str, kind: Any) -> str:  # noqa: ANN401 - a Spark type
    """Return what is selected for a column; PyArrow has no class for intervals of months, which fit no field."""
    if type(kind).__name__ != "YearMonthIntervalType":
        return column
    return f"CASE WHEN {column} IS NOT NULL THEN CAST(X'{UNREADABLE.encode().hex()}' AS STRING) END AS {column}"


# --------------------------------------------------------------------------------------------------- on executors


def on_worker(
    step: Step,
    kinds: Mapping[str, str],
    expected: str,
    arguments: tuple[object, ...],
    batches: Iterator["pa.RecordBatch"],
) -> Iterator["pa.RecordBatch"]:
    """Run a step on one partition; an error of ours becomes a row, which Spark neither repeats nor logs."""
    import pyarrow as pa  # noqa: PLC0415 - comes with Spark

    kind_of = {"long": pa.int64(), "binary": pa.binary()}
    fields = [(name, kind_of[kind]) for name, kind in kinds.items()]
    whole = pa.schema([*fields, (_FAULT, pa.string())])
    fault = None
    try:
        check_installed(expected)
        answers = run_guarded(STOPPED, lambda: step(*arguments, batches))
        while (columns := run_guarded(STOPPED, lambda: next(answers, None))) is not None:
            found = [pa.array(columns[name], kind) for name, kind in fields]
            yield pa.RecordBatch.from_arrays([*found, pa.nulls(len(found[0]), pa.string())], schema=whole)
    except DataError as error:
        fault = fault_text(error)
    if fault is not None:
        nulls = [pa.nulls(1, kind) for _, kind in fields]
        yield pa.RecordBatch.from_arrays([*nulls, pa.array([fault], pa.string())], schema=whole)


def asked(batches: Iterator["pa.RecordBatch"]) -> Iterator[dict[str, Any]]:
    """Give one row, where our code runs at all."""
    yield {"worker": [sum(batch.num_rows for batch in batches)]}


def streamed(rows: int, batches: Iterator["pa.RecordBatch"]) -> Iterator[dict[str, Any]]:
    """Give the rows of a partition as streams of Arrow, in their order."""
    import pyarrow as pa  # noqa: PLC0415 - comes with Spark

    for table in part_tables(batches, rows):
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        yield {"cells": [stream.getvalue().to_pybytes()]}


def part_tables(batches: Iterable["pa.RecordBatch"], rows: int) -> Iterator["pa.Table"]:
    """Yield the rows of record batches as tables of at most `rows` rows, or fewer where they are large."""
    import pyarrow as pa  # noqa: PLC0415 - comes with Spark

    waiting: list[pa.RecordBatch] = []
    height = size = 0
    for batch in batches:
        for piece in _pieces(batch, rows):
            if waiting and (height + piece.num_rows > rows or size + piece.nbytes > _PART_BYTES):
                yield pa.Table.from_batches(waiting)
                waiting, height, size = [], 0, 0
            waiting.append(piece)
            height, size = height + piece.num_rows, size + piece.nbytes
    if waiting:
        yield pa.Table.from_batches(waiting)


def _pieces(batch: "pa.RecordBatch", rows: int) -> Iterator["pa.RecordBatch"]:
    if not batch.num_rows:
        return
    most = max(1, min(rows, _PART_BYTES * batch.num_rows // max(batch.nbytes, 1)))
    for start in range(0, batch.num_rows, most):
        yield batch.slice(start, most)
