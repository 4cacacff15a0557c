"""The verdict on a release as its certificate holds it: what to expect of it, what to quote, what not to use it for."""

from dataclasses import dataclass
from functools import partial
from typing import Final, cast, get_args

from lapwing.errors import ParameterError
from lapwing.model.certificate.notices import Notice, Word
from lapwing.on_demand import Describable

WORDS: Final = cast("tuple[Word, ...]", get_args(Word))

GOOD_SHARE, FAIR_SHARE = 0.01, 0.03
"""By how much a typical share is off at most where single columns are good, and fair."""

GOOD_STRENGTH, FAIR_STRENGTH = 0.1, 0.2
"""The same of the strength of a relation, |r| or Cramér's V."""


def share_word(error: float | None) -> Word:
    """Return how good single columns are whose typical share is off by so much; unknown where nobody knows.

    >>> [share_word(error) for error in (0.004, 0.02, 0.1, None)]
    ['good', 'fair', 'weak', 'unknown']
    """
    return WORDS[-1] if error is None else WORDS[(error > GOOD_SHARE) + (error > FAIR_SHARE)]


def strength_word(error: float | None) -> Word:
    """Return how good relations are whose strength is off by so much; unknown where nothing tells."""
    return WORDS[-1] if error is None else WORDS[(error > GOOD_STRENGTH) + (error > FAIR_STRENGTH)]


_refused = partial(ParameterError, code="LW621")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Describable):
    """Say how good a release is, from released numbers alone: a forecast, and no bound.

    Parameters
    ----------
    least, most : float
        The headline: between these it is in nine of ten releases, from 0 to 1.
    shape, trend : float or None
        How alike columns, and strongly related pairs, are to the real ones, from 0 to 1 as SDMetrics counts it; trend
        is None where no pair can be strong, and both where the rows may be noise alone.
    share_error : float or None
        By how much the share of the value of a typical row is off; None where the rows may be noise alone.
    learnt, pairs : int
        Pairs of columns that were counted together, and all.
    strong : int
        Strong relations among them: |r| above 0.5, Cramér's V above 0.3.
    within : float or None
        How far the strength of nine in ten of these is off at most; None without one.
    relation_error : float or None
        The same of all strong relations that are to be expected, those too that no count found; None where nothing is
        known of any. Where none is to be expected, the weakest relation that can be told from none.
    weakest : float or None
        The weakest relation that a typical counted pair tells from none; None where no pair was counted.
    better : Notice or None
        About how much ε, or ρ, relations or else single columns that are not good would need to be better.
    quotable, not_for : tuple of Notice
        What may be quoted with a range, and what the rows should not be used for.
    """

    least: float
    most: float
    shape: float | None = None
    trend: float | None = None
    share_error: float | None = None
    learnt: int = 0
    pairs: int = 0
    strong: int = 0
    within: float | None = None
    relation_error: float | None = None
    weakest: float | None = None
    better: Notice | None = None
    quotable: tuple[Notice, ...] = ()
    not_for: tuple[Notice, ...] = ()

    def __repr__(self) -> str:
        return f"Verdict({self.short})"

    def __post_init__(self) -> None:
        shares = (self.shape, self.trend, self.share_error, self.within, self.relation_error, self.weakest)
        if not all(each is None or 0 <= each <= 1 for each in shares) or not 0 <= self.least <= self.most <= 1:
            raise _refused("the figures of a verdict are from 0 to 1, and its headline from the least to the most")
        if not 0 <= self.learnt <= self.pairs or not 0 <= self.strong <= self.pairs:
            raise _refused("a verdict has at most as many pairs learnt, and strong ones, as there are")

    @property
    def shares(self) -> Word:
        """How good single columns are."""
        return share_word(self.share_error)

    @property
    def relations(self) -> Word | None:
        """How good relations are; None of one column."""
        return strength_word(self.relation_error) if self.pairs else None

    @property
    def may_miss(self) -> bool:
        """Whether strong relations that no count found make relations worse than those that were found are."""
        found, every = (WORDS.index(strength_word(each or 0.0)) for each in (self.within, self.relation_error))
        return found < every

    @property
    def is_weak(self) -> bool:
        """Whether single columns or relations are weak, or nothing is known of these."""
        return not {self.shares, self.relations}.isdisjoint(("weak", "unknown"))

    @property
    def short(self) -> str:
        """The headline and the words alone."""
        return str(self._in_words("verdict_short"))

    @property
    def text(self) -> str:
        """The verdict as one line."""
        return str(self._in_words("text"))
