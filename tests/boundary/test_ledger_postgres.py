"""A ledger in a real Postgres: the server fails, writers are killed, its owner changes it behind Lapwing's back."""

import json
import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import pytest

import lapwing as lw
from helpers import databases
from helpers.command import lapwing
from helpers.ledgers import running
from helpers.postgres_ledgers import DATA, DELTA, SCHEMA, TERMS, changed, paid_ledger, pay
from lapwing.errors import BudgetError, LapwingError
from lapwing.extras.office.stores import postgres as store
from lapwing.kernel.budget import ledger as ledger_module
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.budget.store import transact
from lapwing.kernel.room.holds import transcripts_of
from lapwing.release.runs.records import unpaid_transcripts

WORKER = Path(__file__).resolve().parents[1] / "helpers" / "ledger_worker.py"

pytestmark = pytest.mark.needs("Postgres")


@pytest.fixture
def place(postgres):
    return postgres("budget")


@pytest.fixture
def ledger(place):
    return paid_ledger(place)


# ------------------------------------------------------------------------------------------------------ as with a file


def test_a_ledger_in_postgres_does_what_one_in_a_file_does(ledger, tmp_path):
    file = Ledger.create_or_open(tmp_path / "budget.db")
    file.init("adult", unit="zcdp", limit=1, selection_delta="1e-6", **TERMS)
    pay(file, "a", delta=DELTA)
    file.note_answers("adult", "a", ["0" * 64, "1" * 64])
    pay(file, "b")
    file.set_limit("adult", 2)

    for ask in (Ledger.datasets, Ledger.balance, Ledger.verify, lambda book: book.unpaid(["a", "x"])):
        assert ask(ledger) == ask(file)
    for ask in (lambda book: book.find("adult", "a"), Ledger.opening, lambda book: book.history()[-1]):
        assert ask(ledger).details == ask(file).details
    assert ledger.head(ledger.head().hash).kept == 4
    assert [each["number"] for each in ledger.export("adult")["entries"]] == [1, 2, 3, 4]
    assert pay(ledger, "b") == ledger.find("adult", "b"), "a second debit of a release changes nothing"
    for refused in (
        lambda book: book.debit("adult", "b", Budget.pure("0.2"), **TERMS, description={}),
        lambda book: book.debit("adult", "c", Budget.zcdp(2), **TERMS, description={}),
        lambda book: pay(book, "c", delta=Fraction(1, 1000)),
        lambda book: book.init("adult", unit="pure", limit=1, **TERMS),
        lambda book: book.note_answers("adult", "a", ["2" * 64]),
        lambda book: book.balance("none"),
        lambda book: book.head("0" * 64),
    ):
        said = []
        for book in (ledger, file):
            with pytest.raises(LapwingError) as caught:
                refused(book)
            said.append(str(caught.value))
        assert said[0] == said[1]


def test_the_commands_take_an_address(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    DATA.write_csv("t.csv")
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    account = ("--unit", "pure", "--limit", "3", "--neighbours", "add-remove", "--privacy-unit", "row")
    release = ("t.csv", "--schema", "s.json", "--epsilon", "1", "--dataset", "people", "--ledger", place)

    before = lapwing("ledger", "show", "--ledger", place)
    said = [
        lapwing(*words)
        for words in (
            ("ledger", "init", "people", *account, "--ledger", place, "--population", "all"),
            ("synthesize", *release, "-o", "out.csv", "--mechanism", "Independent", "--model", "m.lapwing"),
            ("ledger", "show", "--ledger", place),
            ("ledger", "history", "--ledger", place),
            ("ledger", "history", "--ledger", place, "--json", "h.json"),
            ("ledger", "limit", "people", "2", "--ledger", place),
            ("ledger", "verify", "--ledger", place),
        )
    ]

    assert before.status == 1
    assert "make it with `lapwing ledger init`" in before.err
    assert [each.status for each in said] == [0] * len(said)
    assert "epsilon 2" in said[2].out
    assert len(json.loads((tmp_path / "h.json").read_text())["entries"]) == 2
    assert not list(tmp_path.glob("postgres*")), "an address is never a path"
    [transcript] = transcripts_of(place).glob("*.jsonl")
    assert transcript.stat().st_mode & 0o777 == 0o600
    assert transcript.parent.stat().st_mode & 0o777 == 0o700
    assert lapwing("resume", transcript, "t.csv", "-o", "again.csv").status == 0
    assert Ledger.open(place).balance().spent == 1
    files = [path for folder in (tmp_path, transcript.parent) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 6
    assert [path for path in files if databases.PASSWORD.encode() in path.read_bytes()] == []
    assert databases.PASSWORD not in "".join(each.out + each.err for each in said)


# ------------------------------------------------------------------------------------------------- kills and failures


@contextmanager
def serving(place, names):
    """Run writers that debit until they are refused, each of which has said its first debit."""
    with running([sys.executable, str(WORKER), "serve", place, name] for name in names) as found:
        assert [process.stdout.readline() for process in found] == [f"{name}-0\n" for name in names]
        yield found


def nearly_used_up(ledger, units):
    """Lower the limit until the writers, who go on all the while, are about to reach it."""
    for spare in (units << number for number in range(20)):
        with suppress(BudgetError):  # they were faster, and have more to go now
            return ledger.set_limit("data", ledger.balance("data").spent + Fraction(spare, 10**9))
    raise AssertionError("the writers are always faster")


@pytest.mark.parametrize(
    ("workers", "units"), [(4, 100), pytest.param(16, 1000, marks=pytest.mark.full)], ids=["quick", "full"]
)
def test_killed_writers_and_a_server_that_fails_lose_no_debit_and_allow_none_too_many(
    database_server, place, workers, units
):
    ledger = Ledger.create_or_open(place)
    ledger.init("data", unit="pure", limit=1, **TERMS)  # which nobody reaches, so all are busy whenever something fails
    names = [f"w{number}" for number in range(workers)]
    others = [f"again-{name}" for name in names[::2]]

    with serving(place, names) as first:
        database_server.stop("immediate")
        for process in first[::2]:
            process.kill()
        database_server.start()
        with serving(place, others) as second:
            database_server.stop("immediate")
            database_server.start()
            limit = nearly_used_up(ledger, units).limit
            said = [process.communicate(timeout=240) for process in (*first, *second)]

    assert {err for _, err in said} == {""}
    told = [f"{name}-0" for name in (*names, *others)] + [name for out, _ in said for name in out.split()]
    entries = ledger.history("data")
    assert set(told) <= {entry.release_id for entry in entries}
    assert ledger.balance("data").left == 0
    assert len(entries) == ledger.verify() == limit * 10**9 + 2, "the opening, the limit, and a debit for each unit"


@pytest.mark.parametrize(("flush", "is_kept"), [(store._FLUSH, True), ((), False)], ids=["as it is", "planted"])
def test_a_debit_that_returned_outlives_the_server(database_server, ledger, monkeypatch, flush, is_kept):
    monkeypatch.setattr(store, "_FLUSH", flush)

    pay(ledger, "c")
    database_server.stop("immediate")
    database_server.start()

    assert (ledger.find("adult", "c") is not None) == is_kept
    assert ledger.verify() == (5 if is_kept else 4)


def test_a_run_whose_server_fails_keeps_its_transcript_and_is_finished_later(database_server, place, tmp_path):
    Ledger.create_or_open(place).init("d", unit="pure", limit=3, **TERMS)
    transcript = tmp_path / "t.jsonl"
    note = Ledger.note_answers

    def failing(*arguments):
        database_server.stop("immediate")
        note(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "note_answers", failing)
        with pytest.raises(BudgetError, match=r"cannot be reached, or failed .*lw.resume\("):
            lw.synthesize(DATA, SCHEMA, epsilon=1, ledger=place, transcript=transcript)
    database_server.start()

    lw.resume(transcript, DATA)

    assert Ledger.open(place).balance().spent == 1
    assert Ledger.open(place).verify() == 2


def test_a_copy_of_the_database_that_was_put_back_is_noticed_by_the_transcripts_on_this_machine(database_server, place):
    ledger = Ledger.create_or_open(place)
    ledger.init("adult", unit="pure", limit=3, **TERMS)
    lw.synthesize(DATA, SCHEMA, epsilon=1, ledger=place)
    assert unpaid_transcripts(place) == ()
    changed(database_server, "DROP SCHEMA lapwing_ledger CASCADE")
    Ledger.create_or_open(place).init("adult", unit="pure", limit=3, **TERMS)

    with pytest.raises(BudgetError, match="an older copy of the ledger was put back"):
        lw.synthesize(DATA, SCHEMA, epsilon=1, ledger=place)


def test_an_idle_connection_that_ended_is_replaced(database_server, ledger):
    others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
    databases.run(database_server.url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")

    pay(ledger, "c")

    assert ledger.verify() == 5


def test_a_process_that_forks_shares_no_connection_with_its_child(ledger):
    ledger.balance()
    child = os.fork()
    if child == 0:
        Ledger(ledger.path).balance()
        os._exit(0)
    pay(ledger, "c")
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.verify() == 5


@pytest.fixture
def undone(ledger, monkeypatch):
    """Return what runs a transaction that Postgres undoes with a state until its last run, and says which that was."""
    monkeypatch.setattr(store.time, "sleep", lambda seconds: None)
    runs = []

    def work(session, state, last):
        runs.append(session.execute("SELECT max(number) FROM entries")[0][0])
        if len(runs) < last:
            session.execute(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{state}'; END $$")
        return runs

    return runs, lambda *asked: transact(ledger.path, "BEGIN IMMEDIATE", lambda session: work(session, *asked))


@pytest.mark.parametrize("state", store._AGAIN)
def test_a_transaction_that_postgres_undoes_is_run_again(ledger, undone, state):
    assert len(undone[1](state, 3)) == 3
    assert ledger.verify() == 4


def test_a_transaction_that_postgres_undoes_is_not_run_for_ever(ledger, undone):
    runs, transaction = undone
    with pytest.raises(BudgetError, match="is in use by others"):
        transaction(store._AGAIN[0], 10**6)

    assert len(runs) == store.TRIES
    assert ledger.verify() == 4


def test_two_serialisable_writers_that_contradict_each_other_are_put_in_order(ledger, monkeypatch):
    """Without the lock, Postgres itself has to refuse one of them, which is run again."""
    unlocked = [statement for statement in store._BEGIN[store._WRITES] if not statement.startswith("LOCK")]
    monkeypatch.setitem(store._BEGIN, store._WRITES, unlocked)
    paid = []

    def check(*_):
        paid.append(len(paid))
        if len(paid) == 1:
            pay(ledger, "between")

    pay(ledger, "c", check=check)

    assert paid == [0, 1], "one of them was run again"
    assert [each.release_id for each in ledger.history()] == [None, "a", "b", None, "between", "c"]


def test_a_writer_that_waited_for_another_sees_what_it_paid_and_is_run_once(ledger):
    checks, waiting = [], []

    def check(*_):
        checks.append("first")
        waiting.append(threading.Thread(target=lambda: pay(ledger, "second", check=lambda *_: checks.append("second"))))
        waiting[0].start()
        time.sleep(0.5)
        assert checks == ["first"], "the second one waits"

    pay(ledger, "first", check=check)
    waiting[0].join()

    assert checks == ["first", "second"]
    assert [each.release_id for each in ledger.history()][-2:] == ["first", "second"]


def test_whoever_holds_the_lock_too_long_is_told_of(database_server, ledger, monkeypatch):
    databases.forget_connections()
    short = [each if "lock_timeout" not in each else "SET lock_timeout TO '100ms'" for each in store._SETTINGS]
    monkeypatch.setattr(store, "_SETTINGS", short)
    with databases.dbapi.connect(database_server.url) as other, other.cursor() as cursor:
        cursor.execute("LOCK TABLE lapwing_ledger.entries IN EXCLUSIVE MODE")

        with pytest.raises(BudgetError, match="is in use by others"):
            pay(ledger, "c")

    assert ledger.verify() == 4
    databases.forget_connections()


def test_another_spelling_of_the_address_finds_the_same_transcripts(postgres, ledger, place):
    lw.synthesize(DATA, SCHEMA, epsilon=1, ledger=place, dataset="adult")
    unknown = transcripts_of(place) / f"{'0' * 32}.jsonl"
    unknown.write_text("{}\n{}\n")
    other = f"{place}&connect_timeout=9"

    assert transcripts_of(other) != transcripts_of(place)
    assert unpaid_transcripts(other) == unpaid_transcripts(place) == (unknown,)
    with pytest.raises(BudgetError, match="an older copy of the ledger was put back"):
        lw.synthesize(DATA, SCHEMA, epsilon=1, ledger=other, dataset="adult")


def test_a_debit_is_dated_by_the_servers_clock(ledger, monkeypatch):
    monkeypatch.setattr(ledger_module, "_now", lambda: "2999-01-01T00:00:00+00:00")

    assert pay(ledger, "late").at < "2999"
    assert ledger.set_limit("adult", 3).limit == 3
    assert ledger.history("adult")[-1].at < "2999"
