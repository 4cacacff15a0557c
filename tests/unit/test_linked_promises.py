"""What is paid for a linked release stays, and its certificate claims nothing that does not hold."""

import json
from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.linked_homes import SCHEMA, released, tables
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.plain import rational_text

PRIOR = {
    "columns": ["age"],
    "cells": [[{"maximum": 49}, 700], [{"minimum": 50}, 700]],
    "source": "Register of residents",
    "provenance": "public",
    "hold": "prior",
    "sd": 30,
}


def test_answers_that_are_paid_for_stay_when_the_debit_of_the_second_part_fails(tmp_path, monkeypatch):
    ledger, transcript = tmp_path / "budget.db", tmp_path / "t.jsonl"
    Ledger.create_or_open(ledger).init("d", unit="zcdp", limit=1000, relation="add-remove", privacy_unit="home:4")
    debit, debits = Ledger.debit, []

    def failing(self, *of, **settings):
        debits.append(of)
        if len(debits) == 2:
            raise lw.BudgetError("the ledger is locked")
        return debit(self, *of, **settings)

    monkeypatch.setattr(Ledger, "debit", failing)
    with pytest.raises(lw.BudgetError, match="locked"):
        released(ledger=ledger, transcript=transcript, seed=None)
    paid, kept = Ledger.open(ledger).balance("d").spent, transcript.read_text().splitlines()
    monkeypatch.setattr(Ledger, "debit", debit)

    found = released(ledger=ledger, transcript=transcript, seed=None)

    assert kept
    assert transcript.read_text().splitlines()[: len(kept)] == kept
    assert Ledger.open(ledger).balance("d").spent == paid > 0
    assert found.certificate.total.amount <= paid


@pytest.mark.parametrize("part", ["parent", "child"])
def test_a_prior_that_a_mechanism_cannot_lean_on_is_refused(part):
    prior = PRIOR if part == "child" else {**PRIOR, "columns": ["kind"], "cells": [["flat", 300], ["house", 300]]}
    schema = {**SCHEMA, part: {**SCHEMA[part], "publicTables": [prior]}}

    with pytest.raises(lw.ParameterError, match="prior"):
        released(schema, **{f"{part}_mechanism": "Independent"})


def test_a_public_total_of_parents_is_their_expected_number():
    table = {**PRIOR, "columns": ["kind"], "cells": [["flat", 300], ["house", 300]], "hold": "exact", "sd": None}
    schema = {**SCHEMA, "parent": {**SCHEMA["parent"], "publicTables": [table]}}

    found = released(schema)

    assert (found.tables["parent"].certificate.expected_rows, found.tables["child"].certificate.expected_rows) == (
        600,
        None,
    )


def test_a_certificate_whose_epsilon_is_above_what_was_asked_for_is_refused():
    whole = released().certificate
    little = {"epsilon": rational_text(Fraction(1)), "delta": rational_text(Fraction(1, 10**6)), "rho": None}

    with pytest.raises(lw.ParameterError, match=r"more, as .*, than was requested"):
        type(whole).from_dict({**whole.to_dict(), "requested": little})


def test_a_certificate_of_several_tables_says_nothing_that_its_parts_do_not_say():
    whole = released().certificate
    line, *others = whole.lines

    with pytest.raises(lw.ParameterError, match="must say of them all what its parts say"):
        replace(whole, lines=tuple(others), total=whole.total - line.cost)
    with pytest.raises(lw.ParameterError, match="must say of them all what its parts say"):
        replace(whole, warnings=())
    with pytest.raises(lw.ParameterError, match="'costs' of a certificate of linked tables stands in its parts"):
        type(whole).from_dict({**whole.to_dict(), "costs": []})
    name, written = next(iter(whole.parts)), whole.to_dict()
    with pytest.raises(lw.ParameterError, match=f"the part {name} of linked tables must be of one table"):
        type(whole).from_dict({**written, "parts": {**written["parts"], name: written}})
    with pytest.raises(lw.ParameterError, match="a part for each"):
        replace(whole, linked=None)


def test_no_file_of_link_takes_the_place_of_its_transcript(tmp_path):
    parents, children = tables(50)
    parents.write_parquet(tmp_path / "homes.parquet")
    children.write_csv(tmp_path / "people.csv")
    (tmp_path / "L.json").write_text(json.dumps(SCHEMA))
    inputs = [tmp_path / "homes.parquet", tmp_path / "people.csv", "--schema", tmp_path / "L.json", "--epsilon", "9"]
    same = ["--transcript", tmp_path / "t.json", "--certificate", tmp_path / "t.json"]

    said = lapwing("synthesize", *inputs, *same, "-o", tmp_path / "P.csv", "-o", tmp_path / "C.csv")

    assert said.status == 1
    assert "t.json" in said.err
    assert not (tmp_path / "P.csv").exists()


def test_exact_totals_of_parents_are_told_with_what_they_do_not_promise():
    table = {**PRIOR, "columns": ["kind"], "cells": [["flat", 300], ["house", 300]], "hold": "exact", "sd": None}
    schema = {
        **SCHEMA,
        "parent": {**SCHEMA["parent"], "publicTables": [table]},
        "rules": [{"when": {"kind": "flat"}, "then": {"age": {"minimum": 30}}}],
    }

    found = released(schema)

    assert any("public totals of parent are met, except for rows" in line.text for line in found.certificate.not_kept)
    parents, _ = found.sample()
    assert parents.get_column("kind").value_counts().sort("kind").rows() == [("flat", 300), ("house", 300)]
    assert isinstance(parents, pl.DataFrame)
