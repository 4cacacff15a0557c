"""Kinds of privacy slips that lived through every other test, each looked for as a kind and not as the case found."""

import csv
import json
import os
import shutil
import sqlite3
import sys
import warnings
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.nasty_cells import CELLS, FIELDS
from lapwing.errors import BudgetError, DataError
from lapwing.extras.office import policy
from lapwing.kernel.budget import ledger_file
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs.public_rows import (
    file_digests,
    points_digest,
    prior_digests,
    recorded_rows,
    with_priors,
    with_public_points,
)
from lapwing.rows.cells import Numbers, Texts, Times
from lapwing.rows.codec import encoder
from lapwing.schema.named_files import digest_of

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.LapwingWarning")

ROW = {"relation": "add-remove", "privacy_unit": "row"}
FLAG = {"name": "flag", "type": "boolean", "constraints": {"required": True}}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b"]}
FLAGS = pl.DataFrame({"flag": [True, False] * 50, "kind": ["a", "b"] * 50})
SCHEMA = {"fields": [FLAG, KIND]}
DRAFT = {"draft": True, "fields": [{"name": "age", "type": "integer", "provenance": "dp"}]}
TOWNS = {"draft": True, "fields": [{"name": "town", "type": "string", "provenance": "dp"}]}
AGES = pl.DataFrame({"age": [20, 60] * 300, "home": range(600), "member": range(600)})
MEMBERS = FLAGS.with_columns(home=pl.Series(range(100)), member=pl.Series(range(100)))


def of(unit, schema):
    """Return a schema with the privacy unit of a label."""
    if unit == "row":
        return schema
    field, most = unit.split(":")
    fields = [*schema["fields"], {"name": field, "type": "integer", "role": "identifier"}]
    return schema | {"fields": fields, "privacyUnit": {"field": field, "maxRows": int(most)}}


RUNS = {
    "release": lambda unit, **book: lw.synthesize(
        MEMBERS, of(unit, SCHEMA), epsilon=1, mechanism="Independent", **book
    ),
    "learning": lambda unit, **book: lw.Schema.learn(AGES, of(unit, DRAFT), epsilon=1, **book),
    "evaluation": lambda unit, **book: lw.evaluate(MEMBERS, MEMBERS.clone(), of(unit, SCHEMA), epsilon=1, **book),
}
"""Everything that is paid for and can be about any unit."""


# ------------------------------------------------------------- A debit is on the disk when it returns, whoever looks on

WRITES = {
    "an account": lambda book: book.init("new", unit="zcdp", limit=2, selection_delta="1e-6", **ROW),
    "a debit": lambda book: book.debit("d", "two", Budget.zcdp("0.1"), **ROW, description={}),
    "a debit with a selection": lambda book: book.debit(
        "d", "two", Budget.zcdp("0.1"), **ROW, description={}, delta=Fraction(1, 10**9)
    ),
    "answers": lambda book: book.note_answers("d", "one", ["0" * 64]),
    "a limit": lambda book: book.set_limit("d", 3),
}


@pytest.mark.skipif(sys.platform == "darwin", reason="there it is no fsync that is called")
@pytest.mark.parametrize("others", ["idle", "reading"])
@pytest.mark.parametrize("write", WRITES)
def test_what_the_ledger_returned_from_outlives_a_power_cut_while_others_have_it_open(
    write, others, tmp_path, monkeypatch
):
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("d", unit="zcdp", limit=2, selection_delta="1e-6", **ROW)
    book.debit("d", "one", Budget.zcdp("0.1"), **ROW, description={})
    synced, fsync = tmp_path / "synced", os.fsync

    def look(descriptor):
        fsync(descriptor)
        synced.mkdir(exist_ok=True)
        for name in ("budget.db", "budget.db-wal"):
            shutil.copy(tmp_path / name, synced / name)

    with closing(sqlite3.connect(book.path, isolation_level=None)) as other:
        if others == "reading":
            other.execute("BEGIN")
        other.execute("SELECT count(*) FROM entries").fetchall()
        monkeypatch.setattr(ledger_file.os, "fsync", look)
        WRITES[write](book)
        monkeypatch.undo()
        lines = (f"{book.path}-wal", synced / "budget.db-wal")
        now, kept = (Path(each).read_bytes() for each in lines)
        entries, left = (_all_of(Ledger.open(each)) for each in (book.path, synced / "budget.db"))

    assert now == kept
    assert entries == left


def _all_of(book):
    return book.export(), [book.balance(name) for name in book.datasets()]


# --------------------------------------------------------------------- The code of a cell is one of its cell and schema

PLACES = np.arange(70_000)
DAYS = np.datetime64("1700-01-01") + PLACES
ODD = {
    "texts": ["1.0", " yes", "5.00", "2.50 ", " 2020-01-01", "2020-01-01T00:00", "+5", "TRUE", " red", "redder", "5e0"],
    "floats": [1.0, 0.5, 2.5, 5.0, 10.0, 120.0, 2020.0, -1.0],
    "integers": [0, 1, 5, 10, 120, 2020, -1, 2**62],
    "moments": [18_262 * 86_400 * 10**6, 18_808 * 86_400 * 10**6, 0, -25_567 * 86_400 * 10**6],
}
"""Cells that are categories, or regular, but not to the letter."""

BESIDE = {
    "texts": [(f"odd {each}", f" {each}.5", str(DAYS[each]))[each % 3] for each in PLACES],
    "floats": PLACES + 0.25,
    "integers": PLACES * 7 + 1000,
    "moments": PLACES * 3_600_000_001,
}
"""As many others, all distinct."""

SIZES = (1000, 70_000)


@pytest.mark.parametrize("field", FIELDS, ids=[field.name for field in FIELDS])
def test_the_code_of_a_cell_is_the_same_beside_any_number_of_others(field):
    encode = encoder(field, apart=True)
    texts = ODD["texts"] + [each for each in CELLS["texts"] if each is None or len(each) < 99]
    for column, others in BESIDE.items():
        watched = texts if column == "texts" else ODD[column]
        alone = [encode(_column(column, [cell]))[0] for cell in watched]
        last = encode(_column(column, others[-50:])).tolist()
        for size in SIZES:
            together = encode(_column(column, watched, others[-size:], watched))
            assert together[: len(watched)].tolist() == alone, (column, size)
            assert together[-len(watched) - 50 :].tolist() == last + alone, (column, size)


def _column(kind, *cells):
    if kind == "texts":
        return Texts(pl.concat([pl.Series(each, dtype=pl.String) for each in cells]))
    values = np.concatenate(cells).astype(np.float64 if kind == "floats" else np.int64)
    return Times(values) if kind == "moments" else Numbers(values)


# ---------------------------------------------------------- A cap on a sum counts each part of each run that was before

TOWN = pl.DataFrame({"town": ["Bern"] * 500})
SUMMED = {
    "epsilon": ("pure", "epsilon = {most}\n", lambda **book: lw.Schema.learn(AGES, DRAFT, epsilon="0.2", **book)),
    "rho": (
        "zcdp",
        "epsilon = {most}\ndelta = 1e-6\n",
        lambda **book: lw.Schema.learn(AGES, DRAFT, rho="0.02", **book),
    ),
    "delta of selections": (
        "zcdp",
        "epsilon = 100\ndelta = {most}e-9\n",
        lambda **book: lw.Schema.learn(TOWN, TOWNS, rho="0.001", delta="1e-9", **book),
    ),
}
"""What is spent: the account's unit, a cap of it, and a run that spends it."""

ENOUGH = {
    "epsilon": {1: "0.3", 3: "0.7"},
    # What one run more than that comes to at delta 10^-6 is above it, and what so many come to is not.
    "rho": {1: "1.1", 3: "1.75"},
    "delta of selections": {1: "1.5", 3: "3.5"},
}


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("key", ["year", "total"])
@pytest.mark.parametrize("what", SUMMED)
def test_a_cap_lets_so_many_runs_pass_and_not_one_more(what, key, times, tmp_path, monkeypatch):
    unit, cap, run = SUMMED[what]
    (tmp_path / "p.toml").write_text(f'ask = "me"\n[{key}]\n{cap.format(most=ENOUGH[what][times])}')
    book = Ledger.create_or_open(tmp_path / "budget.db")
    selected = {} if unit == "pure" else {"selection_delta": "1e-6"}
    book.init("d", unit=unit, limit=100, **selected, **ROW)
    monkeypatch.setenv(policy.VARIABLE, str(tmp_path / "p.toml"))
    for _ in range(times):
        run(ledger=book.path)
    before = book.export()

    with pytest.raises(BudgetError, match=rf"\({key}\)") as refused:
        run(ledger=book.path)

    assert refused.value.code == "LW421"
    assert book.export() == before


# ------------------------------------------------------------------ The fingerprint of public rows is one of every cell

VALUES = ["x", "y", "z"]
PUBLIC = lw.Schema.from_dict(
    {
        "fields": [
            {"name": name, "type": "string", "categories": VALUES, "constraints": {"required": True}} for name in "abc"
        ]
    }
)
ROWS = 20_000
TRIED = [(row, column) for row in (0, 4095, 4096, 2**14 - 1, 2**14, ROWS - 1) for column in "abc"]
PAID = (Budget.pure(1), "add-remove")
POINTS = lw.LinearStatistics(degree=1, mu="uniform", points=50)
DIGESTS = {
    "a prior": lambda rows: prior_digests(with_priors(lw.Adaptive(), PUBLIC, rows))[0],
    "points": lambda rows: points_digest(with_public_points(replace(POINTS, mu=rows), PUBLIC, 0)),
}


def public_rows(rows, changed=None):
    """Return public rows, one cell of which may be another."""
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 3, rows) for name in "abc"}
    if changed is not None:
        row, column = changed
        columns[column][row] = (columns[column][row] + 1) % 3
    return pl.DataFrame({name: np.array(VALUES)[codes] for name, codes in columns.items()})


@pytest.mark.parametrize("what", DIGESTS)
def test_public_rows_that_differ_in_one_cell_have_other_fingerprints(what):
    found = [DIGESTS[what](public_rows(ROWS, changed)) for changed in (None, *TRIED)]

    assert len(set(found)) == len(found)
    assert DIGESTS[what](public_rows(ROWS)) == found[0]


FILED = {
    "a prior": (
        lambda place: replace(lw.Adaptive(), prior=(place,)),
        lambda mechanism, place: with_priors(mechanism, PUBLIC, paid=PAID),
    ),
    "points": (
        lambda place: replace(POINTS, mu=place),
        lambda mechanism, place: with_public_points(mechanism, PUBLIC, 0),
    ),
}


@pytest.mark.parametrize("what", FILED)
def test_a_file_of_public_rows_is_taken_up_again_with_all_of_its_cells_alone(what, tmp_path):
    named, read = FILED[what]
    place = str(tmp_path / "p.parquet")
    public_rows(ROWS).write_parquet(place)
    first = read(named(place), place)
    codes = {"points": points_digest(first), "priors": prior_digests(first) or None}
    terms = (named(place), PUBLIC, 0, PAID)
    recorded = file_digests(first)
    assert recorded == {place: digest_of(place, "it")}
    recorded_rows(*terms, files=recorded, codes=codes)

    for changed in TRIED:
        public_rows(ROWS, changed).write_parquet(place)
        # A stranger who wrote the transcript may have noted the digest of the other file.
        for files in (recorded, {place: digest_of(place, "it")}):
            with pytest.raises(DataError) as refused:
                recorded_rows(*terms, files=files, codes=codes)
            assert refused.value.code == "LW611"


# --------------------------------------------- A first line that is a person is never quoted, however near it comes

NAME = "hometown"
NEAR = (
    "hometowns",
    "Hometown",
    "HOMETOWN",
    " hometown",
    "hometown ",
    "home town",
    "home_town",
    "hometwon",
    "hmetown",
    "town",
)
"""Cells that any reasonable hint would take for the column, each of a person's first row."""
PERSON = "Zyxwvutsrq"
TOWNED = {
    "fields": [
        {"name": NAME, "type": "string", "categories": ["x", "y"]},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    ]
}


def headerless(form, near, folder):
    """Return a table whose first row is a person, and became the names of its columns."""
    lines = [[near, PERSON, "86453"], ["x", "Anna", "3"], ["y", "Beat", "4"]]
    path = folder / f"rows.{form}"
    if form in ("csv", "tsv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="," if form == "csv" else "\t").writerows(lines)
        return path
    frame = pl.DataFrame(dict(zip(lines[0], zip(*lines[1:], strict=True), strict=True)))
    if form == "parquet":
        frame.write_parquet(path)
        return path
    return {"polars": frame, "lazy": frame.lazy(), "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}[form]


CALLS = {
    "release": lambda rows: lw.synthesize(rows, TOWNED, epsilon=1),
    "learning": lambda rows: lw.Schema.learn(
        rows, TOWNS | {"fields": [TOWNS["fields"][0] | {"name": NAME}]}, epsilon=1
    ),
    "evaluation": lambda rows: lw.evaluate(rows, rows, TOWNED, epsilon=1),
    "groups": lambda rows: lw.anonymize(rows, TOWNED, min_group_size=2),
}


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "polars", "lazy", "pandas", "arrow"])
@pytest.mark.parametrize("call", CALLS)
def test_no_cell_of_a_file_without_a_header_is_quoted_however_near_a_field(call, form, tmp_path):
    for near in NEAR:
        rows = headerless(form, near, tmp_path)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with pytest.raises(lw.LapwingError) as refused:
                CALLS[call](rows)
        assert quoted(near, str(refused.value), *map(str, warned), *getattr(refused.value, "__notes__", ())) == []


@pytest.mark.parametrize("near", NEAR)
def test_no_command_quotes_a_cell_of_a_file_without_a_header(near, tmp_path):
    rows = headerless("csv", near, tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(TOWNED))

    said = lapwing("synthesize", rows, "--schema", tmp_path / "s.json", "--epsilon", "1", "-o", tmp_path / "o.csv")

    assert said.status == 1
    assert quoted(near, said.out, said.err.replace(str(tmp_path), "")) == []


def quoted(near, *said):
    """Return the cells of the person that are told; the field's own name is not one."""
    text = "\n".join(said).replace(f'"{NAME}"', "")
    shown = [near] if len(near) > len("town") else [f'"{near}"', f"'{near}'"]  # a word of English may stand there
    return [cell for cell in (*shown, PERSON, "86453") if cell in text]


# ----------------------------------------------------------- An account of one unit pays for that unit and for no other

UNITS = ("row", "home:1", "home:2", "member:1")


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("unit", UNITS)
def test_an_account_of_a_unit_pays_for_no_other(unit, run, tmp_path):
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("d", unit="pure", limit=9, relation="add-remove", privacy_unit=unit)
    before = book.export()

    for other in UNITS:
        if other != unit:
            with pytest.raises(BudgetError) as refused:
                RUNS[run](other, ledger=book.path)
            assert refused.value.code == "LW408"
    assert book.export() == before
    RUNS[run](unit, ledger=book.path)
    assert book.balance("d").spent == 1


@pytest.mark.parametrize("unit", UNITS)
def test_the_certificate_names_the_unit_that_was_protected(unit):
    assert RUNS["release"](unit).certificate.privacy_unit == unit
