"""Slow twins of microaggregation for tests: vectors of rows, projections and the solution of the default, in loops."""

import itertools
import math

import numpy as np


def blocks_of(schema):
    """Return for each column its values, one coordinate each, and whether two of them share one."""
    values = {"kind": ["a", "b", "c"], "few": ["0", "1", "2", "3", "9", None]}
    return [(values.get(field.name, ["false", "true"]), field.name not in values) for field in schema.columns]


def vectors(data, schema, low):
    """Return the vectors of rows, with their numbers: flags are ``low`` and 1, lists have a 1 in one place."""
    counted = {}
    for row in data.select([field.name for field in schema.columns]).rows():
        vector = []
        for value, (values, is_line) in zip(row, blocks_of(schema), strict=True):
            if is_line:
                vector.append({"false": low, "true": 1}.get(value, 0))
            else:
                coded = None if value == "?" and None in values else value
                vector += [int(coded == each) for each in values]
        counted[tuple(vector)] = counted.get(tuple(vector), 0) + 1
    return counted


def on_simplex(values, total=1.0):
    """Return the nearest non-negative numbers of a sum: the same is taken from all that stay above zero (Michelot)."""
    kept, taken = list(values), None
    while taken is None or min(kept) <= taken < max(kept):
        kept = kept if taken is None else [each for each in kept if each > taken]
        taken = (sum(kept) - total) / len(kept)
    return [max(0.0, each - taken) for each in values]


def in_box(mean, schema, low):
    """Return the nearest point of a box: an interval for each flag, a simplex for each list."""
    found, start = [], 0
    for values, is_line in blocks_of(schema):
        width = 1 if is_line else len(values)
        block = mean[start : start + width]
        found += [min(1.0, max(float(low), block[0]))] if is_line else on_simplex(block)
        start += width
    return found


def leading(matrix, count):
    """Return the leading eigenvectors, the largest entry positive."""
    _, found = np.linalg.eigh(np.array(matrix))
    axes = [found[:, -1 - place].tolist() for place in range(count)]
    return [axis if max(axis, key=abs) > 0 else [-each for each in axis] for axis in axes]


def dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def pooled(one, one_sd, other, other_sd):
    """Return the inverse-variance mean and its standard deviation."""
    if not one_sd:
        return one, 0.0
    first, second = 1 / one_sd**2, 1 / other_sd**2
    return (one * first + other * second) / (first + second), math.sqrt(1 / (first + second))


class Solved:
    """The weights and means of the default settings from its answers, in loops."""

    def __init__(self, answers, schema, public_rows, low=-1):
        self.schema, self.low = schema, low
        *numbers, sums, self.moment, self.counts, self.cell_sums = answers
        self.coordinates = sums.question.coordinates
        self.owners, self.p = self.coordinates.owners.tolist(), self.coordinates.size
        self.rows = float(public_rows if public_rows is not None else max(1, numbers[0].values[0]))
        self.rows_sd = 0.0 if public_rows is not None else numbers[0].noise.sd
        self.sums, self.sums_sd = sums.values[0].tolist(), sums.noise.sd
        self.mean = [min(1.0, max(-1.0, each / self.rows)) for each in self.sums]

    def covariance(self):
        """Return all covariances; products inside one column are known."""
        found = [[0.0] * self.p for _ in range(self.p)]
        between = [pair for pair in itertools.combinations(range(self.p), 2) if not self.is_inside(*pair)]
        for (i, j), value in zip(between, self.moment.values.tolist(), strict=True):
            found[i][j] = found[j][i] = value / self.rows
        for i in range(self.p):
            found[i][i] = 1.0 if self.coordinates.kinds[self.owners[i]] == "line" else self.mean[i]
        return [[found[i][j] - self.mean[i] * self.mean[j] for j in range(self.p)] for i in range(self.p)]

    def is_inside(self, i, j):
        return self.owners[i] == self.owners[j]

    def choose_cells(self, most):
        """Return directions, each with its bins and its cuts, as real numbers."""
        covariance, sd = self.covariance(), self.moment.noise.sd / self.rows
        variances = [min(1.0, max(0.0, covariance[i][i])) for i in range(self.p)]
        edge = 2 * math.sqrt(self.p * sd**2 + max(variances) * sum(variances) / self.rows)
        between = [[0.0 if self.is_inside(i, j) else covariance[i][j] for j in range(self.p)] for i in range(self.p)]
        values = np.linalg.eigvalsh(np.array(between)).tolist()[::-1]
        excess = [math.sqrt(each**2 - edge**2) for each in values if each > edge]
        bins = [1] * len(excess)
        while bins:
            worst = max(range(len(bins)), key=lambda r: (max(excess[r], 1e-3) / bins[r] ** 2, -r))
            if math.prod(bins) // bins[worst] * (bins[worst] + 1) > most:
                break
            bins[worst] += 1
        chosen = []
        for axis, count in zip(leading(between, len(bins)), bins, strict=True):
            variance = dot(axis, [dot(row, axis) for row in covariance])
            spread, middle = math.sqrt(max(1e-3, variance)), dot(axis, self.mean)
            cuts = [middle + spread * (4 * k / count - 2) for k in range(1, count)]
            chosen += [(axis, cuts)] if count > 1 else []
        return chosen

    def solve(self, steps=200):
        """Return weights and means: pooled totals, ratios, calibration, fit, calibration, raking."""
        counts, sums, cells = self.counts.values.tolist(), self.cell_sums.values.tolist(), self.counts.values.size
        sd = self.cell_sums.noise.sd
        rows, _ = pooled(self.rows, self.rows_sd, max(1, sum(counts)), self.counts.noise.sd * math.sqrt(cells))
        self.rows = max(1.0, rows)
        self.sums = [
            pooled(one, self.sums_sd, sum(column), sd * math.sqrt(cells))[0]
            for one, column in zip(self.sums, zip(*sums, strict=True), strict=True)
        ]
        self.mean = [min(1.0, max(-1.0, each / self.rows)) for each in self.sums]
        weights = [each / self.rows for each in on_simplex(counts, self.rows)]
        means = [
            in_box([x / max(weight * self.rows, sd, 1.0) for x in one], self.schema, self.low)
            for weight, one in zip(weights, sums, strict=True)
        ]
        means = self.calibrated(weights, means)
        return weights, self.raked(weights, self.calibrated(weights, self.fitted(weights, means, steps)))

    def weighted(self, weights, means):
        return [sum(w * mean[i] for w, mean in zip(weights, means, strict=True)) for i in range(self.p)]

    def calibrated(self, weights, means):
        for _ in range(3):
            gap = [a - b for a, b in zip(self.mean, self.weighted(weights, means), strict=True)]
            means = [in_box([x + y for x, y in zip(mean, gap, strict=True)], self.schema, self.low) for mean in means]
        return means

    def raked(self, weights, means):
        """Return means of which each column's shares were scaled to the totals, and to sum 1, twenty times."""
        mean, found = in_box(self.mean, self.schema, self.low), [[] for _ in means]
        for column, kind in enumerate(self.coordinates.kinds):
            block = [place for place in range(self.p) if self.owners[place] == column]
            rows, aim = [[each[place] for place in block] for each in means], [mean[place] for place in block]
            if kind == "line":
                *rows, aim = [[1 - p, p] for p in ((each[0] - self.low) / (1 - self.low) for each in (*rows, aim))]
            rows = [[(1 - 1e-4) * x + 1e-4 * y for x, y in zip(row, aim, strict=True)] for row in rows]
            for _ in range(20):
                own = [sum(w * row[k] for w, row in zip(weights, rows, strict=True)) for k in range(len(aim))]
                factors = [y / x if x > 0 else 0.0 for x, y in zip(own, aim, strict=True)]
                rows = [[x * factor for x, factor in zip(row, factors, strict=True)] for row in rows]
                rows = [[x / sum(row) for x in row] for row in rows]
            for place, row in enumerate(rows):
                found[place] += [self.low + (1 - self.low) * row[1]] if kind == "line" else row
        return found

    def spread(self, weights, means, centre):
        """Return the covariance of the cells about a centre."""
        far = [[x - c for x, c in zip(mean, centre, strict=True)] for mean in means]
        return [
            [sum(w * each[i] * each[j] for w, each in zip(weights, far, strict=True)) for j in range(self.p)]
            for i in range(self.p)
        ]

    def fitted(self, weights, means, steps):
        """Return means moved towards the noisy covariance, as far as noise does not explain the difference."""
        noisy, own, sd = self.covariance(), self.spread(weights, means, self.mean), self.moment.noise.sd / self.rows
        pairs = [(i, j) for i in range(self.p) for j in range(self.p) if not self.is_inside(i, j)]
        real = sum((noisy[i][j] - own[i][j]) ** 2 for i, j in pairs) / len(pairs) - sd**2
        trust = max(0.0, real) / (max(0.0, real) + sd**2)
        if trust < 0.01:
            return means
        centre = self.weighted(weights, means)
        own_aim = [list(row) for row in own]
        for i, j in pairs:
            own_aim[i][j] += trust * (noisy[i][j] - own[i][j])
        start = self.spread(weights, means, centre)
        other = [list(row) for row in start]
        for i, j in pairs:
            other[i][j] = own_aim[i][j]
        step = 0.5 / max(np.linalg.eigvalsh(np.array(each))[-1] for each in (start, other))
        for _ in range(steps):
            now, middle = self.spread(weights, means, centre), self.weighted(weights, means)
            moved = []
            for mean in means:
                far = [x - c for x, c in zip(mean, centre, strict=True)]
                down = [
                    sum(far[i] * (now[i][j] - own_aim[i][j]) for i in range(self.p) if not self.is_inside(i, j))
                    for j in range(self.p)
                ]
                point = [x - step * y + c - m for x, y, c, m in zip(mean, down, centre, middle, strict=True)]
                moved.append(in_box(point, self.schema, self.low))
            change = max(
                abs(a - b) for one, two in zip(means, moved, strict=True) for a, b in zip(one, two, strict=True)
            )
            means = moved
            if change < 1e-4:
                break
        return means
