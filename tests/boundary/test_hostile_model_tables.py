"""Model files with more log-linear tables than rows can be drawn from in bounded time."""

import io
import json
import math
import time
from pathlib import Path

import numpy as np
import pytest

from helpers.hostile import good_entries, zipped
from lapwing.errors import DataError, ParameterError
from lapwing.mechanisms.adaptive.budget import MOST_PAIRS_AT_ONCE, most_tables
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.model.files import MOST_TABLES, MOST_TABLES_PER_COLUMN, load_release
from lapwing.schema.public_tables.tables import MOST_TABLES as PUBLIC_TABLES
from lapwing.schema.rules.rules import MOST_RULES


def _with_tables(tmp_path: Path, copies: int, theta: np.ndarray | None = None) -> bytes:
    """Return a model file whose one table occurs often, with a theta of its own or another one."""
    entries = good_entries(tmp_path)
    tree = json.loads(entries["model.json"])
    (table,) = tree["log_linear"]["tables"]
    if theta is not None:
        number = sum(name.endswith(".npy") for name in entries)
        stream = io.BytesIO()
        np.save(stream, theta)
        entries[f"a{number:05d}.npy"] = stream.getvalue()
        table["theta"] = {"array": number}
    tree["log_linear"]["tables"] = [table] * copies
    entries["model.json"] = json.dumps(tree).encode()
    return zipped(entries)


def test_a_file_with_as_many_tables_as_may_be_is_read(tmp_path: Path):
    path = tmp_path / "most.lapwing"
    path.write_bytes(_with_tables(tmp_path, MOST_TABLES + 4 * MOST_TABLES_PER_COLUMN))

    part = load_release(path).model.log_linear

    assert part is not None
    assert len(part.tables) == 4608


@pytest.mark.parametrize(("copies", "side"), [(4609, 1), (257, 2**9)], ids=["many", "large"])
def test_more_tables_than_rows_can_be_drawn_from_are_refused(tmp_path: Path, copies: int, side: int):
    path = tmp_path / "hostile.lapwing"
    path.write_bytes(_with_tables(tmp_path, copies, np.random.default_rng(0).random((side, side))))
    started = time.process_time()

    with pytest.raises(DataError, match="has more than 4608 tables, or 67108864 cells"):
        load_release(path)

    assert time.process_time() - started < 5


def test_no_release_of_adaptive_has_more_tables_than_a_model_file_may():
    with pytest.raises(ParameterError):
        Adaptive(rounds=1001)
    for columns in (1, 3, 19, 30, 31, 40, 100, 999, 10_000):
        pairs = math.comb(columns, 2)
        candidates = 6 * pairs + 2 * math.comb(columns, 3)
        for rounds in (1, 5, 100, 1000):
            chosen = min(candidates, rounds * most_tables(columns, rounds) + (pairs <= MOST_PAIRS_AT_ONCE) * pairs)
            measured = columns + chosen

            assert measured + MOST_RULES + PUBLIC_TABLES <= MOST_TABLES + columns * MOST_TABLES_PER_COLUMN
