"""The check of the types of examples sees what it should; ``make types`` runs it, for mypy is not in these tests."""

import json
from pathlib import Path

import pytest

from helpers import typed_examples
from helpers.typed_examples import PLANTED, WRONG, Fault, examples, faults, verdict

NAMES = {PLANTED: PLANTED, "howto_budget": "howto/budget"}
PAGES = {"howto/budget": "import lapwing as lw\nlw.load(3)"}
SEEN = "\n".join(f"planted.py:{line}: error: Wrong  [arg-type]" for line in range(2, len(WRONG) + 2))


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[set[str], str]]:
    excused: dict[str, tuple[set[str], str]] = {}
    monkeypatch.setattr(typed_examples, "KNOWN", excused)
    return excused


def told(mypy: str = SEEN, pyrefly: str = SEEN) -> list[str]:
    return verdict({"mypy": mypy, "pyrefly": pyrefly}, NAMES, PAGES)


def test_both_ways_of_telling_an_error_are_read_and_notes_are_not() -> None:
    said = """howto_budget.py:2: error: Argument 1 has type "int"  [arg-type]
howto_budget.py:2: note: See the documentation  [arg-type]
ERROR /tmp/x/howto_budget.py:2:9-10: `Literal[3]` is not assignable [bad-argument-type]
"""

    assert faults(said, NAMES) == {Fault("howto/budget", 2, "arg-type"), Fault("howto/budget", 2, "bad-argument-type")}


def test_a_wrong_call_that_one_of_the_checkers_lets_pass_is_told() -> None:
    assert told() == []
    assert told(pyrefly=SEEN.replace("planted.py:3:", "planted.py:30:")) == [f"pyrefly lets pass: {WRONG[1]}"]
    assert len(told(mypy="mypy: error: no module")) == len(WRONG)


def test_an_error_in_an_example_is_told_with_its_line() -> None:
    said = told(pyrefly=f"{SEEN}\nERROR howto_budget.py:2:9-10: Not assignable [bad-argument-type]")

    assert said == ["howto/budget: bad-argument-type: lw.load(3)"]


def test_an_exception_that_nothing_needs_is_told(known) -> None:
    known["howto/budget"] = {"operator"}, "the example knows better"

    assert told(mypy=f"{SEEN}\nhowto_budget.py:2: error: Unsupported  [operator]") == []
    assert told() == ["howto/budget: no checker says operator; take it out of KNOWN"]


def test_the_examples_are_those_of_readme_and_the_blocks_that_run(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("```python\n1\n```\n")
    (tmp_path / "docs" / "a.md").write_text("```python\n2\n```\n<!-- run -->\n```python\n3\n```\n")

    (tmp_path / "docs" / "gallery").mkdir()
    cells = [{"cell_type": "code", "source": [code]} for code in ("4", "%%sh\nlapwing", "5")]
    (tmp_path / "docs" / "gallery" / "b.ipynb").write_text(json.dumps({"cells": cells}))

    assert examples(tmp_path) == {"README": "1\n", "a": "3\n", "gallery/b": "4\n5"}
    assert len(examples()) > 20
