"""The law of trees of cells whose empty part is never listed: that of the explicit algorithm, where all cells draw.

Tiny trees, against the exact law of every outcome, at false-alarm rate 1e-9. The same tests reject samplers that are
wrong by a fifth, and bugs of published code. `-m full`: a million trees and more.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import lapwing.kernel.questions.sparse_counts.answer as counting
import lapwing.kernel.questions.split_decisions.answer as splitting
from helpers.bits import SeededBits
from helpers.cells import (
    ADD_REMOVE,
    coded,
    counts_asked,
    joint_leaf_law,
    split_law,
    split_law_by_gaps,
    split_set,
    splits_asked,
    tree_over,
    whole_numbers,
)
from helpers.noise_laws import FALSE_ALARM, chi_square
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.questions.shared.cell_rows import CellRows
from lapwing.kernel.questions.sparse_counts.answer import _count_leaves
from lapwing.kernel.questions.split_decisions.answer import _decide_splits

SYSTEM = SystemBits()
ROWS = (0, 0, 0, 5)  # of the eight values of x: one full cell, one that holds one row, the others empty
RUNS = 1500
COPIES = 1 << 14
CASES = [
    ("paper", 1, 1, Fraction(1)),
    ("paper", 2, 1, Fraction(1, 2)),
    ("paper", 2, 0, Fraction(1)),
    ("paper", 2, -1, Fraction(1)),
    ("privtree", 1, 0, Fraction(2)),
    ("privtree", 2, 3, Fraction(1)),
    ("privtree", 2, -4, Fraction(2)),
]


def asked(rule, first, threshold, epsilon):
    """Return a question about the eight values of x, halved three times, and the scale of its noise."""
    question = splits_asked(tree_over(whole_numbers(x=8), first), rule=rule, threshold=threshold, epsilon=epsilon)
    return question, float((3 if rule == "privtree" else 3 - first) / epsilon)


def alarm(observed, law):
    """Return the p-value of observed outcomes against their exact law; no outcome may be outside it."""
    assert set(observed) <= set(law)
    outcomes = list(law)
    counts = np.array([observed[outcome] for outcome in outcomes])
    return chi_square(counts, np.array([law[outcome] for outcome in outcomes]))


def power(law, wrong, runs):
    """Return the chance that `alarm` is below the false-alarm rate on so many draws of a wrong law."""
    one = np.array(list(law.values()))
    other = np.array([wrong.get(outcome, 0.0) for outcome in law])
    rare = one * runs < 30
    one, other = (np.append(each[~rare], each[rare].sum()) for each in (one, other))
    excess = runs * float(((other - one) ** 2 / np.maximum(one, 1e-300))[one > 0].sum())
    freedom = len(one) - 1
    return float(stats.ncx2.sf(stats.chi2.isf(FALSE_ALARM, freedom), freedom, excess))


# ------------------------------------------------------------------------------------------ exact laws, by enumeration


@pytest.mark.parametrize(("rule", "first", "threshold", "epsilon"), [*CASES, ("paper", 0, 0, Fraction(3))])
@pytest.mark.parametrize("rows", [(), ROWS, (0, 1, 2, 3, 4, 5, 6, 7), (7,) * 9])
def test_gaps_over_empty_cells_give_the_law_of_noise_on_every_cell(rule, first, threshold, epsilon, rows):
    _, scale = asked(rule, first, threshold, epsilon)

    explicit = split_law(rows, 3, first, rule=rule, threshold=threshold, scale=scale)
    by_gaps = split_law_by_gaps(rows, 3, first, rule=rule, threshold=threshold, scale=scale)

    assert by_gaps.keys() == explicit.keys()
    assert sum(explicit.values()) == pytest.approx(1, abs=1e-12)  # rounding of at most 1e4 sums
    for outcome, chance in explicit.items():
        assert by_gaps[outcome] == pytest.approx(chance, abs=1e-13)


def test_the_law_of_trees_whose_empty_cells_never_split_is_another_one():
    explicit = split_law(ROWS, 3, 2, rule="paper", threshold=1, scale=2.0)

    without = sum(chance for cells, chance in explicit.items() if not {(2, 1), (2, 3)} & cells)

    assert without < 0.65


# --------------------------------------------------------------------------------------------------- planted samplers


def empty_cells_are_skipped(patch, module):
    patch.setattr(module, "survivors", lambda population, success, bits: np.empty(0, dtype=np.int64))


def survivors_are_chosen_with_replacement(patch, module):
    honest, rng = module.survivors, np.random.default_rng(3)

    def survivors(population, success, bits):
        drawn = honest(population, success, bits)
        return np.unique(rng.integers(0, max(1, population), len(drawn)))

    patch.setattr(module, "survivors", survivors)


def the_sampler_is_wrong_by_a_fifth(patch, module):
    patch.setattr(module, "LaplaceTail", lambda scale, least: LaplaceTail(scale * Fraction(6, 5), least))


def the_last_empty_cell_never_survives(patch, module):
    honest = module.survivors
    patch.setattr(module, "survivors", lambda population, success, bits: honest(max(0, population - 1), success, bits))


# ------------------------------------------------------------- splits of a tiny tree: alone, and thousands side by side


def observed_splits(question, bits, runs):
    rows = CellRows.of(question.tree, coded(whole_numbers(x=8), [(row,) for row in ROWS]))
    return Counter(outcome(split_set(_decide_splits(question, rows, ADD_REMOVE, bits).tree)) for _ in range(runs))


def observed_side_by_side(case, bits, times=1):
    """Return how often each outcome occurs among copies of the tiny tree, side by side in one large tree."""
    rule, first, threshold, epsilon = case
    schema = whole_numbers(copy=COPIES, x=8)
    before = COPIES.bit_length() - 1
    tree = tree_over(schema, before + first, schedule=(0,) * before + (1,) * 3)
    question = splits_asked(tree, rule=rule, threshold=threshold, epsilon=epsilon)
    rows = CellRows.of(tree, coded(schema, [(copy, row) for copy in range(COPIES) for row in ROWS]))
    observed = Counter()
    for _ in range(times):
        decided = _decide_splits(question, rows, ADD_REMOVE, bits).tree
        outcomes = np.zeros(COPIES, dtype=np.int64)
        add_cells(outcomes, decided.split_cells, first)
        for level, cells in decided.levels():
            if level < tree.depth:
                add_cells(outcomes, cells[decided.next_level(level, cells)], level - before)
        observed += Counter(outcomes.tolist())
    return observed


def add_cells(outcomes, cells, level):
    np.bitwise_or.at(outcomes, cells[:, 0], 1 << ((1 << level) + cells[:, 1]))


def outcome(cells):
    """Return a set of split cells as the bits of one number."""
    return sum(1 << ((1 << level) + cell) for level, cell in cells)


def law_of(case, factor=1.0):
    """Return the exact law of the outcomes of the tiny tree, at a scale that is wrong by a factor."""
    rule, first, threshold, _ = case
    _, scale = asked(*case)
    law = split_law(ROWS, 3, first, rule=rule, threshold=threshold, scale=scale * factor)
    return {outcome(cells): chance for cells, chance in law.items()}


@pytest.mark.parametrize("times", [1, pytest.param(64, marks=pytest.mark.full)])
@pytest.mark.parametrize("case", CASES)
def test_splits_of_sixteen_thousand_trees_side_by_side_follow_the_exact_law(case, times):
    observed = observed_side_by_side(case, SYSTEM, times)

    assert alarm(observed, law_of(case)) > FALSE_ALARM


@pytest.mark.parametrize("runs", [RUNS, pytest.param(50_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("case", [CASES[0], CASES[5]])
def test_splits_of_a_tree_alone_follow_the_exact_law(case, runs):
    observed = observed_splits(asked(*case)[0], SYSTEM, runs)

    assert alarm(observed, law_of(case)) > FALSE_ALARM


@pytest.mark.parametrize(
    "plant", [empty_cells_are_skipped, survivors_are_chosen_with_replacement, the_last_empty_cell_never_survives]
)
def test_a_wrong_choice_of_empty_cells_is_noticed_in_the_splits_of_a_tree_alone(plant, monkeypatch):
    plant(monkeypatch, splitting)

    observed = observed_splits(asked(*CASES[3])[0], SeededBits(1), RUNS)

    assert alarm(observed, law_of(CASES[3])) < FALSE_ALARM


@pytest.mark.parametrize("case", [CASES[0], CASES[1], CASES[4]])
@pytest.mark.parametrize("error", [Fraction(6, 5), Fraction(4, 5)])
def test_a_scale_of_all_decisions_wrong_by_a_fifth_is_noticed_with_a_power_of_999_in_1000(case, error):
    rule, first, threshold, epsilon = case

    observed = observed_side_by_side((rule, first, threshold, epsilon / error), SeededBits(2))

    assert power(law_of(case), law_of(case, float(error)), COPIES) > 0.999
    assert alarm(observed, law_of(case)) < FALSE_ALARM


@pytest.mark.parametrize("case", [CASES[1], CASES[2], CASES[5]])
def test_a_scale_of_empty_cells_alone_wrong_by_a_fifth_is_noticed(case, monkeypatch):
    the_sampler_is_wrong_by_a_fifth(monkeypatch, splitting)

    observed = observed_side_by_side(case, SeededBits(4))

    assert alarm(observed, law_of(case)) < FALSE_ALARM


# ----------------------------------------------------------------------------------------------- counts of the leaves


LEAVES = (3, 0, 0, 0, 1)  # of the eight values, 0-1, 2-3 and 6-7 together, 4 and 5 alone: how many of ROWS are there
MOST, OUT = 4, -99
SCALE = Fraction(3, 2)


def observed_counts(threshold, epsilon, bits, copies, times=1):
    """Return how often the leaves show what, over copies of the tiny tree side by side."""
    schema = whole_numbers(copy=copies, x=8) if copies > 1 else whole_numbers(x=8)
    before = copies.bit_length() - 1
    tree = tree_over(schema, before + 2, schedule=(0,) * before + (len(schema.columns) - 1,) * 3)
    prefixes = [(copy,) for copy in range(copies)] if copies > 1 else [()]
    tree = tree.grown(np.array([(*each, 2) for each in prefixes]), ())
    question = counts_asked(tree, threshold=threshold, epsilon=epsilon)
    rows = CellRows.of(tree, coded(schema, [(*each, row) for each in prefixes for row in ROWS]))
    observed = Counter()
    for _ in range(times):
        observed += shown(_count_leaves(question, rows, ADD_REMOVE, bits), copies, before + 2)
    return observed


def shown(answer, copies, first):
    """Return how often the five leaves show what: counts up to `MOST`, `OUT` where one is left out."""
    least = -MOST if answer.question.threshold is None else answer.question.threshold
    found = np.full((copies, 5), OUT)
    levels, cells = answer.leaves
    place = np.where(levels == first, np.array([0, 1, -1, 2])[np.minimum(cells[:, -1], 3)], cells[:, -1] - 1)
    found[cells[:, 0] if copies > 1 else 0, place] = np.clip(answer.counts, least, MOST)
    return Counter(map(tuple, found.tolist()))


def pooled(observed, law):
    """Return outcomes by each leaf and by each pair of neighbouring leaves: few bins, and all that leaves share."""
    alarms = []
    for size, start in ((1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (2, 0), (2, 1), (2, 2), (2, 3)):
        part, exact = Counter(), Counter()
        for seen, times in observed.items():
            part[seen[start : start + size]] += times
        for seen, chance in law.items():
            exact[seen[start : start + size]] += chance
        alarms.append(alarm(part, dict(exact)))
    return min(alarms) * len(alarms)


def leaves_law(threshold):
    law = joint_leaf_law(LEAVES, threshold=threshold, scale=float(SCALE), most=MOST)
    return {tuple(OUT if count is None else count for count in seen): chance for seen, chance in law.items()}


@pytest.mark.parametrize("times", [1, pytest.param(64, marks=pytest.mark.full)])
@pytest.mark.parametrize("threshold", [2, 1, 0, -1, None])
def test_counts_of_sixteen_thousand_trees_side_by_side_follow_the_exact_law(threshold, times):
    observed = observed_counts(threshold, 1 / SCALE, SYSTEM, COPIES, times)

    assert pooled(observed, leaves_law(threshold)) > FALSE_ALARM


@pytest.mark.parametrize("runs", [1000, pytest.param(50_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("threshold", [1, 0, None])
def test_counts_of_a_tree_alone_follow_the_exact_law(threshold, runs):
    observed = observed_counts(threshold, 1 / SCALE, SYSTEM, 1, runs)

    assert pooled(observed, leaves_law(threshold)) > FALSE_ALARM


def listed_empty_leaves_have_no_noise(patch, module):
    honest = module._keep_large

    def kept(question, names, exact, law, bits):
        names, noisy = honest(question, names[exact > 0], exact[exact > 0], law, bits)
        return names, noisy

    patch.setattr(module, "_keep_large", kept)


def the_noise_of_survivors_is_not_conditioned(patch, module):
    def at_least(threshold, scale, size, bits):
        return np.maximum(threshold, discrete_laplace(scale, size, bits))

    patch.setattr(module, "discrete_laplace_at_least", at_least)


def survivors_show_the_threshold(patch, module):
    patch.setattr(module, "discrete_laplace_at_least", lambda threshold, scale, size, bits: np.full(size, threshold))


@pytest.mark.parametrize(
    "plant",
    [
        empty_cells_are_skipped,
        the_sampler_is_wrong_by_a_fifth,
        listed_empty_leaves_have_no_noise,
        the_noise_of_survivors_is_not_conditioned,
        survivors_show_the_threshold,
    ],
)
def test_a_wrong_sampler_of_empty_leaves_is_noticed_in_the_counts(plant, monkeypatch):
    plant(monkeypatch, counting)

    observed = observed_counts(1, 1 / SCALE, SeededBits(5), COPIES)

    assert pooled(observed, leaves_law(1)) < FALSE_ALARM


@pytest.mark.parametrize("plant", [survivors_are_chosen_with_replacement, the_last_empty_cell_never_survives])
def test_a_wrong_choice_of_empty_leaves_is_noticed_in_the_counts_of_a_tree_alone(plant, monkeypatch):
    plant(monkeypatch, counting)

    observed = observed_counts(-1, 1 / SCALE, SeededBits(5), 1, 1000)

    assert pooled(observed, leaves_law(-1)) < FALSE_ALARM


@pytest.mark.parametrize("error", [Fraction(6, 5), Fraction(4, 5)])
def test_a_scale_of_all_counts_wrong_by_a_fifth_is_noticed(error):
    observed = observed_counts(1, 1 / (SCALE * error), SeededBits(6), COPIES)

    assert pooled(observed, leaves_law(1)) < FALSE_ALARM
