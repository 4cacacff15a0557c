"""A table given for a setting of any public call or mechanism is a sentence that names its type, never a cell."""

import inspect
import itertools

import pytest

import lapwing as lw
from helpers.planted_values import SCHEMA, table, traces_in
from lapwing.kernel.budget.ledger import Ledger
from lapwing.mechanisms.registry import MECHANISMS

TAKEN = {"LinearStatistics mu", "Adaptive prior", "KDTree prior", "PMM prior"}
"""A table is what these are for."""
FORMS = {
    "Polars": table,
    "pandas": lambda: table().to_pandas(),
    "a Polars column": lambda: table()["sex"],
    "a pandas column": lambda: table().to_pandas()["sex"],
    "NumPy": lambda: table().to_pandas().to_numpy(),
}
ROWS = table().drop("person")
SIMPLE = {"epsilon": 1, "mechanism": lw.Independent()}
BLANK = {"fields": [{"name": "age", "type": "integer"}]}


def released():
    return lw.synthesize(ROWS, SCHEMA, seed=1, **SIMPLE)


def own_schema():
    return lw.Schema.from_dict(SCHEMA)


CALLS = {
    "synthesize": lambda **given: lw.synthesize(ROWS, **{"schema": SCHEMA, **SIMPLE, **given}),
    "resume": lambda **given: lw.resume(**{"data": ROWS, **given}),
    "evaluate": lambda **given: lw.evaluate(ROWS, ROWS, **{"schema": SCHEMA, **given}),
    "evaluate with a budget": lambda **given: lw.evaluate(
        ROWS, ROWS.clone(), **{"schema": SCHEMA, "epsilon": 1, **given}
    ),
    "anonymize": lambda **given: lw.anonymize(ROWS, **{"schema": SCHEMA, "min_group_size": 3, **given}),
    "plan": lambda **given: lw.plan(**{"schema": SCHEMA, "expected_rows": 9, **SIMPLE, **given}),
    "load": lw.load,
    "Schema": lambda **given: lw.Schema(**{"fields": own_schema().fields, **given}),
    "Schema.load": lw.Schema.load,
    "Schema.field": lambda **given: own_schema().field(**given),
    "Schema.save": lambda **given: own_schema().save(**given),
    "Schema.learn": lambda **given: lw.Schema.learn(ROWS, **{"schema": BLANK, "epsilon": 1, **given}),
    "Release.sample": lambda **given: released().sample(**{"n": 3, **given}),
    "Release.query": lambda **given: released().query(**{"columns": "sex", **given}),
    "Release.save": lambda **given: released().save(**given),
    "Release.to_html": lambda **given: released().to_html(**given),
    "PublicTable": lambda **given: lw.PublicTable(
        **{"columns": ["sex"], "cells": [["f", 3]], "source": "x", "provenance": "public", **given}
    ),
}
SETTINGS = {
    "synthesize": "schema epsilon delta rho mechanism neighbours expected_rows ledger dataset transcript seed",
    "resume": "transcript",
    "evaluate": "schema target by model delta neighbours expected_rows ledger dataset transcript seed",
    "evaluate with a budget": "schema target by model delta neighbours expected_rows ledger dataset transcript seed",
    "anonymize": "schema min_group_size partition improve output categories rows seed",
    "plan": "schema epsilon delta rho mechanism neighbours expected_rows seed",
    "load": "path kind",
    "Schema": "fields privacy_unit is_draft name questions purchases rules public_tables weight",
    "Schema.load": "source",
    "Schema.field": "name",
    "Schema.save": "path",
    "Schema.learn": "schema epsilon delta rho fields unit ledger dataset transcript seed certificate",
    "Release.sample": "n seed",
    "Release.query": "columns groups confidence weighted",
    "Release.save": "path",
    "Release.to_html": "path",
    "PublicTable": "columns cells source provenance hold sd complete",
}


@pytest.mark.parametrize("call", SETTINGS)
def test_a_table_given_for_a_setting_is_named_by_its_type(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, form in zip(SETTINGS[call].split(), itertools.cycle(FORMS), strict=False):
        others = {"path": "m.lapwing"} if name == "kind" else {}
        with pytest.raises(lw.LapwingError) as caught:
            CALLS[call](**{**others, name: FORMS[form]()})

        assert not str(caught.value).startswith("unexpected"), name
        assert traces_in(str(caught.value)) == [], name


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_a_table_given_for_a_setting_of_a_mechanism_is_named_by_its_type(name):
    kind = MECHANISMS[name]
    for setting, form in zip(inspect.signature(kind).parameters, itertools.cycle(FORMS), strict=False):
        if f"{kind.name} {setting}" in TAKEN:
            continue
        with pytest.raises(lw.LapwingError) as caught:
            kind(**{setting: FORMS[form]()})

        assert traces_in(str(caught.value)) == [], setting


def test_what_is_no_path_is_told_by_its_type(tmp_path):
    Ledger.create_or_open(tmp_path / "budget.db")
    for name in ("ledger", "transcript"):
        with pytest.raises(lw.ParameterError, match=f"^{name} must be the path of a file, got a DataFrame; "):
            lw.synthesize(ROWS, SCHEMA, **{**SIMPLE, name: table()})
