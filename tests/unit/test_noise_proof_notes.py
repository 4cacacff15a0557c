"""Proof notes and code of the noise package point at each other by labels such as [sign]."""

import re
from pathlib import Path

import pytest

from helpers.source_tree import PACKAGE

NOISE = PACKAGE / "kernel" / "noise"
LABEL = re.compile(r"\[([a-z]{3,})\]")
MODULES = sorted(path.stem for path in NOISE.glob("*.py") if path.stem not in {"__init__", "checks"})


def labels_in_comments(path: Path) -> set[str]:
    """Return the labels of a module: a comment starts with each."""
    return set(re.findall(r"^\s*# \[([a-z]{3,})\]", path.read_text(encoding="utf-8"), flags=re.MULTILINE))


@pytest.mark.parametrize("module", MODULES)
def test_every_label_of_a_proof_is_in_its_code_and_the_reverse(module: str) -> None:
    note = (NOISE / f"{module}.proof.md").read_text(encoding="utf-8")

    assert set(LABEL.findall(note)) == labels_in_comments(NOISE / f"{module}.py")
    assert "**Claim.**" in note
