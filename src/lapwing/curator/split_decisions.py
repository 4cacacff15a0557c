"""Answer `SplitDecisions`: level by level, with a fresh noise value for each decision.

Proof: ``split_decisions.proof.md``.
"""

from collections.abc import Sequence

import numpy as np

from lapwing.curator.cell_rows import CellRows, complement
from lapwing.noise.bits import BitSource
from lapwing.noise.enclosures import LaplaceTail
from lapwing.noise.geometric import survivors
from lapwing.noise.laplace import discrete_laplace
from lapwing.release.cells import check_listed
from lapwing.release.noise_law import NoiseLaw
from lapwing.release.split_decisions import SplitDecisions, Splits
from lapwing.release.terms import Terms
from lapwing.table.source import CodedSource


def answer_split_decisions(
    questions: Sequence[SplitDecisions], source: CodedSource, terms: Terms, bits: BitSource
) -> tuple[Splits, ...]:
    """Decide which cells of each tree are split.

    Parameters
    ----------
    questions : sequence of SplitDecisions
        Already charged.
    source : CodedSource
        The private rows, at most ``terms.max_rows`` of each unit.
    terms : Terms
        Give the relation that the noise is calibrated for.
    bits : BitSource
        Secret randomness.

    Returns
    -------
    tuple of Splits
        In the order of the questions.

    Raises
    ------
    CapacityError
        If the noisy tree lists more than ``2**26`` numbers, which depends on the decisions alone.

    Notes
    -----
    Guarantee: each answer is ε-DP at its question's ε, for add-remove and replace-one neighbours with
    ``terms.max_rows`` rows per unit; every existing cell decides with its own noise, empty or not.
    """
    return tuple(_decided(question, CellRows.of(question.tree, source), terms, bits) for question in questions)


def _decided(question: SplitDecisions, rows: CellRows, terms: Terms, bits: BitSource) -> Splits:
    """Decide level by level from the first one down; only cells whose parent was split go on deciding."""
    tree, law = question.tree, question.noise(terms.relation, terms.max_rows)  # [law]
    cells, starts, stops = _first_splits(question, rows, law, bits)
    chosen, decisions, listed = cells, [], 0
    depths, decided_here = np.zeros(len(cells), dtype=np.int64), np.ones(len(cells), dtype=bool)
    for level in range(tree.first + 1, tree.depth):
        if not len(cells):
            break
        cells, starts, stops, parents = rows.below(level - 1, cells, starts, stops)
        depths = (depths + decided_here)[parents]
        listed += cells.size
        check_listed(listed)
        is_open = tree.divisible(level, cells)
        split = _splits(question, rows.counts(starts, stops)[is_open], depths[is_open], law, bits)
        decisions.append(split)
        goes_on = ~is_open  # [pass]
        goes_on[is_open] = split
        cells, starts, stops, depths = cells[goes_on], starts[goes_on], stops[goes_on], depths[goes_on]
        decided_here = is_open[goes_on]
    return Splits(question, tree.grown(chosen, decisions), law)


def _first_splits(
    question: SplitDecisions, rows: CellRows, law: NoiseLaw, bits: BitSource
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cells of the first level that are split, by rank increasing, with their ranges of rows."""
    tree = question.tree
    cells, starts, stops = rows.first_cells()
    none = np.zeros(1, dtype=np.int64)
    is_split = _splits(question, rows.counts(starts, stops), np.zeros(len(cells), dtype=np.int64), law, bits)
    # [empty] an empty cell is split where its noise reaches this, with one probability for all of them.
    needed = question.threshold + 1 - int(question.biased(none, none, law)[0])
    ranks = tree.ranks_of(cells)
    drawn = survivors(tree.cells - len(cells), LaplaceTail(law.parameter, needed), bits)
    empty = complement(ranks, drawn.astype(ranks.dtype))
    everywhere = np.concatenate((ranks[is_split], empty))
    order = np.argsort(everywhere, kind="stable")
    nowhere = np.zeros(len(empty), dtype=np.int64)
    return (
        tree.cells_of(everywhere[order]),
        np.concatenate((starts[is_split], nowhere))[order],
        np.concatenate((stops[is_split], nowhere))[order],
    )


def _splits(
    question: SplitDecisions, counts: np.ndarray, depths: np.ndarray, law: NoiseLaw, bits: BitSource
) -> np.ndarray:
    """Return which cells are split: one noise value each, on integers."""
    noise = discrete_laplace(law.parameter, counts.size, bits)  # [noise]
    return np.asarray(question.biased(counts, depths, law) + noise > question.threshold)  # [decide]
