"""Trees of cells for tests: small tables, random trees, the explicit algorithms, and exact laws of what they show."""

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl

from lapwing.extras.audit.checks.cells import cell_flags, recounted_cells
from lapwing.extras.audit.held import RecordingBits
from lapwing.kernel.questions.shared.cell_rows import CellRows
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.answer import _count_leaves
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.split_decisions.answer import _decide_splits
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.kernel.terms import Terms
from lapwing.rows.source import code_table
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

ADD_REMOVE = Terms(relation="add-remove")


def whole_numbers(**values):
    """Return a schema of required whole numbers from 0: so many values for each column."""
    return Schema.from_dict(
        {
            "fields": [
                {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": size - 1, "required": True}}
                for name, size in values.items()
            ]
        }
    )


def coded(schema, rows):
    """Return the source of a table of such numbers; None is no number, so its row is in no cell."""
    names = [column.name for column in schema.columns]
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return code_table(
        pl.DataFrame({name: pl.Series(values, dtype=pl.Int64) for name, values in zip(names, columns, strict=True)}),
        schema,
    )


def tree_over(schema, first, *, depths=None, schedule=None):
    """Return a tree over all columns, by default as deep as they go and each cut in turn."""
    columns = schema.columns
    depths = (64,) * len(columns) if depths is None else depths
    nested = tuple(hierarchy(column.domain, depth) for column, depth in zip(columns, depths, strict=True))
    if schedule is None:
        turns = sorted((turn, place) for place, each in enumerate(nested) for turn in range(each.depth))
        schedule = tuple(place for _, place in turns)
    return CellTree(
        columns=tuple(column.name for column in columns), hierarchies=nested, schedule=schedule, first=first
    )


def splits_asked(tree, *, rule="paper", threshold=1, epsilon=Fraction(1), notion="pure"):
    return SplitDecisions(tree=tree, rule=rule, threshold=threshold, epsilon=epsilon, notion=notion)


def counts_asked(tree, *, threshold=1, epsilon=Fraction(1), notion="pure"):
    return SparseCounts(tree=tree, threshold=threshold, epsilon=epsilon, notion=notion)


def random_tree(rng, schema, *, deepest=4):
    """Draw depths of the columns, an order of their cuts, and the first level."""
    nested = [hierarchy(column.domain, int(rng.integers(0, deepest + 1))) for column in schema.columns]
    cuts = [place for place, each in enumerate(nested) for _ in range(each.depth)]
    schedule = tuple(cuts[i] for i in rng.permutation(len(cuts)))
    first = int(rng.integers(0, max(1, len(cuts))))
    depths = [each.depth for each in nested]
    return tree_over(schema, first, depths=depths, schedule=schedule)


def answered(question, source, bits, terms=ADD_REMOVE):
    """Return what the room's code answers, without a room."""
    rows = CellRows.of(question.tree, source)
    answer = _decide_splits if isinstance(question, SplitDecisions) else _count_leaves
    return answer(question, rows, terms, bits)


def wrong_with(question, source, bits, terms=ADD_REMOVE):
    """Answer a question, and return what the audit finds wrong with it, with the answer."""
    recording = RecordingBits(bits)
    answer = answered(question, source, recording, terms)
    playback = recording.playback()
    flags = cell_flags(answer, recounted_cells(answer, source), terms, playback)
    return answer, flags + [f"{playback.left} words too many"] * (playback.left > 0)


# -------------------------------------------------------------------------------------------------- floating laws


def above(scale, least):
    """Return P[Z >= least]."""
    q = math.exp(-1 / scale)
    return math.exp(-least / scale) / (1 + q) if least >= 1 else 1 - math.exp((least - 1) / scale) / (1 + q)


def point(scale, value):
    """Return P[Z = value]."""
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * math.exp(-abs(value) / scale)


def needed(rule, threshold, scale, count, decided):
    """Return the least noise with which a cell is split, from the words of the specification."""
    if rule == "paper":
        return threshold + 1 - count
    step = math.ceil(scale * math.log(2))
    return threshold + 1 - max(threshold - step, count - step * decided)


# ---------------------------------------------------------------------------- one column, halved: explicit and exact


def halving_counts(rows, depth):
    """Return the rows of each cell of each level, of a column of ``2**depth`` values."""
    return [np.bincount([row >> (depth - level) for row in rows], minlength=1 << level) for level in range(depth + 1)]


def split_law(rows, depth, first, *, rule, threshold, scale):
    """Return the exact law of the split cells when every cell draws its own noise: {frozenset of cells: P}."""
    counts = halving_counts(rows, depth)

    def below(level, cell):
        if level == depth:
            return {frozenset(): 1.0}
        split = above(scale, needed(rule, threshold, scale, int(counts[level][cell]), level - first))
        law = {frozenset(): 1 - split}
        children = product_law(below(level + 1, 2 * cell), below(level + 1, 2 * cell + 1))
        law.update({cells | {(level, cell)}: split * chance for cells, chance in children.items()})
        return law

    return product_law(*(below(first, cell) for cell in range(1 << first)))


def product_law(*laws):
    """Return the law of the union of independent sets."""
    joint = {frozenset(): 1.0}
    for law in laws:
        pairs = itertools.product(joint.items(), law.items())
        joint = {one | other: chance * more for (one, chance), (other, more) in pairs}
    return joint


def split_law_by_gaps(rows, depth, first, *, rule, threshold, scale):
    """Return the law of the split cells when the empty first cells are reached by geometric gaps, and only those."""
    counts = halving_counts(rows, depth)
    empty = [cell for cell in range(1 << first) if counts[first][cell] == 0]
    occupied = [cell for cell in range(1 << first) if counts[first][cell]]
    chance = above(scale, needed(rule, threshold, scale, 0, 0))
    law = {}
    for chosen, one in survivor_law(len(empty), chance).items():
        for kept in itertools.product((False, True), repeat=len(occupied)):
            two = one
            for cell, is_split in zip(occupied, kept, strict=True):
                split = above(scale, needed(rule, threshold, scale, int(counts[first][cell]), 0))
                two *= split if is_split else 1 - split
            cells = [empty[rank] for rank in chosen] + list(itertools.compress(occupied, kept))
            for rest, three in _grown(cells, first, counts, depth, rule, threshold, scale, first).items():
                law[rest] = law.get(rest, 0.0) + two * three
    return law


def survivor_law(population, chance):
    """Return the law of the survivors when one skips from each to the next by geometric gaps."""
    law, waiting = {}, [((), 0, 1.0)]
    while waiting:
        found, start, mass = waiting.pop()
        waiting += [
            ((*found, start + gap), start + gap + 1, mass * (1 - chance) ** gap * chance)
            for gap in range(population - start)
        ]
        law[found] = mass * (1 - chance) ** (population - start)
    return law


def _grown(cells, level, counts, depth, rule, threshold, scale, first):
    """Return the law of all split cells, given those of a level: their children decide, and so on."""
    here = frozenset((level, cell) for cell in cells)
    if not cells or level + 1 == depth:
        return {here: 1.0}
    children = [child for cell in sorted(cells) for child in (2 * cell, 2 * cell + 1)]
    law = {}
    for kept in itertools.product((False, True), repeat=len(children)):
        mass = 1.0
        for cell, is_split in zip(children, kept, strict=True):
            least = needed(rule, threshold, scale, int(counts[level + 1][cell]), level + 1 - first)
            mass *= above(scale, least) if is_split else 1 - above(scale, least)
        chosen = list(itertools.compress(children, kept))
        for rest, more in _grown(chosen, level + 1, counts, depth, rule, threshold, scale, first).items():
            law[here | rest] = law.get(here | rest, 0.0) + mass * more
    return law


def split_set(tree):
    """Return the split cells of a tree of one column."""
    found = {(tree.first, int(cell)) for (cell,) in tree.split_cells.tolist()}
    for level, cells in tree.levels():
        goes_on = tree.next_level(level, cells)
        if goes_on is not None:
            found |= {(level, int(cell)) for cell in cells[goes_on & tree.divisible(level, cells), 0]}
    return frozenset(found)


def leaf_law(exact, *, threshold, scale, most):
    """Return the law of what is shown of one leaf: None where it is left out, else its count, from `most` on as it."""
    law = {} if threshold is None else {None: 1 - above(scale, threshold - exact)}
    start = -most if threshold is None else threshold
    for count in range(start, most):
        law[count] = point(scale, count - exact) if count > start or threshold is not None else 0.0
    if threshold is None:
        law[start] = 1 - above(scale, start + 1 - exact)
    law[most] = above(scale, most - exact)
    return law


def joint_leaf_law(leaves, *, threshold, scale, most):
    """Return the exact law of the counts of all leaves, in order, every one with its own noise."""
    law = {(): 1.0}
    for exact in leaves:
        single = leaf_law(exact, threshold=threshold, scale=scale, most=most)
        law = {(*seen, count): mass * more for seen, mass in law.items() for count, more in single.items()}
    return law


# ------------------------------------------------------------------------------------ the explicit twin of one tree


def explicit_splits(counts, first, *, rule, threshold, scale, noise):
    """Decide every cell of every level with its own noise, and return per level which of the existing ones are split.

    Parameters
    ----------
    counts : list of ndarray
        The rows of all cells of each level, those of the next one twice as many: 2 i and 2 i + 1 lie below i.
    noise : callable
        From a number of values to so many noise values.
    """
    exists, split = np.ones(len(counts[first]), dtype=bool), []
    for level in range(first, len(counts) - 1):
        least = [needed(rule, threshold, scale, int(count), level - first) for count in counts[level]]
        split.append(exists & (noise(len(least)) >= np.array(least)))
        exists = np.repeat(split[-1], 2)
    return split


def splits_per_level(tree, levels):
    """Return, per level, which cells of a tree of one column are split, as `explicit_splits` does."""
    found = [np.zeros(1 << level, dtype=bool) for level in levels]
    for level, cell in split_set(tree):
        found[level - tree.first][cell] = True
    return found
