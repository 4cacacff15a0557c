"""Codes that do not fit in memory: in a file of the folder that `LAPWING_SCRATCH` names, which nobody finds."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import DataError
from lapwing.rows.source import _Cached, _Streamed, code_table, coded_table
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
    {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 1000}},
    {"name": "town", "type": "string", "categories": ["York", "Leeds"]},
]
UNIT = {"name": "person", "type": "integer", "role": "identifier"}
SCHEMAS = {
    "rows": Schema.from_dict({"fields": FIELDS}),
    "persons": Schema.from_dict({"fields": [*FIELDS, UNIT], "privacyUnit": {"field": "person", "maxRows": 2}}),
}


def table(rows):
    rng = np.random.default_rng(rows)
    return pl.DataFrame(
        {
            "age": rng.integers(-1, 130, rows),
            "pay": rng.uniform(0, 1100, rows),
            "town": rng.choice(["York", "Leeds", "Hull"], rows),
            "person": rng.integers(0, rows // 2 + 1, rows),
        }
    )


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("memory", [0, 10_000, 10**9])
def test_codes_in_a_file_are_those_of_memory(schema, memory, tmp_path, monkeypatch):
    monkeypatch.setattr("lapwing.rows.source.MAX_CHUNK_ROWS", 300)
    frame, fields = table(2000), SCHEMAS[schema]
    kept, filed = code_table(frame, fields), code_table(frame, fields, memory=memory, scratch=str(tmp_path))
    tables = [tuple((name, identity(fields.field(name).domain)) for name in ("age", "town"))]

    assert isinstance(filed, _Cached)
    assert isinstance(code_table(frame, fields, memory=0), _Streamed)
    for _ in range(2):  # passes
        for one, other in zip(kept.chunks(apart=True), filed.chunks(apart=True), strict=True):
            assert {name: (codes.dtype, codes.tolist()) for name, codes in one.items()} == {
                name: (codes.dtype, codes.tolist()) for name, codes in other.items()
            }
    assert kept.count(tables)[0].tolist() == filed.count(tables)[0].tolist()
    assert (kept.rows, kept.units) == (filed.rows, filed.units)
    assert list(tmp_path.iterdir()) == []


def test_a_release_reads_its_table_once_where_codes_are_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("lapwing.rows.cache.CACHE_BYTES", 0)
    reads = []
    chunks = lw.rows.source._Rows.chunks
    monkeypatch.setattr("lapwing.rows.source._Rows.chunks", lambda self, *more: reads.append(1) or chunks(self, *more))

    def passes():
        reads.clear()
        lw.synthesize(table(500), SCHEMAS["rows"], epsilon=1, mechanism="Adaptive", misfits=1)
        return len(reads)

    without = passes()
    monkeypatch.setenv("LAPWING_SCRATCH", str(tmp_path))

    assert without > passes() == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [1, 1000])
def test_a_folder_that_is_not_there_is_refused_however_few_rows_there_are(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("LAPWING_SCRATCH", str(tmp_path / "gone"))

    with (
        pytest.raises(DataError, match=r"LAPWING_SCRATCH: codes cannot be kept in the folder .*gone") as error,
        coded_table(table(rows), SCHEMAS["rows"]),
    ):
        pass

    assert error.value.code == "LW115"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_the_release_with_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: open("/dev/full", "w+b", buffering=0))  # noqa: SIM115

    with pytest.raises(DataError, match=r"cannot be kept in the folder .* \(No space left on device\)"):
        code_table(table(100), SCHEMAS["rows"], memory=0, scratch=str(tmp_path))


CHILD = """
import os, signal, sys
import lapwing.rows.cache as cache
from lapwing.rows.source import code_table
from test_code_cache import SCHEMAS, table
source = code_table(table(2000), SCHEMAS["rows"], memory=0, scratch=sys.argv[1])
names = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd") if number.isdigit()
         and os.path.exists(f"/proc/self/fd/{number}") or os.path.islink(f"/proc/self/fd/{number}")]
print(sum(name.startswith(sys.argv[1]) for name in names), os.listdir(sys.argv[1]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="open files are read from /proc")
def test_a_killed_process_leaves_nothing(tmp_path):
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)], capture_output=True, text=True, check=False, env=here
    )

    assert child.stdout == "1 []\n", child.stderr
    assert child.returncode < 0
    assert list(tmp_path.iterdir()) == []


class LetsOthersGoFirst:
    """A file in which another pass may come between finding a place and reading there."""

    def __init__(self, file):
        self._file = file

    def seek(self, place):
        self._file.seek(place)
        time.sleep(1e-4)

    def readinto(self, rest):
        return self._file.readinto(rest)


def test_two_passes_at_once_over_one_file_read_what_one_does(tmp_path, monkeypatch):
    monkeypatch.setattr("lapwing.rows.source.MAX_CHUNK_ROWS", 300)
    source = code_table(table(3000), SCHEMAS["rows"], memory=0, scratch=str(tmp_path))
    alone = [chunk["pay"].tolist() for chunk in source.chunks()]
    scratch = source._parts._file
    scratch._file = LetsOthersGoFirst(scratch._file)

    with ThreadPoolExecutor(3) as several:
        found = list(several.map(lambda _: [chunk["pay"].tolist() for chunk in source.chunks()], range(6)))

    assert found == [alone] * 6


def test_the_end_of_a_table_looks_at_no_row(monkeypatch):
    schema = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
    frame = pl.DataFrame({"flag": [True, None, False]})

    def looked(self):
        raise AssertionError("the private number of rows was asked for")

    with coded_table(frame, schema, memory=0) as source:
        assert isinstance(source, _Streamed)
        monkeypatch.setattr(_Streamed, "rows", property(looked))
        monkeypatch.setattr(_Streamed, "units", property(looked))
