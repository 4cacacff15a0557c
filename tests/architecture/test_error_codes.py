"""Every refusal has a code, and every code an explanation with an anchor."""

import re
from pathlib import Path

import pytest

import lapwing
from helpers.error_codes import PAGE, codes_in, explained, without_code

PACKAGE = Path(lapwing.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
# One asks for the base of usage errors, the other is the factory that adds the code.
OTHER_USES = ["cli/main.py", "cli/options.py"]


def planted(folder: Path, line: str) -> Path:
    (folder / "planted.py").write_text(f'"""Planted."""\n{line}\n')
    return folder


def test_every_error_of_the_source_is_made_with_a_code():
    found = without_code(PACKAGE)

    assert [place.split(":")[0] for place in found] == OTHER_USES


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('raise ParameterError("too small")', id="raised"),
        pytest.param('raise errors.DataError("no rows") from None', id="by_module"),
        pytest.param('failure = BudgetError("spent")', id="kept"),
        pytest.param("raise type(failure)(str(failure))", id="copied"),
        pytest.param("refused = partial(SchemaError)", id="factory"),
        pytest.param('raise misuse("write it so", context)', id="usage"),
        pytest.param('raise ParameterError("too small", code="LW1")', id="no_code_at_all"),
        pytest.param('raise ParameterError("too small", code=f"LW{number}")', id="computed"),
    ],
)
def test_an_error_without_a_code_is_seen(tmp_path, line):
    assert without_code(planted(tmp_path, line)) == ["planted.py:2"]


@pytest.mark.parametrize(
    "line", ['raise DataError(said, code="LW101")', "raise DataError(said, code=error.code)", "raise ValueError(said)"]
)
def test_an_error_with_a_code_or_of_others_is_passed(tmp_path, line):
    assert without_code(planted(tmp_path, line)) == []


def test_the_page_explains_the_codes_of_the_source_and_no_others():
    assert codes_in(PACKAGE) == set(explained())


def test_every_code_has_an_anchor_of_its_own_in_the_order_of_numbers():
    headings = re.findall(r"^### (LW\d{3}): .+ \{#(lw\d{3})\}$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert [anchor.upper() for _, anchor in headings] == [code for code, _ in headings]
    assert [code for code, _ in headings] == sorted(explained())


def test_every_entry_says_what_happened_why_what_to_do_and_where_more_stands():
    parts = ["**What happened.**", "**Why.**", "**What to do.**", "**Page.**"]

    lacking = {code: [part for part in parts if text.count(part) != 1] for code, text in explained().items()}

    assert {code: found for code, found in lacking.items() if found} == {}


def test_the_pages_that_entries_name_are_there():
    named = {page for text in explained().values() for page in re.findall(r"\]\(([^)]+)\)", text)}

    assert [page for page in sorted(named) if not (ROOT / "docs" / page).is_file()] == []


def test_no_line_of_the_page_is_longer_than_100_characters():
    assert [line for line in PAGE.read_text(encoding="utf-8").splitlines() if len(line) > 100] == []


def test_the_documentation_shows_the_page_itself():
    shown = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")

    assert f'--8<-- "{PAGE.relative_to(PACKAGE.parent).as_posix()}"'.replace('"lapwing', '"src/lapwing') in shown
