"""Every place in which the canary matrix looks is shown to be looked at: a leak is planted in each, and found."""

import logging
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import warnings
import zipfile
from pathlib import Path

import polars as pl
import pytest

from helpers.canary_inputs import HEADER, printing
from helpers.canary_watch import traces_of
from helpers.planted_values import PACKAGE, SCHEMA, TEXT, table
from lapwing.rows import guard

OUR_CODE = """
def keeps(rows):
    raise KeyError("a column")
"""


class Dying:
    """A thing whose end raises what nobody can catch."""

    def __del__(self):
        raise ValueError(TEXT)


def in_a_thread(_):
    thread = threading.Thread(target=int, args=(TEXT,))
    thread.start()
    thread.join()


def in_a_note(_):
    error = ValueError("a column")
    error.add_note(TEXT)
    raise error


def in_a_chain(_):
    try:
        int(TEXT)
    except ValueError:
        raise KeyError("a column") from None


def in_an_attribute(_):
    error = ValueError("a column")
    error.cell = TEXT
    raise error


def in_our_frame(_):
    planted = {}
    exec(compile(OUR_CODE, str(PACKAGE / "planted.py"), "exec"), planted)
    planted["keeps"](table())


def in_a_zip(folder):
    with zipfile.ZipFile(folder / "m.lapwing", "w") as archive:
        archive.writestr(TEXT, "")


def in_a_ledger(folder):
    with sqlite3.connect(folder / "budget.db") as ledger:
        ledger.execute("CREATE TABLE entries (note TEXT)")
        ledger.execute("INSERT INTO entries VALUES (?)", (TEXT,))
    ledger.close()


def in_a_temporary_file(_):
    os.close(tempfile.mkstemp(prefix=TEXT)[0])


def a_closure(_):
    rows = table()
    return lambda: rows


LEAKS = {
    "stdout": [lambda _: sys.stdout.write(TEXT), lambda _: os.write(1, TEXT.encode())],
    "stderr": [lambda _: sys.stderr.write(TEXT), lambda _: os.write(2, TEXT.encode())],
    "warnings": [lambda _: warnings.warn(TEXT, stacklevel=2)],
    "logs": [
        lambda _: logging.getLogger("some.library").debug("read %s", TEXT),
        in_a_thread,
        lambda _: Dying() and None,
    ],
    "exception": [lambda _: int(TEXT), in_a_note, in_a_chain, in_an_attribute, in_our_frame],
    "files": [in_a_zip, in_a_ledger, in_a_temporary_file, lambda folder: (folder / TEXT).touch()],
    "result": [lambda _: {"cell": [TEXT]}, lambda _: table(), a_closure],
}


@pytest.mark.parametrize(("place", "at"), [(place, at) for place, leaks in LEAKS.items() for at in range(len(leaks))])
def test_a_leak_that_is_planted_in_a_place_is_found_there(place, at, tmp_path, capfd, monkeypatch):
    def call(_, folder):
        return LEAKS[place][at](folder)

    _, found = traces_of(call, None, tmp_path, capfd=capfd, monkeypatch=monkeypatch, inputs=set())

    assert list(found) == [place]


def test_without_the_guards_silence_a_print_past_python_is_found(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(guard._SILENCE, "_depth", 1)  # as if somebody else had asked for silence

    def read(data, _):
        guard.run_guarded("the table cannot be read", data.collect)

    _, found = traces_of(read, printing(None), tmp_path, capfd=capfd, monkeypatch=monkeypatch, inputs=set())

    assert list(found) == ["stderr"]


PROGRAM = """
import os, sys
from lapwing.cli import main
from lapwing.extras.evaluate.commands import schema

def loud(path):
    from lapwing.rows.guard import run_guarded
    run_guarded("it", lambda: os.write(2, b"CELL"))
    print("lapwing: said while silent", file=sys.stderr)
    run_guarded("it", lambda: print("lapwing: said meanwhile", file=sys.stderr))
    raise ValueError("CELL")

schema.Path.exists = loud
sys.argv = ["lapwing", "schema", "draft", "nowhere.csv", "-o", "s.json"]
main.run()
"""


def test_a_command_says_its_own_while_descriptor_2_is_silent(tmp_path):
    found = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False)

    said = found.stderr.splitlines()
    assert said[:2] == ["lapwing: said while silent", "lapwing: said meanwhile"]
    assert said[2].startswith("lapwing: unexpected ValueError at lapwing/")
    assert (len(said), found.stdout, found.returncode) == (3, "", 1)


def damaged_footer(folder: Path) -> Path:
    """Return a Parquet file whose footer Polars gives up on with a panic: some byte of it always does."""
    path = folder / "data.parquet"
    table().write_parquet(path, compression="uncompressed")
    return path


def test_a_panic_of_polars_itself_leaves_no_line(tmp_path, capfd):
    path = damaged_footer(tmp_path)
    content, panics, printed = path.read_bytes(), 0, []
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for at in range(start, len(content) - 8):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x7F]) + content[at + 1 :])
        panics += is_panic(path)
        printed.append(capfd.readouterr())

    assert panics > 0
    assert set(printed) == {("", "")}


def is_panic(path):
    """Return whether opening a file under the guard ends in a panic."""
    try:
        guard.run_guarded("it", lambda: pl.scan_parquet(path).collect())
    except guard.DataError as error:
        return "PanicException" in str(error)
    return False


def test_the_header_of_the_planted_files_is_that_of_the_schema():
    assert HEADER.strip().split(",") == [field["name"] for field in SCHEMA["fields"]]
