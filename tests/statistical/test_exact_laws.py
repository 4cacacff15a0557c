"""The laws of the samplers, exactly: no draw decides these tests, and none of them can fail by chance.

Small scales: all words of one and of three bits are walked, and what they give together is the formula but for scripts
that are still open. Any scale: every word of 64 bits at which a step turns is the one that the formula says, and the
law made of these words differs from the formula by less than 2^-50 in total variation. Chi-square tests of many draws
(`test_noise_laws.py`) are left for what this cannot see: chunks, and the order of words in long runs.
"""

import math
from bisect import bisect_left
from collections import Counter
from decimal import localcontext
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import ScriptedBits
from helpers.exact_laws import (
    ALL_ONES,
    EXACT,
    WORD,
    Script,
    ScriptEndsError,
    digit_words,
    exp_of,
    floor_of,
    gaussian_masses,
    laplace_mass,
    share_not_negative,
    turns_at,
    walked,
)
from lapwing.kernel.noise import bernoulli, gaussian, geometric, inverse_cdf, laplace, selection
from lapwing.kernel.noise.bernoulli import approximate_exp, bernoulli_exp_multiples, decide
from lapwing.kernel.noise.enclosures import Complement, Exponential, LaplaceTail
from lapwing.kernel.noise.gaussian import discrete_gaussian, make_proposal, proposal_exponents
from lapwing.kernel.noise.geometric import Digit, survivors
from lapwing.kernel.noise.inverse_cdf import draw, make_table
from lapwing.kernel.noise.laplace import Sign, discrete_laplace, discrete_laplace_at_least, laplace_with_words
from lapwing.kernel.noise.selection import exponential_mechanism, uniform_below
from lapwing.kernel.noise.weighted import weighted_draws

SHORT = [(1, 22), (3, 18)]
"""Bits of a word, and of the longest script."""

ROUNDING = Fraction(1, 10**200)


def holds(found, formula):
    """Tell whether no outcome has more than its probability: then only open scripts part the two laws."""
    return all(weight <= formula(outcome) + ROUNDING for outcome, weight in found.items())


# ------------------------------------------------------------------------------------------------- all short words


@pytest.mark.parametrize(("word_bits", "depth"), SHORT)
@pytest.mark.parametrize("scale", ["1/3", "1", "22/7"])
def test_all_short_words_together_make_up_the_discrete_laplace_law(scale, word_bits, depth):
    scale = Fraction(scale)

    found, still_open = walked(lambda bits: int(laplace_with_words(scale, 1, bits, word_bits)[0]), word_bits, depth)

    assert holds(found, lambda z: laplace_mass(scale, z))
    assert sum(found.values()) == 1 - still_open > Fraction(996, 1000)


@pytest.mark.parametrize("wrong", ["scale", "zero twice", "refinement"])
def test_short_words_show_what_is_slightly_wrong(wrong, monkeypatch):
    scale = Fraction(1)
    sampler = lambda bits: int(laplace_with_words(scale, 1, bits, 1)[0])  # noqa: E731
    if wrong == "scale":
        sampler = lambda bits: int(laplace_with_words(scale * Fraction(10_001, 10_000), 1, bits, 1)[0])  # noqa: E731
    if wrong == "zero twice":
        monkeypatch.setattr(laplace.np, "bitwise_xor", lambda one, flip, out: np.copyto(out, one * (1 + 2 * flip)))
    if wrong == "refinement":
        monkeypatch.setattr(inverse_cdf, "_refine", lambda table, word, bits: 0)

    found, _ = walked(sampler, 1, 24)

    assert not holds(found, lambda z: laplace_mass(scale, z))


@pytest.mark.parametrize("threshold", [-1, 0, 2])
def test_all_short_words_together_make_up_the_law_above_a_threshold(threshold, monkeypatch):
    monkeypatch.setattr(laplace, "WORD_BITS", 1)
    monkeypatch.setattr(geometric, "WORD_BITS", 1)
    scale = Fraction(1, 2)
    above = 1 - sum(laplace_mass(scale, z) for z in range(-300, threshold))

    found, still_open = walked(lambda bits: int(discrete_laplace_at_least(threshold, scale, 1, bits)[0]), 1, 16)

    assert min(found) == threshold
    assert holds(found, lambda z: laplace_mass(scale, z) / above)
    assert still_open < Fraction(1, 50)


@pytest.mark.parametrize("threshold", [-1, 1, 2])
def test_all_short_words_together_make_up_the_law_of_survivors(threshold, monkeypatch):
    """Each subset of three empty cells survives with the probability that trial by trial would give it."""
    monkeypatch.setattr(geometric, "WORD_BITS", 1)
    monkeypatch.setattr(geometric, "CHUNK", 1)
    scale = Fraction(3, 2)
    success = sum(laplace_mass(scale, z) for z in range(threshold, 800))

    found, still_open = walked(lambda bits: tuple(survivors(3, LaplaceTail(scale, threshold), bits).tolist()), 1, 16)

    assert holds(found, lambda kept: success ** len(kept) * (1 - success) ** (3 - len(kept)) + Fraction(1, 10**100))
    assert len(found) == 8
    assert still_open < Fraction(1, 50)


@pytest.mark.parametrize("x", ["1/3", "1", "10/3"])
def test_all_short_words_together_make_up_a_decision(x):
    x = Fraction(x)

    found, still_open = walked(lambda bits: decide(x, int(bits.words(1)[0]) >> 61, bits, word_bits=3), 3, 36)

    assert holds(found, {True: Fraction(exp_of(-x)), False: 1 - Fraction(exp_of(-x))}.get)
    assert still_open == Fraction(1, 2**36)


@pytest.mark.parametrize("bound", [1, 3, 7, 10, 128, 200])
def test_uniform_numbers_are_uniform_exactly(bound, monkeypatch):
    monkeypatch.setattr(selection, "WORD_BITS", 8)

    found = Counter(uniform_below(bound, 256, ScriptedBits(list(range(256)))).tolist())

    assert dict(found) == dict.fromkeys(range(bound), 256 // bound)


@pytest.mark.parametrize("weights", [[7], [1, 2, 3, 4], [0, 5, 0, 1], [100, 101]])
def test_draws_by_weights_have_exactly_their_shares(weights, monkeypatch):
    monkeypatch.setattr(selection, "WORD_BITS", 8)

    found, left_out = walked(lambda bits: int(weighted_draws(np.array(weights), 1, ShortWords(bits))[0]), 8, 16)

    decided = 1 - left_out
    assert found == {i: decided * Fraction(w, sum(weights)) for i, w in enumerate(weights) if w}
    assert left_out == Fraction(256 % sum(weights), 256) ** 2


class ShortWords:
    """Words of eight bits at the lower end, for what takes them modulo a number."""

    def __init__(self, bits):
        self._bits = bits

    def words(self, count):
        """Return the next words."""
        return self._bits.words(count) >> np.uint64(WORD - 8)


# ------------------------------------------------------------------------------------------------------ long words

LONG = Fraction(10**61 + 7, 3 * 10**60 + 1)  # about 10 / 3, by numbers of 61 digits
SCALES = [*map(Fraction, ("1/10", "1", "10", "300", "10000", "1000000000000", str(1 << 55))), LONG]
SIGMAS_SQUARED = [
    Fraction(1, 4),
    Fraction(1),
    Fraction(100, 3),
    Fraction(33**2),
    Fraction(10**6),
    Fraction(10**24),
    LONG,
]


def digits_of(ratio):
    """Return the tables of the digits of a geometric variable, from the lowest place up."""
    places = geometric._places(ratio, geometric.MAX_PLACES)
    return [make_table(Digit(ratio, place, place == places - 1)) for place in range(places)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_every_word_at_which_a_digit_turns_is_that_of_the_formula(scale):
    q = exp_of(-1 / scale)

    tables = digits_of(Exponential(1 / scale))

    for place, table in enumerate(tables):
        assert table.words.tolist() == digit_words(q, place, is_last=place == len(tables) - 1)
    sign = make_table(Sign(Exponential(1 / scale)))
    assert turns_at(lambda bits: draw(sign, 1, bits)[0] == 0, share_not_negative(scale))


def test_gaps_between_rare_successes_turn_at_the_words_of_the_formula():
    with localcontext(EXACT):
        failure = 1 - exp_of(Fraction(-9, 2)) * share_not_negative(Fraction(2))

    tables = digits_of(Complement(LaplaceTail(Fraction(2), 9)))

    assert [table.words.tolist() for table in tables] == [
        digit_words(failure, place, is_last=place == len(tables) - 1) for place in range(len(tables))
    ]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_scale_wrong_by_a_part_in_a_million_millions_turns_at_other_words(scale):
    wrong = exp_of(-1 / (scale * (1 + Fraction(1, 10**12))))

    tables = digits_of(Exponential(1 / scale))

    found = [table.words.tolist() for table in tables]
    assert found != [digit_words(wrong, place, is_last=place == len(tables) - 1) for place in range(len(tables))]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_draws_are_made_of_their_digits_and_their_sign(scale):
    tables = digits_of(Exponential(1 / scale))
    rng = np.random.default_rng(1)
    for is_negative in (False, True) * 20:
        words = rng.integers(1 << 62, size=len(tables)).tolist()
        digits = [bisect_left(table.words.tolist(), word) for table, word in zip(tables, words, strict=True)]
        number = sum(digit << 8 * place for place, digit in enumerate(digits))
        script = Script([*reversed(words), ALL_ONES * is_negative])

        (drawn,) = discrete_laplace(scale, 1, script)

        assert drawn == (-1 - number if is_negative else number)
        assert not script.left


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_many_draws_at_a_time_look_their_words_up_alike(scale):
    buckets = np.arange(1 << 12, dtype=np.uint64) << np.uint64(WORD - 12)
    for table in digits_of(Exponential(1 / scale)):
        near = np.concatenate([table.words - np.uint64(1), table.words + np.uint64(1)])
        words = np.concatenate([buckets, buckets | np.uint64((1 << WORD - 12) - 1), near])
        words = words[~np.isin(words, table.words)]

        drawn = draw(table, words.size, ScriptedBits(words.tolist()))

        thresholds = table.words.tolist()
        assert drawn.tolist() == [bisect_left(thresholds, word) for word in words.tolist()]


def exponent(sigma_squared, proposed, magnitude):
    """Return x of the acceptance exp(-x) in Algorithm 3 of Canonne, Kamath and Steinke."""
    return (magnitude - sigma_squared / proposed) ** 2 / (2 * sigma_squared)


@pytest.mark.parametrize("sigma_squared", SIGMAS_SQUARED, ids=str)
def test_every_proposal_is_accepted_with_the_probability_of_the_formula(sigma_squared):
    proposal = make_proposal(sigma_squared)
    reach = 4 * proposal.scale
    for magnitude in sorted({*range(min(reach, 130)), *range(0, reach, max(reach // 60, 1))}):
        x = exponent(sigma_squared, proposal.scale, magnitude)
        if x:
            assert turns_at(lambda bits, y=magnitude: gaussian._accept(proposal, np.array([y]), bits)[0], exp_of(-x))


@pytest.mark.parametrize("sigma_squared", SIGMAS_SQUARED, ids=str)
def test_the_filter_of_proposals_is_nearer_to_the_formula_than_its_slack(sigma_squared):
    """Beyond the slack its comparison is that with the formula; within it, `decide` is asked."""
    proposal = make_proposal(sigma_squared)
    reach = 9 * proposal.scale
    magnitudes = sorted({*range(min(reach, 300)), *range(0, reach, max(reach // 500, 1))})

    exponents = np.minimum(proposal_exponents(proposal, np.array(magnitudes)), bernoulli.EXPONENT_CLIP << 40)
    found = approximate_exp(exponents).tolist()

    for magnitude, value in zip(magnitudes, found, strict=True):
        exact = exp_of(-exponent(sigma_squared, proposal.scale, magnitude)) * (1 << 32)
        assert abs(value - exact) < bernoulli.SLACK - 1


def test_every_entry_of_the_table_of_exponentials_is_within_its_proved_error():
    for k, entry in enumerate(bernoulli._exp_table().tolist()):
        assert 0 <= Fraction(exp_of(-Fraction(k, 256), 40)) * (1 << 30) - entry < Fraction(1001, 1000)


@pytest.mark.parametrize("sigma_squared", SIGMAS_SQUARED[:3], ids=str)
def test_proposals_and_acceptances_together_are_the_discrete_gaussian_law(sigma_squared):
    proposed = make_proposal(sigma_squared).scale
    reach = math.ceil(13 * math.sqrt(sigma_squared)) + 13
    formula = gaussian_masses(sigma_squared, reach)

    accepted = {
        z: laplace_mass(Fraction(proposed), z) * words_of(exponent(sigma_squared, proposed, abs(z))) for z in formula
    }

    total = sum(accepted.values())
    assert sum(abs(weight / total - formula[z]) for z, weight in accepted.items()) / 2 < Fraction(1, 1 << 55)


def words_of(x):
    """Return the share of words of 64 bits below exp(-x)."""
    return Fraction(floor_of(exp_of(-x)), 1 << WORD) if x else Fraction(1)


def test_the_first_proposal_that_is_accepted_is_the_draw(monkeypatch):
    monkeypatch.setattr(gaussian, "CHUNK", 1)
    (table,) = digits_of(Exponential(Fraction(1, 4)))
    three, five = (int(table.words[digit]) - 1 for digit in (3, 5))

    found = discrete_gaussian(Fraction(9), 1, Script([five, 0, ALL_ONES, three, ALL_ONES, 0]))

    assert found.tolist() == [-4]


@pytest.mark.parametrize("unit", ["1/30", "7/2", "1/1000000007"])
def test_exponents_of_their_own_turn_at_the_words_of_the_formula(unit):
    unit = Fraction(unit)
    for multiple in [1, 2, 7, 50, 300, 12_345, 10**9, 5 * 10**9]:
        x = multiple * unit
        if x < 40:
            sample = lambda bits, m=multiple: bernoulli_exp_multiples(np.array([m], dtype=np.uint64), unit, bits)[0]  # noqa: E731
            assert turns_at(sample, exp_of(-x))


def test_a_filter_that_is_off_by_more_than_its_slack_turns_at_another_word(monkeypatch):
    honest = bernoulli.approximate_exp
    monkeypatch.setattr(bernoulli, "approximate_exp", lambda exponents: honest(exponents) - 2 * bernoulli.SLACK)
    ten = np.array([10], dtype=np.uint64)

    assert not turns_at(lambda bits: bernoulli_exp_multiples(ten, Fraction(1, 30), bits)[0], exp_of(-Fraction(1, 3)))


LONGEST = [-(2**63), 2**63 - 1, 2**63 - 4, 2**63 - 2]


@pytest.mark.parametrize("scores", [[0, 3], [5, 5, -2], [7], LONGEST, list(range(9))], ids=len)
def test_each_attempt_of_a_selection_is_accepted_with_the_probability_of_the_formula(scores, monkeypatch):
    monkeypatch.setattr(selection, "FIRST_BATCH", 1)
    monkeypatch.setattr(selection, "LARGEST_BATCH", 1)
    epsilon, sensitivity, best = Fraction(3, 2), 3, max(scores)
    asked = set()
    for offset in range(len(scores)):
        candidate = (offset + scores.index(best)) % len(scores)
        asked.add(candidate)

        def attempt(bits, candidate=candidate, offset=offset):
            bits.left.insert(0, offset)
            try:
                return exponential_mechanism(np.array(scores), epsilon, sensitivity, bits) == candidate
            except ScriptEndsError:
                return False

        x = epsilon * (best - scores[candidate]) / (2 * sensitivity)
        if x < 40:
            assert turns_at(attempt, exp_of(-x)) if x else attempt(Script([ALL_ONES]))
        else:
            assert not attempt(Script([1]))
    assert asked == set(range(len(scores)))


def test_a_factor_left_out_of_a_selection_turns_at_another_word(monkeypatch):
    monkeypatch.setattr(selection, "FIRST_BATCH", 1)

    def attempt(bits):
        bits.left.insert(0, 1)
        try:
            return exponential_mechanism(np.array([3, 0]), Fraction(2), 3, bits) == 1
        except ScriptEndsError:
            return False

    assert not turns_at(attempt, exp_of(-Fraction(1, 2)))
