import errno
import json
import re
import shlex
from pathlib import Path

import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.cli.console import way_out
from lapwing.cli.outputs import resuming
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs.records import AccountedSink
from lapwing.release.targets import Targets, read_targets
from lapwing.rows.entry import source_of


@pytest.mark.parametrize("is_certified", [True, False])
@pytest.mark.parametrize("certificate", [None, Path("about it.json")])
@pytest.mark.parametrize("model", [None, Path("m.lapwing")])
def test_the_command_that_finishes_names_the_same_files(model, certificate, is_certified):
    targets = read_targets("out.csv", model, certificate if is_certified else None, no_certificate=not is_certified)

    line = resuming([source_of("d.csv")], targets, rows=5, seed=3, memory="4 GB")(Path("my t.jsonl"), False)
    command = shlex.split(line.split("`")[1])

    assert command[:4] == ["lapwing", "resume", "my t.jsonl", "d.csv"]
    assert ("--model" in command) == (model is not None)
    assert ("--certificate" in command) == (certificate is not None and is_certified)
    assert ("--no-certificate" in command) == (not is_certified)
    assert command[-3:] == ["--rows=5", "--seed=3", "--memory=4 GB"]


def test_a_croissant_file_is_named_too():
    targets = Targets(rows={"": Path("o.csv")}, croissant=Path("c.json"))

    assert "--croissant c.json" in resuming([source_of("d.csv")], targets)(Path("t"), False)


def test_without_a_transcript_nothing_can_be_resumed():
    assert "running again spends again" in way_out(None)


HOME = {"name": "home", "type": "integer", "role": "identifier"}
LINKED = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [HOME, {"name": "rented", "type": "boolean"}]},
        "people": {
            "foreignKeys": {"home": "homes"},
            "maxRows": 3,
            "fields": [HOME, {"name": "adult", "type": "boolean"}],
        },
    }
}
ODD = "it's a "  # of names: a blank and a quote
PAID = ["--epsilon", "1", "--ledger", "b.db", "--quiet"]
COMMANDS = {
    "synthesize": ["synthesize", f"{ODD}d.csv", "--schema", f"{ODD}s.json", "-o", f"{ODD}o.csv", "--rows", "5"],
    "linked": ["synthesize", "homes.csv", "people.csv", "--schema", "l.json", "--into", f"{ODD}out/"],
    "learn": ["schema", "learn", f"{ODD}d.csv", "--schema", "draft.json", "-o", f"{ODD}learned.json"],
    "evaluate": ["evaluate", f"{ODD}d.csv", "made.csv", "--schema", f"{ODD}s.json", "--json", f"{ODD}found.json"],
}
FAILURES = {"memory": MemoryError(), "disk": OSError(errno.ENOSPC, "No space left on device")}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = {"fields": [{"name": "flag", "type": "boolean"}]}
    draft = {"draft": True, "fields": [{"name": "n", "type": "integer", "provenance": "dp"}]}
    files = {f"{ODD}s.json": schema, "draft.json": draft, "l.json": LINKED}
    for name, text in files.items():
        Path(name).write_text(json.dumps(text))
    for name in (f"{ODD}d.csv", "made.csv"):
        Path(name).write_text("flag,n\n" + "true,1\nfalse,2\n" * 50)
    Path("homes.csv").write_text("home,rented\n" + "".join(f"{home},true\n" for home in range(50)))
    Path("people.csv").write_text("home,adult\n" + "".join(f"{home},false\n" for home in range(50)))
    return tmp_path


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_line_that_a_run_offers_that_failed_after_its_debit_finishes_it_and_pays_once(
    command, failure, folder, monkeypatch
):
    book = Ledger.create_or_open("b.db")
    unit = "home:3" if "l.json" in command else "row"
    book.init("d", unit="pure", limit=9, relation="add-remove", privacy_unit=unit)

    def fail(*_):
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(AccountedSink, "_note", fail)  # right after the debit
        said = lapwing(*command, *PAID)

    assert said.status == 1
    assert "unexpected" not in said.err
    line = shlex.split(said.error.split("`")[1])
    assert lapwing(*line[1:]).status == 0
    (output,) = (word for word in command if word.startswith(ODD) and word[len(ODD) :] not in ("d.csv", "s.json"))
    assert Path(output).exists()
    assert book.balance("d").spent == 1


def test_in_python_the_call_that_is_offered_finishes_the_release(folder, monkeypatch):
    book = Ledger.create_or_open("b.db")
    book.init("d", unit="pure", limit=9, relation="add-remove", privacy_unit="row")
    data = f"{ODD}d.csv"

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(AccountedSink, "_note", fail)
        with pytest.raises(lw.DataError) as caught:
            lw.Synthesizer(f"{ODD}s.json", epsilon=1, ledger="b.db").fit_sample(data, 5)
    call = re.search(r"lw\.resume\(.*, data\)", str(caught.value))

    assert call is not None
    release = eval(call[0], {"lw": lw, "data": data})
    assert release.sample(5).height == 5
    assert book.balance("d").spent == 1
