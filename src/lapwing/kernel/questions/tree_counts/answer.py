"""Answer `TreeCounts`: one exact count at the deepest level, summed upwards, plus noise on every level.

Proof: ``proof.md``.
"""

from collections.abc import Sequence

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.answering import PrivateRows, noise_of
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.terms import Terms


def answer_tree_counts(
    questions: Sequence[TreeCounts], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[NoisyTree, ...]:
    """Count all trees in one pass over the rows and add fresh noise to every cell of every released level.

    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost, the sum
    over its levels, for add-remove and replace-one neighbours with ``terms.max_rows`` rows per unit; every cell of
    every released level gets noise, empty or not.
    """
    tables = [tuple(zip(question.columns, question.groupings, strict=True)) for question in questions]  # [count]
    exact = rows.source.count(tables)
    return tuple(_add_noise(question, counts, terms, bits) for question, counts in zip(questions, exact, strict=True))


def _add_noise(question: TreeCounts, counted: np.ndarray, terms: Terms, bits: BitSource) -> NoisyTree:
    """Add one independent noise value to each cell of each released level, from the root downwards."""
    laws = question.noises(terms.relation, terms.max_rows)  # [law]
    exact = exact_levels(question, counted)
    noisy = tuple(None if law is None else _noisy(counts, law, bits) for counts, law in zip(exact, laws, strict=True))
    return NoisyTree(question, noisy, laws)


def _noisy(counts: np.ndarray, law: NoiseLaw, bits: BitSource) -> np.ndarray:
    """Add noise to one level."""
    return np.asarray(counts + noise_of(law, counts.size, bits).reshape(counts.shape))  # [noise]


def exact_levels(question: TreeCounts, counted: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the exact counts of every level, from the table that was counted.

    counted: int64 (cells,), the table over the question's groupings, in C order. Returns tuple of int64, from the root
    downwards, each of its shape.
    """
    level = counted.reshape(tuple(grouping.groups for grouping in question.groupings))
    for axis, nested in enumerate(question.hierarchies):  # [fold]
        firsts, covered = nested.alone(nested.depth)
        level = _run_sums(level[(slice(None),) * axis + (slice(covered),)], firsts, axis)
    levels = [level]
    for place in range(len(question.schedule), 0, -1):  # [sum]
        axis, parents = question.parents(place)
        firsts = np.flatnonzero(np.diff(parents, prepend=-1))
        levels.append(_run_sums(levels[-1], firsts, axis))
    return tuple(reversed(levels))


def _run_sums(cells: np.ndarray, firsts: np.ndarray, axis: int) -> np.ndarray:
    """Sum runs of neighbouring cells along an axis; each run goes from its first cell to the next run's first."""
    if firsts.size == cells.shape[axis]:
        return cells
    return np.add.reduceat(cells, firsts, axis=axis)
