"""The wheel holds what the code opens and nothing else; the source archive holds all that the tests read.

The build backend is not in the environment of the tests: `make package` builds both and compares their lists of files
with git's (`helpers.built_package`).
"""

import fnmatch
import re
import tomllib
from pathlib import Path

import pytest

from helpers.source_tree import PACKAGE, ROOT, python_files

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TARGETS = PYPROJECT["tool"]["hatch"]["build"]["targets"]
IN_SDIST = {*TARGETS["sdist"]["only-include"], "pyproject.toml", ".gitignore"}  # hatchling adds the last two itself
# A proof is beside the code that it is of, for whoever audits an installation; `py.typed` is for checkers of types,
# and the schema of schema files for editors and other programs (docs/schema.md).
READ_BY_PEOPLE_AND_TOOLS = ("*.proof.md", "proof.md", "py.typed", "lapwing.schema.json")
PATHS = re.compile(r"(?:\bROOT|\bparents\[\d\]) / \"([^\"/]+)\"")


def data_files() -> list[Path]:
    """Return what hatchling packs beside the Python files."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    found = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".py"]
    return [path for path in found if not any(f"{folder}/" in ignored for folder in path.parent.parts)]


def read_at_the_root(folder: Path, root: Path = ROOT) -> set[str]:
    """Return the names in a root folder that Python files below a folder put together; an archive is no repository."""
    named = {name for path in python_files(folder) for name in PATHS.findall(path.read_text(encoding="utf-8"))}
    return {name for name in named - {".git"} if (root / name).exists()}


def test_every_data_file_of_the_package_is_named_by_the_code_that_opens_it() -> None:
    templates = [each for folder in PACKAGE.rglob("templates") for each in folder.iterdir()]
    texts = [*python_files(PACKAGE), *templates]
    code = "\n".join(path.read_text(encoding="utf-8") for path in texts)
    opened = [
        path for path in data_files() if not any(fnmatch.fnmatch(path.name, name) for name in READ_BY_PEOPLE_AND_TOOLS)
    ]

    unnamed = [str(path.relative_to(PACKAGE)) for path in opened if path.name not in code]

    assert len(opened) > 5
    assert unnamed == [], "no code opens this; what is for people belongs into docs/"


def test_the_package_says_that_it_is_typed_and_every_proof_is_beside_its_code() -> None:
    proofs = [path for path in data_files() if path.name.endswith("proof.md")]
    proved = [
        path.with_name("answer.py" if path.name == "proof.md" else path.name.replace(".proof.md", ".py"))
        for path in proofs
    ]

    assert (PACKAGE / "py.typed").is_file()
    assert len(proofs) > 20
    assert [str(path) for path in proved if not path.is_file()] == []


def test_the_wheel_is_the_package_and_the_manual_page_alone() -> None:
    wheel = TARGETS["wheel"]

    assert set(wheel) == {"packages", "shared-data"}
    assert wheel["packages"] == ["src/lapwing"]
    assert wheel["shared-data"] == {"man/lapwing.1": "share/man/man1/lapwing.1"}


def test_all_that_tests_and_tools_read_is_in_the_source_archive() -> None:
    read = read_at_the_root(ROOT / "tests") | read_at_the_root(ROOT / "tools")

    assert {"docs", "src", "tests", "tools", "requirements", "changelog.d", "uv.lock", "Makefile"} <= read
    assert read <= IN_SDIST


def test_whatever_the_source_archive_names_is_there() -> None:
    assert [name for name in IN_SDIST if not (ROOT / name).exists()] == []


def test_a_file_that_tests_read_and_nobody_packed_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "test_new.py").write_text('TEXT = (ROOT / "notes.txt").read_text()\n')

    assert read_at_the_root(tmp_path, tmp_path) - IN_SDIST == {"notes.txt"}


def test_each_supported_python_is_named() -> None:
    classifiers = PYPROJECT["project"]["classifiers"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    listed = re.findall(r"Python :: (3\.\d+)", " ".join(classifiers))

    assert f">={listed[0]}" == PYPROJECT["project"]["requires-python"]
    assert f"PYTHONS ?= {' '.join(listed)}\n" in makefile


@pytest.mark.parametrize("extra", ["connect", "duckdb", "evaluate", "lp", "names", "office", "spark", "studio"])
def test_the_extra_all_is_every_other_one(extra: str) -> None:
    extras = PYPROJECT["project"]["optional-dependencies"]

    (whole,) = extras["all"]
    assert extra in extras
    assert whole == f"lapwing[{','.join(sorted(set(extras) - {'all'}))}]"


def test_the_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")

    assert f"\nversion: {PYPROJECT['project']['version']}\n" in citation
