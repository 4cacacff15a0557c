"""Whole releases on two neighbours that lose all that is claimed, seen by an attacker who knows both tables.

`bench/tight_audit.py` runs this at ε = 1 with many more runs. Here budgets are larger, so that few runs see half of the
noise. The bounds are above the truth at most one time in a million.
"""

import numpy as np
import pytest

import lapwing.kernel.questions.answering as counting
from helpers.tight_audits import Attacked, certified_mu
from lapwing.audit.worst_case import MISTAKE
from lapwing.kernel.budget.budget import Budget
from lapwing.mechanisms.adaptive import mechanism as adaptive
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.kd_tree.mechanism import KDTree
from lapwing.mechanisms.microaggregation.mechanism import Microaggregation
from lapwing.mechanisms.pmm.mechanism import PMM

GAUSSIAN = {
    "PMM": Attacked(PMM(), Budget.zcdp(2), 1),
    "Microaggregation": Attacked(Microaggregation(), Budget.zcdp(2), 2),
    "Adaptive": Attacked(Adaptive.small(), Budget.zcdp(2), 2),
}
MU = 2.0
RUNS = 120
FEW = 50

PURE = {
    "PMM": Attacked(PMM(), Budget.pure(1), 1),
    "KDTree": Attacked(KDTree(), Budget.pure(1), 1),
    "Adaptive": Attacked(Adaptive.small(), Budget.pure(1), 3),
}


def half_the_noise(patch):
    """Let the room draw Gaussian noise at half of its scale."""
    honest = counting.discrete_gaussian
    patch.setattr(counting, "discrete_gaussian", lambda squared, *rest: honest(squared / 4, *rest))


@pytest.mark.parametrize("case", GAUSSIAN.values(), ids=GAUSSIAN)
def test_the_two_tables_lose_nearly_all_that_is_claimed_and_no_more_is_certified(case):
    first, second = case.scores(20)

    assert 0.95 * case.budget.amount < first[:, 3].max() <= case.budget.amount
    assert certified_mu(first[:, 0], second[:, 0], mistake=MISTAKE) <= MU


@pytest.mark.parametrize("case", PURE.values(), ids=PURE)
def test_no_run_tells_the_tables_apart_by_more_than_a_pure_claim(case):
    ratios = np.abs(case.scores(10)[:, :, 0])

    assert 0.25 < ratios.max() <= 1 + 1e-9


@pytest.mark.parametrize("case", GAUSSIAN.values(), ids=GAUSSIAN)
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


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_the_bound_is_below_the_mu_of_gaussian_noise_and_near_it(mu):
    rng = np.random.default_rng(3)
    runs = 200_000
    first, second = rng.normal(-mu / 2, 1, runs), rng.normal(mu / 2, 1, runs)

    found = certified_mu(first, second, mistake=1e-9)

    assert mu - 0.06 < found <= mu


def test_guesses_that_are_always_wrong_certify_nothing():
    assert certified_mu(np.ones(50), np.zeros(50)) == 0
