"""The exact samplers: words they use, edges, guards, and fake bits."""

import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import CountingBits, ScriptedBits, ZeroNoiseBits
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.noise.bernoulli import bernoulli_exp_multiples, decide
from lapwing.kernel.noise.bits import BLOCK_WORDS, SystemBits
from lapwing.kernel.noise.enclosures import Complement, Exponential, LaplaceTail, exp_minus
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.geometric import geometric, survivors
from lapwing.kernel.noise.inverse_cdf import draw, make_table
from lapwing.kernel.noise.laplace import Sign, discrete_laplace, discrete_laplace_at_least
from lapwing.kernel.noise.selection import exponential_mechanism, uniform_below

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


def test_a_complement_mirrors_its_enclosure() -> None:
    lo, hi = Exponential(Fraction(2)).enclose(50)

    assert Complement(Exponential(Fraction(2))).enclose(50) == ((1 << 50) - hi, (1 << 50) - lo)
