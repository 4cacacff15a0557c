"""Fixtures of the boundary tests."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.killed_releases import Server, new_scene, served


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder; return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
