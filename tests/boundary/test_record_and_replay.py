"""Record and replay over generated neighbours: the main privacy test of a whole release."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.extras.audit.worst_case import mode_of
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.private_sampling.mechanism import PrivateSampling
from lapwing.mechanisms.registry import MECHANISMS
from mechanism_checks import settings_for

PAIRS = 3
"""In CI, one of each mode under each relation, with one row per unit under the one and three under the other: 6 of each
mechanism, and 16 more in the audit of everything (`test_audit_command`), together more than 200 of the room that all
share. Most bugs that somebody planted unread are found within 24 pairs of their mode
(`test_planted`).
"""

MANY_PAIRS = 400
PAIRS_OF_A_FORM = 3
"""For each form, relation and number of rows, one of each mode; the full suite makes 40."""

ANY_TABLE = [kind for kind in MECHANISMS.values() if kind is not PrivateSampling]
"""PrivateSampling takes two-valued columns only: ``test_private_draw_replay.py`` makes pairs of those."""

TIMES = (1, 10, 100, 1000, 10_000)
"""Budgets, beside one: noise drowns tiny tables at a budget of one, and Adaptive then asks one-way tables alone."""


def audited(kind, relation, max_rows, pairs, **form):
    """Return the broken promises over generated pairs of neighbours, a third of them in each mode."""
    rng = np.random.default_rng([max_rows, len(relation), pairs])
    flagged = []
    for number in range(pairs):
        pair = neighbour_pair(rng, relation, max_rows, **form)
        times = int(rng.choice(TIMES))
        settings = settings_for(kind.small(), pair.schema, relation, pure=number % 2 == 0, times=times)
        flagged += audit_pair(pair.data, pair.neighbour, settings, mode=mode_of(number))
    return flagged


@pytest.mark.parametrize(
    ("kind", "relation", "max_rows"),
    [
        pytest.param(kind, relation, max_rows, marks=[pytest.mark.full] if (place + turn) % 2 else [])
        for place, kind in enumerate(ANY_TABLE)
        for turn, (relation, max_rows) in enumerate(
            [("add-remove", 1), ("add-remove", 3), ("replace-one", 3), ("replace-one", 1)]
        )
    ],
    ids=lambda each: getattr(each, "name", each),
)
@pytest.mark.parametrize("pairs", [PAIRS, pytest.param(MANY_PAIRS, marks=pytest.mark.full)])
def test_no_pair_of_neighbours_is_flagged(kind, relation, max_rows, pairs):
    flagged = audited(kind, relation, max_rows, pairs)

    assert flagged == []


# ------------------------------------------------------------------------------------------------- forms of tables


OBJECTS = {
    "a": np.str_("a"), "b": b"b", "zzz": np.timedelta64(3, "D"), "": [""], "true": True, "perhaps": dt.timedelta(1),
    "0": np.int64(0), "7": 7.0, "40": np.float32(40), "41": 41, "N/A": np.timedelta64("NaT"), "-99999999999999999999":
    -(10**400), "0.25": Decimal("0.250"), "-0.0": -0.0, "5e-324": 5e-324, "nan": np.nan, "inf": np.inf, "text": 1j,
    "2020-02-29": dt.date(2020, 2, 29), "1999-12-31": np.datetime64("1999-12-31"), "not a day":
    np.timedelta64(20, "us"),
}  # fmt: skip
"""What stands in an object column for a text; other texts stand for themselves."""

BYTES = {"zzz": b"\xff", "perhaps": b"\xce\xa3\xff", "text": b"7\xff", "not a day": b"2020-01-0\xff"}
"""What stands in the buffers of Arrow text for a text."""


def as_csv(frame, folder):
    path = folder / f"{sum(1 for _ in folder.iterdir())}.csv"
    frame.write_csv(path)
    return path


def as_objects(frame, _):
    columns = {name: [OBJECTS.get(cell, cell) for cell in frame[name]] for name in frame.columns}
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


def as_arrow(frame, _):
    def text(column):
        cells = [None if cell is None else BYTES.get(cell, cell.encode()) for cell in column]
        return pa.array(cells, pa.large_binary()).view(pa.large_string())

    return pa.table({name: text(frame[name]) for name in frame.columns})


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("form", [as_csv, as_objects, as_arrow])
@pytest.mark.parametrize("pairs", [PAIRS_OF_A_FORM, pytest.param(40, marks=pytest.mark.full)])
def test_no_pair_of_neighbours_in_another_form_is_flagged(form, relation, max_rows, pairs, tmp_path):
    flagged = audited(Independent, relation, max_rows, pairs, form=lambda frame: form(frame, tmp_path))

    assert flagged == []
