"""A plugin of pytest: leave out tests that need a whole other program, where nothing they look at changed.

``pytest --since COMMIT`` compares the files here with a commit; without it, or where git cannot tell, nothing is left
out. A test says what it needs: ``@pytest.mark.needs("Spark")``.
"""

import subprocess
from pathlib import Path

import pytest

LOOKED_AT = {
    "R": ("r/", "tests/r/", "src/lapwing/__init__.py", "src/lapwing/api/"),
    "notebooks": (
        "docs/gallery/", "tests/docs/test_gallery.py", "tests/helpers/notebooks.py", "src/lapwing/__init__.py",
        "src/lapwing/api/",
    ),
    "Postgres": (
        "src/lapwing/extras/connect/tables/databases.py", "src/lapwing/extras/office/stores/",
        "src/lapwing/kernel/budget/", "src/lapwing/kernel/room/", "src/lapwing/rows/elsewhere.py",
        "src/lapwing/rows/out/databases.py", "tests/helpers/databases.py", "tests/helpers/ledger",
        "tests/helpers/postgres_ledgers.py",
    ),
    "Spark": (
        "src/lapwing/extras/spark/", "src/lapwing/rows/", "tests/helpers/engine", "tests/helpers/spark_",
        "tests/helpers/source_answers.py",
    ),
}  # fmt: skip
"""What a test may need, and beginnings of the paths of what its tests look at, beside their own files."""
BY_ALL = ("pyproject.toml", "requirements/", "tests/conftest.py", "tests/helpers/surroundings.py")


def changed(root: Path, commit: str) -> list[str] | None:
    """Return the files that differ from a commit, or are new; None where git cannot tell."""
    asked = (["diff", "--name-only", "--no-renames", commit], ["ls-files", "--others", "--exclude-standard"])
    try:
        said = [subprocess.run(["git", *each], cwd=root, check=True, capture_output=True, text=True) for each in asked]
    except (OSError, subprocess.CalledProcessError):
        return None
    return [name for each in said for name in each.stdout.splitlines()]


def unchanged(root: Path, commit: str | None) -> set[str]:
    """Return what is needed only by tests that look at nothing that changed since a commit, but for their files."""
    names = None if commit is None else changed(root, commit)
    if names is None:
        return set()
    return {need for need, paths in LOOKED_AT.items() if not any(name.startswith((*paths, *BY_ALL)) for name in names)}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption(
        "--since",
        metavar="COMMIT",
        help=f"leave out tests that need {', '.join(LOOKED_AT)}, unless something that they look at changed",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what need not run."""
    commit = config.getoption("since")
    apart = unchanged(config.rootpath, commit)
    edited = {config.rootpath / name for name in changed(config.rootpath, commit) or ()} if apart else set()
    left_out = [
        item
        for item in items
        if item.path not in edited and any(mark.args[0] in apart for mark in item.iter_markers("needs"))
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out."""
    commit = config.getoption("since")
    apart = [need for need in LOOKED_AT if need in unchanged(config.rootpath, commit)]
    if apart:
        terminalreporter.write_line(
            f"left out because nothing they look at changed since {commit}: tests that need {', '.join(apart)}; "
            "`make nightly` runs them"
        )
