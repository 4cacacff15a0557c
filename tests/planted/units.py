"""Mistakes about people with many rows: which of them stay, what a unit is, and noise for many rows."""

import itertools
import math
from dataclasses import replace

import numpy as np

import lapwing.rows.source as sources
from helpers.planted_audits import replay, replay_of_files
from helpers.planting import instead_of, seen_by
from lapwing.extras.audit import replay as replaying
from lapwing.extras.audit.worst_case import CRAMPED_TABLES
from lapwing.kernel.noise_law import Sensitivity, row_sensitivity
from lapwing.kernel.questions.marginal_counts import question as tables
from lapwing.kernel.questions.tree_counts import question as trees
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.release.runs import records as front
from lapwing.rows import units as truncation
from lapwing.rows.units import UnitNumbers

FILES, FILES_OF_TREES = (replay_of_files(kind.small()) for kind in (Independent, PMM))
TABLES = replay(Independent.small())
OWNING = replay(Independent.small(), rows_per_unit=(3,))
CRAMPED = replay(Independent.small(), relations=("add-remove",), rows_per_unit=(3,), mode=CRAMPED_TABLES)

# ---------------------------------------------------------------------------------------- which rows of a unit stay

keeping = instead_of(sources, "kept_rows")


@keeping
def each_unit_keeps_the_rows_that_come_first(honest, units, hashes, *rest):
    """Let the order in which a database returns rows decide: the same table gives two releases."""
    return honest(units, np.arange(len(hashes), dtype=np.uint64), *rest)


@keeping
def each_unit_keeps_one_row_too_many(honest, units, hashes, max_rows, *rest):
    return honest(units, hashes, max_rows + 1, *rest)


@keeping
def units_just_above_the_limit_are_not_cut(honest, units, hashes, max_rows, *rest):
    """Take "more than max_rows rows" for "more than max_rows + 1"."""
    kept = honest(units, hashes, max_rows, *rest)
    return kept | (np.bincount(units)[units] == max_rows + 1) if len(units) else kept


@keeping
def units_with_too_many_rows_are_dropped_whole(honest, units, hashes, max_rows, *rest):
    """Drop instead of cut: the number of rows under replace-one is then no longer that of the units."""
    return np.bincount(units)[units] <= max_rows


@keeping
def rows_are_kept_until_their_share_of_the_table_is_reached(honest, units, hashes, max_rows, *rest):
    """Let units keep more rows where the table is large."""
    return honest(units, hashes, max(max_rows, len(units) // 4), *rest)


@keeping
def small_tables_are_not_cut(honest, units, *rest):
    """Skip the cut where a table has few rows, to save a sort."""
    return np.ones(len(units), dtype=bool) if len(units) < 16 else honest(units, *rest)


@keeping
def the_cut_is_on_average(honest, units, hashes, max_rows, *rest):
    """Skip the cut where units own at most max_rows rows on average: one of them may still own them all."""
    is_few = len(units) <= (units.max(initial=-1) + 1) * max_rows
    return np.ones(len(units), dtype=bool) if is_few else honest(units, hashes, max_rows, *rest)


@keeping
def the_hash_is_salted_by_the_size_of_the_table(honest, units, hashes, *rest):
    """Let all units keep other rows when one row more or less is there."""
    return honest(units, hashes * np.uint64(2 * len(units) + 1), *rest)


@keeping
def a_shuffle_with_a_fixed_seed_chooses_the_rows_to_keep(honest, units, hashes, *rest):
    """Keep the habit `frame.sample(frac=1, random_state=0).groupby(unit).head(k)` of pandas.

    One unit less, and every other unit keeps other rows.
    """
    return honest(units, np.random.default_rng(0).permutation(len(hashes)).astype(np.uint64), *rest)


def hashes_are_drawn_from_a_fixed_seed(patch):
    """One generator runs over the whole table: where a unit goes, all later units keep other rows."""

    def hashes(honest, codes, columns):
        return np.random.default_rng(0).integers(0, 2**63, len(codes[columns[0]])).astype(np.uint64)

    for module in (sources, truncation):
        instead_of(module, "row_hashes")(hashes)(patch)


@keeping
def four_rows_at_a_time_are_cut_by_themselves(honest, units, *rest):
    """Let a unit with rows in k chunks keep k times too many."""
    return honest(units + (units.max(initial=0) + 1) * (np.arange(len(units)) // 4), *rest)


@keeping
def each_chunk_is_cut_by_itself(honest, units, hashes, max_rows, chunks, columns):
    ends = np.cumsum([0, *(len(chunk[columns[0]]) for chunk in chunks())]).tolist()
    spans = [slice(*each) for each in itertools.pairwise(ends)]
    found = [honest(units[each], hashes[each], max_rows, list, columns) for each in spans]
    return np.concatenate([np.empty(0, dtype=bool), *found])


@instead_of(sources._Streamed, "__init__")
def streams_are_not_cut(honest, self, rows, kept=None, units=None):
    """Forget the cut where a table does not fit the cache and is read again."""
    honest(self, rows, None, units)


@instead_of(replaying, "code_table")
def units_own_as_many_rows_as_they_like(honest, data, schema, **reading):
    return honest(data, replace(schema, privacy_unit=None), **reading)


# ---------------------------------------------------------------------------------------------- what a unit is


def numbering(change):
    """Give the units other numbers; ``change(numbers, chunk)`` is given the chunk of every row, too."""

    @instead_of(UnitNumbers, "numbers")
    def numbers(honest, self):
        chunk = np.repeat(np.arange(len(self._keys)), [len(keys) for keys in self._keys])
        return np.unique(change(honest(self), chunk), return_inverse=True)[1]

    return numbers


each_file_is_cut_by_itself = numbering(lambda numbers, chunk: numbers * (chunk.max(initial=0) + 1) + chunk)


@numbering
def units_are_numbered_anew_in_every_file(numbers, chunk):
    """Take the third unit of one file and the third of the next for one person."""
    for each in np.unique(chunk):
        numbers[chunk == each] = np.unique(numbers[chunk == each], return_inverse=True)[1]
    return numbers


@instead_of(UnitNumbers, "numbers")
def each_null_is_a_unit(honest, self):
    """Compare units as SQL does, where NULL equals nothing: rows without a unit are never cut."""
    units = honest(self)
    null = np.concatenate([np.empty(0, dtype=np.uint8), *self._sorts]) == truncation._NULL
    units[null] = units.max(initial=0) + 1 + np.arange(null.sum())
    return np.unique(units, return_inverse=True)[1]


# ---------------------------------------------------------------------------------------- noise for many rows


def bounding(change):
    """Calibrate tables and trees for other changes than a unit makes."""

    def plant(patch):
        for module in (tables, trees):
            patch.setattr(module, "row_sensitivity", change)

    return plant


the_sensitivity_is_that_of_one_row = bounding(lambda relation, max_rows: row_sensitivity(relation, 1))


@bounding
def the_noise_grows_with_the_root_of_max_rows(relation, max_rows):
    """Take the Gaussian rule of thumb for pure ε, too."""
    one = row_sensitivity(relation, 1)
    return Sensitivity(math.ceil(one.l1 * math.sqrt(max_rows)), one.l2_squared * max_rows)


@instead_of(tables.MarginalCounts, "sensitivity")
def the_rows_of_a_unit_add_up_in_squares(honest, question, relation, max_rows):
    """As if the rows of a unit always lay in different cells: m instead of m squared."""
    bound = honest(question, relation, max_rows)
    return Sensitivity(bound.l1, bound.l2_squared // max_rows)


def the_noise_is_for_the_largest_unit_that_is_there(patch):
    """Save noise where nobody owns as many rows as the schema allows."""
    sizes = {}

    @keeping
    def keep(honest, units, *rest):
        kept = honest(units, *rest)
        sizes[int(kept.sum())] = int(np.bincount(units[kept]).max(initial=1))
        return kept

    @instead_of(replaying, "public_terms")
    def terms(honest, source, schema, relation, expected):
        most = min(schema.max_rows, sizes.get(source.rows, 1))
        return Terms(relation=relation, max_rows=most, expected_rows=expected)

    keep(patch)
    terms(patch)


@instead_of(front, "open_room")
def the_noise_is_for_the_rows_that_units_own_on_average(honest, private, schema, terms, *more, **settings):
    owned = max(1, -(-private.rows // max(1, private.units)))
    return honest(private, schema, replace(terms, max_rows=min(terms.max_rows, owned)), *more, **settings)


@instead_of(replaying, "public_terms")
def the_terms_forget_the_rows_per_unit(honest, source, schema, relation, expected):
    """Keep three rows per unit and add noise for one."""
    return Terms(relation=relation, expected_rows=expected)


USUAL = (TABLES,)
WITHIN = 64
BUGS = (
    # What is of the rows, before anything is asked: full runs look with PMM, too.
    *seen_by(
        FILES,
        each_unit_keeps_the_rows_that_come_first,
        each_unit_keeps_one_row_too_many,
        units_with_too_many_rows_are_dropped_whole,
        rows_are_kept_until_their_share_of_the_table_is_reached,
        the_hash_is_salted_by_the_size_of_the_table,
        each_file_is_cut_by_itself,
        units_are_numbered_anew_in_every_file,
        also=[FILES_OF_TREES],
        within=1200,
    ),
    *seen_by(
        (FILES, FILES_OF_TREES),
        the_sensitivity_is_that_of_one_row,
        the_noise_grows_with_the_root_of_max_rows,
        within=1200,
    ),
    *seen_by(FILES, the_noise_is_for_the_largest_unit_that_is_there, also=[FILES_OF_TREES], first=52, within=1200),
    *seen_by(TABLES, units_own_as_many_rows_as_they_like, says="the answers lose"),
    *seen_by(OWNING, the_cut_is_on_average, first=20, within=24),
    *seen_by(CRAMPED, each_chunk_is_cut_by_itself, streams_are_not_cut, within=24),
)
