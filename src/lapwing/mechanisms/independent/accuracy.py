"""How far the laws of one-way tables are from the columns' own, in expectation, by theorem."""

import math
from collections.abc import Sequence

from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import Statement


def expected_variations(questions: Sequence[MarginalCounts], terms: Terms) -> tuple[Statement, ...]:
    """Bound the expected total variation distance of every column's table, before anything is asked.

    Returns the largest bound of a column, then one bound per column, each at most 1.

    With n rows, k groups, noise z of standard deviation s, and T the number of rows used in the fit, the bound is
    ``(k s / 2 + t) / n``: the projection on the simplex moves no further from the truth in Euclidean distance than z
    does, so that it errs by at most ``sqrt(k) E|z|_2 <= k s`` in absolute sum; T in place of n moves the law by at most
    ``|T - n| / n``, where ``t`` bounds the expectation of ``|T - n|``: 0 where n is public, else the standard deviation
    of the pooled total. Leaving the misfit cell out brings the law no further from rows without misfits.
    """
    rows = terms.rows if terms.rows is not None else terms.expected_rows or 1
    deviations = [question.noise(terms.relation, terms.max_rows).sd for question in questions]
    groups = [math.prod(question.shape) for question in questions]
    bounds = [
        min(1.0, (size * deviation / 2 + _total_deviation(groups, deviations, terms)) / max(1, rows))
        for size, deviation in zip(groups, deviations, strict=True)
    ]
    each = [
        Statement(kind="expected total variation", text=f"column {question.columns[0]!r}, {size} groups", value=bound)
        for question, size, bound in zip(questions, groups, bounds, strict=True)
    ]
    text = (
        "in expectation over the noise, the total variation distance between the released law of each single column "
        f"and the law of the rows without misfits, group by group, is at most this at {rows} rows"
    )
    return Statement(kind="expected error", text=text, value=max(bounds)), *each


def _total_deviation(groups: Sequence[int], deviations: Sequence[float], terms: Terms) -> float:
    """Return the standard deviation of the inverse-variance mean of the noisy totals; 0 for a public number."""
    if terms.rows is not None or not all(deviations):
        return 0.0
    return 1 / math.sqrt(sum(1 / (size * sd**2) for size, sd in zip(groups, deviations, strict=True)))
