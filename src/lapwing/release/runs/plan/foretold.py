"""What a release would show: the tables of its plan, and their noise, on rows of a release or on such as are usual."""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.cost_lines import ChosenTable, CostLine, PlannedQuestion
from lapwing.model.compared import TYPICAL
from lapwing.model.evidence import Side
from lapwing.release.runs.verdict.drawn import SIZE, DrawnTwice
from lapwing.release.runs.verdict.terms import MOST_PAIRS, ReleaseEvidence, ShownCounts, noise_of_look
from lapwing.schema.groupings.grouping import Grouping, evenly
from lapwing.schema.schemas import Schema

_LEVELS: Final = (
    32,
    16,
    8,
    4,
    1,
)  # most groups of a column in a table whose columns are chosen, beside what is missing
_FINE: Final = 0.04  # of the rows that noise moves in such a table: it is as fine as that allows
_KEPT: Final = 0.3  # of the variance of its noise
_SPREAD: Final = (math.sqrt(5) - 1) / 2
_DEPENDENT: Final = 1.5 * TYPICAL  # as most grades of releases come out as they were planned
_STEEP: Final = 16.0  # logarithm of the first group's rows over the last one's, of a column of many groups


def foretold(
    schema: Schema,
    terms: Terms,
    questions: Sequence[PlannedQuestion],
    rows: ReleaseEvidence,
    tables: Sequence[tuple[str, ...]],
) -> ReleaseEvidence:
    """Return what answers to the questions of a plan would show of tables, if the real rows were such rows."""
    shown: list[ShownCounts] = []
    led, told = set(rows.led), list(rows.told)
    chosen: list[tuple[float, int]] = []
    for question in questions:
        noises = [(line.level, line.noise.sd) for line in CostLine.planned(question, terms) if line.noise is not None]
        if isinstance(question, ChosenTable):
            chosen += [(sd, question.cells) for _, sd in noises]
        elif isinstance(question, MarginalCounts):
            shown += [ShownCounts(columns=question.columns, groupings=question.groupings, sd=sd) for _, sd in noises]
        elif isinstance(question, SecondMoment):
            led |= {frozenset(pair) for pair in itertools.combinations(question.columns, 2)}
            told += [noise_of_look(question, sd, rows.drawn.total) for _, sd in noises]
        elif isinstance(question, TreeCounts):
            levels = [_level(question, level, sd) for level, sd in noises if level is not None]
            shown += [each for each in levels if each.holds_more_than_noise(rows.drawn.total)]
    # Where fewer tables are chosen than there are pairs: those that were counted before, and others spread evenly.
    ranked = enumerate(itertools.combinations(rows.cells, 2))
    order = sorted((frozenset(pair) not in rows.pairs, place * _SPREAD % 1, pair) for place, pair in ranked)
    wanted = {pair for columns in tables for pair in itertools.combinations(columns, 2)}
    shown += [
        _table(schema, pair, each, rows.drawn)
        for (*_, pair), each in zip(order, sorted(chosen), strict=False)
        if pair in wanted or len(order) <= MOST_PAIRS
    ]
    return ReleaseEvidence(drawn=rows.drawn, cells=rows.cells, shown=shown, led=frozenset(led), told=told)


def _level(tree: TreeCounts, level: int, sd: float) -> ShownCounts:
    """Return one level of a tree of tables."""
    groupings = tuple(side.grouping for side in map(Side, tree.hierarchies, tree.depths(level)))
    return ShownCounts(columns=tree.columns, groupings=groupings, sd=sd)


def _table(schema: Schema, pair: tuple[str, str], chosen: tuple[float, int], drawn: DrawnTwice) -> ShownCounts:
    """Return a table of two columns as fine as its noise and the most cells allow; at least four groups of each."""
    sd, most_cells = chosen
    domains = [schema.field(name).domain for name in pair]
    found = [
        ShownCounts(columns=pair, groupings=tuple(evenly(each, most) for each in domains), sd=sd, kept=_KEPT)
        for most in _LEVELS
    ]
    small = [each for each in found[:-1] if each.cells <= most_cells] or found[-1:]
    fine = (each for each in small if drawn.noise(drawn.counts(pair, each.groupings), sd, 1) <= _FINE)
    return next(fine, small[-1])


class Usual(DrawnTwice):
    """Rows as they are usual: of few groups about even shares, of many a few with most rows, and some dependence."""

    def __init__(self, rows: int) -> None:
        self.total, self.size = float(rows), rows

    def counts(self, columns: Sequence[str], groupings: Sequence[Grouping]) -> np.ndarray:
        """Return the contingency table, in rows."""
        found = np.array([self.total])
        for each in groupings[: len(columns)]:
            shares = np.exp(-min(_STEEP, each.groups / 2) * np.arange(each.groups) / each.groups)
            found = np.outer(found, shares / shares.sum()).reshape(-1)
        return found

    def distances(self, columns: Sequence[str], groupings: Sequence[Grouping]) -> tuple[float, float]:
        """Return how far as many rows are from others, and from those with every column shuffled by itself."""
        counts = self.counts(columns, groupings)
        again = float(np.minimum(SIZE * np.sqrt(2 * counts), 2 * counts).sum()) / 2 / self.total
        return again, math.hypot(again, _DEPENDENT * (len(columns) > 1))
