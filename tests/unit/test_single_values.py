"""Values that many rows share come out as written, or not at all: never their neighbours."""

from collections import Counter
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.bits import SeededBits
from helpers.cases import spread
from helpers.kept import Kept
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.candidates import resolved_column
from lapwing.mechanisms.adaptive.one_way import ask_columns
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

ROWS = 5000
LARGE = 2**53 + 1
MOST_FALSE = 0.03
"""Of the rows: about what two deviations of the noise in one cell are at the smallest budget here."""


def of_numbers(kind, low, high):
    return {"name": "x", "type": kind, "constraints": {"minimum": low, "maximum": high, "required": True}}


DAYS = {"name": "x", "type": "date", "constraints": {"minimum": "1900-01-01", "maximum": "2030-12-31"}}
MOMENTS = {
    "name": "x",
    "type": "datetime",
    "resolution": "second",
    "constraints": {"minimum": "1000-01-01T00:00:00", "maximum": "2999-12-31T00:00:00"},
}
FIRST = datetime(1950, 1, 1)
# Of each kind: a field, the type of its cells, values that many rows share, and how others are drawn, between 0 and 1.
KINDS = {
    "float64": (of_numbers("number", 0, 100), pl.Float64, [2.0, 0.1, 37.3], lambda u: 100 * u),
    "float32": (of_numbers("number", -10, 1000), pl.Float32, [0.1, 99.9, 250.0], lambda u: float(np.expm1(6 * u))),
    "wide int64": (of_numbers("integer", LARGE, LARGE + 2**50), pl.Int64, [LARGE + 3, LARGE + 10**14, LARGE + 10**15],
                   lambda u: LARGE + int(2**50 * u)),
    "int32": (of_numbers("integer", 0, 10**6), pl.Int32, [1000, 2000, 50_000], lambda u: int(10**6 * u**3)),
    "int16": (of_numbers("integer", 0, 5000), pl.Int16, [1000, 1001, 1002], lambda u: int(5000 * u)),
    "date": (DAYS, pl.Date, [date(1970, 1, 1), date(2000, 1, 1), date(2001, 9, 9)],
             lambda u: date(1990, 1, 1) + timedelta(days=int(9000 * u))),
    "datetime": (MOMENTS, pl.Datetime("ms"), [datetime(1970, 1, 1), datetime(2020, 5, 5, 12, 30, 1), FIRST],
                 lambda u: FIRST + timedelta(seconds=int(2e9 * u))),
}  # fmt: skip


def cells(kind, shares, seed):
    """Return a column of some kind, of which each of three values holds a share."""
    _, dtype, held, drawn = KINDS[kind]
    rng = np.random.default_rng(seed)
    which = rng.choice(4, ROWS, p=[*shares, 1 - sum(shares)])
    return pl.Series("x", [held[k] if k < 3 else drawn(u) for k, u in zip(which, rng.random(ROWS), strict=True)], dtype)


def law_of(source, schema, cost, seed):
    """Return first codes, codes behind the last, and shares of the rows of each piece of a column's law."""
    room = Room(source, schema, Terms(relation="add-remove"), cost, bits=SeededBits(seed), sink=Kept())
    (table,), total = ask_columns(room, schema, [cost])
    law = resolved_column(table, schema.columns[0], max(1.0, total), (32, 16, 8, 4)).base
    return law.starts, law.stops, law.probabilities


@spread(
    ("kind", list(KINDS)),
    ("shares", [(0.55, 0.0, 0.0), (0.05, 0.1, 0.3), (0.2, 0.2, 0.2)]),
    ("epsilon", ["0.5", "1", "3", "10"]),
    ("notion", ["pure", "zcdp"]),
    at_least=28,
)
def test_a_value_of_many_rows_in_the_model_is_one_that_was_shared(kind, shares, epsilon, notion) -> None:
    schema = Schema.from_dict({"fields": [KINDS[kind][0]]})
    # Half of the budget of a release goes to three columns; about rho as of a delta of 1e-9.
    cost = Budget.pure(epsilon) / 6 if notion == "pure" else Budget.zcdp(epsilon) / 240
    for seed in range(2):
        source = code_table(cells(kind, shares, seed).to_frame(), schema)
        real = Counter(code for chunk in source.chunks() for code in chunk["x"].tolist())

        starts, stops, mass = law_of(source, schema, cost, seed)

        for place in np.flatnonzero(mass / (stops - starts) > MOST_FALSE):
            code = int(starts[place])
            assert int(stops[place]) == code + 1
            assert real[code] > 0.01 * ROWS


@spread(("kind", list(KINDS)), ("shares", [(0.05, 0.1, 0.3), (0.2, 0.2, 0.2)]))
def test_with_enough_budget_each_shared_value_comes_out_as_written(kind, shares) -> None:
    field, dtype, held, _ = KINDS[kind]
    letters = pl.Series("letter", ["a", "b", "c", "d"] * (ROWS // 4))
    beside = {"name": "letter", "type": "string", "categories": ["a", "b", "c", "d"]}
    schema = {"fields": [field, beside, {**beside, "name": "other"}]}
    data = pl.DataFrame([cells(kind, shares, 1), letters, letters.alias("other")])

    released = lw.synthesize(data, schema, epsilon=30, expected_rows=ROWS, mechanism="Adaptive", seed=1).sample()

    found = Counter(released["x"].cast(dtype).to_list())
    many = {value for value, count in found.items() if count > 0.02 * ROWS}
    assert many == set(pl.Series(held, dtype=dtype).to_list())
    assert [found[value] / ROWS for value in pl.Series(held, dtype=dtype)] == pytest.approx(shares, abs=0.03)
