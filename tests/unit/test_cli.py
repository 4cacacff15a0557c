"""The command line itself: how it ends, what it loads, what it explains and completes, and its examples."""

import contextlib
import copy
import io
import json
import os
import pickle
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import urllib.request
import warnings
from pathlib import Path
from typing import get_args

import pyreadstat
import pytest
import typer

import lapwing as lw
from helpers import make
from helpers.command import Terminal, lapwing
from helpers.error_codes import explained
from helpers.linked_homes import SCHEMA, tables
from lapwing import errors
from lapwing.cli import examples, main
from lapwing.cli import options as completing
from lapwing.cli.console import busy, console_progress
from lapwing.errors import BudgetError, LapwingWarning
from lapwing.extras.audit.run import targets
from lapwing.kernel.terms import Relation
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.release.runs.watching import progress_counter

COMMAND = Path(sys.executable).with_name("lapwing")


def run_for_real(*arguments, **settings):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, **settings)


def test_help_is_on_stdout_and_names_the_commands():
    said = lapwing("--help")

    assert (said.status, said.err) == (0, "")
    assert "synthesize" in said.out


def warn():
    warnings.warn("7 atoms match", LapwingWarning, stacklevel=1)
    warnings.warn("secret cell", UserWarning, stacklevel=1)


def raises(error):
    def action():
        raise error

    return action


UNEXPECTED = r"unexpected ValueError at lapwing/cli/main.py:\d+; please report it \[LW901\]"
ENDS = {
    "an error of ours": (raises(BudgetError("nothing is left")), 1, r"nothing is left \[LW\d+\]"),
    "another error, whose text may be a cell": (raises(ValueError("secret cell")), 1, UNEXPECTED),
    "an interrupt": (raises(KeyboardInterrupt), 130, r"interrupted; nothing was spent \[LW904\]"),
    "a warning of ours, and none of others": (warn, 0, "7 atoms match"),
}


@pytest.mark.parametrize(("action", "status", "line"), ENDS.values(), ids=ENDS)
def test_whatever_ends_a_command_is_one_line(action, status, line, monkeypatch):
    app = typer.Typer()
    app.callback()(lambda: None)
    app.command("mechanisms")(action)
    monkeypatch.setattr(main, "app", app)

    said = lapwing("mechanisms")

    assert (said.status, said.out) == (status, "")
    assert re.fullmatch(f"lapwing: {line}\n", said.err)


def test_what_is_no_ordinary_exception_is_one_line_too(capsys):
    main._last_resort(SystemError, SystemError("secret cell"), None)

    assert capsys.readouterr().err == "lapwing: unexpected SystemError; please report it [LW901]\n"


def test_the_installed_command_exits_with_the_status():
    good, bad, refused = run_for_real("--version"), run_for_real("--nothing"), run_for_real("ledger", "show", cwd="/")

    assert [good.returncode, bad.returncode, refused.returncode] == [0, 2, 1]
    assert [good.stderr, bad.stdout, refused.stdout] == ["", "", ""]
    assert bad.stderr.count("\n") == refused.stderr.count("\n") == 1


def test_help_loads_no_table_library():
    code = "import sys; from lapwing.cli.main import execute; execute(['--help']); print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert {"typer", "numpy", "polars", "numba"} & set(done.stdout.split()) == {"typer"}


def test_answers_of_a_saved_model_need_no_compiler(place):
    mechanism = lw.Adaptive(particles=64, rounds=2)
    make.release(dict.fromkeys("abc", bool), epsilon=5, mechanism=mechanism).save("m.lapwing")
    code = (
        "import sys; from lapwing.cli.main import execute\n"
        "assert execute(['query', 'm.lapwing', '--column', 'a']) == 0\n"
        "print('numba' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=place)

    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("is_buffered", [True, False])
def test_output_onto_a_full_disk_is_one_line(is_buffered):
    if not Path("/dev/full").exists():
        pytest.skip("this machine has no /dev/full")
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if is_buffered else "1"}

    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [COMMAND, "mechanisms"], stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment
        )

    assert done.returncode == 1
    assert done.stderr == (
        "lapwing: standard output, or a temporary file, cannot be written (No space left on device); "
        "give it a place with free space [LW902]\n"
    )


def test_a_reader_that_goes_away_is_told_nothing():
    command = [COMMAND, "mechanisms"]
    reads, writes = os.pipe()
    os.close(reads)

    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writes)

    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(("stream", "quiet"), [(Terminal, False), (Terminal, True), (io.StringIO, False)])
def test_progress_shows_on_terminals_only_and_not_when_quiet(monkeypatch, stream, quiet):
    screen = stream()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")

    with busy("counting", quiet=quiet), console_progress(quiet=quiet, first="writing rows", of="of the rows written"):
        written = progress_counter(3, "writing rows")
        written(2)
        written(1)

    is_shown = stream is Terminal and not quiet
    assert ("writing rows" in screen.getvalue()) is is_shown
    assert ("counting" in screen.getvalue()) is is_shown


# ------------------------------------------------- `lapwing explain`, and the codes that lines, errors and notes carry


KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.LapwingError)]


def test_every_code_is_explained_within_a_terminal_without_signs_of_markdown():
    for code, text in explained().items():
        said = lapwing("explain", code)

        assert (said.status, said.err) == (0, "")
        assert said.out.startswith(f"{code}: {text[7:].split(' {#')[0]}\n\nWhat happened. ")
        assert not any(sign in said.out for sign in ("**", "](", "{#", "\x1b"))
        assert max(map(len, said.out.splitlines())) <= 100


@pytest.mark.parametrize("spelling", ["LW310", "lw310", "310", "[LW310]"])
def test_a_code_is_known_in_every_spelling(spelling):
    assert lapwing("explain", spelling).out.startswith("LW310: Exactly one budget must be given\n")


def test_a_command_in_an_explanation_stands_on_a_line_of_its_own():
    assert "\n    lapwing mechanisms\n" in lapwing("explain", "LW305").out


def test_the_list_has_every_code_with_its_title():
    lines = lapwing("explain", "--list").out.splitlines()

    assert [line[:5] for line in lines[1:]] == sorted(explained())
    assert "LW203  The schema is still a draft" in lines


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_an_error_keeps_code_message_and_note_where_it_is_pickled_or_copied(kind, copied):
    error = copied(kind("a sentence", code="LW203"))

    assert (type(error), str(error), error.code, error.args) == (kind, "a sentence", "LW203", ("a sentence",))
    assert error.__notes__ == ["`lapwing explain LW203` says why, and what to do"]


def test_an_error_in_python_names_the_command_that_explains_it():
    with pytest.raises(lw.ParameterError) as caught:
        lw.plan({"fields": [{"name": "x", "type": "boolean"}]}, expected_rows=10)

    assert caught.value.code == "LW310"
    assert caught.value.__notes__ == ["`lapwing explain LW310` says why, and what to do"]


# ---------------------------------- what a shell is offered at TAB, through the variables by which typer's scripts ask


NAMES = tuple(sorted((kind.name for kind in MECHANISMS.values()), key=str.lower))
# What would make a TAB wait; sys.modules is looked at when all is said.
HEAVY = ("numpy", "polars", "scipy", "narwhals", "rich", "pandas")
WATCHED = f"""
import atexit, sys
atexit.register(lambda: print(*sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr))
sys.argv = ["lapwing"]
from lapwing.cli.main import run
run()
"""


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


# ----------------------- examples at the end of each command's help; those of `demo` and `audit` run in tests of these


COLUMNS = {"id": "id", "age": (0, 120), "weight": (0.0, 250.0), "sex": ["f", "m"], "smokes": bool}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """Make the files that examples name."""
    patients = make.table(COLUMNS, 300)
    contents = {
        "patients.csv": patients,
        "patients.schema.json": make.schema(COLUMNS),
        "homes.json": SCHEMA,
        "named.json": ["sex", ["sex", "smokes"]],
        **dict(zip(("homes.csv", "people.csv"), tables(60), strict=True)),
    }
    folder = make.files(tmp_path_factory.mktemp("clinic"), contents)
    with contextlib.closing(sqlite3.connect(folder / "clinic.db")) as connection, connection:
        connection.execute("CREATE TABLE patients (id, age, weight, sex, smokes)")
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?, ?, ?)", patients.rows())
    pyreadstat.write_sav(patients.select("age").to_pandas(), folder / "study.sav")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "id_ed25519"], check=True)
    return folder


def closed_again(words):
    """Start a studio, open its first page, end it as Ctrl-C does, and return its last line."""
    command = [sys.executable, "-c", "from lapwing.cli.main import run; run()", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as studio:
        address = studio.stdout.readline().strip()
        try:
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            browser.open(address, timeout=30).close()
            with browser.open(address.partition("?")[0], timeout=30) as page:
                assert b"patients.csv" in page.read()
        finally:
            studio.send_signal(signal.SIGINT)
        assert studio.wait(60) == 0
        return studio.stderr.read().splitlines()[-1]


def test_every_example_runs_in_their_order(clinic, monkeypatch):
    monkeypatch.chdir(clinic)
    monkeypatch.setenv("XDG_STATE_HOME", str(clinic / "state"))
    monkeypatch.setenv("BROWSER", "true")  # which opens nothing
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    elsewhere = ("lapwing demo", "lapwing audit independent --runs 300")
    for command in examples._EXAMPLES:
        shown = lapwing(command, "--help").out
        lines = [line.strip() for line in shown.splitlines() if line.startswith("    lapwing ")]
        assert lines, command
        assert shown.endswith(f"    {lines[-1]}\n")
        for line in lines:
            if line in elsewhere:
                continue
            if command == "studio":
                assert closed_again(shlex.split(line)[1:]) == "lapwing: The studio is closed."
                continue
            said = lapwing(*shlex.split(line)[1:])
            if command == "start":  # it asks, and nobody answers
                assert (said.status, "$ lapwing schema" in said.err) == (130, True), said
            else:
                assert said.status == 0, (line, said.err)
        if command == "schema draft":
            draft = json.loads((clinic / "draft.json").read_text())
            for field in draft["fields"]:
                field["provenance"] = "dp"
            draft["fields"][0] = make.field("id", "id")
            (clinic / "draft.json").write_text(json.dumps(draft))
