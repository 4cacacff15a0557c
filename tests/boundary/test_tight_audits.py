"""Whole releases on two neighbours that lose all that is claimed, seen by an attacker who knows both tables.

`bench/tight_audit.py` runs this at ε = 1 with many more runs. Here budgets are larger, so that few runs see half of the
noise. The bounds are above the truth at most one time in a million.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import lapwing.kernel.questions.answering as counting
from helpers.peeking import rows_behind
from helpers.tight_audits import Attacked, certified_mu
from lapwing.extras.audit.worst_case import MISTAKE
from lapwing.kernel.budget.budget import Budget
from lapwing.mechanisms.adaptive import mechanism as adaptive
from lapwing.mechanisms.adaptive.fit import NO_PRIOR
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.mechanisms.trees.kd_tree.mechanism import KDTree
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation


def learning(columns, *turns):
    """Return Adaptive with priors of two kinds of rows: the attacked table's own, or turned so that columns differ."""
    rows = np.arange(200)
    codes = [{f"c{place}": (rows + turn * place) % 2 for place in range(columns)} for turn in turns]
    return replace(Adaptive.small(), prior=tuple(PublicRows(each, "made up", "the prior is made up") for each in codes))


GAUSSIAN = {
    "PMM": Attacked(PMM(), Budget.zcdp(2), 1),
    "Microaggregation": Attacked(Microaggregation(), Budget.zcdp(2), 2),
    "Adaptive": Attacked(Adaptive.small(), Budget.zcdp(2), 2),
    "Adaptive with a prior": Attacked(learning(2, 0), Budget.zcdp(2), 2, others=60),
}
MU = 2.0
RUNS = 120
FEW = 50

PURE = {
    "PMM": Attacked(PMM(), Budget.pure(1), 1),
    "KDTree": Attacked(KDTree(), Budget.pure(1), 1),
    "Adaptive": Attacked(Adaptive.small(), Budget.pure(1), 3),
    "Adaptive with a prior": Attacked(learning(3, 0), Budget.pure(1), 3, others=60),
}

ALL_GAUSSIAN, ALL_PURE = (
    # With a prior Adaptive does all that it does without one.
    [pytest.param(case, marks=[pytest.mark.full] if name == "Adaptive" else []) for name, case in cases.items()]
    for cases in (GAUSSIAN, PURE)
)

LEANING = Attacked(learning(2, 0, 1), Budget.zcdp(Fraction(1, 20_000)), 2, others=1000)
"""So little budget that what two columns have to do with each other is told by priors alone."""
LEANING_MU, HELD = 0.01, 600


def half_the_noise(patch):
    """Let the room draw Gaussian noise at half of its scale."""
    honest = counting.discrete_gaussian
    patch.setattr(counting, "discrete_gaussian", lambda squared, *rest: honest(squared / 4, *rest))


@pytest.mark.parametrize("case", ALL_GAUSSIAN, ids=GAUSSIAN)
def test_the_two_tables_lose_nearly_all_that_is_claimed_and_no_more_is_certified(case):
    first, second = case.scores(20)

    assert 0.95 * case.budget.amount < first[:, 3].max() <= case.budget.amount
    assert certified_mu(first[:, 0], second[:, 0], mistake=MISTAKE) <= MU


@pytest.mark.parametrize("case", ALL_PURE, ids=PURE)
def test_no_run_tells_the_tables_apart_by_more_than_a_pure_claim(case):
    ratios = np.abs(case.scores(10)[:, :, 0])

    assert 0.25 < ratios.max() <= 1 + 1e-9


@pytest.mark.parametrize("case", ALL_GAUSSIAN, ids=GAUSSIAN)
def test_half_of_the_noise_of_a_release_is_certified(case, monkeypatch):
    half_the_noise(monkeypatch)

    first, second = case.scores(RUNS)[:, :, 0]

    assert certified_mu(first, second, mistake=MISTAKE) > MU


def test_a_model_made_with_the_true_number_of_rows_is_certified(monkeypatch):
    """No answer tells it; the attacker who sees the model alone does."""
    honest, sizes = adaptive.ask_columns, iter([1.0] * FEW + [2.0] * FEW)
    monkeypatch.setattr(adaptive, "ask_columns", lambda *given: (honest(*given)[0], next(sizes)))

    first, second = GAUSSIAN["Adaptive"].scores(FEW)

    assert certified_mu(first[:, 2], second[:, 2], 1.5, mistake=MISTAKE) > MU


def test_the_attacked_releases_with_a_prior_learn_from_it(monkeypatch):
    honest, learnt = adaptive.measure_prior_distances, []

    def watched(*given):
        learnt.append(honest(*given))
        return learnt[-1]

    monkeypatch.setattr(adaptive, "measure_prior_distances", watched)
    for cases in (GAUSSIAN, PURE):
        cases["Adaptive with a prior"].scores(10)

    assert sum(guide is not NO_PRIOR for guide in learnt) > 0.6 * len(learnt)


def test_a_model_whose_prior_is_chosen_by_the_private_rows_is_certified(monkeypatch):
    """Whose own question is honest: the attacker sees the model alone."""
    within = LEANING.scores(FEW)
    honest = adaptive.measure_prior_distances
    monkeypatch.setattr(
        adaptive,
        "measure_prior_distances",
        lambda curator, columns, given, *rest: honest(curator, columns, [given[rows_behind(curator).rows % 2]], *rest),
    )

    first, second = LEANING.scores(FEW)

    assert certified_mu(within[0][:, 1], within[1][:, 1], HELD, mistake=MISTAKE) <= LEANING_MU
    assert certified_mu(first[:, 1], second[:, 1], HELD, mistake=MISTAKE) > LEANING_MU


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_the_bound_is_below_the_mu_of_gaussian_noise_and_near_it(mu):
    rng = np.random.default_rng(3)
    runs = 200_000
    first, second = rng.normal(-mu / 2, 1, runs), rng.normal(mu / 2, 1, runs)

    found = certified_mu(first, second, mistake=1e-9)

    assert mu - 0.06 < found <= mu


def test_guesses_that_are_always_wrong_certify_nothing():
    assert certified_mu(np.ones(50), np.zeros(50)) == 0
