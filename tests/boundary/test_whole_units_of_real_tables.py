"""Whole units of real tables are added, removed and replaced, and record and replay finds nothing.

The unit that differs owns more rows than are used; its rows are spread over chunks and files; at times they are all the
same, or all lack their identifier; in some rows everything is missing or special together.
"""

from dataclasses import replace

import numpy as np
import pytest

import lapwing.rows.source
from helpers.whole_units import as_files, owned_schema, real_table, unit_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.rows.source import code_table
from mechanism_checks import settings_for

TABLES = ["diabetes130", "eusilc", "mimic-demo-admissions"]
MECHANISMS = [(Independent.small(), 50), (PMM.small(), 2), (Adaptive.small(), 5)]
"""Each with the number of columns that it is given: all, two, and as many as take little time."""

PAIRS = 2
"""Of each table and mechanism under one relation in CI: of either notion. The full suite makes eight of each."""

TIMES = (1, 1000)
"""Budgets, beside one: Adaptive asks tables of two columns of few rows only where the noise is small."""


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(lapwing.rows.source, "MAX_CHUNK_ROWS", 8)


def pairs(folder, rng, relation, max_rows, columns, form, count=PAIRS):
    """Yield neighbours; the schema's own number of rows where none is given."""
    frame, schema = real_table(folder)
    for _ in range(count):
        own = owned_schema(schema, max_rows or schema["privacyUnit"]["maxRows"], rng, columns)
        yield unit_pair(rng, frame, own, relation, form)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("name", "max_rows", "relation", "mechanism", "columns"),
    [
        pytest.param(*table, relation, *kind, marks=[pytest.mark.full] if (row + column + turn) % 3 else [])
        for row, table in enumerate(zip(TABLES, [1, 3, None], strict=True))
        for column, kind in enumerate(MECHANISMS)
        for turn, relation in enumerate(["add-remove", "replace-one"])
    ],
    ids=lambda each: getattr(each, "name", str(each)),
)
@pytest.mark.parametrize("count", [PAIRS, pytest.param(8, marks=pytest.mark.full)])
def test_no_pair_that_differs_in_a_whole_unit_is_flagged(
    count, name, max_rows, relation, mechanism, columns, shared_data, tmp_path
):
    rng = np.random.default_rng([len(name), columns, max_rows or 0])
    made = pairs(shared_data / name, rng, relation, max_rows, columns, as_files(tmp_path, rng), count)
    flagged = []

    for place, pair in enumerate(made):
        # Each notion meets the small budget under one relation, and the large one under the other.
        times = TIMES[(place + place // 2 + len(relation)) % 2]
        settings = settings_for(mechanism, pair.schema, relation, pure=bool(place % 2), times=times)
        flagged += audit_pair(pair.data, pair.neighbour, settings)

    assert flagged == []


@pytest.mark.parametrize("name", TABLES)
def test_the_unit_that_differs_owns_more_rows_than_are_used(name, shared_data, tmp_path):
    rng = np.random.default_rng(4)

    for pair in pairs(shared_data / name, rng, "add-remove", 3, 4, as_files(tmp_path, rng), 4):
        one, other = (code_table(table, pair.schema) for table in (pair.data, pair.neighbour))
        uncut = [
            code_table(table, replace(pair.schema, privacy_unit=None)).rows for table in (pair.data, pair.neighbour)
        ]

        assert abs(one.units - other.units) == 1
        assert abs(one.rows - other.rows) == 3
        assert abs(uncut[0] - uncut[1]) > 3
