"""Folders of many files are read as one table: in order, with few open files, and a fault names its file."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lapwing.errors import DataError
from lapwing.rows import files
from lapwing.rows.files import FilesReader, FileStamps, open_file
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

SCHEMA = Schema(
    fields=(
        Field(name="n", type="integer", minimum=0, maximum=9999),
        Field(name="town", type="string", categories=("Bern", "Chur")),
    )
)


def written(folder: Path, files: int, rows: int = 3) -> pl.DataFrame:
    folder.mkdir()
    frame = pl.DataFrame({"n": range(files * rows), "town": ["Bern", "Chur", None] * (files * rows // 3)})
    for number in range(files):
        frame[number * rows : (number + 1) * rows].write_parquet(folder / f"{number:04}.parquet")
    return frame


def numbers(data: object) -> list[int]:
    return [code for chunk in code_table(data, SCHEMA).chunks() for code in chunk["n"].tolist()]


def test_many_files_are_read_in_order_with_few_of_them_open(tmp_path):
    frame = written(tmp_path / "rows", 400)
    paths = sorted((tmp_path / "rows").iterdir())
    reader = FilesReader([open_file(path) for path in paths], FileStamps(paths))
    before, most, heights = len(os.listdir("/proc/self/fd")), 0, []
    for cells in reader.chunks(["n"], 2**18):
        heights.append(len(cells["n"]))
        most = max(most, len(os.listdir("/proc/self/fd")))
    assert reader.known_rows == sum(heights) == 1200
    assert most - before < 60
    assert numbers(tmp_path / "rows") == frame["n"].to_list()


def test_small_files_are_coded_together_and_never_more_rows_than_asked(tmp_path):
    written(tmp_path / "rows", 50)
    paths = sorted((tmp_path / "rows").iterdir())
    reader = FilesReader([open_file(path) for path in paths], FileStamps(paths))
    assert [len(cells["n"]) for cells in reader.chunks(["n"], 2**18)] == [150]
    assert [len(cells["n"]) for cells in reader.chunks(["n"], 40)] == [40, 2] * 3 + [24]


def test_files_of_different_types_keep_their_order_and_their_own_reading(tmp_path):
    written(tmp_path / "rows", 6)
    pl.DataFrame({"n": ["500", "x"], "town": ["Bern", "Bern"]}).write_parquet(tmp_path / "rows" / "0002a.parquet")
    pl.DataFrame({"town": ["Chur"], "more": [1.5], "n": [77]}).write_parquet(tmp_path / "rows" / "0003a.parquet")
    (tmp_path / "rows" / "0004a.csv").write_text("town,n\nBern,88\n")
    pl.DataFrame({"n": [], "town": []}, schema={"n": pl.Int64, "town": pl.String}).write_parquet(
        tmp_path / "rows" / "0000.parquet"
    )
    assert numbers(tmp_path / "rows") == [*range(3, 9), 500, 10000, *range(9, 12), 77, *range(12, 15), 88, 15, 16, 17]


def test_the_one_file_that_cannot_be_read_is_named(tmp_path):
    folder = tmp_path / "rows"
    written(folder, 5, rows=3000)
    bad = folder / "0003.parquet"
    whole = bytearray(bad.read_bytes())
    whole[8 : len(whole) // 2] = np.random.default_rng(1).bytes(len(whole) // 2 - 8)
    bad.write_bytes(whole)
    source = code_table(folder, SCHEMA, chunk_rows=100)
    with pytest.raises(DataError) as found:
        list(source.chunks())
    assert str(found.value).startswith(f"file {quote(str(bad))} cannot be read as Parquet")
    assert found.value.__context__ is None


def test_wide_files_are_read_in_parts_and_give_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_WINDOW_BYTES", 8 * 100 * 60)  # 60 rows of 100 columns
    names = [f"n{column}" for column in range(100)]
    frame = pl.DataFrame(np.arange(90)[:, None] + np.arange(100), names)
    frame[:80].write_parquet(tmp_path / "one.parquet", row_group_size=80)
    frame[80:].write_parquet(tmp_path / "two.parquet")
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    reader = FilesReader([open_file(path) for path in paths], FileStamps(paths))

    parts = [cells["n99"].values for cells in reader.chunks(names, 2**18)]

    assert [len(part) for part in parts] == [60, 20, 10]
    assert np.concatenate(parts).tolist() == frame["n99"].to_list()


READ = """
import sys
from pathlib import Path
from lapwing.rows.files import open_file
def peak():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) // 1024
file = open_file(Path(sys.argv[1]))
before = peak()
rows = sum(len(cells["n0"]) for cells in file.chunks(file.names, 2**14))
print(rows, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_a_wide_file_of_one_row_group_is_not_held_in_memory(tmp_path):
    same = pl.Series(np.arange(2**18) % 7)
    pl.DataFrame({f"n{column}": same for column in range(600)}).write_parquet(tmp_path / "wide.parquet")

    done = subprocess.run([sys.executable, "-c", READ, tmp_path / "wide.parquet"], capture_output=True, check=True)

    rows, megabytes = map(int, done.stdout.split())
    assert rows == 2**18
    assert megabytes < 700  # all cells at once are 1,258, and with what is read ahead more
