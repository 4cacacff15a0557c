"""Rows as vectors; marginals and moments: closed forms, the bound of averages, samples of rows and columns."""

import itertools

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics import moments
from lapwing.extras.evaluate.metrics.moments import MOST_CATEGORIES, coded_rows, compare_moments, coordinates
from lapwing.schema.schemas import Schema

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


def flags(columns):
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


def test_the_same_rows_are_at_distance_0() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (500, 6))

    same, shuffled = (values(codes(rows), codes(each), flags(6)) for each in (rows, rng.permutation(rows)))

    assert set(same.values()) == {0.0}
    assert max(shuffled.values()) < ROUNDED


def test_parity_is_seen_by_threes_alone() -> None:
    every = list(itertools.product((0, 1), repeat=3))
    even = [row for row in every if sum(row) % 2 == 0]

    found = values(codes(every), codes(even), flags(3))

    assert found["marginal_error_1"] == found["marginal_error_2"] == found["covariance_loss"] == 0
    assert found["marginal_error_3"] == pytest.approx(1 / 8, abs=ROUNDED)
    # Six entries of 1/8, of rows divided by the root of 3 columns.
    assert found["moment_loss_3"] == pytest.approx(6**0.5 / 8 / 3**1.5, abs=ROUNDED)
    assert found["moment_loss_2"] == 0


def test_a_mean_that_moves_changes_moments_and_no_covariance() -> None:
    found = values(codes([[0], [0]]), codes([[1], [1]]), flags(1))

    assert found == {
        "marginal_error_1": 1.0,
        "covariance_loss": 0.0,
        "moment_loss_2": 1.0,
        "moment_bound_2": 0.0,
        "moment_loss_3": 1.0,
        "moment_bound_3": 0.0,
    }


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


def test_samples_of_rows_are_right_within_their_standard_error(monkeypatch) -> None:
    rng = np.random.default_rng(3)
    real = (rng.random((8000, 5)) < 0.3).astype(int)
    other = np.where(rng.random((8000, 1)) < 0.4, real[:, [0]], real) | (rng.random((8000, 5)) < 0.2)
    whole = figures(codes(real), codes(other), flags(5))

    monkeypatch.setattr(moments, "MOST_ROWS", 2000)
    some = figures(codes(real), codes(other), flags(5))

    for key, exact in whole.items():
        found, expected = some[key].values["other"], exact.values["other"]
        assert (exact.rows, expected.standard_error) == (None, 0)
        assert some[key].rows == 2000
        assert 0 < found.standard_error < 0.2 * expected.value
        # Four standard errors, which eight blocks know to a quarter.
        assert found.value == pytest.approx(expected.value, abs=5 * found.standard_error)
        assert found.value != expected.value


def test_wide_tables_are_compared_on_some_columns(monkeypatch) -> None:
    monkeypatch.setattr(moments, "MOST_COORDINATES", 9)
    monkeypatch.setattr(moments, "MOST_BY_THREES", 4)
    rows = np.random.default_rng(5).integers(0, 2, (40, 12))

    found = figures(codes(rows), codes(rows[:30]), flags(12))

    assert [found[f"marginal_error_{way}"].columns for way in (1, 2, 3)] == [9, 9, 4]
    assert found["moment_bound_2"].columns == 9
    assert found["moment_bound_3"].columns == 4


MIXED = Schema.from_dict(
    {
        "fields": [
            {"name": "real", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
            {"name": "flag", "type": "boolean"},
            {"name": "place", "type": "string", "categories": [f"p{n}" for n in range(400)]},
            {"name": "only", "type": "string", "categories": ["x"]},
        ]
    }
)


@pytest.mark.parametrize("code", ["first", "last regular", "last"])
@pytest.mark.parametrize(("rows", "others"), [(1, 1), (1, 3), (20_000, 2)])
def test_odd_tables_have_finite_figures(code: str, rows: int, others: int) -> None:
    def table(size):
        places = {"first": 0, "last regular": -2, "last": -1}
        return {
            column.name: np.full(size, range(column.domain.size)[places[code]], dtype=column.domain.dtype)
            for column in MIXED.columns
        }

    found = values(table(rows), table(others), MIXED)

    assert max(found.values()) < ROUNDED
    assert len(found) == 8
