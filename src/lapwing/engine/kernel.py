"""The one compiled loop: sweeps that move particles by the residuals of all tables, and update these."""

from typing import NamedTuple

import numpy as np
from numba import njit

LANES = 8  # groups are looked at so many at a time; the views of a table and the log masses are padded to a multiple
_F = np.float32
_U = np.uint64  # numbers without a sign need no look whether they count from the end
_1, _2, _3, _4, _5, _6, _7 = (_U(each) for each in range(1, 8))


class Layout(NamedTuple):
    """Where everything stands, in flat arrays; a *slot* is a level of a column that some table uses.

    slots: int64 (d + 1,), the slots of each column, the finest first, which tells the groups that are drawn apart;
    coarse: int64 (slots, w), the group at a slot of each group of its column's first slot; log_base: float32 (d, w),
    logarithm of the mass of each group of the first slot; what is beyond the groups is not looked at; groups: int64
    (slots,), number of groups at each slot; entries: int64 (slots + 1,), the entries of each slot: one for each axis of
    a table that has this slot; tables, places: int64 (entries,), the table of an entry, and which of its axes; begins:
    int64 (entries,), where the view of an entry begins; sides: int64 (entries,), how many other axes its table has;
    others, reaches: int64 (entries, a - 1), their slots, and their strides in its view; axes: int64 (c, a), the slot of
    each axis of each table, -1 beyond its axes; views: int64 (c, a), where the view of a table begins in which an axis
    comes last, so that its groups follow one another; strides: int64 (c, a, a), distance of neighbours along an axis
    (the last index) in the view of an axis.
    """

    slots: np.ndarray
    coarse: np.ndarray
    log_base: np.ndarray
    groups: np.ndarray
    entries: np.ndarray
    tables: np.ndarray
    places: np.ndarray
    begins: np.ndarray
    sides: np.ndarray
    others: np.ndarray
    reaches: np.ndarray
    axes: np.ndarray
    views: np.ndarray
    strides: np.ndarray


@njit(cache=True, error_model="numpy")
def sweep(
    layout: Layout,
    particles: np.ndarray,
    order: np.ndarray,
    uniforms: np.ndarray,
    theta: np.ndarray,
    slopes: np.ndarray,
) -> int:
    """Draw columns of every particle anew, one after another, and return how many draws changed something.

    particles: uint16 (m, slots), the group of each particle at each slot; changed in place; order: int64, columns, each
    at most once; uniforms: float32 (columns, m), in [0, 1 - 2**-20]; theta: float32, what each cell adds to the
    logarithm, in all views; changed in place; slopes: float32 (c,), by how much theta of a table falls in a cell that a
    particle enters.
    """
    width = layout.log_base.shape[1]
    logits = np.zeros(width, np.float32)
    sums = np.zeros(width, np.float32)
    nothing = np.zeros(width, np.float32)
    bases = np.zeros(layout.tables.size, np.int64)
    moved = 0
    for at in range(order.size):
        column = order[at]
        first, last = layout.slots[column], layout.slots[column + 1]
        size = layout.groups[first]
        low, high = layout.entries[first], layout.entries[last]
        for i in range(particles.shape[0]):
            own = particles[i]
            for e in range(low, high):
                base = layout.begins[e]
                for x in range(layout.sides[e]):
                    base += layout.reaches[e, x] * np.int64(own[layout.others[e, x]])
                bases[e] = base
            old = np.int64(own[first])
            _add_rows(theta, bases, low, layout.entries[first + 1], layout.log_base[column], logits, int(size))
            for e in range(low, layout.entries[first + 1]):  # the particle is taken out of its own cell
                logits[old] += slopes[layout.tables[e]]
            for slot in range(first + 1, last):
                start, stop = layout.entries[slot], layout.entries[slot + 1]
                if start == stop:
                    continue
                _add_rows(theta, bases, start, stop, nothing, sums, layout.groups[slot])
                for e in range(start, stop):
                    sums[own[slot]] += slopes[layout.tables[e]]
                for v in range(size):
                    logits[v] += sums[layout.coarse[slot, v]]
            new = _draw(logits, int(size), uniforms[at, i])
            if new == old:
                continue
            moved += 1
            for slot in range(first, last):
                left, entered = int(own[slot]), layout.coarse[slot, new]
                if left == entered:
                    continue
                for e in range(layout.entries[slot], layout.entries[slot + 1]):
                    _move(layout, own, theta, slopes, e, bases[e], left, entered)
                own[slot] = entered
    return moved


@njit(cache=True, error_model="numpy")
def exchange(
    layout: Layout,
    particles: np.ndarray,
    is_bound: np.ndarray,
    tables: np.ndarray,
    pairs: np.ndarray,
    uniforms: np.ndarray,
    theta: np.ndarray,
    slopes: np.ndarray,
) -> int:
    """Let pairs of particles exchange their groups in a set of columns, where chance takes it; return how many did.

    is_bound: bool (slots,), whether a slot is one of the set's; tables: int64, those with axes both in the set and
    outside: all others stay as they are; pairs: int64 (k, 2), no particle twice; uniforms: float32 (k,). The rest as in
    `sweep`.
    """
    exchanged = 0
    axes, views, strides = layout.axes, layout.views, layout.strides
    for at in range(pairs.shape[0]):
        one, two = particles[pairs[at, 0]], particles[pairs[at, 1]]
        change = _F(0.0)
        # First what an exchange would change, in the first view; then, where it is taken, all views.
        for is_taken in range(2):
            if is_taken and uniforms[at] >= _exponential(min(change, _F(0.0))):
                break
            for table in tables:
                slope = slopes[table]
                for view in range(axes.shape[1] if is_taken else 1):
                    if axes[table, view] < 0:
                        break
                    begin = views[table, view]
                    inner, inner_two, outer, outer_two = 0, 0, 0, 0
                    for x in range(axes.shape[1]):
                        slot, stride = axes[table, x], strides[table, view, x]
                        if slot < 0:
                            break
                        if is_bound[slot]:
                            inner += stride * np.int64(one[slot])
                            inner_two += stride * np.int64(two[slot])
                        else:
                            outer += stride * np.int64(one[slot])
                            outer_two += stride * np.int64(two[slot])
                    if inner == inner_two or outer == outer_two:
                        break
                    own, other = begin + inner + outer, begin + inner_two + outer_two
                    mixed, back = begin + inner_two + outer, begin + inner + outer_two
                    if not is_taken:
                        change += theta[mixed] + theta[back] - theta[own] - theta[other] - _F(2.0) * slope
                    else:
                        theta[own] += slope
                        theta[other] += slope
                        theta[mixed] -= slope
                        theta[back] -= slope
            if is_taken:
                exchanged += 1
                for slot in range(is_bound.size):
                    if is_bound[slot]:
                        one[slot], two[slot] = two[slot], one[slot]
    return exchanged


@njit(cache=True, error_model="numpy")
def count_cells(
    groups: np.ndarray,
    slots: np.ndarray,
    sizes: np.ndarray,
    offsets: np.ndarray,
    finer: np.ndarray,
    merges: np.ndarray,
    merged: np.ndarray,
) -> np.ndarray:
    """Return how many particles are in each cell of many tables: ndarray of int64, one table after another.

    groups: uint16 (slots, m), the group of each particle at each slot; slots, sizes: int64 (tables, a), the slot of
    each axis of a table, -1 beyond its axes, and its groups, 1 there; offsets: int64 (tables + 1,), where its cells
    begin; finer: int64 (tables,), an earlier table of the same columns that each is summed from, -1 where it is
    counted; merges: int64 (tables, a), for each axis the row of ``merged`` with the group of each finer group.
    """
    found = np.zeros(offsets[-1], np.int64)
    cells = np.zeros(groups.shape[1], np.uint32)
    for table in range(slots.shape[0]):
        own_counts = found[offsets[table] : offsets[table + 1]]
        if finer[table] >= 0:
            fine_counts = found[offsets[finer[table]] : offsets[finer[table] + 1]]
            _add_merged(fine_counts, own_counts, sizes[table], sizes[finer[table]], merges[table], merged)
            continue
        cells[:] = 0
        stride = np.uint32(1)
        for axis in range(slots.shape[1] - 1, -1, -1):
            if slots[table, axis] < 0:
                continue
            own = groups[slots[table, axis]]
            for i in range(cells.size):
                cells[i] += stride * np.uint32(own[i])
            stride *= np.uint32(sizes[table, axis])
        for i in range(cells.size):
            own_counts[cells[i]] += 1
    return found


@njit(cache=True, error_model="numpy")
def _add_merged(
    fine_counts: np.ndarray,
    own_counts: np.ndarray,
    sizes: np.ndarray,
    fine_sizes: np.ndarray,
    merges: np.ndarray,
    merged: np.ndarray,
) -> None:
    """Add the counts of a finer table to the cells in which they lie."""
    for fine in range(fine_counts.size):
        rest, cell, stride = fine, 0, 1
        for axis in range(sizes.size - 1, -1, -1):
            if merges[axis] >= 0:
                cell += stride * merged[merges[axis], rest % fine_sizes[axis]]
                rest //= fine_sizes[axis]
                stride *= sizes[axis]
        own_counts[cell] += fine_counts[fine]


@njit(cache=True, error_model="numpy")
def add_residuals(
    layout: Layout, particles: np.ndarray, start: int, stop: int, theta: np.ndarray, found: np.ndarray
) -> None:
    """Add particles to each cell where they are, less what theta expects there given their other columns.

    particles: uint16 (m, slots); theta: float32, in all views; found: float32, in all views; the view of an axis sees
    that axis drawn. Changed in place.
    """
    width = layout.log_base.shape[1]
    logits = np.zeros(width, np.float32)
    sums = np.zeros(width, np.float32)
    nothing = np.zeros(width, np.float32)
    bases = np.zeros(layout.tables.size, np.int64)
    for column in range(layout.slots.size - 1):
        first, last = layout.slots[column], layout.slots[column + 1]
        if first == last:
            continue
        size = layout.groups[first]
        for i in range(start, stop):
            own = particles[i]
            for e in range(layout.entries[first], layout.entries[last]):
                base = layout.begins[e]
                for x in range(layout.sides[e]):
                    base += layout.reaches[e, x] * np.int64(own[layout.others[e, x]])
                bases[e] = base
            low, high = layout.entries[first], layout.entries[first + 1]
            _add_rows(theta, bases, low, high, layout.log_base[column], logits, int(size))
            for slot in range(first + 1, last):
                low, high = layout.entries[slot], layout.entries[slot + 1]
                _add_rows(theta, bases, low, high, nothing, sums, layout.groups[slot])
                for v in range(size):
                    logits[v] += sums[layout.coarse[slot, v]]
            _scaled(logits, int(size))
            for slot in range(first, last):
                for e in range(layout.entries[slot], layout.entries[slot + 1]):
                    found[bases[e] + own[slot]] += _F(1.0)
                    for v in range(size):
                        found[bases[e] + layout.coarse[slot, v]] -= logits[v]


@njit(cache=True, error_model="numpy")
def _scaled(logits: np.ndarray, size: int) -> None:
    """Turn logits into probabilities."""
    most = logits[0]
    for v in range(1, size):
        most = max(most, logits[v])
    total = _F(0.0)
    for v in range(size):
        logits[v] = _exponential(logits[v] - most)
        total += logits[v]
    for v in range(size):
        logits[v] /= total


@njit(cache=True, error_model="numpy")
def _add_rows(
    theta: np.ndarray, bases: np.ndarray, low: int, high: int, start: np.ndarray, sums: np.ndarray, size: int
) -> None:
    """Set ``sums`` to ``start`` plus the rows of theta that begin at some bases."""
    for at in range(0, size, LANES):
        k = _U(at)
        s0, s1, s2, s3 = start[k], start[k + _1], start[k + _2], start[k + _3]
        s4, s5, s6, s7 = start[k + _4], start[k + _5], start[k + _6], start[k + _7]
        for e in range(low, high):
            b = _U(bases[e]) + k
            s0 += theta[b]
            s1 += theta[b + _1]
            s2 += theta[b + _2]
            s3 += theta[b + _3]
            s4 += theta[b + _4]
            s5 += theta[b + _5]
            s6 += theta[b + _6]
            s7 += theta[b + _7]
        sums[k], sums[k + _1], sums[k + _2], sums[k + _3] = s0, s1, s2, s3
        sums[k + _4], sums[k + _5], sums[k + _6], sums[k + _7] = s4, s5, s6, s7


@njit(cache=True, error_model="numpy")
def _draw(logits: np.ndarray, size: int, uniform: float) -> int:
    """Draw a group in proportion to the exponentials of its logits, which are overwritten."""
    most = logits[0]
    for v in range(1, size):
        most = max(most, logits[v])
    for v in range(size):
        logits[v] = _exponential(logits[v] - most)
    total = _F(0.0)
    for v in range(size):
        total += logits[v]
        logits[v] = total
    reached = uniform * total
    for v in range(size - 1):
        if logits[v] > reached:
            return v
    return size - 1


@njit(cache=True, error_model="numpy")
def _exponential(x: np.float32) -> np.float32:
    """Return exp(x) for x up to 0, exactly 0 below -80: two to a whole power times a polynomial."""
    kept = max(x, _F(-80.0))
    scaled = kept * _F(1.4426950408889634)
    whole = np.int32(scaled - _F(0.5))
    rest = (scaled - _F(whole)) * _F(0.6931471805599453)
    value = _F(1.0) + rest * (
        _F(1.0)
        + rest
        * (
            _F(0.5)
            + rest * (_F(0.16666667) + rest * (_F(0.041666668) + rest * (_F(0.008333334) + rest * _F(0.0013888889))))
        )
    )
    value *= np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
    return value if x >= _F(-80.0) else _F(0.0)


@njit(cache=True, error_model="numpy")
def _move(
    layout: Layout,
    own: np.ndarray,
    theta: np.ndarray,
    slopes: np.ndarray,
    entry: int,
    base: int,
    left: int,
    entered: int,
) -> None:
    """Change theta of one table in all views, as a particle moves along one axis."""
    table, place = layout.tables[entry], layout.places[entry]
    slope = slopes[table]
    if slope == _F(0.0):
        return
    for view in range(layout.axes.shape[1]):
        if layout.axes[table, view] < 0:
            break
        if view == place:
            start = base
        else:
            start = layout.views[table, view]
            for x in range(layout.axes.shape[1]):
                if layout.axes[table, x] < 0:
                    break
                if x != place:
                    start += layout.strides[table, view, x] * np.int64(own[layout.axes[table, x]])
        stride = layout.strides[table, view, place]
        theta[start + left * stride] += slope
        theta[start + entered * stride] -= slope
