"""What every paid run keeps: one debit, each answer drawn once, the same call goes on from its transcript.

The tasks are a release of one table by each mechanism, one of linked tables, one without a schema, a learned schema
and an evaluation with a budget.
"""

import json
import signal
import subprocess
import sys
import textwrap

import polars as pl
import pytest

import lapwing as lw
from helpers.source_tree import ROOT
from helpers.transcripts import cut_after
from lapwing.api.synthesize import resume_run
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room.holds import connect
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import TranscriptFile
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.release.runs.records import AccountedSink
from lapwing.schema.schemas import Schema
from mechanism_checks import fitting

HOME = {"name": "home", "type": "integer", "role": "identifier"}
FLAG = {"name": "flag", "type": "boolean", "constraints": {"required": True}}
ONE = {"fields": [FLAG, {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}]}
TWO = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [HOME, FLAG]},
        "people": {"foreignKeys": {"home": "homes"}, "maxRows": 2, "fields": [HOME, {**FLAG, "name": "adult"}]},
    }
}
TABLE = pl.DataFrame({"flag": [True, False] * 60, "age": list(range(60)) * 2})
OTHER = pl.DataFrame({"flag": [True] * 90 + [False] * 30, "age": [7] * 120})
OF_NUMBERS = pl.DataFrame({"flag": [True, False] * 300, "pay": [float(row % 60) for row in range(600)]})
HOMES = {
    "homes": pl.DataFrame({"home": range(60), "flag": [True, False] * 30}),
    "people": pl.DataFrame({"home": [*range(60)] * 2, "adult": [True] * 60 + [False] * 60}),
}


def _released(data, schema, **more):
    return lw.synthesize(data, schema, epsilon=3, mechanism="independent", **more)


def _by(mechanism):
    data, schema = fitting(mechanism)
    settings = {
        "mechanism": mechanism,
        "epsilon": 3,
        "neighbours": mechanism.relations[0],
        "expected_rows": data.height,
    }
    return lambda **more: lw.synthesize(data, schema, **settings, **more)


TASKS = {
    **{kind.__name__: ("row", _by(kind.small())) for kind in MECHANISMS.values()},
    "linked": ("home:2", lambda **more: _released(HOMES, TWO, **more)),
    "learned": (
        "row",
        lambda **more: Schema.learn(
            TABLE, {"draft": True, "fields": [{"name": "age", "type": "integer"}]}, epsilon=3, **more
        ),
    ),
    "no schema": ("row", lambda **more: lw.synthesize(OF_NUMBERS, epsilon=3, **more)),
    "evaluation": ("row", lambda **more: lw.evaluate(TABLE, OTHER, ONE, epsilon=3, **more)),
}


@pytest.fixture(params=TASKS)
def task(request, tmp_path):
    """Return a paid run that a ledger and a transcript record."""
    unit, run = TASKS[request.param]
    book = Ledger.create_or_open(tmp_path / "budget.db")
    kind = MECHANISMS.get(request.param.lower())
    relation = kind.small().relations[0] if kind else "add-remove"
    book.init("data", unit="pure", limit=10, relation=relation, privacy_unit=unit)
    places = {"ledger": tmp_path / "budget.db", "transcript": tmp_path / "t.jsonl"}
    return lambda **changes: run(**(places | changes)), book, places["transcript"]


def shown(made):
    """Return all that a run gives."""
    if isinstance(made, Schema):
        return json.dumps(made.to_dict())
    noisy = [each.noisy for each in (made.tables.values() if hasattr(made, "tables") else [made])]
    return f"{made.certificate.to_dict()} {noisy}"


def no_words(self, count):
    """Draw nothing."""
    raise AssertionError(f"{count} secret words are drawn again")


def test_the_same_call_gives_the_same_again_and_pays_and_draws_once(task, monkeypatch):
    run, book, transcript = task
    first, written = shown(run()), transcript.read_bytes()

    monkeypatch.setattr(SystemBits, "words", no_words)

    with pytest.warns(lw.LapwingWarning, match="for other rows") as told:
        again, elsewhere = shown(run()), shown(run(ledger=None))

    assert again == elsewhere == first
    assert [each.message.code for each in told if "t.jsonl" in str(each.message)] == ["LW616"] * 2
    assert transcript.read_bytes() == written
    assert book.balance().spent == 3


def test_the_debit_comes_before_the_secret_bits_and_before_any_counting(task, monkeypatch):
    run, book, _ = task
    seen, ask = [], Room.ask
    monkeypatch.setattr(SystemBits, "__init__", lambda self: seen.append(("bits", book.balance().spent)))
    monkeypatch.setattr(
        Room, "ask", lambda self, *asked: seen.append(("ask", book.balance().spent)) or ask(self, *asked)
    )

    run()

    assert {what for what, _ in seen} == {"bits", "ask"}
    assert {paid for _, paid in seen} == {3}


@pytest.mark.parametrize(
    "terms",
    [{"limit": 2}, {"unit": "zcdp", "limit": "0.01"}, {"relation": None}, {"privacy_unit": "somebody:3"}],
    ids=["too little", "another notion", "the other relation", "another unit"],
)
def test_where_the_ledger_refuses_nothing_is_counted_and_no_file_is_left(task, terms, tmp_path, monkeypatch):
    run, book, transcript = task
    kept = book.balance()
    own = {"unit": "pure", "limit": 10, "relation": kept.relation, "privacy_unit": kept.privacy_unit}
    other = {"add-remove": "replace-one", "replace-one": "add-remove"}[kept.relation]
    strict = Ledger.create_or_open(tmp_path / "strict.db")
    strict.init("data", **(own | {key: other if value is None else value for key, value in terms.items()}))
    before = sorted(each.name for each in tmp_path.iterdir())
    monkeypatch.setattr(Room, "ask", lambda self, *asked: pytest.fail("asked"))

    for place in (None, transcript):
        with pytest.raises(lw.BudgetError):
            run(ledger=tmp_path / "strict.db", transcript=place)

    assert sorted(each.name for each in tmp_path.iterdir()) == before
    assert strict.balance().spent == 0


def test_noise_larger_than_any_is_refused_before_the_debit(task, monkeypatch):
    run, book, _ = task
    monkeypatch.setattr("lapwing.kernel.noise_law.MAX_SD", 0.01)

    with pytest.raises(lw.ParameterError):
        run()

    assert book.balance().spent == 0


def test_the_ledger_has_one_line_that_the_certificate_names_and_adds_up_to(task):
    run, book, _ = task
    made = run()

    entry = book.history("data")[-1]
    if isinstance(made, Schema):
        assert (made.purchases[-1].release, made.purchases[-1].amount) == (entry.release_id, 3)
    else:
        named = made.certificate.ledger
        assert (named.dataset, named.release_id) == ("data", entry.release_id)
        assert sum(line.cost.amount for line in made.certificate.lines) == made.certificate.total.amount <= 3
    assert book.verify() == 2


def test_an_older_copy_of_a_transcript_and_one_with_other_answers_draw_no_fresh_noise(task, tmp_path, monkeypatch):
    run, book, transcript = task
    run()
    lines = transcript.read_text().splitlines(keepends=True)
    copies = [cut_after(transcript, kept) for kept in {*range(3), len(lines) - 2} if kept < len(lines) - 1]
    run(ledger=None, transcript=tmp_path / "other.jsonl")
    others = (tmp_path / "other.jsonl").read_text().splitlines(keepends=True)
    copies.append("".join([lines[0], *others[1:]]))

    monkeypatch.setattr(SystemBits, "words", no_words)
    for copy in copies:
        (tmp_path / "copy.jsonl").write_text(copy)
        with pytest.raises(lw.BudgetError, match="lacks some of them"):
            run(transcript=tmp_path / "copy.jsonl")
    with pytest.raises(lw.DataError, match="is of another run"):
        run(transcript=tmp_path / "other.jsonl")
    assert book.balance().spent == 3


KILLED = """
    import os, signal, sys
    from boundary.test_contract_of_paid_runs import TASKS
    from lapwing.kernel.room.room import Room

    honest, asked = Room.ask, []

    def ask(self, *questions):
        if len(asked) == int(sys.argv[4]):
            os.kill(os.getpid(), signal.SIGKILL)
        asked.append(questions)
        return honest(self, *questions)

    Room.ask = ask
    TASKS[sys.argv[1]][1](ledger=sys.argv[2], transcript=sys.argv[3])
"""


@pytest.mark.parametrize("batches", [pytest.param(0, marks=pytest.mark.full), 1])
@pytest.mark.parametrize("task", ["Independent", "linked", "learned", "no schema", "evaluation"], indirect=True)
def test_a_killed_run_is_finished_without_a_second_debit(task, batches, request):
    run, book, transcript = task
    name = request.node.callspec.params["task"]
    places = (name, transcript.with_name("budget.db"), transcript, batches)
    script = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(KILLED), *map(str, places)]
    killed = subprocess.run(script, cwd=ROOT / "tests", check=False, capture_output=True)
    kept = transcript.read_text()

    made = run()

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert transcript.read_text().startswith(kept)
    assert len(kept.splitlines()) > batches
    assert len(transcript.read_text()) > len(kept)
    assert book.balance().spent == 3
    assert shown(run()) == shown(made)


def test_after_each_answer_the_same_call_goes_on_and_pays_once(task, monkeypatch):
    run, book, transcript = task
    record, left = AccountedSink.record, 1

    def stop(self, *answered):
        nonlocal left
        record(self, *answered)
        left -= 1
        if not left:
            raise KeyboardInterrupt

    monkeypatch.setattr(AccountedSink, "record", stop)
    stops, kept = 0, b""
    while True:
        left = 1
        try:
            made = run()
        except KeyboardInterrupt:
            stops += 1
            assert transcript.read_bytes().startswith(kept)
            kept = transcript.read_bytes()
            continue
        break

    assert stops >= 1
    assert transcript.read_bytes() == kept
    assert book.balance().spent == 3
    monkeypatch.setattr(SystemBits, "words", no_words)
    assert shown(run()) == shown(made)


def test_no_answer_goes_over_to_another_table(task):
    run, book, transcript = task
    run()
    header, *lines = transcript.read_text().splitlines(keepends=True)
    for part in ("people", "homes", "elsewhere"):
        moved = [json.dumps({**json.loads(line), "part": part}) + "\n" for line in lines]
        if moved == lines:
            continue
        transcript.write_text(header + "".join(moved))

        with pytest.raises(lw.LapwingError) as refused:
            run()

        assert refused.value.code in ("LW414", "LW611")
    assert book.balance().spent == 3


def test_another_call_is_refused_the_transcript(task):
    run, book, transcript = task
    run()
    written = transcript.read_bytes()
    changed = json.loads(written.splitlines()[0])
    changed["settings"]["request"]["epsilon"] = "2"
    transcript.write_bytes(json.dumps(changed).encode() + b"\n" + b"".join(written.splitlines(keepends=True)[1:]))

    with pytest.raises(lw.LapwingError) as refused:
        run()

    assert refused.value.code == "LW611"
    assert book.balance().spent == 3


def test_a_schema_mended_by_another_hand_lets_nothing_be_drawn_again(task, monkeypatch):
    run, book, transcript = task
    run()
    schema = json.loads(transcript.read_bytes().splitlines()[0])["settings"].get("schema", {})
    with transcript.open("a") as file:
        file.write(json.dumps({"mended": schema}) + "\n")
    written = transcript.read_bytes()

    monkeypatch.setattr(SystemBits, "words", no_words)
    with pytest.raises(lw.LapwingError) as refused:
        run()

    assert refused.value.code != "LW901"
    assert transcript.read_bytes() == written
    assert book.balance().spent == 3


def test_what_another_process_answers_until_the_transcript_is_held_is_not_drawn_again(task, monkeypatch):
    run, _, transcript = task
    first, written = shown(run()), transcript.read_bytes()
    transcript.write_bytes(written[: written.index(b"\n") + 1])

    def finished(hold):
        transcript.write_bytes(written)
        return connect(hold)

    monkeypatch.setattr("lapwing.kernel.room.transcript.connect", finished)
    monkeypatch.setattr(SystemBits, "words", no_words)

    assert shown(run()) == first
    assert transcript.read_bytes() == written


def test_a_transcript_that_goes_away_while_it_is_held_ends_the_run_before_more_is_drawn(tmp_path, monkeypatch):
    transcript = tmp_path / "t.jsonl"
    _released(TABLE, ONE, transcript=transcript)
    transcript.write_bytes(b"".join(transcript.read_bytes().splitlines(keepends=True)[:2]))

    monkeypatch.setattr(SystemBits, "words", no_words)
    with pytest.raises(lw.DataError) as refused:
        resume_run(transcript, TABLE, lambda *_: transcript.unlink())

    assert refused.value.code == "LW613"
    assert not transcript.exists()


@pytest.mark.parametrize(("key", "value"), [("misfit_share", "0"), ("misfit_share", "1"), ("most_misfits", "5")])
@pytest.mark.parametrize(("data", "schema", "first"), [(TABLE, ONE, None), (HOMES, TWO, "homes")])
def test_a_header_whose_shares_of_misfits_are_none_is_damaged(data, schema, first, key, value, tmp_path):
    transcript = tmp_path / "t.jsonl"
    _released(data, schema, transcript=transcript)
    header = json.loads(transcript.read_bytes().splitlines()[0])
    (header["settings"]["parts"][first] if first else header["settings"])[key] = value
    transcript.write_text(json.dumps(header) + "\n")

    with pytest.raises(lw.DataError) as refused:
        lw.resume(transcript, data)

    assert refused.value.code == "LW610"


def test_a_transcript_of_nothing_paid_is_gone_before_another_process_may_hold_it(tmp_path, monkeypatch):
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("data", unit="pure", limit=1, relation="add-remove", privacy_unit="row")
    transcript, seen = tmp_path / "t.jsonl", []
    close = TranscriptFile.close
    monkeypatch.setattr(TranscriptFile, "close", lambda self: (seen.append(transcript.exists()), close(self)))

    with pytest.raises(lw.BudgetError):
        _released(TABLE, ONE, ledger=tmp_path / "budget.db", transcript=transcript)

    assert seen
    assert not any(seen)
    assert [each.name for each in tmp_path.iterdir()] == ["budget.db"]


def test_a_run_whose_lock_cannot_be_made_leaves_nothing_that_nobody_can_take_up(task, tmp_path, monkeypatch):
    run, book, transcript = task

    def gone(hold):
        raise lw.DataError(f"{hold} cannot be locked", code="LW612")

    monkeypatch.setattr("lapwing.kernel.room.transcript.connect", gone)
    with pytest.raises(lw.DataError):
        run()

    assert not transcript.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["budget.db"]
    assert book.balance().spent == 0
