"""Fixtures of the boundary tests."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers import databases
from helpers.killed_releases import Server, new_scene, served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a warm process that runs command lines which are killed, failed and raced."""
    if sys.platform != "linux":
        pytest.skip("the server forks, and follows its children, on Linux")
    with served(tmp_path_factory.mktemp("served") / "server") as found:
        yield found


@pytest.fixture
def tracer(server: Server) -> Server:
    """Return the same where processes may be followed."""
    if not server.is_traceable:
        pytest.skip("this machine lets no process follow its child, or is no Linux on x86-64")
    return server


@pytest.fixture(scope="session")
def earlier(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of a release that was made earlier."""
    scene = new_scene(tmp_path_factory.mktemp("earlier") / "scene")
    assert server.run(scene.synthesize())["status"] == 0
    return scene.files()


@pytest.fixture(scope="module")
def database_server() -> Iterator[databases.Server]:
    """Run a Postgres that waits for the disk, as one that keeps a ledger must, and brings to it what it is told to."""
    with databases.server("-c wal_writer_delay=10s") as made:
        yield made
        databases.forget_connections()


@pytest.fixture
def postgres(database_server: databases.Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return what makes an empty database on the server, and its address; its password is where Postgres looks."""
    monkeypatch.setenv("PGPASSWORD", databases.PASSWORD)
    return database_server.database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("Postgres"))])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path | str]:
    """Return what makes places for new ledgers of each store, by name."""
    if request.param == "sqlite":
        return lambda name="budget": tmp_path / f"{name}.db"
    postgres = request.getfixturevalue("postgres")
    return lambda name="budget": postgres(name)
