"""The coded rows of two linked tables: one row for each parent, and the children joined with their parent's columns.

The only place where rows of two tables meet. All of it is a function of the rows of one key alone, so that adding or
removing these changes one parent row and at most K child rows, and nothing else; see `code_linked`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from lapwing.errors import DataError, ParameterError
from lapwing.rows.codec import encoder, without_misfits
from lapwing.rows.counting import CodedSource, Codes, KeyedColumn, Table, count_keys, count_tables
from lapwing.rows.engines.frames import on_column
from lapwing.rows.layouts import Layout, layout_of
from lapwing.rows.readers import open_table
from lapwing.rows.source import MAX_CHUNK_ROWS
from lapwing.rows.units import UnitNumbers, kept_rows, mixed, row_hashes
from lapwing.schema.linked import LinkedSchema
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.schema.unit import PrivacyUnit

_READ: Final = 2**16


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CodedPair:
    """The private rows of two linked tables, by ``schema.counted`` and ``schema.joined``."""

    parent: CodedSource
    child: CodedSource
    parent_layout: Layout
    child_layout: Layout


def code_linked(parent: object, child: object, schema: LinkedSchema) -> CodedPair:
    """Return the rows of two linked tables as codes; joined rows are made chunk by chunk. Private.

    - Of the parent rows of a key one is used, of its child rows at most K, each those of the smallest public hash;
    - the number of children is the number of child rows that are used, 0 to K;
    - child rows whose key has no parent row are not used: removing other keys cannot give them one;
    - rows without a key are those of one more key, as everywhere.
    """
    # One numbering for both tables: what is one key in one is the same key in the other.
    units = UnitNumbers(schema.parent.field(schema.key))
    parents = _told("parent", parent, schema.parent, units)
    children = _told("child", child, schema.child, units)
    numbers = units.numbers()
    of_parents, of_children = numbers[: parents.rows], numbers[parents.rows :]

    first = parents.kept(of_parents, 1)
    place = np.full(int(numbers.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[of_parents[first]] = np.arange(np.count_nonzero(first))
    used = children.kept(of_children, schema.max_children) & (place[of_children] >= 0)
    parent_of = place[of_children[used]]
    counts = np.bincount(parent_of, minlength=np.count_nonzero(first))

    dtype = schema.count_field.domain.dtype
    counted = {**parents.taken(first), schema.count: counts.astype(dtype)}
    names = schema.joined_names
    given = {names[name]: codes for name, codes in counted.items()}
    return CodedPair(
        parent=_Joined(schema.counted, counted, {}, np.empty(0, dtype=np.int64)),
        child=_Joined(schema.joined, children.taken(used), given, parent_of),
        parent_layout=parents.layout,
        child_layout=children.layout,
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CodedRows:
    """All rows of one table in code, and their hashes where they have a key. Private."""

    codes: Codes
    hashes: np.ndarray
    layout: Layout

    @classmethod
    def of(cls, data: object, schema: Schema, units: UnitNumbers | None) -> "CodedRows":
        """Read a table once, and hand the key of every row to `units`, if rows have one."""
        key = () if units is None else (units.column,)
        reader = open_table(data, replace(schema, privacy_unit=PrivacyUnit(key[0], 1)) if key else schema)
        encoders = {field.name: encoder(field, apart=True) for field in schema.columns}
        names = tuple(encoders)
        parts: list[Codes] = [{field.name: np.empty(0, dtype=field.domain.dtype) for field in schema.columns}]
        hashes = [np.empty(0, dtype=np.uint64)]
        for cells in reader.chunks(tuple(dict.fromkeys((*names, *key))), _READ):
            parts.append({name: on_column(name, encode, cells[name]) for name, encode in encoders.items()})
            if units is not None:
                on_column(units.column, units.add, cells[units.column])
                hashes.append(mixed(row_hashes(parts[-1], names), units.hashes(-1)))
        codes = {name: np.concatenate([part[name] for part in parts]) for name in names}
        return cls(codes, np.concatenate(hashes), layout_of(data, reader.kind, schema))

    @property
    def rows(self) -> int:
        """Number of rows. Private."""
        return len(next(iter(self.codes.values())))

    def kept(self, units: np.ndarray, max_rows: int) -> np.ndarray:
        """Return which rows stay when each key keeps so many, by its own rows alone: ndarray of bool."""
        return kept_rows(units, self.hashes, max_rows, lambda: [self.codes], tuple(self.codes))

    def taken(self, rows: np.ndarray) -> Codes:
        """Return the codes of some rows."""
        return {name: codes[rows] for name, codes in self.codes.items()}


def _told(what: str, data: object, schema: Schema, units: UnitNumbers) -> CodedRows:
    """Read one of the tables; an error about it says which it is."""
    try:
        return CodedRows.of(data, schema, units)
    except DataError as error:
        said, code = f"{what}: {error}", error.code
    raise DataError(said, code=code)


class _Joined:
    """Codes in memory: those of rows, and those of the parents that rows belong to."""

    __slots__ = ("_fields", "_given", "_own", "_parent_of", "columns", "rows", "units")

    def __init__(self, schema: Schema, own: Codes, given: Codes, parent_of: np.ndarray) -> None:
        self._own = own
        self._given = given
        self._parent_of = parent_of
        self._fields = schema.columns
        self.columns = tuple(field.name for field in schema.columns)
        self.rows = len(next(iter(own.values())))
        self.units = len(np.unique(parent_of)) if given else self.rows

    def chunks(self, *, apart: bool = False) -> Iterator[Codes]:
        chunks = self._apart()
        return chunks if apart else without_misfits(chunks, self._fields)

    def _apart(self) -> Iterator[Codes]:
        for start in range(0, self.rows, MAX_CHUNK_ROWS):
            part = slice(start, start + MAX_CHUNK_ROWS)
            parents = self._parent_of[part]
            own = {name: codes[part] for name, codes in self._own.items()}
            yield own | {name: codes[parents] for name, codes in self._given.items()}

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        return count_tables(self._apart(), tables)

    def count_keys(self, columns: Sequence[KeyedColumn]) -> tuple[np.ndarray, np.ndarray]:
        return count_keys(self._apart(), columns)

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Refuse: the lists of linked tables are known."""
        raise ParameterError(
            f"column {quote(column)}: linked tables give no texts; learn lists from each table", code="LW704"
        )
