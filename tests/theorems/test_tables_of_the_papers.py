"""The tables "in the paper / in the code" name what is there, and all that is public of a paper."""

import importlib
import re
from types import ModuleType

import pytest

import lapwing as lw

PAPERS = [getattr(lw.theorems, name) for name in lw.theorems.__all__]


def rows(paper: ModuleType) -> list[list[str]]:
    """Return the cells of a paper's table, without its head."""
    lines = [line for line in (paper.__doc__ or "").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(paper: ModuleType) -> list[str]:
    """Return what stands in the second column."""
    return [name for row in rows(paper) for name in re.findall(r"`([^`]+)`", row[1])]


def is_there(name: str, paper: ModuleType) -> bool:
    """Tell whether a name is one of the paper's module, a path, or settings of a mechanism that can be made."""
    if name.startswith("lapwing."):
        module, _, last = name.rpartition(".")
        return hasattr(importlib.import_module(module), last) or bool(importlib.import_module(name))
    if "(" in name:
        return bool(eval(name, {each: getattr(lw, each) for each in lw.__all__}))
    return hasattr(paper, name)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_has_three_cells(paper: ModuleType) -> None:
    assert rows(paper)
    assert {len(row) for row in rows(paper)} == {3}


@pytest.mark.parametrize("paper", PAPERS)
def test_what_a_table_names_is_there(paper: ModuleType) -> None:
    assert [name for name in names(paper) if not is_there(name, paper)] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_public_name_of_a_paper_stands_in_its_table(paper: ModuleType) -> None:
    public = [name for name, held in vars(paper).items() if getattr(held, "__module__", "") == paper.__name__]

    assert [name for name in public if not name.startswith("_") and name not in names(paper)] == []


def test_a_name_that_is_gone_is_seen() -> None:
    assert not is_there("theorem_9_9", lw.theorems.pmm)
    assert [name for name in names(lw.theorems.pmm) if name == "theorem_4_3"]
