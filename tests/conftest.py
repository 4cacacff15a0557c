"""Fixtures and settings that every test shares."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lapwing.release.runs import unaccounted

pytest_plugins = ["helpers.chance", "helpers.surroundings"]

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
EXAMPLES = ROOT / "src" / "lapwing" / "examples"

# Two cores are shared by everything that runs: a deadline would fail tests for their neighbours' sake.
SHARED = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("lapwing", max_examples=30, **SHARED)
settings.register_profile("full", max_examples=200, **SHARED)


def pytest_configure(config: pytest.Config) -> None:
    """Try more examples where the slow statistical suites run, too."""
    settings.load_profile("lapwing" if config.option.markexpr == "not full" else "full")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what needs a Spark, a Postgres or a browser, so that one worker alone starts each of them."""
    items.sort(key=lambda item: item.path.parent.name not in ("engines", "browser"))


@pytest.fixture(autouse=True)
def no_words_of_a_session_of_spark(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave out what py4j logs at DEBUG whenever garbage is collected, once a test of this process has used Spark.

    Audits keep every line that is logged while they run. Tests of engines look at these lines themselves.
    """
    logger = logging.getLogger("py4j")
    level = logger.level
    if "engines" not in request.path.parts:
        logger.setLevel(logging.INFO)
    yield
    logger.setLevel(level)


@pytest.fixture(autouse=True)
def no_spending_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test be told of its own releases alone, as if it were a process by itself."""
    monkeypatch.setattr(unaccounted, "_SPENT", {})
    monkeypatch.setattr(unaccounted, "_UNTOLD", {})


@pytest.fixture(autouse=True, scope="session")
def no_note_outside_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the notes of which tables were looked at in a folder of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, which is returned."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of the shared data sets; skip where they were not delivered."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the shared data sets are not on this machine")
    return SHARED_DATA


def _shared_or_bundled(shared: str, bundled: str) -> Path:
    path = SHARED_DATA / "adult" / shared
    return path if path.is_file() else EXAMPLES / bundled


@pytest.fixture(scope="session")
def adult_path() -> Path:
    """Return the Adult table: the whole one, or the bundled sample."""
    return _shared_or_bundled("data.parquet", "adult.parquet")


@pytest.fixture(scope="session")
def adult_schema_path() -> Path:
    """Return the schema of the table that ``adult_path`` gives."""
    return _shared_or_bundled("schema.json", "adult.schema.json")
