"""Shares of bars against counting row by row, by the labels that a reader sees."""

from datetime import date, timedelta

import numpy as np
import pytest

from helpers.findings import schema_of
from lapwing.extras.evaluate.metrics.overlays import overlay_columns

# Sums of at most a thousand shares.
ROUNDED = 1e-12


def overlay(field, real, synthetic):
    return overlay_columns({field["name"]: real}, {field["name"]: synthetic}, schema_of(field)).columns[0]


def in_bar(label, value):
    """Return whether a whole number lies in the bar of a label."""
    words = label.replace(",", "").split(" ")
    if words[0] == "below":
        return value < int(words[1])
    if words[0] == "from":
        return value >= int(words[1])
    if len(words) == 3:
        return int(words[0]) <= value <= int(words[2])
    ends = [int(end) for end in words[0].split("-")] if not words[0].startswith("-") else [int(words[0])]
    return ends[0] <= value <= ends[-1]


@pytest.mark.parametrize("spread", [3, 40, 3000, 10**6])
@pytest.mark.parametrize("low", [0, -5000, -(10**7)])
def test_whole_numbers_are_counted_in_the_bar_that_names_them(spread, low):
    rng = np.random.default_rng(spread)
    field = {"name": "x", "type": "integer", "constraints": {"minimum": low, "maximum": 10**7, "required": True}}
    tables = [(rng.normal(100, spread, 400) * rng.random(400)).astype(np.int64).clip(low, 10**7) for _ in range(2)]

    found = overlay(field, *(each - low for each in tables))

    apart = {int(label.replace(",", "")): shares for label, *shares in found.frequent}
    for place, (values, shares) in enumerate(zip(tables, (found.real, found.synthetic), strict=True)):
        rest = [value for value in values.tolist() if value not in apart]
        counted = [sum(in_bar(label, value) for value in rest) / len(values) for label in found.labels]
        assert shares == pytest.approx(counted, abs=ROUNDED)
        assert all(np.mean(values == value) == pytest.approx(each[place]) for value, each in apart.items())


@pytest.mark.parametrize("days", [200, 1000])
def test_dates_are_counted_between_the_days_that_name_a_bar(days):
    rng = np.random.default_rng(days)
    field = {"name": "x", "type": "date", "constraints": {"minimum": "1999-03-05", "maximum": "2012-01-01"}}
    tables = [rng.integers(1000, 1000 + days, 400) for _ in range(2)]

    found = overlay(field, *tables)

    for codes, shares in zip(tables, (found.real, found.synthetic), strict=True):
        moments = [date(1999, 3, 5) + timedelta(days=int(code)) for code in codes]
        for label, share in zip(found.labels, shares, strict=True):
            first, _, last = label.partition(" to ")
            inside = [first <= str(each) <= (last or first) for each in moments]
            assert share == pytest.approx(sum(inside) / len(codes), abs=ROUNDED)
