"""Answer `MarginalCounts`: exact integer counts plus exact integer noise. Proof: ``marginal_counts.proof.md``."""

from collections.abc import Sequence

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import Counted


def answer_marginal_counts(
    questions: Sequence[MarginalCounts], source: Counted, terms: Terms, bits: BitSource
) -> tuple[NoisyCounts, ...]:
    """Count all tables in at most one pass over the rows and add fresh noise to every cell.

    source: the private rows, at most ``terms.max_rows`` of each unit, or exact tables of them; terms: give the relation
    that the noise is calibrated for.

    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost, for
    add-remove and replace-one neighbours with ``terms.max_rows`` rows per unit; every cell gets noise, empty or not.
    """
    tables = [tuple(zip(question.columns, question.groupings, strict=True)) for question in questions]  # [count]
    exact = source.count(tables)
    return tuple(_perturbed(question, counts, terms, bits) for question, counts in zip(questions, exact, strict=True))


def _perturbed(question: MarginalCounts, counts: np.ndarray, terms: Terms, bits: BitSource) -> NoisyCounts:
    """Add one independent noise value to each cell."""
    law = question.noise(terms.relation, terms.max_rows)  # [law]
    noisy = counts.reshape(-1) + noise_of(law, counts.size, bits)  # [noise]
    return NoisyCounts(question, noisy.reshape(question.shape), law)


def noise_of(law: NoiseLaw, size: int, bits: BitSource) -> np.ndarray:
    """Draw integer noise of a law: ndarray of int64, shape (size,).

    Guarantee: independent exact draws of the law, from secret bits alone.
    """
    if law.kind == "laplace":
        return discrete_laplace(law.parameter, size, bits)
    return discrete_gaussian(law.parameter, size, bits)
