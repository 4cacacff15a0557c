"""At which larger budget a release would have a better grade: by the plan made there, on the rows of this release.

A step is foretold with caution, and that there is none with the opposite caution; in between nothing is known.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from lapwing.errors import LapwingError, ParameterError
from lapwing.kernel.budget.budget import read_request
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import is_known
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.verdict import WAYS, WORDS, Grade
from lapwing.release.runs.misfits import of_mechanism
from lapwing.release.runs.plan.foretold import foretold
from lapwing.release.runs.plan.planning import plan_release
from lapwing.release.runs.settings import TableSettings
from lapwing.release.runs.verdict.expected import grade_tables
from lapwing.release.runs.verdict.terms import ReleaseEvidence

_STEPS: Final = (Fraction(3, 2), 2, 3, 5, 10, 20, 50, 100)
_IMPORTANT: Final = (2, 1, 3)


@dataclass(frozen=True, slots=True)
class _View:
    """How cautious to be: rows that a plan is made for, and errors, times so much; dependence that nobody saw."""

    rows: float
    error: float
    unseen: float


_CAREFUL: Final = _View(rows=0.75, error=1.2, unseen=0.0)
_HOPEFUL: Final = _View(rows=1.33, error=0.7, unseen=1.0)


def better_budget(
    settings: TableSettings, terms: Terms, answers: Sequence[Answer], released: ReleaseEvidence, grades: Sequence[Grade]
) -> Notice | None:
    """Say at which budget the most important grade that is not good would be better; nothing of unknown mechanisms."""
    below = {grade.ways: grade for grade in grades if grade.word != WORDS[0]}
    ways = next((each for each in _IMPORTANT if each in below), None)
    if ways is None or not is_known(settings.mechanism):
        return None
    tables, grade = WAYS[ways], below[ways]
    asked = [each for times in _STEPS if (each := _more(settings, Fraction(times))) is not None]
    if ways > 1 and any(isinstance(each.question, SparseCounts) for each in answers):
        return Notice("better_unknown", {"tables": tables})  # nobody knows how cells would be cut

    def found(step: TableSettings, view: _View = _CAREFUL) -> tuple[Grade, bool]:
        return _there(step, terms, released, ways, view) or (grade, False)

    def is_better(step: TableSettings, view: _View = _CAREFUL) -> bool:
        return WORDS.index(found(step, view)[0].word) < WORDS.index(grade.word)

    is_noise = ways > 1 and grades[0].word == WORDS[-1]  # rows that look like no others
    place = bisect_left(asked, True, key=is_better)
    if place < len(asked) and not is_noise:
        word, cost = found(asked[place])[0].word, _amount(asked[place])
        return Notice("better_at", {"tables": tables, "word": word, "cost": cost})
    if not asked or not is_better(asked[-1], _HOPEFUL):
        return Notice("better_never", {"tables": tables, "times": round(_STEPS[-1])})
    first = bisect_left(asked, True, key=lambda step: found(step)[1]) if not released.pairs else len(asked)
    if first < len(asked):
        return Notice("counted_at", {"cost": _amount(asked[first])})
    return Notice("better_unknown", {"tables": tables})


def _there(
    settings: TableSettings, terms: Terms, released: ReleaseEvidence, ways: int, view: _View
) -> tuple[Grade, bool] | None:
    """Return the grade of tables of so many columns, and whether pairs are counted; None where a plan is refused.

    The release is paid for here: that ends nothing.
    """
    if terms.rows is None:
        terms = replace(terms, expected_rows=max(1, round(view.rows * released.drawn.total)))
    try:
        questions = of_mechanism(plan_release(settings, terms).questions)
    except LapwingError:
        return None
    tables = released.tables[ways - 1]
    there = foretold(settings.schema, terms, questions, released, tables)
    if not all(there.parts.values()):
        return None
    now, then = (each.terms(tables) for each in (released, there))
    unseen = view.unseen if now.unmeasured else 0.0
    then = replace(then, independent=math.hypot(now.independent, unseen))
    return grade_tables(then, is_learnt=bool(there.pairs or there.led), times=view.error), bool(there.pairs)


def _amount(settings: TableSettings) -> str:
    request = settings.request
    return f"epsilon {float(request.epsilon):.3g}" if request.epsilon else f"rho {float(request.rho or 0):.3g}"


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
