"""Fixtures of the boundary tests."""

from pathlib import Path

import pytest


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder; return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
