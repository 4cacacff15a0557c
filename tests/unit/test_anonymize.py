"""lw.anonymize: what rows out show of each kind of column, and what is refused."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw

K = 4


def integer(name, low=0, high=100, *, required=True, **more):
    bounds = {"minimum": low, "maximum": high, "required": required}
    return {"name": name, "type": "integer", "constraints": bounds, **more}


def category(name, *values, required=True, **more):
    return {"name": name, "type": "string", "categories": list(values), "constraints": {"required": required}, **more}


def anonymous(columns, fields, size=K, *, seed=1, **settings):
    """Return the rows out of a table given as columns."""
    return lw.anonymize(pl.DataFrame(columns), {"fields": fields}, size, seed=seed, **settings).data


TWO_CLUSTERS = {"x": [10, 11, 12, 15, 90, 91, 92, 95], "sex": list("fffm") + list("mmmm")}
FIELDS = [integer("x"), category("sex", "f", "m")]


# ------------------------------------------------------------------------------------------------------ the result


def test_the_result_says_what_it_is_and_what_it_is_not():
    made = lw.anonymize(pl.DataFrame(TWO_CLUSTERS), {"fields": FIELDS}, K, seed=1)

    notice = "k-anonymous with k = 4, not differentially private; homogeneous groups can reveal shared values"
    assert made.notice == notice
    assert str(made) == repr(made) == f"AnonymousTable({notice})"
    assert type(made) is lw.AnonymousTable
    figures = made.to_dict()
    assert (figures["notice"], figures["k"], figures["unit"]) == (notice, K, "row")
    assert (figures["groups"], figures["rows"], figures["seed"]) == (2, 8, 1)
    assert "data" not in figures


def test_the_losses_are_those_of_the_groups():
    x = np.array([0.0, 2.0, 98.0, 100.0])

    made = lw.anonymize(pl.DataFrame({"x": x.astype(int)}), {"fields": [integer("x")]}, 2, seed=1)

    assert made.information_loss == pytest.approx(100 * 4 / np.square(x - 50).sum(), rel=6e-3)
    assert made.covariance_loss == pytest.approx(0.01**2)


@pytest.mark.parametrize(
    ("kind", "back"), [(pd.DataFrame, pd.DataFrame), (pl.LazyFrame, pl.DataFrame), (pa.table, pa.Table)]
)
def test_rows_come_back_in_the_kind_of_frame_that_came_in(kind, back):
    made = lw.anonymize(kind(TWO_CLUSTERS), {"fields": FIELDS}, K, seed=1)

    assert type(made.data) is back
    assert len(made.data) == 8


# --------------------------------------------------------------------------------------------- columns of all types


def test_a_number_is_the_mean_of_its_group_on_the_resolution_of_the_field():
    price = {
        "name": "price",
        "type": "number",
        "resolution": 0.25,
        "constraints": {"minimum": 0, "maximum": 10, "required": True},
    }

    rows = anonymous({"x": [10, 11, 12, 15], "price": [1.0, 1.25, 1.25, 1.25]}, [integer("x"), price])

    assert rows.to_dict(as_series=False) == {"x": [12] * 4, "price": [1.25] * 4}


def test_dates_and_moments_are_means_too():
    fields = [
        {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
        {"name": "at", "type": "datetime", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
        {
            "name": "month",
            "type": "date",
            "resolution": "month",
            "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"},
        },
    ]
    columns = {
        "day": [dt.date(2020, 3, 1), dt.date(2020, 3, 3)],
        "at": [dt.datetime(2020, 3, 1, 10), dt.datetime(2020, 3, 1, 12)],
        "month": [dt.date(2020, 2, 20), dt.date(2020, 4, 5)],
    }

    rows = anonymous(columns, fields, 2)

    assert rows.row(0) == (dt.date(2020, 3, 2), dt.datetime(2020, 3, 1, 11), dt.date(2020, 3, 1))


@pytest.mark.parametrize("variant", ["default", "paper"])
def test_booleans_and_categories_are_drawn_as_often_as_the_group_has_them(variant):
    flags = [True] + [False] * 9
    columns = {"flag": flags, "sex": ["f"] * 3 + ["m"] * 7}
    fields = [{"name": "flag", "type": "boolean", "constraints": {"required": True}}, category("sex", "f", "m")]

    rows = anonymous(columns, fields, 10, rows=100_000, variant=variant)

    # Five standard deviations of a share of 100,000 draws are at most 0.008.
    assert rows["flag"].mean() == pytest.approx(0.1, abs=0.008)
    assert (rows["sex"] == "f").mean() == pytest.approx(0.3, abs=0.008)
    together = (rows["flag"] & (rows["sex"] == "f")).mean()
    assert together == pytest.approx(0.03, abs=0.008), "columns are rounded independently"


def test_the_mode_is_shown_where_it_is_asked_for():
    columns = {"sex": ["f"] * 3 + ["m"] * 4, "flag": [True] * 7}
    fields = [category("sex", "f", "m"), {"name": "flag", "type": "boolean"}]

    rows = anonymous(columns, fields, 7, categories="mode")

    assert rows["sex"].to_list() == ["m"] * 7


def test_missing_cells_and_special_values_are_drawn_beside_the_mean():
    columns = {"x": [10, 20, 30, 40, -1, -1, None, None, None, None]}

    rows = anonymous(columns, [integer("x", required=False, special=[-1])], 4, output="shuffle", partition="mdav")

    shown = rows["x"].value_counts().rows()
    assert sum(count for value, count in shown if value is None) == 4
    assert sum(count for value, count in shown if value == -1) == 2
    assert {value for value, _ in shown} == {25, -1, None}


def test_shuffled_columns_keep_their_counts_and_lose_their_rows():
    rng = np.random.default_rng(3)
    columns = {"a": rng.choice(list("xyz"), 300), "b": rng.random(300) < 0.3}
    columns["c"] = columns["b"].copy()
    flags = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "bc"]

    rows = anonymous(columns, [category("a", *"xyz"), *flags], 100, output="shuffle")

    for name, cells in columns.items():
        assert sorted(rows[name].to_list()) == sorted(cells.tolist())
    assert (rows["b"] != rows["c"]).any()


@pytest.mark.parametrize(
    ("values", "special", "shown"),
    [
        ([49, 51] * 5, [7], 50),
        ([49, 51] * 5, [50], 51),
        ([47, 53] * 5, [48, 50], 51),
        ([49] * 7 + [51] * 3, [50], 49),
        ([48] * 6 + [52] * 4, [49, 50], 48),
        ([48] * 4 + [52] * 6, [50, 51], 52),
        ([0] * 7 + [2] * 3, [1], 0),
        ([100] * 10, [7], 100),
    ],
)
def test_a_mean_is_never_read_as_a_special_value(values, special, shown):
    """The nearest other value stands for it: on the side of the mean, where there is one."""
    assert set(anonymous({"x": values}, [integer("x", special=special)], 10)["x"]) == {shown}


def test_every_person_of_a_group_counts_the_same_however_many_rows_they_have():
    person = {"name": "person", "type": "integer", "role": "identifier"}
    columns = {"person": [1] * 9 + [2], "x": [10] * 9 + [50], "sex": ["f"] * 9 + ["m"]}
    schema = {"privacyUnit": {"field": "person", "maxRows": 9}, "fields": [person, *FIELDS]}

    rows = lw.anonymize(pl.DataFrame(columns), schema, 2, rows=10_000, seed=1).data

    assert rows["x"].unique().to_list() == [30]
    # Five standard deviations of a share of 10,000 draws.
    assert (rows["sex"] == "f").mean() == pytest.approx(0.5, abs=0.025)


# ---------------------------------------------------------------------------------------------- cells that fit nothing


def test_cells_that_fit_nothing_are_never_shown():
    columns = {
        "x": [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, np.nan, np.inf, -np.inf, 0.5],
        "sex": [*"ffmmffmmfm", "?", None],
    }

    for settings in ({"output": "systematic"}, {"output": "shuffle"}, {"variant": "paper"}):
        rows = anonymous(columns, FIELDS, 8, **settings)
        assert rows["x"].to_list() == [2] * 12
        assert set(rows["sex"].to_list()) == {"f", "m"}


def test_a_required_column_that_too_few_units_have_shows_nothing_of_them():
    columns = {"x": [77, 77, 77, None, None, None, None, None], "sex": ["f", *["?"] * 7]}

    rows = anonymous(columns, FIELDS, 8, rows=1000)

    assert len(set(rows["x"].to_list())) > 50
    assert rows["sex"].is_in(["f", "m"]).all()
    assert 300 < (rows["sex"] == "f").sum() < 700


# ----------------------------------------------------------------------------------------------------- odd tables


@pytest.mark.parametrize("partition", ["practical", "mdav"])
@pytest.mark.parametrize("improve", [True, False])
def test_every_partition_keeps_the_size(partition, improve):
    rng = np.random.default_rng(5)
    columns = {name: rng.integers(0, 1000, 503) for name in "ab"}
    fields = [integer(name, 0, 1000) for name in "ab"]

    rows = anonymous(columns, fields, 7, partition=partition, improve=improve)

    assert rows.height == 503
    assert rows.group_by("a", "b").len()["len"].min() >= 7


# ------------------------------------------------------------------------------------------------------- bad input


def refused(*, data=None, fields=None, kind=lw.ParameterError, **settings):
    size = settings.pop("min_group_size", K)
    table = pl.DataFrame(TWO_CLUSTERS) if data is None else data
    with pytest.raises(kind) as caught:
        lw.anonymize(table, {"fields": FIELDS if fields is None else fields}, size, **settings)
    message = str(caught.value)
    assert "\n" not in message
    assert message[0].islower()
    return message


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"min_group_size": 1}, "min_group_size must be a whole number from 2 to 2**40, got 1"),
        ({"min_group_size": True}, "min_group_size must be a whole number from 2 to 2**40, got True"),
        ({"min_group_size": 2.5}, "min_group_size must be a whole number from 2 to 2**40, got 2.5"),
        ({"partition": "best"}, "partition must be one of practical, mdav, got 'best'"),
        ({"output": "all"}, "output must be one of systematic, shuffle, got 'all'"),
        ({"variant": "best"}, "variant must be one of default, paper, got 'best'"),
        ({"variant": "paper", "partition": "mdav"}, "variant paper is Algorithm 1, which has no partition; leave"),
        ({"variant": "paper", "categories": "mode"}, "variant paper is Algorithm 1, which has no categories; leave"),
        ({"categories": "mean"}, "categories must be one of random, mode, got 'mean'"),
        ({"improve": 1}, "improve must be true or false, got 1"),
        ({"rows": 0}, "rows must be a whole number from 1 to 100,000,000, got 0"),
        ({"rows": 10**9}, "rows must be a whole number from 1 to 100,000,000, got 1000000000"),
        ({"rows": 8, "output": "shuffle"}, "output shuffle makes as many rows as are kept; leave rows out"),
        ({"categories": "mode", "output": "shuffle"}, "output shuffle keeps every category; leave out categories mode"),
        ({"seed": -1}, "seed must be a whole number from 0 to 2**128 - 1, got -1"),
        ({"group_size": 3}, "anonymize(): got an unexpected keyword argument 'group_size'"),
    ],
)
def test_a_setting_that_is_out_of_range_is_refused(settings, says):
    assert says in refused(**settings)


def test_too_few_units_are_refused_without_their_number():
    message = refused(min_group_size=9)

    assert "min_group_size is 9, more than the table has rows" in message
    assert "8" not in message


def test_too_many_coordinates_are_refused_with_the_memory_they_would_take():
    fields = [category(f"c{number}", *(f"v{value}" for value in range(60))) for number in range(40)]

    message = refused(fields=fields, kind=lw.CapacityError)

    assert "the schema's columns make 2400 coordinates, more than 2000" in message
    assert "38 GB" in message
