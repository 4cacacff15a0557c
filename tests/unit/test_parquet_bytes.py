"""Cells of typed files that are no UTF-8, which Polars refuses: misfits, or names of units, and never an error."""

import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lapwing.errors import DataError
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "who", "type": "string", "role": "identifier"},
    {"name": "town", "type": "string", "categories": ["Bern", "Chur"]},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
    {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
]
ROWS = Schema.from_dict({"fields": FIELDS})
UNITS = Schema.from_dict({"fields": FIELDS, "privacyUnit": {"field": "who", "maxRows": 1}})
ODD = [b"\xff\xfe", b"Bern\xff", b"\xce"]


def rows(count, odd):
    """Return rows as bytes; those at some places have cells that are no text."""
    rng = np.random.default_rng(count)
    who = [b"p%d" % number for number in rng.integers(0, count // 3, count)]
    town = [[b"Bern", b"Chur", b"Uri", None][number] for number in rng.integers(0, 4, count)]
    for place in odd:
        who[place], town[place] = ODD[place % 3], ODD[place % 2]
    age = rng.integers(0, 12, count)
    day = pl.Series(18_262 + 50 * age).cast(pl.Int32).cast(pl.Date)  # from 2020 on
    return pl.DataFrame({"who": who, "town": town, "age": age, "day": day})


def as_text(frame, path, **written):
    """Write the bytes as what a file calls text; one that ends in .ipc in Arrow's stream form."""
    table = frame.to_arrow()
    for name in ("who", "town"):
        cells = table[name].cast(pa.binary()).combine_chunks().view(pa.string())
        table = table.set_column(table.schema.get_field_index(name), name, cells)
    if path.suffix == ".parquet":
        pq.write_table(table, path, **written)
    else:
        form = pa.ipc.new_stream if path.suffix == ".ipc" else pa.ipc.new_file
        with form(path, table.schema) as file:
            file.write_table(table, 100)
    return path


def read(data, schema, chunk_rows):
    source = code_table(data, schema, chunk_rows=chunk_rows)
    return {name: np.concatenate([each[name] for each in source.chunks()]).tolist() for name in source.columns}


@pytest.mark.parametrize("chunk_rows", [None, 7, 300])
@pytest.mark.parametrize("schema", [ROWS, UNITS], ids=["rows", "units"])
@pytest.mark.parametrize("odd", [[0], [599], [0, 250, 251, 599]], ids=str)
def test_a_file_has_the_codes_of_its_bytes_wherever_the_odd_cells_stand(odd, schema, chunk_rows, tmp_path):
    frame = rows(600, odd)
    path = as_text(frame, tmp_path / "rows.parquet", row_group_size=100, use_dictionary=len(odd) > 1)

    assert read(path, schema, chunk_rows) == read(frame, schema, None)


@pytest.mark.parametrize("chunk_rows", [None, 7, 300])
@pytest.mark.parametrize("schema", [ROWS, UNITS], ids=["rows", "units"])
@pytest.mark.parametrize("suffix", ["arrow", "ipc"])
def test_so_has_an_arrow_file_and_a_stream(suffix, schema, chunk_rows, tmp_path):
    frame = rows(600, [0, 250, 251, 599])

    assert read(as_text(frame, tmp_path / f"rows.{suffix}"), schema, chunk_rows) == read(frame, schema, None)


@pytest.mark.parametrize("chunk_rows", [None, 7, 300])
@pytest.mark.parametrize("schema", [ROWS, UNITS], ids=["rows", "units"])
@pytest.mark.parametrize("suffix", ["parquet", "ipc"])
def test_so_have_several_files_of_which_some_hold_such_cells(suffix, schema, chunk_rows, tmp_path):
    parts = [rows(count, odd) for count, odd in ((60, []), (90, [40]), (120, []), (33, [0, 32]))]
    paths = [as_text(part, tmp_path / f"{at}.{suffix}") for at, part in enumerate(parts)]

    assert read(paths, schema, chunk_rows) == read(pl.concat(parts), schema, None)


def test_without_pyarrow_such_a_file_is_refused(tmp_path, monkeypatch):
    path = as_text(rows(60, [3]), tmp_path / "rows.parquet")
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(DataError, match=r"cannot be read as Parquet \(it is damaged"):
        read(path, ROWS, None)
