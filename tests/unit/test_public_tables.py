"""Public tables: what they say of a model, which contradict each other, and what of them is counted."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.model.evidence import AskedTable
from lapwing.model.laws import point_laws, uniform_law
from lapwing.model.model import Indexed, LogLinear, ReleasedModel
from lapwing.model.rows import sample_codes
from lapwing.model.sampling import public_margins
from lapwing.model.sampling.conditions import condition_model
from lapwing.model.sampling.fixed import points
from lapwing.model.sampling.public_margins import rake_to_public, with_atoms_in
from lapwing.model.sampling.public_strata import atom_cells, public_totals
from lapwing.release.queries import public_counts
from lapwing.release.runs.finishing import postprocess_model
from lapwing.schema.groupings.grouping import identity, interval_grouping
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


# ------------------------------------------------------------------------------------------------- whole margins
def test_a_schema_with_public_tables_survives_saving(tmp_path: Path) -> None:
    schema = schema_with(BY_AGE_AND_SEX, BY_TOWN)
    schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json") == schema


NOT_HELD = ("table_not_reached", "table_contradicted")
FLAGS = [{"name": name, "type": "boolean", "constraints": REQUIRED} for name in "abc"]
NEVER_EQUAL = [
    {
        "columns": list(pair),
        "cells": [[True, True, 0], [True, False, 5], [False, True, 5], [False, False, 0]],
        "source": "Register",
        "provenance": "public",
    }
    for pair in ("ab", "bc", "ac")
]
TOWNS = [
    {"name": "town", "type": "string", "categories": ["t", "u"], "constraints": REQUIRED},
    {"name": "county", "type": "string", "categories": list("ABCDEFGH"), "constraints": REQUIRED},
]
CONTRARY_RULE = {"determines": ["town"], "column": "county"}


def table_of(columns: list[str], *cells: list[Any]) -> dict[str, Any]:
    """Return a public table in which nobody is outside the listed cells."""
    return {"columns": columns, "cells": list(cells), "complete": True, "source": "Register", "provenance": "public"}


def atoms_of(**codes: list[int]) -> ReleasedModel:
    """Return equally heavy atoms that are points."""
    laws = {}
    for name, own in codes.items():
        known, index = np.unique(own, return_inverse=True)
        laws[name] = Indexed(index.astype(np.uint8), point_laws(known))
    count = len(next(iter(codes.values())))
    return ReleasedModel(weights=np.ones(count), rows=10 * count, laws=laws)


@pytest.mark.parametrize("name", ["independent", "adaptive"])
def test_a_paid_release_is_not_lost_where_public_tables_contradict_each_other(name: str) -> None:
    rows = pl.DataFrame({flag: [True, False] * 5 for flag in "abc"})

    release = lw.synthesize(
        rows,
        {"fields": FLAGS, "publicTables": NEVER_EQUAL},
        epsilon=5,
        mechanism=MECHANISMS[name].small(),
        seed=1,
    )

    assert release.sample().height == 10
    said = [each for each in release.certificate.warnings if each.code in NOT_HELD]
    assert said  # which of the three is not depends on the atoms, and so on noise
    missed = [table for table in release.certificate.public_tables if table.missed]
    assert len(missed) == len(said)
    assert str(release.certificate).count("Rows miss, by") == len(said)
    assert type(release.certificate).from_dict(release.certificate.to_dict()) == release.certificate


@pytest.mark.parametrize("tables", [("complete", "bare"), ("complete",)], ids=["two", "one"])
def test_a_model_that_is_nowhere_where_tables_count_rows_keeps_its_weights(tables: tuple[str, ...]) -> None:
    # The atoms say that t and u lie in C, so that the rule leaves no atom where the table counts.
    known = {
        "complete": table_of(["town", "county", "sex"], ["t", "A", "f", 60], ["u", "B", "f", 40]),
        "bare": table_of(["town"], ["t", 60], ["u", 40]),
    }
    schema = Schema.from_dict(
        {
            "fields": [*TOWNS, {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": REQUIRED}],
            "rules": [CONTRARY_RULE],
            "publicTables": [known[each] for each in tables],
        }
    )
    model = atoms_of(town=[0, 1], county=[2, 2], sex=[0, 1])

    found = rake_to_public(model, schema, np.random.default_rng(1))
    (codes,) = sample_codes(found.model, schema, 100, np.random.default_rng(2))

    assert found.model.atoms == 2
    assert found.off == 100
    assert found.tables[0].after == 1
    assert set(codes["county"].tolist()) == {2}


def test_raking_ends_early_where_nothing_changes_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema.from_dict({"fields": FLAGS, "publicTables": NEVER_EQUAL})
    scaled, steps = public_margins._scaled, []

    def counted(masses: np.ndarray, own: np.ndarray, shares: np.ndarray) -> np.ndarray:
        steps.append(shares.size)
        return scaled(masses, own, shares)

    monkeypatch.setattr(public_margins, "_scaled", counted)
    every = np.indices((2, 2, 2)).reshape(3, -1).tolist()
    found = rake_to_public(atoms_of(a=every[0], b=every[1], c=every[2]), schema, np.random.default_rng(1))

    assert found.off > 0
    assert not found.is_nearing
    assert len(steps) < 3 * 500


def test_raking_goes_on_while_a_tiny_atom_grows_though_the_gap_stands_still() -> None:
    """The weight of the second atom doubles every 9 sweeps: for 200 of them the gap of 0.02 stays what it is."""
    tables = [table_of(["a"], [False, 520], [True, 480]), table_of(["b"], [False, 500], [True, 500])]
    schema = Schema.from_dict({"fields": FLAGS[:2], "publicTables": tables})
    model = replace(atoms_of(a=[0, 0, 1, 1], b=[0, 1, 0, 1]), weights=np.array([0.5, 1e-12, 1e-12, 0.5]))

    found = rake_to_public(model, schema, np.random.default_rng(1))

    assert max(each.after for each in found.tables) <= public_margins.HELD


def towns(n: int = 300) -> pl.DataFrame:
    """Return rows of six towns, each in one of three counties."""
    rng = np.random.default_rng(3)
    place = rng.integers(0, 6, n)
    return pl.DataFrame(
        {
            "town": [f"t{each}" for each in place],
            "county": ["ABC"[each % 3] for each in place],
            "size": 3 * place,
            "sex": rng.choice(["f", "m"], n),
        }
    )


PLACES = [
    {"name": "town", "type": "string", "categories": [f"t{at}" for at in range(6)], "constraints": REQUIRED},
    {"name": "county", "type": "string", "categories": list("ABC"), "constraints": REQUIRED},
    {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 19} | REQUIRED},
    {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": REQUIRED},
]
CONTRARY_BY_TOWN = [{"determines": ["town"], "column": "county"}, {"determines": ["town"], "column": "size"}]
TIED = {
    "values": ["town", "county"],
    "values and another column": ["county", "sex", "town"],
    "both": ["town", "county", "size"],
    "ranges": ["town", "range"],
}


@pytest.mark.parametrize("columns", TIED.values(), ids=TIED)
@pytest.mark.parametrize("name", ["independent", "adaptive"])
def test_a_map_that_a_public_table_tells_is_taken_from_it(name: str, columns: list[str]) -> None:
    rows = towns()
    ranges = pl.when(pl.col("size") < 8).then(pl.lit("..7")).otherwise(pl.lit("8..")).alias("range")
    counted = rows.with_columns(ranges).group_by(columns).len().sort(columns)
    table = table_of([{"range": "size"}.get(each, each) for each in columns], *map(list, counted.rows()))

    release = lw.synthesize(
        rows,
        {"fields": PLACES, "rules": CONTRARY_BY_TOWN, "publicTables": [table]},
        epsilon=0.1,
        mechanism=MECHANISMS[name].small(),
        seed=1,
    )

    found = release.sample()
    assert found.with_columns(ranges).group_by(columns).len().sort(columns).equals(counted)
    assert found.select("town", "county").n_unique() == found.select("town", "size").n_unique() == 6
    assert not [each for each in release.certificate.warnings if each.code in NOT_HELD]
    if "county" in columns:  # what the table tells is no guess
        assert not [
            each
            for each in release.certificate.warnings
            if each.code == "map_guessed" and "county" in each.fields["rule"]
        ]


def test_a_determinant_that_the_model_has_not_is_given_the_value_that_the_table_tells() -> None:
    table = table_of(["town", "county"], ["t", "B", 60], ["u", "C", 40])
    schema = Schema.from_dict({"fields": TOWNS, "rules": [CONTRARY_RULE], "publicTables": [table]})

    made = postprocess_model(atoms_of(town=[0, 0, 0], county=[1, 2, 2]), schema, 1)
    (codes,) = sample_codes(made.model, schema, 100, np.random.default_rng(2))

    assert np.unique(np.stack([codes["town"], codes["county"]]), axis=1).tolist() == [[0, 1], [1, 2]]
    assert np.bincount(codes["town"]).tolist() == [60, 40]


@pytest.mark.parametrize("n", [200, 10_000])
def test_a_map_of_a_public_table_never_leads_out_of_a_condition(n: int) -> None:
    """Sweeps move rows to town u, whose county the table tells: C, where B is asked for. No atom is m."""
    table = table_of(["town", "county"], ["t", "B", 60], ["u", "C", 40])
    schema = Schema.from_dict({"fields": [*TOWNS, PLACES[3]], "rules": [CONTRARY_RULE], "publicTables": [table]})
    base = {field.name: uniform_law(field.domain) for field in schema.columns}
    part = LogLinear(tables=(), groupings=(), thetas=(), base=base)
    model = replace(atoms_of(town=[0, 0], county=[1, 1], sex=[0, 0]), log_linear=part)

    given = condition_model(model, schema, {"county": "B", "sex": "m"})
    rows = list(sample_codes(given.model, schema, n, np.random.default_rng(1), is_matched=given.is_matched))

    assert not given.is_matched
    assert {name: np.unique(codes).tolist() for name, codes in rows[0].items()} == {
        "town": [0],
        "county": [1],
        "sex": [1],
    }


SIZED = [TOWNS[0], PLACES[2], PLACES[3]]


def test_a_table_that_gives_one_determinant_two_values_is_refused() -> None:
    table = table_of(["town", "size"], ["t", "..4", 3], ["t", "5..", 3], ["u", "..4", 4])

    with pytest.raises(
        lw.SchemaError, match=r'give town "t" two values of size, but rule .town determines size. leaves'
    ):
        Schema.from_dict(
            {"fields": SIZED, "rules": [{"determines": ["town"], "column": "size"}], "publicTables": [table]}
        )


@pytest.mark.parametrize(
    "cells",
    [
        [["t", "..9", "f", 3], ["t", "5..", "m", 3]],
        [[["t", "u"], "..4", "f", 3], [["t", "u"], "5..", "f", 3]],
        [["t", "..4", "f", 3], ["t", "5..", "f", 0]],
    ],
    ids=["ranges that overlap", "determinants together", "no count"],
)
def test_a_table_that_leaves_each_determinant_a_value_is_held(cells: list[list[Any]]) -> None:
    table = table_of(["town", "size", "sex"], *cells)
    rule = {"determines": ["town"], "column": "size"}
    schema = Schema.from_dict({"fields": SIZED, "rules": [rule], "publicTables": [table]})
    model = atoms_of(town=[0, 1, 0, 1], size=[0, 7, 19, 12], sex=[0, 0, 1, 1])

    made = postprocess_model(model, schema, 1)

    assert not [each for each in made.warnings if each.code in NOT_HELD]


def test_new_atoms_of_one_determinant_have_one_value_and_none_is_lost() -> None:
    rule = {"determines": ["town"], "column": "size"}
    table = table_of(["town", "size"], ["t0", "..9", 3], ["t1", "..9", 3], ["t2", "..9", 3])
    schema = Schema.from_dict({"fields": [PLACES[0], PLACES[2]], "rules": [rule], "publicTables": [table]})
    model = atoms_of(town=[0, 0, 1], size=[3, 3, 5])
    box = {"town": np.array([[2, 3]]), "size": np.array([[0, 10]])}

    found = with_atoms_in(model, schema, [box] * 5, 0.1, np.random.default_rng(1))

    codes = points(found, ["town", "size"])
    assert found.atoms == model.atoms + 20
    assert set(codes["size"][codes["town"] == 2].tolist()) == {3}


COUNTS_FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 5, "required": True}},
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    {"name": "job", "type": "string", "categories": ["none", "some"], "constraints": {"required": True}},
]
TOLD = {
    "columns": ["sex", "age"],
    "source": "Register",
    "provenance": "public",
    "complete": True,
    "cells": [["f", "..2", 30], ["f", "3..", 20], ["m", {"minimum": 0}, 40], [None, "..2", 10], [None, "3..", 0]],
}


def schema_of(*tables):
    return Schema.from_dict({"fields": COUNTS_FIELDS, "publicTables": list(tables)})


def asked(schema, names, ends=None):
    """Return public counts as a nested list, None where unknown; `ends` cut the age."""
    domains = [schema.field(name).domain for name in names]
    groupings = [
        interval_grouping(domain, np.array(ends)) if domain.values == 6 and ends else identity(domain)
        for domain in domains
    ]
    counts, known = public_counts(schema, AskedTable(names, groupings))
    return np.where(known, counts, None).tolist()


@pytest.mark.parametrize(
    ("names", "ends", "wanted"),
    [
        (["sex"], None, [50, 40, 10]),
        (["age"], [3], [None, None, 0]),
        (["age", "sex"], [3], [[30, None, 10], [20, None, 0], [0, 0, 0]]),
        (["sex", "age"], [2], [[None, None, 0], [None, None, 0], [None, None, 0]]),
        (["sex", "job"], None, None),
    ],
    ids=["summed", "one cell reaches over", "other order", "cut elsewhere", "another column"],
)
def test_counts_are_known_where_whole_cells_make_them(names, ends, wanted):
    found = asked(schema_of(TOLD), names, ends)

    assert found == wanted if wanted else all(each is None for line in found for each in line)


def test_a_cell_without_rows_spoils_nothing():
    table = TOLD | {"cells": [["f", "..2", 30], ["f", "3..", 20], ["m", "..", 0], [None, "..2", 10], [None, "3..", 0]]}

    assert asked(schema_of(table), ["age"], [3]) == [40, 20, 0]


def test_priors_determine_nothing_and_another_table_fills_in():
    ages = {"columns": ["age"], "source": "Register", "provenance": "public", "cells": [["..2", 55], ["3..", 45]]}

    assert asked(schema_of(TOLD | {"hold": "prior", "sd": 3}), ["sex"]) == [None, None, None]
    assert asked(schema_of(TOLD, ages), ["age"], [3]) == [55, 45, 0]


def test_a_query_shows_the_public_count_without_width(tmp_path):
    ages = [value % 6 for value in range(120)]
    data = pl.DataFrame({"age": ages, "sex": ["f", "m"] * 60, "job": ["none"] * 120})
    release = lw.synthesize(data, schema_of(TOLD), epsilon=1, mechanism="Independent", seed=1)
    release.save(tmp_path / "m.lapwing")

    sexes, jobs = release.query("sex"), release.query("job")
    said = lapwing("query", tmp_path / "m.lapwing", "--column", "sex")

    assert sexes["lower"].to_list() == sexes["upper"].to_list() == [50, 40, 10]
    assert sexes["count"].to_list() == pytest.approx([50, 40, 10])
    assert set(sexes["basis"]) == {"public table"}
    assert set(jobs["basis"]) == {"1 noisy count"}
    assert said.err == ""
    assert said.out.count("public table") == 3
