"""Progress of a release: public steps for whoever watches, a bar on a terminal, silence everywhere else."""

import io

import polars as pl
import pytest

import lapwing as lw
from lapwing.cli.console import shown_progress
from lapwing.runs.progress import watched

NAMES = ["a", "b", "c", "d"]
SCHEMA = {"fields": [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in NAMES]}
DATA = pl.DataFrame({name: [True, False, True, place % 2 == 0] * 500 for place, name in enumerate(NAMES)})
QUICK = lw.Adaptive(particles=64, rounds=4, resolutions=(2,))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Put a terminal in the place of stderr; pytest would undo this before a test if it were a fixture."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "140")
    return screen


def seen(call):
    steps = []
    with watched(steps.append):
        call()
    return steps


def test_steps_are_one_way_tables_rounds_and_the_last_fit():
    steps = seen(lambda: lw.synthesize(DATA, SCHEMA, epsilon=5, mechanism=QUICK, seed=1))

    names = list(dict.fromkeys(step.step for step in steps))
    assert names == ["one-way tables", *(f"round {number}" for number in range(1, len(names) - 1)), "fitting"]
    assert len(names) > 3
    bought = [step for step in steps if 0 < step.share < 0.03]
    assert [step.step for step in bought] == ["one-way tables"]  # the number of rows is there, the tables are not
    shares = [step.share for step in steps]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)


def test_steps_are_a_function_of_the_answers(tmp_path):
    path = tmp_path / "t.jsonl"
    steps = seen(lambda: lw.synthesize(DATA, SCHEMA, epsilon=5, mechanism=QUICK, seed=1, transcript=path))

    again = seen(lambda: lw.resume(path, DATA))

    assert again == steps[-1:]


def test_a_terminal_shows_the_step_the_share_and_the_time(monkeypatch):
    screen = terminal(monkeypatch)

    with shown_progress(quiet=False):
        lw.synthesize(DATA, SCHEMA, epsilon=5, mechanism=QUICK, seed=1)

    shown = screen.getvalue()
    for part in ("fitting", "% of the budget spent", "elapsed, about", "left"):
        assert part in shown, part


def test_the_bar_of_a_release_that_fails_is_taken_away(monkeypatch):
    screen = terminal(monkeypatch)

    with pytest.raises(lw.LapwingError), shown_progress(quiet=False):
        lw.synthesize(DATA, SCHEMA, epsilon=-1)

    lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=QUICK)
    assert "fitting" not in screen.getvalue()


@pytest.mark.parametrize(("stream", "quiet"), [(Terminal, True), (io.StringIO, False)])
def test_nothing_is_shown_when_quiet_or_where_no_terminal_is(monkeypatch, stream, quiet):
    screen = stream()
    monkeypatch.setattr("sys.stderr", screen)

    with shown_progress(quiet=quiet):
        lw.synthesize(DATA, SCHEMA, epsilon=5, mechanism=QUICK)

    assert screen.getvalue() == ""


def test_a_terminal_shows_how_many_replicates_are_done_and_nothing_else_does(monkeypatch, capsys):
    release = lw.synthesize(DATA, SCHEMA, epsilon=5, mechanism="Independent")
    release.replicates(4, rows=10)
    said = capsys.readouterr()

    screen = terminal(monkeypatch)
    release.replicates(4, rows=10)

    assert (said.out, said.err) == ("", "")
    assert "replicates" in screen.getvalue()
    assert "100%" in screen.getvalue()
