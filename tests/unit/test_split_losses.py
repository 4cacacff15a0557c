"""The largest loss of all split decisions together: every sequence of counts on a path, every parting of rows.

Exact up to rounding: dynamic programming over the counts of a cell. The rule privtree without its clamp, or with a
short step, exceeds its epsilon; so does the paper's with the whole budget for each level.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers.cells import splits_asked
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.schema.groupings.hierarchies import Hierarchy


def log_tails(scale, least):
    """Return ln P[Z >= least], element by element."""
    q = math.exp(-1 / scale)
    above = -np.maximum(least, 1) / scale - math.log1p(q)
    return np.where(least >= 1, above, np.log1p(-np.exp((np.minimum(least, 0) - 1) / scale) / (1 + q)))


def largest_losses(question, noise, rows, most):
    """Return the largest log-odds, and the least ones, that so many rows more can give all decisions below a cell.

    Dynamic programming from the last level up, over the counts 0 to `most` of a cell and over how rows and the added
    rows part between its two children.
    """
    counts, scale = np.arange(most + 1), float(noise.parameter)
    best = {(extra, sign): np.zeros(most + 1) for extra in range(rows + 1) for sign in (1, -1)}
    for decided in reversed(range(question.deciding)):
        found = {}
        for extra, sign in best:
            level = np.full(most + 1, decided)
            one, other = (question.threshold + 1 - question.biased(counts + more, level, noise) for more in (extra, 0))
            split = sign * (log_tails(scale, one) - log_tails(scale, other))
            stay = sign * (log_tails(scale, 1 - one) - log_tails(scale, 1 - other))
            below = [parted(best[part, sign], best[extra - part, sign]) for part in range(extra // 2 + 1)]
            found[extra, sign] = np.maximum(stay, split + np.max(below, axis=0))
        best = found
    return best[rows, 1].max(), best[rows, -1].max()


def parted(one, other):
    """Return the largest sum for each total, over all ways to part it in two."""
    if not one.any():
        return np.maximum.accumulate(other)
    return np.array([(one[: total + 1] + other[total::-1]).max() for total in range(len(one))])


PATHS = [
    (Fraction(3), 40, 0),
    (Fraction(1), 40, 7),
    (Fraction(1, 3), 40, -20),
    (Fraction(1, 10), 25, 60),
    (Fraction(100), 40, 1),
    (Fraction(5, 7), 1, 3),
]


def path_question(rule, epsilon, levels, threshold):
    cuts = 2 ** np.arange(levels)
    chain = Hierarchy(2**40, 1, 2**40, cuts, np.arange(levels, 0, -1))
    tree = CellTree(columns=("x",), hierarchies=(chain,), schedule=(0,) * levels, first=0)
    return splits_asked(tree, rule=rule, threshold=threshold, epsilon=epsilon)


def most_counts(question, noise, rows):
    """Return a count beyond which every decision is sure."""
    return int(question.threshold + question.step(noise) * question.deciding + 40 * noise.parameter) + rows + 5


@pytest.mark.parametrize(("epsilon", "levels", "threshold"), PATHS)
def test_no_path_of_privtree_loses_more_than_its_epsilon(epsilon, levels, threshold):
    question = path_question("privtree", epsilon, levels, threshold)
    noise = question.noise("add-remove", 1)

    added, removed = largest_losses(question, noise, 1, most_counts(question, noise, 1))

    assert 0 < max(added, removed) <= float(epsilon) + 1e-9  # rounding of 40 sums
    if levels > 10 and epsilon < 5:
        assert max(added, removed) > 0.7 * float(epsilon)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rule", ["paper", "privtree"])
@pytest.mark.parametrize(("epsilon", "levels", "threshold"), [(Fraction(3), 8, 2), (Fraction(9), 12, 0)])
def test_no_unit_of_three_rows_loses_more_than_its_epsilon(rule, relation, epsilon, levels, threshold):
    question = path_question(rule, epsilon, levels, threshold)
    noise = question.noise(relation, 3)

    added, removed = largest_losses(question, noise, 3, min(400, most_counts(question, noise, 3)))

    # Replace-one: three rows are added on some paths and three removed from others, each with its own loss.
    loss = max(added, removed) if relation == "add-remove" else added + removed
    assert 0.5 * float(epsilon) < loss <= float(epsilon) + 1e-9


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("epsilon", "levels", "threshold"), PATHS[:5])
def test_a_path_of_the_paper_loses_its_epsilon_and_no_more(relation, epsilon, levels, threshold):
    question = path_question("paper", epsilon, levels, threshold)
    noise = question.noise(relation, 1)

    added, removed = largest_losses(question, noise, 1, 300)

    loss = max(added, removed) if relation == "add-remove" else 2 * max(added, removed)
    assert loss <= float(epsilon) + 1e-9
    if threshold >= 1:
        assert loss == pytest.approx(float(epsilon))


def without_the_clamp(patch):
    patch.setattr(SplitDecisions, "biased", lambda self, counts, decided, noise: counts - self.step(noise) * decided)


def with_half_the_step(patch):
    honest = SplitDecisions.step
    patch.setattr(SplitDecisions, "step", lambda self, noise: honest(self, noise) // 2)


def with_the_clamp_half_as_deep_again(patch):
    def biased(self, counts, decided, noise):
        step = self.step(noise)
        return np.maximum(self.threshold - 3 * step, counts - step * decided)

    patch.setattr(SplitDecisions, "biased", biased)


def with_no_step(patch):
    patch.setattr(SplitDecisions, "step", lambda self, noise: 0)


@pytest.mark.parametrize(
    "plant", [without_the_clamp, with_half_the_step, with_no_step, with_the_clamp_half_as_deep_again]
)
@pytest.mark.parametrize(("epsilon", "levels", "threshold"), [PATHS[1], (Fraction(1, 3), 40, 20)])
def test_a_wrong_bias_of_privtree_loses_more(plant, epsilon, levels, threshold, monkeypatch):
    plant(monkeypatch)
    question = path_question("privtree", epsilon, levels, threshold)
    noise = question.noise("add-remove", 1)

    losses = largest_losses(question, noise, 1, 900)

    assert max(losses) > 1.1 * float(epsilon)


def test_the_whole_budget_for_each_level_loses_as_often_as_there_are_levels():
    question = path_question("paper", Fraction(1), 10, 20)

    losses = largest_losses(question, NoiseLaw("laplace", Fraction(1)), 1, 100)

    assert max(losses) == pytest.approx(10)


# ------------------------------------------------------------------- in rho: by the span of the losses of one release


def chances(question, noise, counts):
    """Return the log-chances of all ends of one path: not split after so many splits, or split throughout."""
    least = question.threshold + 1 - question.biased(counts, np.arange(counts.size), noise)
    split, stay = log_tails(float(noise.parameter), least), log_tails(float(noise.parameter), 1 - least)
    gone = np.append(0.0, np.cumsum(split))
    return np.append(gone[:-1] + stay, gone[-1])


def largest_divergence(question, noise, seed):
    """Return the largest Renyi divergence over its order that one row more or less makes, over many paths."""
    rng, levels = np.random.default_rng(seed), question.deciding
    scale, most = float(noise.parameter), 0.0
    for spread in np.repeat([0.0, 1.0, 4.0], 150):
        steps = question.step(noise) * np.arange(levels) if question.rule == "privtree" else 0
        around = question.threshold + steps + rng.normal(0, 2 * scale) + rng.normal(0, 1 + spread * scale, levels)
        counts = np.sort(np.maximum(0, np.round(around)).astype(np.int64))[::-1]
        one, other = chances(question, noise, counts), chances(question, noise, counts + 1)
        for order in (1.001, 2.0, 6.0):
            for p, q in ((one, other), (other, one)):
                most = max(most, np.logaddexp.reduce(order * p - (order - 1) * q) / (order - 1) / order)
    return most


@pytest.mark.parametrize(("epsilon", "levels", "threshold"), [(Fraction(1), 1, 0), (Fraction(1), 2, 0), *PATHS[:4]])
@pytest.mark.parametrize("rule", ["paper", "privtree"])
def test_no_path_diverges_by_more_than_its_rho(rule, epsilon, levels, threshold):
    question = replace(path_question(rule, epsilon, levels, threshold), notion="zcdp")
    noise = question.noise("add-remove", 1)

    rho = float(question.cost.rho)
    assert largest_divergence(question, noise, levels) <= rho * (1 + 1e-9)
    if rule == "paper" and levels == 1:
        assert largest_divergence(question, NoiseLaw("laplace", noise.parameter * Fraction(4, 5)), levels) > 1.2 * rho


@pytest.mark.parametrize(("rule", "counts"), [("paper", 4), ("privtree", 3)])
def test_the_losses_of_a_row_span_one_count_more_than_they_reach(rule, counts):
    question = replace(path_question(rule, Fraction(2), 4, 6), notion="zcdp")
    noise = question.noise("add-remove", 1)

    added, removed = largest_losses(question, noise, 1, 400)

    span = added + float(1 / noise.parameter)
    assert removed <= added + 1e-9
    assert noise.parameter == Fraction(math.ceil((counts + 1) / 2), 2)
    assert 0.5 * float(question.cost.rho) < span**2 / 8 <= float(question.cost.rho) * (1 + 1e-9)
