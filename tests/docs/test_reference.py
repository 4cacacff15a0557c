"""The reference names everything public, and what is generated is up to date."""

import importlib
import re
from types import ModuleType

import pytest

import lapwing as lw
from helpers.source_tree import ROOT
from lapwing.on_demand import LazyFunction

PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
SHOWN = [target for page in PAGES for target in re.findall(r"^::: (\S+)$", page.read_text(), flags=re.MULTILINE)]


@pytest.fixture
def command_line_page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import command_line_page

    return command_line_page


def test_the_glossary_is_that_of_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import glossary_page

    assert glossary_page.PAGE.read_text(encoding="utf-8") == glossary_page.page(), "run python tools/glossary_page.py"


def shown_object(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_every_public_name_is_in_the_reference() -> None:
    shown = [shown_object(path) for path in SHOWN]

    assert [name for name in lw.__all__ if getattr(lw, name) not in shown] == []


def test_what_a_class_loads_when_it_is_used_is_shown_with_its_own_words() -> None:
    shown = [shown_object(path) for path in SHOWN]
    loaded = [
        name for name, held in vars(lw.Schema).items() if isinstance(held, LazyFunction) and not name.startswith("_")
    ]
    calls = [getattr(lw.Schema, name) for name in loaded]

    assert len(calls) >= 5
    assert [each.__name__ for each in calls if each not in shown] == []


def test_every_public_name_has_an_anchor_of_its_own() -> None:
    anchors = {
        name for page in PAGES for name in re.findall(r"^\[\]\(\)\{ #lapwing\.(\S+) \}$", page.read_text(), re.M)
    }
    # What has its name from its own place needs no second one.
    anchors |= {path.rpartition(".")[2] for path in SHOWN if path.startswith("lapwing.errors.")}

    assert set(lw.__all__) - anchors == set()


def test_nothing_is_in_the_reference_twice() -> None:
    assert len(SHOWN) == len(set(SHOWN))


def test_the_page_of_the_command_line_is_that_of_the_commands(command_line_page: ModuleType) -> None:
    written = command_line_page.PAGE.read_text(encoding="utf-8")

    assert written == command_line_page.page(), "run python tools/command_line_page.py"


def test_what_commands_say_is_no_markdown(command_line_page: ModuleType) -> None:
    assert command_line_page._plain("a *b* <c>\n | `d_e`") == r"a \*b\* \<c\> \| `d_e`"
