"""The wheelhouse holds what applies to the machine that it is for."""

import runpy

import pytest

from helpers.locked import exported
from helpers.source_tree import ROOT

HOUSE = runpy.run_path(str(ROOT / "tools" / "wheelhouse.py"))
PINS = {name: (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8") for name in ("run", "extras")}


def versions(name: str, python: str, system: str) -> dict[str, str]:
    """Return the chosen versions by name; each name has one, and hashes."""
    found = exported(HOUSE["chosen"](PINS[name], python, system))
    assert len({each.name for each in found}) == len(found)
    return {each.name: each.version for each in found}


def test_windows_gets_what_only_windows_needs() -> None:
    assert versions("run", "3.12", "win32").keys() - versions("run", "3.12", "linux").keys() == {"colorama"}


def test_an_older_python_gets_older_versions() -> None:
    old, new = versions("run", "3.11", "linux"), versions("run", "3.14", "linux")

    assert old.keys() == new.keys()
    assert {name for name in old if old[name] != new[name]} == {"numpy", "scipy"}


def test_extras_add_to_the_plain_installation() -> None:
    assert versions("run", "3.12", "linux").items() < versions("extras", "3.12", "linux").items()


def test_chosen_hashes_are_those_of_the_lock() -> None:
    assert exported(HOUSE["chosen"](PINS["run"], "3.12", "win32")) < exported(PINS["run"])


def test_an_unknown_marker_is_refused() -> None:
    with pytest.raises(HOUSE["WheelhouseError"], match="not known"):
        HOUSE["chosen"]("rich==1 ; platform_machine == 'x86_64' \\\n    --hash=sha256:0\n", "3.12", "linux")
