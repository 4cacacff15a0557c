"""Answer `LinearStatistics`: exact integer sums plus exact integer noise. Proof: ``proof.md``."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.answering import PrivateRows, blocks, noise_of
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics, RowStatistic
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import CodedSource, Codes
from lapwing.rows.out.decode import records
from lapwing.schema.schemas import Schema


def answer_linear_statistics(
    questions: Sequence[LinearStatistics], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[NoisySums, ...]:
    """Sum each statistic over all rows and add fresh noise to every sum.

    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost, for
    add-remove and replace-one neighbours with ``terms.max_rows`` rows per unit; with row functions under the caller's
    claim that what they return for a record depends on that record alone.
    """
    return tuple(_add_noise(question, rows.source, terms, bits, rows.schema) for question in questions)


def _add_noise(
    question: LinearStatistics, source: CodedSource, terms: Terms, bits: BitSource, schema: Schema
) -> NoisySums:
    """Add one independent noise value to each sum."""
    question = replace(question, statistics=tuple(map(replace, question.statistics)))  # [anew]
    law = question.noise(terms.relation, terms.max_rows)  # [law]
    exact = exact_statistics(question, source, schema)
    return NoisySums(question, exact + noise_of(law, exact.size, bits), law)  # [noise]


def exact_statistics(question: LinearStatistics, source: CodedSource, schema: Schema) -> np.ndarray:
    """Return the sums without noise: ndarray of int64, shape ``question.shape``.

    Guarantee: none, the sums are exact; `answer_linear_statistics` adds the noise before anything leaves the room.
    """
    row_values(question, {field.name: np.zeros(1, dtype=np.int64) for field in schema.columns}, schema)  # [try]
    sums = np.zeros(question.shape, dtype=np.int64)
    for block in blocks(source):
        sums += row_values(question, block, schema).sum(axis=1)  # [sum]
    return sums


def row_values(question: LinearStatistics, block: Codes, schema: Schema) -> np.ndarray:
    """Return the values of all statistics on some rows: ndarray of int64, shape (q, n), multiples of ``2**-bits``.

    Guarantee: none, these are private values; for use inside the room. Every value lies within the question's bounds.
    """
    found = []
    listed = list(records(block, schema)) if any(isinstance(each, RowStatistic) for each in question.statistics) else []
    for each, (lower, upper) in zip(question.statistics, question.bounds(), strict=True):
        if isinstance(each, RowStatistic):
            values = each.values_of_records(map(dict, listed))  # [record]
        else:
            values = each.values(block)  # [code]
        found.append(np.clip(values << question.bits - each.bits, lower, upper))  # [clip]
    return np.stack(found)
