"""Rules in rows for condition rows: kept by what is not given, refused where what is given breaks them."""

import warnings
from datetime import date

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.ruled_tables import TANGLED, tangled_rows, violations
from lapwing.cli.commands.saved import support_text
from lapwing.errors import LapwingWarning, ParameterError
from lapwing.model.conditions.rows import rows_given
from lapwing.model.laws import uniform_law
from lapwing.model.model import LogLinear, ReleasedModel, Spans
from lapwing.schema.schemas import Schema


@pytest.fixture(scope="module")
def tangled():
    return lw.synthesize(tangled_rows(400), TANGLED, epsilon=20, mechanism="independent", seed=1)


@pytest.mark.filterwarnings("ignore::lapwing.errors.LapwingWarning")
@pytest.mark.parametrize("given", [("cat", "age"), ("c", "end"), ("big", "free")], ids="-".join)
def test_rows_for_conditions_never_break_a_rule(tangled, given):
    own = tangled.sample(200, seed=2).select(given)

    rows = tangled.sample(where=own, seed=3)

    assert violations(rows, TANGLED) == [0] * len(TANGLED["rules"])
    assert rows.select(given).equals(own)


@pytest.mark.filterwarnings("ignore::lapwing.errors.LapwingWarning")
def test_where_no_atom_matches_the_columns_that_are_not_given_give_way(tangled):
    own = pl.DataFrame({"pay": np.linspace(300.0, 700.0, 200), "start": tangled.sample(200, seed=2)["start"]})
    loose = lw.Release(
        schema=Schema.from_dict({"fields": TANGLED["fields"]}),
        model=tangled.model,
        certificate=tangled.certificate,
        noisy=(),
    )

    rows = tangled.sample(where=own, seed=3)

    assert violations(rows, TANGLED) == [0] * len(TANGLED["rules"])
    assert rows.select("pay", "start").equals(own)
    assert sum(violations(loose.sample(where=own, seed=3), TANGLED)) > 0


def test_sweeps_that_break_a_rule_are_taken_back():
    limits = {"required": True, "minimum": 0, "maximum": 9}
    fields = [{"name": name, "type": "integer", "constraints": limits} for name in ("low", "high", "free")]
    schema = Schema.from_dict({"fields": fields, "rules": [{"order": ["low", "high"]}]})
    low, high = np.triu_indices(10)
    laws = {"low": Spans(low, low + 1), "high": Spans(high, high + 1), "free": Spans(low, low + 1)}
    base = {field.name: uniform_law(field.domain) for field in schema.columns}
    part = LogLinear(tables=(), groupings=(), thetas=(), base=base)
    model = ReleasedModel(weights=np.ones(low.size), rows=50, laws=laws, log_linear=part)
    pairs = np.stack((np.repeat(np.arange(10), 10), np.tile(np.arange(10), 10)))
    given = {"low": np.tile(pairs[0], 10), "free": np.tile(pairs[1], 10)}

    codes = rows_given(model, schema, given, np.random.default_rng(1)).codes

    assert (codes["low"] <= codes["high"]).all()
    assert all(np.array_equal(codes[name], each) for name, each in given.items())
    assert len(set(codes["free"].tolist())) == 10


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"age": 9, "job": True}, "condition row 2 breaks the rule 'when age is at most 14, job is"),
        ({"a": 9, "b": 8}, "condition row 2 breaks the rule 'a <= b'"),
        ({"start": date(2020, 3, 1), "end": date(2020, 2, 1)}, "condition row 2 breaks the rule 'start < end'"),
        ({"b": 20, "c": 3}, "condition row 2: what it gives on b, c goes with no row that keeps the rules"),
    ],
)
def test_a_condition_that_breaks_a_rule_is_refused_by_name_and_number(tangled, row, says):
    with pytest.raises(ParameterError) as error:
        tangled.sample(where=[{"free": 1}, row])

    assert says in str(error.value)


def test_support_says_which_condition_rows_are_refused(tangled):
    rows = [
        {"a": 9, "b": 8},
        {"free": 3, "age": 9, "job": False},
        {"b": 20, "c": 3},
        {"b": 20, "c": 23},
        {"b": 2, "c": 1},
        {"start": date(2020, 3, 1), "end": date(2020, 2, 1)},
    ]

    found = tangled.support(rows)

    refused = [how == "nothing" for how in found["drawn"]]
    assert refused == [True, False, True, False, True, True]
    for row, is_refused in zip(rows, refused, strict=True):
        if is_refused:
            with pytest.raises(ParameterError, match="condition row 1"):
                tangled.sample(where=[row])
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LapwingWarning)
                assert tangled.sample(where=[row]).height == 1
    assert support_text(found).endswith(", 4 refused")


def test_numbers_of_one_cell_are_refused_with_the_reason():
    fields = [{"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": 1}} for name in ("x", "y")]
    data = pl.DataFrame({"x": [0.25] * 50, "y": [0.75] * 50})
    schema = {"fields": fields, "rules": [{"order": ["x", "y"]}]}
    release = lw.synthesize(data, schema, epsilon=20, mechanism="independent", seed=1)

    with pytest.raises(ParameterError, match=r"'x <= y' \(numbers of x and y, without a resolution, are in no order"):
        release.sample(where=pl.DataFrame({"x": [0.4], "y": [0.4]}))
