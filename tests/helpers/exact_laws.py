"""Exact laws of samplers: which words give what, as fractions, against formulas in the standard library's decimals.

Two ways to know them without drawing. Words of one or a few bits are walked all, script by script. Words of 64 bits are
asked where the answer turns: a step compares a uniform number with a probability, so it turns once.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

EXACT = Context(prec=250)
MARGIN = Decimal("1e-100")
WORD = 64
ALL_ONES = (1 << WORD) - 1


class ScriptEndsError(Exception):
    """A sampler asks for more words than the script has."""


class Script:
    """Words of a few bits, at the upper end of 64; then `rest`, or the end."""

    def __init__(self, words: Iterable[int], word_bits: int = WORD, rest: int | None = None) -> None:
        self.left = [word << WORD - word_bits for word in words]
        self.rest = rest

    def words(self, count: int) -> np.ndarray:
        """Return the next words."""
        if count > len(self.left) and self.rest is None:
            raise ScriptEndsError
        taken, self.left = self.left[:count], self.left[count:]
        return np.array([*taken, *[self.rest] * (count - len(taken))], dtype=np.uint64)


def walked(
    sample: Callable[[Script], Hashable], word_bits: int, depth: int
) -> tuple[dict[Hashable, Fraction], Fraction]:
    """Return the probability of each outcome over all scripts of words, and of scripts open at a depth in bits."""
    law: Counter[Hashable] = Counter()
    open_scripts, scripts = 0, [()]
    while scripts:
        script = scripts.pop()
        bits = len(script) * word_bits
        try:
            law[sample(Script(script, word_bits))] += 1 << depth - bits
        except ScriptEndsError:
            if bits + word_bits > depth:
                open_scripts += 1 << depth - bits
            else:
                scripts += [(*script, word) for word in range(1 << word_bits)]
    return {outcome: Fraction(weight, 1 << depth) for outcome, weight in law.items()}, Fraction(
        open_scripts, 1 << depth
    )


def exp_of(x: Fraction, digits: int = 250) -> Decimal:
    """Return exp(x) to so many digits: `Decimal.exp` rounds correctly."""
    with localcontext(Context(prec=digits)):
        return (Decimal(x.numerator) / Decimal(x.denominator)).exp()


def floor_of(value: Decimal, bits: int = WORD) -> int:
    """Return floor(2^bits value) of a positive number; 100 digits must tell it from every other floor."""
    with localcontext(EXACT):
        scaled = value * (1 << bits)
        below = int(scaled.to_integral_value(ROUND_FLOOR))
        assert 0 < scaled < below + 1 - MARGIN
        assert below == 0 or scaled > below + MARGIN
    return below


def laplace_mass(scale: Fraction, z: int) -> Fraction:
    """Return P[Z = z] of the discrete Laplace law, off by less than 1e-200."""
    with localcontext(EXACT):
        q = exp_of(-1 / scale)
        return Fraction((1 - q) / (1 + q) * q ** abs(z))


def share_not_negative(scale: Fraction) -> Decimal:
    """Return P[Z >= 0] of the discrete Laplace law."""
    with localcontext(EXACT):
        return 1 / (1 + exp_of(-1 / scale))


def gaussian_masses(sigma_squared: Fraction, reach: int) -> dict[int, Fraction]:
    """Return P[Z = z] of the discrete Gaussian law, |z| up to a reach beyond which nothing weighs 1e-60."""
    weights = {z: Fraction(exp_of(-Fraction(z * z) / (2 * sigma_squared))) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


def digit_words(ratio: Decimal, place: int, *, is_last: bool) -> list[int]:
    """Return floor(2^64 P[digit < r]), r = 1.., of the digit of weight 256^place of a geometric variable."""
    with localcontext(EXACT):
        u = ratio ** (256**place)
        top = Decimal(0) if is_last else u**256
        # Small numbers keep their digits: P[digit >= r] is rounded, and not 1 less that.
        return [ALL_ONES - floor_of((u**r - top) / (1 - top)) for r in range(1, 257 if is_last else 256)]


def turns_at(answers_yes: Callable[[Script], bool], probability: Decimal) -> bool:
    """Tell whether a step that looks at one uniform number says yes with exactly this probability, to 128 bits.

    It says yes to all words below floor(2^64 p), no to all above; at that word the next one decides, 64 bits further.
    """
    first = floor_of(probability)
    second = floor_of(probability, 2 * WORD) - (first << WORD)
    asked = [([0], True), ([first - 1], True), ([first + 1], False), ([ALL_ONES], False)]
    alone = [(words, wanted) for words, wanted in asked if 0 <= words[0] <= ALL_ONES and words[0] != first]
    tied = [([first, word], word < second) for word in (second - 1, second + 1) if 0 <= word <= ALL_ONES]
    return all(answers_yes(Script(words)) == wanted for words, wanted in alone + tied)
