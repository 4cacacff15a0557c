"""Every kind of question at every order of magnitude of cells, rows and batches, on planted neighbours.

Nobody knows beyond which size a shortcut will be put one day. So sizes grow by factors of ten from 1 to a million, and
answers at each of them are naive counts plus noise drawn again from the recorded words, of the law that they declare.
"""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from helpers.grown_checks import COSTS, flags_at, flags_of_all, kept_flags
from helpers.grown_questions import KINDS, grown_pair
from helpers.grown_texts import text_flags
from lapwing.kernel.questions.registered import KINDS as REGISTERED
from lapwing.rows.linked import code_linked
from lapwing.schema.schemas import Schema

HOME = {"name": "home", "type": "integer", "role": "identifier"}
LINKED = Schema.load(
    {
        "tables": {
            "homes": {
                "primaryKey": "home",
                "fields": [HOME, {"name": "kind", "type": "integer", "constraints": {"minimum": 0, "maximum": 2}}],
            },
            "people": {
                "foreignKeys": {"home": "homes"},
                "maxRows": 3,
                "fields": [HOME, {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 89}}],
            },
        }
    }
).linked
TERMS = (("add-remove", 1), ("replace-one", 3), ("replace-one", 1), ("add-remove", 3))
SLOW = ("TreeCounts", "SelectWorst", "SelectWorst of large tables")
"""Of which CI asks up to 100,000 cells."""

MAGNITUDES = [10**power for power in range(7)]
"""Of cells, and of rows."""


def test_every_registered_question_grows():
    assert {name.split()[0] for name in KINDS} | {"CategorySelection"} == set(REGISTERED)


def turn(place):
    return TERMS[place % len(TERMS)]


@pytest.mark.parametrize("notion", COSTS)
@pytest.mark.parametrize(
    ("name", "cells"),
    [
        pytest.param(name, cells, marks=[pytest.mark.full] if cells == 10**6 and name in SLOW else [])
        for name, kind in KINDS.items()
        for cells in sorted({*MAGNITUDES, kind.most})
        if cells <= kind.most
    ],
)
def test_of_any_number_of_cells_answers_are_naive_counts_plus_fresh_noise(name, cells, notion):
    kind = KINDS[name]
    relation, max_rows = ("replace-one", 1) if kind.relation else turn(len(str(cells)) + list(COSTS).index(notion))
    values = 2 if kind.is_narrow else max(cells, 2)
    one, two = grown_pair(values, 400, relation, max_rows)
    pair = [(one, two), (two, one)][: 1 if cells >= 10**5 else 2]
    copies = max(1, min(kind.copies, 4000 // cells))

    assert flags_at(kind, pair, COSTS[notion], size=cells, copies=copies) == []


FORMS = {"kept": {}, "read again": {"memory": 0}, "in a file": {"memory": 0, "scratch": True}}
"""How the rows of a table are held between passes."""


@pytest.mark.parametrize(
    ("rows", "form"),
    [
        pytest.param(
            rows, form, marks=[pytest.mark.full] if rows == 10**7 or (rows == 10**6 and form != "kept") else []
        )
        for rows in (*MAGNITUDES, 10**7)
        for form in FORMS
    ],
)
def test_of_any_number_of_rows_answers_are_naive_counts_plus_fresh_noise(rows, form, tmp_path):
    place = len(str(rows)) + list(FORMS).index(form)
    settings = FORMS[form] | ({"scratch": str(tmp_path)} if "scratch" in FORMS[form] else {})
    one, two = grown_pair(16, rows, *turn(place), has_unit=turn(place)[1] > 1 or place % 4 < 2)

    assert flags_of_all(one, two, place, settings) == []
    assert rows >= 10**6 or flags_of_all(two, one, place, settings) == []


@pytest.mark.parametrize(("relation", "max_rows"), TERMS)
@pytest.mark.parametrize("place", [0, 1], ids=["one notion each", "the other one"])
def test_of_many_rows_answers_are_naive_counts_plus_fresh_noise_under_all_terms(relation, max_rows, place):
    one, two = grown_pair(16, 70_001, relation, max_rows)

    assert flags_of_all(one, two, place, {}) == []


@pytest.mark.parametrize("notion", COSTS)
@pytest.mark.parametrize(
    ("texts", "rows_of_each", "most"),
    [(1, 60, 1), (10, 60, 3), (100, 60, 60), (1000, 60, 300), (10**4, 60, 100), (10**5, 1, 10), (1, 10**6, 1)],
)
def test_of_any_number_of_texts_the_noisiest_are_shown(texts, rows_of_each, most, notion):
    assert text_flags(texts, rows_of_each, most, COSTS[notion], *turn(len(str(texts)))) == []


@pytest.mark.parametrize("notion", COSTS)
@pytest.mark.parametrize("most_cells", [0, 40, None])
def test_answers_from_kept_tables_are_the_same_counts_with_noise_of_their_own(most_cells, notion):
    assert kept_flags(most_cells, COSTS[notion]) == []


def test_a_unit_of_a_large_database_moves_its_own_rows_alone():
    homes, flats = 70_000, 4
    tables = {
        "homes": pl.DataFrame({"home": np.arange(homes), "kind": np.arange(homes) % 3}),
        "people": pl.DataFrame({"home": np.arange(homes * flats) // flats, "age": np.arange(homes * flats) % 90}),
    }
    whole = {name: counted_rows(each.source) for name, each in code_linked(tables, LINKED).items()}
    for leaves in (0, 2**14 - 1, 2**16 // flats, homes - 1):
        left = {name: frame.filter(pl.col("home") != leaves) for name, frame in tables.items()}
        for name, each in code_linked(left, LINKED).items():
            gone, new = whole[name] - counted_rows(each.source), counted_rows(each.source) - whole[name]
            assert (gone.total(), new.total()) == ({"homes": 1, "people": 3}[name], 0), (leaves, name)


def counted_rows(source):
    """Return how many rows say the same, of all columns that are counted."""
    return Counter(
        row for chunk in source.chunks() for row in zip(*(each.tolist() for each in chunk.values()), strict=True)
    )
