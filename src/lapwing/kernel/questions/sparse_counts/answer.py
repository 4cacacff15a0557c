"""Answer `SparseCounts`: noisy counts of all leaves that reach a threshold, the empty ones without listing the others.

Proof: ``proof.md``.
"""

from collections.abc import Sequence

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise.geometric import survivors
from lapwing.kernel.noise.laplace import discrete_laplace_at_least
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.answering import PrivateRows, noise_of
from lapwing.kernel.questions.shared.cell_rows import CellRows, complement
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.terms import Terms


def answer_sparse_counts(
    questions: Sequence[SparseCounts], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[NoisyCells, ...]:
    """Count the leaves of each tree and add fresh noise to every one, empty or not.

    Guarantee: each answer costs what its question says, for add-remove and replace-one neighbours with
    ``terms.max_rows`` rows per unit: it has the law of one noise value on each leaf, of which those below the
    threshold are left out.
    """
    return tuple(
        _count_leaves(question, CellRows.of(question.tree, rows.source), terms, bits) for question in questions
    )


def _count_leaves(question: SparseCounts, rows: CellRows, terms: Terms, bits: BitSource) -> NoisyCells:
    """Return the noisy counts of the leaves on the first level, then of the listed ones."""
    tree, law = question.tree, question.noise(terms.relation, terms.max_rows)  # [law]
    cells, starts, stops = rows.first_cells()
    ranks, split = tree.ranks_of(cells), tree.ranks_of(tree.split_cells)
    _, at_split, at_rows = np.intersect1d(split, ranks, assume_unique=True, return_indices=True)
    is_leaf = np.ones(len(ranks), dtype=bool)
    is_leaf[at_rows] = False
    full, full_counts = _keep_large(question, ranks[is_leaf], rows.counts(starts, stops)[is_leaf], law, bits)
    empty, empty_counts = _empties(question, np.union1d(ranks, split), law, bits)
    leaves = np.concatenate((full, empty))
    order = np.argsort(leaves, kind="stable")

    ranges = np.zeros((2, len(split)), dtype=np.int64)
    ranges[:, at_split] = starts[at_rows], stops[at_rows]
    exact = np.concatenate([np.empty(0, dtype=np.int64), *rows.leaf_counts(*ranges)])
    listed, listed_counts = _keep_large(question, np.arange(len(exact)), exact, law, bits)
    counts = np.concatenate((np.concatenate((full_counts, empty_counts))[order], listed_counts))
    return NoisyCells(question, tree.cells_of(leaves[order]), listed, counts, law)


def _keep_large(
    question: SparseCounts, names: np.ndarray, exact: np.ndarray, law: NoiseLaw, bits: BitSource
) -> tuple[np.ndarray, np.ndarray]:
    """Add noise to counts, and return the names and noisy counts of those that reach the threshold."""
    noisy = exact + noise_of(law, exact.size, bits)  # [noise]
    reaches = np.ones(exact.size, dtype=bool) if question.threshold is None else noisy >= question.threshold  # [keep]
    return names[reaches], noisy[reaches]


def _empties(
    question: SparseCounts, excluded: np.ndarray, law: NoiseLaw, bits: BitSource
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks and noisy counts of the empty leaves of the first level that reach the threshold."""
    population, threshold = question.tree.cells - len(excluded), question.threshold
    if threshold is None:
        drawn: np.ndarray = np.arange(population)
        counts = noise_of(law, population, bits)
    else:
        drawn = survivors(population, LaplaceTail(law.parameter, threshold), bits)  # [empty]
        counts = discrete_laplace_at_least(threshold, law.parameter, len(drawn), bits)
    return complement(excluded, drawn.astype(excluded.dtype)), counts
