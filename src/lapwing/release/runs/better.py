"""At which larger budget a release would be better: by the noise of the plan made there, with caution."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

from lapwing.errors import LapwingError, ParameterError
from lapwing.kernel.budget.budget import read_request
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import is_known
from lapwing.model.certificate.notices import Notice, Word
from lapwing.model.certificate.verdict import WORDS, Verdict, share_word, strength_word
from lapwing.release.runs.plan.planning import Foreseen, foreseen, planned_questions
from lapwing.release.runs.settings import TableSettings

_STEPS: Final = (Fraction(3, 2), 2, 3, 5, 10, 20, 50, 100)
_CAUTION: Final = 1.3  # shares there are taken to be off by so many times more
_PAIR_CAUTION: Final = 2.0  # relations


def better_budget(settings: TableSettings, terms: Terms, verdict: Verdict, rows: int) -> Notice | None:
    """Say at which budget relations, or else single columns, would be better; nothing where no plan tells."""
    if not is_known(settings.mechanism):
        return None
    now = _foreseen(settings, terms, rows)
    if now is None:
        return None
    if verdict.relations not in (None, WORDS[0]):
        return _relations(settings, terms, verdict, now, rows)
    if verdict.share_error and verdict.shares != WORDS[0] and now.share_error:
        for cost, there in _larger(settings, terms, rows):
            word = share_word(_CAUTION * verdict.share_error * (there.share_error or 1.0) / now.share_error)
            if WORDS.index(word) < WORDS.index(verdict.shares):
                return _better("singles", word, cost)
    return None


def _relations(settings: TableSettings, terms: Terms, verdict: Verdict, now: Foreseen, rows: int) -> Notice | None:
    """Return the budget at which relations would be better, or be counted at all."""
    error = 1.0 if verdict.relation_error is None and verdict.learnt else verdict.relation_error
    for cost, there in _larger(settings, terms, rows):
        if there.pair_sd is None:
            continue
        if error is None:
            return Notice("counted_at", {"cost": cost})
        if now.pair_sd:  # 0 where the budget is so large that there is no noise
            # What lies inside the groups that are counted shrinks less than noise does. Of strong relations that are
            # found there, noise hides about twice as much as of none.
            noise = there.pair_sd / now.pair_sd
            word = strength_word(_PAIR_CAUTION * error * (2 * noise if verdict.within is None else math.sqrt(noise)))
            if WORDS.index(word) < WORDS.index(strength_word(error)):
                return _better("pairs", word, cost)
    return None


def _better(tables: str, word: Word, cost: str) -> Notice:
    return Notice("better_at", {"tables": tables, "word": word, "cost": cost})


def _larger(settings: TableSettings, terms: Terms, rows: int) -> Iterator[tuple[str, Foreseen]]:
    """Yield larger budgets, and what to expect there."""
    for times in _STEPS:
        more = _more(settings, Fraction(times))
        there = None if more is None else _foreseen(more, terms, rows)
        if more is not None and there is not None:
            yield _amount(more), there


def _foreseen(settings: TableSettings, terms: Terms, rows: int) -> Foreseen | None:
    """Return what to expect by a plan; None where it is refused, which ends nothing: the release is paid for."""
    try:
        return foreseen(settings, terms, planned_questions(settings, terms), max(1, rows))
    except LapwingError:
        return None


def _amount(settings: TableSettings) -> str:
    request = settings.request
    named, amount = ("epsilon", request.epsilon) if request.epsilon else ("rho", request.rho or 0)
    return f"{named} {float(f'{float(amount):.3g}'):g}"


def _more(settings: TableSettings, times: Fraction) -> TableSettings | None:
    """Return the settings with so many times the ε or ρ; None where that is no request."""
    request = settings.request
    try:
        asked = (
            read_request(rho=request.rho * times)
            if request.rho is not None
            else read_request(epsilon=(request.epsilon or 0) * times, delta=request.delta)
        )
    except ParameterError:
        return None
    return replace(settings, request=asked)
