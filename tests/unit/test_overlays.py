"""Columns and maps side by side: where bars lie, what they are called, and what is told apart."""

import numpy as np
import pytest

from helpers.cases import spread
from helpers.findings import schema_of
from lapwing.extras.evaluate.metrics.bars import MOST_BARS, choose_bars
from lapwing.extras.evaluate.metrics.overlays import GRID, LISTED, coordinate_pairs, overlay_columns

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120, "required": True}}
MONEY = {"name": "money", "type": "integer", "constraints": {"minimum": 0, "maximum": 1_000_000}}
# Sums of at most a hundred shares.
ROUNDED = 1e-12


def measured(kind="number", low=0, high=1, **more):
    return {"name": "x", "type": kind, "constraints": {"minimum": low, "maximum": high}, **more}


def overlay(field, real, synthetic=None):
    """Return the overlay of one column; the synthetic codes are the real ones if left out."""
    codes = [{field["name"]: np.asarray(each)} for each in (real, real if synthetic is None else synthetic)]
    return overlay_columns(codes[0], codes[1], schema_of(field)).columns[0]


def total(shares, found, place):
    gaps = [pair[place] for pair in (found.missing, found.misfit) if pair is not None]
    return shares.sum() + sum(each[1 + place] for each in (*found.special, *found.frequent)) + sum(gaps)


FIELDS = [
    AGE,
    MONEY,
    measured(),
    measured(low=-1e300, high=7e299),
    measured(low=0, high=5e-324),
    measured(low=1e15, high=1e15 + 1),
    measured(low=3, high=3),
    measured(low=-3.5, high=1000, resolution=0.25),
    measured("integer", -(10**9), 10**9),
    measured("integer", -(2**50), 2**50, special=[7e15]),
    measured("integer", 5, 2**40, resolution=100),
    measured("date", "2020-01-01", "2020-01-31"),
    measured("date", "1900-01-01", "2026-01-01"),
    measured("date", "0001-01-01", "9999-12-31"),
    measured("date", "2020-01-15", "2030-01-01", resolution="week"),
    measured("date", "2020-01-15", "2030-01-01", resolution="month"),
    measured("datetime", "2020-01-15T06:30:00", "2020-01-15T06:31:30"),
    measured("datetime", "2020-01-15", "2020-02-01", resolution="hour"),
    measured("datetime", "0001-01-01", "9999-12-31"),
    {"name": "x", "type": "boolean"},
    {"name": "x", "type": "string", "categories": [f"c{i}" for i in range(100)]},
    {"name": "x", "type": "string", "categories": [f"c{i}" for i in range(100)], "categoriesOrdered": True},
]


@spread(("field", FIELDS), ("shape", ["spread", "skewed", "one", "gaps"]))
def test_the_shares_of_a_column_sum_to_1_whatever_its_kind_and_shape(field, shape):
    rng = np.random.default_rng(1)
    domain = schema_of(field).columns[0].domain
    regular = {
        "spread": rng.integers(0, domain.values, 500),
        "skewed": (domain.values * rng.random(500) ** 12).astype(np.int64),
        "one": np.full(500, domain.values // 3),
        "gaps": np.full(500, domain.last),
    }[shape]
    synthetic = np.where(rng.random(300) < 0.2, domain.last, rng.integers(0, domain.size, 300))

    found = overlay(field, regular, synthetic)

    assert total(found.real, found, 0) == pytest.approx(1, abs=ROUNDED)
    assert total(found.synthetic, found, 1) == pytest.approx(1, abs=ROUNDED)
    assert len(found.labels) == len(found.starts) == len(found.real) == len(found.synthetic) <= MOST_BARS
    assert len(set(found.labels)) == len(found.labels)
    assert (found.missing is None) != (found.misfit is None)


def test_numbers_lie_in_even_bars_with_round_ends_and_open_tails():
    rng = np.random.default_rng(2)

    found = overlay(MONEY, rng.normal(50_000, 9_000, 20_000).astype(np.int64).clip(0))

    assert (found.kind, found.scale) == ("number", "even")
    assert found.labels[0].startswith("below ")
    assert found.labels[-1].startswith("from ")
    assert found.starts[1] == "26,000"
    assert found.labels[1] == "26,000-27,999"
    assert found.real[[0, -1]].max() < 0.01


def test_a_single_value_that_dwarfs_the_rest_is_told_apart():
    codes = np.concatenate((np.zeros(900, dtype=np.int64), np.arange(100) * 50 + 1000))

    found = overlay(MONEY, codes, codes[::-1])

    assert found.frequent == (("0", 0.9, 0.9),)
    assert found.real.max() < 0.02


def test_a_single_value_that_synthetic_rows_miss_is_drawn():
    codes = np.concatenate((np.zeros(900, dtype=np.int64), np.arange(100) * 50 + 1000))

    found = overlay(MONEY, codes, np.arange(100))

    assert found.frequent == ()
    assert found.real.max() >= 0.9


def test_skewed_numbers_lie_in_bars_that_widen_away_from_zero():
    rng = np.random.default_rng(3)

    found = overlay(MONEY, np.exp(rng.normal(6, 2, 5000)).astype(np.int64).clip(0, 10**6))

    assert found.scale == "log"
    assert np.count_nonzero(found.real > 0.02) > 10
    assert "1000-1999" in found.labels or "1000-1499" in found.labels


def test_few_values_have_a_bar_each_and_empty_ends_are_left_out():
    found = overlay(measured("integer", 0, 9), [2, 2, 5], [4])

    assert (found.labels, found.scale) == (("2", "3", "4", "5"), "values")
    assert found.real.tolist() == [2 / 3, 0, 0, 1 / 3]
    assert found.synthetic.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("date", "2020-01-01", "2021-12-31"),
        ("date", "0001-01-01", "9999-12-31"),
        ("datetime", "2020-01-15", "2020-02-01"),
    ],
)
def test_bars_of_dates_are_equally_long_and_begin_as_they_are_called(kind, low, high):
    field = schema_of(measured(kind, low, high)).columns[0]

    found = choose_bars(field, np.arange(0, field.domain.values, field.domain.values // 700))

    assert 30 < len(found.labels) == len(found.cuts) + 1 <= MOST_BARS
    assert len(set(np.diff(found.cuts))) == 1
    for label, start in zip(found.labels, found.starts, strict=True):
        assert label.replace("T", " ").startswith(start)
        assert len(start) == (10 if kind == "date" else 16)


def test_categories_stand_by_real_share_with_the_rest_in_one_bar():
    field = {"name": "x", "type": "string", "categories": [f"c{i}" for i in range(LISTED + 5)]}
    codes = np.repeat(np.arange(LISTED + 5), np.arange(1, LISTED + 6))

    found = overlay(field, codes, [0, 0, LISTED + 4, LISTED + 5])

    assert found.labels[0] == f"c{LISTED + 4}"
    assert found.labels[-1] == "5 others"
    assert (found.others, found.is_ordered) == (5, False)
    assert found.real[-1] == pytest.approx(15 / len(codes), abs=ROUNDED)
    assert (found.synthetic[-1], found.missing) == (0.5, (0.0, 0.25))


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (("lat", "lon"), (("lon", "lat"),)),
        (("Latitude", "Longitude"), (("Longitude", "Latitude"),)),
        (("pickup_lat", "pickup_lng", "dropoff_lat"), (("pickup_lng", "pickup_lat"),)),
        (("homeLong", "homeLat", "z"), (("homeLong", "homeLat"),)),
        (("x", "y", "z"), (("x", "y"),)),
        (("easting", "northing"), (("easting", "northing"),)),
        (("length", "width"), (("length", "width"),)),  # the only two measured numbers
        (("length", "width", "height"), ()),
        (("lat", "place"), (("lat", "place"),)),
        (("lat",), ()),
    ],
)
def test_coordinates_are_known_by_their_names(names, pairs):
    assert coordinate_pairs(schema_of(*({**measured(), "name": name} for name in names))) == pairs


def test_a_map_shows_the_city_and_not_the_bounds_of_the_schema():
    rng = np.random.default_rng(4)
    schema = schema_of(*({**measured(low=-180, high=180), "name": name} for name in ("lon", "lat")))
    city = {name: (2**31 + rng.normal(0, 2**20, 4000)).astype(np.int64) for name in ("lon", "lat")}
    other = {name: np.append(city[name][:999], [0]) for name in city}

    found = overlay_columns(city, other, schema).maps[0]

    assert (found.x, found.y, found.real.shape) == ("lon", "lat", (GRID, GRID))
    assert found.x_edges[-1] - found.x_edges[0] < 1
    assert found.real.sum() + found.outside[0] == pytest.approx(1, abs=ROUNDED)
    assert 0 < found.outside[0] <= 0.04
    assert found.synthetic.sum() + found.outside[1] == pytest.approx(1, abs=ROUNDED)


def test_the_columns_of_a_map_go_to_the_right_and_its_rows_up():
    schema = schema_of(*(measured("integer", 0, 9) | {"name": name} for name in ("x", "y")))
    rows = {"x": np.array([2, 5, 5]), "y": np.array([1, 1, 4])}

    found = overlay_columns(rows, rows, schema).maps[0]

    assert (found.x_edges.tolist(), found.y_edges.tolist()) == ([2, 3, 4, 5, 6], [1, 2, 3, 4, 5])
    assert found.real[0, 0] == found.real[0, 3] == found.real[3, 3] == pytest.approx(1 / 3, abs=ROUNDED)
