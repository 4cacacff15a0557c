"""The manual page is what the commands say of themselves."""

import shutil
import subprocess
from types import ModuleType

import pytest

from helpers.source_tree import ROOT


@pytest.fixture
def man_page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import man_page

    return man_page


def test_the_page_in_the_tree_is_that_of_the_commands_and_else_make_man_writes_it(man_page: ModuleType) -> None:
    assert man_page.PAGE.read_text(encoding="utf-8") == man_page.page(), "run make man"


def test_every_command_and_every_option_is_on_the_page(man_page: ModuleType) -> None:
    import command_tree

    page = man_page.page().replace("\\-", "-").replace("\\e", "\\")
    commands = [each for each in command_tree.shown_commands() if not each.commands]

    assert len(commands) > 20
    assert [each.name for each in commands if f"\n.SS {each.name}" not in page] == []
    assert [names for each in commands for names, _ in each.options if f"\n.B {names}\n" not in page] == []


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not on this machine")
def test_groff_has_nothing_to_say_about_the_page(man_page: ModuleType) -> None:
    command = ["groff", "-k", "-man", "-ww", "-z", str(man_page.PAGE)]

    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "written"), [(".a", "\\&.a"), ("a-b", "a\\-b"), ("C:\\d", "C:\\ed"), (" a\n b", "a b")]
)
def test_nothing_in_a_text_is_an_order_to_troff(man_page: ModuleType, text: str, written: str) -> None:
    assert man_page._plain(text) == written
