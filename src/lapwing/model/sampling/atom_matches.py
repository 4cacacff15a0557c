"""Which atoms of a model match each of many conditions, exactly and without a matrix of conditions times atoms.

Conditions and atoms are both sorted into trees, one level per given column, so that equal beginnings are one node. The
trees are joined level by level: a pair of nodes goes on where the law of the atoms can give the code of the conditions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.maths.runs import distinct_pairs, ranks
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans

_MOST_PAIRS = 2**21
"""Most pairs of nodes that one block of conditions looks at together, where it holds more than one condition."""

_BLOCK = 2**13


@dataclass(frozen=True, slots=True, eq=False)
class AtomChoice:
    """One atom for each condition row.

    atoms: intp (n,), drawn in proportion to weight times the chance of the given codes; effective: float64 (n,),
    effective number of the atoms that match the row, ``(sum of w)**2 / (sum of w**2)``; 0 where none does; shares:
    float64 (n,), the chance of the row's codes under the atoms; 0 where none matches; passed: mapping of str to bool
    (n,), for each given column the rows in which no atom that matched in the columns before could give its code: there
    the column had no say.
    """

    atoms: np.ndarray
    effective: np.ndarray
    shares: np.ndarray
    passed: Mapping[str, np.ndarray]


def chosen_atoms(model: ReleasedModel, given: Mapping[str, np.ndarray], rng: np.random.Generator) -> AtomChoice:
    """Draw an atom for each row of given codes, in proportion to its weight given these codes.

    given: mapping of str to integers (n,), codes of some columns, at least one; at least one row. Returns equal rows
    share the atoms systematically: each atom comes floor or ceil of its expected number of times.

    Columns with few laws are looked at first. A code that none of the atoms left can give is passed over, so that what
    is left matches in as many columns as this order allows. Time and memory grow with the number of pairs of distinct
    conditions and distinct products of laws that match, memory in blocks.
    """
    alive = np.flatnonzero(model.weights > 0)
    met = {name: _met(model.laws[name], alive, codes) for name, codes in given.items()}
    order = sorted(met, key=lambda name: met[name].laws)
    columns = [met[name] for name in order]
    atoms = _Weighted.of(columns, model.weights[alive])
    rows = _Tree.of([column.sign for column in columns], [column.signs for column in columns])
    leaves = rows.leaves.size - 1
    leaf = np.empty(rows.order.size, dtype=np.intp)
    leaf[rows.order] = np.repeat(np.arange(leaves), np.diff(rows.leaves))
    mixed = rng.permutation(leaf.size)
    shuffled = mixed[np.argsort(leaf[mixed], kind="stable")]

    chosen, effective, shares = np.empty(leaf.size, dtype=np.intp), np.zeros(leaves), np.zeros(leaves)
    passed = np.zeros((leaves, len(columns)), dtype=bool)
    for (first, behind), pairs in _blocks(columns, atoms.tree, rows):
        found = _weighed(pairs, atoms, behind - first)
        passed[first:behind] = pairs.passed
        is_met = ~pairs.passed.any(axis=1)
        effective[first:behind] = np.where(is_met, found.effective, 0.0)
        shares[first:behind] = np.where(is_met, found.totals, 0.0)
        begin, end = rows.leaves[first], rows.leaves[behind]
        drawn = _drawn(found, rows.leaves[first : behind + 1] - begin, atoms, rng)
        chosen[shuffled[begin:end]] = alive[atoms.tree.order[drawn]]
    by_name = {name: passed[leaf, at] for at, name in enumerate(order)}
    return AtomChoice(chosen, effective[leaf], shares[leaf], {name: by_name[name] for name in given})


# -------------------------------------------------------------------------------------------- columns and trees


@dataclass(frozen=True, slots=True, eq=False)
class _Met:
    """One given column: the law of each atom, the sign of each row, and which laws meet which signs.

    Codes that no law tells apart have one sign. ``keys`` are ``sign * laws + law``, increasing, and ``logs`` the
    logarithm of the chance that the law gives one such code.
    """

    law: np.ndarray
    laws: int
    sign: np.ndarray
    signs: int
    keys: np.ndarray
    logs: np.ndarray
    offsets: np.ndarray


def _met(law: ColumnLaw, alive: np.ndarray, codes: np.ndarray) -> _Met:
    """Find out which laws of a column can give which of the codes."""
    index, owner, starts, stops, masses = _pieces(law, alive)
    laws = int(owner.max()) + 1
    codes = codes.astype(np.int64)
    edges = np.unique(np.concatenate((starts, stops)))
    cells, sign = np.unique(np.searchsorted(edges, codes, side="right"), return_inverse=True)
    first = np.searchsorted(cells, np.searchsorted(edges, starts) + 1)
    counts = np.searchsorted(cells, np.searchsorted(edges, stops) + 1) - first
    piece = np.repeat(np.arange(starts.size), counts)
    keys, same = np.unique((first[piece] + ranks(counts)) * laws + owner[piece], return_inverse=True)
    chances = np.bincount(same.reshape(-1), (masses / (stops - starts))[piece], minlength=keys.size)
    offsets = np.searchsorted(keys, np.arange(cells.size + 1) * laws)
    return _Met(index, laws, sign.reshape(-1), cells.size, keys, np.log(chances), offsets)


def _pieces(law: ColumnLaw, alive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the law of each atom, and law, start, stop and probability of each piece of the laws."""
    match law:
        case Indexed():
            table = law.laws
            index = law.index[alive].astype(np.int64)
            return index, table.law_of_piece, table.starts, table.stops, table.probabilities
        case Spans():
            starts, stops, index = distinct_pairs(law.starts[alive].astype(np.int64), law.stops[alive].astype(np.int64))
            return index, np.arange(starts.size), starts, stops, np.ones(starts.size)
        case Bernoulli():
            p, index = np.unique(law.p[alive].astype(np.float64), return_inverse=True)
            owner, codes = np.repeat(np.arange(p.size), 2), np.tile(np.array([0, 1]), p.size)
            masses = np.stack((1.0 - p, p), axis=1).reshape(-1)
            kept = masses > 0
            return index.reshape(-1), owner[kept], codes[kept], codes[kept] + 1, masses[kept]


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """Items sorted by several values: a node per distinct beginning of them, level by level.

    ``keys[j]`` are ``parent * sizes[j] + value`` of the nodes of level j, increasing; ``children[j]`` where the nodes
    of level j begin that belong to each node of the level before; ``ends[j]`` the node of level j of each leaf; and
    ``leaves`` where the items of each leaf begin in ``order``.
    """

    order: np.ndarray
    sizes: Sequence[int]
    keys: Sequence[np.ndarray]
    children: Sequence[np.ndarray]
    ends: Sequence[np.ndarray]
    leaves: np.ndarray

    @classmethod
    def of(cls, values: Sequence[np.ndarray], sizes: Sequence[int]) -> "_Tree":
        """Sort items by their values, each from 0 to its size - 1."""
        order = np.lexsort(tuple(reversed(values)))
        node, nodes = np.zeros(order.size, dtype=np.int64), 1
        keys, children, of_item = [], [], []
        is_new = np.ones(order.size, dtype=bool)
        for value, size in zip(values, sizes, strict=True):
            key = node * size + value[order]
            is_new[1:] = key[1:] != key[:-1]
            keys.append(key[is_new])
            children.append(np.searchsorted(keys[-1], np.arange(nodes + 1) * size))
            node, nodes = np.cumsum(is_new) - 1, keys[-1].size
            of_item.append(node)
        starts = np.flatnonzero(is_new)
        ends = [each[starts] for each in of_item]
        return cls(order, sizes, keys, children, ends, np.append(starts, order.size))


@dataclass(frozen=True, slots=True, eq=False)
class _Weighted:
    """The tree of atoms; the sum of weights up to each place in its order; weights and their squares leaf by leaf."""

    tree: _Tree
    reached: np.ndarray
    masses: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[_Met], weights: np.ndarray) -> "_Weighted":
        """Sort atoms by their laws in the columns; weights come out with sum 1."""
        tree = _Tree.of([column.law for column in columns], [column.laws for column in columns])
        scaled = weights[tree.order] / weights.max()
        scaled /= scaled.sum()
        starts = tree.leaves[:-1]
        return cls(tree, np.cumsum(scaled), np.add.reduceat(scaled, starts), np.add.reduceat(scaled**2, starts))


# ------------------------------------------------------------------------------------------------------- joining


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of a leaf of the conditions, counted from the block's first, and a leaf of the atoms."""

    rows: np.ndarray
    atoms: np.ndarray
    logs: np.ndarray
    passed: np.ndarray


def _blocks(columns: Sequence[_Met], atoms: _Tree, rows: _Tree) -> Iterator[tuple[tuple[int, int], _Pairs]]:
    """Yield blocks of conditions, cut so that their pairs can be held at once, and these pairs."""
    leaves = rows.leaves.size - 1
    blocks = [(start, min(start + _BLOCK, leaves)) for start in range(0, leaves, _BLOCK)]
    while blocks:
        first, behind = blocks.pop()
        pairs = _joined(columns, atoms, rows, (first, behind))
        if pairs is None:
            middle = (first + behind) // 2
            blocks += [(first, middle), (middle, behind)]
        else:
            yield (first, behind), pairs


def _joined(columns: Sequence[_Met], atoms: _Tree, rows: _Tree, block: tuple[int, int]) -> _Pairs | None:
    """Return the pairs of a block of conditions; None where there are too many to hold at once."""
    first, behind = block
    is_one = behind - first == 1
    pairs = _Pairs(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), np.zeros((1, 0), dtype=bool))
    before = 0
    for level, column in enumerate(columns):
        low, high = int(rows.ends[level][first]), int(rows.ends[level][behind - 1]) + 1
        parent, sign = np.divmod(rows.keys[level][low:high], rows.sizes[level])
        parent -= before
        begin = np.searchsorted(parent, pairs.rows)
        counts = np.searchsorted(parent, pairs.rows, side="right") - begin
        if counts.sum() > _MOST_PAIRS and not is_one:
            return None
        pair = np.repeat(np.arange(counts.size), counts)
        row = begin[pair] + ranks(counts)
        wanted = (row, sign[row], pairs.atoms[pair], pairs.logs[pair])
        found = _next_level(column, atoms, level, wanted, None if is_one else _MOST_PAIRS)
        if found is None:
            return None
        is_met = np.bincount(found[0], minlength=high - low) > 0
        left = np.flatnonzero(~is_met[row])
        child, of = _children(atoms, level, pairs.atoms[pair][left])
        pairs = _Pairs(
            rows=np.concatenate((found[0], row[left][of])),
            atoms=np.concatenate((found[1], child)),
            logs=np.concatenate((found[2], pairs.logs[pair][left][of])),
            passed=np.column_stack((pairs.passed[parent], ~is_met)),
        )
        before = low
    return pairs


def _next_level(
    column: _Met,
    atoms: _Tree,
    level: int,
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    most: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return row, atom node of the next level and log chance of the pairs that match in one more column.

    None where more pairs of a sign and a law than `most` would have to be looked at.
    """
    row, sign, node, logs = pairs
    laws = column.offsets[sign + 1] - column.offsets[sign]
    below = atoms.children[level][node + 1] - atoms.children[level][node]
    if most is not None and min(laws.sum(), below.sum()) > most:
        return None
    if laws.sum() <= below.sum():
        of = np.repeat(np.arange(row.size), laws)
        met = column.offsets[sign[of]] + ranks(laws)
        wanted = node[of] * column.laws + column.keys[met] % column.laws
        child, is_there = _looked_up(atoms.keys[level], wanted)
    else:
        child, of = _children(atoms, level, node)
        wanted = sign[of] * column.laws + atoms.keys[level][child] % column.laws
        met, is_there = _looked_up(column.keys, wanted)
    of, child, met = of[is_there], child[is_there], met[is_there]
    return row[of], child, logs[of] + column.logs[met]


def _children(atoms: _Tree, level: int, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes of a level below nodes of the level before, and which of these each is below."""
    begin = atoms.children[level][node]
    counts = atoms.children[level][node + 1] - begin
    of = np.repeat(np.arange(node.size), counts)
    return begin[of] + ranks(counts), of


def _looked_up(keys: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each wanted key stands, and whether it is there."""
    place = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    return place, (keys[place] == wanted if keys.size else np.zeros(wanted.size, dtype=bool))


# ------------------------------------------------------------------------------------------------------- drawing


@dataclass(frozen=True, slots=True, eq=False)
class _Weighed:
    """Pairs sorted by condition, with the part of the condition's weight that each has."""

    atoms: np.ndarray
    parts: np.ndarray
    offsets: np.ndarray
    totals: np.ndarray
    effective: np.ndarray


def _weighed(pairs: _Pairs, weighted: _Weighted, conditions: int) -> _Weighed:
    """Return the pairs of some conditions with their weights."""
    order = np.argsort(pairs.rows, kind="stable")
    row, atom, logs = pairs.rows[order], pairs.atoms[order], pairs.logs[order]
    offsets = np.searchsorted(row, np.arange(conditions + 1))
    # Chances of many columns together may be smaller than any float: only their ratios are looked at.
    largest = np.maximum.reduceat(logs, offsets[:-1])
    chances = np.exp(logs - largest[row])
    weights = chances * weighted.masses[atom]
    totals = np.add.reduceat(weights, offsets[:-1])
    effective = totals**2 / np.add.reduceat(np.square(chances) * weighted.squares[atom], offsets[:-1])
    parts = weights / totals[row]
    # A part that vanished is drawn by rounding alone, and no place inside it can be told.
    kept = parts > np.finfo(np.float64).tiny
    offsets = np.searchsorted(row[kept], np.arange(conditions + 1))
    return _Weighed(atom[kept], parts[kept], offsets, totals * np.exp(largest), effective)


def _drawn(found: _Weighed, starts: np.ndarray, weighted: _Weighted, rng: np.random.Generator) -> np.ndarray:
    """Draw an atom, as its place in the order of the tree, for each row of a block: systematically per condition."""
    counts = np.diff(starts)
    row = np.repeat(np.arange(counts.size), counts)
    ends = np.cumsum(found.parts)
    before = np.concatenate(([0.0], ends))
    base, top = before[found.offsets[:-1]], before[found.offsets[1:]]
    share = (ranks(counts) + rng.random(counts.size)[row]) / counts[row]
    place = base[row] + share * (top - base)[row]
    pair = np.clip(np.searchsorted(ends, place, side="right"), found.offsets[row], found.offsets[row + 1] - 1)
    inside = np.clip((place - before[pair]) / found.parts[pair], 0.0, 1.0)
    leaf = found.atoms[pair]
    first, last = weighted.tree.leaves[leaf], weighted.tree.leaves[leaf + 1] - 1
    reached = weighted.reached
    wanted = np.where(first > 0, reached[first - 1], 0.0) + inside * weighted.masses[leaf]
    return np.asarray(np.clip(np.searchsorted(reached, wanted, side="right"), first, last))
