"""Noise: samplers, norms, tails of laws, and the noise of pooled counts."""

import itertools
import math
import subprocess
import sys
import threading
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from helpers.bits import CountingBits, ScriptedBits, SeededBits, ZeroNoiseBits
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.noise.bernoulli import bernoulli_exp_multiples, decide
from lapwing.kernel.noise.bits import BLOCK_WORDS, SystemBits
from lapwing.kernel.noise.enclosures import Exponential, LaplaceTail, exp_minus
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.geometric import geometric, survivors
from lapwing.kernel.noise.inverse_cdf import draw, make_table
from lapwing.kernel.noise.laplace import Sign, discrete_laplace, discrete_laplace_at_least
from lapwing.kernel.noise.selection import exponential_mechanism, uniform_below
from lapwing.kernel.noise.weighted import LARGEST_TOTAL, weighted_draws
from lapwing.kernel.noise_law import NoiseLaw, log_tail, tail_ratio, value_ratio
from lapwing.maths.noise_norms import absolute_noise, largest_noise
from lapwing.maths.pooled_noise import NoisyNumber, pooled_number

LAST_WORD = (1 << 64) - 1
EXTREMES = [
    Fraction(1, 1000),
    Fraction(10**12),
    Fraction(10**70 + 1, 10**69 + 7),
    Fraction(1, 10**80),
    Fraction(1 << 55),
]
FORK = """
import os, sys
from lapwing.kernel.noise.bits import SystemBits
bits = SystemBits()
bits.words(5)
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, bits.words(2).tobytes())
    os._exit(0)
os.wait()
sys.exit(os.read(read, 16) == bits.words(2).tobytes())
"""


def test_system_bits_take_no_seed() -> None:
    with pytest.raises(TypeError):
        SystemBits(7)  # type: ignore[call-arg]


@pytest.mark.parametrize("count", [0, 1, 1000, BLOCK_WORDS, 3 * BLOCK_WORDS + 5])
def test_system_bits_give_as_many_words_as_asked_and_none_twice(count: int) -> None:
    words = SystemBits().words(count)

    assert words.dtype == np.uint64
    assert np.unique(words).size == count  # 4e5 words collide with probability below 1e-8


def test_a_forked_process_gets_other_words() -> None:
    result = subprocess.run([sys.executable, "-c", FORK], check=False)

    assert result.returncode == 0


def test_threads_never_share_words() -> None:
    bits = SystemBits()
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.extend(bits.words(50) for _ in range(200))) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert np.unique(np.concatenate(found)).size == 8 * 200 * 50


@pytest.mark.parametrize(("scale", "words"), [("1/1000", 2), ("5", 2), ("10", 3), ("1000", 3), ("10000", 4)])
def test_laplace_noise_takes_the_same_number_of_words_whatever_its_value(scale: str, words: int) -> None:
    bits = CountingBits(SystemBits())

    discrete_laplace(Fraction(scale), 50_000, bits)

    # At scale 5 a restart has probability exp(-51); everywhere a tie is rarer still.
    assert bits.count == 50_000 * words


@pytest.mark.parametrize("parameter", [Fraction(1), Fraction(1000), *EXTREMES])
def test_every_positive_rational_parameter_works_at_every_size(parameter: Fraction) -> None:
    for size in (0, 1, 10, 3000):
        laplace = discrete_laplace(parameter, size, SystemBits())
        gaussian = discrete_gaussian(parameter, size, SystemBits())

        assert laplace.shape == gaussian.shape == (size,)
        assert laplace.dtype == gaussian.dtype == np.int64


@pytest.mark.parametrize("parameter", [Fraction(1), Fraction(50), Fraction(5000), *EXTREMES])
def test_zero_words_mean_zero_noise(parameter: Fraction) -> None:
    laplace = discrete_laplace(parameter, 3000, ZeroNoiseBits())
    gaussian = discrete_gaussian(parameter, 3000, ZeroNoiseBits())

    assert not laplace.any()
    assert not gaussian.any()


@pytest.mark.parametrize("scores", [[4], [1, 9, 3], [0, -5, 2**63 - 1, 2**63 - 1], [-(2**63), 2**63 - 1]])
def test_zero_words_select_the_first_best_candidate(scores: list[int]) -> None:
    chosen = exponential_mechanism(np.array(scores, dtype=np.int64), Fraction(1, 10), 1, ZeroNoiseBits())

    assert chosen == scores.index(max(scores))


def test_a_draw_beyond_the_integer_range_is_refused_not_clipped() -> None:
    """At the largest scale, words of ones say "256 or more" 64 times: the magnitude reaches 2^62."""
    script = [LAST_WORD] * 64 + [0] * 8

    with pytest.raises(CapacityError, match="smaller noise scale"):
        discrete_laplace(Fraction(1 << 55), 1, ScriptedBits(script))


def test_a_restart_adds_whole_rounds_of_the_last_digit() -> None:
    """At scale 8 there is one digit, and its word for 256 or more is above exp(-32) from the top."""
    restarted = discrete_laplace(Fraction(8), 1, ScriptedBits([LAST_WORD, LAST_WORD, 0, 0]))
    negative = discrete_laplace(Fraction(8), 1, ScriptedBits([LAST_WORD, 0, LAST_WORD]))

    assert restarted.tolist() == [512]
    assert negative.tolist() == [-257]


def test_zero_has_one_spelling() -> None:
    """Sign and digit are independent, and the negative of digit 0 is -1."""
    assert discrete_laplace(Fraction(1), 1, ScriptedBits([0, 0])).tolist() == [0]
    assert discrete_laplace(Fraction(1), 1, ScriptedBits([0, LAST_WORD])).tolist() == [-1]


def test_a_word_equal_to_a_threshold_draws_more_words_until_it_is_decided() -> None:
    sign = Sign(Exponential(Fraction(1, 3)))
    table = make_table(sign)
    first = int(table.words[0])
    second = int(exp_ratio(sign, 128)) - (first << 64)

    below = draw(table, 1, ScriptedBits([first, second - 1]))
    above = draw(table, 1, ScriptedBits([first, second + 1]))
    longer = draw(table, 1, ScriptedBits([first, second, 0]))

    assert (below[0], above[0], longer[0]) == (0, 1, 0)


def exp_ratio(sign: Sign, bits: int) -> int:
    """Return floor(2^bits F_1), from an enclosure of 200 more bits."""
    return sign.cumulative(bits + 200)[0][0] >> 200


def test_an_undecided_exponent_draws_more_words() -> None:
    x = Fraction(1, 3)
    first = exp_minus(x, 300)[0] >> 236
    second = (exp_minus(x, 300)[0] >> 172) - (first << 64)

    assert decide(x, first, ScriptedBits([second - 1]))
    assert not decide(x, first, ScriptedBits([second + 1]))
    assert decide(x, first, ScriptedBits([second, 0]))
    assert decide(Fraction(0), LAST_WORD, ScriptedBits([]))


def test_a_cap_on_geometric_draws_is_kept() -> None:
    draws = geometric(Exponential(Fraction(1, 1000)), 5000, SystemBits(), limit=300)

    assert draws.max() == 300
    assert draws.min() >= 0


@pytest.mark.parametrize("population", [0, 1, 5, 300, 10**30])
def test_survivors_are_increasing_ranks_below_the_population(population: int) -> None:
    success = LaplaceTail(Fraction(1), 1) if population < 1000 else LaplaceTail(Fraction(1), 66)

    ranks = [int(rank) for rank in survivors(population, success, SystemBits())]

    assert ranks == sorted(set(ranks))
    assert all(0 <= rank < population for rank in ranks)


def test_a_success_that_almost_never_happens_costs_no_precision() -> None:
    """exp(-10^9) is far below 2^-64: the lower digits of the gap, which would need it exactly, are never drawn."""
    bits = CountingBits(SystemBits())

    ranks = survivors(10**30, LaplaceTail(Fraction(1), 10**9), bits)

    assert ranks.size == 0
    assert bits.count < 100


def test_a_success_that_almost_always_happens_keeps_everything() -> None:
    ranks = survivors(5000, LaplaceTail(Fraction(1), -(10**9)), SystemBits())

    np.testing.assert_array_equal(ranks, np.arange(5000))


def test_uniform_numbers_leave_out_the_surplus_words() -> None:
    top = (1 << 64) - (1 << 64) % 10

    numbers = uniform_below(10, 4, ScriptedBits([top, top - 1, 17, LAST_WORD]))

    assert numbers.tolist() == [9, 7]
    assert uniform_below(1 << 60, 1, ScriptedBits([LAST_WORD])).tolist() == [(1 << 60) - 1]


@pytest.mark.parametrize("bad", [Fraction(0), Fraction(-1), 0.5, float("nan"), (1 << 55) + 1])
def test_scales_that_are_no_positive_rationals_in_range_are_refused(bad: Fraction) -> None:
    with pytest.raises(ParameterError, match="noise scale must be"):
        discrete_laplace(bad, 1, ZeroNoiseBits())
    with pytest.raises(ParameterError, match="must be"):
        discrete_gaussian(bad * abs(bad) if bad == (1 << 55) + 1 else bad, 1, ZeroNoiseBits())


def test_bad_sizes_and_exponents_are_refused() -> None:
    with pytest.raises(ParameterError, match="size must be"):
        discrete_laplace(Fraction(1), -1, ZeroNoiseBits())
    with pytest.raises(ParameterError, match="size must be"):
        discrete_gaussian(Fraction(1), -1, ZeroNoiseBits())
    with pytest.raises(ParameterError, match="unit must be"):
        bernoulli_exp_multiples(np.ones(1, dtype=np.uint64), Fraction(-1), ZeroNoiseBits())
    with pytest.raises(ParameterError, match="uint64"):
        bernoulli_exp_multiples(np.array([1]), Fraction(1), ZeroNoiseBits())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="threshold must be"):
        discrete_laplace_at_least(1 << 62, Fraction(1), 1, ZeroNoiseBits())
    with pytest.raises(ParameterError, match="size must be"):
        geometric(Exponential(Fraction(1)), -1, ZeroNoiseBits())
    with pytest.raises(ParameterError, match="limit must be"):
        geometric(Exponential(Fraction(1)), 1, ZeroNoiseBits(), limit=0)


@pytest.mark.parametrize(
    "bad", [np.array([]), np.array([0.5]), np.zeros((2, 2), dtype=np.int64), np.zeros(0, np.int64)]
)
def test_scores_that_are_no_list_of_integers_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(ParameterError, match="scores must be"):
        exponential_mechanism(bad, Fraction(1), 1, ZeroNoiseBits())


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(Fraction(0), 1), (0.1, 1), (Fraction(1), 0)])
def test_bad_settings_of_a_selection_are_refused(epsilon: Fraction, sensitivity: int) -> None:
    with pytest.raises(ParameterError, match="must be"):
        exponential_mechanism(np.array([1]), epsilon, sensitivity, ZeroNoiseBits())


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


def test_every_offset_belongs_to_its_own_weight():
    weights = np.array([2, 0, 3, 1])

    drawn = weighted_draws(weights, 6, ScriptedBits(list(range(6))))

    assert drawn.tolist() == [0, 0, 2, 2, 2, 3]


def test_a_word_of_the_incomplete_round_is_replaced_and_not_folded():
    weights = np.array([2**61, 2**60])  # 2^64 is 5 rounds and a third

    drawn = weighted_draws(weights, 2, ScriptedBits([2**64 - 1, 5, 15 * 2**60 - 1]))

    assert drawn.tolist() == [0, 1]


def test_a_draw_takes_one_word_where_none_is_left_out():
    bits = CountingBits(SystemBits())

    weighted_draws(np.array([3, 1]), 1000, bits)

    assert bits.count == 1000


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.array([1.0]), "weights must be a one-dimensional array of int64, none below 0; convert them"),
        (np.array([[1]]), "weights must be a one-dimensional array of int64, none below 0; convert them"),
        (np.array([], dtype=np.int64), "weights must be a one-dimensional array of int64, none below 0; convert them"),
        (np.array([2, -1]), "weights must be a one-dimensional array of int64, none below 0; convert them"),
        (np.array([0, 0]), r"weights must sum to a number from 1 to 2\*\*62; scale them"),
        (np.array([LARGEST_TOTAL, 1]), r"weights must sum to a number from 1 to 2\*\*62; scale them"),
        (np.array([2**62, 2**62, 2**62, 2**62]), r"weights must sum to a number from 1 to 2\*\*62; scale them"),
    ],
)
def test_weights_out_of_range_are_refused(weights, message):
    with pytest.raises(ParameterError, match=message):
        weighted_draws(weights, 1, SystemBits())


def test_a_negative_number_of_draws_is_refused():
    with pytest.raises(ParameterError, match="size must be at least 0, got -1"):
        weighted_draws(np.array([1]), -1, SystemBits())


SCALES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(7)]
PLACES = [-9, -2, -1, 0, 1, 2, 8]
CONTEXT = Context(prec=70)


def masses(scale, reach=1500):
    """Return the probabilities of all values up to a reach, beyond which less than 1e-80 lies."""
    with localcontext(CONTEXT):
        q = (-Decimal(scale.denominator) / scale.numerator).exp()
        return {value: (1 - q) / (1 + q) * q ** abs(value) for value in range(-reach, reach + 1)}


def log_ratio(one, other):
    with localcontext(CONTEXT):
        return Fraction((one / other).ln())


@pytest.mark.parametrize("scale", SCALES)
def test_the_ratio_of_tails_is_that_of_summed_probabilities_and_never_nearer_to_zero(scale):
    chances = masses(scale)
    with localcontext(CONTEXT):
        tails = {least: sum(p for value, p in chances.items() if value >= least) for least in PLACES}

    for one, other in itertools.product(PLACES, repeat=2):
        told, true = tail_ratio(scale, one, other), log_ratio(tails[one], tails[other])

        assert log_tail(scale, one) == pytest.approx(float(tails[one].ln()), rel=1e-9)
        assert abs(told - true) < Fraction(1, 10**39)
        assert abs(told) >= abs(true) - Fraction(1, 10**60)  # rounding of 70 digits in the sums


@pytest.mark.parametrize("scale", SCALES)
def test_the_ratio_of_values_is_that_of_their_probabilities(scale):
    chances = masses(scale)

    for shown, one, other in itertools.product(PLACES, repeat=3):
        told, true = value_ratio(scale, shown, one, other), log_ratio(chances[shown - one], chances[shown - other])

        assert abs(told - true) < Fraction(1, 10**60)


def test_the_event_below_a_threshold_is_that_of_the_mirrored_noise():
    chances = masses(Fraction(2))
    with localcontext(CONTEXT):
        below = {least: sum(p for value, p in chances.items() if value < least) for least in PLACES}

    for one, other in itertools.product(PLACES, repeat=2):
        told = tail_ratio(Fraction(2), 1 - one, 1 - other)

        assert abs(told - log_ratio(below[one], below[other])) < Fraction(1, 10**39)


def test_ratios_above_zero_are_exact_fractions():
    assert tail_ratio(Fraction(7, 3), 0, 5) == Fraction(15, 7)
    assert tail_ratio(Fraction(7, 3), 10**18, 3) == Fraction(3, 7) * (3 - 10**18)
    assert tail_ratio(Fraction(7, 3), -4, -4) == 0


def test_one_row_never_loses_more_than_the_inverse_of_the_scale():
    for scale, least in itertools.product([Fraction(1, 40), *SCALES, Fraction(2**50)], range(-60, 60)):
        assert 0 < tail_ratio(scale, least, least + 1) <= 1 / scale
        assert -1 / scale <= tail_ratio(scale, least + 1, least) < 0


def test_ratios_of_huge_scales_and_thresholds_are_found():
    assert tail_ratio(Fraction(2**50), -(2**60), 2**60) > 2**9
    assert abs(tail_ratio(Fraction(1, 10**6), -(2**40), -5)) <= Fraction(1, 10**39)


LAWS = {kind: NoiseLaw(kind, Fraction(9, 2)) for kind in ("laplace", "gaussian")}
DRAW = {"laplace": discrete_laplace, "gaussian": discrete_gaussian}


def number(law, terms, value=0.0):
    return NoisyNumber(float(value), law.kind, law.parameter, terms, law.sd)


def log_mean_exponential(law, terms, x):
    """Return log E exp(x S), by adding up the law; Gaussian: that of the real variable, which is never less."""
    if law.kind == "gaussian":
        return terms * float(law.parameter) * x * x / 2
    if x >= 1 / law.parameter:
        return math.inf
    z = np.arange(-4000, 4001)
    logs = -np.abs(z) / float(law.parameter)
    return terms * float(np.logaddexp.reduce(x * z + logs) - np.logaddexp.reduce(logs))


@pytest.mark.parametrize("kind", LAWS)
def test_the_reach_solves_the_equation_of_the_supermartingale(kind):
    law = LAWS[kind]
    numbers = [number(law, terms) for terms in (6, 2, 40)]
    weights = [6 / each.terms for each in numbers]
    unit = math.sqrt(6) * law.sd
    xs = [6.0 * 2 ** (-place / 4) for place in range(96)]
    shares = [x * math.exp(-((x / 1.4) ** 2) / 2) for x in xs]

    growth = [
        sum(
            log_mean_exponential(law, each.terms, x * weight / unit)
            for each, weight in zip(numbers, weights, strict=True)
        )
        for x in xs
    ]

    def mean(reach):
        parts = zip(xs, shares, growth, strict=True)
        return sum(share / sum(shares) * math.cosh(min(x * reach, 600.0)) * math.exp(-each) for x, share, each in parts)

    exact = brentq(lambda reach: mean(reach) - 20, 0.1, 60)
    _, reach = pooled_number(numbers, Fraction(1, 20))
    assert reach == pytest.approx(exact * unit / sum(weights), rel=1e-6)


def test_numbers_are_weighed_by_their_variance():
    law = LAWS["gaussian"]

    mean, _ = pooled_number([number(law, 1, 100), number(law, 4, 200)], Fraction(1, 20))

    assert mean == pytest.approx(120)


@pytest.mark.parametrize("kind", LAWS)
def test_whoever_stops_when_it_is_worst_seldom_wins(kind):
    law, failure, runs = LAWS[kind], Fraction(1, 4), 2000
    terms = [1 + place % 3 for place in range(120)]
    noise = DRAW[kind](law.parameter, runs * sum(terms), SeededBits(1)).reshape(runs, -1)
    firsts = np.concatenate(([0], np.cumsum(terms)[:-1]))
    sums = np.add.reduceat(noise, firsts, axis=1)
    weights = 1 / np.array(terms)
    means = np.cumsum(sums * weights, axis=1) / np.cumsum(weights)
    numbers = [number(law, each) for each in terms]
    reach = np.array([pooled_number(numbers[: place + 1], failure)[1] for place in range(len(terms))])

    wins = int((np.abs(means) > reach).any(axis=1).sum())
    wins_of_more_noise = int((1.5 * np.abs(means) > reach).any(axis=1).sum())

    assert binom.sf(wins - 1, runs, 1 / 4) > FALSE_ALARMS
    assert binom.sf(wins_of_more_noise - 1, runs, 1 / 4) < FALSE_ALARMS  # less is caught by the equation above


@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(1, 100), Fraction(10**15)])
def test_noise_of_every_size_has_a_reach(scale):
    law = NoiseLaw("laplace", scale)

    mean, reach = pooled_number([number(law, 3, 7), number(law, 5, 7)], Fraction(1, 10**6))

    assert mean == pytest.approx(7)
    assert law.sd <= reach < 100 * max(law.sd, 0.01)


def test_a_later_number_of_far_less_noise_is_used_or_nothing_is_said():
    rough = NoiseLaw("laplace", Fraction(10**4))

    near, far = (
        pooled_number([number(rough, 1), number(NoiseLaw("laplace", scale), 1)], Fraction(1, 20))[1]
        for scale in (Fraction(10), Fraction(1, 10**6))
    )

    assert near < 15 * 10 * math.sqrt(2)
    assert far == math.inf
