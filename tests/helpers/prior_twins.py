"""Slow twins of Adaptive's steps with a prior, written from what they promise, cell by cell and row by row."""

import itertools
import math
from statistics import mean

# -- Single columns.


def naive_noisy(table):
    return list(table.counts if table.masses is None else table.masses)


def naive_expected(table, codes, total):
    """Return the prior's rows in each cell that is told of, scaled to as many records."""
    cells = len(naive_noisy(table))
    held = [int(group) for group in table.grouping.apply(codes) if group < cells]
    return [sum(group == cell for group in held) * total / max(1, len(held)) for cell in range(cells)]


def naive_variance(table):
    return max(table.sd, 0.3) ** 2


def naive_excess(table, codes, total):
    """Return the squared difference beyond what noise makes, for each record."""
    pairs = zip(naive_noisy(table), naive_expected(table, codes, total), strict=True)
    return sum((noisy - expected) ** 2 - naive_variance(table) for noisy, expected in pairs) / total


def naive_typical(named, prior, total):
    """Return the mean excess of the columns without the fifth that changed most and that which changed least."""
    excesses = sorted(naive_excess(named[name], codes, total) for name, codes in prior.codes.items())
    fifth = len(excesses) // 5
    return mean(excesses[fifth : len(excesses) - fifth])


def naive_towards(tables, names, priors, total):
    """Return for each table its counts and its noise."""
    named = dict(zip(names, tables, strict=True))
    typical = [naive_typical(named, prior, total) for prior in priors]
    prior = priors[typical.index(min(typical))]
    least = max(min(typical), total / prior.rows)
    found = []
    for name, table in named.items():
        noisy, variance = naive_noisy(table), naive_variance(table)
        if name not in prior.codes:
            found.append((noisy, table.sd))
            continue
        chance = variance * math.sqrt(2 * len(noisy)) / total
        error = max(naive_excess(table, prior.codes[name], total) - chance, least)
        moved, weights = [], []
        for count, expected in zip(noisy, naive_expected(table, prior.codes[name], total), strict=True):
            wrong = error * (0.9 * expected + 0.1 * total / len(noisy))
            both = (count / variance + expected / wrong) / (1 / variance + 1 / wrong)
            most = 2 * math.sqrt(variance)
            moved.append(min(max(both, count - most), count + most))
            weights.append(wrong / (wrong + variance))
        if table.masses is not None:
            moved = [max(each, 0.0) for each in moved]
            moved = [each * total / sum(moved) for each in moved]
        found.append((moved, table.sd * math.sqrt(mean(weights))))
    return found


# -- Pairs of columns.


def naive_pairs(columns, prior, total):
    """Return for each pair of the prior's columns its table, counts and what independence makes of the margins."""
    places = [place for place, column in enumerate(columns) if column.name in prior.codes]
    groups = {place: columns[place].groupings[0].apply(prior.codes[columns[place].name]).tolist() for place in places}
    held = [
        row for row in range(prior.rows) if all(groups[place][row] < columns[place].axis.base.size for place in places)
    ]
    found = []
    for one, two in itertools.combinations(places, 2):
        sizes = {
            (first, second): columns[one].axis.sizes[first] * columns[two].axis.sizes[second]
            for first in range(len(columns[one].groupings))
            for second in range(len(columns[two].groupings))
        }
        small = {levels: cells for levels, cells in sizes.items() if cells <= 400}
        if not small or not held:
            continue
        table = tuple(zip((one, two), max(small, key=small.get), strict=True))
        whole = [margin_of(columns[at].axis, level) for at, level in table]
        margins = [[each * total / sum(margin) for each in margin] for margin in whole]
        alone = {
            (i, j): first * second / total
            for (i, first), (j, second) in itertools.product(*(enumerate(each) for each in margins))
        }
        counts = {cell: 0.005 * records for cell, records in alone.items()}
        for row in held:
            cell = tuple(int(columns[at].axis.levels[level][groups[at][row]]) for at, level in table)
            counts[cell] += 0.995 * total / len(held)
        found.append((table, naive_raked(counts, margins), alone))
    strength = [-sum(abs(counts[cell] - alone[cell]) for cell in alone) for _, counts, alone in found]
    kept = sorted(sorted(range(len(found)), key=strength.__getitem__)[:400])
    return [found[place] for place in kept]


def margin_of(axis, level):
    """Return the mass in each group of a level."""
    found = [0.0] * axis.sizes[level]
    for group, mass in enumerate(axis.base):
        found[int(axis.levels[level][group])] += float(mass)
    return found


def naive_raked(counts, margins):
    """Scale rows and columns in turn to the margins."""
    for _, (axis, margin) in itertools.product(range(30), enumerate(margins)):
        for group, wanted in enumerate(margin):
            cells = [cell for cell in counts if cell[axis] == group]
            held = max(sum(counts[cell] for cell in cells), 0.002)
            for cell in cells:
                counts[cell] *= wanted / held
    return counts


def naive_coarser(columns, table, counts, coarser):
    """Return the counts of a table in the groups of coarser levels, of some of its columns."""
    levels, found = dict(coarser), {}
    for at, level in coarser:
        assert level >= dict(table)[at]
    for cell, records in counts.items():
        there = []
        for (at, level), group in zip(table, cell, strict=True):
            if at in levels:
                axis = columns[at].axis
                finest = axis.levels[level].tolist().index(group) if group in axis.levels[level] else None
                there.append(None if finest is None else int(axis.levels[levels[at]][finest]))
        found[tuple(there)] = found.get(tuple(there), 0.0) + records
    return found


def naive_question(columns, pairs):
    """Return the columns, and each table's counts by cell, each column at its coarsest level."""
    coarsest = {}
    for table, _, _ in pairs:
        for at, level in table:
            coarsest[at] = max(level, coarsest.get(at, 0))
    tables = []
    for table, counts, _ in pairs:
        coarser = tuple((at, coarsest[at]) for at, _ in table)
        found = naive_coarser(columns, table, counts, coarser)
        tables.append((coarser, found))
    return sorted(coarsest), tables


def naive_ridge(columns, table, counts, wrong):
    """Return the ridge: squared error times records over the squares that error does not explain."""
    margins = [margin_of(columns[at].axis, level) for at, level in table]
    records = sum(margins[0])
    alone = {cell: margins[0][cell[0]] * margins[1][cell[1]] / records for cell in counts}
    signal = sum((counts[cell] - alone[cell]) ** 2 for cell in counts) - len(counts) * wrong**2
    return wrong**2 * records / max(signal, 0.1**2 * sum(each**2 for each in alone.values()))


def naive_guide(columns, priors, answers, total):
    """Return the prior's error in records and its targets and ridges, by what each question was answered; or None."""
    near = []
    for prior in priors:
        pairs = naive_pairs(columns, prior, total)
        if not pairs:
            continue
        answer = answers.pop(0)
        unit = 16 * len(pairs) * total
        distance = max(float(answer.values[0]) / unit, answer.noise.sd / unit, 0.002)
        own = mean(sum(abs(counts[cell] - alone[cell]) for cell in alone) for _, counts, alone in pairs) / total
        near.append((distance / own, distance, prior, pairs))
    ratio, distance, prior, pairs = min(near, key=lambda each: each[0], default=(1, 0, None, ()))
    if ratio >= 0.75:
        return None
    found = []
    for table, counts, _ in pairs:
        cells = len(counts)
        wrong = math.hypot(1.25 * distance * total / cells, total / math.sqrt(prior.rows * cells))
        found.append((table, counts, naive_ridge(columns, table, counts, wrong)))
    return distance * total, found


# -- What is believed of a prior beside measured tables.


def naive_trust(columns, guide, measured):
    """Return by how much each table of a prior gives way more than on average, as a ratio of variances."""
    found = []
    for factor in guide.factors:
        named = {at for at, _ in factor.table}
        ratios = [
            naive_ratio(columns, guide, factor, other) for other in measured if named <= {at for at, _ in other.table}
        ]
        found.append(max(ratios, default=1.0))
    return found


def naive_ratio(columns, guide, factor, other):
    """Pool what is seen beyond the noise in each cell of both tables with 16 observations of the usual error."""
    levels = dict(other.table)
    common = tuple((at, max(level, levels[at])) for at, level in factor.table)
    told, noisy = (
        naive_coarser(columns, table, counts_by_cell(columns, table, counts), common)
        for table, counts in ((factor.table, factor.target), (other.table, other.counts))
    )
    cells = math.prod(columns[at].axis.sizes[level] for at, level in common)
    summed_up = other.counts.size / cells
    gaps = [(told.get(cell, 0.0) - noisy.get(cell, 0.0)) ** 2 for cell in {*told, *noisy}]
    seen = max(0.0, sum(gaps) / cells - summed_up * other.sd**2)
    usual = (1.25 * guide.error / cells) ** 2
    return (cells * seen + 16 * usual) / (cells + 16) / usual


def counts_by_cell(columns, table, counts):
    sizes = [range(columns[at].axis.sizes[level]) for at, level in table]
    return dict(zip(itertools.product(*sizes), counts.tolist(), strict=True))
