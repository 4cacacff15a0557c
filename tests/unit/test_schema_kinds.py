"""A release of columns of every declared kind: rows out keep to resolutions, exact values, lists and special values."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import lapwing as lw

MONTH = {"minimum": "2019-12-15", "maximum": "2021-03-10"}
SCHEMA = {
    "fields": [
        {"name": "income", "type": "integer", "resolution": 100, "scale": "log", "special": [0],
         "constraints": {"minimum": -1000, "maximum": 10**6}},
        {"name": "spent", "type": "number", "scale": "log", "constraints": {"minimum": -3.5, "maximum": 9.3}},
        {"name": "code", "type": "string", "categories": ["b1", "a1", "b2", "a2"], "hierarchy": {"prefixes": [1]}},
        {"name": "week", "type": "date", "constraints": MONTH, "resolution": "week"},
        {"name": "month", "type": "date", "constraints": MONTH, "resolution": "month"},
        {"name": "year", "type": "datetime", "constraints": MONTH, "resolution": "year"},
    ]
}  # fmt: skip
ROWS = 400
DATA = pl.DataFrame(
    {
        "income": [0, 0, 1234, None] * (ROWS // 4),
        "spent": [0.0, 0.0, 9.3, 2.125] * (ROWS // 4),
        "code": ["b1", "b2", "a1", None] * (ROWS // 4),
        "week": [dt.date(2020, 1, 1), dt.date(2020, 2, 1)] * (ROWS // 2),
        "month": [dt.date(2019, 12, 20), dt.date(2020, 2, 10)] * (ROWS // 2),
        "year": [dt.datetime(2020, 6, 1, 5), dt.datetime(2021, 1, 1)] * (ROWS // 2),
    }
)


@pytest.mark.parametrize("mechanism", ["Independent", "Adaptive"])
def test_rows_out_keep_to_what_the_schema_declares(mechanism: str) -> None:
    release = lw.synthesize(DATA, SCHEMA, epsilon=500, mechanism=mechanism, seed=1)

    rows = release.sample(ROWS, seed=2)

    income = rows["income"].drop_nulls()
    assert ((income == 0) | ((income + 1000) % 100 == 0)).all()
    # At this budget the shares of common values are right to a few rows.
    assert (income == 0).sum() == pytest.approx(ROWS / 2, abs=40)
    assert (rows["spent"] == 0.0).sum() == pytest.approx(ROWS / 2, abs=40)
    assert (rows["spent"] == 9.3).sum() == pytest.approx(ROWS / 4, abs=40)
    assert set(rows["code"].drop_nulls()) <= {"a1", "a2", "b1", "b2"}
    assert all((day - dt.date(2019, 12, 15)).days % 7 == 0 for day in rows["week"].drop_nulls())
    assert set(rows["month"].drop_nulls()) >= {dt.date(2019, 12, 15), dt.date(2020, 2, 1)}
    assert all(day.day == 1 or day == dt.date(2019, 12, 15) for day in rows["month"].drop_nulls())
    assert set(rows["year"].drop_nulls()) <= {
        dt.datetime(2019, 12, 15),
        dt.datetime(2020, 1, 1),
        dt.datetime(2021, 1, 1),
    }


def test_conditions_and_labels_name_what_rows_show() -> None:
    release = lw.synthesize(DATA, SCHEMA, epsilon=500, mechanism="Independent", seed=1)

    zero = release.sample(50, where={"spent": 0, "income": 0, "month": "2020-02-15"}, seed=3)
    upwards = release.sample(50, where={"spent": lw.between(0, 9.3), "year": lw.between("2020-01-01", "2020-12-31")})
    labels = release.query(["month"])["month"].to_list()

    assert set(zero["spent"]) == {0.0}
    assert set(zero["income"]) == {0}
    assert set(zero["month"]) == {dt.date(2020, 2, 1)}
    assert upwards["spent"].min() >= 0
    assert set(upwards["year"]) == {dt.datetime(2020, 1, 1)}
    assert labels[:3] == ["2019-12", "2020-01", "2020-02"]


def test_a_saved_release_of_these_columns_is_read_back(tmp_path) -> None:
    release = lw.synthesize(DATA, SCHEMA, epsilon=5, mechanism="Independent", seed=1)

    release.save(tmp_path / "kinds.lapwing")
    again = lw.load(tmp_path / "kinds.lapwing")

    assert again.sample(100, seed=4).equals(release.sample(100, seed=4))


def test_codes_of_cells_do_not_depend_on_the_scale_or_the_order_of_the_list() -> None:
    linear = [{key: value for key, value in field.items() if key != "scale"} for field in SCHEMA["fields"]]

    one, two = (lw.Schema.load({"fields": fields}) for fields in (SCHEMA["fields"], linear))

    for a, b in zip(one.columns, two.columns, strict=True):
        assert (a.domain.values, a.domain.size, a.domain.dtype) == (b.domain.values, b.domain.size, b.domain.dtype)
    assert np.array_equal(one.field("code").categories, ("b1", "b2", "a1", "a2"))
