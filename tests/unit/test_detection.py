"""Telling synthetic rows from real ones: by a logistic regression, and by boosted trees on unseen rows."""

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.prediction.detection import (
    area_error,
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
