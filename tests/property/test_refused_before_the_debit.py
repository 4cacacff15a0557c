"""Whatever is asked for: a paid run is refused with nothing spent and nothing left, or makes all that was asked for."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

import lapwing as lw
from helpers.command import lapwing
from helpers.refusals import BUDGETS, NUMBERS_OF_ROWS, SETTINGS, commands, furnished, tables
from lapwing.kernel.budget.ledger import Ledger

FROM_ANSWERS = {"LW118"}
"""Codes of refusals after the debit: noisy answers alone decide them."""

MANY = settings(max_examples=5 * settings.default.max_examples)


@contextlib.contextmanager
def somewhere() -> Iterator[Path]:
    """Work in a new folder."""
    before = Path.cwd()
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)
        shutil.rmtree(folder)


def account(*, unit="pure", relation="add-remove", privacy_unit="row") -> Ledger:
    """Open a ledger with one account in this folder."""
    book = Ledger.create_or_open("b.db")
    delta = {"delta": "1e-6"} if unit == "zcdp" else {}
    book.init("d", unit=unit, limit=10**6, relation=relation, privacy_unit=privacy_unit, **delta)
    return book


def outcome(work):
    """Return what work returns and no code, or nothing and the code of its refusal; any other exception goes on."""
    try:
        return work(), ""
    except lw.LapwingError as error:
        return None, error.code


@MANY
@given(tables(), BUDGETS, SETTINGS, NUMBERS_OF_ROWS)
def test_a_call_is_refused_for_nothing_or_gives_rows(table, budget, more, n):
    data, schema, fits_no_field = table
    is_zcdp = "rho" in budget or bool(more.get("delta"))
    relation = more.get("neighbours", "add-remove")
    with somewhere():
        book = account(unit="zcdp" if is_zcdp else "pure", relation="add-remove" if relation == "both" else relation)
        asked = {"dataset": "d", **budget, **more}

        rows, code = outcome(lambda: lw.Synthesizer(schema, ledger="b.db", **asked).fit_sample(data, n))

        spent = book.balance("d").spent
        if code in FROM_ANSWERS and not fits_no_field:
            assert spent > 0
            return
        assert code != "LW901"
        assert (rows is None) == (spent == 0)
        assert rows is None or not fits_no_field
        assert rows is not None or not Path("b.db.transcripts").exists()


@MANY
@given(commands())
def test_a_command_is_refused_for_nothing_or_writes_all_its_files(drawn):
    command, options, linked = drawn
    with somewhere() as folder:
        furnished(linked)
        book = account(privacy_unit=command.unit)
        before = set(folder.rglob("*"))
        paid = ["--epsilon", "1", "--ledger", "b.db"]
        if command.words[0] == "synthesize":
            paid += ["--mechanism", "independent"]

        said = lapwing(*command.words, *paid, *(word for pair in options.items() for word in pair))

        left = {path.name for path in set(folder.rglob("*")) - before if not path.name.startswith("b.db-")}
        assert "LW901" not in said.err
        assert (said.status in (1, 2)) == (book.balance("d").spent == 0), said.err
        assert said.status in (0, 1, 2)
        assert said.status == 0 or not left, said.err
        named = [options[key] for key in ("--model", "--certificate", "--croissant") if key in options]
        assert said.status != 0 or all(Path(each).exists() for each in (*command.outputs, *named) if each != "-")


@pytest.mark.parametrize("option", ["-o", "--model", "--certificate"])
@pytest.mark.parametrize("name", ["\udcff", "o\0", "n" * 300])
def test_a_name_that_no_file_or_certificate_keeps_is_refused_for_nothing(option, name):
    options = {"-o": "o.csv", option: f"{name}.csv"}
    with somewhere():
        furnished({"tables": {"t": {"fields": [{"name": "a"}]}}})
        book = account()

        said = lapwing("synthesize", "data.parquet", "--schema", "s.json", "--epsilon", "1", "--ledger", "b.db", *(
            word for pair in options.items() for word in pair
        ))  # fmt: skip

        assert said.status in (1, 2), said.err
        assert book.balance("d").spent == 0
        assert not Path("b.db.transcripts").exists()
