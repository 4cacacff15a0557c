"""Figures of panels against loops over persons, counted in fractions."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.panels import compare_panels, panel_of
from lapwing.extras.evaluate.metrics.samples import wasserstein_line
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "state", "type": "string", "categories": ["a", "b", "c"]},
    {"name": "level", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]},
    {"name": "day", "type": "integer", "constraints": {"minimum": 0, "maximum": 40}},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
COLUMNS = ("state", "level")


def cell(name, code, parts):
    """Return the cell of a code, as `lapwing.extras.evaluate.metrics.panels` says."""
    domain = SCHEMA.field(name).domain
    if code >= domain.values or not domain.ordered:
        return "alone", int(code)
    return "part", max(part for part in range(parts) if part * domain.values // parts <= code)


def persons(codes, units, descending):
    """Return the rows of each person in order, as dictionaries."""
    rows = [{name: int(column[row]) for name, column in codes.items()} for row in range(len(units))]
    found = {}
    for unit, row in zip(units.tolist(), rows, strict=True):
        found.setdefault(unit, []).append(row)
    return [
        sorted(each, key=lambda row: -row["day"] if descending else row["day"]) for _, each in sorted(found.items())
    ]


def law(listed):
    return {each: Fraction(number, len(listed)) for each, number in Counter(listed).items()}


def variation(real, other):
    left, right = law(real), law(other)
    return sum((abs(left.get(each, 0) - right.get(each, 0)) for each in {*left, *right}), Fraction(0)) / 2


def runs(people, name, length, parts):
    return [
        tuple(cell(name, row[name], parts) for row in rows[start : start + length])
        for rows in people
        for start in range(len(rows) - length + 1)
    ]


def next_states(real, other):
    found = Fraction(0)
    for state, weight in law([pair[0] for pair in real]).items():
        after = [[pair[1] for pair in pairs if pair[0] == state] for pairs in (real, other)]
        found += weight * (variation(*after) if after[1] else 1)
    return found


def agreement(people, name):
    pairs = [pair for rows in people for pair in itertools.combinations(rows, 2)]
    return Fraction(sum(cell(name, a[name], 16) == cell(name, b[name], 16) for a, b in pairs), len(pairs))


def gaps(people):
    regular = SCHEMA.field("day").domain.values
    found = []
    for rows in people:
        for before, after in itertools.pairwise(row["day"] for row in rows):
            found.append(abs(after - before) if max(before, after) < regular else None)
    return found


def gap_cell(gap):
    return "none" if gap is None else "same" if gap == 0 else math.floor(math.log2(gap))


def kernel(one, other):
    """Return exp(-3 share) with the share of the cells of the first 8 rows in which two persons differ."""
    differ = 0
    for place, name in itertools.product(range(8), SCHEMA.names):
        cells = [cell(name, rows[place][name], 16) if place < len(rows) else None for rows in (one, other)]
        differ += cells[0] != cells[1]
    return math.exp(-3 * differ / (8 * len(SCHEMA.names)))


def mmd(real, other):
    means = [
        np.mean([kernel(a, b) for a in left for b in right])
        for left, right in ((real, real), (other, other), (real, other))
    ]
    return math.sqrt(max(0.0, means[0] + means[1] - 2 * means[2]))


def drawn(rng, units, most):
    """Draw rows of units in any order; days, so that no unit has one twice, and among them missing ones."""
    counts = rng.integers(1, most + 1, units)
    owner = np.repeat(np.arange(units), counts)
    days = np.concatenate([rng.permutation(42)[:count] for count in counts])
    codes = {
        "state": rng.integers(4, size=owner.size),
        "level": np.where(rng.random(owner.size) < 0.2, 100, rng.integers(102, size=owner.size)),
        "day": days,
    }
    order = rng.permutation(owner.size)
    typed = {name: column[order].astype(SCHEMA.field(name).domain.dtype) for name, column in codes.items()}
    return typed, owner[order]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("units", "others"), [(2, 3), (40, 60)])
def test_every_figure_is_that_of_a_loop_over_persons(units, others, descending):
    rng = np.random.default_rng(units + descending)
    tables = [drawn(rng, units, 10), drawn(rng, others, 5)]
    panels = [panel_of(*table, order="day", descending=descending, rng=rng) for table in tables]
    real, other = (persons(*table, descending) for table in tables)

    found = compare_panels(panels[0], {"it": panels[1]}, SCHEMA, rng=rng)

    figures = {each.metric.key: each.values["it"].value for each in found.figures}
    pairs = {name: [runs(people, name, 2, 16) for people in (real, other)] for name in COLUMNS}
    triples = {name: [runs(people, name, 3, 8) for people in (real, other)] for name in COLUMNS}
    places = {
        name: [
            [(min(place, 7), cell(name, row[name], 16)) for rows in people for place, row in enumerate(rows)]
            for people in (real, other)
        ]
        for name in SCHEMA.names
    }
    agreed = {name: [agreement(people, name) for people in (real, other)] for name in COLUMNS}
    spread = [[gap for gap in gaps(people) if gap is not None] for people in (real, other)]
    expected = {
        "transitions": {name: variation(*both) for name, both in pairs.items()},
        "next_states": {name: next_states(*both) for name, both in pairs.items()},
        "triples": {name: variation(*both) for name, both in triples.items()},
        "positions": {name: variation(*both) for name, both in places.items()},
        "siblings": {name: abs(both[0] - both[1]) for name, both in agreed.items()},
    }
    for key, columns in expected.items():
        assert found.columns[key]["it"] == pytest.approx({name: float(each) for name, each in columns.items()})
        assert figures[key] == pytest.approx(float(sum(columns.values()) / len(columns)))
    assert found.agreement["real"] == pytest.approx({name: float(both[0]) for name, both in agreed.items()})
    assert figures["rows_per_unit"] == float(variation(*([len(rows) for rows in people] for people in (real, other))))
    assert figures["gaps"] == float(variation(*([gap_cell(gap) for gap in gaps(people)] for people in (real, other))))
    assert figures["gap_lengths"] == pytest.approx(wasserstein_line(*spread) / np.std(spread[0]))
    # Random features: their standard error is stated beside the figure.
    (whole,) = [each.values["it"] for each in found.figures if each.metric.key == "trajectories"]
    assert abs(whole.value - mmd(real, other)) < 5 * whole.standard_error
