"""Releases that once broke after the debit: each stands for a kind, which the fuzz of the property tests looks for."""

import numpy as np
import polars as pl
import pytest

import lapwing as lw
import lapwing.kernel.room.room as rooms
from helpers.invented_answers import INVENTORS, Invented
from helpers.used_releases import use
from lapwing.kernel.budget.ledger import Ledger
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.schema.schemas import Schema

HUGE = next(each for each in INVENTORS if each.__name__ == "_huge")
ROWS = np.arange(900)
TABLE = pl.DataFrame(
    {"v": np.array(["a", "b", "c"])[ROWS % 3], "o": np.array(["p", "q"])[ROWS // 3 % 2], "n": ROWS // 6 % 3}
)


def listed(name, *categories, required=False):
    field = {"name": name, "type": "string", "categories": list(categories), "provenance": "public"}
    return {**field, "constraints": {"required": required}}


def whole(name, least, most):
    limits = {"minimum": least, "maximum": most}
    return {"name": name, "type": "integer", "provenance": "public", "constraints": limits}


def public(columns, cells, **more):
    return {"columns": columns, "source": "census", "provenance": "public", "cells": cells, **more}


THREE = {"fields": [listed("v", "a", "b", "c"), listed("o", "p", "q"), whole("n", 0, 2)]}


@pytest.mark.parametrize("hold", [{"hold": "prior", "sd": 10}, {"hold": "exact"}])
@pytest.mark.parametrize(
    "cells",
    [
        [["0..1", 600], ["2..", 300], [None, 0]],
        [["0..1", 500], ["2..", 300], [None, 100]],  # missing, though no row is
        [["0..1", 0], ["2..", 0], [None, 900]],
    ],
)
def test_a_public_table_may_speak_of_missing_cells_where_no_row_has_one(tmp_path, hold, cells):
    release = lw.synthesize(TABLE, {**THREE, "publicTables": [public(["n"], cells, **hold)]}, epsilon=10, seed=1)

    use(release, tmp_path)
    assert 800 < release.model.rows < 1000


def test_a_complete_public_table_leaves_missing_cells_out_where_no_row_has_one(tmp_path):
    table = public(["n"], [["0..1", 600], ["2..", 300]], hold="prior", sd=10, complete=True)

    use(lw.synthesize(TABLE, {**THREE, "publicTables": [table]}, epsilon=10, seed=1), tmp_path)


def test_a_range_that_is_open_at_both_ends_is_read_back(tmp_path):
    table = public(["n"], [[{"minimum": None, "maximum": None}, 900], [None, 0]])

    use(lw.synthesize(TABLE, {**THREE, "publicTables": [table]}, epsilon=10, mechanism="Independent"), tmp_path)


def test_one_group_has_no_pairs_of_which_anything_is_certified(tmp_path):
    schema = {"fields": [listed("v", "a", "b", required=True)]}
    paper = lw.Microaggregation(variant="paper", intervals=2, damping=1)

    use(
        lw.synthesize(TABLE.select("v"), schema, epsilon=1, mechanism=paper, neighbours="replace-one", misfits=1),
        tmp_path,
    )


def test_a_column_of_one_category_can_be_released_by_the_published_tree(tmp_path):
    schema = {"fields": [listed("v", "a", required=True)]}

    use(lw.synthesize(TABLE.select(v=pl.lit("a")), schema, epsilon=1, mechanism=lw.PMM(variant="paper")), tmp_path)


@pytest.mark.parametrize("mechanism", [lw.Grid(), lw.Grid(variant="paper"), lw.KDTree(), lw.PSMM(), lw.PMM()])
def test_cells_stay_as_many_as_memory_holds_however_many_rows_are_bought(monkeypatch, tmp_path, mechanism):
    limits = {"minimum": 0, "maximum": 10**6, "required": True}
    schema = {"fields": [{**whole(name, 0, 0), "constraints": limits} for name in "xyz"]}
    monkeypatch.setattr(rooms, "ANSWERS", Invented(np.random.default_rng(1), HUGE))

    release = lw.synthesize(TABLE.select(x="n", y="n", z="n"), schema, epsilon=1, mechanism=mechanism, misfits=1)

    assert 0 <= release.model.rows <= 2**40  # sums of such numbers leave 64 bits
    use(release, tmp_path)


@pytest.mark.parametrize("name", [name for name, known in MECHANISMS.items() if not known.one_row_per_unit])
def test_noise_that_passes_every_table_is_refused_before_the_debit(tmp_path, name):
    fields = [{"name": "who", "type": "string", "role": "identifier"}, *THREE["fields"]]
    schema = Schema.from_dict({"fields": fields, "privacyUnit": {"field": "who", "maxRows": 10**6}})
    ledger = tmp_path / "budget.db"
    account = Ledger.create_or_open(ledger)
    account.init("d", unit="pure", limit=2, relation="add-remove", privacy_unit=schema.unit_label)

    with pytest.raises(lw.LapwingError) as refused:
        lw.synthesize(
            TABLE.with_columns(who=pl.lit("u")),
            schema,
            epsilon="1e-9",
            mechanism=MECHANISMS[name].small(),
            ledger=ledger,
            dataset="d",
        )

    assert refused.value.code == "LW508"
    assert account.balance("d").spent == 0
