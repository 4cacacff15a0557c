"""The same rows in real databases: Debian's Postgres, in a folder of its own, and files of SQLite and DuckDB."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from adbc_driver_postgresql import dbapi

import lapwing as lw

PASSWORD = "PassWord4711"
_NOBODY = 65534  # postgres refuses to run as root


def _programs():
    """Return the folder of Postgres's programs, or skip where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    beside = shutil.which("initdb")
    if not found and beside is None:
        pytest.skip("Postgres is not installed")
    return found[-1].parent if found else Path(beside).resolve().parent


@contextlib.contextmanager
def postgres():
    """Run a server that asks for a password; yield the address of its database."""
    programs, folder = _programs(), Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    other = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    (folder / "password").write_text(PASSWORD)
    if other:
        os.chown(folder, _NOBODY, _NOBODY)
        os.chown(folder / "password", _NOBODY, _NOBODY)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **other}
    make = ["-D", folder / "data", "-U", "owner", "-A", "scram-sha-256", "--pwfile", folder / "password", "-E", "UTF8"]
    subprocess.run([programs / "initdb", *make, "--no-sync", "--locale=C"], check=True, timeout=120, **quiet)
    options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}", "-F"]
    server = subprocess.Popen([programs / "postgres", "-D", folder / "data", *options], **quiet)
    url = f"postgresql://owner:{PASSWORD}@/postgres?host={folder}"
    try:
        _wait(url, server)
        yield url
    finally:
        server.terminate()
        server.wait(timeout=60)
        shutil.rmtree(folder)


def _wait(url, server):
    for _ in range(600):
        assert server.poll() is None, "Postgres has ended"
        try:
            dbapi.connect(url).close()
        except dbapi.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("Postgres does not answer")


def run(url, *lines):
    """Run lines of SQL in Postgres."""
    with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for line in lines:
            cursor.execute(line)


def in_postgres(url, table, names):
    """Return a query of a PyArrow table of one column, which has each of the names."""
    run(url, "DROP TABLE IF EXISTS kept")
    with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("kept", table)
    return lw.Query(_named(names), url)


def in_sqlite(folder, cells, names):
    """Return a query of cells in a column that has each of the names."""
    with contextlib.closing(sqlite3.connect(folder / "kept.db")) as connection, connection:
        connection.execute("CREATE TABLE kept (cell)")
        connection.executemany("INSERT INTO kept VALUES (?)", [(cell,) for cell in cells])
    return lw.Query(_named(names), f"sqlite:///{folder}/kept.db")


def in_duckdb(folder, table, names):
    """Return a query of a PyArrow table of one column, which has each of the names."""
    with duckdb.connect(folder / "kept.duckdb") as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE kept AS SELECT * FROM given")
    return lw.Query(_named(names), f"duckdb:///{folder}/kept.duckdb")


def one_column(cells, kind):
    """Return a PyArrow table of one column."""
    return pa.table({"cell": pa.array(cells, type=kind)})


def _named(names):
    columns = ", ".join('cell AS "' + name + '"' for name in names)
    return f"SELECT {columns} FROM kept; "
