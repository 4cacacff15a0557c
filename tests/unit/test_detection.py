"""Telling synthetic rows from real ones: by a logistic regression, and by boosted trees on unseen rows."""

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.prediction import detection
from lapwing.extras.evaluate.metrics.prediction.detection import (
    area_error,
    compare_detection,
    compare_propensity,
    propensity_scores,
)
from lapwing.schema.schemas import Schema

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]}
WIDE = {"name": "wide", "type": "number", "constraints": {"minimum": 0, "maximum": 1}}
CITY = {"name": "city", "type": "string", "categories": [f"c{place}" for place in range(40)]}
FLAG = {"name": "flag", "type": "boolean"}
SCHEMA = Schema.from_dict({"fields": [AGE, WIDE, CITY, FLAG]})
ONE_FLAG = Schema.from_dict({"fields": [FLAG]})
SPECIAL, MISSING = 100, 101


def told(schema, real, other, seed=0):
    """Return pMSE and its ratio."""
    found = compare_propensity(real, {"synthetic": other}, schema, rng=np.random.default_rng(seed))
    return [each.values["synthetic"].value for each in found]


def rows(seed, count=2000):
    rng = np.random.default_rng(seed)
    codes = {}
    for column in SCHEMA.columns:
        regular = (rng.beta(2, 3, size=count) * column.domain.values).astype(np.int64)
        codes[column.name] = np.where(rng.random(count) < 0.05, column.domain.last, regular)
    return codes


def flags(*shares, count=1000):
    """Return a table of one Boolean column for each share of 1."""
    return [{"flag": (np.arange(count) < share * count).astype(np.int64)} for share in shares]


def test_equal_tables_cannot_be_told_apart_however_they_are_sorted() -> None:
    real = rows(1)
    order = np.random.default_rng(2).permutation(2000)

    score, ratio = told(SCHEMA, real, {name: column[order] for name, column in real.items()})

    # L-BFGS stops where the gradient is 1e-8.
    assert score == pytest.approx(0, abs=1e-12)
    assert ratio == pytest.approx(0, abs=1e-6)


def test_one_boolean_column_has_the_closed_form() -> None:
    real, other = flags(0.5, 0.2)

    score, ratio = told(ONE_FLAG, real, other)

    # Fitted shares of synthetic rows: 2/7 of the 700 rows with 1, 8/13 of the 1300 with 0.
    expected = (700 * (2 / 7 - 1 / 2) ** 2 + 1300 * (8 / 13 - 1 / 2) ** 2) / 2000
    assert score == pytest.approx(expected, rel=1e-5)
    # Snoke et al., theorem 1, with two parameters and c = 1/2: (2 - 1) (1 - c)**2 c / N.
    assert ratio == pytest.approx(expected / (0.25 * 0.5 / 2000), rel=1e-5)


def test_probabilities_are_those_that_newton_steps_find() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(3000, 5)) @ rng.normal(size=(5, 5))
    is_other = rng.random(3000) < 1 / (1 + np.exp(-points[:, 0]))
    design, weights = np.column_stack((np.ones(3000), points)), np.zeros(6)
    for _ in range(30):
        fitted = 1 / (1 + np.exp(-design @ weights))
        curvature = (design * (fitted * (1 - fitted))[:, None]).T @ design
        weights += np.linalg.solve(curvature, design.T @ (is_other - fitted))

    # A gradient of 1e-8, where L-BFGS stops, over curvatures of 1e-3 and more.
    assert propensity_scores(points, is_other) == pytest.approx(fitted, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "code"), [("age", SPECIAL), ("age", MISSING), ("city", 40), ("flag", 2), ("wide", 2**32)]
)
def test_what_is_missing_or_special_in_one_table_only_is_seen(name: str, code: int) -> None:
    real = rows(1)
    other = real | {name: np.where(np.arange(2000) % 2, code, real[name])}

    assert told(SCHEMA, real, other)[0] > 0.03


def test_ratios_of_bootstraps_are_1_on_average_and_those_of_fresh_rows_2() -> None:
    schema = Schema.from_dict({"fields": [AGE, FLAG, WIDE]})
    bootstraps, fresh = [], []
    for seed in range(60):
        real, drawn = rows(2 * seed), np.random.default_rng(seed).integers(2000, size=2000)
        bootstraps.append(told(schema, real, {name: column[drawn] for name, column in real.items()})[1])
        fresh.append(told(schema, real, rows(2 * seed + 1))[1])

    # k - 1 = 6 parameters: a ratio has variance 2/6, so a mean of 60 has 0.075; four of them, and twice that for fresh.
    assert np.mean(bootstraps) == pytest.approx(1, abs=0.3)
    assert np.mean(fresh) == pytest.approx(2, abs=0.6)


def test_drawn_rows_have_a_standard_error_that_covers_other_draws(monkeypatch) -> None:
    real, other = rows(1, 20_000), rows(2, 20_000)
    other["age"] = np.minimum(other["age"] + 5, MISSING)
    monkeypatch.setattr(detection, "MOST_PROPENSITY_ROWS", 2000)
    draws = [
        compare_propensity(real, {"synthetic": other}, SCHEMA, rng=np.random.default_rng(seed))[0] for seed in range(12)
    ]

    values = [each.values["synthetic"].value for each in draws]
    errors = [each.values["synthetic"].standard_error for each in draws]

    assert {each.rows for each in draws} == {2000}
    # Errors from four quarters are each off by half; the mean of twelve, and the spread of twelve, by a sixth.
    assert 0.4 < np.std(values, ddof=1) / np.sqrt(np.mean(np.square(errors))) < 2.5


def test_cells_that_are_all_alike_leave_nothing_to_fit() -> None:
    constant = {column.name: np.full(9, column.domain.last) for column in SCHEMA.columns}

    assert compare_propensity(constant, {"synthetic": constant}, SCHEMA, rng=np.random.default_rng(0)) == ()


@pytest.mark.parametrize("count", [1, 2, 30])
def test_few_rows_have_a_figure_in_range(count: int) -> None:
    score, ratio = told(SCHEMA, rows(1, count), rows(2, 50))

    assert 0 <= score <= 0.25
    assert 0 <= ratio < np.inf


def test_columns_join_while_there_is_room_for_their_parameters(monkeypatch) -> None:
    fields = [CITY | {"name": f"city{place}"} for place in range(30)]
    schema = Schema.from_dict({"fields": fields})
    tables = [
        {column.name: np.random.default_rng(seed).integers(40, size=4000) for column in schema.columns}
        for seed in (1, 2)
    ]

    found = compare_propensity(tables[0], {"synthetic": tables[1]}, schema, rng=np.random.default_rng(0))

    # Of 192 parameters, each column takes 16.
    assert found[0].columns == 12
    # 192 parameters of fresh rows: 2, and a standard deviation of 0.2.
    assert found[1].values["synthetic"].value == pytest.approx(2, abs=0.8)


TWO_FIELDS = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 9}} for name in ("a", "b")]
TWO = Schema.from_dict({"fields": TWO_FIELDS})


def uniform(seed, count=600):
    rng = np.random.default_rng(seed)
    return {"a": rng.integers(10, size=count), "b": rng.integers(10, size=count)}


def told_by_trees(real, other, schema=TWO):
    return compare_detection(real, {"synthetic": other}, schema, rng=np.random.default_rng(0))


def test_fresh_rows_of_the_same_law_are_guessed() -> None:
    found = told_by_trees(uniform(1), uniform(2)).values["synthetic"]

    # 300 test rows of each: standard error 0.024. Four of them.
    assert found.standard_error == pytest.approx(0.024, abs=0.002)
    assert found.value == pytest.approx(0.5, abs=0.1)


def test_what_only_two_columns_together_show_is_seen() -> None:
    real = uniform(1) | {"b": uniform(1)["a"]}

    # A tenth of the shuffled rows have equal columns too.
    assert told_by_trees(real, uniform(2)).values["synthetic"].value == pytest.approx(0.95, abs=0.04)


def test_a_column_named_like_the_target_is_no_leak() -> None:
    fields = [TWO_FIELDS[0], TWO_FIELDS[1] | {"name": "is synthetic"}]
    real, other = ({"a": each["a"], "is synthetic": each["b"]} for each in (uniform(1), uniform(2)))

    found = told_by_trees(real, other, Schema.from_dict({"fields": fields}))

    assert found.values["synthetic"].value == told_by_trees(uniform(1), uniform(2)).values["synthetic"].value
    assert found.columns == 2


def test_one_row_has_no_figure() -> None:
    assert told_by_trees(uniform(1, 1), uniform(2)) is None


def test_of_many_rows_and_columns_some_are_used(monkeypatch) -> None:
    monkeypatch.setattr(detection, "MOST_ROWS", 100)
    monkeypatch.setattr(detection, "MOST_COLUMNS", 1)

    found = told_by_trees(uniform(1), uniform(2))

    assert (found.rows, found.columns) == (100, 1)


def test_the_error_of_an_area_is_that_of_drawn_scores() -> None:
    rng = np.random.default_rng(1)
    # Hanley and McNeil's approximation is exact for exponential scores: an area of 0.8 for a rate of 1/4.
    areas = []
    for _ in range(4000):
        low, high = rng.exponential(1, size=20), rng.exponential(4, size=20)
        areas.append((low[:, None] < high).mean())

    assert np.mean(areas) == pytest.approx(0.8, abs=0.01)
    # A standard deviation from 4000 draws is off by one in ninety; four times that.
    assert np.std(areas) == pytest.approx(area_error(0.8, 20), rel=0.045)
