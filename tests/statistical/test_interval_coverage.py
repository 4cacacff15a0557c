"""How often intervals for true counts miss, over repeated releases."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from helpers.pmm_runs import run
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.model.evidence import AskedTable, intervals, measured_groupings
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

FALSE_ALARMS = 1e-9
ROWS = 20_000


def whole(name, size):
    return {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": size - 1, "required": True}}


SCHEMA = Schema.from_dict({"fields": [whole("a", 6), whole("b", 16), whole("c", 4)]})
CASES = {
    "Independent": (Independent(), Budget.pure("0.2"), ["b"], 200, 4000),
    "PMM": (PMM(depth=6), Budget.zcdp("0.001"), ["c", "a"], 100, 3000),
    "Adaptive": (Adaptive(), Budget.zcdp("0.0005"), ["a", "c"], 10, 500),
}


def table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 6, ROWS)
    return pl.DataFrame(
        {"a": a, "b": rng.binomial(15, 0.4, ROWS), "c": np.minimum(a // 2 + rng.integers(0, 2, ROWS), 3)}
    )


def with_scale(answer, factor):
    """Return an answer that claims noise of so much of its scale."""

    def claimed(law):
        return law and NoiseLaw(law.kind, law.parameter * (factor if law.kind == "laplace" else factor**2))

    match answer:
        case NoisyCounts():
            return replace(answer, noise=claimed(answer.noise))
        case NoisyTree():
            return replace(answer, noises=tuple(claimed(law) for law in answer.noises))
    return answer


def misses(answers, columns, exact, failure, claim=Fraction(1)):
    """Return how many intervals miss the true count, and how many there are."""
    groupings = measured_groupings(answers, columns)
    if groupings is None:
        return 0, 0
    found = intervals([with_scale(each, claim) for each in answers], AskedTable(columns, groupings), failure)
    true, _ = np.histogramdd(
        [grouping.apply(exact[name].to_numpy()) for name, grouping in zip(columns, groupings, strict=True)],
        bins=[np.arange(grouping.groups + 1) - 0.5 for grouping in groupings],
    )
    wrong = (true < found.lower) | (true > found.upper)
    return int(wrong[found.terms > 0].sum()), int((found.terms > 0).sum())


@pytest.mark.parametrize("is_full", [False, pytest.param(True, marks=pytest.mark.full)], ids=["ci", "all"])
@pytest.mark.parametrize("name", CASES)
def test_intervals_miss_no_more_often_than_stated_and_a_fifth_less_noise_is_found(name, is_full):
    mechanism, budget, columns, few, many = CASES[name]
    data, failures = table(), (Fraction(1, 10), Fraction(1, 100))
    claimed = (Fraction(1), Fraction(4, 5)) if is_full else (Fraction(1),)
    wrong, cells = dict.fromkeys(itertools.product(failures, claimed), 0), 0

    for seed in range(many if is_full else few):
        _, answers = run(mechanism, data, SCHEMA, budget=budget, seed=seed)
        for failure, claim in wrong:
            found, cells_here = misses(answers, columns, data, failure, claim)
            wrong[failure, claim] += found
        cells += cells_here

    # Cells of one query are served by noise of their own, and each misses with the stated chance at most given all
    # noise before: the number of misses is stochastically at most binomial.
    for failure in failures:
        most = binom.isf(FALSE_ALARMS, cells, float(failure))
        assert wrong[failure, Fraction(1)] <= most
        # Real Laplace tails grow to failure^.8. With the full number of runs the test is certain to see it.
        if is_full:
            assert binom.cdf(most, cells, 0.85 * float(failure) ** 0.8) < 1e-6
            assert wrong[failure, Fraction(4, 5)] > most


def test_the_least_noisy_of_all_answers_would_miss_more_often_than_stated():
    one = identity(Domain(values=2, specials=0, missing=False, ordered=False, continuous=False))
    failure, runs, true, scale = Fraction(1, 10), 1500, 10_000, Fraction(50)
    noise = discrete_laplace(scale, 2 * runs, SystemBits()).reshape(2, runs)
    earliest = least = 0

    def answer(value, law):
        question = MarginalCounts(columns=("x",), groupings=(one,), cost=Budget.pure(1))
        return NoisyCounts(question, np.array([true + value, 0, 0]), law)

    for first, second in noise.T.tolist():
        answers = [answer(first, NoiseLaw("laplace", scale))]
        # A mechanism that looks again, more closely, unless the first answer surprised it.
        if abs(first) < 110:
            answers.append(answer(second // 2, NoiseLaw("laplace", scale / 2)))
        for which, rule in (("earliest", answers), ("least", answers[-1:])):
            found = intervals(rule, AskedTable(["x"], [one]), failure)
            is_missed = not found.lower[0] <= true <= found.upper[0]
            earliest += is_missed and which == "earliest"
            least += is_missed and which == "least"

    most = binom.isf(FALSE_ALARMS, runs, 0.1)
    assert earliest <= most
    assert least > most
