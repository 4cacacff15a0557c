"""The bill of materials and the page on dependencies are those of the lock."""

import copy
import json
import runpy

import pytest

from helpers.locked import locked, read_toml
from helpers.source_tree import ROOT

SBOM = runpy.run_path(str(ROOT / "tools" / "sbom.py"))
LOCK = read_toml(ROOT / "uv.lock")
LICENCES = read_toml(ROOT / "tools" / "licences.toml")
PROJECT = read_toml(ROOT / "pyproject.toml")["project"]


@pytest.mark.parametrize("name", [SBOM["SBOM"], SBOM["PAGE"]])
def test_what_make_sbom_would_write_is_there(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == SBOM["made"]()[name]


def test_what_is_required_is_what_pip_installs() -> None:
    bill = json.loads((ROOT / SBOM["SBOM"]).read_text(encoding="utf-8"))
    required = {
        (each["name"], each["version"], frozenset(file["hashes"][0]["content"] for file in each["externalReferences"]))
        for each in bill["components"]
        if each["scope"] == "required"
    }

    # The same set by another way: that of the exported requirements.
    assert required == {
        (each.name, each.version, frozenset(text.removeprefix("sha256:") for text in each.hashes))
        for each in locked(LOCK, "run")
    }


def test_every_reference_leads_to_a_component() -> None:
    bill = SBOM["bill"](LOCK, LICENCES, PROJECT)
    known = {each["bom-ref"] for each in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}

    assert {each["ref"] for each in bill["dependencies"]} == known
    assert {ref for each in bill["dependencies"] for ref in each["dependsOn"]} <= known


def test_another_version_gives_another_bill() -> None:
    lock = copy.deepcopy(LOCK)
    (rich,) = [package for package in lock["package"] if package["name"] == "rich"]
    rich["version"] += ".1"

    assert SBOM["bill"](lock, LICENCES, PROJECT) != SBOM["bill"](LOCK, LICENCES, PROJECT)


def test_a_package_without_licence_is_refused() -> None:
    known = {name: each for name, each in LICENCES.items() if name != "scipy"}

    with pytest.raises(SBOM["SbomError"], match="scipy has no licence"):
        SBOM["bill"](LOCK, known, PROJECT)


def test_no_licence_is_of_a_package_that_is_gone() -> None:
    assert set(LICENCES) == {name for name, _ in SBOM["closure"](LOCK, SBOM["extras_of"](LOCK))}
