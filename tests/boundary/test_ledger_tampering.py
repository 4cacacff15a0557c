"""What is changed in a ledger by other means is refused, or changes nothing; a kept hash shows what fits by itself."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from helpers.command import lapwing
from helpers.documents import marked_blocks
from helpers.ledgers import with_all_rules_off
from lapwing.errors import BudgetError, LapwingError, ParameterError
from lapwing.kernel.budget import chain as ledger_chain
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.budget.ledger_file import FileSession

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
COST = Budget.zcdp("0.001")
TINY = Fraction(1, 10**8)
DIGESTS = [hashlib.sha256(bytes([number])).hexdigest() for number in range(3)]
FORMULAS = ("hash", "number", "dataset", "release_id", "units", "details", "at", "kind")


def made(path):
    """Return a ledger with two data sets, five debits, noted answers and a change of a limit."""
    ledger = Ledger.create_or_open(path)
    ledger.init("adult", unit="zcdp", limit=1, delta=1e-6, selection_delta=4e-7, **TERMS)
    for name in ("a", "b", "c"):
        ledger.debit("adult", name, COST, **TERMS, description={"mechanism": "learn"}, delta=TINY)
        ledger.note_answers("adult", name, DIGESTS)
    ledger.init("letter", unit="pure", limit=1, **TERMS)
    ledger.debit("letter", "a", Budget.pure("0.5"), **TERMS, description={})
    ledger.set_limit("adult", 2)
    ledger.debit("letter", "b", Budget.pure("0.5"), **TERMS, description={})
    return ledger


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return made(tmp_path_factory.mktemp("good") / "budget.db")


def state(ledger):
    """Return all that the ledger tells."""
    names = ledger.datasets()
    return names, [ledger.balance(name) for name in names], [ledger.history(name) for name in names]


def outcomes(ledger):
    """Return what the ledger tells and whether it pays; None for each that it refuses."""
    pay = {"description": {}, "delta": TINY, **TERMS}
    found = []
    for use in (lambda: state(ledger), lambda: ledger.debit("adult", "new", COST, **pay) and ledger.verify()):
        try:
            found.append(use())
        except LapwingError:
            found.append(None)
    return found


@pytest.mark.parametrize("stride", [2003, pytest.param(1, marks=pytest.mark.full)], ids=["some", "all"])
def test_each_changed_byte_is_refused_or_changes_nothing_that_is_told(good, tmp_path, stride):
    content, expected, entries = good.path.read_bytes(), state(good), good.verify()
    refused = harmless = 0
    for place in range(0, len(content), stride):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(content)
            changed[place] ^= flip
            for old in tmp_path.iterdir():
                old.unlink()
            (tmp_path / "budget.db").write_bytes(changed)

            told, paid = outcomes(Ledger(tmp_path / "budget.db"))

            assert told in (None, expected), (place, flip)
            assert paid in (None, entries + 1), (place, flip)
            assert told is not None or paid is None, (place, flip)
            refused, harmless = refused + (paid is None), harmless + (paid is not None)

    # Most of the file is free space, which nobody reads.
    assert refused > 0.1 * harmless > 0


def columns(connection, table):
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def row_changes(connection):
    """Return statements that delete each row, and change each of its values in five ways."""
    rows = [
        (table, row[0])
        for table in ("accounts", "entries", "answers", "selections")
        for row in connection.execute(f"SELECT rowid FROM {table}").fetchall()
    ]
    values = ("NULL", "9e999", "{} || '0'", "CAST('1' AS BLOB)", "{} + 0.5")
    return [f"DELETE FROM {table} WHERE rowid = {place}" for table, place in rows] + [
        f"UPDATE OR IGNORE {table} SET {column} = {value.format(column)} WHERE rowid = {place}"
        for table, place in rows
        for column in columns(connection, table)
        for value in values
    ]


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.full)], ids=["some", "all"])
def test_each_changed_row_is_refused_by_every_use(good, tmp_path, stride):
    with closing(sqlite3.connect(good.path)) as connection:
        statements = row_changes(connection)[::stride]
    path, tried = tmp_path / "budget.db", 0
    for statement in statements:
        for old in tmp_path.iterdir():
            old.unlink()
        shutil.copy(good.path, path)
        if with_all_rules_off(path, statement):
            tried += 1
            assert outcomes(Ledger(path)) == [None, None], statement

    # The others are refused by NOT NULL or the keys, which no one can take away, or change a value into itself.
    assert tried > len(statements) / 2


def test_answers_noted_since_the_last_entry_are_the_ones_that_can_be_cut_off_unseen(good, tmp_path):
    path = tmp_path / "budget.db"
    shutil.copy(good.path, path)
    ledger = Ledger(path)
    ledger.note_answers("letter", "b", DIGESTS)
    last = "DELETE FROM answers WHERE dataset = 'letter' AND number = 2"

    assert with_all_rules_off(path, last)

    assert ledger.verify() == 8
    ledger.note_answers("letter", "b", DIGESTS)
    ledger.debit("letter", "more", Budget.pure("1e-9"), **TERMS, description={}) if ledger.balance(
        "letter"
    ).left else None
    ledger.set_limit("letter", 2)  # any new entry seals them
    assert with_all_rules_off(path, last)
    with pytest.raises(BudgetError, match="the list of answers before entry 9 does not fit"):
        ledger.verify()


def rewritten(ledger, *, without):
    """Make the file anew without an entry, with a chain that fits, as an attacker would; return its path."""
    entries = [row for row in ledger.export()["entries"] if (row["dataset"], row["release_id"]) != without]
    forged = ledger.path.with_name("forged.db")
    Ledger.create_or_open(forged)
    with closing(sqlite3.connect(ledger.path)) as source, closing(sqlite3.connect(forged)) as target:
        rows = source.execute("SELECT dataset, unit, delta, relation, privacy_unit, limit_units FROM accounts")
        for row in rows:
            first = next(entry["units"] for entry in entries if entry["dataset"] == row[0])
            target.execute("INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, 0)", (*row[:5], first))
        for entry in entries:
            details = {key: value for key, value in json.loads(entry["details"]).items() if key != "noted"}
            kept = {key: entry[key] for key in ("at", "kind", "dataset", "units", "release_id")}
            ledger_chain.append(FileSession(target), details=details, **kept)
        target.commit()
    return forged


def test_a_rewritten_chain_fits_by_itself_and_not_with_a_kept_hash(tmp_path):
    ledger = Ledger.create_or_open(tmp_path / "budget.db")
    ledger.init("letter", unit="pure", limit=1, **TERMS)
    for name in ("a", "b"):
        ledger.debit("letter", name, Budget.pure("0.5"), **TERMS, description={})
    kept = ledger.head().hash

    shutil.copy(rewritten(ledger, without=("letter", "a")), ledger.path)

    assert ledger.verify() == 2
    assert ledger.balance().left == Fraction(1, 2), "budget was gained back"
    with pytest.raises(BudgetError, match="rewritten or cut off"):
        ledger.head(kept)
    said = lapwing("ledger", "verify", "--hash", kept, "--ledger", ledger.path)
    assert said.status == 1
    assert "rewritten or cut off" in said.error


def test_a_cut_tail_fits_by_itself_and_not_with_a_kept_hash(tmp_path):
    ledger = Ledger.create_or_open(tmp_path / "budget.db")
    ledger.init("letter", unit="pure", limit=1, **TERMS)
    early = ledger.head().hash
    ledger.debit("letter", "a", Budget.pure("0.5"), **TERMS, description={})
    late = ledger.head().hash

    cut = "DELETE FROM entries WHERE number = 2"
    assert with_all_rules_off(ledger.path, cut)
    assert with_all_rules_off(ledger.path, "UPDATE accounts SET spent_units = 0")

    assert ledger.head(early).kept == 1
    with pytest.raises(BudgetError, match="cut off"):
        ledger.head(late)


def test_a_hash_that_is_none_is_refused(good):
    for text in ("", "abc", "g" * 64, "0" * 65):
        with pytest.raises(ParameterError, match="must be 64 hexadecimal digits"):
            good.head(text)
    with pytest.raises(BudgetError, match="no entry of this ledger has the hash"):
        good.head("0" * 64)
    assert good.head(good.head().hash.upper()).kept == 8


def checked_offline(exported):
    """Check a chain with the standard library alone and return the first entry that does not fit, if any."""
    before = exported["first"]
    for entry in exported["entries"]:
        if len(entry) > 2:
            text = json.dumps([before, *list(entry.values())[:-1]], separators=(",", ":"))
            if hashlib.sha256(text.encode()).hexdigest() != entry["hash"]:
                return entry["number"]
        before = entry["hash"]
    return None


def test_the_exported_entries_can_be_checked_offline_and_changes_are_seen(good, tmp_path):
    for name in ([], ["adult"], ["letter"]):
        out = tmp_path / "history.json"
        said = lapwing("ledger", "history", *name, "--json", out, "--ledger", good.path)
        assert (said.status, said.out, said.err) == (0, "", "")
        exported = json.loads(out.read_text())

        assert checked_offline(exported) is None
        assert [entry["number"] for entry in exported["entries"]] == list(range(1, 9))
        told = [entry for entry in exported["entries"] if len(entry) > 2]
        assert {entry["dataset"] for entry in told} == set(name or ["adult", "letter"])
        assert exported["entries"][-1]["hash"] == good.head().hash
        for entry in told:
            for key in set(entry) & set(FORMULAS):
                kept = entry[key]
                entry[key] = f"{kept}0"
                assert checked_offline(exported) is not None, (entry["number"], key)
                entry[key] = kept


@pytest.mark.parametrize("name", [[], ["adult"], ["letter"]], ids=["all", "adult", "letter"])
def test_the_lines_that_the_page_shows_check_the_export_of_one_data_set_too(name, good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parents[2] / "docs" / "ledger.md"
    (lines,) = [code for language, code in marked_blocks(page.read_text(encoding="utf-8")) if language == "python"]
    lapwing("ledger", "history", *name, "--json", "history.json", "--ledger", good.path)
    text = Path("history.json").read_text()

    exec(lines, {})

    Path("history.json").write_text(text.replace('"debit"', '"limit"', 1))
    with pytest.raises(AssertionError):
        exec(lines, {})


def test_an_unknown_name_is_not_exported(good, tmp_path):
    said = lapwing("ledger", "history", "Adult", "--json", tmp_path / "history.json", "--ledger", good.path)

    assert "there is no data set 'Adult'" in said.error
    assert not (tmp_path / "history.json").exists()


def test_verify_says_what_to_keep_and_finds_it_again(good):
    said = lapwing("ledger", "verify", "--ledger", good.path)
    again = lapwing("ledger", "verify", "--hash", good.head().hash, "--ledger", good.path)

    assert (said.status, said.err) == (0, "")
    assert [line.split()[-1] for line in said.out.splitlines()] == [str(good.path), "fit", good.head().hash]
    assert "8, all fit" in said.out
    assert again.out.endswith("The hash that you kept is that of entry 8: up to there nothing was changed.\n")
