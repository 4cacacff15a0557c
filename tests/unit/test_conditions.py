"""Conditions of a sample: how they are written, and what is drawn under them."""

import re
import warnings
from datetime import UTC, date, datetime
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from helpers.cases import spread
from helpers.models import allowed, dense, joint, random_model, small_schema
from lapwing.errors import DataError, LapwingWarning, ParameterError
from lapwing.model.files import SavedRelease
from lapwing.model.laws import point_laws, uniform_law
from lapwing.model.model import Bernoulli, Indexed, LogLinear, ReleasedModel, Spans
from lapwing.model.sampling import atom_matches
from lapwing.model.sampling.atom_matches import chosen_atoms
from lapwing.model.sampling.conditions import condition_model
from lapwing.model.sampling.given_rows import rows_given
from lapwing.model.statistics.expressions import asked_codes, condition_of, read_conditions
from lapwing.release.rows_out import Support
from lapwing.rows.given import given_rows
from lapwing.schema.conditions import Between, wanted_runs, where_runs
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

DAYS = {"minimum": "2020-01-01", "maximum": "2020-12-31"}
SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "id", "type": "integer", "role": "identifier"},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
            {"name": "sex", "type": "string", "categories": ["Female", "Male"]},
            {"name": "size", "type": "string", "categories": ["", "a..b", "c"], "categoriesOrdered": True},
            {"name": "smokes", "type": "boolean"},
            {"name": "code", "type": "string", "categories": ["a", "b", "a,b", "c"]},
            {"name": "day", "type": "date", "constraints": DAYS},
            {"name": "at", "type": "datetime", "constraints": DAYS},
        ]
    }
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("age=30", 30),
        ("age=30..40", Between(30, 40)),
        ("age=", None),
        ("size=", ""),
        ("size=a..b", "a..b"),
        ("smokes=TRUE", True),
        ("sex=Male,", ["Male", None]),
        ("age=3,30..40,-1", [3, Between(30, 40), -1]),
        ("code=a,b", "a,b"),
        ("code=a,c", ["a", "c"]),
        ("day=2020-02-01..", Between("2020-02-01", None)),
    ],
)
def test_a_text_is_a_value_a_range_or_missing(text, wanted):
    (found,) = read_conditions([text], SCHEMA).values()

    assert found == wanted


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("age=30..40,65..", "30 <= age <= 40 or age >= 65"),
        ("age = 30", "not (age < 30 or age > 30) and age is not None"),
        ("sex=Male,", "sex in ('Male',) or sex is None"),
        ("smokes=false", "smokes == False"),
    ],
)
def test_short_texts_and_expressions_are_one_language_at_every_door(text, expression):
    for asked in (text, expression):
        runs = asked_codes(asked, SCHEMA)
        assert {name: own.tolist() for name, own in runs.items()} == {
            name: own.tolist() for name, own in asked_codes(expression, SCHEMA).items()
        }
        (name,) = runs
        assert condition_of(asked, SCHEMA).values({name: runs[name][:, 0]}).all()


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("gender=f", 'where: no column "gender"; columns: age, sex, size, smokes, code, day, at'),
        ("id=3", 'where: column "id" is an identifier, which is not modelled; name another'),
        ("sex=Male,x", 'where: column "sex" must be one of its categories, got "x"; choose one of "Female", "Male"'),
        ("age=..", 'where asks column "age" for a range without ends; name one'),
        ("age=old", 'where: column "age" holds integer values from 0 to 99, got "old"; name a value in its domain'),
        ("age=nan", 'where: column "age" holds integer values from 0 to 99, got "nan"; name a value in its domain'),
        ("age=120..", 'where: column "age" has no value from 120 on; its domain goes from 0 to 99'),
        ("smokes=yes", 'where: column "smokes" must be true or false, got "yes"; choose one of false, true'),
        ("age", 'a condition is true or false, got "age"; write for example age=30..40 or age >= 30'),
        (
            "age ==",
            'stat "age ==": it is no expression; compare with ==, join with and, or, not, quote texts and dates',
        ),
        ("sexx = Male", 'where: no column "sexx"; did you mean "sex"?'),
        (
            "age >= 65 or smokes",
            "got a condition in which columns depend on each other; write conditions on one column",
        ),
        ("age < 3 and age > 5", 'where leaves column "age" no value; ask for a wider condition'),
        ({"sex": "female"}, 'must be one of its categories, got "female"; did you mean "Female" or "Male"?'),
        ({"day": Between("2020-13-01", None)}, '"2020-13-01" as the lower end of a range; write a day such as'),
        ({"day": Between("2020-01-01", "soon")}, 'got "soon" as the upper end'),
        ({"at": "noon"}, 'got "noon"; write a moment such as 2020-01-31T13:45:00'),
        ({"age": Between(40, 30)}, 'asks column "age" for a range from 40 to 30; write the lower end first'),
        ({"age": {"minimum": 30, "maximum": 40}}, "name a value, or for a range write lw.between(30, 40)"),
        ({"sex": {"minimum": "Female"}}, "for an object; name a value"),
        ({"age": (18, 65)}, "a pair, which may mean a range or two values; write lw.between(18, 65) or [18, 65]"),
        ({"age": slice(18, 65)}, "a slice; write lw.between(18, 65), which has both ends"),
        ({"age": []}, "for no value at all; list at least one"),
        ([("age", 3)], "where must map columns to values, got a list; write {column: value}"),
    ],
)
def test_a_text_or_a_mapping_that_means_nothing_is_answered_with_what_would(where, says):
    with pytest.raises(ParameterError, match=re.escape(says)):
        where_runs(SCHEMA, read_conditions([where], SCHEMA) if isinstance(where, str) else where)


def test_a_range_says_what_it_means():
    assert repr(lw.between(18, 65)) == "18 <= value <= 65"
    assert repr(lw.between(None, "2020-01-31")) == "value <= '2020-01-31'"


SAMPLED_SCHEMA = small_schema()
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
    model = random_model(SAMPLED_SCHEMA, 12, seed)
    whole = joint(model, SAMPLED_SCHEMA)
    mask = np.zeros_like(whole, dtype=bool)
    mask[np.ix_(*(_wanted_codes(field, where) for field in SAMPLED_SCHEMA.columns))] = True
    mass = whole[mask].sum()

    if mass == 0:
        with pytest.raises(ParameterError, match=r"the model gives rows that match where on .* probability 0"):
            condition(model, SAMPLED_SCHEMA, where)
        return
    found = condition(model, SAMPLED_SCHEMA, where)

    found.validate(SAMPLED_SCHEMA)
    # Products of probabilities of at most 12 atoms.
    assert joint(found, SAMPLED_SCHEMA) == pytest.approx(np.where(mask, whole / mass, 0.0), abs=1e-12)
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


PEOPLE = {
    "fields": [
        {"name": "id", "type": "string", "role": "identifier"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 90, "required": True}},
        {"name": "sex", "type": "string", "categories": ["f", "m"], "missingValues": ["", "?"]},
        {"name": "height", "type": "number", "constraints": {"minimum": 0.5, "maximum": 2.5}, "special": [-1]},
        {"name": "day", "type": "date", "constraints": DAYS, "resolution": "week"},
        {"name": "at", "type": "datetime", "constraints": DAYS},
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
        ([{"age": 3}, {"sex": "f"}, {"age": -3}], "condition row 3"),
        ([{"age": 3}, {"age": [3, 4]}], 'condition row 2: column "age" must be one value'),
        (["age"], "condition row 1 must map columns to values, got a str"),
        ("age", 'a condition is true or false, got "age"'),
    ],
)
def test_tables_and_lists_that_are_no_conditions_are_refused_by_column_and_row(people, where, says):
    with pytest.raises(ParameterError, match=re.escape(says)):
        people.sample(where=pl.DataFrame(where, strict=False) if isinstance(where, dict) else where)


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
        size = SAMPLED_SCHEMA.field(name).domain.size
        table = np.stack([dense(model.laws[name], atom, size) for atom in range(model.atoms)])
        weights *= table[:, codes].T
    return weights


@pytest.mark.parametrize("most_pairs", [10, 2**21])
@pytest.mark.parametrize("seed", range(3))
def test_atoms_are_matched_as_a_plain_loop_does(monkeypatch, seed, most_pairs):
    monkeypatch.setattr(atom_matches, "_MOST_PAIRS", most_pairs)
    rng = np.random.default_rng(seed)
    model = random_model(SAMPLED_SCHEMA, 30, seed)
    names = rng.choice([field.name for field in SAMPLED_SCHEMA.columns], 2, replace=False)
    given = {name: rng.integers(0, allowed(SAMPLED_SCHEMA.field(name).domain), 300) for name in map(str, names)}

    choice = chosen_atoms(model, given, rng)
    weights = _naive_weights(model, given)

    totals = weights.sum(axis=1)
    is_met = totals > 0
    effective = np.where(is_met, totals**2 / np.where(is_met, np.square(weights).sum(axis=1), 1.0), 0.0)
    assert choice.effective == pytest.approx(effective)
    assert choice.shares == pytest.approx(totals / model.weights.sum())
    assert (weights[np.arange(300), choice.atoms][is_met] > 0).all()
    assert np.array_equal(np.logical_or.reduce(list(choice.passed.values())), ~is_met)


def rows__points(rows: list[tuple[int, int, int]]) -> tuple[Schema, ReleasedModel]:
    """Return a model of three columns whose atoms are these points."""
    limits = {"required": True, "minimum": 0, "maximum": 99}
    names = ("a", "b", "c")
    schema = Schema.from_dict({"fields": [{"name": n, "type": "integer", "constraints": limits} for n in names]})
    codes = np.array(rows)
    laws = {name: Spans(codes[:, at], codes[:, at] + 1) for at, name in enumerate(names)}
    return schema, ReleasedModel(weights=np.ones(len(rows)), rows=len(rows), laws=laws)


def test_a_code_that_no_atom_has_is_passed_over_and_the_others_still_count():
    schema, model = rows__points([(1, 5, 10), (1, 6, 11), (2, 5, 20), (2, 6, 21)])
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
    schema, model = rows__points(rows)
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
