"""The same rows in real databases: Debian's Postgres, in a folder of its own, and files of SQLite and DuckDB."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import tempfile
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from adbc_driver_postgresql import dbapi

import lapwing as lw
from lapwing.extras.office.stores import postgres as postgres_store

PASSWORD = "PassWord4711"
_NUMBERS = count(1)
_NOBODY = 65534  # postgres refuses to run as root


def _programs():
    """Return the folder of Postgres's programs, or skip where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    beside = shutil.which("initdb")
    if not found and beside is None:
        pytest.skip("Postgres is not installed")
    return found[-1].parent if found else Path(beside).resolve().parent


@dataclass(frozen=True)
class Server:
    """Postgres in a folder of its own, reached by a socket there; it asks for a password."""

    folder: Path
    options: str

    @property
    def url(self):
        return f"postgresql://owner:{PASSWORD}@/postgres?host={self.folder}"

    @property
    def place(self):
        """The address without the password, which is in PGPASSWORD then."""
        return self.url.replace(f":{PASSWORD}", "")

    def database(self, name):
        """Empty the database, and return an address of it that is new, without the password."""
        empty = "DROP SCHEMA IF EXISTS lapwing_ledger CASCADE"
        try:
            run(self.url, empty)
        except dbapi.OperationalError:  # a test failed while the server was stopped
            self.start()
            run(self.url, empty)
        return f"{self.place}&application_name={name}_{next(_NUMBERS)}"

    def start(self):
        own = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c recovery_init_sync_method=syncfs"
        self.pg_ctl("start", "-o", f"{own} {self.options}")

    def stop(self, how="fast"):
        """Stop it; "immediate" is as if the machine had failed, but for what its disk had taken."""
        self.pg_ctl("stop", "-m", how)

    def pg_ctl(self, *words):
        command = [_programs() / "pg_ctl", "-w", "-t", "120", "-D", self.folder / "data", "-l", self.folder / "log"]
        self.run(*command, *words)

    def run(self, *command):
        other = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        subprocess.run(command, check=True, timeout=180, **quiet, **other)


def forget_connections():
    """Close those that ledgers keep for their next debit."""
    postgres_store._close_idle()


@contextlib.contextmanager
def server(options="-F"):
    """Run a server; by default one that does not wait for the disk."""
    made = Server(Path(tempfile.mkdtemp(prefix="pg", dir="/tmp")), options)
    (made.folder / "password").write_text(PASSWORD)
    if os.geteuid() == 0:
        os.chown(made.folder, _NOBODY, _NOBODY)
        os.chown(made.folder / "password", _NOBODY, _NOBODY)
    own = ["-U", "owner", "-A", "scram-sha-256", "--pwfile", made.folder / "password", "-E", "UTF8", "--locale=C"]
    try:
        made.run(_programs() / "initdb", "-D", made.folder / "data", "--no-sync", *own)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(made.folder)


@contextlib.contextmanager
def postgres():
    """Run a server; yield the address of its database."""
    with server() as made:
        yield made.url


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
