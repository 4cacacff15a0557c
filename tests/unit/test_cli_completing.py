"""What a shell is offered at TAB, through the variables by which typer's scripts ask."""

import os
import subprocess
import sys
from typing import get_args

import pytest

from lapwing.cli import options as completing
from lapwing.extras.audit.run import targets
from lapwing.kernel.terms import Relation
from lapwing.mechanisms.registry import MECHANISMS

NAMES = tuple(sorted((kind.name for kind in MECHANISMS.values()), key=str.lower))
ASK = "from lapwing.cli.main import run\nrun()\n"
# What would make a TAB wait; sys.modules is looked at when all is said.
HEAVY = ("numpy", "polars", "scipy", "narwhals", "rich", "pandas")
WATCHED = f"""
import atexit, sys
atexit.register(lambda: print(*sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr))
sys.argv = ["lapwing"]
{ASK}"""


def asked(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONUTF8": "1", **variables}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def offered(line: str) -> list[str]:
    """Return what bash is offered for the last word of a line."""
    place = str(len(line.split(" ")) - 1)
    done = asked(WATCHED, COMP_WORDS=line, COMP_CWORD=place, _LAPWING_COMPLETE="complete_bash")
    assert (done.returncode, done.stderr.strip()) == (0, ""), done
    return done.stdout.split()


def test_a_tab_offers_commands_and_waits_for_no_large_package() -> None:
    assert offered("lapwing s") == ["start", "studio", "synthesize", "sample", "schema"]


def test_a_tab_offers_names_of_mechanisms_to_a_command_that_takes_one() -> None:
    assert offered("lapwing synthesize t.csv --mechanism P") == ["PMM", "PrivateSampling", "PSMM"]


@pytest.mark.parametrize(("shell", "word"), [("bash", "COMPREPLY"), ("zsh", "compdef"), ("fish", "--command lapwing")])
def test_each_shell_gets_a_script_that_asks_lapwing(shell: str, word: str) -> None:
    done = asked(WATCHED, _LAPWING_COMPLETE=f"source_{shell}")

    assert done.returncode == 0, done
    assert word in done.stdout
    assert f"_LAPWING_COMPLETE=complete_{shell}" in done.stdout


@pytest.mark.parametrize(
    ("incomplete", "names"),
    [("", NAMES), ("K", ("KDTree",)), ("k", ("kdtree",)), ("kdt", ("kdtree",)), ("x", ())],
)
def test_names_are_offered_in_the_case_that_is_typed(incomplete: str, names: tuple[str, ...]) -> None:
    assert tuple(completing.mechanism_names(incomplete)) == names


def test_the_names_that_are_offered_are_those_that_exist() -> None:
    assert set(completing.audited_names("")) == {target.name for target in targets().values()}
    assert get_args(Relation) == completing.RELATIONS
