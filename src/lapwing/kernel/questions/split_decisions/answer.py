"""Answer `SplitDecisions`: level by level, with a fresh noise value for each decision.

Proof: ``proof.md``.
"""

from collections.abc import Sequence

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise.geometric import survivors
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.shared.cell_rows import CellRows, complement
from lapwing.kernel.questions.shared.cells import CellSplits, check_listed
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.kernel.terms import Terms


def answer_split_decisions(
    questions: Sequence[SplitDecisions], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[Splits, ...]:
    """Decide which cells of each tree are split.

    Guarantee: each answer costs what its question says, for add-remove and replace-one neighbours with
    ``terms.max_rows`` rows per unit; every existing cell decides with its own noise, empty or not.
    """
    return tuple(
        _decide_splits(question, CellRows.of(question.tree, rows.source), terms, bits) for question in questions
    )


def _decide_splits(question: SplitDecisions, rows: CellRows, terms: Terms, bits: BitSource) -> Splits:
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
    return Splits(question, CellSplits(chosen, tuple(decisions)), law)


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
