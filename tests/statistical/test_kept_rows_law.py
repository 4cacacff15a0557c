"""Which rows of a unit stay leans to no value: every choice of its rows is as likely as another, over many units.

At false-alarm rate 1e-9; the same tests reject the hash of values alone, and the one that does not count equal rows.
"""

import itertools

import numpy as np
import polars as pl
import pytest

import lapwing.rows.source
from helpers.noise_laws import FALSE_ALARM, chi_square
from lapwing.rows.source import code_table
from lapwing.rows.units import of_smallest
from lapwing.schema.schemas import Schema

UNITS = 6000
NAMES = {
    "numbers": lambda unit: unit,
    "numbers far apart": lambda unit: unit * 2**33 - 2**62,
    "texts": lambda unit: f"person {unit}",
}


def kept(values, max_rows, name):
    """Return the values of the rows that each of many units keeps, of those that each of them has."""
    fields = [
        {"name": "who", "type": "integer" if name(0) != "person 0" else "string", "role": "identifier"},
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}},
    ]
    schema = Schema.from_dict({"fields": fields, "privacyUnit": {"field": "who", "maxRows": max_rows}})
    who = [name(unit) for unit in range(UNITS) for _ in values]
    rows = pl.DataFrame({"who": who, "x": list(values) * UNITS})
    found = np.concatenate([chunk["x"] for chunk in code_table(rows, schema).chunks()])
    return np.sort(found.reshape(UNITS, max_rows), axis=1)


def evidence(values, max_rows, name):
    """Return how likely choices as uneven as these are, if each set of a unit's rows is as likely."""
    sets = [tuple(sorted(each)) for each in itertools.combinations(values, max_rows)]
    outcomes = sorted(set(sets))
    found = [tuple(each) for each in kept(values, max_rows, name).tolist()]
    counts = np.array([found.count(outcome) for outcome in outcomes])
    return chi_square(counts, np.array([sets.count(outcome) / len(sets) for outcome in outcomes]))


CASES = [
    pytest.param(range(10), 1, id="one of ten values"),
    pytest.param(range(10), 3, id="three of ten values"),
    pytest.param([0] * 9 + [1], 1, id="one of nine and one"),
    pytest.param([0] * 3 + [1] * 2 + [2], 2, id="two of six"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("values", "max_rows"), CASES)
def test_every_choice_of_a_units_rows_is_as_likely(values, max_rows, name):
    assert evidence(values, max_rows, NAMES[name]) > FALSE_ALARM


@pytest.mark.parametrize(("values", "max_rows"), CASES)
def test_a_hash_of_values_alone_leans_to_some_of_them(values, max_rows, monkeypatch):
    monkeypatch.setattr(lapwing.rows.source, "mix_hash", lambda said, _: said)

    assert evidence(values, max_rows, NAMES["texts"]) < FALSE_ALARM


@pytest.mark.parametrize(("values", "max_rows"), CASES[2:])
def test_a_hash_that_does_not_count_equal_rows_leans_to_rare_values(values, max_rows, monkeypatch):
    monkeypatch.setattr(
        lapwing.rows.source, "kept_rows", lambda units, hashes, most, *_: of_smallest(units, hashes, most)
    )

    assert evidence(values, max_rows, NAMES["texts"]) < FALSE_ALARM
