"""How far the number of rows that a release tells may be from the true one."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from lapwing.api.accuracy_asked import noisy_totals
from lapwing.numerics.noise_tails import sum_tail
from lapwing.release.certificate import ROWS_WITHIN, Statement
from lapwing.release.questions import Answer
from lapwing.release.terms import Terms

_FAILURE: Final = Fraction(1, 20)


def rows_statements(answers: Sequence[Answer], terms: Terms, rows: int) -> tuple[Statement, ...]:
    """Say how far a noisy number of rows may be off.

    Parameters
    ----------
    answers : sequence of answers
        Of the release.
    terms : Terms
        Where the number is public, nothing is said.
    rows : int
        The number that is told.

    Returns
    -------
    tuple of Statement
        One, or none where no answer counts all rows.

    Notes
    -----
    From the noisy total whose noise has the smallest variance: how far it is from ``rows``, and the 95 % point of its
    noise. Later tables are chosen by earlier answers, and so which total that is: hence "about".
    """
    totals = [
        (cells * law.sd**2, total, law, cells) for total, law, cells, is_whole in noisy_totals(answers) if is_whole
    ]
    if terms.rows is not None or not totals:
        return ()
    _, total, law, cells = min(totals, key=lambda each: each[0])
    reach = sum_tail(law.kind, law.parameter, cells, _FAILURE) + abs(rows - total)
    text = "the number of rows that is told lies this near to that of the rows used, in about 95 % of releases"
    return (Statement(kind=ROWS_WITHIN, text=text, value=float(reach)),)
