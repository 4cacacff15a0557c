"""Queried counts that public tables determine."""

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.model.evidence import AskedTable
from lapwing.release.queries import public_counts
from lapwing.schema.groupings.grouping import identity, interval_grouping
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 5, "required": True}},
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    {"name": "job", "type": "string", "categories": ["none", "some"], "constraints": {"required": True}},
]
TOLD = {
    "columns": ["sex", "age"],
    "source": "Register",
    "provenance": "public",
    "complete": True,
    "cells": [["f", "..2", 30], ["f", "3..", 20], ["m", {"minimum": 0}, 40], [None, "..2", 10], [None, "3..", 0]],
}


def schema_of(*tables):
    return Schema.from_dict({"fields": FIELDS, "publicTables": list(tables)})


def asked(schema, names, ends=None):
    """Return public counts as a nested list, None where unknown; `ends` cut the age."""
    domains = [schema.field(name).domain for name in names]
    groupings = [
        interval_grouping(domain, np.array(ends)) if domain.values == 6 and ends else identity(domain)
        for domain in domains
    ]
    counts, known = public_counts(schema, AskedTable(names, groupings))
    return np.where(known, counts, None).tolist()


@pytest.mark.parametrize(
    ("names", "ends", "wanted"),
    [
        (["sex"], None, [50, 40, 10]),
        (["age"], [3], [None, None, 0]),
        (["age", "sex"], [3], [[30, None, 10], [20, None, 0], [0, 0, 0]]),
        (["sex", "age"], [2], [[None, None, 0], [None, None, 0], [None, None, 0]]),
        (["sex", "job"], None, None),
    ],
    ids=["summed", "one cell reaches over", "other order", "cut elsewhere", "another column"],
)
def test_counts_are_known_where_whole_cells_make_them(names, ends, wanted):
    found = asked(schema_of(TOLD), names, ends)

    assert found == wanted if wanted else all(each is None for line in found for each in line)


def test_a_cell_without_rows_spoils_nothing():
    table = TOLD | {"cells": [["f", "..2", 30], ["f", "3..", 20], ["m", "..", 0], [None, "..2", 10], [None, "3..", 0]]}

    assert asked(schema_of(table), ["age"], [3]) == [40, 20, 0]


def test_priors_determine_nothing_and_another_table_fills_in():
    ages = {"columns": ["age"], "source": "Register", "provenance": "public", "cells": [["..2", 55], ["3..", 45]]}

    assert asked(schema_of(TOLD | {"hold": "prior", "sd": 3}), ["sex"]) == [None, None, None]
    assert asked(schema_of(TOLD, ages), ["age"], [3]) == [55, 45, 0]


def test_a_query_shows_the_public_count_without_width(tmp_path):
    ages = [value % 6 for value in range(120)]
    data = pl.DataFrame({"age": ages, "sex": ["f", "m"] * 60, "job": ["none"] * 120})
    release = lw.synthesize(data, schema_of(TOLD), epsilon=1, mechanism="Independent", seed=1)
    release.save(tmp_path / "m.lapwing")

    sexes, jobs = release.query("sex"), release.query("job")
    said = lapwing("query", tmp_path / "m.lapwing", "--column", "sex")

    assert sexes["lower"].to_list() == sexes["upper"].to_list() == [50, 40, 10]
    assert sexes["count"].to_list() == pytest.approx([50, 40, 10])
    assert set(sexes["basis"]) == {"public table"}
    assert set(jobs["basis"]) == {"1 noisy count"}
    assert said.err == ""
    assert said.out.count("public table") == 3
