"""Rows for a table of conditions: values as given, order, support, warnings, refusals, rules."""

import warnings
from datetime import date, datetime
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from helpers.models import allowed, dense, random_model, small_schema
from lapwing.errors import DataError, LapwingWarning, ParameterError
from lapwing.model.files import SavedRelease
from lapwing.model.laws import point_laws
from lapwing.model.model import Indexed, ReleasedModel, Spans
from lapwing.model.sampling import atom_matches
from lapwing.model.sampling.atom_matches import chosen_atoms
from lapwing.model.sampling.given_rows import rows_given
from lapwing.release.rows_out import Support
from lapwing.rows.given import given_rows
from lapwing.schema.schemas import Schema

SCHEMA = small_schema()
YEAR = {"minimum": "2020-01-01", "maximum": "2020-12-31"}
PEOPLE = {
    "fields": [
        {"name": "id", "type": "string", "role": "identifier"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 90, "required": True}},
        {"name": "sex", "type": "string", "categories": ["f", "m"], "missingValues": ["", "?"]},
        {"name": "height", "type": "number", "constraints": {"minimum": 0.5, "maximum": 2.5}, "special": [-1]},
        {"name": "day", "type": "date", "constraints": YEAR, "resolution": "week"},
        {"name": "at", "type": "datetime", "constraints": YEAR},
        {"name": "dx", "type": "string", "categories": ["250", "401"], "hierarchy": {"prefixes": [1, 3], "fold": True}},
        {"name": "smokes", "type": "boolean"},
    ]
}
GIVEN = {
    "height": [1.2345678901234567, -1.0, None, 2.5],
    "day": [date(2020, 5, 6), None, date(2020, 1, 1), date(2020, 12, 30)],
    "at": [datetime(2020, 5, 6, 7, 8, 9), None, datetime(2020, 1, 1), datetime(2020, 12, 31)],
    "sex": ["m", None, "f", "m"],
    "smokes": [True, False, None, True],
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "id": [str(i) for i in range(200)],
            "age": rng.integers(0, 91, 200),
            "sex": rng.choice(["f", "m"], 200),
            "height": rng.uniform(0.5, 2.5, 200),
            "day": [date(2020, 3, 1)] * 200,
            "at": [datetime(2020, 3, 1)] * 200,
            "dx": rng.choice(["250", "401"], 200),
            "smokes": rng.random(200) < 0.5,
        }
    )
    return lw.synthesize(table, PEOPLE, epsilon=4, mechanism="independent", seed=1)


def _frame(kind: str) -> Any:
    table = pl.DataFrame(GIVEN)
    return {"polars": lambda: table, "pandas": lambda: pd.DataFrame(GIVEN), "pyarrow": table.to_arrow}[kind]()


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_given_values_stay_exactly_as_they_are_in_their_order(people, kind):
    rows = people.sample(where=_frame(kind), seed=1)

    assert rows.columns == [field["name"] for field in PEOPLE["fields"]]
    assert rows.select(list(GIVEN)).to_dict(as_series=False) == GIVEN
    assert rows["age"].null_count() == 0
    assert rows["id"].to_list() == ["1", "2", "3", "4"]


def test_a_list_of_mappings_gives_one_row_each(people):
    wanted = [{"age": 30, "sex": "f"}, {}, {"height": 1.23456789012}, {"sex": None, "age": np.int64(7)}]

    rows = people.sample(where=wanted, seed=1)

    assert rows.height == 4
    assert rows["age"].to_list()[::3] == [30, 7]
    assert rows["sex"].to_list()[::3] == ["f", None]
    assert rows["height"][2] == 1.23456789012


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"age": [5, 91]}, 'condition row 2: column "age" must be of type integer from 0 to 90, never missing, got 91'),
        ({"age": ["5", "six"]}, 'never missing, got "six"; name a value in its domain'),
        ({"height": [1.0, 2.6]}, 'condition row 2: column "height" must be of type number from 0.5 to 2.5, got 2.6'),
        ({"dx": ["250", "250.13"]}, 'condition row 2: column "dx" must be one of its categories, got "250.13"'),
        ({"name": ["x"]}, 'the table of conditions names "name", no modelled column'),
        ({"id": ["x"]}, 'the table of conditions names "id", an identifier'),
        ({}, "names no column at all"),
    ],
)
def test_what_is_no_value_is_refused_by_column_and_row(people, where, says):
    with pytest.raises(ParameterError) as error:
        people.sample(where=pl.DataFrame(where, strict=False))

    assert says in str(error.value)


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ([{"age": 3}, {"sex": "f"}, {"age": -3}], "condition row 3"),
        ([{"age": 3}, {"age": [3, 4]}], 'condition row 2: column "age" must be one value'),
        (["age"], "condition row 1 must map columns to values, got a str"),
        ("age", "where must map columns to values, got a str"),
    ],
)
def test_lists_that_are_no_conditions_are_refused(people, where, says):
    with pytest.raises(ParameterError) as error:
        people.sample(where=where)

    assert says in str(error.value)


def test_a_number_of_rows_beside_a_table_is_refused(people):
    where = pl.DataFrame({"age": [3, 4]})

    assert people.sample(2, where=where).height == 2
    with pytest.raises(ParameterError, match="where has 2 condition rows and gives a row for each, but n is 3"):
        people.sample(3, where=where)


def test_texts_for_missing_and_numbers_as_text_are_read():
    given = given_rows(pl.DataFrame({"sex": ["?", "m", ""], "age": [" 7", "8", "90"]}), Schema.from_dict(PEOPLE))

    assert given.values["sex"].to_list() == [None, "m", None]
    assert given.values["age"].to_list() == [7, 8, 90]


# -------------------------------------------------------------------------------------------------------- support


def _naive_weights(model: ReleasedModel, given: dict[str, np.ndarray]) -> np.ndarray:
    """Return the weight of each atom (columns) given each row of codes (rows), atom by atom."""
    weights = np.tile(model.weights, (len(next(iter(given.values()))), 1))
    for name, codes in given.items():
        size = SCHEMA.field(name).domain.size
        table = np.stack([dense(model.laws[name], atom, size) for atom in range(model.atoms)])
        weights *= table[:, codes].T
    return weights


@pytest.mark.parametrize("most_pairs", [10, 2**21])
@pytest.mark.parametrize("seed", range(3))
def test_atoms_are_matched_as_a_plain_loop_does(monkeypatch, seed, most_pairs):
    monkeypatch.setattr(atom_matches, "_MOST_PAIRS", most_pairs)
    rng = np.random.default_rng(seed)
    model = random_model(SCHEMA, 30, seed)
    names = rng.choice([field.name for field in SCHEMA.columns], 2, replace=False)
    given = {name: rng.integers(0, allowed(SCHEMA.field(name).domain), 300) for name in map(str, names)}

    choice = chosen_atoms(model, given, rng)
    weights = _naive_weights(model, given)

    totals = weights.sum(axis=1)
    is_met = totals > 0
    effective = np.where(is_met, totals**2 / np.where(is_met, np.square(weights).sum(axis=1), 1.0), 0.0)
    assert choice.effective == pytest.approx(effective)
    assert choice.shares == pytest.approx(totals / model.weights.sum())
    assert (weights[np.arange(300), choice.atoms][is_met] > 0).all()
    assert np.array_equal(np.logical_or.reduce(list(choice.passed.values())), ~is_met)


def test_equal_rows_take_each_atom_as_often_as_its_share_to_one():
    model = random_model(SCHEMA, 30, 3)
    ages = np.arange(allowed(SCHEMA.field("age").domain))
    everywhere = _naive_weights(model, {"age": ages})
    age = int(everywhere.sum(axis=1).argmax())
    given, weights = {"age": np.full(1000, age)}, everywhere[age]

    counts = np.bincount(chosen_atoms(model, given, np.random.default_rng(1)).atoms, minlength=30)

    assert np.abs(counts - 1000 * weights / weights.sum()).max() < 1 + 1e-9


def _points(rows: list[tuple[int, int, int]]) -> tuple[Schema, ReleasedModel]:
    """Return a model of three columns whose atoms are these points."""
    limits = {"required": True, "minimum": 0, "maximum": 99}
    names = ("a", "b", "c")
    schema = Schema.from_dict({"fields": [{"name": n, "type": "integer", "constraints": limits} for n in names]})
    codes = np.array(rows)
    laws = {name: Spans(codes[:, at], codes[:, at] + 1) for at, name in enumerate(names)}
    return schema, ReleasedModel(weights=np.ones(len(rows)), rows=len(rows), laws=laws)


def test_a_code_that_no_atom_has_is_passed_over_and_the_others_still_count():
    schema, model = _points([(1, 5, 10), (1, 6, 11), (2, 5, 20), (2, 6, 21)])
    given = {"a": np.array([1, 2, 2]), "b": np.array([77, 5, 77])}

    found = rows_given(model, schema, given, np.random.default_rng(1))

    assert found.support.tolist() == [0, 1, 0]
    assert chosen_atoms(model, given, np.random.default_rng(1)).shares.tolist() == [0, 0.25, 0]
    assert found.codes["b"].tolist() == [77, 5, 77]
    assert [code // 10 for code in found.codes["c"]] == [1, 2, 2]
    assert found.codes["c"][1] == 20


def test_columns_that_match_keep_their_say_where_another_is_passed_over():
    laws = {
        "a": Spans(np.array([0, 0]), np.array([1, 2])),
        "b": Spans(np.array([5, 6]), np.array([6, 7])),
    }
    model = ReleasedModel(weights=np.ones(2), rows=2, laws=laws)
    given = {"a": np.zeros(9000, dtype=np.int64), "b": np.full(9000, 50)}

    choice = chosen_atoms(model, given, np.random.default_rng(1))

    assert choice.passed["b"].all()
    assert np.bincount(choice.atoms).tolist() == [6000, 3000]


class _Last:
    """Draws the last place of all."""

    def random(self, count: int) -> np.ndarray:
        return np.full(count, np.nextafter(1.0, 0.0))

    def permutation(self, count: int) -> np.ndarray:
        return np.arange(count)


def test_an_atom_whose_chance_vanishes_is_not_drawn_by_rounding():
    kinds, stops = np.repeat(np.arange(3), 2), np.tile([1, 2**50], 3)
    laws: dict[str, Any] = {f"x{i}": Spans(np.zeros(6, dtype=np.int64), stops) for i in range(30)}
    laws["y"] = Indexed(kinds.astype(np.uint8), point_laws([0, 1, 2]))
    model = ReleasedModel(weights=np.ones(6), rows=6, laws=laws)
    given = {name: np.zeros(3, dtype=np.int64) for name in laws} | {"y": np.arange(3)}

    choice = chosen_atoms(model, given, cast("np.random.Generator", _Last()))

    assert choice.atoms.tolist() == [0, 2, 4]  # 2**1500 to 1 for these


def test_support_says_how_rows_are_drawn(people):
    one = people.support({"sex": "f"})
    table = people.support([{"sex": "f"}, {}])

    assert isinstance(one, Support)
    assert (one.effective_atoms, one.drawn) == (1.0, "atoms")
    assert 0.2 < one.share < 0.8
    assert f"{one.share:.3%} of the rows" in one.text
    assert table["share"].to_list() == [pytest.approx(one.share), 1.0]
    assert table.columns == ["effective_atoms", "share", "drawn"]


# ------------------------------------------------------------------------------------------------------- warnings


def _release(people: Any, rows: list[tuple[int, int, int]]) -> Any:
    schema, model = _points(rows)
    return lw.Release.of_one(SavedRelease(schema, model, people.certificate, ()))


def test_a_warning_gives_the_number_of_conditions_that_no_atom_matches(people):
    release = _release(people, [(a, b, 0) for a in range(5) for b in range(5)])

    with pytest.warns(LapwingWarning, match="no atom of the model matches 2 of 3 condition rows"):
        release.sample(where=pl.DataFrame({"a": [1, 50, 2], "b": [1, 1, 60]}))
    assert release.support([{"a": 1}, {"a": 50}])["drawn"].to_list() == ["atoms", "nearest"]
    assert release.support({"a": 50}).drawn == "nothing"


def test_a_warning_says_that_many_conditions_have_little_support(people):
    release = _release(people, [(a, b, 0) for a in range(2) for b in range(60)])

    with pytest.warns(LapwingWarning, match="fewer than 50 effective atoms of the model match each of 2 of 2"):
        release.sample(where=pl.DataFrame({"b": [1, 2]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release.sample(where=pl.DataFrame({"a": [0, 1]}))


def test_what_is_no_table_at_all_is_refused(people):
    with pytest.raises(DataError, match="data of type int is not a table"):
        people.sample(where=5)
