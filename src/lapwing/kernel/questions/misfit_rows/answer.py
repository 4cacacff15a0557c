"""Answer `MisfitRows`: exact integer counts plus exact integer noise. Proof: ``proof.md``."""

from collections.abc import Sequence

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.answering import PrivateRows, noise_of
from lapwing.kernel.questions.misfit_rows.question import MisfitRows, NoisyRows
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import KeyedColumn
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping


def answer_misfit_rows(
    questions: Sequence[MisfitRows], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[NoisyRows, ...]:
    """Count the rows without a misfit in one pass for each question, and add fresh noise to each number.

    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost, for
    add-remove and replace-one neighbours with ``terms.max_rows`` rows per unit.
    """
    exact = [misfit_rows(question, rows) for question in questions]
    return tuple(_add_noise(question, counts, terms, bits) for question, counts in zip(questions, exact, strict=True))


def misfit_rows(question: MisfitRows, rows: PrivateRows) -> np.ndarray:
    """Return the exact numbers: int64, shape ``question.shape``. Private."""
    columns = [_fitting(name, rows.schema.field(name).domain) for name in question.columns]
    fitting = int(rows.source.count_keys(columns)[1].sum())  # [count]
    found = (rows.source.rows - fitting, fitting, rows.source.unmet)  # [keys]
    return np.array(found[: question.shape[0]], dtype=np.int64)


def _fitting(name: str, domain: Domain) -> KeyedColumn:
    """Return a column under which a row has a key, the same for all, unless its cell is a misfit."""
    groups = Grouping(domain.values, domain.reserved + domain.missing, "cuts")  # that of misfits is the last
    return KeyedColumn(name, groups, np.zeros((groups.groups - 1, 1), dtype=np.uint64))


def _add_noise(question: MisfitRows, counts: np.ndarray, terms: Terms, bits: BitSource) -> NoisyRows:
    """Add one independent noise value to each number."""
    law = question.noise(terms.relation, terms.max_rows)  # [law]
    return NoisyRows(question, counts + noise_of(law, counts.size, bits), law)  # [noise]
