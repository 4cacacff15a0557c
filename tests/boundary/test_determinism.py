"""What is counted before noise is a function of the rows as a set: not of order, chunks, threads, memory or form.

The exact part of every question of the closed set is compared as bytes: tables, trees, sums of vectors, scores of
selections, weights of draws, lists of texts.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lapwing.kernel.questions.answering
import lapwing.kernel.questions.table_distances.answer
import lapwing.rows.cache
import lapwing.rows.counting
import lapwing.rows.source
from helpers.asked_questions import asked, exact_parts
from helpers.linked_runs import SCHEMA as LINKED
from helpers.linked_runs import coded_rows, linked_pair
from helpers.private_draws import cube_schema
from helpers.same_rows import FORMS, real_columns, same_rows
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.kernel.questions.registered import REGISTERED
from lapwing.kernel.questions.second_moment.answer import blocks

WORKER = Path(__file__).resolve().parents[1] / "helpers" / "determinism_worker.py"
FULL = pytest.mark.full
SOME = ("diabetes130", "eusilc", "mimic-demo-admissions", "adult")
"""The first three have privacy units."""

ALL = (
    "adult-pgm", "balog-mog-d2", "bank-marketing", "bn-alarm", "census-kdd", "dpbench-2d", "houston-crime",
    "icu-physionet2012", "jester", "letter", "magic", "mushrooms", "nhanes", "nist-ma2019", "nltcs", "nyc-airbnb",
    "nycflights13", "plants", "rhc-icu", "salary-pgm", "tarragona", "teacher-climate",
)  # fmt: skip


def two_valued(rows, seed):
    """Return a table of Booleans and its schema."""
    schema = cube_schema(3)
    rng = np.random.default_rng(seed)
    return pl.DataFrame({field.name: rng.integers(0, 2, rows).astype(bool) for field in schema.columns}), schema


def generated(seed, max_rows, relation="add-remove"):
    """Return a nasty table of about eighty rows and its schema."""
    rng = np.random.default_rng(seed)
    pair = neighbour_pair(rng, relation, max_rows)
    while pair.data.height < 5:
        pair = neighbour_pair(rng, relation, max_rows)
    return pl.concat([pair.data, pair.data.sample(60, with_replacement=True, seed=seed)]), pair.schema


def differences(every, data, expected):
    """Return which exact parts of a table are other ones."""
    found = exact_parts(every, data)
    return [key for key in expected if found[key] != expected[key]]


# ------------------------------------------------------------------------------------------------------------- forms


@pytest.mark.parametrize(
    ("name", "rows"),
    [("diabetes130", 100), *(pytest.param(name, 3000, marks=FULL) for name in (*SOME, *ALL))],
)
def test_every_form_of_a_real_table_gives_the_same_exact_parts(name, rows, shared_data, tmp_path):
    frame, schema = real_columns(shared_data / name, rows)
    every = asked(frame, schema, "add-remove")
    expected = exact_parts(every, frame)

    for form in FORMS:
        folder = tmp_path / form
        folder.mkdir()
        assert differences(every, same_rows(frame, form, folder), expected) == [], form


def test_every_question_of_the_closed_set_is_looked_at():
    every = [*asked(*generated(1, 3), "add-remove"), *asked(*two_valued(50, 1), "replace-one")]

    assert {type(question) for run in every for question in run.questions} == set(REGISTERED)


# -------------------------------------------------------------------------------------------------- order and chunks


CUTS = {
    (lapwing.rows.source, "MAX_CHUNK_ROWS"): (30, 2**18),
    (lapwing.rows.cache, "CACHE_BYTES"): (0, 2**28),
    (lapwing.rows.counting, "_COUNT_ROWS"): (17, 2**16),
    (lapwing.rows.counting, "_MANY"): (1, 32),
    (lapwing.rows.counting, "_ROWS_OF_MANY"): (17, 2**13),
    (lapwing.rows.counting, "_COMPACT_ROWS"): (20, 2**22),
    (lapwing.kernel.questions.answering, "_ROWS"): (19, 2**12),
    (lapwing.kernel.questions.table_distances.answer, "_ROWS"): (13, 2**15),
    (lapwing.kernel.questions.table_distances.answer, "_DENSE"): (0, 100),
}
"""Where rows are cut into pieces, or counted in another way."""


@pytest.mark.parametrize(
    ("seed", "max_rows"), [(0, 3), *(pytest.param(s, 1 + s % 4, marks=FULL) for s in range(1, 40))]
)
def test_order_and_pieces_change_no_exact_part(seed, max_rows, monkeypatch):
    frame, schema = generated(seed, max_rows)
    every = asked(frame, schema, "add-remove")
    expected = exact_parts(every, frame)

    for order, place in enumerate((0, 1)):
        for (module, constant), sizes in CUTS.items():
            monkeypatch.setattr(module, constant, sizes[place])
        assert differences(every, frame.sample(fraction=1, shuffle=True, seed=order), expected) == []


def test_order_and_pieces_change_no_weight_of_a_private_draw(monkeypatch):
    frame, schema = two_valued(100, 2)
    every = [run for run in asked(frame, schema, "replace-one") if run.name == "PrivateSampling"]
    expected = exact_parts(every, frame)

    monkeypatch.setattr(lapwing.rows.source, "MAX_CHUNK_ROWS", 7)

    assert "PrivateDraw" in {kind for _, _, kind in expected}
    assert differences(every, frame.reverse(), expected) == []


# ----------------------------------------------------------------------------------------------------------- threads


def under_threads(folder, frame, schema, relation, threads):
    """Return the digests of a process with so many threads of each kind, and with a hash seed of its own."""
    frame.write_parquet(folder / "table.parquet", row_group_size=50)
    (folder / "schema.json").write_text(json.dumps(schema.to_dict()))
    kinds = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONHASHSEED")
    told = dict.fromkeys(kinds, str(threads)) | {"PYTHONPATH": str(WORKER.parents[1])}
    command = [sys.executable, str(WORKER), str(folder / "table.parquet"), str(folder / "schema.json"), relation]
    done = subprocess.run(command, env=os.environ | told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["threads"] == threads
    return found["digests"]


def test_threads_change_neither_what_is_counted_nor_what_is_released(tmp_path):
    frame, schema = generated(5, 3)

    one, eight = (under_threads(tmp_path, frame, schema, "add-remove", threads) for threads in (1, 8))

    assert len(one) > 50
    assert one == eight


@FULL
@pytest.mark.parametrize("name", [*SOME, "jester", "letter"])
def test_threads_change_nothing_about_real_tables(name, shared_data, tmp_path):
    frame, schema = real_columns(shared_data / name, 20_000)

    one, two, eight = (under_threads(tmp_path, frame, schema, "add-remove", threads) for threads in (1, 2, 8))

    assert one == two == eight


# ------------------------------------------------------------------------------------------------- faults on purpose


def keep_the_first(units, hashes, max_rows, chunks, columns):
    """Keep the first rows of each unit: the order decides."""
    seen = dict.fromkeys(units.tolist(), 0)
    kept = np.ones(len(units), dtype=bool)
    for row, unit in enumerate(units.tolist()):
        kept[row] = seen[unit] < max_rows
        seen[unit] += 1
    return kept


def lose_the_last_block(chunk, _rows=None):
    """Leave out what does not fill a block."""
    for start in range(0, len(next(iter(chunk.values()))) // 50 * 50, 50):
        yield {name: codes[start : start + 50] for name, codes in chunk.items()}


def round_by_piece(coordinates, source):
    """Round the sums of each piece down to even numbers."""
    products = [coordinates.vectors(block).T @ coordinates.vectors(block) for block in blocks(source)]
    return sum((each.astype(np.int64) // 2 * 2 for each in products), np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize(
    ("place", "fault", "kind"),
    [
        ("lapwing.rows.source.kept_rows", keep_the_first, "a unit"),
        ("lapwing.rows.counting._blocks", lose_the_last_block, "MarginalCounts"),
        ("helpers.asked_questions.exact_products", round_by_piece, "SecondMoment"),
    ],
)
def test_a_count_that_hangs_on_order_or_pieces_is_noticed(place, fault, kind, monkeypatch):
    frame, schema = generated(2, 3)
    frame = pl.concat([frame] * 3)
    schema = schema if kind == "a unit" else replace(schema, privacy_unit=None)
    every = [run for run in asked(frame, schema, "add-remove") if run.name in ("Independent", "Microaggregation")]
    monkeypatch.setattr(place, fault)
    monkeypatch.setattr(lapwing.rows.source, "MAX_CHUNK_ROWS", 64)
    expected = exact_parts(every, frame)

    found = [differences(every, frame.sample(fraction=1, shuffle=True, seed=seed), expected) for seed in range(3)]

    assert any(kind in (*key, "a unit") for keys in found for key in keys)


# ----------------------------------------------------------------------------------------------------- linked tables


def linked_counts(tables):
    """Return the counts of all columns together, of each table."""
    return {name: Counter(tuple(row.items()) for row in coded_rows(tables, LINKED, name)) for name in LINKED.names}


def test_the_order_of_linked_tables_changes_no_coded_row():
    rng = np.random.default_rng(6)
    for seed in range(15):
        tables, _ = linked_pair(rng)

        shuffled = {name: table.sample(fraction=1, shuffle=True, seed=seed) for name, table in tables.items()}

        assert linked_counts(shuffled) == linked_counts(tables)


def test_linked_rows_that_hang_on_the_order_are_noticed(monkeypatch):
    monkeypatch.setattr("lapwing.rows.linked.kept_rows", keep_the_first)
    rng = np.random.default_rng(6)
    found = [linked_pair(rng)[0] for _ in range(15)]

    assert any(
        linked_counts({name: table.reverse() for name, table in tables.items()}) != linked_counts(tables)
        for tables in found
    )
