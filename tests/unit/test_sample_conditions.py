"""Conditions on a released model: what values mean, and the conditional mixture."""

import warnings
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.cases import spread
from helpers.models import joint, random_model, small_schema
from lapwing.errors import LapwingWarning, ParameterError
from lapwing.model.laws import point_laws, uniform_law
from lapwing.model.model import Bernoulli, LogLinear, ReleasedModel, Spans
from lapwing.model.sampling.conditions import condition_model
from lapwing.schema.conditions import Between, wanted_runs
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SCHEMA = small_schema()
AGE = Field(name="age", type="integer", minimum=18, maximum=90, special=(-1,))
PRICE = Field(name="price", type="number", minimum=0.1, maximum=1.0, resolution=0.1, required=True)
SHARE = Field(name="share", type="number", minimum=0, maximum=8, special=(99,))
DAY = Field(name="day", type="date", minimum="2020-01-01", maximum="2020-12-31")
HOUR = Field(name="hour", type="datetime", minimum="2020-01-01", maximum="2020-01-02", resolution="hour")
FLAG = Field(name="flag", type="boolean")
SIZE = Field(name="size", type="string", categories=("s", "m", "l"), ordered=True)
CITY = Field(name="city", type="string", categories=("Oslo", "Rome"), required=True)
GRADE = Field(name="grade", type="number", categories=(1, 2.5, 3))
PAY = Field(name="pay", type="integer", minimum=-150, maximum=1020, resolution=100, special=(0,), scale="log")
WEEK = Field(name="week", type="date", minimum="2020-01-01", maximum="2020-02-01", resolution="week")
MONTH = Field(name="month", type="date", minimum="2019-12-15", maximum="2020-12-10", resolution="month")
YEAR = Field(name="year", type="datetime", minimum="1999-06-01T12:00:00", maximum="2020-12-10", resolution="year")
# Zero lies inside a cell, which begins below it; the other numbers of the cell are never shown.
DEBT = Field(name="debt", type="number", minimum=-0.1, maximum=0.2)
ZERO = 1431655765
# Zero is at the end of the cell before, and rounding puts it, for the codec, where the next begins.
ROUNDED = Field(name="rounded", type="number", minimum=-3.5, maximum=9.3)
ROUNDED_DOWN = Field(name="rounded", type="number", minimum=-0.1170025918390808, maximum=0.9158478740507359)
FEAST = Field(name="feast", type="date", categories=("2020-12-25", "2020-04-12"))


def of(field: Field, *cases: Any) -> list[Any]:
    """Return cases of what is wanted of a field, and of the runs that it becomes."""
    return [(field, wanted, [list(run) for run in runs]) for wanted, *runs in cases]


def refused(field: Field, *cases: Any) -> list[Any]:
    return [(field, wanted, None) for wanted in cases]


@pytest.mark.parametrize(
    ("field", "wanted", "runs"),
    [
        *of(AGE, (18, (0, 1)), (18.0, (0, 1)), (np.int64(90), (72, 73)), (-1, (73, 74)), (None, (74, 75))),
        *of(AGE, ([20, 19, 30], (1, 3), (12, 13)), ({None, 18}, (0, 1), (74, 75)), (range(18, 21), (0, 3))),
        *of(AGE, (np.array([18, 90]), (0, 1), (72, 73)), (Between(20, 29), (2, 12)), (Between(-5, 20.5), (0, 3))),
        *of(AGE, (Between(89, 1000), (71, 73)), ([Between(20, 29), Between(25, 35), None], (2, 18), (74, 75))),
        *of(PRICE, (0.3, (2, 3)), (Between(0.2, 0.4), (1, 4)), (Between(0.25, 0.35), (2, 3)), (1.0, (9, 10))),
        *of(SHARE, (8, (2**32 - 1, 2**32)), (99, (2**32, 2**32 + 1)), (0, (0, 1)), (Between(0, 8), (0, 2**32))),
        *of(SHARE, (Between(2, 4), (2**30, 2**31)), (Between(4, 4), (2**31, 2**31 + 1))),
        *of(SHARE, (Between(1e-12, 8), (1, 2**32))),
        *of(DAY, ("2020-01-03", (2, 3)), (date(2020, 1, 3), (2, 3))),
        *of(DAY, (Between("2019-01-01", date(2020, 1, 2)), (0, 2)), (datetime(2020, 1, 3), (2, 3))),
        *of(DAY, (pd.Timestamp("2020-01-03"), (2, 3)), (np.datetime64("2020-01-03"), (2, 3))),
        *of(DAY, (Between(pd.Timestamp("2020-01-01"), datetime(2020, 1, 2)), (0, 2))),
        *of(DAY, ([pd.NaT, np.datetime64("NaT")], (366, 367))),
        *of(PAY, (-150, (0, 1)), (-90, (1, 2)), (0, (12, 13)), (1, (2, 3)), (1020, (11, 12))),
        *of(PAY, (Between(-150, 150), (0, 4)), (Between(950, 5000), (11, 12))),
        *refused(PAY, Between(960, 1040), 1030, 99.5),
        *of(WEEK, ("2020-01-08", (1, 2)), (date(2020, 1, 14), (1, 2)), (Between("2020-01-02", "2020-01-15"), (1, 3))),
        *of(WEEK, ("2020-02-01", (4, 5))),
        *refused(WEEK, "2020-02-02"),
        *of(MONTH, ("2019-12-15", (0, 1)), (date(2020, 1, 31), (1, 2)), ("2020-12-10", (12, 13))),
        *of(MONTH, (Between("2020-01-01", "2020-02-29"), (1, 3)), (Between("2019-01-01", "2020-01-15"), (0, 2))),
        *of(MONTH, (Between("2020-11-02", "2021-01-01"), (12, 13))),
        *refused(MONTH, Between("2020-11-02", "2020-11-30"), "2019-12-14", "2020-12-11"),
        *of(YEAR, ("1999-06-01T12:00:00", (0, 1)), ("2000-01-01", (1, 2)), (datetime(2020, 12, 10, 23), (21, 22))),
        *of(YEAR, (Between("1999-12-31", "2001-01-01"), (1, 3))),
        *refused(YEAR, "1999-06-01T11:59:59", "2020-12-11"),
        *of(DEBT, (0, (ZERO, ZERO + 1)), (Between(0, 0), (ZERO, ZERO + 1)), (Between(0, 0.2), (ZERO, 2**32))),
        *of(DEBT, (Between(-0.1, 0), (0, ZERO + 1)), (Between(1e-300, 0.2), (ZERO + 1, 2**32))),
        *of(DEBT, (Between(-0.1, -1e-300), (0, ZERO)), (-0.1, (0, 1)), (0.2, (2**32 - 1, 2**32))),
        *of(DEBT, (Between(0.2, 5), (2**32 - 1, 2**32))),
        *of(ROUNDED, (0, (1174405120, 1174405121)), (Between(1e-300, 9.3), (1174405121, 2**32))),
        *of(ROUNDED, (Between(-3.5, -1e-300), (0, 1174405119)), (Between(0, 9.3), (1174405120, 2**32))),
        *of(ROUNDED, (Between(-3.5, 0), (0, 1174405121)), (Between(0, 0), (1174405120, 1174405121))),
        *of(ROUNDED_DOWN, (0, (486539263, 486539264)), (Between(1e-300, 0.5), (486539265, 2565720828))),
        *of(ROUNDED_DOWN, (Between(-0.1, -1e-300), (70702952, 486539263)), (Between(0, 0), (486539263, 486539264))),
        *of(HOUR, (datetime(2020, 1, 1, 5, 30), (5, 6)), ("2020-01-02T23:59:59", (47, 48))),
        *of(HOUR, (Between("2020-01-01T00:30", "2020-01-01"), (1, 24))),
        *of(HOUR, (Between(date(2020, 1, 2), date(2020, 1, 2)), (24, 48))),
        *of(FEAST, (pd.Timestamp("2020-04-12"), (1, 2)), (date(2020, 4, 12), (1, 2)), ("2020-12-25", (0, 1))),
        *((AGE, missing, [[74, 75]]) for missing in (float("nan"), np.float32("nan"), pd.NA, pd.NaT)),
        *of(GRADE, (float("nan"), (3, 4)), (1.0, (0, 1)), (2.5, (1, 2))),
        *of(FLAG, (True, (1, 2)), (np.bool_(False), (0, 1)), (Between(False, True), (0, 2))),
        *of(SIZE, (["l", "s"], (0, 1), (2, 3)), (Between("s", "m"), (0, 2))),
        *refused(SIZE, [], "xl", Between("l", "s"), 1),
        *of(CITY, ("Rome", (1, 2))),
        *refused(AGE, 17, 18.5, True, "18", 10**400, Between(91, 95), Between(0, 17), Between(30, 20)),
        *refused(AGE, Between(30.2, 30.8), Between(None, None), Between("18", "20"), Between(float("nan"), 20)),
        *refused(PRICE, None, 1.1, float("nan")),
        *refused(SHARE, -0.1, 8.1, Between(9, 10)),
        *refused(DAY, "2021-01-01", 5, datetime(2020, 1, 3, 0, 0, 1), datetime(2020, 1, 3, tzinfo=UTC)),
        *refused(HOUR, "2020-01-03"),
        *refused(FLAG, 1, "true"),
        *refused(CITY, Between("Oslo", "Rome"), None, ["Rome", "Paris"]),
        *refused(GRADE, object()),
        *refused(FEAST, "2020-01-01", 5),
    ],
)
def test_values_become_runs_of_codes_or_are_refused(field: Field, wanted: Any, runs: list[list[int]] | None):
    if runs is not None:
        assert wanted_runs(field, wanted).tolist() == runs
    else:
        with pytest.raises(ParameterError, match=f'"{field.name}"'):
            wanted_runs(field, wanted)


def condition(model: ReleasedModel, schema: Schema, where: Any) -> ReleasedModel:
    return condition_model(model, schema, where).model


WHERES: list[dict[str, Any]] = [
    {"flag": True},
    {"flag": [True, False]},
    {"colour": ["red", "blue"]},
    {"age": Between(2, 5)},
    {"age": [0, 1, 3, 6, None]},
    {"age": -1},
    {"grade": None},
    {"grade": ["a", "c", "e"], "colour": "green"},
    {"flag": False, "age": [Between(0, 6), None], "grade": Between("b", "d")},
]


@pytest.mark.filterwarnings("ignore:only")
@spread(("seed", range(6)), ("where", WHERES))
def test_the_conditional_model_is_the_conditional_distribution(where: dict[str, Any], seed: int):
    model = random_model(SCHEMA, 12, seed)
    whole = joint(model, SCHEMA)
    mask = np.zeros_like(whole, dtype=bool)
    mask[np.ix_(*(_wanted_codes(field, where) for field in SCHEMA.columns))] = True
    mass = whole[mask].sum()

    if mass == 0:
        with pytest.raises(ParameterError, match=r"the model gives rows that match where on .* probability 0"):
            condition(model, SCHEMA, where)
        return
    found = condition(model, SCHEMA, where)

    found.validate(SCHEMA)
    # Products of probabilities of at most 12 atoms.
    assert joint(found, SCHEMA) == pytest.approx(np.where(mask, whole / mass, 0.0), abs=1e-12)
    assert found.rows == pytest.approx(model.rows * mass, abs=0.5 + 1e-9)


def _wanted_codes(field: Field, where: dict[str, Any]) -> np.ndarray:
    codes = np.arange(field.domain.size)
    if field.name not in where:
        return codes
    runs = wanted_runs(field, where[field.name])
    return codes[[any(start <= code < stop for start, stop in runs) for code in codes]]


def _points(atoms: int, weights: np.ndarray) -> tuple[Schema, ReleasedModel]:
    schema = Schema.from_dict(
        {"fields": [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}}]}
    )
    starts = np.arange(atoms, dtype=np.uint16)
    return schema, ReleasedModel(weights=weights, rows=1000, laws={"x": Spans(starts, starts + np.uint16(1))})


def test_few_effective_atoms_are_told_with_their_number():
    schema, model = _points(100, np.array([8.0, *[1.0] * 99]))

    with pytest.warns(LapwingWarning, match=r"only 7\.2 effective atoms"):
        condition(model, schema, {"x": Between(0, 16)})  # 17 atoms, but (8 + 16)^2 / (64 + 16) = 7.2
    with pytest.warns(LapwingWarning, match=r"only 49\.0 effective atoms"):
        condition(model, schema, {"x": Between(1, 49)})


def test_a_log_linear_part_is_conditioned_and_silences_the_warning():
    schema, model = _points(10, np.ones(10))
    domain = schema.field("x").domain
    part = LogLinear(
        tables=(("x",),),
        groupings=((identity(domain),),),
        thetas=(np.zeros(domain.size),),
        base={"x": uniform_law(domain)},
    )
    model = ReleasedModel(weights=model.weights, rows=1000, laws=model.laws, log_linear=part)

    found = condition(model, schema, {"x": [Between(0, 3), 8]})

    assert found.log_linear.base["x"].starts.tolist() == [0, 8]
    assert found.log_linear.base["x"].probabilities.tolist() == pytest.approx([0.8, 0.2])
    assert found.log_linear.thetas[0] is part.thetas[0]


def test_a_base_law_without_mass_in_the_condition_is_refused():
    schema, model = _points(10, np.ones(10))
    part = LogLinear(tables=(), groupings=(), thetas=(), base={"x": point_laws([500])})
    model = ReleasedModel(weights=model.weights, rows=1000, laws=model.laws, log_linear=part)

    with pytest.raises(ParameterError, match="expects no row where 'x'"):
        condition(model, schema, {"x": 3})


def test_an_empty_condition_changes_nothing():
    model = random_model(SCHEMA, 5, 1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = condition(model, SCHEMA, {})

    assert joint(found, SCHEMA) == pytest.approx(joint(model, SCHEMA), abs=1e-12)
    assert found.rows == model.rows


def test_spans_stay_spans_where_each_meets_one_of_several_runs():
    schema, _ = _points(1, np.ones(1))
    spans = Spans(np.repeat([4, 9], 60), np.repeat([10, 12], 60))
    model = ReleasedModel(weights=np.ones(120), rows=1, laws={"x": spans})

    found = condition(model, schema, {"x": [Between(0, 3), Between(8, 99)]}).laws["x"]

    assert isinstance(found, Spans)
    assert sorted(set(zip(found.starts.tolist(), found.stops.tolist(), strict=True))) == [(8, 10), (9, 12)]


@pytest.mark.parametrize(
    ("where", "error"), [({"nobody": 1}, ParameterError), ({"id": 1}, ParameterError), ([("x", 1)], ParameterError)]
)
def test_conditions_on_no_modelled_column_are_refused(where: Any, error: type[Exception]):
    schema = Schema.from_dict(
        {"fields": [{"name": "id", "type": "integer", "role": "identifier"}, {"name": "flag", "type": "boolean"}]}
    )
    model = ReleasedModel(weights=np.ones(1), rows=9, laws={"flag": Bernoulli(np.ones(1))})

    with pytest.raises(error):
        condition(model, schema, where)
