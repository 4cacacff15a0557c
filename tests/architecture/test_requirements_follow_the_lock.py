"""What pip installs is what uv.lock says, and uv.lock is for what pyproject.toml asks."""

import copy
import re

import pytest

from helpers.locked import EXPORTS, declared, exported, locked, read_toml, remembered
from helpers.source_tree import ROOT

LOCK = read_toml(ROOT / "uv.lock")
PYPROJECT = read_toml(ROOT / "pyproject.toml")


def requirements(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(EXPORTS))
def test_exported_requirements_are_those_of_the_lock(name: str) -> None:
    assert exported(requirements(name)) == locked(LOCK, name)


def test_every_requirements_file_is_compared() -> None:
    names = {path.stem for path in (ROOT / "requirements").iterdir()}

    # An oracle's environment is its own: its pins may contradict ours. The oldest versions are compared below.
    assert {name for name in names if not name.startswith("oracle-")} - {"lowest"} == set(EXPORTS)


def test_the_lock_is_for_what_pyproject_asks() -> None:
    assert remembered(LOCK) == declared(PYPROJECT)


def bounds() -> dict[str, str]:
    """Return the lowest version that each dependency of ours, of an extra or of the tests may have."""
    asked = declared(PYPROJECT)
    needs = [need for group, members in asked.items() if group in ("", "test") or "extra" in group for need in members]
    found = [re.fullmatch(r"([a-z0-9-]+)(?:\[[a-z,]+\])?>=([0-9.]+)", need) for need in needs]
    return {match[1]: match[2] for match in found if match}


def test_the_oldest_versions_are_those_that_pyproject_allows() -> None:
    oldest = {each.name: each.version for each in exported(requirements("lowest"))}

    wrong = {name: oldest[name] for name, bound in bounds().items() if not f"{oldest[name]}.".startswith(f"{bound}.")}

    assert len(bounds()) > 20
    assert wrong == {}, "run make lock; a bound below the oldest version that resolves is one that nobody has tried"


def test_running_needs_no_test_tools() -> None:
    names = {requirement.name for requirement in exported(requirements("run"))}

    assert names.isdisjoint({"pytest", "hypothesis", "pandas", "pyarrow", "scikit-learn", "hatchling", "pip"})
    assert {"numpy", "scipy", "polars", "narwhals", "typer", "rich"} <= names


def test_what_builds_the_project_is_locked() -> None:
    build_system = {need.split(">=")[0] for need in PYPROJECT["build-system"]["requires"]}

    assert build_system <= {requirement.name for requirement in exported(requirements("build"))}


def test_another_hash_is_noticed() -> None:
    text = requirements("run")
    digest = text.split("sha256:", 1)[1][:64]

    assert exported(text.replace(digest, "0" * 64)) != locked(LOCK, "run")


def test_another_version_is_noticed() -> None:
    text = requirements("run").replace("rich==", "rich==1")

    assert exported(text) != locked(LOCK, "run")


def test_a_requirement_left_out_is_noticed() -> None:
    first, rest = requirements("run").split("\nnumpy==", 1)

    assert exported(f"{first}\n") != locked(LOCK, "run")
    assert rest


@pytest.mark.parametrize("line", ["numpy>=2\n", "numpy==2.0\n", "-e .\n", "https://example.invalid/numpy.whl\n"])
def test_a_line_without_version_and_hash_is_refused(line: str) -> None:
    with pytest.raises(AssertionError, match="no exact version with hashes"):
        exported(line)


def test_a_dependency_added_without_locking_is_noticed() -> None:
    asked = copy.deepcopy(PYPROJECT)
    asked["project"]["dependencies"].append("attrs>=24")

    assert remembered(LOCK) != declared(asked)


def test_an_extra_changed_without_locking_is_noticed() -> None:
    asked = copy.deepcopy(PYPROJECT)
    asked["project"]["optional-dependencies"]["evaluate"].append("attrs>=24")

    assert remembered(LOCK) != declared(asked)
