import os
import subprocess
import sys
import warnings
from pathlib import Path

import polars as pl
import pytest
import typer

import lapwing as lw
from helpers.command import lapwing
from lapwing.cli import main
from lapwing.errors import BudgetError, LapwingWarning

COMMAND = Path(sys.executable).with_name("lapwing")


def run_for_real(*arguments, **settings):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, **settings)


@pytest.fixture
def planted(monkeypatch):
    """Return a function that makes `lapwing mechanisms` do something else."""

    def plant(action):
        app = typer.Typer()
        app.callback()(lambda: None)
        app.command("mechanisms")(action)
        monkeypatch.setattr(main, "app", app)

    return plant


def test_help_is_on_stdout_and_names_the_commands():
    said = lapwing("--help")

    assert (said.status, said.err) == (0, "")
    assert "synthesize" in said.out


def test_an_error_of_ours_is_one_line_and_status_1(planted):
    def refuse():
        raise BudgetError("nothing is left")

    planted(refuse)

    said = lapwing("mechanisms")

    assert (said.status, said.error) == (1, "nothing is left")


def test_an_unexpected_exception_shows_neither_its_text_nor_a_traceback(planted):
    def fail():
        raise ValueError("secret cell")

    planted(fail)

    said = lapwing("mechanisms")

    assert said.status == 1
    assert said.error.startswith("unexpected ValueError at lapwing/cli/main.py:")
    assert said.error.endswith("; please report it")


def test_an_interrupt_is_one_line_and_status_130(planted):
    def interrupt():
        raise KeyboardInterrupt

    planted(interrupt)

    said = lapwing("mechanisms")

    assert said.status == 130
    assert (said.error, said.code) == ("interrupted; nothing was spent", "LW904")


def test_our_warnings_are_lines_and_those_of_others_are_silent(planted):
    def warn():
        warnings.warn("7 atoms match", LapwingWarning, stacklevel=1)
        warnings.warn("secret cell", UserWarning, stacklevel=1)

    planted(warn)

    said = lapwing("mechanisms")

    assert (said.status, said.out, said.err) == (0, "", "lapwing: 7 atoms match\n")


def test_what_is_no_ordinary_exception_is_one_line_too(capsys):
    main._last_resort(SystemError, SystemError("secret cell"), None)

    assert capsys.readouterr().err == "lapwing: unexpected SystemError; please report it [LW901]\n"


def test_the_installed_command_exits_with_the_status():
    good, bad, refused = run_for_real("--version"), run_for_real("--nothing"), run_for_real("ledger", "show", cwd="/")

    assert [good.returncode, bad.returncode, refused.returncode] == [0, 2, 1]
    assert [good.stderr, bad.stdout, refused.stdout] == ["", "", ""]
    assert bad.stderr.count("\n") == refused.stderr.count("\n") == 1


def test_help_loads_no_table_library():
    code = "import sys; from lapwing.cli.main import execute; execute(['--help']); print(sorted(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "typer" in done.stdout
    assert "numpy" not in done.stdout
    assert "polars" not in done.stdout
    assert "numba" not in done.stdout


def test_answers_of_a_saved_model_need_no_compiler(tmp_path):
    schema = {"fields": [{"name": name, "type": "boolean"} for name in "abc"]}
    rows = pl.DataFrame({name: [True, False] * 200 for name in "abc"})
    lw.synthesize(rows, schema, epsilon=5, mechanism=lw.Adaptive(particles=64, rounds=2)).save(tmp_path / "m.lapwing")
    code = (
        "import sys; from lapwing.cli.main import execute\n"
        "assert execute(['query', 'm.lapwing', '--column', 'a']) == 0\n"
        "print('numba' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)

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
