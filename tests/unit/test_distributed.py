"""What workers do with their part of a table is what this process does with the whole."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from lapwing.errors import DataError
from lapwing.extras.spark import distributed
from lapwing.extras.spark.distributed import (
    RowCoder,
    UnitRows,
    cells_counted,
    check_installed,
    cut_sorted,
    installed_versions,
    joined,
    pack_rows,
    record_type,
    tables_of_cells,
    unpack_rows,
)
from lapwing.rows.counting import KeyedColumn, count_keys, count_tables, keys_of_parts
from lapwing.rows.frames import polars_reader
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "who", "type": "string", "role": "identifier"},
            {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
            {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
            {"name": "year", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}},
        ],
        "privacyUnit": {"field": "who", "maxRows": 3},
    }
)
COLUMNS = ("size", "kind", "year")


def people(rows, units, seed):
    """Return a table in which some cells are missing or no values, and some persons have many rows."""
    rng = np.random.default_rng(seed)
    who = np.minimum(rng.geometric(2 / units, rows), units)
    return pl.DataFrame(
        {
            "who": [None if each % 5 == 4 else f"{each}.0" if each % 3 else str(each) for each in who],
            "size": rng.integers(0, 3, rows) / 2,
            "kind": rng.choice(["a", "b", "c", "d"], rows),
            "year": rng.integers(0, 3, rows) * 500,
        }
    )


def coded_parts(frame, parts):
    """Return the rows of a frame with their units, coded in parts."""
    coder = RowCoder(SCHEMA)
    for rows in np.array_split(np.arange(frame.height), parts):
        for cells in polars_reader(frame[rows]).chunks(coder.read, max(1, len(rows))):
            yield coder.unit_rows(cells)


def as_multiset(codes):
    """Return coded rows in an order of their own."""
    return sorted(zip(*(each.tolist() for each in codes.values()), strict=True))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("height", [1, 11, 1000])
def test_parts_of_sorted_units_keep_the_rows_of_the_whole_table(seed, height):
    frame = people(400, 40, seed)
    found = joined(list(coded_parts(frame, 7)))
    order = np.lexsort((*found.codes.values(), found.hashes, found.numbers))
    codes = {name: each[order] for name, each in found.codes.items()}
    sorted_rows = UnitRows(found.units[order], found.hashes[order], codes)
    parts = [sorted_rows.taken(np.arange(400) // height == part) for part in range(400 // height + 1)]

    kept = list(cut_sorted(parts, 3))

    whole = code_table(frame, SCHEMA)
    expected = as_multiset(joined_codes(whole.chunks(apart=True)))
    assert as_multiset(joined(kept).codes) == expected
    assert sum(part.count for part in kept) == whole.units
    assert all(units.unique_counts().max() <= 3 for part in kept if len(units := part.units))


def joined_codes(chunks):
    """Return the codes of several chunks as one."""
    chunks = list(chunks)
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in COLUMNS}


def test_memory_of_a_cut_is_that_of_a_part_and_not_of_a_unit():
    one = {"a": np.arange(1000) % 50}
    parts = (UnitRows(pl.Series(["x"] * 1000), one["a"].astype(np.uint64), one) for _ in range(50))

    # Nothing of a unit is given before its last row is known, so each part is cut as it comes.
    heights = [len(part.units) for part in cut_sorted(parts, 7)]

    assert heights == [0] * 50 + [7]


def test_codes_are_the_same_after_they_were_packed():
    record = record_type(SCHEMA)
    codes = {
        "size": np.array([0, 2**40, 7], dtype=SCHEMA.field("size").domain.dtype),
        "kind": np.array([3, 0, 1], dtype=SCHEMA.field("kind").domain.dtype),
        "year": np.array([999, 1000, 0], dtype=SCHEMA.field("year").domain.dtype),
    }

    found = unpack_rows(pack_rows(codes, record).tobytes(), record, COLUMNS)

    assert {name: (each.dtype, each.tolist()) for name, each in found.items()} == {
        name: (each.dtype, each.tolist()) for name, each in codes.items()
    }
    assert record.itemsize == sum(each.itemsize for each in codes.values())
    assert all(each.flags.c_contiguous for each in found.values())


def test_counts_of_parts_sum_to_the_counts_of_all_rows():
    kind, year = (identity(SCHEMA.field(name).domain) for name in ("kind", "year"))
    tables = [(("kind", kind),), (), (("year", year), ("kind", kind))]
    chunks = [part.codes for part in coded_parts(people(200, 40, 1), 6)]

    parts = [cells_counted([chunk], tables) for chunk in chunks]
    found = tables_of_cells(tables, parts)

    assert [each.tolist() for each in found] == [each.tolist() for each in count_tables(chunks, tables)]
    assert all((counts > 0).all() for _, counts in parts)
    assert tables_of_cells([], []) == []
    assert [len(each) for each in tables_of_cells(tables, [])] == [kind.groups, 1, kind.groups * year.groups]


@pytest.mark.parametrize("words", [1, 2])
def test_keys_of_parts_are_the_keys_of_all_rows(words):
    grouping = identity(SCHEMA.field("kind").domain)
    keys = np.zeros((grouping.groups, words), dtype=np.uint64)
    keys[:, -1] = [2**63 + 1, 5, 2**63, 9]
    keys[:, 0] += np.array([1, 0, 1, 0], dtype=np.uint64)
    columns = [KeyedColumn("kind", grouping, keys)]
    chunks = [part.codes for part in coded_parts(people(200, 40, 1), 6)]

    found = keys_of_parts([count_keys([chunk], columns) for chunk in chunks], words)

    expected = count_keys(chunks, columns)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert [each.shape for each in keys_of_parts([], words)] == [(words, 0), (0,)]


def test_a_worker_of_another_version_refuses_to_work(monkeypatch):
    here = installed_versions()
    check_installed(here)
    monkeypatch.setattr(distributed, "pl", SimpleNamespace(__version__="0.1"))

    with pytest.raises(DataError, match=r"^a worker runs another version of Lapwing, Polars or NumPy than this"):
        check_installed(here)


def test_counts_of_parts_may_be_as_large_as_64_bits_hold():
    flag = identity(Field(name="flag", type="boolean", required=True).domain)
    parts = [(np.array([1]), np.array([2**31 - 1])), (np.array([1]), np.array([2**40]))]
    keys = [(np.array([[7]], dtype=np.uint64), counts) for _, counts in parts]

    assert tables_of_cells([(("flag", flag),)], parts)[0].tolist() == [0, 2**31 - 1 + 2**40, 0][: flag.groups]
    assert keys_of_parts(keys, 1)[1].tolist() == [2**31 - 1 + 2**40]
