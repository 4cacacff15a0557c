"""Rows for a table of conditions: values as given, order, support, warnings, refusals, rules."""

from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from helpers.models import allowed, dense, random_model, small_schema
from lapwing.errors import ParameterError
from lapwing.model.model import ReleasedModel
from lapwing.model.sampling import atom_matches
from lapwing.model.sampling.atom_matches import chosen_atoms
from lapwing.release.rows_out import Support

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
