"""What a command says that is interrupted: how the release is finished, or that nothing was spent."""

import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import make
from helpers.command import Said, lapwing
from lapwing.api import running
from lapwing.cli import console
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release import files
from lapwing.release.runs.records import AccountedSink

PART = {"fields": make.fields({"home": "id", "flag": make.field("flag", bool, required=True)})}
LINKED = {"key": "home", "maxChildren": 2, "parent": PART, "child": PART}
HOMES = "home,flag\n" + "".join(f"{each},true\n" for each in range(50))
NOTHING = "interrupted; nothing was spent"
COMMANDS = {
    "learn": "schema learn ages.csv --schema draft.json -o learned.json --epsilon 1",
    "evaluate": "evaluate data.csv made.csv --schema schema.json --epsilon 1 -o found.html",
    "tables": "tables data.csv --schema schema.json --tables tables.json --epsilon 1 --limit 9 -o tables",
    "linked": "synthesize homes.csv people.csv --schema linked.json --epsilon 1 -o parents.csv -o children.csv",
}


@pytest.fixture
def folder(place):
    make.ledger("budget.db")
    make.ledger("homes.db", privacy_unit="home:2")
    contents = {
        **dict.fromkeys(("data.csv", "made.csv"), "flag\n" + "true\nfalse\n" * 50),
        **dict.fromkeys(("homes.csv", "people.csv"), HOMES),
        "ages.csv": "age\n" + "20\n60\n" * 500,
        "schema.json": make.schema({"flag": bool}, required=True),
        "draft.json": {"draft": True, "fields": make.fields({"age": "integer"}, provenance="dp")},
        "linked.json": LINKED,
        "tables.json": '["flag"]',
    }
    return make.files(place, contents)


SYNTHESIZE = "synthesize data.csv --schema schema.json --epsilon 1 -o out.csv"


def synthesized(*more: str) -> Said:
    return lapwing(SYNTHESIZE, *more)


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def interrupted_after_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    record = AccountedSink.record

    def stop(self, *answered):
        record(self, *answered)
        raise KeyboardInterrupt

    monkeypatch.setattr(AccountedSink, "record", stop)


@pytest.mark.parametrize("more", [["--ledger", "budget.db"], ["--ledger", "budget.db", "--transcript", "t.jsonl"]])
def test_before_the_debit_nothing_was_spent_and_no_file_is_left(folder, more, monkeypatch):
    monkeypatch.setattr(Ledger, "debit", interrupt)
    before = sorted(folder.rglob("*"))

    said = synthesized(*more)

    assert (said.status, said.error, said.code) == (130, NOTHING, "LW904")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("more", [["--ledger", "budget.db"], ["--transcript", "t.jsonl"]])
def test_after_an_answer_the_line_that_is_said_finishes_the_release(folder, more, monkeypatch):
    with monkeypatch.context() as patched:
        interrupted_after_an_answer(patched)
        said = synthesized(*more, "--model", "m.lapwing")

    assert (said.status, said.code) == (130, "LW905")
    command = shlex.split(said.error.split("`")[1])
    assert command[:2] == ["lapwing", "resume"]
    assert not list(folder.glob(".lapwing*"))
    assert lapwing(*command[1:]).status == 0
    assert (folder / "out.csv").exists()
    assert (folder / "m.lapwing").exists()
    assert Ledger.open("budget.db").balance().spent == ("--ledger" in more)


def test_right_after_the_debit_the_release_can_be_finished(folder, monkeypatch):
    debit = Ledger.debit

    def stop(self, *arguments, **settings):
        debit(self, *arguments, **settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "debit", stop)

    assert "`lapwing resume " in synthesized("--ledger", "budget.db").error


def test_a_resumed_release_that_is_interrupted_can_be_resumed_again(folder, monkeypatch):
    interrupted_after_an_answer(monkeypatch)
    first = synthesized("--transcript", "t.jsonl")
    monkeypatch.setattr(running, "release_tables", interrupt)

    said = lapwing("resume", "--quiet", "t.jsonl", "data.csv", "-o", "out.csv")

    assert said.error == first.error
    assert (folder / "t.jsonl").exists()


@pytest.mark.usefixtures("folder")
def test_without_a_record_nothing_is_spent_by_an_answer(monkeypatch):
    interrupted_after_an_answer(monkeypatch)

    assert synthesized().error == NOTHING


@pytest.mark.usefixtures("folder")
def test_without_a_record_all_is_spent_once_the_files_are_written(monkeypatch):
    monkeypatch.setattr(files, "write_release_rows", interrupt)

    assert "running again spends again" in synthesized().error


def test_a_second_interrupt_does_not_wait_for_the_ledger(folder, monkeypatch):
    interrupted_after_an_answer(monkeypatch)
    monkeypatch.setattr(Ledger, "find", interrupt)

    assert "`lapwing resume " in synthesized("--ledger", "budget.db").error


@pytest.mark.parametrize("name", COMMANDS)
def test_other_commands_that_spend_say_what_finishes_them(folder, name, monkeypatch):
    command = [*COMMANDS[name].split(), "--ledger", "homes.db" if name == "linked" else "budget.db"]
    with monkeypatch.context() as patched:
        interrupted_after_an_answer(patched)
        said = lapwing(*command, "--quiet")

    assert said.status == 130
    (transcript,) = folder.glob("*.db.transcripts/*.jsonl")
    line = shlex.split(said.error.split("`")[1])
    assert str(transcript) in line
    assert lapwing(*line[1:]).status == 0
    assert Ledger.open(command[-1]).balance().spent == 1
    if name == "tables":
        written = {each.name for each in (folder / "tables").iterdir()}
        assert written == {"certificate.json", "model.lapwing", "rows.csv", "table-01-flag.csv"}


def test_the_signal_that_ends_services_is_an_interrupt_with_a_status_of_its_own(folder):
    code = (
        "import pathlib, time\n"
        "from lapwing.api import running\n"
        "from lapwing.cli.main import run\n"
        "def wait(*_, **__):\n"
        "    pathlib.Path('begun').touch()\n"
        "    time.sleep(100)\n"
        "running.release_tables = wait\n"
        "run()\n"
    )
    command = [sys.executable, "-c", code, *SYNTHESIZE.split(), "--ledger", "budget.db"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not Path("begun").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        was_hidden = list(folder.glob(".lapwing*"))
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        said = process.stderr.read()

    assert was_hidden
    assert (process.returncode, said) == (console.TERMINATED_STATUS, f"lapwing: {NOTHING} [LW904]\n")
    assert not list(folder.glob(".lapwing*"))
