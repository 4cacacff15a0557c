"""Rows of noisy tables from elsewhere: they meet the tables, and nothing is promised of them."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw

SCHEMA = {
    "fields": [
        {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
        {"name": "place", "type": "string", "categories": list("abcdef")},
    ]
}
TRUE = np.array([[120, 260, 70], [110, 290, 50]])
RUNS = ["0..17", "18..64", "65.."]


def table_of(counts, noise, **more):
    cells = [[sex, run, float(counts[i, j])] for i, sex in enumerate("fm") for j, run in enumerate(RUNS)]
    return {"columns": ["sex", "age"], "cells": cells, "noise": noise, **more}


def places(counts, noise):
    cells = [[["a", "b"], counts[0]], [["c", "d", "e", "f"], counts[1]], [None, counts[2]]]
    return {"columns": ["place"], "cells": cells, "noise": noise}


def test_rows_meet_exact_tables():
    found = lw.rows_from_tables([table_of(TRUE, "exact"), places([300, 580, 20], "exact")], SCHEMA, seed=1)

    rows = found.sample()
    assert rows.height == TRUE.sum() == found.model.rows
    runs = np.searchsorted([17.5, 64.5], rows["age"].to_numpy())
    assert np.bincount(3 * (rows["sex"] == "m").to_numpy() + runs).tolist() == TRUE.ravel().tolist()
    assert found.tables[1]["count"].to_list() == [300, 580, 20]
    for frame in found.tables:
        assert (frame["lower"] == frame["count"]).all()
        assert (frame["upper"] == frame["count"]).all()


@pytest.mark.parametrize(
    ("noise", "draw"),
    [
        ({"gaussian": 6}, lambda rng: rng.normal(0, 6, TRUE.shape)),
        ({"laplace": 5}, lambda rng: np.round(rng.laplace(0, 5, TRUE.shape))),
        ({"interval": 12}, lambda rng: rng.normal(0, 12 / 1.96, TRUE.shape)),
        ({"sd": 6}, lambda rng: rng.uniform(-10.4, 10.4, TRUE.shape)),
    ],
    ids=lambda each: next(iter(each), "") if isinstance(each, dict) else "",
)
def test_intervals_hold_the_true_counts_as_far_as_the_law_says(noise, draw):
    rng, held = np.random.default_rng(3), []
    for _ in range(40):
        sexes = {"columns": ["sex"], "cells": [["f", 450], ["m", 450]], "noise": "exact"}
        found = lw.rows_from_tables([table_of(TRUE + draw(rng), noise), sexes], SCHEMA, seed=1)
        frame = found.tables[0]
        lower, upper = (frame[end].to_numpy() for end in ("lower", "upper"))
        held.append((lower <= TRUE.ravel()) & (TRUE.ravel() <= upper))
        assert found.tables[1]["count"].to_list() == [450, 450]
        assert frame["count"].sum() == 900

    assert np.mean(held) >= 0.93


def test_a_known_number_of_rows_is_met_and_counts_below_zero_are_taken():
    few = np.array([[-3.5, 40.25, 2.0], [1.0, 61.0, -1.0]])

    found = lw.rows_from_tables([table_of(few, {"sd": 4})], SCHEMA, rows=100, seed=1)

    assert found.sample().height == 100
    assert found.tables[0]["count"].min() >= 0
    assert found.tables[0]["count"].sum() == 100


def test_the_certificate_promises_nothing_and_says_what_went_in():
    found = lw.rows_from_tables([table_of(TRUE, {"laplace": 2}, source="Census 2020, table 3")], SCHEMA, seed=7)

    said = json.loads(json.dumps(found.certificate))
    assert "Nothing here protects anybody" in said["promise"]
    assert said["tables"] == [
        {"columns": ["sex", "age"], "noise": {"laplace": 2}, "source": "Census 2020, table 3"},
    ]
    assert (said["rows"], said["seed"]) == (900, 7)
    assert found.sample(5).equals(found.sample(5))


def test_cells_that_nobody_is_in_may_be_left_out_where_that_is_said():
    some = {"columns": ["sex", "age"], "cells": [["f", "18..64", 70], ["m", "18..64", 30]], "noise": "exact"}

    with pytest.raises(lw.SchemaError, match="no cell holds"):
        lw.rows_from_tables([some], SCHEMA)
    found = lw.rows_from_tables([some | {"complete": True}], SCHEMA, seed=1)

    assert found.sample()["age"].is_between(18, 64).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"noise": {"cauchy": 1}}, "a law and a size"),
        ({"noise": {"gaussian": 0}}, "a law and a size"),
        ({"noise": "none"}, "a law and a size"),
        ({"epsilon": 1}, "a table is an object"),
        ({"cells": [["f", "0..99", float("nan")], ["m", "0..99", 1]]}, "finite number"),
        ({"cells": [["f", "0..49", 1], ["f", "50..99", 1], ["m", "0..99", 1]]}, "one group of each column"),
        ({"columns": ["sexx", "age"]}, "is no modelled column"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(change, says):
    with pytest.raises(lw.LapwingError, match=says):
        lw.rows_from_tables([table_of(TRUE, {"gaussian": 3}) | change], SCHEMA)


def test_a_list_is_asked_for():
    with pytest.raises(lw.ParameterError, match="tables must be a list"):
        lw.rows_from_tables({}, SCHEMA)


def test_where_nobody_can_be_a_misfit_a_known_number_of_rows_is_shared_by_the_cells_alone():
    cells = [["f", 4.0], ["m", 3.0]]
    noisy = {"columns": ["sex"], "cells": cells, "noise": {"gaussian": 10}}

    (frame,) = lw.rows_from_tables([noisy], SCHEMA, rows=1001, seed=1).tables

    # Least squares: both give way alike, and what they share of the noise is known.
    middle = (frame["lower"] + frame["upper"]) / 2
    assert middle.to_list() == pytest.approx([501, 500], abs=0.5)
    assert frame["sd"].to_list() == pytest.approx([10 / 2**0.5] * 2)


@pytest.mark.parametrize(
    ("tables", "rows", "says"),
    [
        ([("sex", [400, 300]), ("sex", [10, 20])], None, "30 and 700"),
        ([("sex", [400, 300])], 1000, "700 and 1000"),
        ([("sex", [-400, 1100])], None, "at least 0"),
    ],
)
def test_exact_tables_that_cannot_be_true_are_refused(tables, rows, says):
    given = [
        {"columns": [name], "cells": [["f", counts[0]], ["m", counts[1]]], "noise": "exact"} for name, counts in tables
    ]

    with pytest.raises(lw.ParameterError, match=says):
        lw.rows_from_tables(given, SCHEMA, rows=rows)


def test_marginals_in_the_shapes_of_mbi_become_rows():
    rng = np.random.default_rng(0)
    true = {("a", "b"): rng.integers(20, 60, (3, 2)), ("b", "c"): None}
    true["b", "c"] = np.stack([true["a", "b"].sum(axis=0) - 30, [30, 30]], axis=1)
    noisy = [(np.eye(6), true["a", "b"] + rng.normal(0, 2, (3, 2)), 2.0, ("a", "b")), (None, true["b", "c"], 1.0, "bc")]

    found = lw.estimate({"a": 3, "b": 2, "c": 2}, noisy, seed=1)

    rows = found.sample()
    for (columns, counts), frame in zip(true.items(), found.tables, strict=True):
        own = np.zeros(counts.shape)
        np.add.at(own, tuple(rows[name].to_numpy() for name in columns), 1)
        assert frame["count"].to_list() == own.ravel().tolist()
        assert np.abs(own - counts).max() < 12
    with pytest.raises(lw.ParameterError, match="the identity as its query"):
        lw.estimate({"a": 2}, [(np.ones((1, 2)), [1.0, 2.0], 1.0, ("a",))])


# What other tools hand over: the groups, and counts in a column that each calls otherwise.
GROUPS = {"sex": [sex for sex in "fm" for _ in RUNS], "age": RUNS * 2}
FRAMES = {
    "OpenDP": lambda: pl.DataFrame({**GROUPS, "len": TRUE.ravel()}),
    "Tumult": lambda: pd.DataFrame({**GROUPS, "count": TRUE.ravel()}),
    "a census": lambda: pl.read_csv(
        (
            "sex,age,persons\n"
            + "".join(f"{s},{a},{n}\n" for s, a, n in zip(*GROUPS.values(), TRUE.ravel(), strict=True))
        ).encode()
    ),
    "Arrow": lambda: pa.table({**GROUPS, "n": TRUE.ravel()}),
    "columns": lambda: {"n": TRUE.ravel().tolist(), **GROUPS},
}


@pytest.mark.parametrize("tool", FRAMES)
def test_a_frame_of_counts_is_the_same_as_its_cells(tool):
    given = {"columns": ["sex", "age"], "cells": FRAMES[tool](), "noise": {"laplace": 2}}

    found = lw.rows_from_tables([given], SCHEMA, seed=1)

    expected = lw.rows_from_tables([table_of(TRUE, {"laplace": 2})], SCHEMA, seed=1)
    assert found.tables[0].equals(expected.tables[0])
    assert found.sample().equals(expected.sample())
    json.dumps(dict(found.certificate))


@pytest.mark.parametrize("frame", [{**GROUPS, "n": [1] * 6, "sd": [2] * 6}, {"age": RUNS, "n": [1] * 3}, GROUPS])
def test_a_frame_without_its_columns_or_of_two_counts_is_refused(frame):
    with pytest.raises(lw.ParameterError, match=r"a frame of cells has the columns .* and one of counts"):
        lw.rows_from_tables([{"columns": ["sex", "age"], "cells": frame, "noise": "exact"}], SCHEMA)
