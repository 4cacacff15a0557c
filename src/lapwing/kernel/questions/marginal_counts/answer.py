"""Answer `MarginalCounts`: exact integer counts plus exact integer noise. Proof: ``proof.md``."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.answering import PrivateRows, noise_of
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import Table


def answer_marginal_counts(
    questions: Sequence[MarginalCounts], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[NoisyCounts, ...]:
    """Count all tables in at most one pass over the rows and add fresh noise to every cell.

    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost, for
    add-remove and replace-one neighbours with ``terms.max_rows`` rows per unit; every cell gets noise, empty or not.
    """
    tables = [counted_table(question) for question in questions]  # [count]
    exact = rows.tables.count(tables)
    return tuple(_add_noise(question, counts, terms, bits) for question, counts in zip(questions, exact, strict=True))


def counted_table(question: MarginalCounts) -> Table:
    """Return the table to count: where misfits are apart, they are one more code, which no other grouping tells."""
    (*others,) = question.groupings
    if question.apart:
        others = [replace(each, reserved=each.reserved + 1) for each in others]
    return tuple(zip(question.columns, others, strict=True))


def _add_noise(question: MarginalCounts, counts: np.ndarray, terms: Terms, bits: BitSource) -> NoisyCounts:
    """Add one independent noise value to each cell."""
    law = question.noise(terms.relation, terms.max_rows)  # [law]
    noisy = counts.reshape(-1) + noise_of(law, counts.size, bits)  # [noise]
    return NoisyCounts(question, noisy.reshape(question.counted), law)
