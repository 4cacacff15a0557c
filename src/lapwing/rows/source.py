"""The coded rows of one private table: read in chunks, counted in one pass, cached where they fit.

Everything here is private. Only the audited room may ask for counts, and nothing keeps raw cells.
"""

import contextlib
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from lapwing.on_demand import extra
from lapwing.rows.cache import PACKED, CodeCache, Storage
from lapwing.rows.cells import RawColumn
from lapwing.rows.codec import Encoder, encoder, open_texts, without_misfits
from lapwing.rows.counting import CodedSource, Codes, EngineSource, KeyedColumn, Table, count_keys, count_tables, height
from lapwing.rows.entry import SpelledReader, source_of
from lapwing.rows.files import DatasetReader
from lapwing.rows.frames import LazyReader, on_column
from lapwing.rows.relations import RelationReader
from lapwing.rows.threads import in_order
from lapwing.rows.units import (
    OrderDigest,
    RowSelection,
    UnitNumbers,
    changed_rows_error,
    cut_chunks,
    kept_rows,
    mix_hash,
    row_hashes,
    with_kept,
)
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

SCRATCH: Final = "LAPWING_SCRATCH"
"""The environment variable that names a folder for codes that do not fit in memory."""

MAX_CHUNK_ROWS: Final = 2**18
"""Most rows of one chunk."""

_CHUNK_CELLS: Final = 2**22
_LEAST_CHUNK_ROWS: Final = 2**12


def code_table(
    data: object,
    schema: Schema,
    *,
    chunk_rows: int | None = None,
    memory: int | None = None,
    scratch: str | None = None,
    is_paid: bool = False,
) -> CodedSource:
    """Return the rows of a table as codes, cut to ``schema.max_rows`` rows of each privacy unit.

    Without a privacy unit every row is a unit. Up to `memory` bytes of codes are kept, or `CACHE_BYTES`, and beyond
    them all in a file of the folder `scratch`, if it is given; otherwise, and where `chunk_rows` are given, every pass
    reads the table again, which changes no code and no count. With a privacy unit 25 bytes per row are held while the
    rows to keep are chosen, and 1 byte after. Spark keeps codes until the source is closed, which `coded_table` does.
    `is_paid` is as for `Source.open`.

    >>> import polars as pl
    >>> from lapwing.schema.groupings.grouping import identity
    >>> schema = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
    >>> source = code_table(pl.DataFrame({"flag": [True, None, True]}), schema)
    >>> source.count([(("flag", identity(schema.field("flag").domain)),), ()])
    [array([0, 2, 1]), array([3])]
    """
    source = source_of(data)
    reader = source.open(schema, is_paid=is_paid)
    if source.kind == "spark":
        found: EngineSource = extra("Spark source").SparkSource(reader.of, schema, chunk_rows)
        return found
    rows = _Rows(reader, schema, chunk_rows)
    unit, storage = schema.privacy_unit, Storage(memory, scratch)
    if unit is None:
        parts = _cached(rows.chunks(), storage) if _may_fit(rows, storage) else None
        if parts is None and rows.is_query:
            deque(rows.chunks(), maxlen=0)  # one that fails on a row does so before anything is paid for
        return _Streamed(rows) if parts is None else _Cached(rows, parts, again=_Again(rows))
    return _truncated(rows, schema.field(unit.field), unit.max_rows, storage)


@contextlib.contextmanager
def coded_table(
    data: object, schema: Schema, *, memory: int | None = None, is_paid: bool = False
) -> Iterator[CodedSource]:
    """Give what `code_table` returns, and at the end have Spark drop the codes that it keeps."""
    source = code_table(data, schema, memory=memory, scratch=os.environ.get(SCRATCH) or None, is_paid=is_paid)
    try:
        yield source
    finally:
        if (close := getattr(source, "close", None)) is not None:  # a protocol's check would count rows
            close()


def all_codes(source: CodedSource, schema: Schema) -> Codes:
    """Return the codes of all rows in one piece."""
    none = {field.name: np.empty(0, dtype=field.domain.dtype) for field in schema.columns}
    chunks = [none, *source.chunks()]
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in none}


class _Cached:
    """Codes that are kept, of rows that are all kept; texts, which are not, are read again."""

    __slots__ = ("_again", "_fields", "_parts", "_units", "columns", "rows")
    unmet = 0  # it is a table by itself

    def __init__(self, rows: "_Rows", parts: CodeCache, units: int | None = None, *, again: "_Again") -> None:
        # Of a table that has no texts to give, nothing but codes is held.
        self._again = again if rows.open_texts else None
        self.columns = rows.columns
        self._fields = rows.fields
        self._parts = parts
        self.rows = parts.rows
        self._units = units

    @property
    def units(self) -> int:
        return self.rows if self._units is None else self._units

    def chunks(self, *, apart: bool = False) -> Iterator[Codes]:
        dtypes = {field.name: field.domain.dtype for field in self._fields}
        chunks = ({name: codes.astype(dtypes[name]) for name, codes in part.items()} for part in self._parts)
        return chunks if apart else without_misfits(chunks, self._fields)

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        return count_tables(self._parts, tables)

    def count_keys(self, columns: Sequence[KeyedColumn]) -> tuple[np.ndarray, np.ndarray]:
        return count_keys(self._parts, columns)

    def texts(self, column: str) -> Iterator[pl.Series]:
        assert self._again is not None
        return self._again.texts(column)


class _Streamed:
    """Codes made anew by every pass over the table."""

    __slots__ = ("_again", "_units", "columns")
    unmet = 0  # it is a table by itself

    def __init__(self, rows: "_Rows", kept: "RowSelection | None" = None, units: int | None = None) -> None:
        self.columns = rows.columns
        self._again = _Again(rows, kept)
        self._units = units

    @property
    def rows(self) -> int:
        rows, kept = self._again.rows, self._again.kept
        if kept is not None:
            return int(np.count_nonzero(kept.rows))
        return sum(height(chunk) for chunk in rows.chunks()) if rows.known_rows is None else rows.known_rows

    @property
    def units(self) -> int:
        return self.rows if self._units is None else self._units

    def chunks(self, *, apart: bool = False) -> Iterator[Codes]:
        chunks = self._again.chunks()
        return chunks if apart else without_misfits(chunks, self._again.rows.fields)

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        return count_tables(self._again.chunks(), tables)

    def count_keys(self, columns: Sequence[KeyedColumn]) -> tuple[np.ndarray, np.ndarray]:
        return count_keys(self._again.chunks(), columns)

    def texts(self, column: str) -> Iterator[pl.Series]:
        return self._again.texts(column)


class _Rows:
    """All rows of a table in code, misfits apart, read anew by every pass."""

    __slots__ = ("_encoders", "_reader", "chunk_rows", "columns", "fields", "is_query", "open_texts")

    def __init__(self, reader: SpelledReader, schema: Schema, chunk_rows: int | None) -> None:
        self.chunk_rows = chunk_rows
        self._reader = reader
        self._encoders: dict[str, Encoder] = {field.name: encoder(field, apart=True) for field in schema.columns}
        self.fields = schema.columns
        self.columns = tuple(self._encoders)
        # What every pass runs anew, and what may fail on a row: a cast, or a type that was guessed from the first rows.
        self.is_query = isinstance(reader.of, LazyReader | RelationReader | DatasetReader)
        self.open_texts = {field.name: field for field in schema.columns if field.open and field.type == "string"}

    @property
    def known_rows(self) -> int | None:
        """Rows of the table where they can be had without reading it."""
        return self._reader.known_rows

    def chunks(self, units: UnitNumbers | None = None) -> Iterator[Codes]:
        """Yield the codes of every row, and hand the unit of every row to `units`."""
        names = self.columns if units is None else tuple(dict.fromkeys((*self.columns, units.column)))
        return in_order(partial(self._codes, self.columns), self._cells(names, units))

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of every row."""
        return (texts for texts, _ in self.texts_and_codes(column, ()))

    def texts_and_codes(self, column: str, coded: Sequence[str]) -> Iterator[tuple[pl.Series, Codes]]:
        """Yield the texts of one column and the codes of some."""
        field = self.open_texts[column]

        def work(cells: Mapping[str, RawColumn]) -> tuple[pl.Series, Codes]:
            texts = on_column(column, lambda found: open_texts(found, field), cells[column])
            return texts, self._codes(coded, cells)

        return in_order(work, self._cells(tuple(dict.fromkeys((column, *coded)))))

    def _cells(self, names: Sequence[str], units: UnitNumbers | None = None) -> Iterator[dict[str, RawColumn]]:
        rows = self.chunk_rows or min(MAX_CHUNK_ROWS, max(_LEAST_CHUNK_ROWS, _CHUNK_CELLS // len(names)))
        for cells in self._reader.chunks(names, rows):
            if units is not None:
                on_column(units.column, units.add, cells[units.column])
            yield cells

    def _codes(self, names: Sequence[str], cells: Mapping[str, RawColumn]) -> Codes:
        return {name: on_column(name, self._encoders[name], cells[name]) for name in names}


def _cached(chunks: Iterable[Codes], storage: Storage) -> CodeCache | None:
    """Keep chunks; None where they do not fit."""
    cache = CodeCache(storage)
    return cache if all(map(cache.add, chunks)) else None


def _may_fit(rows: _Rows, storage: Storage) -> bool:
    """Return False where it is known without reading that the codes exceed the storage, or are to be read each time."""
    width = sum(min(field.domain.dtype.itemsize, PACKED.itemsize) for field in rows.fields)
    is_known = rows.known_rows is not None and storage.scratch is None
    return rows.chunk_rows is None and not (is_known and (rows.known_rows or 0) * width > storage.limit)


def _truncated(rows: _Rows, unit: Field, max_rows: int, storage: Storage) -> CodedSource:
    """Return a source with at most `max_rows` rows of each unit."""
    numbers, digest = UnitNumbers(unit), OrderDigest()
    hashes = [np.empty(0, dtype=np.uint64)]
    cache = CodeCache(storage) if _may_fit(rows, storage) else None
    for part, chunk in enumerate(rows.chunks(numbers)):
        said = row_hashes(chunk, rows.columns)
        digest.add(said)
        hashes.append(mix_hash(said, numbers.hashes(part)))
        if cache is not None and not cache.add(chunk):
            cache = None
    units = numbers.numbers()
    count = int(units.max(initial=-1)) + 1

    all_hashes = np.concatenate(hashes)
    chunks = rows.chunks if cache is None else cache.__iter__
    kept = RowSelection(kept_rows(units, all_hashes, max_rows, chunks, rows.columns), digest.value)
    cut = None if cache is None else _cached(cut_chunks(cache, kept), storage)
    if cut is None:
        if rows.is_query:  # one that gives its rows in another order is refused before anything is paid for
            deque(_Again(rows, kept).chunks(), maxlen=0)
        return _Streamed(rows, kept, count)
    again = _Again(rows, kept, cut)
    if rows.is_query:
        for column in rows.open_texts:
            deque(again.texts(column), maxlen=0)
    return _Cached(rows, cut, count, again=again)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Again:
    """Another pass over the rows that are kept; `coded` are their codes, where these are kept."""

    rows: _Rows
    kept: RowSelection | None = None
    coded: Iterable[Codes] | None = None

    def chunks(self) -> Iterator[Codes]:
        """Yield the codes of the rows."""
        return self.rows.chunks() if self.kept is None else cut_chunks(self.rows.chunks(), self.kept)

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of the rows in an opened string column."""
        if self.kept is None:
            yield from self.rows.texts(column)
        elif self.coded is not None:
            yield from self._texts_as_coded(column, self.kept.rows, self.coded)
        else:
            for texts, inside in with_kept(self.rows.texts_and_codes(column, self.rows.columns), self.kept):
                yield texts if inside.all() else texts.filter(pl.Series(inside))

    def _texts_as_coded(self, column: str, kept: np.ndarray, coded: Iterable[Codes]) -> Iterator[pl.Series]:
        """Yield the kept texts of a column, read by itself, and refuse those that have other codes than before."""
        before = np.concatenate([np.empty(0, dtype=PACKED), *(part[column] for part in coded)])
        start = known = 0
        for texts, codes in self.rows.texts_and_codes(column, (column,)):
            inside = kept[start : start + len(texts)]
            if len(inside) < len(texts):
                raise changed_rows_error()
            here = codes[column][inside]
            if not np.array_equal(here, before[known : known + len(here)]):
                raise changed_rows_error()
            start, known = start + len(texts), known + len(here)
            yield texts if inside.all() else texts.filter(pl.Series(inside))
        if start != len(kept):
            raise changed_rows_error()
