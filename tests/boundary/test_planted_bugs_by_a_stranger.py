"""Privacy bugs planted by somebody who has not read the audits, and what finds each.

`PLANTED` says which audit shows each on how many generated pairs; the code without it is unflagged on the first
eight of them, and on all in the full suite, which alone looks at `Independent`: `test_record_and_replay` audits that in
each of the modes. The bugs are in `helpers.stranger_bugs` and
`helpers.stranger_bugs_of_answers`.
"""

from dataclasses import replace

import pytest

from helpers import stranger_bugs as rows
from helpers import stranger_bugs_of_answers as answers
from helpers.audits import flags_of
from helpers.bits import SeededBits
from helpers.linear_runs import AskingSums
from lapwing.extras.audit.run import question_cases
from lapwing.extras.audit.worst_case import CRAMPED_TABLES, UNLIKELY_WORDS, USUAL, certified_loss
from lapwing.kernel.noise.bits import SystemBits
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.trees.kd_tree.mechanism import KDTree
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation

ALONE = Independent()
SPLITTING = KDTree.small()
THRESHOLD = replace(SPLITTING, fit="threshold", coarse=0.5, fine=0.25)
GROWING = Adaptive.small()
MEANS = replace(Microaggregation.small(), numbers="means")

OWNING = {"relations": ("add-remove",), "rows_per_unit": (3,)}
NARROW = {"relations": ("add-remove",), "rows_per_unit": (1,)}
FUNCTIONS = AskingSums(forms=("functions",))
PLANTED = (
    (rows.shuffled_cut, ALONE, 1, USUAL, {}),
    (rows.one_row_too_many, ALONE, 2, USUAL, {}),
    (rows.small_tables_are_not_cut, ALONE, 2, USUAL, {}),
    (rows.cut_on_average, ALONE, 21, USUAL, {"rows_per_unit": (3,)}),
    (rows.each_null_is_a_unit, ALONE, 3, USUAL, {}),
    (rows.cut_within_chunks, ALONE, 24, CRAMPED_TABLES, OWNING),
    (rows.streams_are_not_cut, ALONE, 16, CRAMPED_TABLES, OWNING),
    (rows.most_frequent_imputed, ALONE, 2, USUAL, {}),
    (rows.range_of_the_data, ALONE, 3, USUAL, {}),
    (rows.rare_values_suppressed, ALONE, 2, USUAL, {}),
    (rows.noise_of_the_other_relation, ALONE, 5, USUAL, {}),
    (rows.whole_scales, ALONE, 1, USUAL, {"times": 100}),
    (rows.noise_kept_across_runs, ALONE, 16, USUAL, {}),
    (rows.empty_cells_stay_empty, ALONE, 1, USUAL, {}),
    (rows.constants_need_no_noise, ALONE, 12, USUAL, {}),
    (rows.redrawn_until_pretty, ALONE, 1, UNLIKELY_WORDS, {}),
    (rows.no_more_than_all_rows, ALONE, 1, USUAL, {}),
    (rows.noise_never_absurd, ALONE, 1, UNLIKELY_WORDS, {}),
    (rows.failed_noise_is_none, ALONE, 1, UNLIKELY_WORDS, {}),
    (rows.last_word_given_twice, ALONE, 1, USUAL, {}),
    (rows.last_word_given_twice, GROWING, 1, UNLIKELY_WORDS, NARROW),
    (answers.best_of_the_accepted, GROWING, 16, UNLIKELY_WORDS, NARROW),
    (answers.misfit_as_a_share, GROWING, 16, UNLIKELY_WORDS, NARROW),
    (answers.tables_of_another_release, GROWING, 16, UNLIKELY_WORDS, NARROW),
    (answers.columns_in_parallel, ALONE, 1, USUAL, {}),
    (answers.levels_in_parallel, PMM.small(), 1, USUAL, NARROW),
    (answers.sure_choices_are_not_drawn, GROWING, 1, UNLIKELY_WORDS, {**NARROW, "times": 10_000}),
    (answers.rows_looked_up, GROWING, 2, USUAL, {**NARROW, "times": 100, "expected_rows": None}),
    (answers.lone_rows_are_not_split, SPLITTING, 64, UNLIKELY_WORDS, {"times": 100}),
    (answers.one_noise_per_level, SPLITTING, 24, UNLIKELY_WORDS, {}),
    (answers.depth_without_a_price, SPLITTING, 64, UNLIKELY_WORDS, {"times": 100}),
    (answers.empty_leaves_left_out, THRESHOLD, 1, UNLIKELY_WORDS, NARROW),
    (answers.columns_scaled_by_their_largest, MEANS, 1, USUAL, {}),
    (answers.centred_at_the_mean, MEANS, 1, USUAL, {}),
    (answers.one_failure_for_all, FUNCTIONS, 5, USUAL, NARROW),
    (answers.misfits_certified, ALONE, 1, USUAL, {}),
    (answers.as_many_rows_as_the_table, ALONE, 1, USUAL, {}),
    (answers.rows_per_unit_as_observed, ALONE, 7, USUAL, {}),
    (answers.rows_in_a_debug_line, ALONE, 1, USUAL, {}),
    (answers.small_tables_warned_of, ALONE, 2, USUAL, {}),
    (answers.empty_tables_refused, ALONE, 28, USUAL, {}),
)
"""Bug, mechanism, within how many pairs it is shown, the mode of the audit, and settings of it."""


SELDOM = {rows.cut_on_average: 20, rows.constants_need_no_noise: 11, answers.empty_tables_refused: 27}
"""Bugs that show in few pairs, and how many pairs before the first of them are not audited."""


def flagged(mechanism, pairs, mode, changes, first=0):
    """Return the flags within so many pairs, rounded up to whole rounds over relations, rows per unit and notions."""
    settings = dict(changes)
    of_a_round = 2 * len(settings.get("relations", (0, 1))) * len(settings.get("rows_per_unit", (1, 3)))
    return flags_of(mechanism, pairs=8 * -(-pairs // of_a_round), mode=mode, first=first, **settings)


@pytest.mark.parametrize(
    ("bug", "mechanism", "pairs", "mode", "changes"), PLANTED, ids=[each[0].__name__ for each in PLANTED]
)
def test_a_bug_is_flagged(bug, mechanism, pairs, mode, changes, monkeypatch):
    bits = SeededBits(5)  # the same words each time: what most runs show is shown by all
    monkeypatch.setattr(SystemBits, "words", lambda _, count: bits.words(count))
    bug(monkeypatch)

    assert flagged(mechanism, pairs, mode, changes, SELDOM.get(bug, 0))


HONEST = {}
"""Mechanism, mode and settings of the audits above, each once, with the most pairs that a bug is looked for with."""
for _, *each, _changes in sorted(PLANTED, key=lambda planted: planted[2]):
    HONEST[each[0], each[2], tuple(_changes.items())] = each[1]


@pytest.mark.parametrize("most", [8, pytest.param(64, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("audited", "pairs"),
    [pytest.param(*each, marks=[pytest.mark.full] if each[0][0] is ALONE else []) for each in HONEST.items()],
    ids=str,
)
def test_the_code_without_bugs_is_not_flagged_on_the_same_pairs(audited, pairs, most):
    mechanism, mode, changes = audited

    assert flagged(mechanism, min(pairs, most), mode, changes) == ()


def certified_of_two_counts():
    """Return claim and certified loss of a table of two cells between worst-case neighbours, under pure epsilon."""
    wanted = ("MarginalCounts", "replace-one", 1, "pure")
    (case,) = (
        each for each in question_cases() if (each.question, each.relation, each.max_rows, each.cost.notion) == wanted
    )
    return case.claim, certified_loss(*case.run(6_000), delta=case.at_delta)


def test_a_bug_inside_the_sampler_is_seen_by_the_black_box_alone(monkeypatch):
    rows.zero_drawn_twice(monkeypatch)  # without it, no more than the claim: `test_audit_command`

    claim, certified = certified_of_two_counts()
    assert certified > claim
    assert flagged(ALONE, 8, USUAL, {}) == ()
