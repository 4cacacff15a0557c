"""What to expect of a release, by tables that could be the real ones: the model's, moved by the noise that is left.

Its weights were fitted once to releases of public tables by Adaptive, and rounded; docs/accuracy.md has the figures.
What comes out is no bound: a table of another kind may be off by more.
"""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from lapwing.maths.arrays import Floats, Ints
from lapwing.model.compared import PAIRS, choose_tables, compared_cells
from lapwing.model.quality import (
    STRONG_ASSOCIATION,
    STRONG_CORRELATION,
    TrendColumn,
    are_numbers,
    association,
    correlation,
    headline,
    is_number,
    mean_of,
    pair_counts,
    shape_of,
    strength_of,
    trend_column,
    trend_within,
)
from lapwing.release.runs.verdict.counted import ReleaseEvidence, ShownCounts, varying
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

_DRAWS: Final = 8  # tables that could be the real ones, for each column and pair
_MOST_GROUPS: Final = 1024  # of a column whose counts are weighed together
_RARE: Final = 1e-9
_LEAST_NOISE: Final = 0.01  # rows; less could not be told from rounding
_PAIR: Final = 2  # groups at least

FINER_NUMBER, FINER_OTHER = 0.6, 0.5
"""Part of a relation inside the groups that were counted that is lost: of a correlation, of a table's shares."""

TREND_TIMES: Final = 1.5
"""How much less alike strong pairs are than the noise that is left makes them."""

SURE, HIDING = 0.1, 0.25
"""Deviation of a strength, in times of a strong one's: where no noise hides it, and more where all of it is hidden."""

MISSED: Final = 0.4
"""How much stronger than strong a pair is that noise hides, in times of that."""

USUAL_PART: Final = 0.5
"""The part of the rows of such a pair that depends on each other: of categories."""

BELOW, ABOVE = 0.8, 0.5
"""Where the headline may lie, in times of how far the expected one is from 1: so far below, and above."""

_POSSIBLE: Final = 0.05
"""The least probability that no pair is strong at which the headline may be that of columns alone."""

SHARE_TIMES, WITHIN_TIMES = 0.8, 2.0
"""How much larger errors of shares, and of the strengths of relations, are than the noise that is left."""

FARTHER: Final = 0.5
"""Part of the numbers whose smallest or largest value lies farther out than the model's."""

WITHIN: Final = 0.9
"""The part of the relations that were found that is within the error that is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What to expect of a release.

    score: the headline; least, most: it is hardly outside these; shape, trend: as in `lapwing.model.quality`; trend is
    None where no pair may be strong; share: how far the share of the value of a typical row is off; strong: strong
    relations that were found; within: how far most of them are off; error: the same of all that may be there; None
    where nothing is known of any; weakest: the weakest relation that a typical counted pair tells from none; None
    without one.
    """

    score: float
    least: float
    most: float
    shape: float
    trend: float | None
    share: float
    strong: int
    within: float | None
    error: float | None
    weakest: float | None


def expected_quality(schema: Schema, found: ReleaseEvidence, rng: np.random.Generator) -> Expected:
    """Return what to expect, by released numbers alone. rng: public."""
    columns = {field.name: _column(field, found, rng) for field in schema.columns}
    tables, names = choose_tables(schema, ways=(2,), pairs=PAIRS, rng=rng), {field.name for field in varying(schema)}
    pairs = _Pairs(schema, found, columns, rng)
    seen = [pairs.look(pair) for listed in tables for pair in listed if names.issuperset(pair)]
    strong = [each for each in seen if each.is_found]
    errors = [error for each in strong for error in each.errors]
    shape, weakest = _within_1(mean_of(each.shape for each in columns.values())), [each.weakest for each in seen]
    hidden = _hidden(seen)
    chances = [_chance(each, much) for each, much in zip(seen, hidden, strict=True)]
    none = math.prod(1 - chance for chance in chances)  # the probability that no pair is strong
    trend = _trend(seen, hidden, chances, shape)
    off = _within_1(1 - (none * shape + (1 - none) * headline(shape, trend)))
    known = [each for each in weakest if each is not None]
    told = strong or any(each < 1 for each in known)
    return Expected(
        score=1 - off,
        least=max(0.0, 1 - (1 + BELOW) * off),
        most=max(shape if none > _POSSIBLE else 0.0, 1 - (1 - ABOVE) * off),
        shape=shape,
        trend=trend if none <= 1 / 2 else None,
        share=_within_1(SHARE_TIMES * mean_of(each.share for each in columns.values())),
        strong=len(strong),
        within=min(1.0, WITHIN_TIMES * float(np.quantile(errors, WITHIN))) if errors else None,
        error=_error(seen, hidden, chances) if none <= 1 / 2 and told else _median(known) if told else None,
        weakest=_median(known),
    )


def _hidden(seen: Sequence["_Pair"]) -> list[float]:
    """Return how much noise hides of each pair, from nothing to all of what is strong.

    Of one that was not counted, as much as of the others, of which it was none of the likely ones; all where nothing
    was counted. In a table of too few large groups to tell, twice as much as usual.
    """
    hides = [each.hides for each in seen if each.hides is not None and not each.is_public]
    usual = min(1.0, float(np.median(hides))) if hides else 1.0

    def of(pair: _Pair) -> float:
        if pair.hides is None:
            return usual
        return min(1.0, pair.hides if (pair.weakest or 1.0) < 1 else 2 * usual)

    return list(map(of, seen))


def _chance(pair: "_Pair", hidden: float) -> float:
    """Return the probability that a pair is strong: noise moves its strength, and hides a part."""
    score = (pair.strength / pair.limit - 1 + hidden / 2) / (SURE + HIDING * hidden)
    return (1 + math.erf(score / math.sqrt(2))) / 2


def _weaker(pair: "_Pair", hidden: float) -> float:
    """Return how much weaker a pair of which nothing tells is in the model, if it is strong."""
    return max(0.0, (1 + MISSED * hidden) * pair.limit - pair.strength)


def _trend(seen: Sequence["_Pair"], hidden: Sequence[float], chances: Sequence[float], shape: float) -> float:
    """Return the mean similarity of strong pairs; that of columns where no pair can be strong."""
    like = [
        1 - _weaker(*each) / 2 if each[0].likeness is None else each[0].likeness
        for each in zip(seen, hidden, strict=True)
    ]
    total = math.fsum(chances)
    return _within_1(math.fsum(map(operator.mul, chances, like)) / total) if total > 0 else shape


def _error(seen: Sequence["_Pair"], hidden: Sequence[float], chances: Sequence[float]) -> float:
    """Return how far the strength of most strong relations is off, with those that were not found."""
    errors = []
    for pair, much, chance in zip(seen, hidden, chances, strict=True):
        own = [min(1.0, WITHIN_TIMES * each) for each in pair.errors]
        own = own or [_weaker(pair, much)]
        errors += [(each, chance / len(own)) for each in own]
    sizes, weights = (np.array(each) for each in zip(*sorted(errors), strict=True))
    return float(sizes[np.searchsorted(np.cumsum(weights), WITHIN * weights.sum())])


def _within_1(figure: float) -> float:
    """Return a figure from 0 to 1 as one: rounding may not cost a release that is paid for its verdict."""
    return min(1.0, max(0.0, figure))


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


# -- Columns.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """What to expect of a column.

    cells: those in which it is compared; truths: their counts in tables that could be the real ones, (draws, cells);
    ends: the smallest and the largest of its numbers, of each draw.
    """

    cells: Grouping
    shape: float
    share: float
    counts: Floats
    truths: Floats
    ends: tuple[tuple[float, float], ...]


def _column(field: Field, found: ReleaseEvidence, rng: np.random.Generator) -> _Column:
    """Return what to expect of a column, in the cells in which columns are compared."""
    cells, ordered = compared_cells(field.domain), is_number(field)
    counts = found.drawn.counts([field.name], [cells])
    regular = cells.groups - (field.domain.size - field.domain.values if ordered else 1)
    noise = _noise(cells, found.columns[field.name], counts, rng)
    truths = np.maximum(counts + noise, 0)
    truths *= counts.sum() / np.maximum(truths.sum(axis=1, keepdims=True), _RARE)
    off = (truths - counts) / counts.sum()
    shapes, ends = [], []
    if counts[:regular].any():
        of = counts[:regular].sum()
        for truth, away in zip(truths, noise, strict=True):
            if ordered:
                # Noise that no fit took out hides where the rows are: unlike counts, their sums are not held at 0.
                sums = np.cumsum(away[:regular]) - np.arange(1, regular + 1) / regular * away[:regular].sum()
                shapes.append(1 - min(1.0, float(np.abs(sums).max() / of)))
                ends.append(_ends(truth[:regular], counts[:regular], cells, found.drawn.codes[field.name], rng))
            else:
                real = truth[:regular] / max(truth[:regular].sum(), _RARE)
                shapes.append(shape_of(real, counts[:regular] / of, is_ordered=False))
    return _Column(
        cells=cells,
        shape=mean_of(shapes),
        share=float((truths / counts.sum() * np.abs(off)).sum(axis=1).mean()),
        counts=counts,
        truths=truths,
        ends=tuple(ends),
    )


def _noise(cells: Grouping, shown: Sequence[ShownCounts], counts: Floats, rng: np.random.Generator) -> Floats:
    """Return noise that may be left in the counts of cells, (draws, cells), by all tables that show them.

    Each table tells of sums of cells; inside a sum a cell is taken to be of about the size that the model gives it.
    """
    if cells.groups > _MOST_GROUPS:
        finest = max(each.cells for each in shown)
        return rng.standard_normal((_DRAWS, cells.groups)) * min(each.left for each in shown if each.cells == finest)
    starts, _, group = (np.asarray(each) for each in cells.pieces())
    first = np.zeros(cells.groups, dtype=np.uint32)
    first[group[::-1]] = starts[::-1]
    precision = np.diag(1 / np.square(counts + max(_RARE, *(each.left for each in shown))))
    for each in shown:
        (seen,) = each.groupings
        sums = np.zeros((seen.groups, cells.groups))
        sums[seen.apply(first), np.arange(cells.groups)] = 1
        precision += sums.T @ sums / (max(each.left, _LEAST_NOISE) ** 2 * max(1.0, seen.groups / cells.groups))
    values, vectors = np.linalg.eigh(precision)
    drawn = rng.standard_normal((_DRAWS, cells.groups)) / np.sqrt(np.maximum(values, _RARE**2))
    return np.asarray(drawn @ vectors.T)


def _ends(
    truth: Floats, counts: Floats, cells: Grouping, codes: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the smallest and the largest number of a table: in cells that noise emptied there is none.

    Half of the real ends lie farther out, in cells whose few rows no noisy count shows.
    """
    starts, stops = (each[: truth.size] for each in cells.pieces()[:2])
    live = np.flatnonzero((truth > 0) & (counts > 0))
    own = codes[codes < stops[-1]]
    if not live.size or not own.size:
        return 0.0, 1.0
    own = own[(own >= starts[live[0]]) & (own < stops[live[-1]])]
    least, most = float(own.min()), float(own.max())
    out = np.where(rng.random(2) < FARTHER, rng.random(2) ** 2, 0.0)
    return least - out[0] * least, max(least + 1, most + out[1] * (float(stops[-1]) - 1 - most))


# -- Pairs.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """What to expect of a pair.

    strength: in the model; limit: from which it would be strong; likeness: of both tables, if it is; None of numbers of
    which nothing tells; errors: by how much its strength may be off then, of each draw; none where nothing tells of it;
    weakest: the strength that noise and chance may make of it, where it was counted; hides: what noise alone may, in
    times of the limit; is_found: strong in the model, where a count or a prior tells of it and noise does not explain
    it; is_public: its counts are public.
    """

    strength: float
    limit: float
    likeness: float | None = None
    errors: tuple[float, ...] = ()
    weakest: float | None = None
    hides: float | None = None
    is_found: bool = False
    is_public: bool = False


class _Pairs:
    """Pairs of columns of the model, each looked at once."""

    def __init__(
        self, schema: Schema, found: ReleaseEvidence, columns: Mapping[str, _Column], rng: np.random.Generator
    ) -> None:
        self.found, self.columns, self.rng = found, columns, rng
        self.fields = {field.name: field for field in schema.columns}
        self.seen = {field.name: trend_column(found.drawn.codes[field.name], field) for field in schema.columns}
        self.spread = {name: 1 - _mean_square(each) for name, each in self.seen.items()}

    def look(self, names: tuple[str, ...]) -> _Pair:
        """Return what to expect of a pair."""
        table, off = self.found.pairs.get(frozenset(names)), self.found.led.get(frozenset(names))
        pair = self._missed(names)
        is_related = pair.strength > pair.limit
        if table is not None:
            weakest, chance = self._weakest(table), math.sqrt(self.found.drawn.total / table.cells)
            # As strong as chance makes it a pair may be in the real table too: only noise hides what is there.
            hides = weakest / pair.limit * table.left / math.hypot(table.left, chance)
            pair = replace(pair, weakest=weakest, hides=hides, is_public=table.sd == 0)
            return self._moved(table, pair) if is_related else pair
        if off is None or not is_related:
            return pair
        return replace(pair, likeness=max(0.0, 1 - TREND_TIMES * off), errors=(off,), is_found=True)

    def _missed(self, names: tuple[str, ...]) -> _Pair:
        """Return what to expect of a pair of which nothing tells, if it is strong after all."""
        one, other = (self.seen[name] for name in names)
        strength = abs(np.nan_to_num(strength_of(one, other)))
        if are_numbers(one, other):
            return _Pair(strength=strength, limit=STRONG_CORRELATION)
        apart = USUAL_PART * min(self.spread[name] for name in names) * max(0.0, 1 - strength / STRONG_ASSOCIATION)
        likeness = (1 - apart) * min(self.columns[name].shape for name in names)
        return _Pair(strength=strength, limit=STRONG_ASSOCIATION, likeness=likeness)

    def _moved(self, table: ShownCounts, found: _Pair) -> _Pair:
        """Return what to expect of a strong pair that was counted: its rows, weighted as noise may move its table."""
        names, drawn = table.columns, self.found.drawn
        counts, cells = drawn.counts(names, table.groupings), drawn.cells(names, table.groupings)
        pair, strength = self._pair(table), found.strength
        own_strength = strength_of(*pair)
        own = [self.columns[name] for name in names]
        finer = sum(map(self._inside, names, table.groupings))
        merged = self._merged(table)
        likeness, errors = [], []
        for draw in range(_DRAWS):
            truth = np.maximum(counts + self.rng.normal(0, table.left, counts.size), 0)
            weights = (truth / np.maximum(counts, _RARE))[cells]
            error = abs(strength_of(pair[0], pair[1], weights) - own_strength)
            if not math.isfinite(error):  # a column of one value
                continue
            if are_numbers(*pair):
                error += FINER_NUMBER * finer * strength
                likeness.append(1 - error / 2)
            else:
                error += merged * (strength + merged * (1 - strength)) / WITHIN_TIMES
                for name, each in zip(names, own, strict=True):
                    weights = (
                        weights * (each.truths[draw] / np.maximum(each.counts, _RARE))[drawn.groups(name, each.cells)]
                    )
                recut = [
                    trend_within(each, one.ends[draw] if one.ends else None)
                    for each, one in zip(pair, own, strict=True)
                ]
                likeness.append(_likeness(pair, (recut[0], recut[1]), weights))
            errors.append(error)
        if not are_numbers(*pair):
            off = math.hypot(1 - mean_of(likeness), FINER_OTHER * finer * _apart(counts, table), self._chance(table))
            likeness = [max(0.0, 1 - off)]
        if not errors:
            return found
        return replace(
            found,
            likeness=max(0.0, 1 - TREND_TIMES * (1 - mean_of(likeness))),
            errors=tuple(errors),
            is_found=found.weakest is not None and strength > found.weakest,
        )

    def _pair(self, table: ShownCounts) -> tuple[TrendColumn, TrendColumn]:
        left, right = table.columns
        return self.seen[left], self.seen[right]

    def _inside(self, name: str, grouping: Grouping) -> float:
        """Return the part of a relation that lies inside groups: between neighbours little, between categories all."""
        if grouping.groups >= self.columns[name].cells.groups:
            return 0.0
        if self.seen[name].values is not None:
            return 1 / grouping.groups
        return float(self._shared(name, grouping).mean())

    def _merged(self, table: ShownCounts) -> float:
        """Return the part of an association that lies inside groups: rare values weigh as much in it as others do."""
        pair = self._pair(table)
        sides = list(zip(table.columns, table.groupings, strict=True))
        inside = np.zeros(self.found.drawn.size)
        for (name, grouping), column in zip(sides, pair, strict=True):
            alone = self._inside(name, grouping) if column.values is not None else self._shared(name, grouping)
            inside = 1 - (1 - inside) * (1 - alone)
        cells = min((column.cells for column in pair), key=lambda each: np.count_nonzero(np.bincount(each)))
        rows = np.bincount(cells)
        return float((np.bincount(cells, inside)[rows > 0] / rows[rows > 0]).mean())

    def _shared(self, name: str, grouping: Grouping) -> Floats:
        """Return 1 for each row whose category was counted together with others."""
        starts, stops, group = grouping.pieces()
        size = np.bincount(group, stops - starts, minlength=grouping.groups)
        return np.asarray(size > 1, dtype=np.float64)[self.found.drawn.groups(name, grouping)]

    def _chance(self, table: ShownCounts) -> float:
        """Return how far rows are from others like them in cells finer than the groups that hold them still."""
        drawn, names = self.found.drawn, table.columns
        left, right = (trend_column(drawn.again[name], self.fields[name]) for name in names)
        fine = 1 - _likeness(self._pair(table), (left, right), None)
        counts = [drawn.counts(names, table.groupings, again=each) / drawn.total for each in (False, True)]
        return math.sqrt(max(0.0, fine**2 - (float(np.abs(counts[0] - counts[1]).sum()) / 2) ** 2))

    def _weakest(self, table: ShownCounts) -> float:
        """Return the largest of the strengths that noise and chance make of a pair that is not related.

        In the groups that were counted, and hold more rows than noise makes of them.
        """
        shape = tuple(each.groups for each in table.groupings)
        counts = self.found.drawn.counts(table.columns, table.groupings).reshape(shape)
        margins = [counts.sum(axis=1), counts.sum(axis=0)]
        large = [each > size * table.left for each, size in zip(margins, shape[::-1], strict=True)]
        if min(map(np.count_nonzero, large)) < _PAIR:
            return 1.0
        expected = np.outer(margins[0][large[0]], margins[1][large[1]]) / counts.sum()
        points = None
        if are_numbers(*self._pair(table)):
            sides = zip(table.columns, table.groupings, large, strict=True)
            scores = [
                _scores(self.seen[name], self.found.drawn.groups(name, each), each.groups)[there]
                for name, each, there in sides
            ]
            points = [each.reshape(-1) for each in np.broadcast_arrays(scores[0][:, None], scores[1])]
        found, sd = [], np.sqrt(table.left**2 + expected)  # of the noise, and of chance in as many rows
        for _ in range(_DRAWS):
            noisy = np.maximum(expected + sd * self.rng.standard_normal(expected.shape), 0)
            found.append(
                association(noisy) if points is None else abs(correlation(points[0], points[1], noisy.reshape(-1)))
            )
        return min(1.0, float(np.nan_to_num(np.max(found), nan=1.0)))


def _mean_square(column: TrendColumn) -> float:
    """Return how often two rows are in the same cell."""
    return float(np.square(np.bincount(column.cells) / column.cells.size).sum())


def _scores(column: TrendColumn, groups: Ints, size: int) -> Floats:
    """Return the mean of the numbers of each group, nan where it has none."""
    assert column.values is not None
    is_there = ~np.isnan(column.values)
    sums = np.bincount(groups[is_there], column.values[is_there], minlength=size)
    rows = np.bincount(groups[is_there], minlength=size)
    return np.where(rows > 0, sums / np.maximum(rows, 1), np.nan)


def _likeness(
    pair: tuple[TrendColumn, TrendColumn], recut: tuple[TrendColumn, TrendColumn], weights: Floats | None
) -> float:
    """Return how alike rows and such as could be the real ones are in a pair."""
    own, real = pair_counts(pair[0], pair[1]), pair_counts(recut[0], recut[1], weights)
    return float(np.minimum(own / own.sum(), real / max(real.sum(), _RARE)).sum())


def _apart(counts: Floats, table: ShownCounts) -> float:
    """Return how far a table is from that of independent columns."""
    shares = counts.reshape([each.groups for each in table.groupings]) / counts.sum()
    return float(np.abs(shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))).sum()) / 2
