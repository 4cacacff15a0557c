"""Bugs of trees of counts, as published code has them, planted one by one: record and replay flags each of them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import lapwing.kernel.questions.tree_counts.answer as answering
from helpers.audits import flags_of, in_turn
from helpers.peeking import rows_behind
from helpers.planted_charging import nothing_is_charged
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.kernel.noise_law import calibrated
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.mechanisms.shared.trees.plans import TreePlan
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from mechanism_checks import settings_for


def with_levels(patch, change):
    """Let the room answer with changed levels: ``change(level, exact, noisy, law)``."""
    honest = answering._perturbed

    def perturbed(question, counted, terms, bits):
        answer = honest(question, counted, terms, bits)
        exact = answering.exact_levels(question, counted)
        levels = tuple(
            None if noisy is None else change(level, exact[level], noisy, answer.noises[level])
            for level, noisy in enumerate(answer.levels)
        )
        return NoisyTree(question, levels, answer.noises)

    patch.setattr(answering, "_perturbed", perturbed)


def the_root_has_no_noise(patch):
    with_levels(patch, lambda level, exact, noisy, law: exact if level == 0 else noisy)


def empty_cells_are_skipped(patch):
    with_levels(patch, lambda level, exact, noisy, law: np.where(exact == 0, 0, noisy))


def cells_below_an_empty_one_are_skipped(patch):
    with_levels(patch, lambda level, exact, noisy, law: noisy if exact.any() or level < 2 else exact)


def counts_are_clipped_at_the_true_total(patch):
    with_levels(patch, lambda level, exact, noisy, law: np.minimum(noisy, int(exact.sum())))


def each_level_is_charged_its_share_and_noised_for_the_whole_budget(patch):
    def noises(self, relation, max_rows):
        bound = self.sensitivity(relation, max_rows)
        return tuple(None if cost is None else calibrated(bound, self.cost) for cost in self.costs)

    patch.setattr(TreeCounts, "noises", noises)


def each_level_has_the_whole_budget(patch):
    honest = TreePlan.question

    def question(self, schema, budget):
        asked = honest(self, schema, budget)
        return replace(asked, amounts=tuple(None if each is None else budget.amount for each in asked.amounts))

    patch.setattr(TreePlan, "question", question)
    nothing_is_charged(patch)


def a_level_repeats_the_noise_of_the_one_above(patch):
    kept = {}
    honest = answering.noise_of

    def noise_of(law, size, bits):
        above = kept.get(law, np.empty(0, dtype=np.int64))
        fresh = honest(law, size, bits)
        kept[law] = np.resize(above, size) if above.size else fresh
        return kept[law]

    patch.setattr(answering, "noise_of", noise_of)


def rows_outside_the_tree_are_counted_in_its_last_cell(patch):
    honest = answering.exact_levels

    def exact_levels(question, counted):
        levels = list(honest(question, counted))
        levels[0] = levels[0] + (int(counted.sum()) - int(levels[0].sum()))
        return tuple(levels)

    patch.setattr(answering, "exact_levels", exact_levels)


ROOM_BUGS = [
    the_root_has_no_noise,
    empty_cells_are_skipped,
    cells_below_an_empty_one_are_skipped,
    counts_are_clipped_at_the_true_total,
    each_level_is_charged_its_share_and_noised_for_the_whole_budget,
    each_level_has_the_whole_budget,
    a_level_repeats_the_noise_of_the_one_above,
    rows_outside_the_tree_are_counted_in_its_last_cell,
]


# The default plan for a tree this small releases one or two levels, and not the root.
ON_EVERY_LEVEL_ONLY = (the_root_has_no_noise, a_level_repeats_the_noise_of_the_one_above)
PAPER = PMM(depth=4, variant="paper")
CASES = [
    *((PAPER, plant) for plant in ON_EVERY_LEVEL_ONLY),
    *in_turn((PAPER, PMM.small()), [plant for plant in ROOM_BUGS if plant not in ON_EVERY_LEVEL_ONLY]),
]


@pytest.mark.parametrize(
    ("mechanism", "plant"), CASES, ids=lambda case: case.variant if isinstance(case, PMM) else case.__name__
)
def test_a_bug_in_the_answer_to_a_tree_is_flagged(mechanism, plant, monkeypatch):
    plant(monkeypatch)

    flags = flags_of(mechanism)

    assert flags


def test_an_honest_tree_of_the_paper_is_not_flagged_on_the_same_pairs():
    assert flags_of(PAPER, pairs=8) == ()  # PMM as it is by default: `test_record_and_replay`


def planted(run):
    """Return a mechanism that looks where it must not."""

    @dataclass(frozen=True)
    class Planted(Mechanism):
        name = "Planted"
        summary = "looks at rows"
        relations = PMM.relations

        def run(self, curator, schema, budget, rng):
            return run(curator, schema, budget, rng)

    return Planted()


def depth_from_the_true_number_of_rows(curator, schema, budget, rng):
    return PMM(depth=1 + rows_behind(curator).rows // 2).run(curator, schema, budget, rng)


def total_from_the_true_number_of_rows(curator, schema, budget, rng):
    return replace(PMM.small().run(curator, schema, budget, rng), rows=rows_behind(curator).rows)


@pytest.mark.parametrize("run", [depth_from_the_true_number_of_rows, total_from_the_true_number_of_rows])
def test_a_tree_mechanism_that_looks_at_rows_is_flagged(run):
    flags = flags_of(planted(run), relations=("add-remove",))

    assert flags


@pytest.mark.parametrize("mechanism", [PMM(), PMM(variant="paper")], ids=["default", "paper"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_depth_from_a_noisy_number_of_rows_is_not_flagged(mechanism, max_rows):
    rng, flagged = np.random.default_rng(4), []

    for pure in (True, False) * 2:
        pair = neighbour_pair(rng, "add-remove", max_rows)
        settings = replace(settings_for(mechanism, pair.schema, "add-remove", pure=pure), expected_rows=None)
        flagged += audit_pair(pair.data, pair.neighbour, settings)

    assert flagged == []
