"""How far the number of rows that a release tells may be from the true one."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.terms import Terms
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.certificate.certificate import ROWS_WITHIN, Statement
from lapwing.model.queries.asked import noisy_totals

_FAILURE: Final = Fraction(1, 20)


def rows_statements(answers: Sequence[Answer], terms: Terms, rows: int) -> tuple[Statement, ...]:
    """Say how far a noisy number of rows may be off.

    Returns one, or none where no answer counts all rows.
    """
    found = None if terms.rows is not None else rows_within(answers, rows, _FAILURE)
    if found is None:
        return ()
    within, which = found
    text = f"the number of rows that is told lies this near to that of the {which}, with probability 0.95"
    return (Statement(kind=ROWS_WITHIN, text=text, value=within),)


def rows_within(answers: Sequence[Answer], rows: int, failure: Fraction) -> tuple[float, str] | None:
    """Return within how many rows a number of rows lies, but with some probability, and of which rows it is the number.

    answers: of one release, in the order in which they were given. Returns how far ``rows`` is from the first noisy
    total, and the tail of its noise, together; None without a total.

    A later total may have less noise, and was perhaps asked for because of how earlier noise fell.
    """
    for total, law, cells, is_whole in noisy_totals(answers):
        reach = sum_tail(law.kind, law.parameter, cells, failure)
        return float(abs(rows - total) + reach), "rows used" if is_whole else "rows used that fit the schema"
    return None
