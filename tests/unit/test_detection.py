"""Boosted trees tell tables apart: on unseen rows, with an error, on any table."""

import numpy as np
import pytest

from lapwing.judge.prediction import detection
from lapwing.judge.prediction.detection import area_error, compare_detection
from lapwing.schema.schemas import Schema

FIELDS = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 9}} for name in ("a", "b")]
SCHEMA = Schema.from_dict({"fields": FIELDS})


def rows(seed, count=600):
    rng = np.random.default_rng(seed)
    return {"a": rng.integers(10, size=count), "b": rng.integers(10, size=count)}


def told(real, other, schema=SCHEMA):
    return compare_detection(real, {"synthetic": other}, schema, rng=np.random.default_rng(0))


def test_fresh_rows_of_the_same_law_are_guessed() -> None:
    found = told(rows(1), rows(2)).values["synthetic"]

    # 300 test rows of each: standard error 0.024. Four of them.
    assert found.standard_error == pytest.approx(0.024, abs=0.002)
    assert found.value == pytest.approx(0.5, abs=0.1)


def test_what_only_two_columns_together_show_is_seen() -> None:
    real = rows(1) | {"b": rows(1)["a"]}

    # A tenth of the shuffled rows have equal columns too.
    assert told(real, rows(2)).values["synthetic"].value == pytest.approx(0.95, abs=0.04)


def test_a_column_named_like_the_target_is_no_leak() -> None:
    fields = [FIELDS[0], FIELDS[1] | {"name": "is synthetic"}]
    real, other = ({"a": each["a"], "is synthetic": each["b"]} for each in (rows(1), rows(2)))

    found = told(real, other, Schema.from_dict({"fields": fields}))

    assert found.values["synthetic"].value == told(rows(1), rows(2)).values["synthetic"].value
    assert found.columns == 2


@pytest.mark.parametrize("count", [2, 3])
def test_few_rows_are_guessed(count: int) -> None:
    assert told(rows(1, count), rows(2, 5)).values["synthetic"].value == 0.5


def test_one_row_has_no_figure() -> None:
    assert told(rows(1, 1), rows(2)) is None


def test_of_many_rows_and_columns_some_are_used(monkeypatch) -> None:
    monkeypatch.setattr(detection, "MOST_ROWS", 100)
    monkeypatch.setattr(detection, "MOST_COLUMNS", 1)

    found = told(rows(1), rows(2))

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
