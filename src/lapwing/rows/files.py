"""Read tables from files: Parquet and Arrow through Polars, others, several in order, and PyArrow datasets."""

import contextlib
import glob
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import polars as pl

from lapwing.errors import DataError
from lapwing.on_demand import extra
from lapwing.rows.cells import RawColumn
from lapwing.rows.formats import CsvFile, JsonLinesFile
from lapwing.rows.frames import LazyReader, arrow_series, arrow_types, batch_chunks, polars_held
from lapwing.rows.guard import run_guarded
from lapwing.rows.kinds import Held
from lapwing.rows.out.outputs import version
from lapwing.schema.named_files import EXCEL, IN_FOLDERS, PROGRAMS, STANDARD_INPUT, TABLES
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds


_CSV_SEPARATORS: Final = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
_SEPARATION: Final = {",": "comma", "\t": "tab"}
_SEPARATORS: Final = (",", ";", "\t", "|")
_Form = Literal["Parquet", "Arrow"]
_TYPED: Final[dict[str, _Form]] = {
    **{".parquet": "Parquet", ".pq": "Parquet"},
    **{".arrow": "Arrow", ".feather": "Arrow", ".ipc": "Arrow"},
}
_JSON_LINES: Final = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_WIDE: Final = 64
_WINDOW_BYTES: Final = 2**28
"""Polars reads several row groups ahead, whatever their size: with more columns than `_WIDE` so much at a time."""


class TypedFile:
    """Parquet or Arrow files of one schema, in order: thousands of small ones are read as fast as a large one."""

    def __init__(self, paths: Sequence[Path], form: _Form) -> None:
        self.path, self._paths, self.form = paths[0], list(paths), form
        name = quote(str(self.path))
        named = f"file {name}" if len(paths) == 1 else f"the {len(paths)} files from {name} on"
        self._what = f"{named} cannot be read as {form}"
        self._query = run_guarded(self._what, self._scan)
        self.schema = run_guarded(self._what, self._query.collect_schema)
        self.names = list(self.schema.names())
        self.held: dict[str, Held] = {name: polars_held(dtype) for name, dtype in self.schema.items()}

    def _scan(self) -> pl.LazyFrame:
        """Open the files; Arrow's stream form has no index, and is read into memory."""
        if self.form == "Arrow" and any(map(_is_stream, self._paths)):
            return pl.concat(map(_stream, self._paths)).lazy()
        scan = pl.scan_parquet if self.form == "Parquet" else pl.scan_ipc
        return scan(self._paths, glob=False, hive_partitioning=False)

    @property
    def known_rows(self) -> int:
        """The number of rows, which is private."""
        return run_guarded(self._what, lambda: int(self._query.select(pl.len()).collect().item()))

    def chunks(self, columns: Sequence[str], rows: int, skip: int = 0) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, without the first rows where some are to be left out."""
        is_wide = len(columns) > _WIDE
        if is_wide and len(self._paths) > 1:
            yield from self._by_file(columns, rows, skip)
            return
        done = skip
        try:
            for query in self._windows(len(columns), skip) if is_wide else [self._query.slice(skip)]:
                for cells in LazyReader(query, self._what).chunks(columns, rows):
                    done += len(cells[columns[0]])
                    yield cells
        except DataError as error:
            fault = error
        else:
            return
        yield from self._anew(columns, rows, done, fault)

    def _windows(self, columns: int, skip: int) -> Iterator[pl.LazyFrame]:
        """Yield queries of consecutive rows, each of so many that their cells take little memory."""
        step = _WINDOW_BYTES // (8 * columns)
        for start in range(skip, self.known_rows, step):
            yield self._query.slice(start, step)

    def _anew(self, columns: Sequence[str], rows: int, skip: int, fault: DataError) -> Iterator[dict[str, RawColumn]]:
        """Yield the cells from a row on by other ways than the one that failed."""
        if len(self._paths) == 1:
            yield from self._by_pyarrow(columns, rows, skip, fault)
        else:
            yield from self._by_file(columns, rows, skip)

    def _by_file(self, columns: Sequence[str], rows: int, skip: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the cells from a row on, file by file: an error names the one that cannot be read."""
        for path in self._paths:
            file = TypedFile([path], self.form)
            height = file.known_rows
            if skip < height:
                yield from file.chunks(columns, rows, skip)
            skip = max(0, skip - height)

    def _by_pyarrow(
        self, columns: Sequence[str], rows: int, skip: int, fault: DataError
    ) -> Iterator[dict[str, RawColumn]]:
        """Yield the cells from a row on as PyArrow reads them: text that is no UTF-8, which Polars refuses, too."""
        height = 0
        try:
            batches = run_guarded(self._what, lambda: _arrow_batches(self.path, self.form, columns, rows))
            while (batch := run_guarded(self._what, lambda: next(batches, None))) is not None:
                yield from batch_chunks(batch.slice(skip), columns, rows)
                skip, height = max(0, skip - batch.num_rows), height + batch.num_rows
        except DataError:
            height = -1
        if height != self.known_rows:  # fewer than a damaged file claims
            raise fault


def _is_stream(path: Path) -> bool:
    """Return whether a file is in Arrow's stream form, by its first bytes."""
    with path.open("rb") as file:
        return file.read(4) == b"\xff\xff\xff\xff"


def _stream(path: Path) -> pl.DataFrame:
    """Read Arrow's stream form: as PyArrow does where text is no UTF-8, which Polars refuses."""
    with contextlib.suppress(pl.exceptions.ComputeError):
        return pl.read_ipc_stream(path)
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    table = pa.ipc.open_stream(path).read_all()
    return pl.DataFrame({name: arrow_series(table[name]) for name in table.column_names})


def _arrow_batches(path: Path, form: _Form, columns: Sequence[str], rows: int) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa  # noqa: PLC0415 - the user's own
    import pyarrow.parquet as pq  # noqa: PLC0415 - the user's own

    found: Iterator[pa.RecordBatch]
    if form == "Parquet":
        found = pq.ParquetFile(path).iter_batches(batch_size=rows, columns=list(columns))
    else:
        file = pa.ipc.open_file(path)
        found = (file.get_batch(number).select(columns) for number in range(file.num_record_batches))
    return found


class OtherFile(Protocol):
    """A table in a file that an extra reads: a sheet of a workbook, a file of SPSS, Stata or SAS."""

    path: Path
    names: list[str]
    held: Mapping[str, Held]
    known_rows: int | None

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""


TableFile = CsvFile | TypedFile | JsonLinesFile | OtherFile
"""One file, or several that are read as one: column names, what their types say of cells, and cells."""


class FileStamps:
    """What tells that files changed: device, number and time; an error may not depend on what is in them."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._stamps = {path: version(path) for path in paths}

    def check(self) -> None:
        """Refuse files of which one was written to, replaced or taken away."""
        for path, stamp in self._stamps.items():
            if version(path) != stamp:
                raise DataError(
                    f"file {quote(os.fspath(path))} was changed while its rows were in use; "
                    "let nobody write to it, and begin again",
                    code="LW109",
                )


class FilesReader:
    """Read several files as one table, each by its own format; typed files of one schema by one query."""

    def __init__(self, files: Sequence[TableFile], stamps: FileStamps) -> None:
        self._stamps = stamps
        self._files = _runs_of_typed(files)
        counts = [file.known_rows for file in self._files]
        self.known_rows: int | None = None if None in counts else sum(filter(None, counts))

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, file after file, at most `rows` rows at a time."""
        self._stamps.check()
        for file in self._files:
            yield from file.chunks(columns, rows)
        self._stamps.check()


def find_files(source: str | os.PathLike[str]) -> list[Path]:
    """Return the data files that a path, folder or pattern stands for, in a fixed order."""
    text = os.fspath(source)
    path = Path(text)
    if path == STANDARD_INPUT:
        return [path]
    if path.is_dir():
        return _files_of_folder(path)
    if not path.exists() and glob.has_magic(text):
        found = sorted(Path(name) for name in glob.glob(text, recursive=True))
        return [_known(match) for match in found if match.is_file()] or _no_file(f"no file matches {quote(text)}")
    if not path.exists():
        _no_file(f"file {quote(text)} does not exist")
    return [_known(path)]


def open_file(
    path: Path,
    dialect: Dialect = PLAIN_FILE,
    names: Sequence[str] = (),
    listed: Mapping[str, Sequence[object]] = MappingProxyType({}),
) -> TableFile:
    """Return a file ready to read, of which only names and types were looked at.

    names: of the columns, if no line has them; listed: values of each column that are values even where the file's
    author declared them as missing.
    """
    suffix = _suffix(path) or ".csv"
    if suffix in _TYPED:
        return TypedFile([path], _TYPED[suffix])
    if suffix in _JSON_LINES:
        return JsonLinesFile(path, dialect, names)
    if suffix in EXCEL:
        workbook: OtherFile = extra("workbooks").ExcelFile(path, dialect, names)
        return workbook
    if suffix in PROGRAMS:
        statistics: OtherFile = extra("statistics files").StatisticsFile(path, dialect, listed)
        return statistics
    return CsvFile(path, _CSV_SEPARATORS[suffix], dialect, names)


def may_have_footer(path: Path) -> bool:
    """Tell whether rows at the end of a file may be left out, which are none."""
    return _suffix(path) in {*_CSV_SEPARATORS, *EXCEL, None}


def is_typed(path: Path) -> bool:
    """Tell whether a file's columns have types, which are known without a look at a cell."""
    return _suffix(path) in _TYPED


WIDE_TEXT: Final = "begins with zero bytes or is UTF-16; save it again as UTF-8"
_WIDE_MARKS: Final = (r"\xff\xfe", r"\xfe\xff", "ÿþ", "þÿ")  # as UTF-8, and in encodings of one byte


def is_wide_text(file: CsvFile) -> bool:
    """Tell whether the first line of a text file is in UTF-16, or has zero bytes."""
    return bool(file.names) and (file.names[0].startswith(_WIDE_MARKS) or any("\0" in name for name in file.names))


def header_fault(file: TableFile) -> str | None:
    """Say what keeps the first line of a text file from being column names, if something does, and never quote it."""
    if not isinstance(file, CsvFile):
        return None
    if is_wide_text(file):
        return WIDE_TEXT
    if any(r"\x" in name for name in file.names):
        return 'has a first line that is not UTF-8; give the schema its "dialect", such as {"encoding": "latin-1"}'
    if len(file.names) > 1:
        return None
    if not file.names:
        return "is empty; give a file whose first line has the column names"
    way = _SEPARATION.get(file.separator, quote(file.separator))
    if any(sign in file.names[0] for sign in _SEPARATORS):
        return f'has one column in its first line and is read as {way}-separated; give the schema its "dialect", ' + (
            'such as {"delimiter": ";"}'
        )
    return None


def _files_of_folder(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.is_file() and _suffix(path) in IN_FOLDERS)
    # Other tools keep unfinished and bookkeeping files under such names.
    shown = [path for path in found if not any(part[0] in "._" for part in path.relative_to(folder).parts)]
    return shown or _no_file(f"folder {quote(str(folder))} holds no .parquet or .csv file")


def _no_file(what: str) -> list[Path]:
    raise DataError(f"{what}; give the path of a .parquet or .csv file, or of a folder of such files", code="LW101")


def _suffix(path: Path) -> str | None:
    """Return the known suffix that a file name ends in."""
    name = path.name.lower()
    return next((suffix for suffix in TABLES if name.endswith(suffix)), None)


def _known(path: Path) -> Path:
    if _suffix(path) is None:
        known = ", ".join(TABLES)
        raise DataError(
            f"file {quote(str(path))} is of no known kind; its name must end in one of {known}", code="LW102"
        )
    return path


def _runs_of_typed(files: Sequence[TableFile]) -> list[TableFile]:
    """Return the files in their order, and for each run of typed files of equal schema one for all of them."""
    merged: list[TableFile] = []
    for kind, run in itertools.groupby(files, _kind):
        same = list(run)
        merged += same if kind is None or len(same) == 1 else [TypedFile([file.path for file in same], kind[0])]
    return merged


def _kind(file: TableFile) -> tuple[_Form, pl.Schema] | None:
    return (file.form, file.schema) if isinstance(file, TypedFile) else None


_WHAT: Final = "the PyArrow dataset cannot be read"
# PyArrow's own defaults, 16 batches of 4 files, are 64 times as much memory.
_BATCHES_AHEAD: Final = 2
_FILES_AHEAD: Final = 1


class DatasetReader:
    """Read a PyArrow dataset, batch by batch; every pass reads its files anew."""

    def __init__(self, dataset: "ds.Dataset") -> None:
        self._dataset = dataset
        self._stamps = FileStamps(files_of_dataset(dataset))
        self.known_rows: int | None = None
        self.types = arrow_types(dataset.schema)

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        import pyarrow.dataset as ds  # noqa: PLC0415 - the user's own

        self._stamps.check()
        wanted = {name: ds.field(name) for name in columns}
        ahead = {"batch_readahead": _BATCHES_AHEAD, "fragment_readahead": _FILES_AHEAD}
        batches = run_guarded(_WHAT, lambda: self._dataset.to_batches(wanted, batch_size=rows, **ahead))
        while (batch := run_guarded(_WHAT, lambda: next(batches, None))) is not None:
            yield from batch_chunks(batch, columns, rows)
        self._stamps.check()


def files_of_dataset(dataset: Any) -> list[str]:  # noqa: ANN401 - a dataset of any kind
    """Return the files of a dataset that lie on this machine."""
    if hasattr(dataset, "children"):
        return [path for child in dataset.children for path in files_of_dataset(child)]
    system = getattr(dataset, "filesystem", None)
    return list(dataset.files) if getattr(system, "type_name", None) == "local" else []
