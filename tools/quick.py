"""Run the tests that changed files reach, for 90 seconds at most: ``python tools/quick.py [COMMIT]``.

Changed is what differs from COMMIT, by default from HEAD, and what git does not know yet. In this order: changed tests;
tests that import a changed module or helper, those named like it first; tests of the kind of file that changed, and the
recorded releases. What time did not allow is said, and `make test` runs it.
"""

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 90.0
KINDS = {
    "src/lapwing/cli/": ("docs/test_contract.py", "docs/test_reference.py", "architecture/test_man_page.py"),
    "src/lapwing/": (
        "architecture/test_layer_contracts.py",
        "unit/test_recorded_releases.py",
        "unit/test_snapshots.py",
    ),
    "docs/": ("docs/test_words.py", "docs/test_pages.py"),
    "pyproject.toml": ("architecture",),
}


class Clock:
    """A pytest plugin: ends the run once its time is over, and counts what was not run."""

    def __init__(self) -> None:
        self.end, self.done, self.all = time.monotonic() + SECONDS, 0, 0
        self.is_over = self.has_failed = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what there is to run."""
        self.all = len(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self.has_failed |= report.failed

    def pytest_runtest_logfinish(self) -> None:
        """Count what was run."""
        self.done += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """End the run at the first test that would begin too late."""
        if time.monotonic() > self.end:
            self.is_over = True
            item.session.shouldstop = f"{SECONDS:.0f} seconds are over: {self.done} of {self.all} tests were run"


def changed(commit: str) -> list[str]:
    """Return the files that differ from a commit, or are new."""
    asked = (["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"])
    said = [
        subprocess.run(["git", *each], cwd=ROOT, check=True, capture_output=True, text=True).stdout for each in asked
    ]
    return [name for each in said for name in each.splitlines() if (ROOT / name).exists()]


def module_of(name: str) -> str:
    """Return the module of a file, as tests import it; "" of another file."""
    found = name.removesuffix(".py").removesuffix("/__init__").removeprefix("src/").removeprefix("tests/")
    return found.replace("/", ".") if name.endswith(".py") else ""


def reached(names: Iterable[str]) -> Iterator[str]:
    """Yield the files of tests that changed files reach, the nearest first."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("*.py"))}
    tests = {path: text for path, text in texts.items() if path.name.startswith("test_")}
    yield from (name for name in names if ROOT / name in tests)
    modules = [module_of(name) for name in names if ROOT / name not in tests]
    for module in filter(None, modules):
        stem = module.rpartition(".")[2]
        own = f"from {module.rpartition('.')[0]} import"
        using = [path for path, text in tests.items() if module in text or (own in text and stem in text)]
        yield from (
            str(path.relative_to(ROOT))
            for path in sorted(using, key=lambda path: (stem not in path.name, path.parent.name != "unit"))
        )
    for start, files in KINDS.items():
        yield from (f"tests/{file}" for file in files if any(name.startswith(start) for name in names))


def main() -> int:
    """Run them, in their order."""
    names = changed(*sys.argv[1:] or ["HEAD"])
    files = list(dict.fromkeys(reached(names)))
    if not files:
        print(f"{len(names)} changed files reach no test by name; make test runs all")
        return 0
    clock = Clock()
    code = pytest.main(["-q", "-p", "no:randomly", "--rootdir", str(ROOT), *files], plugins=[clock])
    return int(clock.has_failed) if clock.is_over else int(code)


if __name__ == "__main__":
    sys.exit(main())
