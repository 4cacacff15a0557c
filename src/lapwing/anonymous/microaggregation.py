"""Practical partitions of points into small groups, and what averaging over the groups loses.

Blocks of near points, MDAV in each, then moves and swaps of records. Every group holds at least ``size`` points.
"""

from dataclasses import dataclass

import numpy as np

from lapwing.anonymous.regrouping import dissolved

_SAMPLE = 4096
_POWER_STEPS = 10


def axis_blocks(x: np.ndarray, most: int, *, share: float = 0.5, unit: int = 1) -> list[np.ndarray]:
    """Split points by recursive halves along principal axes until no block has more than ``most`` of them.

    Blocks have at least ``most // 3`` points, unless there are fewer; the first cut lies at ``share``, 1/3 to 2/3:
    another share gives blocks with other borders. Returns the places of each block's points, ascending.
    """
    todo, blocks = [(np.arange(len(x)), share)], []
    while todo:
        places, cut = todo.pop()
        if places.size <= most:
            blocks.append(np.sort(places))
            continue
        along = _along_axis(x[places])
        first = round(cut * places.size / unit) * unit
        halves = np.argpartition(along, first)
        todo += [(places[np.sort(half)], 0.5) for half in (halves[first:], halves[:first])]
    return blocks


def _along_axis(points: np.ndarray) -> np.ndarray:
    """Project on about the first principal axis: power steps on a sample of every so many points."""
    sample = points[:: -(-len(points) // _SAMPLE)]
    centred = sample - sample.mean(axis=0)
    axis = centred[np.einsum("ij,ij->i", centred, centred).argmax()]
    for _ in range(_POWER_STEPS):
        axis = axis / max(float(np.abs(axis).max()), np.finfo(np.float64).tiny)
        axis = (centred * (centred * axis).sum(axis=1)[:, None]).sum(axis=0)
    along: np.ndarray = np.einsum("ij,j->i", points, axis)
    return along


NEAREST = 8
"""Each group trades records with this many nearest groups (and with those it is nearest to)."""

SWEEPS = 50
"""Most rounds of trades between fixed neighbours; a few hundred trades per million are left by then."""

_MOVED_BLOCK = 512
_CANDIDATES = 64
_CHUNK_VALUES = 1 << 17
_RELATIVE_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Groups:
    """A partition as a table with a line for each group: places of the records (-1 behind the last), counts, means."""

    members: np.ndarray
    counts: np.ndarray
    centroids: np.ndarray


def local_search(x: np.ndarray, labels: np.ndarray, size: int, *, share: float = 0.5) -> np.ndarray:
    """Move and swap records between near groups while that lowers the sum of squared errors.

    Groups have ``size`` to ``2 * size - 1`` points before and after. A sweep finds the best move or swap of each pair
    of near groups, takes pairs by falling gain as long as none of the two groups is taken already, and carries these
    trades out together; only pairs of groups that changed are looked at again. Deterministic. Time ``O(n (p + size) + n
    log n)`` a sweep, memory ``O(n p)``.
    """
    # Groups side by side in memory: this halves the time for a million points.
    order = np.argsort(labels, kind="stable")
    x = x[order]
    counts, row = np.bincount(labels), np.arange(2 * size - 1)
    members = np.where(row < counts[:, None], (counts.cumsum() - counts)[:, None] + row, -1)
    groups = Groups(members, counts, _means(x, members, counts))
    pairs = _near_pairs(groups.centroids, share)
    gains, places = _best_trades(x, groups, pairs, size)
    for _ in range(SWEEPS):
        chosen = _disjoint(pairs, gains, len(groups.counts))
        if not chosen.size:
            break
        groups = _after_trades(x, groups, pairs[chosen], places[chosen])
        is_changed = np.zeros(len(groups.counts), dtype=bool)
        is_changed[pairs[chosen]] = True
        again = np.flatnonzero(is_changed[pairs].any(axis=1))
        gains[again], places[again] = _best_trades(x, groups, pairs[again], size)
    is_record = groups.members >= 0
    found = np.empty_like(labels)
    found[order[groups.members[is_record]]] = np.nonzero(is_record)[0]
    return found


def _means(x: np.ndarray, members: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean of each line of a table; none is empty."""
    sums = np.add.reduceat(x[members[members >= 0]], counts.cumsum() - counts, axis=0)
    sums /= counts[:, None]
    return sums


def _near_pairs(centroids: np.ndarray, share: float = 0.5) -> np.ndarray:
    """Return the pairs of near groups, smaller number first, shape (q, 2)."""
    keys = []
    for block in axis_blocks(centroids, _MOVED_BLOCK, share=share):
        points = centroids[block] - centroids[block].mean(axis=0)
        norms = np.einsum("ij,ij->i", points, points)
        away = norms - 2.0 * (points @ points.T)
        np.fill_diagonal(away, np.inf)
        count = min(NEAREST, block.size - 1)
        near = np.argpartition(away, count - 1, axis=1)[:, :count] if count else np.empty((1, 0), dtype=np.int64)
        here, there = np.repeat(block, count), block[near.ravel()]
        keys.append(np.minimum(here, there) * len(centroids) + np.maximum(here, there))
    key = np.unique(np.concatenate(keys))
    return np.stack((key // len(centroids), key % len(centroids)), axis=1)


def _best_trades(x: np.ndarray, groups: Groups, pairs: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what the best trade of each pair gains (0: nothing), and which place in each line goes (-1: none)."""
    gains, places = np.zeros(len(pairs)), np.full((len(pairs), 2), -1)
    most = groups.members.shape[1]
    step = max(1, _CHUNK_VALUES // (most * (x.shape[1] + min(most, _CANDIDATES))))
    for start in range(0, len(pairs), step):
        part = slice(start, start + step)
        near = _most_drawn(_near_view(x, groups, pairs[part]))
        found, ends = _best_swaps(near)
        if (near.counts > size).any():
            moves, movers = _best_moves(near, size, most)
            is_move = moves > found
            found[is_move], ends[is_move] = moves[is_move], movers[is_move]
        # What rounding could fake is no gain.
        is_gain = found > _RELATIVE_GAIN * near.norms.sum(axis=(1, 2), where=near.is_record)
        gains[part] = np.where(is_gain, found, 0.0)
        in_line = np.take_along_axis(near.columns, np.maximum(ends, 0)[:, :, None], axis=2)[:, :, 0]
        places[part] = np.where(ends >= 0, in_line, -1)
    return gains, places


@dataclass(frozen=True, slots=True)
class _PairView:
    """Records of pairs of groups A, B as seen from the mean of A.

    ``columns`` (places in the lines), ``norms`` (squared), ``along`` (products with ``gap``) and ``is_record`` have
    shape (q, 2, w), ``points`` (q, 2, w, p), ``gap`` (mean of B minus mean of A) (q, p), ``counts`` (q, 2).
    """

    columns: np.ndarray
    points: np.ndarray
    norms: np.ndarray
    along: np.ndarray
    is_record: np.ndarray
    gap: np.ndarray
    counts: np.ndarray


def _near_view(x: np.ndarray, groups: Groups, pairs: np.ndarray) -> _PairView:
    """Return the records of some pairs."""
    counts = groups.counts[pairs]
    members = groups.members[pairs, : counts.max()]
    centre = groups.centroids[pairs[:, 0]]
    gap = groups.centroids[pairs[:, 1]] - centre
    points = x[members]
    points -= centre[:, None, None, :]
    norms = np.einsum("abij,abij->abi", points, points)
    along = np.einsum("abij,aj->abi", points, gap)
    columns = np.broadcast_to(np.arange(members.shape[2]), members.shape)
    return _PairView(columns, points, norms, along, members >= 0, gap, counts)


def _most_drawn(near: _PairView) -> _PairView:
    """Keep the records of large groups that lie farthest towards the other group."""
    if near.norms.shape[2] <= _CANDIDATES:
        return near
    away = np.where(near.is_record, np.array([[-1.0], [1.0]]) * near.along, np.inf)
    kept = np.argpartition(away, _CANDIDATES - 1, axis=2)[:, :, :_CANDIDATES]
    norms, along, is_record = (np.take_along_axis(of, kept, axis=2) for of in (near.norms, near.along, near.is_record))
    points = np.take_along_axis(near.points, kept[..., None], axis=2)
    return _PairView(kept, points, norms, along, is_record, near.gap, near.counts)


def _best_swaps(near: _PairView) -> tuple[np.ndarray, np.ndarray]:
    """Return gain and places of the best swap of each pair.

    Swapping a for b changes the squared errors by ``2 gap.(b - a) - |b - a|**2 (1/n_A + 1/n_B)``.
    """
    width = near.norms.shape[2]
    weight = (1.0 / near.counts).sum(axis=1)
    ends = weight[:, None, None] * near.norms + np.array([[2.0], [-2.0]]) * near.along
    ends[~near.is_record] = -np.inf
    gains = (near.points[:, 0] @ near.points[:, 1].transpose(0, 2, 1)).reshape(len(weight), -1)
    gains *= -2.0 * weight[:, None]
    gains += np.repeat(ends[:, 0], width, axis=1)
    gains += np.tile(ends[:, 1], width)
    best = gains.argmax(axis=1)
    return np.take_along_axis(gains, best[:, None], axis=1)[:, 0], np.stack(np.divmod(best, width), axis=1)


def _best_moves(near: _PairView, size: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return gain and places of the best move of one record from A to B or back."""
    width = near.norms.shape[2]
    from_b = near.norms - 2.0 * near.along + np.einsum("ij,ij->i", near.gap, near.gap)[:, None, None]
    own = np.stack((near.norms[:, 0], from_b[:, 1]), axis=1)
    other = np.stack((from_b[:, 0], near.norms[:, 1]), axis=1)
    here = near.counts[:, :, None]
    there = here[:, ::-1]
    gains = own * (here / np.maximum(here - 1, 1)) - other * (there / (there + 1))
    gains[~near.is_record | (here <= size) | (there >= most)] = -np.inf
    gains = gains.reshape(len(here), -1)
    best = gains.argmax(axis=1)
    side, place = np.divmod(best, width)
    places = np.where(side[:, None] == np.arange(2), place[:, None], -1)
    return np.take_along_axis(gains, best[:, None], axis=1)[:, 0], places


def _disjoint(pairs: np.ndarray, gains: np.ndarray, groups: int) -> np.ndarray:
    """Choose pairs by falling gain so that no group is in two of them (ties: the earlier pair)."""
    left = np.flatnonzero(gains > 0.0)
    left = left[np.argsort(-gains[left], kind="stable")]
    is_free = np.ones(groups, dtype=bool)
    chosen = [left[:0]]
    while left.size:
        rank = np.arange(left.size)
        first = np.full(groups, left.size)
        np.minimum.at(first, pairs[left].ravel(), np.repeat(rank, 2))
        taken = left[(first[pairs[left]] == rank[:, None]).all(axis=1)]
        chosen.append(taken)
        is_free[pairs[taken]] = False
        left = left[is_free[pairs[left]].all(axis=1)]
    return np.concatenate(chosen)


def _after_trades(x: np.ndarray, groups: Groups, pairs: np.ndarray, places: np.ndarray) -> Groups:
    """Carry out trades of disjoint pairs."""
    members, counts, centroids = groups.members.copy(), groups.counts.copy(), groups.centroids.copy()
    is_swap = (places >= 0).all(axis=1)
    lines, columns = pairs[is_swap], places[is_swap]
    members[lines, columns] = members[lines[:, ::-1], columns[:, ::-1]]
    for side in (0, 1):
        is_move = places[:, 1 - side] < 0
        giver, taker, column = pairs[is_move, side], pairs[is_move, 1 - side], places[is_move, side]
        members[taker, counts[taker]] = members[giver, column]
        counts[taker] += 1
        counts[giver] -= 1
        members[giver, column] = members[giver, counts[giver]]
        members[giver, counts[giver]] = -1
    changed = pairs.ravel()
    centroids[changed] = _means(x, members[changed], counts[changed])
    return Groups(members, counts, centroids)


def mdav(x: np.ndarray, size: int) -> np.ndarray:
    """Partition points by MDAV (maximum distance to average vector); the last group alone may be larger.

    Ties (of equal floating-point distances) go to the lowest index. The point opposite to the first one is looked for
    after the first group is taken away; this differs from the paper only if distances tie. Time ``O(n**2 p / size)``.

    References
    ----------
    J. Domingo-Ferrer and J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure
    control", IEEE TKDE 14 (2002); in the form with a fixed size of J. Domingo-Ferrer and V. Torra, "Ordinal,
    continuous and heterogeneous k-anonymity through microaggregation", DMKD 11 (2005), Algorithm 1 (MDAV-generic).

    >>> mdav(np.array([[0.0], [9.0], [1.0], [10.0], [2.0]]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    labels = np.empty(len(x), dtype=np.int64)
    left, points, group = np.arange(len(x)), x, 0
    while left.size >= 2 * size:
        pole = points[_distances(points, points.mean(axis=0)).argmax()]
        for _ in range(2 if left.size >= 3 * size else 1):
            away = _distances(points, pole)
            near = np.flatnonzero(away <= np.partition(away, size - 1)[size - 1])
            near = near if near.size == size else near[np.argsort(away[near], kind="stable")[:size]]  # ties by place
            labels[left[near]] = group
            group += 1
            is_left = np.ones(left.size, dtype=bool)
            is_left[near] = False
            left, points = left[is_left], points[is_left]
            pole = points[away[is_left].argmax()]
    labels[left] = group
    return labels


def _distances(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return squared distances; equal points get equal ones, which a matrix product would not promise."""
    away = points - centre
    squared: np.ndarray = np.einsum("ij,ij->i", away, away)
    return squared


_BLOCK, _BLOCK_OF_MANY, _MANY = 5000, 2000, 100_000
_FEWEST_TURNS, _MOST_TURNS, _WORK_OF_TURNS = 3, 20, 100_000_000
_JITTER_STEP = 0.03
_REGROUPINGS, _LEAST_FALL = 2, 1e-2
_SHARES = (0.5, 0.4, 0.6)
_WEYL = np.uint64(0x9E3779B97F4A7C15)


def practical_partition(x: np.ndarray, size: int) -> np.ndarray:
    """Partition points into groups of ``size`` to ``2 * size - 1`` with a small sum of squared errors.

    MDAV in blocks of up to 5000 points (2000 where there are more than 100,000), then `improve_partition`.
    Deterministic; depends on the order of the points. 1,000,000 x 10, size 5, in about 45 CPU seconds; memory ``O(n
    p)``.

    >>> practical_partition(np.array([[0.0], [9.0], [1.0], [10.0], [2.0]]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    return improve_partition(x, mdav_in_blocks(x, size), size)


def mdav_in_blocks(x: np.ndarray, size: int) -> np.ndarray:
    """Partition points by MDAV in blocks of near points, without which its time is quadratic."""
    block = _BLOCK if len(x) <= _MANY else _BLOCK_OF_MANY
    labels, groups = np.empty(len(x), dtype=np.int64), 0
    for places in axis_blocks(x, max(block, 4 * size), unit=size):
        labels[places] = groups + mdav(x[places], size)
        groups += places.size // size
    return labels


def improve_partition(x: np.ndarray, labels: np.ndarray, size: int) -> np.ndarray:
    """Lower the sum of squared errors of a partition: moves and swaps of points, groups dissolved, large ones split.

    Groups have ``size`` to ``2 * size - 1`` points then, and no larger sum; their number is free. A local search ends
    where no single trade helps. Each turn but the last therefore searches among points moved by a jitter that falls to
    nothing: ``1e8 / (n p size)`` turns, at least 3 and at most 20. The jitter is a fixed public sequence.

    References
    ----------
    I. Charon and O. Hudry, "The noising method: a new method for combinatorial optimization", Operations Research
    Letters 14 (1993). We change: the noise is on the points, not on the gains.
    """
    x = x - x.mean(axis=0)
    start = _without_large_groups(x, labels, size)
    spread = (12 * _squared_errors(x, start) / x.size) ** 0.5
    turns = max(_FEWEST_TURNS, min(_MOST_TURNS, _WORK_OF_TURNS // (x.size * size)))
    found = start
    for turn in range(turns):
        jitter = (turns - 1 - turn) * _JITTER_STEP * spread
        seen = x + jitter * _weyl(x.shape, turn) if jitter > 0 else x
        found = local_search(seen, found, size, share=_SHARES[turn % len(_SHARES)])
        if turns // 2 <= turn < turns - 1 and turn % 2 == turns // 2 % 2:
            found = _regrouped(seen, found, size)
    errors = _squared_errors(x, found)
    for _ in range(_REGROUPINGS if turns > _FEWEST_TURNS else 0):
        other = local_search(x, _regrouped(x, found, size), size, share=_SHARES[0])
        before, errors = errors, _squared_errors(x, other)
        found = other if errors < before else found
        if errors >= before * (1 - _LEAST_FALL):
            break
    return found if _squared_errors(x, found) <= _squared_errors(x, start) else start


def _regrouped(x: np.ndarray, labels: np.ndarray, size: int) -> np.ndarray:
    return _without_large_groups(x, dissolved(x, labels, _near_pairs), size)


def information_loss(x: np.ndarray, labels: np.ndarray) -> float:
    """Return ``100 SSE / SST``, the share of the sum of squares that averaging over groups loses; 0 for equal points.

    >>> information_loss(np.array([[0.0], [2.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    20.0
    """
    total = _squared_errors(x, np.zeros_like(labels))
    return 100 * _squared_errors(x, labels) / total if total > 0 else 0.0


def _without_large_groups(x: np.ndarray, labels: np.ndarray, size: int) -> np.ndarray:
    """Split groups of twice the size and more, which never raises the errors; renumber."""
    counts = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    parts = np.zeros(len(x), dtype=np.int64)
    for group, end in zip(np.flatnonzero(counts >= 2 * size), counts.cumsum()[counts >= 2 * size], strict=True):
        places = order[end - counts[group] : end]
        parts[places] = mdav_in_blocks(x[places], size)
    _, renumbered = np.unique(labels * len(x) + parts, return_inverse=True)
    return renumbered.astype(np.int64)


def _squared_errors(x: np.ndarray, labels: np.ndarray) -> float:
    """Return the sum of squared distances to the means of the groups."""
    counts, errors = np.bincount(labels), 0.0
    for values in x.T:
        # Seen from one of them, equal values are exactly 0, whatever their mean is rounded to.
        column = values - values[0]
        means = np.bincount(labels, column) / counts
        errors += float(np.square(column - means[labels]).sum())
    return errors


def _weyl(shape: tuple[int, ...], turn: int) -> np.ndarray:
    """Return numbers of -1/2 to 1/2 from the sequence ``i * i * golden ratio mod 1``, another stretch each turn."""
    index = np.arange(turn * shape[0] * shape[1], (turn + 1) * shape[0] * shape[1], dtype=np.uint64)
    index *= index
    index *= _WEYL
    return (index.astype(np.float64) / 2.0**64 - 0.5).reshape(shape)
