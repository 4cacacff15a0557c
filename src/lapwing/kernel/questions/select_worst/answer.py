"""Answer `SelectWorst`: exact integer scores, one exact draw, only the index leaves.

Proof: ``proof.md``.
"""

from collections.abc import Sequence

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.selection import exponential_mechanism
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.select_worst.question import Selection, SelectWorst
from lapwing.kernel.terms import Terms
from lapwing.rows.exact_tables import ExactTables


def answer_select_worst(
    questions: Sequence[SelectWorst], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[Selection, ...]:
    """Score all candidates on exact counts and draw one of them by the exponential mechanism.

    Guarantee: each answer is ε-DP, and ε-bounded range, so (ε²/8)-zCDP, at its question's cost, for add-remove and
    replace-one neighbours with ``terms.max_rows`` rows per unit. At most one pass over the rows: none where all tables
    were counted before.
    """
    found = misfits(questions, rows.tables)
    return tuple(_select(question, each, terms, bits) for question, each in zip(questions, found, strict=True))


def misfits(questions: Sequence[SelectWorst], tables: ExactTables) -> list[np.ndarray]:
    """Return how far the model is off in each candidate: int64 (candidates,) of each question; kept for later ones."""
    return tables.sums(questions, misfit_sums)  # [count]


def _select(question: SelectWorst, found: np.ndarray, terms: Terms, bits: BitSource) -> Selection:
    """Draw one candidate; its score is how far the model is off in it, less the penalty."""
    bound = question.sensitivity(terms.relation, terms.max_rows).l1  # [bound]
    choice = exponential_mechanism(found - question.penalties, question.epsilon, bound, bits)  # [draw]
    return Selection(question, choice, bound)


def misfit_sums(question: SelectWorst, exact: np.ndarray) -> np.ndarray:
    """Return how far the model is off in each candidate, over the cells compared.

    exact: int64 (k,), exact counts of all candidates' cells. Returns int64 (candidates,).
    """
    assert question.estimates is not None  # the room has refused a question without
    gaps = np.abs(exact - question.estimates)  # [misfit]
    gaps *= question.estimates >= 0  # [mask]
    return np.add.reduceat(gaps, question.offsets[:-1])
