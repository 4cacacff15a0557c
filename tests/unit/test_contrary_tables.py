"""Public tables that contradict each other or a rule: what is seen beforehand is refused, all else warned of."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.model.laws import point_laws, uniform_law
from lapwing.model.model import Indexed, LogLinear, ReleasedModel
from lapwing.model.rows import sample_codes
from lapwing.model.sampling import public_margins
from lapwing.model.sampling.conditions import condition_model
from lapwing.model.sampling.fixed import points
from lapwing.model.sampling.public_margins import rake_to_public, with_atoms_in
from lapwing.release.runs.finishing import postprocess_model
from lapwing.schema.schemas import Schema

NOT_HELD = ("table_not_reached", "table_contradicted")
REQUIRED = {"required": True}
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
RULE = {"determines": ["town"], "column": "county"}


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
            "rules": [RULE],
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
BY_TOWN = [{"determines": ["town"], "column": "county"}, {"determines": ["town"], "column": "size"}]
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
        {"fields": PLACES, "rules": BY_TOWN, "publicTables": [table]},
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
    schema = Schema.from_dict({"fields": TOWNS, "rules": [RULE], "publicTables": [table]})

    made = postprocess_model(atoms_of(town=[0, 0, 0], county=[1, 2, 2]), schema, 1)
    (codes,) = sample_codes(made.model, schema, 100, np.random.default_rng(2))

    assert np.unique(np.stack([codes["town"], codes["county"]]), axis=1).tolist() == [[0, 1], [1, 2]]
    assert np.bincount(codes["town"]).tolist() == [60, 40]


@pytest.mark.parametrize("n", [200, 10_000])
def test_a_map_of_a_public_table_never_leads_out_of_a_condition(n: int) -> None:
    """Sweeps move rows to town u, whose county the table tells: C, where B is asked for. No atom is m."""
    table = table_of(["town", "county"], ["t", "B", 60], ["u", "C", 40])
    schema = Schema.from_dict({"fields": [*TOWNS, PLACES[3]], "rules": [RULE], "publicTables": [table]})
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
