"""Public tables: what is refused when they are read, and that rows out hold them."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.model.laws import uniform_law
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.model.rows import sample_codes
from lapwing.model.sampling import public_margins
from lapwing.model.sampling.public_margins import rake_to_public
from lapwing.model.sampling.public_strata import Links, atom_cells, public_totals, rounded, whole_counts
from lapwing.schema.public_tables.cells import coded_tables, public_total
from lapwing.schema.schemas import Schema

REQUIRED = {"required": True}
BY_AGE_AND_SEX = {
    "columns": ["age", "sex"],
    "source": "Census 2020, table 1",
    "provenance": "public",
    "cells": [
        ["..17", "f", 110],
        [{"minimum": 18}, "f", 420],
        ["..17", "m", 120],
        ["18..64", "m", 250],
        ["65..", "m", 100],
    ],
}
BY_TOWN = {
    "columns": ["town"],
    "source": "Register",
    "provenance": "public",
    "cells": [{"town": "a", "count": 500}, {"town": ["b", "c"], "count": 500}],
}
BY_SEX_AND_TOWN = {
    "columns": ["sex", "town"],
    "source": "Register",
    "provenance": "public",
    "cells": [["f", "a", 230], ["f", "b", 300], ["m", "a", 270], ["m", "c", 200]],
    "complete": True,
}
FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99} | REQUIRED},
    {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": REQUIRED},
    {"name": "town", "type": "string", "categories": ["a", "b", "c"], "constraints": REQUIRED},
    {"name": "job", "type": "string", "categories": ["none", "some"], "constraints": REQUIRED},
]
RULE = {"when": {"age": {"maximum": 14}}, "then": {"job": "none"}}


def schema_with(*tables: dict[str, Any], rules: tuple[dict[str, Any], ...] = ()) -> Schema:
    """Return a schema with public tables."""
    return Schema.from_dict({"fields": FIELDS, "rules": list(rules), "publicTables": list(copy.deepcopy(tables))})


def changed(table: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Return a table with some keys changed; None takes a key away."""
    return {key: value for key, value in {**table, **settings}.items() if value is not None}


def private_rows(n: int = 700) -> pl.DataFrame:
    """Return rows that agree with the rule, and with no public table."""
    rng = np.random.default_rng(5)
    age = rng.integers(0, 100, n)
    return pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(["a", "b", "c"], n),
            "job": np.where((age < 15) | (rng.random(n) < 0.3), "none", "some"),
        }
    )


def counted(rows: pl.DataFrame, table: dict[str, Any], schema: Schema) -> list[int]:
    """Count rows in each cell of a table, in the slow obvious way."""
    found = []
    for cell in next(each for each in schema.public_tables if list(each.columns) == table["columns"]).cells:
        kept = rows
        for name, wanted in zip(table["columns"], cell[:-1], strict=True):
            if name == "age":
                low, high = (wanted.low, wanted.high) if isinstance(wanted, lw.between) else wanted.split("..")
                kept = kept.filter(pl.col(name).is_between(int(low or 0), int(high or 99)))
            else:
                kept = kept.filter(pl.col(name).is_in([wanted] if isinstance(wanted, str) else list(wanted)))
        found.append(kept.height)
    return found


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (changed(BY_TOWN, source=None), "no source"),
        (changed(BY_TOWN, provenance=None), "not declared public"),
        (changed(BY_TOWN, provenance="assumed"), "not declared public"),
        (changed(BY_TOWN, columns=["city"], cells=[["a", 5]]), "no modelled column"),
        (changed(BY_TOWN, cells=[["a", 500]]), '"complete": true'),
        (changed(BY_TOWN, cells=[["a", 5], [["a", "b", "c"], 5]]), "overlap"),
        (changed(BY_TOWN, cells=[["a", 5], [["b", "d"], 5]]), "one of its categories"),
        (changed(BY_TOWN, hold="prior"), "needs sd"),
        (changed(BY_TOWN, sd=3), "takes no sd"),
        (changed(BY_AGE_AND_SEX, cells=[["17..", "f", 1]]), "no cell holds"),
    ],
    ids=[f"wrong{number}" for number in range(10)],
)
def test_a_public_table_that_breaks_a_rule_is_refused(table: dict[str, Any], said: str) -> None:
    with pytest.raises(lw.SchemaError, match=said):
        schema_with(table)


def test_tables_with_unequal_totals_contradict_each_other() -> None:
    more = changed(BY_TOWN, cells=[["a", 500], [["b", "c"], 501]])
    with pytest.raises(lw.SchemaError, match="totals 1000 and 1001"):
        schema_with(BY_AGE_AND_SEX, more)
    assert public_total(schema_with(BY_AGE_AND_SEX, changed(more, hold="prior", sd=10))) == 1000


def test_tables_with_unequal_shared_margins_contradict_each_other() -> None:
    cells = [["f", "a", 231], ["f", "b", 300], ["m", "a", 270], ["m", "c", 199]]
    with pytest.raises(lw.SchemaError, match='disagree about "sex"'):
        schema_with(BY_AGE_AND_SEX, changed(BY_SEX_AND_TOWN, cells=cells))


def test_a_count_where_rules_leave_nothing_is_refused() -> None:
    cells = [["..9", "some", 1], ["10..", ["none", "some"], 999], ["..9", "none", 0]]
    table = changed(BY_TOWN, columns=["age", "job"], cells=cells)
    with pytest.raises(lw.SchemaError, match="leave none"):
        schema_with(table, rules=(RULE,))
    cells[0][2], cells[2][2] = 0, 1
    assert len(schema_with(table, rules=(RULE,)).public_tables) == 1


def test_what_is_not_declared_public_is_refused() -> None:
    rows = private_rows(50)
    counts = pl.DataFrame({"town": ["a", "b", "c"], "count": [1, 2, 3]})
    plain = {"fields": FIELDS}
    for given in (counts, counts.to_dict(as_series=False)):
        with pytest.raises(lw.ParameterError, match="declare it public"):
            lw.synthesize(rows, plain, epsilon=1, public_tables=[given])
    with pytest.raises(lw.ParameterError, match="private table itself"):
        lw.synthesize(rows, plain, epsilon=1, public_tables=rows)
    with pytest.raises(lw.SchemaError, match="no source"):
        lw.PublicTable.from_frame(counts, source=" ")


def test_the_file_of_the_private_table_is_refused(tmp_path: Path) -> None:
    private_rows(50).write_csv(tmp_path / "rows.csv")
    with pytest.raises(lw.ParameterError, match="private table itself"):
        lw.synthesize(tmp_path / "rows.csv", {"fields": FIELDS}, epsilon=1, public_tables=tmp_path / "." / "rows.csv")


def test_a_prior_is_refused_where_no_model_can_lean_on_it() -> None:
    schema = schema_with(changed(BY_TOWN, hold="prior", sd=20))
    with pytest.raises(lw.ParameterError, match="Independent cannot use"):
        lw.synthesize(private_rows(50), schema, epsilon=1, mechanism="Independent")


# --------------------------------------------------------------------------------------------------- exact rows


@pytest.mark.parametrize("mechanism", ["Independent", "Grid"])
@pytest.mark.parametrize(
    "tables",
    [
        (BY_AGE_AND_SEX,),
        (BY_AGE_AND_SEX, BY_TOWN),
        (BY_AGE_AND_SEX, BY_SEX_AND_TOWN),
        (BY_TOWN, BY_SEX_AND_TOWN, BY_AGE_AND_SEX),
    ],
    ids=["one", "disjoint", "overlapping", "three"],
)
def test_rows_out_hold_public_tables_exactly(mechanism: str, tables: tuple[dict[str, Any], ...]) -> None:
    schema = schema_with(*tables)
    release = lw.synthesize(private_rows(), schema, epsilon=2, mechanism=mechanism, seed=4)
    rows = release.sample()
    assert rows.height == release.model.rows == 1000
    for table, public in zip(tables, schema.public_tables, strict=True):
        assert counted(rows, table, schema) == list(public.counts)
        assert counted(release.sample(2000, seed=9), table, schema) == [2 * count for count in public.counts]


@pytest.mark.parametrize("n", [1000, 200])
def test_rows_of_adaptive_hold_public_tables_and_keep_rules(n: int) -> None:
    schema = schema_with(BY_AGE_AND_SEX, BY_SEX_AND_TOWN, rules=(RULE,))
    release = lw.synthesize(private_rows(), schema, epsilon=2, mechanism=lw.Adaptive.small(), seed=4)
    rows = release.sample(n)
    assert rows.filter((pl.col("age") < 15) & (pl.col("job") == "some")).height == 0
    for table, public in zip((BY_AGE_AND_SEX, BY_SEX_AND_TOWN), schema.public_tables, strict=True):
        wanted = [count * n / 1000 for count in public.counts]
        # A count that is not whole comes out rounded up or down.
        assert np.abs(np.array(counted(rows, table, schema)) - wanted).max() < 1


def test_the_model_holds_every_table_to_nine_digits() -> None:
    schema = schema_with(BY_AGE_AND_SEX, BY_SEX_AND_TOWN)
    flat = {field.name: Indexed(np.zeros(1, dtype=np.uint8), uniform_law(field.domain)) for field in schema.columns}
    model = ReleasedModel(weights=np.ones(1), rows=7, laws=flat)
    raked = rake_to_public(model, schema, np.random.default_rng(1))
    totals = public_totals(raked.model, schema)
    assert totals is not None
    for own, table in zip(totals.cells, coded_tables(schema), strict=True):
        shares = np.bincount(own, totals.masses(raked.model.weights)) / raked.model.weights.sum()
        np.testing.assert_allclose(shares * 1000, table.counts, rtol=1e-9)
    assert max(each.after for each in raked.tables) < 1e-9 < min(each.before for each in raked.tables)


def test_whole_counts_come_out_whole_where_raking_ended_early() -> None:
    schema = schema_with(BY_TOWN)
    flat = {field.name: Indexed(np.zeros(1, dtype=np.uint8), uniform_law(field.domain)) for field in schema.columns}
    rng = np.random.default_rng(1)
    raked = rake_to_public(ReleasedModel(weights=np.ones(1), rows=7, laws=flat), schema, rng).model
    is_a = atom_cells(raked, coded_tables(schema)[0]) == 0
    weights = raked.weights * np.where(is_a, 1.0001, 0.9999)
    early = ReleasedModel(weights=weights, rows=raked.rows, laws=raked.laws)
    (codes,) = sample_codes(early, schema, 45_000, rng)
    assert np.count_nonzero(codes["town"] == 0) == 22_500


ONLY_WITH_A = {"never": {"sex": "m", "town": "a"}}
HALVES = {"columns": ["sex"], "source": "Register", "provenance": "public", "cells": [["f", 500], ["m", 500]]}


def warnings_of(*tables: dict[str, Any], rules: tuple[dict[str, Any], ...]) -> tuple[lw.Release, list[str]]:
    """Return a release and what its certificate warns of public tables."""
    schema = schema_with(*tables, rules=rules)
    release = lw.synthesize(private_rows(), schema, epsilon=2, mechanism="Independent", seed=4)
    return release, [text for text in map(str, release.certificate.warnings) if "is not met" in text]


def test_tables_that_are_raked_slowly_are_held_without_a_warning() -> None:
    """Town a leaves no m, and is half of the rows like f: nobody else is f, which weights only reach in the end."""
    release, warned = warnings_of(BY_TOWN, HALVES, rules=(ONLY_WITH_A,))
    rows = release.sample(1000)
    assert [rows.filter(pl.col("town") == "a").height, rows.filter(pl.col("sex") == "f").height] == [500, 500]
    assert warned == []


def test_a_warning_of_raking_that_ended_early_does_not_blame_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_margins, "_SWEEPS", 20)
    _, warned = warnings_of(BY_TOWN, HALVES, rules=(ONLY_WITH_A,))
    assert warned
    assert all("raking had not converged" in each and "one population" not in each for each in warned)


def test_tables_that_a_rule_keeps_apart_are_warned_of() -> None:
    fewer = changed(HALVES, cells=[["f", 400], ["m", 600]])
    _, warned = warnings_of(BY_TOWN, fewer, rules=(ONLY_WITH_A,))
    assert warned
    assert all("0.1 of the rows" in each and "one population" in each for each in warned)


def test_a_cell_without_an_atom_is_given_some() -> None:
    schema = schema_with(BY_TOWN)
    laws = {field.name: Indexed(np.zeros(1, dtype=np.uint8), uniform_law(field.domain)) for field in schema.columns}
    only_a = Indexed(
        np.zeros(1, dtype=np.uint8),
        type(uniform_law(schema.columns[0].domain))(np.array([0, 1]), np.array([0]), np.array([1]), np.ones(1)),
    )
    model = ReleasedModel(weights=np.ones(1), rows=7, laws={**laws, "town": only_a})
    raked = rake_to_public(model, schema, np.random.default_rng(1)).model
    (codes,) = sample_codes(raked, schema, 1000, np.random.default_rng(2))
    assert np.bincount(codes["town"], minlength=3)[0] == 500


def test_nothing_changes_without_public_tables() -> None:
    schema = schema_with()
    laws = {field.name: Indexed(np.zeros(1, dtype=np.uint8), uniform_law(field.domain)) for field in schema.columns}
    model = ReleasedModel(weights=np.ones(1), rows=7, laws=laws)
    assert rake_to_public(model, schema, np.random.default_rng(1)).model is model
    assert public_totals(model, schema) is None


# ------------------------------------------------------------------------------------------------- whole margins


def test_whole_counts_keep_both_margins_wherever_links_allow_it() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        wanted = rng.poisson(0.7, (7, 5)) + np.eye(7, 5, dtype=int)
        left, right = np.nonzero(wanted)
        links = Links(left, right, rng.random(left.size))
        counts, gap = whole_counts(links, wanted.sum(axis=1), wanted.sum(axis=0).astype(float), rng)
        assert gap == 0
        assert counts.min() >= 0
        assert np.bincount(left, counts, 7).tolist() == wanted.sum(axis=1).tolist()
        assert np.bincount(right, counts, 5).tolist() == wanted.sum(axis=0).tolist()


def test_whole_counts_say_how_far_a_margin_is_off() -> None:
    links = Links(np.array([0, 1]), np.array([0, 1]), np.ones(2))
    counts, gap = whole_counts(links, np.array([3, 1]), np.array([2.0, 2.0]), np.random.default_rng(1))
    assert (counts.tolist(), gap) == ([3, 1], 2)


def test_largest_remainders_sum_to_the_total() -> None:
    rng = np.random.default_rng(2)
    for total in (0, 1, 10, 12345):
        masses = rng.random(17)
        found = rounded(masses, total)
        assert found.sum() == total
        assert np.abs(found - masses * total / masses.sum()).max() < 1


def test_a_schema_with_public_tables_survives_saving(tmp_path: Path) -> None:
    schema = schema_with(BY_AGE_AND_SEX, BY_TOWN)
    schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json") == schema


def test_half_open_ranges_of_real_numbers_meet_and_cover() -> None:
    field = {"name": "w", "type": "number", "constraints": {"minimum": 0, "maximum": 1} | REQUIRED}
    table = {"columns": ["w"], "source": "s", "provenance": "public", "cells": [["..0.25", 1], ["0.25..", 3]]}
    (coded,) = coded_tables(Schema.from_dict({"fields": [field], "publicTables": [table]}))
    assert coded.groupings[0].apply(np.array([2**30 - 1, 2**30, 2**32 - 1])).tolist() == [0, 1, 1]
