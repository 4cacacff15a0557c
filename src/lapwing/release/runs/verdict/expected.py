"""The error to expect of a release, and the grade that it gets: sums of `terms`, with weights from public tables.

The weights were fitted once to releases of 26 public tables by Adaptive, and rounded; docs/accuracy.md has the figures.
What comes out is no bound: a table of another kind may be off by more.
"""

import math
from collections.abc import Sequence
from typing import Final

from lapwing.model.certificate.notices import Word
from lapwing.model.certificate.verdict import WORDS, Grade
from lapwing.release.runs.verdict.terms import MeanTerms

_TOGETHER: Final = {"chance": 1.0, "columns": 1.0, "tables": 0.6, "finer": 0.5, "unmeasured": 0.7}
WEIGHTS: Final = {1: {"chance": 0.4, "columns": 1.2}, 2: _TOGETHER, 3: _TOGETHER}
"""By the number of columns; their squares are added up."""

GOOD_TIMES, FAIR_TIMES, WEAK_TIMES = 2.0, 4.0, 10.0
"""How many times as far as fresh rows a good, a fair and a weak table is at most."""

GOOD_ERROR, FAIR_ERROR, WEAK_ERROR = 0.01, 0.03, 0.1  # the same of single columns, where it is more

GOOD_PLACE, FAIR_PLACE, WEAK_PLACE = 0.1, 1 / 3, 0.9
"""The same as a place from fresh rows (0) to independent columns (1), where these are `APART` times as far."""

MOST_ERROR = 0.5  # no table is worth anything whose rows are mostly elsewhere, however far fresh rows are

APART = 3.0
CAUTION = 1.2  # grades are of an error so many times as large as is expected, so that few of them are too good


def expected_error(terms: MeanTerms) -> float:
    """Return the mean total variation distance to expect, at most 1."""
    return min(1.0, math.hypot(*(weight * getattr(terms, key) for key, weight in WEIGHTS[terms.ways].items())))


def grade_tables(terms: MeanTerms, *, is_learnt: bool = True, times: float = 1.0) -> Grade:
    """Return the grade of tables of so many columns.

    is_learnt: whether any two columns were counted together; without, pairs and triples have no grade to get; times: by
    how much the error is taken to be larger than is expected.
    """
    error = min(1.0, times * expected_error(terms))
    # Dependence that was not measured may be there: independent columns are further from the real ones by so much.
    fresh, independent = min(1.0, terms.fresh), min(1.0, math.hypot(terms.independent, terms.unmeasured))
    word = (
        grade_error(terms.ways, min(1.0, CAUTION * error), fresh, independent)
        if is_learnt or terms.ways == 1
        else WORDS[-1]
    )
    return Grade(ways=terms.ways, word=word, error=error, fresh=fresh, independent=independent)


def grade_error(ways: int, error: float, fresh: float, independent: float) -> Word:
    """Return the grade of an error beside those of fresh rows and of independent columns.

    >>> [grade_error(2, error, 0.01, 0.21) for error in (0.02, 0.05, 0.15, 0.3)]
    ['good', 'fair', 'weak', 'none']
    """
    times = (GOOD_TIMES, FAIR_TIMES, WEAK_TIMES)
    if error > MOST_ERROR:
        return WORDS[-1]
    if ways == 1:
        least = (GOOD_ERROR, FAIR_ERROR, WEAK_ERROR)
        return _word(error, [max(each * fresh, floor) for each, floor in zip(times, least, strict=True)])
    if error >= independent:
        return WORDS[-1]
    if independent <= APART * fresh:
        return _word(error, [each * fresh for each in times])
    good, fair, weak = (fresh + place * (independent - fresh) for place in (GOOD_PLACE, FAIR_PLACE, WEAK_PLACE))
    good = max(good, GOOD_TIMES * fresh)
    return _word(error, [good, fair if good < fair else (good + weak) / 2, weak])  # no step is left out


def _word(value: float, limits: Sequence[float]) -> Word:
    """Return the first word whose limit holds."""
    return next((word for word, limit in zip(WORDS, limits, strict=False) if value <= limit), WORDS[-1])
