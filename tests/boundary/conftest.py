"""The two stores of a ledger: a file, and a real Postgres."""

import pytest

from helpers import databases


@pytest.fixture(scope="module")
def server():
    """Run a Postgres that waits for the disk, as one that keeps a ledger must, and brings to it what it is told to."""
    with databases.server("-c wal_writer_delay=10s") as made:
        yield made
        databases.forget_connections()


@pytest.fixture
def postgres(server, monkeypatch):
    """Return what makes an empty database on the server, and its address; its password is where Postgres looks."""
    monkeypatch.setenv("PGPASSWORD", databases.PASSWORD)
    return server.database


@pytest.fixture(params=["sqlite", "postgres"])
def new_place(request, tmp_path):
    """Return what makes places for new ledgers of each store, by name."""
    if request.param == "sqlite":
        return lambda name="budget": tmp_path / f"{name}.db"
    postgres = request.getfixturevalue("postgres")
    return lambda name="budget": postgres(name)
