"""Answer `CellSums`: exact integer sums over public cells plus exact integer noise. Proof: ``proof.md``."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.answering import PrivateRows, blocks, noise_of
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS, CellSums, NoisySums
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import CodedSource

# -- Sums divided by damped counts, rounded down to multiples of a power of two: whole numbers, exact.


def damped_means(sums: np.ndarray, counts: np.ndarray, *, damping: int, unit: int, bits: int) -> np.ndarray:
    """Return ``floor(sums * 2**bits / (max(counts, damping) * unit))``.

    sums: int64 (s, p), row i has absolute values up to ``counts[i] * unit``; counts: int64 (s,), at least 0; bits:
    ``max(counts, damping) * unit * 2**(bits // 2)`` is below ``2**63``. Returns int64 (s, p).

    Half of the bits are divided at a time. Shifted by all of them at once, sums of ``2**31`` rows of ``2**12`` would
    leave int64 at 20 bits, and one row could then turn the sign of a mean.

    >>> damped_means(np.array([[3], [-3]]), np.array([1, 4]), damping=2, unit=3, bits=4).tolist()
    [[8], [-4]]
    """
    half = bits // 2
    divisors = (np.maximum(counts, damping) * unit)[:, None]
    whole, rest = np.divmod(sums << half, divisors)
    means: np.ndarray = (whole << half) + (rest << half) // divisors
    return means


def answer_cell_sums(
    questions: Sequence[CellSums], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[NoisySums, ...]:
    """Sum over the cells of each question and add fresh noise to every number.

    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost, for
    add-remove and replace-one neighbours with ``terms.max_rows`` rows per unit; every number of every cell gets noise,
    empty or not.
    """
    return tuple(_add_noise(question, rows.source, terms, bits) for question in questions)


def _add_noise(question: CellSums, source: CodedSource, terms: Terms, bits: BitSource) -> NoisySums:
    """Add one independent noise value to each number."""
    law = question.noise(terms.relation, terms.max_rows)  # [law]
    exact = exact_sums(question, source)
    noisy = exact.reshape(-1) + noise_of(law, exact.size, bits)  # [noise]
    return NoisySums(question, noisy.reshape(question.shape), law)


def exact_sums(question: CellSums, source: CodedSource) -> np.ndarray:
    """Return what is asked about every cell, without noise: ndarray of int64, shape ``question.shape``.

    Guarantee: none, the sums are exact; `answer_cell_sums` adds the noise before anything leaves the room.
    """
    coordinates = replace(question.coordinates)  # derived tables are made anew, as in `exact_products`
    projection = None if question.projection is None else replace(question.projection)
    question = replace(question, coordinates=coordinates, projection=projection)
    counts = np.zeros(question.cells, dtype=np.int64)
    sums = np.zeros((question.cells, question.width), dtype=np.int64)
    for block in blocks(source):
        vectors = coordinates.vectors(block)  # [vector]
        cells = np.zeros(len(vectors), dtype=np.int64)
        if projection is not None:
            cells = projection.cells_of(vectors)  # [cell]
        counts += np.bincount(cells, minlength=question.cells)
        if question.summed != "rows":
            _add_sums(sums, cells, vectors)
    if question.summed == "rows":
        return counts
    if question.damping is None:
        return sums
    return damped_means(sums, counts, damping=question.damping, unit=coordinates.unit, bits=MEAN_BITS)  # [mean]


def _add_sums(sums: np.ndarray, cells: np.ndarray, vectors: np.ndarray) -> None:
    """Add the vectors of rows to the sums of their cells, in whole numbers."""
    if not cells.size:
        return
    order = np.argsort(cells, kind="stable")
    firsts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    sums[cells[order[firsts]]] += np.add.reduceat(vectors[order], firsts, axis=0).astype(np.int64)  # [sum]
