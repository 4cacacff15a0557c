"""A ledger in a real Postgres refuses, by rules of its own, what a ledger never does; what goes wrong is said."""

import re
import subprocess
import sys

import pytest
from adbc_driver_postgresql import dbapi

import lapwing as lw
from helpers import databases
from helpers.postgres_ledgers import DATA, SCHEMA, changed, paid_ledger, pay
from lapwing.errors import BudgetError, DataError, ParameterError
from lapwing.extras.office.stores import postgres as store
from lapwing.extras.office.stores import postgres_tables
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.budget.store import transact

pytestmark = pytest.mark.needs("Postgres")


@pytest.fixture
def place(postgres):
    return postgres("budget")


@pytest.fixture
def ledger(place):
    return paid_ledger(place)


# ----------------------------------------------------------------------------------------------------- its own rules


NEVER = [
    "UPDATE entries SET units = 1",
    "UPDATE entries SET units = 1 WHERE false",
    "DELETE FROM entries WHERE number = 3",
    "TRUNCATE entries",
    "TRUNCATE answers",
    "TRUNCATE accounts CASCADE",
    "DELETE FROM answers",
    "UPDATE answers SET digest = 'x'",
    "DELETE FROM accounts",
    "UPDATE accounts SET spent_units = 0",
    "UPDATE accounts SET spent_units = spent_units + 1",
    "UPDATE accounts SET relation = 'replace-one'",
    "DELETE FROM selections",
    "UPDATE selections SET spent_units = 0",
    "UPDATE selections SET limit_units = limit_units * 2",
    "INSERT INTO entries VALUES (9, '', 'debit', 'adult', 'x', 1, '{}', '')",
    "INSERT INTO entries VALUES (5, '', 'debit', 'other', 'x', 1, '{}', '')",
    "INSERT INTO entries VALUES (5, '', 'debit', 'adult', 'a', 1, '{}', '')",
    "INSERT INTO entries VALUES (5, '', 'debit', 'adult', 'x', 3000000000000, '{}', '')",
    "INSERT INTO entries VALUES (5, '', 'debit', 'adult', 'x', -1, '{}', '')",
    """INSERT INTO entries VALUES (5, '', 'debit', 'adult', 'x', 1, '{"selection_units": 999999999999}', '')""",
    "INSERT INTO entries VALUES (5, '', 'limit', 'adult', NULL, 1, '{}', '')",
    "INSERT INTO answers VALUES ('adult', 'x', 0, 'x')",
    "INSERT INTO answers VALUES ('adult', 'a', 0, 'x')",
    "SET session_replication_role = replica; DELETE FROM entries",
]


def is_refused(server, statement):
    """Tell whether the database refuses what its owner says."""
    try:
        changed(server, *statement.split("; "))
    except databases.dbapi.Error:
        return True
    return False


def test_the_database_itself_refuses_what_a_ledger_never_does(database_server, ledger):
    for statement in NEVER:
        assert is_refused(database_server, statement), statement
        assert ledger.verify() == 4, statement


@pytest.mark.parametrize(
    ("table", "statement", "culprit"),
    [
        ("entries", "UPDATE entries SET units = 1 WHERE number = 2", "entry 2"),
        ("entries", "UPDATE entries SET hash = 'x' WHERE number = 3", "entry 3"),
        ("entries", "DELETE FROM entries WHERE number = 4", "the account of data set 'adult'"),
        ("accounts", "UPDATE accounts SET spent_units = 0", "the account of data set 'adult'"),
        ("accounts", "UPDATE accounts SET limit_units = limit_units * 2", "the account of data set 'adult'"),
        ("selections", "UPDATE selections SET spent_units = 0", "the account of selections of data set 'adult'"),
        ("answers", "DELETE FROM answers WHERE rowid = 1", "the list of answers"),
        ("answers", "UPDATE answers SET digest = 'x' WHERE rowid = 1", "the list of answers before entry 3"),
    ],
)
def test_what_its_owner_changes_with_the_rules_off_is_noticed(database_server, ledger, table, statement, culprit):
    off = f"ALTER TABLE {table} DISABLE TRIGGER USER"
    names = [name for name in postgres_tables.TRIGGERS if name.startswith(table)]
    on = [f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}" for name in names]
    changed(database_server, off, statement, *on)

    with pytest.raises(BudgetError, match=f"changed by other means than Lapwing: {re.escape(culprit)} does not fit"):
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE entries DISABLE TRIGGER entries_stay",
        "ALTER TABLE entries ENABLE TRIGGER entries_stay",
        "DROP TRIGGER accounts_move ON accounts",
        "CREATE OR REPLACE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "ALTER FUNCTION refused() RESET search_path",
        "ALTER TABLE accounts DROP CONSTRAINT accounts_within",
        "ALTER TABLE accounts ADD COLUMN more text",
        "ALTER TABLE entries ALTER COLUMN details DROP NOT NULL",
        "ALTER TABLE entries ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE entries SET UNLOGGED",
        "CREATE TABLE mine () INHERITS (entries)",
        "CREATE INDEX mine ON entries (lower(details))",
        "CREATE RULE nothing AS ON INSERT TO entries DO INSTEAD NOTHING",
        "CREATE TRIGGER mine BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION refused()",
    ],
)
def test_rules_that_are_not_ours_are_noticed_on_an_open_connection_too(database_server, ledger, statement, monkeypatch):
    monkeypatch.setattr(store, "FRESH_SECONDS", 0)
    changed(database_server, statement)

    for use in (lambda: pay(ledger, "c"), ledger.balance, ledger.verify):
        with pytest.raises(BudgetError, match="the list of its tables and triggers does not fit"):
            use()


def test_no_code_of_a_stranger_runs_in_place_of_a_table(database_server, ledger):
    """A view in place of a table, made by whoever made the schema first, would run its functions as our user."""
    changed(
        database_server,
        "ALTER TABLE accounts RENAME TO kept",
        "CREATE SEQUENCE ran",
        "CREATE VIEW accounts AS SELECT dataset, unit, delta, relation, privacy_unit, limit_units, "
        "spent_units + 0 * nextval('lapwing_ledger.ran') AS spent_units FROM kept",
    )
    databases.forget_connections()

    for use in (lambda: pay(ledger, "c"), ledger.datasets, ledger.balance, lambda: Ledger.open(ledger.path)):
        with pytest.raises(BudgetError, match="the list of its tables and triggers"):
            use()

    with dbapi.connect(database_server.url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT is_called FROM lapwing_ledger.ran")
        assert cursor.fetchall() == [(False,)]


def test_a_collation_that_only_has_the_name_of_ours_is_noticed(database_server, ledger):
    """Under it two data sets could be one."""
    changed(
        database_server,
        'DROP COLLATION IF EXISTS public."C"',
        """CREATE COLLATION public."C" (provider = icu, locale = 'und-u-ks-level2', deterministic = false)""",
        'ALTER TABLE selections ALTER COLUMN dataset TYPE text COLLATE public."C"',
    )

    with pytest.raises(BudgetError, match="the list of its tables and triggers does not fit"):
        ledger.verify()


def test_tables_of_another_schema_are_not_taken_for_ours_when_a_pooler_resets_a_connection(database_server, ledger):
    spent = ledger.balance().spent
    decoys = [f"CREATE TABLE public.{name} AS SELECT * FROM {name} WHERE false" for name in postgres_tables.COLUMNS]
    changed(database_server, *decoys)
    for session in store._IDLE[ledger.path]:
        session.script(["RESET ALL"])

    try:
        assert ledger.balance().spent == spent
        pay(ledger, "c")
        assert ledger.verify() == 5
    finally:
        changed(database_server, *(f"DROP TABLE public.{name}" for name in postgres_tables.COLUMNS))


# ------------------------------------------------------------------------------------------------- what can go wrong


def test_an_address_with_a_password_is_refused_and_not_repeated(database_server, tmp_path):
    secret = databases.PASSWORD
    for address in (
        database_server.url,
        f"postgres://owner:{secret}@host/db",
        f"postgresql://owner@host/db?password={secret}",
        f"postgresql://owner@host/db?pass%77ord={secret}",
        f"postgresql://owner@host/db?sslpassword={secret}",
        f"postgresql://owner:of/{secret}@host/db",
        f"postgresql://owner:is?/{secret}@host/db",
    ):
        for use in (
            lambda address=address: Ledger.open(address),
            lambda address=address: lw.synthesize(DATA, SCHEMA, epsilon=1, ledger=address),
        ):
            with pytest.raises(ParameterError, match="must have no password") as refused:
                use()
            assert secret not in repr(refused.value)
            assert refused.value.__context__ is None


def test_what_cannot_be_reached_is_said_without_what_the_driver_says(postgres, monkeypatch):
    place = postgres("there")
    Ledger.create_or_open(place)
    databases.forget_connections()
    monkeypatch.setenv("PGPASSWORD", "wrong" + databases.PASSWORD)

    for address in (place, place.replace("owner@", "nobody@"), "postgresql://owner@127.0.0.1:1/db"):
        with pytest.raises(BudgetError, match=r"cannot be reached, or failed \(no connection\)") as refused:
            Ledger.open(address)
        assert databases.PASSWORD not in repr(refused.value)
        assert refused.value.__context__ is None


def test_a_database_without_a_ledger_is_said_to_have_none(place):
    with pytest.raises(DataError, match=r"there is no ledger postgresql://.*make it with `lapwing ledger init`"):
        Ledger.open(place)


def test_a_ledger_with_a_table_less_is_damaged(database_server, ledger):
    changed(database_server, "DROP TABLE answers")

    with pytest.raises(DataError, match="has not all of its tables"):
        pay(ledger, "c")


def test_a_server_that_does_not_wait_for_the_disk_keeps_no_ledger(monkeypatch):
    monkeypatch.setenv("PGPASSWORD", databases.PASSWORD)
    with databases.server("-F") as unsafe, pytest.raises(BudgetError, match="may lose debits"):
        Ledger.create_or_open(unsafe.place)


def test_a_debit_is_on_the_disk_whatever_the_owner_or_a_pooler_set(database_server, ledger):
    databases.run(database_server.url, "ALTER DATABASE postgres SET synchronous_commit = off")
    databases.forget_connections()
    flushed = []
    for number in range(6):
        pay(ledger, f"debit-{number}")
        asked = (
            "SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn(), current_setting('synchronous_commit')"
        )
        flushed += transact(ledger.path, "BEGIN", lambda session: session.execute(asked))  # noqa: B023
        transact(ledger.path, "BEGIN", lambda session: session.script(["RESET ALL"]))

    databases.run(database_server.url, "ALTER DATABASE postgres RESET synchronous_commit")
    assert flushed == [(True, "off")] * 6


def test_a_zero_character_is_named_and_nothing_is_kept(ledger):
    before = ledger.balance()

    for statement in ("SELECT ?", "INSERT INTO accounts VALUES (?)"):
        with pytest.raises(BudgetError, match="a zero character cannot be kept in Postgres"):
            transact(ledger.path, "BEGIN", lambda session, asked=statement: session.execute(asked, ("\0",)))

    assert ledger.balance() == before


def test_a_user_who_may_only_read_is_told_so(database_server, ledger):
    changed(
        database_server,
        f"CREATE USER reader PASSWORD '{databases.PASSWORD}'",
        "GRANT USAGE ON SCHEMA lapwing_ledger TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA lapwing_ledger TO reader",
    )
    reader = Ledger.open(ledger.path.replace("owner@", "reader@"))

    assert reader.balance() == ledger.balance()
    with pytest.raises(BudgetError, match="may not be written by this user"):
        pay(reader, "c")


def test_without_the_driver_the_command_that_adds_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)

    with pytest.raises(DataError, match=r"kept by ADBC and PyArrow.*office\]"):
        Ledger.open("postgresql://owner@host/db")


def test_a_ledger_in_a_file_loads_no_driver(tmp_path):
    code = (
        "import sys; from lapwing.kernel.budget.ledger import Ledger; Ledger.create_or_open(sys.argv[1]).datasets();"
        "print([name for name in sys.modules if any(each in name for each in ('adbc', 'pyarrow', 'office.stores'))])"
    )
    command = [sys.executable, "-c", code, tmp_path / "budget.db"]

    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "[]\n"
