"""Answer `CellSums`: exact integer sums over public cells plus exact integer noise. Proof: ``cell_sums.proof.md``."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing.curator.marginal_counts import noise_of
from lapwing.curator.second_moment import blocks
from lapwing.noise.bits import BitSource
from lapwing.numerics.damped_means import damped_means
from lapwing.release.cell_sums import MEAN_BITS, CellSums, NoisySums
from lapwing.release.terms import Terms
from lapwing.table.source import CodedSource


def answer_cell_sums(
    questions: Sequence[CellSums], source: CodedSource, terms: Terms, bits: BitSource
) -> tuple[NoisySums, ...]:
    """Sum over the cells of each question and add fresh noise to every number.

    Parameters
    ----------
    questions : sequence of CellSums
        Already charged.
    source : CodedSource
        The private rows, at most ``terms.max_rows`` of each unit.
    terms : Terms
        Give the relation that the noise is calibrated for.
    bits : BitSource
        Secret randomness.

    Returns
    -------
    tuple of NoisySums
        In the order of the questions.

    Notes
    -----
    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost, for
    add-remove and replace-one neighbours with ``terms.max_rows`` rows per unit; every number of every cell gets noise,
    empty or not.
    """
    return tuple(_perturbed(question, source, terms, bits) for question in questions)


def _perturbed(question: CellSums, source: CodedSource, terms: Terms, bits: BitSource) -> NoisySums:
    """Add one independent noise value to each number."""
    law = question.noise(terms.relation, terms.max_rows)  # [law]
    exact = exact_sums(question, source)
    noisy = exact.reshape(-1) + noise_of(law, exact.size, bits)  # [noise]
    return NoisySums(question, noisy.reshape(question.shape), law)


def exact_sums(question: CellSums, source: CodedSource) -> np.ndarray:
    """Return what is asked about every cell, without noise: ndarray of int64, shape ``question.shape``.

    Notes
    -----
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
