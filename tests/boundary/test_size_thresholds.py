"""Every number at which code of the kernel or of rows takes another way is crossed by a test that is named.

Of sizes the test asks at all orders of magnitude: a new threshold of cells, rows or draws lies inside what they try,
or it is refused here. Of other numbers the test is named that has cases on both sides.
"""

import ast

import numpy as np
import polars as pl
import pytest

from helpers.grown_questions import KINDS
from helpers.size_thresholds import thresholds
from helpers.source_tree import ROOT, planted
from lapwing.rows.cells import Numbers, Texts
from lapwing.rows.codec import encode
from lapwing.schema.fields import Field

SWEPT = {
    "cells": (1, 10**6, "tests/boundary/test_every_size.py", "test_of_any_number_of_cells_answers_are_naive_counts"),
    "rows": (1, 10**6, "tests/boundary/test_every_size.py", "test_of_any_number_of_rows_answers_are_naive_counts"),
    "draws": (1, 10**6, "tests/statistical/test_laws_at_every_size.py", "test_draws_have_their_law_however_many"),
    "tables": (1, 301, "tests/boundary/test_every_size.py", "test_of_any_number_of_cells_answers_are_naive_counts"),
    "values": (1, 20_000, "tests/boundary/test_size_thresholds.py", "test_of_any_number_of_values_cells_are_coded"),
}
"""What sizes are tried of: the least, the largest, and by which test."""

SIZES = {
    ("kernel/noise/gaussian.py", "CHUNK"): "draws",
    ("kernel/noise/geometric.py", "CHUNK"): "draws",
    ("kernel/noise/laplace.py", "CHUNK"): "draws",
    ("kernel/noise/inverse_cdf.py", "GUIDED_SIZE"): "draws",
    ("kernel/noise/selection.py", "LARGEST_BATCH"): "draws",
    ("kernel/noise/geometric.py", "FEW"): "draws",
    ("kernel/noise/bits.py", "BLOCK_WORDS"): "draws",
    ("kernel/questions/answering.py", "_ROWS"): "rows",
    ("kernel/questions/table_distances/answer.py", "_ROWS"): "rows",
    ("kernel/questions/table_distances/answer.py", "_DENSE"): "cells",
    ("rows/counting.py", "LISTED"): "cells",
    ("rows/counting.py", "_MOST_GROUPS"): "cells",
    ("rows/counting.py", "_MANY"): "tables",
    ("rows/counting.py", "_TOGETHER"): "tables",
    ("rows/exact_tables.py", "LISTED"): "cells",
    ("rows/categories.py", "_MOST_DENSE"): "values",
    ("rows/frames.py", "_JOINED_ROWS"): "rows",
    ("rows/linked.py", "MAX_CHUNK_ROWS"): "rows",
    ("rows/source.py", "MAX_CHUNK_ROWS"): "rows",
    ("rows/source.py", "_LEAST_CHUNK_ROWS"): "rows",
    ("rows/out/decode.py", "_ROWS_AT_ONCE"): "rows",
}
"""Sizes, by what they are of."""

EXACT = "tests/statistical/test_exact_laws.py"
IDENTIFIERS = "tests/boundary/test_units_at_every_size.py"
CELLS = "tests/unit/test_codec.py"
SPARK = "tests/engines/test_spark_frames.py"
NUMBERS = {
    "kernel/noise/bernoulli.py": {
        EXACT: "EXPONENT_BITS EXPONENT_CLIP MULTIPLE_BITS PRODUCT_BITS SLACK STEP_BITS WORD_BITS",
    },
    "kernel/noise/gaussian.py": {EXACT: "8 CLIP_SCALES EXPONENT_CLIP LARGEST_SCALE TABULATED_SCALE"},
    "kernel/noise/geometric.py": {
        EXACT: "3 BASE DIGIT_BITS LIMIT MAX_PLACES RESTART_BITS",
        "tests/statistical/test_noise_laws.py": "NARROW_POPULATION",
    },
    "kernel/noise/inverse_cdf.py": {EXACT: "GUIDE_BITS OPEN WORD_BITS"},
    "kernel/noise/selection.py": {EXACT: "WORD_BITS"},
    "kernel/questions/category_selection/question.py": {"tests/unit/test_unlisted_texts.py": "LONGEST_TEXT"},
    "kernel/questions/linear_statistics/programs.py": {"tests/property/test_expressions.py": "20|LIMIT"},
    "kernel/questions/linear_statistics/question.py": {"tests/property/test_expressions.py": "ONE"},
    "kernel/questions/second_moment/question.py": {"tests/boundary/test_vector_privacy.py": "4"},
    "kernel/questions/shared/cell_rows.py": {"tests/unit/test_counting.py": "WORD"},
    "kernel/questions/shared/cells.py": {"tests/unit/test_cells.py": "2 ** 62"},
    "kernel/questions/shared/coordinates.py": {"tests/unit/test_vector_questions.py": "MOST_COORDINATES"},
    "kernel/questions/shared/projections.py": {
        "tests/unit/test_vectors.py": "MOST_NET_NUMBERS|MOST_PROJECTED_CELLS",
    },
    "rows/categories.py": {CELLS: "2 ** 63|2.0 ** 63|_FAR|DAY_MICROSECONDS"},
    "rows/cells.py": {CELLS: "-2 ** 63|12|2 ** 63|2.0 ** 53|2.0 ** 63|24|6|60|_MOST_BITS|_MOST_DIGITS"},
    "rows/codec.py": {CELLS: "2 ** 63|_INT64_SPAN|DAY_MICROSECONDS"},
    "rows/counting.py": {"tests/unit/test_counting.py": "3|_COMPACT_ROWS"},
    "extras/spark/distributed.py": {SPARK: "_LEAST_ROWS _MOST_ROWS _PART_CELLS"},
    "rows/frames.py": {"tests/unit/test_values_as_written.py": "_FIRST_CLOCK _LAST_CLOCK"},
    "extras/spark/frames.py": {SPARK: "_PART_BYTES"},
    "rows/files.py": {"tests/unit/test_files.py": "4 _WIDE"},
    "rows/formats.py": {"tests/unit/test_foreign_files.py": "_MOST_DIGITS"},
    "extras/connect/tables/statistics_out.py": {"tests/property/test_statistics_out.py": "_MOST"},
    "extras/connect/tables/workbooks.py": {"tests/unit/test_foreign_files.py": "EXACT"},
    "extras/spark/rows.py": {"tests/engines/test_rows_on_engines.py": "_MOST_PARTITIONS"},
    "rows/guard.py": {"tests/boundary/test_guard_leaks_nothing.py": "3"},
    "rows/layouts.py": {"tests/boundary/test_no_schema.py": "_MANY_DIGITS"},
    "rows/out/decode.py": {"tests/property/test_decode_resolutions.py": "_MOST_DECIMALS"},
    "rows/out/staging.py": {"tests/unit/test_files.py": "8"},
    "rows/out/writers.py": {
        "tests/unit/test_files.py": "_EXACT _MOST_CATEGORIES _MOST_MICROSECONDS",
        "tests/unit/test_layouts.py": "10 _EXACT_SHORT _MOST_DIGITS",
    },
    "rows/source.py": {"tests/boundary/test_units_at_every_size.py": "_CHUNK_CELLS"},
    "rows/spelling.py": {CELLS: "_FIRST_OF_1900S _NOON"},
    "rows/threads.py": {"tests/boundary/test_determinism.py": "_MOST_WORKERS"},
    "extras/connect/tables/workbook_cells.py": {
        "tests/boundary/test_hostile_data_files.py": "MOST_CELLS MOST_CHARACTERS",
        "tests/unit/test_foreign_files.py": "_ROWS",
    },
    "rows/units.py": {IDENTIFIERS: "-2.0 ** 63|2 ** 63|2.0 ** 63|3"},
}
"""Other numbers, by file and the test that has cases on both sides of them."""


def listed():
    """Return all of the catalogue."""
    numbers = {
        (path, word)
        for path, tests in NUMBERS.items()
        for words in tests.values()
        for word in (words.split("|") if "|" in words or "**" in words else words.split())
    }
    return numbers | set(SIZES)


def test_every_threshold_is_in_the_catalogue_and_nothing_else_is():
    found = set(thresholds())

    assert sorted(found - listed()) == [], "cross a new threshold on both sides, and name here the test that does"
    assert sorted(listed() - found) == []


def test_sizes_lie_inside_what_is_tried():
    values = thresholds()

    for key, axis in SIZES.items():
        least, most, *_ = SWEPT[axis]
        assert least < values[key] < most, key
    assert max(kind.copies for kind in KINDS.values()) + 1 == SWEPT["tables"][1]


def test_the_tests_that_are_named_are_there():
    for *_, path, name in SWEPT.values():
        names = [
            each.name for each in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(each, ast.FunctionDef)
        ]
        assert [each for each in names if each.startswith(name)], name
    assert [path for tests in NUMBERS.values() for path in tests if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize(
    "code",
    [
        "def noise(cells):\n    return 0 if cells.size > 50_000 else 1\n",
        "_FAST = 1 << 17\n\ndef rows(chunk):\n    return 0 if len(chunk) >= _FAST else 1\n",
        "def digest(rows):\n    return rows[:16_384]\n",
        "def blocks(rows):\n    return [rows for _ in range(0, len(rows), 5_000)]\n",
        "def few(rows):\n    while rows < 2**12:\n        rows += min(rows, 777)\n",
    ],
)
def test_a_new_threshold_is_found(tmp_path, monkeypatch, code):
    package = tmp_path / "lapwing"
    planted(package, "kernel/noise/gaussian.py", code)
    monkeypatch.setattr("lapwing.kernel.noise.gaussian._FAST", 1 << 17, raising=False)

    assert set(thresholds(package)) - listed()


@pytest.mark.parametrize("values", [2, 10, 1000, 5461, 5462, 20_000])
@pytest.mark.parametrize("form", ["numbers", "texts", "reals"])
def test_of_any_number_of_values_cells_are_coded_by_their_place_in_the_list(values, form):
    listed_values = list(range(0, 3 * values, 3))
    field = Field(name="x", type="integer", categories=tuple(listed_values))
    cells = np.concatenate((np.arange(-2, 3 * values + 3), [10**9, 3 * values - 3]))
    wanted = [cell // 3 if 0 <= cell < 3 * values and cell % 3 == 0 else values for cell in cells.tolist()]
    given = {
        "numbers": lambda: Numbers(cells),
        "texts": lambda: Texts(pl.Series(cells).cast(pl.String)),
        "reals": lambda: Numbers(cells.astype(np.float64)),
    }[form]()

    assert encode(given, field).tolist() == wanted
