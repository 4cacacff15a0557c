"""The coded rows of linked tables: each with its place among the rows of its parent, the row before, and its parents.

The only place where rows of several tables, or several rows of a person, meet. All of it is a function of the rows of
one unit alone: adding these changes one row of the first table, and of others at most the ``maxRows`` on the way.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from lapwing.errors import DataError, ParameterError
from lapwing.rows.codec import encoder, without_misfits
from lapwing.rows.counting import CodedSource, Codes, KeyedColumn, Table, count_keys, count_tables, height
from lapwing.rows.entry import source_of
from lapwing.rows.frames import on_column
from lapwing.rows.kinds import FrameLayout
from lapwing.rows.layouts import layout_of
from lapwing.rows.source import MAX_CHUNK_ROWS
from lapwing.rows.units import UnitNumbers, kept_rows, mix_hash, places, row_hashes
from lapwing.schema.fields import Field
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.linked.tables import LinkedTable, RowOrder
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

_READ: Final = 2**16
_NONE: Final = -1
"""The row above, or before, that is not there."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinkedTableRows:
    """The private rows of one linked table, by ``schema.coded``, and how it was given."""

    source: CodedSource
    layout: FrameLayout


def code_linked(data: Mapping[str, object], schema: LinkedTables) -> dict[str, LinkedTableRows]:
    """Return the rows of linked tables as codes; what rows say of others is put together chunk by chunk. Private.

    - Of the rows of a key of the first table one is used; of a table's rows that belong to one row of its parent at
      most ``maxRows``, and of those that say the same key one; each those of the smallest public hash of key and codes,
      whatever their order;
    - rows of a parent are put in order, by the column of the order or else by that hash, only when these are chosen;
    - the number of rows is that of the rows that are used, 0 to ``maxRows``;
    - rows whose parent is not used are not used. A row without the key of a parent is of one more key where the parent
      is the first table, and has no parent elsewhere. A key that stands in rows of two units has its rows in both.
    """
    read = _read(data, schema)
    kept: dict[str, _Kept] = {}
    for table in schema.tables:
        rows, above = read[table.name], None if table.parent is None else kept[table.parent]
        kept[table.name] = _first(rows) if above is None else _of_parents(table, rows, above)
    counted = {name: _with_counts(schema, name, kept) for name in schema.names}
    return {name: _coded(schema, name, kept, counted) for name in schema.names}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CodedRows:
    """All rows of one table in code, and their hashes where they have a key. Private."""

    codes: Codes
    hashes: np.ndarray
    layout: FrameLayout

    @classmethod
    def of(cls, data: object, schema: Schema, fields: Sequence[Field], keys: Mapping[str, UnitNumbers]) -> "CodedRows":
        """Read some columns of a table once, and have the keys of every row numbered, which go into its hash."""
        names = tuple(field.name for field in fields)
        source = source_of(data)
        reader = source.open(schema, (*names, *keys), is_paid=True)
        encoders = {field.name: encoder(field, apart=True) for field in fields}
        parts: list[Codes] = [{field.name: np.empty(0, dtype=field.domain.dtype) for field in fields}]
        hashes = [np.empty(0, dtype=np.uint64)]
        for cells in reader.chunks(tuple(dict.fromkeys((*names, *keys))), _READ):
            parts.append({name: on_column(name, encode, cells[name]) for name, encode in encoders.items()})
            said = row_hashes(parts[-1], names) if names else np.zeros(height(cells), dtype=np.uint64)
            for key, numbers in keys.items():
                on_column(key, numbers.add, cells[key])
                # Two parents choose among equal rows by themselves, and rows of other keys are never equal.
                said = mix_hash(said, numbers.hashes(-1))
            hashes.append(said)
        codes = {name: np.concatenate([part[name] for part in parts]) for name in names}
        return cls(codes, np.concatenate(hashes), layout_of(source, schema))

    @property
    def rows(self) -> int:
        """Number of rows. Private."""
        return len(self.hashes)

    def kept(self, units: np.ndarray, max_rows: int, rows: np.ndarray | None = None) -> np.ndarray:
        """Return which rows, all or those asked about, stay when each key keeps so many, by its own rows alone."""
        of = np.arange(self.rows) if rows is None else rows
        codes = self.taken(of) or {"none": np.zeros(len(of), np.uint8)}
        return kept_rows(units, self.hashes[of], max_rows, lambda: [codes], tuple(codes))

    def taken(self, rows: np.ndarray) -> Codes:
        """Return the codes of some rows."""
        return {name: codes[rows] for name, codes in self.codes.items()}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Read:
    """All rows of a table, the number of each row's parent by its key, and that of its own key."""

    rows: CodedRows
    parents: np.ndarray | None
    keys: np.ndarray | None
    lacks_key: np.ndarray | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Kept:
    """The rows of a table that are used, in order."""

    codes: Codes
    parents: np.ndarray  # the place of each row's parent among those that are used
    place: np.ndarray  # among the rows of its parent, from 0
    keys: np.ndarray  # the number of each row's own key, `_NONE` where it has none
    layout: FrameLayout
    unmet: int = 0  # rows that would be used if the table above had a row of their key

    @property
    def rows(self) -> int:
        return len(self.parents)


# -- Reading: one numbering for each key, so that what is one key in one table is the same key in the others.


def _read(data: Mapping[str, object], schema: LinkedTables) -> dict[str, _Read]:
    """Read all tables, each once."""
    if schema.is_events:
        return _read_events(data, schema)
    numbering = {
        table.name: UnitNumbers(table.schema.field(table.key)) for table in schema.tables if table.key is not None
    }
    rows: dict[str, CodedRows] = {}
    parts: dict[tuple[str, str], slice] = {}
    for table in schema.tables:
        keys = {} if table.parent is None or table.link is None else {table.link: table.parent}
        keys |= {} if table.key is None else {table.key: table.name}
        before = {of: numbering[of].rows for of in keys.values()}
        numbers = {key: numbering[of] for key, of in keys.items()}
        rows[table.name] = _read_named(schema, table.name, data[table.name], numbers, table.own)
        parts |= {(of, table.name): slice(before[of], numbering[of].rows) for of in keys.values()}
    found = {of: (each.numbers(), each.is_none) for of, each in numbering.items()}

    def number(table: LinkedTable) -> _Read:
        own, above = parts.get((table.name, table.name)), parts.get((table.parent or "", table.name))
        numbers, is_none = found.get(table.name, (None, None))
        return _Read(
            rows[table.name],
            None if above is None or table.parent is None else found[table.parent][0][above],
            None if own is None or numbers is None else numbers[own],
            None if own is None or is_none is None or table.parent is None else is_none[own],
        )

    return {table.name: number(table) for table in schema.tables}


def _read_events(data: Mapping[str, object], schema: LinkedTables) -> dict[str, _Read]:
    """Read one table of events: the rows of the first table are made of it, one for each row here."""
    first, events = schema.tables
    units = UnitNumbers(first.schema.field(schema.key))
    rows = _read_named(schema, events.name, data[events.name], {units.column: units}, (*events.own, *first.own))
    numbers = units.numbers()
    persons = {field.name: rows.codes.pop(field.name) for field in first.own}
    return {
        first.name: _Read(replace(rows, codes=persons), None, numbers, None),
        events.name: _Read(rows, numbers, None, None),
    }


def _read_named(
    schema: LinkedTables, name: str, data: object, keys: Mapping[str, UnitNumbers], fields: Sequence[Field]
) -> CodedRows:
    """Read some columns of a table; an error about it says which it is."""
    try:
        return CodedRows.of(data, schema.as_written(name), fields, keys)
    except DataError as error:
        said, code = str(error) if schema.is_events else f"{name}: {error}", error.code
    raise DataError(said, code=code)


# -- Choosing rows, by the rows of one unit alone.


def _first(read: _Read) -> _Kept:
    """Keep one row of each key."""
    assert read.keys is not None
    chosen = np.flatnonzero(read.rows.kept(read.keys, 1))
    chosen = chosen[np.argsort(read.keys[chosen], kind="stable")]
    none = np.full(len(chosen), _NONE)
    return _Kept(read.rows.taken(chosen), none, np.zeros(len(chosen), np.int64), read.keys[chosen], read.rows.layout)


def _of_parents(table: LinkedTable, read: _Read, above: _Kept) -> _Kept:
    """Keep at most ``maxRows`` rows of each row of the parent, and put them in order."""
    assert read.parents is not None
    rows = np.arange(read.rows.rows) if read.keys is None else _one_of_each_key(read)
    # Before they are joined: many parents may have one key, and each of them the same rows.
    rows = rows[read.rows.kept(read.parents[rows], table.max_rows, rows)]
    unmet = len(rows) - int(np.count_nonzero(np.isin(read.parents[rows], above.keys)))
    rows, parents = _joined(rows, read.parents[rows], above.keys)
    order = _in_order(table.order, read.rows, rows, parents, table.schema)
    rows, parents = rows[order], parents[order]
    place = places(np.diff(parents, prepend=_NONE) != 0) if len(rows) else np.zeros(0, np.int64)
    keys = np.full(len(rows), _NONE)
    if read.keys is not None and read.lacks_key is not None:
        keys = np.where(read.lacks_key[rows], _NONE, read.keys[rows])
    return _Kept(read.rows.taken(rows), parents, place, keys, read.rows.layout, unmet)


def _joined(rows: np.ndarray, keys: np.ndarray, of_parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair of a row and a parent of its key: row numbers and places of parents."""
    by_key = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[by_key], of_parents, side="left")
    counts = np.where(of_parents == _NONE, 0, np.searchsorted(keys[by_key], of_parents, side="right") - starts)
    parents = np.repeat(np.arange(len(of_parents)), counts)
    within = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows[by_key[np.repeat(starts, counts) + within]], parents


def _one_of_each_key(read: _Read) -> np.ndarray:
    """Return one row of each key and key of a parent; rows without a key are all of their own."""
    assert read.parents is not None
    assert read.keys is not None
    assert read.lacks_key is not None
    own = np.where(read.lacks_key, read.keys.max(initial=0) + 1 + np.arange(read.rows.rows), read.keys)
    _, pairs = np.unique(np.stack((read.parents, own)), axis=1, return_inverse=True)
    return np.flatnonzero(read.rows.kept(pairs.reshape(-1), 1))


def _in_order(
    order: RowOrder | None, table: CodedRows, rows: np.ndarray, parents: np.ndarray, schema: Schema
) -> np.ndarray:
    """Return rows by parent, by the column of the order (cells without a place last), then by hash and codes."""
    keys = [table.codes[name][rows] for name in reversed(table.codes)]
    keys.append(table.hashes[rows])
    if order is not None:
        keys.append(steps_of(table.codes[order.by][rows], schema.field(order.by), descending=order.descending))
    return np.lexsort((*keys, parents))


def steps_of(codes: np.ndarray, field: Field, *, descending: bool) -> np.ndarray:
    """Return the place of codes in an order, from 0; those of missing and special cells come behind all others."""
    values, found = field.domain.values, codes.astype(np.int64)
    return np.where(found >= values, found, values - 1 - found) if descending else found


# -- Coded rows: what rows say of others.


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Block:
    """Some columns of coded rows: codes, by the row of each where they are of other rows, and what none is."""

    codes: Codes
    rows: np.ndarray | None
    none: Mapping[str, int] | None = None

    def part(self, part: slice) -> Codes:
        """Return the codes of some rows."""
        if self.rows is None:
            return {name: codes[part] for name, codes in self.codes.items()}
        rows = self.rows[part]
        found = {name: codes[rows] for name, codes in self.codes.items()}
        for name, code in (self.none or {}).items():
            found[name][rows == _NONE] = code
        return found


def _with_counts(schema: LinkedTables, name: str, kept: Mapping[str, _Kept]) -> Codes:
    """Return the codes of a table's schema: its own columns, and the numbers of rows of its child tables."""
    found, rows = dict(kept[name].codes), kept[name].rows
    for below in schema.below(name):
        counts = np.bincount(kept[below.name].parents, minlength=rows)
        found[below.count] = counts.astype(schema.table(name).schema.field(below.count).domain.dtype)
    return found


def _coded(schema: LinkedTables, name: str, kept: Mapping[str, _Kept], counted: Mapping[str, Codes]) -> LinkedTableRows:
    """Return the coded rows of one table."""
    coded, own = schema.coded[name], kept[name]
    blocks = [_Block(counted[name], None)]
    blocks += _lagged(schema, name, own)
    rows = np.arange(own.rows)
    names = schema.given_names(name)
    below = name
    units = own.rows
    for above in schema.above(name):
        rows = kept[below].parents[rows]
        given = {called: counted[of][column] for (of, column), called in names.items() if of == above.name}
        blocks.append(_Block(given, rows))
        below = above.name
    if below != name:
        units = len(np.unique(rows))
    # Further down a unit may have any number of rows that belong to no row that is used.
    unmet = own.unmet if schema.table(name).parent == schema.names[0] else 0
    return LinkedTableRows(_Linked(coded, blocks, own.rows, units, unmet), own.layout)


def _lagged(schema: LinkedTables, name: str, own: _Kept) -> list[_Block]:
    """Return what the rows of a table say of the row before."""
    lag, coded, table = schema.lag(name), schema.coded[name], schema.table(name)
    if lag is None:
        return []
    before = np.where(own.place == 0, _NONE, np.arange(own.rows) - 1)
    second = np.where(own.place < 2, _NONE, np.arange(own.rows) - 2)
    left = np.bincount(own.parents)[own.parents] - own.place - 1
    places_of = {lag.number: own.place, lag.left: left}
    found = [_Block({name: each.astype(coded.field(name).domain.dtype) for name, each in places_of.items()}, None)]
    for rows, names in ((before, lag.previous), (second, lag.second)):
        codes = {
            called: _before(own.codes[each], table.schema.field(each), coded.field(called))
            for each, called in names.items()
        }
        found.append(_Block(codes, rows, {called: coded.field(called).domain.last for called in names.values()}))
    if lag.gap is not None:
        found.append(_Block({lag.gap: _gaps(table, own, before, coded.field(lag.gap))}, None))
    return found


def _before(codes: np.ndarray, field: Field, before: Field) -> np.ndarray:
    """Return codes as those of the row before, where a cell may be missing; a misfit stays one."""
    domain = before.domain
    found = codes if field.domain.missing else np.where(codes == field.domain.last, domain.misfit, codes)
    return found.astype(domain.dtype)


def _gaps(table: LinkedTable, own: _Kept, before: np.ndarray, gap: Field) -> np.ndarray:
    """Return the steps from each row's predecessor in the column of the order; rows without a place come last."""
    assert table.order is not None
    field = table.schema.field(table.order.by)
    steps = steps_of(own.codes[table.order.by], field, descending=table.order.descending)
    has_place = steps < field.domain.values
    found = np.where(has_place, steps - steps[before], gap.domain.last)
    found = np.where(has_place[before], found, gap.domain.values)  # the one special value: no place before
    return np.where(before == _NONE, gap.domain.last, found).astype(gap.domain.dtype)


class _Linked:
    """Codes in memory: those of rows, and those of the rows before and above them."""

    __slots__ = ("_blocks", "_fields", "columns", "rows", "units", "unmet")

    def __init__(self, schema: Schema, blocks: Sequence[_Block], rows: int, units: int, unmet: int) -> None:
        self._blocks = blocks
        self._fields = schema.columns
        self.columns = tuple(field.name for field in schema.columns)
        self.rows = rows
        self.units = units
        self.unmet = unmet

    def chunks(self, *, apart: bool = False) -> Iterator[Codes]:
        chunks = self._apart()
        return chunks if apart else without_misfits(chunks, self._fields)

    def _apart(self) -> Iterator[Codes]:
        for start in range(0, self.rows, MAX_CHUNK_ROWS):
            part = slice(start, min(start + MAX_CHUNK_ROWS, self.rows))
            found: Codes = {}
            for block in self._blocks:
                found |= block.part(part)
            yield {name: found[name] for name in self.columns}

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        return count_tables(self._apart(), tables)

    def count_keys(self, columns: Sequence[KeyedColumn]) -> tuple[np.ndarray, np.ndarray]:
        return count_keys(self._apart(), columns)

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Refuse: the lists of linked tables are known."""
        raise ParameterError(
            f"column {quote(column)}: linked tables give no texts; learn lists from each table", code="LW704"
        )
