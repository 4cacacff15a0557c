"""Mistakes about people with many rows, planted one by one: record and replay flags each of them."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

import lapwing.rows.source as sources
from helpers.changed_source import Changed
from lapwing.extras.audit import replay
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.extras.audit.worst_case import CRAMPED_TABLES, USUAL
from lapwing.kernel.noise_law import Sensitivity, row_sensitivity
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.rows.units import UnitNumbers
from mechanism_checks import settings_for


@pytest.fixture
def flags_of(tmp_path):
    """Return an audit of generated pairs, from the first on until one is flagged, whose rows lie in three files."""

    def as_files(frame):
        paths = [tmp_path / f"{sum(1 for _ in tmp_path.iterdir())}.{part}.parquet" for part in range(3)]
        for path, rows in zip(paths, np.array_split(np.arange(frame.height), 3), strict=True):
            frame[rows].write_parquet(path)
        return paths

    def flags(mechanism, rounds, first=0):
        rng = np.random.default_rng(12)
        cases = itertools.product(range(rounds), ("add-remove", "replace-one"), (1, 3), (True, False))
        for place, (number, relation, max_rows, pure) in enumerate(cases):
            pair = neighbour_pair(rng, relation, max_rows, as_files)
            if place < first:
                continue
            settings = settings_for(mechanism, pair.schema, relation, pure=pure)
            # Small files are one chunk together, unless chunks are smaller still.
            mode = CRAMPED_TABLES if number % 2 else USUAL
            found = audit_pair(pair.data, pair.neighbour, settings, mode=mode)
            if found:
                return found
        return ()

    return flags


# ---------------------------------------------------------------------------------------- which rows of a unit stay


def with_kept_rows(patch, change):
    """Choose other rows; ``change(units, hashes, max_rows, honest)`` says which."""
    honest = sources.kept_rows
    patch.setattr(
        sources,
        "kept_rows",
        lambda units, hashes, max_rows, chunks, columns: change(
            units, hashes, max_rows, lambda *others: honest(*others, chunks, columns)
        ),
    )


def each_unit_keeps_the_rows_that_come_first(patch):
    """Let the order in which a database returns rows decide: the same table gives two releases."""
    with_kept_rows(
        patch, lambda units, hashes, max_rows, honest: honest(units, np.arange(len(hashes), dtype=np.uint64), max_rows)
    )


def each_unit_keeps_one_row_too_many(patch):
    with_kept_rows(patch, lambda units, hashes, max_rows, honest: honest(units, hashes, max_rows + 1))


def units_with_too_many_rows_are_dropped_whole(patch):
    """Drop instead of cut: the number of rows under replace-one is then no longer that of the units."""
    with_kept_rows(patch, lambda units, hashes, max_rows, honest: np.bincount(units)[units] <= max_rows)


def rows_are_kept_until_their_share_of_the_table_is_reached(patch):
    """Let units keep more rows where the table is large."""
    with_kept_rows(patch, lambda units, hashes, max_rows, honest: honest(units, hashes, max(max_rows, len(units) // 4)))


def the_hash_is_salted_by_the_size_of_the_table(patch):
    """Let all units keep other rows when one row more or less is there."""
    with_kept_rows(
        patch, lambda units, hashes, max_rows, honest: honest(units, hashes * np.uint64(2 * len(units) + 1), max_rows)
    )


# ---------------------------------------------------------------------------------------------- what a unit is


def with_numbers(patch, change):
    """Give the units other numbers; ``change(numbers, chunk)`` is given the chunk of every row, too."""
    honest = UnitNumbers.numbers

    def numbers(self):
        chunk = np.repeat(np.arange(len(self._keys)), [len(keys) for keys in self._keys])
        return np.unique(change(honest(self), chunk), return_inverse=True)[1]

    patch.setattr(UnitNumbers, "numbers", numbers)


def each_file_is_cut_by_itself(patch):
    with_numbers(patch, lambda numbers, chunk: numbers * (chunk.max(initial=0) + 1) + chunk)


def units_are_numbered_anew_in_every_file(patch):
    """Take the third unit of one file and the third of the next for one person."""

    def anew(numbers, chunk):
        for each in np.unique(chunk):
            numbers[chunk == each] = np.unique(numbers[chunk == each], return_inverse=True)[1]
        return numbers

    with_numbers(patch, anew)


# --------------------------------------------------------------------------------------- rows that do not fit


def rows_that_do_not_fit_are_dropped(patch):
    """Drop rows instead of clamping and marking their cells: how many are left tells what they say."""

    def fitting(schema, codes):
        fits = np.all([codes[field.name] != field.domain.last for field in schema.columns], axis=0)
        return {name: column[fits] for name, column in codes.items()}

    def code_table(data, schema, **reading):
        source = Changed(sources.code_table(data, schema, **reading), partial(fitting, schema))
        source.rows = len(next(source.chunks())[schema.columns[0].name])
        return source

    patch.setattr(replay, "code_table", code_table)


# ---------------------------------------------------------------------------------------- noise for many rows


def with_sensitivity(patch, change):
    """Calibrate tables and trees for other changes than a unit makes."""
    for module in ("marginal_counts", "tree_counts"):
        patch.setattr(f"lapwing.kernel.questions.{module}.question.row_sensitivity", change)


def the_sensitivity_is_that_of_one_row(patch):
    with_sensitivity(patch, lambda relation, max_rows: row_sensitivity(relation, 1))


def the_noise_grows_with_the_root_of_max_rows(patch):
    """Take the Gaussian rule of thumb for pure ε, too."""

    def root(relation, max_rows):
        one = row_sensitivity(relation, 1)
        return Sensitivity(math.ceil(one.l1 * math.sqrt(max_rows)), one.l2_squared * max_rows)

    with_sensitivity(patch, root)


def the_noise_is_for_the_largest_unit_that_is_there(patch):
    """Save noise where nobody owns as many rows as the schema allows."""
    sizes = {}

    def keep(units, hashes, max_rows, honest):
        kept = honest(units, hashes, max_rows)
        sizes[int(kept.sum())] = int(np.bincount(units[kept]).max(initial=1))
        return kept

    with_kept_rows(patch, keep)
    patch.setattr(
        replay,
        "public_terms",
        lambda source, schema, relation, expected: Terms(
            relation=relation, max_rows=min(schema.max_rows, sizes.get(source.rows, 1)), expected_rows=expected
        ),
    )


BUGS = [
    each_unit_keeps_the_rows_that_come_first,
    each_unit_keeps_one_row_too_many,
    units_with_too_many_rows_are_dropped_whole,
    rows_are_kept_until_their_share_of_the_table_is_reached,
    the_hash_is_salted_by_the_size_of_the_table,
    each_file_is_cut_by_itself,
    units_are_numbered_anew_in_every_file,
    rows_that_do_not_fit_are_dropped,
    the_sensitivity_is_that_of_one_row,
    the_noise_grows_with_the_root_of_max_rows,
    the_noise_is_for_the_largest_unit_that_is_there,
]


CALIBRATING = (the_sensitivity_is_that_of_one_row, the_noise_grows_with_the_root_of_max_rows)
"""Bugs of a question. All others are of the rows, before anything is asked: the full suite looks with PMM, too."""

SELDOM = {the_noise_is_for_the_largest_unit_that_is_there: 52}
"""Bugs that show in few pairs, and how many pairs before the first of them are not audited."""


@pytest.mark.parametrize(
    ("plant", "mechanism"),
    [
        pytest.param(plant, kind.small(), marks=[pytest.mark.full] if kind is PMM and plant not in CALIBRATING else [])
        for plant, kind in itertools.product(BUGS, (Independent, PMM))
    ],
    ids=lambda each: getattr(each, "__name__", None) or each.name,
)
def test_a_bug_about_units_is_flagged(plant, mechanism, flags_of, monkeypatch):
    plant(monkeypatch)

    flags = flags_of(mechanism, rounds=150, first=SELDOM.get(plant, 0))

    assert flags


@pytest.mark.parametrize(
    "mechanism",
    [Independent.small(), pytest.param(PMM.small(), marks=pytest.mark.full)],
    ids=["Independent", "PMM"],
)
def test_the_honest_library_is_not_flagged_on_the_same_files(mechanism, flags_of):
    assert flags_of(mechanism, rounds=2) == ()
