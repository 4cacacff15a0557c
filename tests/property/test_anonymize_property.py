"""Whatever a table holds, its anonymous rows fit the schema, and numbers are shown by at least k rows alike."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.extras.evaluate.internal.schemas import check_table

NUMBERS = st.one_of(st.integers(-3, 12), st.just(None))
REALS = st.one_of(st.floats(-1, 2, allow_nan=False), st.sampled_from([float("nan"), float("inf"), -9.0]), st.none())
WORDS = st.sampled_from(["a", "b", "c", "?", None])
ROWS = st.lists(st.tuples(NUMBERS, REALS, WORDS, st.sampled_from([True, False, None])), min_size=2, max_size=40)


def schema_of(required, person):
    constraint = {"required": required}
    fields = [
        {"name": "n", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, **constraint}, "special": [-1, 4]},
        {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, **constraint}, "special": [-9]},
        {"name": "w", "type": "string", "categories": ["a", "b", "c"], "constraints": constraint},
        {"name": "f", "type": "boolean", "constraints": constraint},
        {"name": "p", "type": "integer", "role": "identifier"},
    ]
    return {"fields": fields, **({"privacyUnit": {"field": "p", "maxRows": 3}} if person else {})}


@settings(max_examples=40)
@given(
    rows=ROWS,
    size=st.integers(2, 5),
    required=st.booleans(),
    person=st.booleans(),
    chosen=st.sampled_from(
        [{}, {"improve": False}, {"partition": "mdav", "improve": False}, {"output": "shuffle"}, {"variant": "paper"}]
    ),
)
def test_rows_out_fit_the_schema_whatever_came_in(rows, size, required, person, chosen):
    columns = {"n": pl.Int64, "x": pl.Float64, "w": pl.String, "f": pl.Boolean}
    table = pl.DataFrame(rows, schema=columns, orient="row")
    table = table.with_columns(p=pl.int_range(pl.len()) // (3 if person else 1))
    schema = lw.Schema.from_dict(schema_of(required, person))

    if table["p"].n_unique() < size:
        with pytest.raises(lw.ParameterError, match="min_group_size"):
            lw.anonymize(table, schema, size)
        return
    made = lw.anonymize(table, schema, size, **chosen, seed=1)

    fits = check_table(made.data, schema).value
    assert all(fit.misfit == fit.clamped == 0 for fit in fits)
    assert not required or all(fit.missing == 0 for fit in fits)
    assert made.data.height == table.height
    assert 0 <= made.information_loss <= 100 + 1e-9
    assert 0 <= made.covariance_loss <= 1


def test_three_categories_of_as_many_rows_as_a_group_needs_are_three_groups():
    table = pl.DataFrame({"w": ["a", "b", "c"] * 6})
    words = {"name": "w", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}}

    made = lw.anonymize(table, {"fields": [words]}, 6, seed=1)

    assert made.data.sort("w").equals(table.sort("w"))
