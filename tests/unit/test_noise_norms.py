"""How large the noise of a whole table is: its largest value and its absolute sum."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.maths.noise_norms import absolute_noise, largest_noise

FAILURE = Fraction(1, 20)
FALSE_ALARMS = 1e-9
ROUNDING = 1e-8  # the bound charges 1e-9 of rounding to the failure


def law_of_one(kind, parameter, reach=200):
    """Return P(Z = z) for z from -reach to reach."""
    z = np.arange(-reach, reach + 1.0)
    masses = np.exp(-np.abs(z) / parameter if kind == "laplace" else -(z**2) / (2 * parameter))
    return masses / masses.sum()


def law_of_size(law, terms):
    """Return P(|Z_1 + ... + Z_terms| = k) for k = 0, 1, ... by plain convolution."""
    total = np.ones(1)
    for _ in range(terms):
        total = np.convolve(total, law)
    middle = total.size // 2
    return np.append(total[middle], total[middle + 1 :] + total[:middle][::-1])


def chances_to_pass(kind, parameter, sums):
    """Return P(sum of sizes > k) for k = 0, 1, ..."""
    total = np.ones(1)
    for terms, cells in sums.items():
        for _ in range(cells):
            total = np.convolve(total, law_of_size(law_of_one(kind, parameter, 60), terms))
    return 1 - np.cumsum(total)


@pytest.mark.parametrize("sums", [{1: 1}, {1: 4}, {2: 3}, {1: 2, 3: 2}, {5: 1}], ids=str)
@pytest.mark.parametrize(
    ("kind", "parameter"), [("laplace", Fraction(3, 2)), ("laplace", Fraction(1, 3)), ("gaussian", Fraction(5))]
)
def test_the_absolute_sum_of_small_noise_is_the_least_figure_that_is_passed_seldom_enough(kind, parameter, sums):
    beyond = chances_to_pass(kind, float(parameter), sums)

    found = int(absolute_noise(kind, parameter, sums, FAILURE))

    # Cutting at a millionth of the failure may cost one step where the law stands almost at it.
    assert beyond[found] <= FAILURE
    assert found == 0 or beyond[found - 1] > float(FAILURE) * (1 - 1e-5) - ROUNDING


@pytest.mark.parametrize(
    ("kind", "parameter", "sums", "slack"),
    [
        ("laplace", Fraction(200), {1: 3}, 0.02),
        ("laplace", Fraction(50), {1: 300}, 0.02),
        ("laplace", Fraction(50), {4: 30, 9: 10}, 0.02),
        ("laplace", Fraction(10**4), {3: 20}, 0.02),
        ("gaussian", Fraction(10**6), {1: 40, 2: 10}, 0.02),
        ("gaussian", Fraction(400), {1: 20_000}, 0.03),
    ],
)
def test_the_absolute_sum_of_wide_noise_is_hardly_above_the_quantile(kind, parameter, sums, slack):
    rng, runs = np.random.default_rng(3), 2000
    sizes = np.zeros(runs)
    for terms, cells in sums.items():
        for _ in range(cells):
            if kind == "gaussian":
                sizes += np.abs(np.rint(rng.normal(0, math.sqrt(parameter * terms), runs)))
            else:
                stop = 1 - math.exp(-1 / parameter)
                sizes += np.abs((rng.geometric(stop, (terms, runs)) - rng.geometric(stop, (terms, runs))).sum(axis=0))

    found = absolute_noise(kind, parameter, sums, FAILURE)

    assert (sizes > found).sum() <= binom.isf(FALSE_ALARMS, runs, 0.05)
    # A little below the bound it would be passed too often.
    assert (sizes > (1 - slack) * found).sum() >= binom.isf(1 - FALSE_ALARMS, runs, 0.05)


@pytest.mark.parametrize("cells", [1, 7, 5000])
def test_the_largest_noise_of_equal_cells_is_the_least_that_is_passed_seldom_enough(cells):
    scale = 4.0

    (found,) = largest_noise("laplace", Fraction(4), {1: cells}, FAILURE).values()

    def missed(k):
        one = 2 * math.exp(-(k + 1) / scale) / (1 + math.exp(-1 / scale))
        return 1 - (1 - one) ** cells

    assert missed(found) <= FAILURE
    assert missed(found - 1) > FAILURE


def test_cells_of_more_terms_have_wider_bounds():
    found = largest_noise("gaussian", Fraction(9), {1: 10, 4: 10, 16: 1}, FAILURE)

    assert found[1] < found[4] < found[16]


def test_many_different_sums_are_bounded_by_fewer_that_are_no_smaller():
    many = dict.fromkeys(range(1, 40), 2)

    found = absolute_noise("laplace", Fraction(20), many, FAILURE)

    assert found >= sum(2 * 20 * 1.12 * math.sqrt(terms) for terms in range(1, 40))
    assert found <= absolute_noise("laplace", Fraction(20), {39: 78}, FAILURE)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("parameter", [Fraction(1, 10**9), Fraction(2**100)])
@pytest.mark.parametrize("sums", [{1: 1}, {1: 2**26}, {3: 5, 2**20: 2}], ids=str)
def test_the_widest_and_the_least_noise_have_finite_bounds(kind, parameter, sums):
    found = absolute_noise(kind, parameter, sums, FAILURE)

    assert math.isfinite(found)
    assert (found == 0) == (parameter < 1)


def test_a_rare_failure_has_a_wider_bound():
    often, seldom, never = (
        absolute_noise("laplace", Fraction(30), {1: 50}, Fraction(1, 10**each)) for each in (1, 5, 12)
    )

    assert often < seldom < never
