"""Progress of a release: public steps for whoever watches, a bar on a terminal, silence everywhere else."""

import asyncio
import importlib.util
import io
import signal
import threading
import traceback
from functools import partial

import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.command import Terminal
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables
from lapwing.cli.console import console_progress
from lapwing.release.runs import watching
from lapwing.release.runs.watching import report_progress, watch_releases

NAMES = ["a", "b", "c", "d"]
SCHEMA = make.schema(dict.fromkeys(NAMES, bool), required=True)
DATA = pl.DataFrame({name: [True, False, True, place % 2 == 0] * 500 for place, name in enumerate(NAMES)})
QUICK = lw.Adaptive(particles=64, rounds=4, resolutions=(2,))


def terminal(monkeypatch):
    """Put a terminal in the place of stderr; pytest would undo this before a test if it were a fixture."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "140")
    return screen


def seen(call):
    steps = []
    with watch_releases(steps.append):
        call()
    return steps


def test_steps_are_one_way_tables_rounds_and_the_last_fit():
    steps = seen(released)

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
    steps = seen(lambda: released(transcript=path))

    again = seen(lambda: lw.resume(path, DATA))

    assert again == steps[-1:]


def test_a_terminal_shows_the_step_the_share_and_the_time(monkeypatch):
    screen = terminal(monkeypatch)

    with console_progress(quiet=False):
        released()

    shown = screen.getvalue()
    for part in ("fitting", "% of the budget spent", "elapsed, about", "left"):
        assert part in shown, part


def test_the_bar_of_a_release_that_fails_is_taken_away(monkeypatch):
    screen = terminal(monkeypatch)

    with pytest.raises(lw.LapwingError), console_progress(quiet=False):
        lw.synthesize(DATA, SCHEMA, epsilon=-1)

    lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=QUICK)
    assert "fitting" not in screen.getvalue()


@pytest.mark.parametrize(("stream", "quiet"), [(Terminal, True), (io.StringIO, False)])
def test_nothing_is_shown_when_quiet_or_where_no_terminal_is(monkeypatch, stream, quiet):
    screen = stream()
    monkeypatch.setattr("sys.stderr", screen)

    with console_progress(quiet=quiet):
        released()

    assert screen.getvalue() == ""


def test_a_terminal_shows_work_that_lasts_and_nothing_else_does(monkeypatch, capsys):
    release = made()
    release.replicates(4, rows=10)
    said = capsys.readouterr()
    screen = terminal(monkeypatch)
    release.replicates(4, rows=10)
    before = screen.getvalue()

    monkeypatch.setattr(watching, "_AFTER", 1e-6)
    release.replicates(40, rows=10)
    shown = screen.getvalue()
    release.replicates(40, rows=10, progress=False)

    assert (said.out, said.err, before) == ("", "", "")
    for part in ("replicates", "100%", "of them made"):
        assert part in shown, part
    assert screen.getvalue() == shown


def test_true_writes_lines_where_no_terminal_is(capsys):
    released(progress=True)
    lines = capsys.readouterr().err.splitlines()

    assert lines[0] == "lapwing: reading and counting, 0% of the budget spent"
    assert lines[-1] == "lapwing: fitting, 100% of the budget spent"
    assert any(line.startswith("lapwing: round 1, ") for line in lines)
    assert len(lines) < 25


def linked(**more):
    return lw.synthesize(tables(60), HOMES, epsilon=1, delta=1e-6, **more)


DRAFT = lw.Schema.load_draft({"fields": make.fields({"age": "integer"}, provenance="dp")})
AGES = pl.DataFrame({"age": [20, 60] * 50})
CALLS = {
    "synthesize": lambda tell, _: released(progress=tell),
    "Synthesizer": lambda tell, _: lw.Synthesizer(SCHEMA, epsilon=5, mechanism=QUICK, progress=tell).fit(DATA),
    "linked": lambda tell, _: linked(progress=tell),
    "evaluate": lambda tell, _: lw.evaluate(DATA, DATA[:500], SCHEMA, progress=tell),
    "learn": lambda tell, _: lw.Schema.learn(AGES, DRAFT, epsilon=10, progress=tell),
    "replicates": lambda tell, _: made().replicates(4, rows=10, progress=tell),
    "write": lambda tell, place: made().write(place / "rows.parquet", 600_000, progress=tell),
}


def released(**more):
    return lw.synthesize(DATA, SCHEMA, epsilon=5, **({"mechanism": QUICK, "seed": 1} | more))


def made():
    return released(mechanism="Independent")


@pytest.mark.parametrize("call", CALLS)
def test_a_function_is_told_of_the_steps_of_every_long_call(call, tmp_path):
    steps = []

    CALLS[call](steps.append, tmp_path)

    shares = [step.share for step in steps]
    assert len(set(shares)) > 1
    assert shares == sorted(shares)
    assert 0.9 < shares[-1] <= 1.0001
    assert all(isinstance(step.step, str) and step.step for step in steps)


def test_linked_tables_are_two_parts_of_one_whole():
    steps = []
    linked(progress=steps.append, shares={"parent": 0.25, "child": 0.75})

    of_parents = [step.share for step in steps if step.step.startswith("parent: ")]
    assert max(of_parents) == pytest.approx(0.25, abs=1e-3)
    of_children = [step.share for step in steps if step.step.startswith("child: ")]
    assert min(of_children) == pytest.approx(0.25, abs=1e-3)


class Enough(Exception):
    pass


def stop(step):
    if step.share > 0.3:
        raise Enough("person 17 is 41 years old")


def interrupt(step):
    if step.share > 0.3:
        signal.raise_signal(signal.SIGINT)


def cancel(step):
    if step.share > 0.3:
        raise asyncio.CancelledError


ENDS = {
    "a function that raises": (stop, lw.LapwingError),
    "a task that was cancelled": (cancel, lw.LapwingError),
    "Ctrl-C": (interrupt, KeyboardInterrupt),
}


@pytest.mark.parametrize(("end", "kind"), ENDS.values(), ids=ENDS)
def test_what_was_ended_says_how_it_goes_on_and_is_finished_for_nothing(end, kind, tmp_path):
    path, ledger = tmp_path / "t.jsonl", make.ledger(tmp_path / "l.db", 9)

    with pytest.raises(kind) as caught:
        released(transcript=path, ledger=ledger.path, progress=end)
    release = lw.resume(path, DATA)

    said = str(caught.value)
    assert said.endswith(f"; the answers are kept: lw.resume({str(path)!r}, data) finishes free of charge")
    assert "is 41" not in "".join(traceback.format_exception(caught.value))
    assert (caught.value.code, caught.value.__context__) == ("LW905", None)
    assert release.certificate.total.amount <= 5
    assert ledger.balance().spent == 5


@pytest.mark.parametrize(("end", "kind"), ENDS.values(), ids=ENDS)
def test_without_a_record_nothing_was_told_and_so_nothing_spent(end, kind):
    with pytest.raises(kind, match="; nothing was spent") as caught:
        released(progress=end)

    assert caught.value.code == "LW904"


def test_a_bar_is_closed_when_work_is_interrupted(monkeypatch):
    screen = terminal(monkeypatch)

    with (
        pytest.raises(KeyboardInterrupt),
        watching.show_progress(True, first="work", of="done"),
        watch_releases(interrupt),
    ):
        report_progress("work", 0.5)

    assert "work" in screen.getvalue()
    assert not watching._TAKEN.locked()


def test_what_is_no_way_to_show_progress_is_refused():
    with pytest.raises(lw.ParameterError, match="progress must be True, False, None or a function, got a str"):
        lw.synthesize(DATA, SCHEMA, epsilon=5, progress="bar")


def test_two_releases_at_once_each_tell_their_own_function():
    first, second = [], []

    async def both():
        release = partial(lw.synthesize, DATA, SCHEMA, epsilon=5, seed=1)
        await asyncio.gather(
            asyncio.to_thread(release, mechanism=QUICK, progress=first.append),
            asyncio.to_thread(release, mechanism="Independent", progress=second.append),
        )

    asyncio.run(both())

    assert "round 1" in {step.step for step in first}
    assert second
    assert "round 1" not in {step.step for step in second}
    for steps in (first, second):
        assert [step.share for step in steps] == sorted(step.share for step in steps)


def test_of_two_bars_at_once_one_is_shown(monkeypatch):
    screen = terminal(monkeypatch)

    with watching.show_progress(True, first="first", of="done"):
        thread = threading.Thread(target=lambda: one_step("second"))
        thread.start()
        thread.join()
        report_progress("first", 0.5)

    assert "first" in screen.getvalue()
    assert "second" not in screen.getvalue()


def one_step(what):
    with watching.show_progress(True, first=what, of="done"):
        report_progress(what, 0.5)


NOTEBOOK = """
import time
from lapwing.release.runs import watching
from lapwing.release.runs.watching import report_progress
watching._AFTER = 0.05
for each in ("short", "long"):
    with watching.following(None, first=each, of="done"):
        for share in (0.1, 0.5):
            report_progress(each, share)
            time.sleep(0.2 * (each == "long"))
"""


def shown_in_a_notebook():
    """Return what is displayed while the cell runs, its text, and what is left of it."""
    nbformat = pytest.importorskip("nbformat", reason="needs a notebook's kernel")
    nbclient = pytest.importorskip("nbclient", reason="needs a notebook's kernel")
    pytest.importorskip("ipykernel", reason="needs a notebook's kernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK)])
    shown, text = [], []

    class Client(nbclient.NotebookClient):
        def process_message(self, message, *more):
            content = message["content"]
            if message["msg_type"] == "display_data":
                shown.extend(content["data"])
                text.append(content["data"].get("text/plain", ""))
            return super().process_message(message, *more)

    Client(book, kernel_name="python3").execute()
    return shown, "".join(text), book.cells[0].outputs


def test_a_notebook_shows_the_bar_of_rich_where_it_has_widgets_and_nothing_else():
    shown, text, left = shown_in_a_notebook()

    if importlib.util.find_spec("ipywidgets") is None:
        assert (shown, left) == ([], [])
        return
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert "long" in text
    assert "short" not in text
