"""Privacy bugs planted by somebody who has not read the audits, and what finds each.

`PLANTED` says which audit shows each on how many generated pairs; the code without it is unflagged on the same pairs.
The bugs are in `helpers.stranger_bugs` and `helpers.stranger_bugs_of_answers`.
"""

import functools
from dataclasses import replace

import numpy as np
import pytest

from helpers import stranger_bugs as rows
from helpers import stranger_bugs_of_answers as answers
from helpers.audits import flags_of
from helpers.linear_runs import AskingSums
from lapwing.audit.black_box import certified_loss
from lapwing.audit.question_cases import question_cases
from lapwing.mechanisms.adaptive import Adaptive
from lapwing.mechanisms.independent import Independent
from lapwing.mechanisms.kd_tree import KDTree
from lapwing.mechanisms.microaggregation import Microaggregation
from lapwing.mechanisms.pmm import PMM
from lapwing.noise.bits import SystemBits
from lapwing.table import source

ALONE = Independent()
SPLITTING = KDTree.small()
THRESHOLD = replace(SPLITTING, fit="threshold", coarse=0.5, fine=0.25)
GROWING = Adaptive.small()
MEANS = replace(Microaggregation.small(), numbers="means")


# --------------------------------------------------------------------------------------------- where audits are done


def usual(_):
    """Leave tables in memory and words uniform."""


def cramped(plant):
    """Let no table fit the cache, and cut all into chunks of eight rows, as only very large tables are."""
    for name, size in {"CACHE_BYTES": 0, "MAX_CHUNK_ROWS": 8, "_LEAST_CHUNK_ROWS": 1}.items():
        plant.setattr(source, name, size)


def unlikely(plant):
    """Give words near 0 and near the largest one far too often: noise and choices that are rare are looked at too.

    Record and replay holds for any words. Each word is still one of all, so that repeated draws end.
    """
    rng = np.random.default_rng(5)

    def words(_, count):
        plain = rng.integers(0, 2**64, count, dtype=np.uint64)
        small = plain >> rng.integers(0, 48, count).astype(np.uint64)
        kind = rng.integers(0, 8, count)
        return np.where(kind == 0, small, np.where(kind == 1, ~small, plain))

    plant.setattr(SystemBits, "words", words)


OWNING = {"relations": ("add-remove",), "rows_per_unit": (3,)}
NARROW = {"relations": ("add-remove",), "rows_per_unit": (1,)}
FUNCTIONS = AskingSums(forms=("functions",))
PLANTED = (
    (rows.shuffled_cut, ALONE, 1, usual, {}),
    (rows.one_row_too_many, ALONE, 2, usual, {}),
    (rows.small_tables_are_not_cut, ALONE, 2, usual, {}),
    (rows.cut_on_average, ALONE, 21, usual, {"rows_per_unit": (3,)}),
    (rows.each_null_is_a_unit, ALONE, 3, usual, {}),
    (rows.cut_within_chunks, ALONE, 6, cramped, OWNING),
    (rows.streams_are_not_cut, ALONE, 4, cramped, OWNING),
    (rows.most_frequent_imputed, ALONE, 2, usual, {}),
    (rows.range_of_the_data, ALONE, 3, usual, {}),
    (rows.rare_values_suppressed, ALONE, 2, usual, {}),
    (rows.noise_of_the_other_relation, ALONE, 5, usual, {}),
    (rows.whole_scales, ALONE, 1, usual, {"times": 100}),
    (rows.noise_kept_across_runs, ALONE, 16, usual, {}),
    (rows.empty_cells_stay_empty, ALONE, 1, usual, {}),
    (rows.constants_need_no_noise, ALONE, 12, usual, {}),
    (rows.redrawn_until_pretty, ALONE, 1, unlikely, {}),
    (rows.no_more_than_all_rows, ALONE, 1, usual, {}),
    (rows.noise_never_absurd, ALONE, 1, unlikely, {}),
    (rows.failed_noise_is_none, ALONE, 1, unlikely, {}),
    (answers.best_of_the_accepted, GROWING, 2, unlikely, NARROW),
    (answers.misfit_as_a_share, GROWING, 2, unlikely, NARROW),
    (answers.tables_of_another_release, GROWING, 8, unlikely, NARROW),
    (answers.columns_in_parallel, ALONE, 1, usual, {}),
    (answers.levels_in_parallel, PMM.small(), 1, usual, NARROW),
    (answers.sure_choices_are_not_drawn, GROWING, 1, unlikely, {**NARROW, "times": 10_000}),
    (answers.rows_looked_up, GROWING, 2, usual, {**NARROW, "times": 100, "expected_rows": None}),
    (answers.lone_rows_are_not_split, SPLITTING, 1, unlikely, {}),
    (answers.one_noise_per_level, SPLITTING, 8, unlikely, {}),
    (answers.depth_without_a_price, SPLITTING, 8, unlikely, {}),
    (answers.empty_leaves_left_out, THRESHOLD, 1, unlikely, NARROW),
    (answers.columns_scaled_by_their_largest, MEANS, 1, usual, {}),
    (answers.centred_at_the_mean, MEANS, 1, usual, {}),
    (answers.one_failure_for_all, FUNCTIONS, 5, usual, NARROW),
    (answers.misfits_certified, ALONE, 1, usual, {}),
    (answers.as_many_rows_as_the_table, ALONE, 1, usual, {}),
    (answers.rows_per_unit_as_observed, ALONE, 7, usual, {}),
    (answers.rows_in_a_debug_line, ALONE, 1, usual, {}),
    (answers.small_tables_warned_of, ALONE, 2, usual, {}),
    (answers.empty_tables_refused, ALONE, 28, usual, {}),
)
"""Bug, mechanism, the pair that was the first to show it, where the audit was done, and settings of it."""


def flagged(mechanism, pairs, changes):
    """Return the flags within so many pairs, rounded up to whole rounds over relations, rows per unit and notions."""
    settings = dict(changes)
    of_a_round = 2 * len(settings.get("relations", (0, 1))) * len(settings.get("rows_per_unit", (1, 3)))
    return flags_of(mechanism, pairs=8 * -(-pairs // of_a_round), **settings)


@functools.cache
def honest_flags(mechanism, place, changes):
    """Return the flags of the code as it is, on all pairs that any bug of this mechanism is looked for with."""
    alike = [each[2] for each in PLANTED if (each[1], each[3], tuple(each[4].items())) == (mechanism, place, changes)]
    with pytest.MonkeyPatch.context() as plant:
        place(plant)
        return flagged(mechanism, max(alike), changes)


@pytest.mark.parametrize(
    ("bug", "mechanism", "pairs", "place", "changes"), PLANTED, ids=[each[0].__name__ for each in PLANTED]
)
def test_a_bug_is_flagged_and_the_code_without_it_is_not(bug, mechanism, pairs, place, changes, monkeypatch):
    assert honest_flags(mechanism, place, tuple(changes.items())) == ()

    place(monkeypatch)
    bug(monkeypatch)

    assert flagged(mechanism, pairs, changes)


def certified_of_two_counts():
    """Return claim and certified loss of a table of two cells between worst-case neighbours, under pure epsilon."""
    wanted = ("MarginalCounts", "replace-one", 1, "pure")
    (case,) = (
        each for each in question_cases() if (each.question, each.relation, each.max_rows, each.cost.notion) == wanted
    )
    return case.claim, certified_loss(*case.run(6_000), delta=case.at_delta)


def test_a_bug_inside_the_sampler_is_seen_by_the_black_box_alone(monkeypatch):
    claim, certified = certified_of_two_counts()
    assert certified <= claim

    rows.zero_drawn_twice(monkeypatch)

    claim, certified = certified_of_two_counts()
    assert certified > claim
    assert flagged(ALONE, 8, {}) == ()
