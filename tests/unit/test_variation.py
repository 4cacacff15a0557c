"""How far a synthetic table varies: overlays, moments, and total variation."""

import math

import numpy as np
import pytest

from helpers.cases import spread
from helpers.findings import schema_of
from lapwing.errors import CapacityError, ParameterError
from lapwing.extras.evaluate.metrics import moments
from lapwing.extras.evaluate.metrics.bars import MOST_BARS, choose_bars
from lapwing.extras.evaluate.metrics.metric import bootstrap_rows, independent_columns
from lapwing.extras.evaluate.metrics.moments import MOST_CATEGORIES, coded_rows, compare_moments, coordinates
from lapwing.extras.evaluate.metrics.overlays import GRID, LISTED, coordinate_pairs, overlay_columns
from lapwing.extras.evaluate.metrics.tables.variation import Variation, compare_tables
from lapwing.model.compared import choose_tables, compared_cells
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.schemas import Schema


def flags(count):
    return Schema.from_dict({"fields": [{"name": f"x{number}", "type": "boolean"} for number in range(count)]})


def wide(count, values=256):
    bounds = {"minimum": 0, "maximum": values - 1}
    fields = [{"name": f"x{number}", "type": "integer", "constraints": bounds} for number in range(count)]
    return Schema.from_dict({"fields": fields})


def rows_of(schema, rng, rows, low=0, high=None):
    return {c.name: rng.integers(low, high or c.domain.size, rows).astype(c.domain.dtype) for c in schema.columns}


def table_variations(real, other, schema, *, ways=(1, 2, 3), rng):
    return compare_tables(real, other, schema, choose_tables(schema, ways=ways, rng=rng))


@pytest.mark.parametrize(
    ("domain", "groups"),
    [
        (Domain(256, 2, True, True, False), 259),
        (Domain(257, 2, True, True, False), 67),
        (Domain(257, 0, True, False, False), 258),
        (Domain(2**32, 0, False, True, True), 65),
    ],
    ids=["narrow", "wide", "unordered", "continuous"],
)
def test_the_cells_of_a_column_follow_from_its_domain(domain, groups):
    assert compared_cells(domain).groups == groups


def test_all_pairs_and_a_seeded_sample_of_triples_are_compared():
    schema = flags(20)

    one, two, three = choose_tables(schema, rng=np.random.default_rng(7))
    again = choose_tables(schema, rng=np.random.default_rng(7))
    other = choose_tables(schema, rng=np.random.default_rng(8))

    assert (len(one), len(set(two)), len(set(three))) == (20, 190, 128)
    assert again[2] == three
    assert other[2] != three
    places = {column.name: place for place, column in enumerate(schema.columns)}
    assert all(places[a] < places[b] < places[c] for a, b, c in three)


def test_every_triple_is_as_likely_as_any_other():
    rng = np.random.default_rng(9)
    schema = flags(6)

    chosen = [choose_tables(schema, ways=[3], triples=2, rng=rng)[0] for _ in range(2000)]

    counts = np.unique([" ".join(table) for tables in chosen for table in tables], return_counts=True)[1]
    assert len(counts) == math.comb(6, 3)
    # 200 each, binomial with standard deviation 13.4; 20 counts outside 5 of them: below 1e-5.
    assert np.abs(counts - 200).max() < 67


def test_the_worst_tables_are_named_in_order():
    distances = np.array([0.1, 0.4, 0.2, 0.4])
    found = Variation(ways=1, possible=4, tables=(("a",), ("b",), ("c",), ("d",)), distances=distances)

    assert found.worst(3) == ((("b",), 0.4), (("d",), 0.4), (("c",), 0.2))
    assert (found.mean, found.maximum) == (pytest.approx(0.275), 0.4)
    assert len(found.worst()) == 4


def test_a_table_without_a_row_is_refused():
    schema = flags(2)
    full, empty = rows_of(schema, np.random.default_rng(0), 3), rows_of(schema, np.random.default_rng(0), 0)

    with pytest.raises(ParameterError, match="the other table has no row"):
        table_variations(full, empty, schema, rng=np.random.default_rng(0))
    with pytest.raises(ParameterError, match="the real table has no row"):
        table_variations(empty, full, schema, rng=np.random.default_rng(0))


def test_what_is_no_table_of_the_schema_is_refused():
    schema = flags(2)
    rows = rows_of(schema, np.random.default_rng(0), 3)

    with pytest.raises(ParameterError, match='no codes of column "x1"'):
        table_variations(rows, {"x0": rows["x0"]}, schema, rng=np.random.default_rng(0))
    with pytest.raises(ParameterError, match="different lengths"):
        table_variations({**rows, "x1": rows["x1"][:2]}, rows, schema, rng=np.random.default_rng(0))


@pytest.mark.parametrize("settings", [{"ways": [0]}, {"ways": [True]}, {"ways": [1.0]}, {"triples": 0}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ParameterError, match=f"{next(iter(settings))} must be .*whole number"):
        choose_tables(flags(4), **settings, rng=np.random.default_rng(0))


def test_a_table_with_too_many_cells_to_number_is_refused():
    schema = wide(8)
    rows = rows_of(schema, np.random.default_rng(0), 3)

    with pytest.raises(CapacityError, match="more than 2\\*\\*62 cells"):
        table_variations(rows, rows, schema, ways=[8], rng=np.random.default_rng(0))


def test_pairs_are_sampled_where_there_are_very_many() -> None:
    fields = [{"name": f"x{place}", "type": "boolean"} for place in range(130)]
    schema = Schema.from_dict({"fields": fields})

    (pairs,) = choose_tables(schema, ways=[2], rng=np.random.default_rng(1))
    (again,) = choose_tables(schema, ways=[2], rng=np.random.default_rng(2))

    assert len(set(pairs)) == 8192
    assert pairs != again
    assert (
        len(choose_tables(Schema.from_dict({"fields": fields[:128]}), ways=[2], rng=np.random.default_rng(1))[0])
        == 8128
    )


def test_a_bootstrap_keeps_rows_and_shuffled_columns_keep_columns():
    rng = np.random.default_rng(4)
    first = np.arange(1000)
    real = {"a": first, "b": first + 5}

    boot, shuffled = bootstrap_rows(real, rng), independent_columns(real, rng)

    assert (boot["b"] == boot["a"] + 5).all()
    # Distinct rows in a bootstrap of 1000: 632 in the mean, with standard deviation 10.
    assert abs(len(np.unique(boot["a"])) - 632) < 60
    assert (np.sort(shuffled["a"]) == first).all()
    # One row in a thousand fits together by chance: more than 20 has probability below 1e-17.
    assert np.count_nonzero(shuffled["b"] == shuffled["a"] + 5) < 20


FLAG = {"name": "c", "type": "boolean", "constraints": {"required": True}}
MAYBE = {"name": "c", "type": "boolean"}
AGE = {"name": "c", "type": "integer", "constraints": {"minimum": 10, "maximum": 14}, "special": [-1]}
HEIGHT = {"name": "c", "type": "number", "constraints": {"minimum": 0, "maximum": 3, "required": True}}
SEX = {"name": "c", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
SIDE = {"name": "c", "type": "string", "categories": ["l", "m", "r"], "constraints": {"required": True}}
ONLY = {"name": "c", "type": "string", "categories": ["x"]}
MANY = {"name": "c", "type": "string", "categories": [f"v{n}" for n in range(100)]}


def vectors(field, codes):
    return coded_rows({"c": np.array(codes)}, Schema.from_dict({"fields": [field]}).columns).tolist()


@pytest.mark.parametrize(
    ("field", "codes", "expected"),
    [
        (FLAG, [0, 1], [[0], [1]]),
        (MAYBE, [0, 1, 2], [[0, 0], [1, 0], [0, 1]]),
        (SEX, [0, 1], [[0], [1]]),
        (SIDE, [0, 2, 3], [[1, 0, 0], [0, 0, 1], [0, 0, 0]]),  # the last is a misfit
        (AGE, [0, 1, 4, 5, 6], [[0, 0], [0.25, 0], [1, 0], [0, 1], [0, 1]]),
        (HEIGHT, [0, 2**32 - 1, 2**32], [[0], [1], [0]]),
        (ONLY, [0, 1], [[1, 0], [0, 1]]),
    ],
)
def test_a_column_has_the_coordinates_of_its_kind(field: dict, codes: list, expected: list) -> None:
    assert vectors(field, codes) == expected


def test_columns_of_many_categories_share_coordinates_in_runs() -> None:
    found = np.array(vectors(MANY, range(101)))

    assert found.shape == (101, MOST_CATEGORIES + 1)
    assert (found.sum(axis=1) == 1).all()
    assert set(found[:100].sum(axis=0).tolist()) == {0, 3, 4}
    assert (np.diff(found[:100].argmax(axis=1)) >= 0).all()
    assert found[100, -1] == 1


@pytest.mark.parametrize("field", [FLAG, MAYBE, AGE, HEIGHT, SEX, SIDE, ONLY, MANY])
def test_every_column_adds_at_most_one_to_the_squared_length(field: dict) -> None:
    domain = Schema.from_dict({"fields": [field]}).columns[0].domain
    codes = np.unique(np.linspace(0, domain.size - 1, 300).astype(np.int64))

    found = np.array(vectors(field, codes))

    assert found.shape[1] == coordinates(domain)
    assert found.min() >= 0
    assert np.square(found).sum(axis=1).max() <= 1


# Sums of a few thousand numbers of size 1, divided by their number.
ROUNDED = 1e-12


def moments_flags(columns):
    field = {"type": "boolean", "constraints": {"required": True}}
    return Schema.from_dict({"fields": [{"name": f"c{place}", **field} for place in range(columns)]})


def codes(rows):
    return {f"c{place}": cells for place, cells in enumerate(np.array(rows).T)}


def figures(real, other, schema, seed=0):
    """Return the figures of one other table by key."""
    found = compare_moments(real, {"other": other}, schema, rng=np.random.default_rng(seed))
    return {each.metric.key: each for each in found}


def values(real, other, schema):
    return {key: each.values["other"].value for key, each in figures(real, other, schema).items()}


def test_averages_of_groups_keep_to_the_bound() -> None:
    fine = {"type": "integer", "constraints": {"minimum": 0, "maximum": 2**20, "required": True}}
    schema = Schema.from_dict({"fields": [{"name": f"c{place}", **fine} for place in range(4)]})
    rows = np.random.default_rng(2).integers(0, 2**20, (600, 4)) ** 2 // 2**20
    # 60 groups of 10 neighbours along the first column, each row replaced by the average of its group.
    groups = rows[np.argsort(rows[:, 0])].reshape(60, 10, 4)
    averages = np.repeat(groups.mean(axis=1).round().astype(np.int64), 10, axis=0)

    found = values(codes(rows), codes(averages), schema)

    assert found["covariance_loss"] > 0.01
    for degree in (2, 3):
        assert found[f"moment_bound_{degree}"] == pytest.approx(4**degree * found["covariance_loss"], abs=ROUNDED)
        assert 0.01 < found[f"moment_loss_{degree}"] <= found[f"moment_bound_{degree}"]
    # Averaging loses covariance alone, so that the second moment loses as much; rounding to 2**-20 adds less than 1e-5.
    assert found["moment_loss_2"] == pytest.approx(found["covariance_loss"], abs=1e-5)


def test_wide_tables_are_compared_on_some_columns(monkeypatch) -> None:
    monkeypatch.setattr(moments, "MOST_COORDINATES", 9)
    monkeypatch.setattr(moments, "MOST_BY_THREES", 4)
    rows = np.random.default_rng(5).integers(0, 2, (40, 12))

    found = figures(codes(rows), codes(rows[:30]), moments_flags(12))

    assert [found[f"marginal_error_{way}"].columns for way in (1, 2, 3)] == [9, 9, 4]
    assert found["moment_bound_2"].columns == 9
    assert found["moment_bound_3"].columns == 4


OVERLAYS_AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120, "required": True}}
MONEY = {"name": "money", "type": "integer", "constraints": {"minimum": 0, "maximum": 1_000_000}}


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
    OVERLAYS_AGE,
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
