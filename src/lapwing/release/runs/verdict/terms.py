"""What makes released tables differ from the real ones, term by term, from released numbers alone.

Each term is a total variation distance, on the cells in which `lapwing.evaluate` compares, and a mean over tables of
the same number of columns: chance in the rows, as far as no noisy table holds it still; noise of single columns; noise
of tables; dependence inside the groups that were counted; dependence between columns that were not counted together.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.model.compared import TYPICAL, choose_tables, compared_cells
from lapwing.model.evidence import MeasuredTable, Side, views
from lapwing.model.model import LogLinear, ReleasedModel
from lapwing.release.runs.verdict.drawn import SIZE, DrawnTwice
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

MOST_PAIRS: Final = 300
MOST_TRIPLES: Final = 60  # tables of two columns, and of three, whose terms are averaged: a sample where there are more

_COARSE: Final = 4  # groups of a column in a table whose dependence noise might hide
_WEAKEST: Final = 0.2  # of all effects
_MOST_EFFECT: Final = 3.0  # of a logarithm
_LEAST_KEPT: Final = 0.1
_RARE: Final = 1e-9
_PAIR: Final = 2  # columns
_MOST_CELLS: Final = 2**20  # of a tree's level that is looked at


@dataclass(frozen=True, slots=True)
class MeanTerms:
    """Hold the mean terms of tables of so many columns.

    fresh: how far as many rows of the model are from it; independent: how far its rows are from these with every column
    shuffled by itself.
    """

    ways: int
    chance: float
    columns: float
    tables: float
    finer: float
    unmeasured: float
    fresh: float
    independent: float


def terms_of(
    schema: Schema, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
) -> tuple[MeanTerms, ...]:
    """Return the terms of tables of one column, of two and of three, as far as there are so many.

    rng: public. Post-processing of released numbers: costs no budget. Returns none where some column is in no table of
    noisy counts and no tree of them, so that nothing is known of its noise, and where there are no rows.
    """
    released = release_evidence(schema, answers, model, rng)
    return () if released is None else tuple(released.terms(each) for each in released.tables)


def release_evidence(
    schema: Schema, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
) -> "ReleaseEvidence | None":
    """Return what a release shows of its columns and pairs; None where `terms_of` has nothing to say of it."""
    if not model.rows:
        return None
    drawn = DrawnTwice(schema, model, rng)
    shown = [each for answer in answers for table in views(answer) for each in _shown(table, drawn)]
    released = ReleaseEvidence(
        drawn=drawn,
        cells={column.name: compared_cells(column.domain) for column in schema.columns},
        shown=shown,
        weakest=_weakest_effect(model.log_linear, drawn),
        led=led_pairs(answers, model),
        told=_readings(answers, drawn.total),
    )
    released.tables = choose_tables(schema, pairs=MOST_PAIRS, triples=MOST_TRIPLES, rng=rng)
    return released if all(released.parts.values()) else None


def learnt_pairs(answers: Sequence[Answer]) -> int:
    """Return how many pairs of columns noisy counts show together."""
    return len(_counted_pairs(answers))


def led_pairs(answers: Sequence[Answer], model: ReleasedModel) -> frozenset[frozenset[str]]:
    """Return the pairs that noisy counts do not show together, and a look does, or a prior found to be near."""
    asked = any(isinstance(answer.question, TableDistances | SecondMoment) for answer in answers)
    tables = [] if model.log_linear is None or not asked else model.log_linear.tables
    return frozenset(frozenset(table) for table in tables if len(table) == _PAIR) - _counted_pairs(answers)


def _counted_pairs(answers: Sequence[Answer]) -> frozenset[frozenset[str]]:
    """Return the pairs of columns that noisy counts show together."""
    shown = {table.columns for answer in answers for table in views(answer)}
    return frozenset(frozenset(pair) for columns in shown for pair in itertools.combinations(columns, _PAIR))


@dataclass(frozen=True, slots=True)
class KnownDistance:
    """How far the tables of one prior, or of a look, are from the real ones, and in how many groups of each column.

    off: a mean total variation, at least what noise makes of it.
    """

    off: float
    groups: Mapping[str, int]

    def reach(self, name: str, cells: int) -> float:
        """Return how far a column may be off in so many cells: noise that groups hold tells less than that in cells."""
        return self.off * math.sqrt(max(1.0, cells / self.groups[name])) if name in self.groups else 1.0


def _readings(answers: Sequence[Answer], rows: float) -> list[KnownDistance]:
    seen = [
        noise_of_look(answer.question, answer.noise.sd, rows)
        for answer in answers
        if isinstance(answer, NoisySums) and isinstance(answer.question, SecondMoment)
    ]
    return seen + [
        KnownDistance(
            max(float(answer.values[0]), answer.noise.sd) / (2 * answer.question.scale * rows),
            {name: each.groups for name, each in zip(answer.question.columns, answer.question.groupings, strict=True)},
        )
        for answer in answers
        if isinstance(answer, NoisySums) and isinstance(answer.question, TableDistances)
    ]


def noise_of_look(question: SecondMoment, sd: float, rows: float) -> KnownDistance:
    """Return how far noise moves the tables of two columns that a look at all pairs tells; of single ones nothing."""
    return KnownDistance(SIZE * sd / (2 * question.scale * rows), {})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownCounts:
    """What noisy counts show of some columns: the groupings, and the noise on a cell.

    kept: share of the noise's variance that is still in the model.
    """

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    sd: float
    kept: float = 1.0
    is_part: bool = False

    @property
    def cells(self) -> int:
        """How many there are."""
        return math.prod(each.groups for each in self.groupings)

    def holds_more_than_noise(self, rows: float) -> bool:
        """Tell whether a cell has more than noise, of so many rows."""
        return self.cells * self.sd < rows

    def part(self, columns: Sequence[str]) -> "ShownCounts":
        """Return what it shows of some of the columns."""
        by_name = dict(zip(self.columns, self.groupings, strict=True))
        groupings = tuple(by_name[name] for name in columns)
        sd = self.sd * math.sqrt(self.cells / math.prod(each.groups for each in groupings))
        is_part = len(columns) < len(self.columns)
        return replace(self, columns=tuple(columns), groupings=groupings, sd=sd, is_part=is_part)


@dataclass(frozen=True, slots=True)
class _Pair:
    """The terms of one pair of columns; either it was counted or it was not."""

    held: float = 0.0
    noise: float = 0.0
    finer: float = 0.0
    unmeasured: float = 0.0


class ReleaseEvidence:
    """What a release shows of its columns and pairs, each looked at once.

    tables: those whose terms are averaged, by their number of columns.
    """

    def __init__(
        self,
        *,
        drawn: DrawnTwice,
        cells: Mapping[str, Grouping],
        shown: Sequence[ShownCounts],
        weakest: float = 0.0,
        led: frozenset[frozenset[str]] = frozenset(),
        told: Sequence[KnownDistance] = (),
    ) -> None:
        self.drawn, self.cells, self.shown = drawn, cells, shown
        self.weakest, self.led, self.told = weakest, led, told
        self.tables: tuple[tuple[tuple[str, ...], ...], ...] = ()
        self.parts = {name: [each.part([name]) for each in shown if name in each.columns] for name in cells}
        self.pair_sd = float(np.median([each.sd for each in shown if len(each.columns) > 1] or [math.inf]))
        self.pairs = _finest_pairs(shown)
        self._columns: dict[str, tuple[float, float]] = {}
        self._pairs: dict[tuple[str, str], _Pair] = {}

    def terms(self, tables: Sequence[tuple[str, ...]]) -> MeanTerms:
        """Return the mean terms of tables of as many columns each."""
        *terms, again, independent = np.array([self._terms(each) for each in tables]).mean(axis=0).tolist()
        return MeanTerms(len(tables[0]), *[*terms, again / math.sqrt(2) * self.drawn.as_whole, independent])

    def _terms(self, columns: tuple[str, ...]) -> tuple[float, ...]:
        """Return `MeanTerms` of one table, in their order: of its columns, and of all pairs in it."""
        again, shuffled = self.drawn.distances(columns, [self.cells[name] for name in columns])
        single = [self._column(name) for name in columns]
        pairs = [self._pair(*pair) for pair in itertools.combinations(columns, 2)]
        held = max((pair.held for pair in pairs), default=single[0][0])
        return (
            math.sqrt(max(0.0, again**2 - held**2)),
            sum(noise for _, noise in single),
            math.hypot(*(pair.noise for pair in pairs)),
            math.hypot(*(pair.finer for pair in pairs)),
            math.hypot(*(pair.unmeasured for pair in pairs)),
            again,
            shuffled,
        )

    def _column(self, name: str) -> tuple[float, float]:
        """Return how far rows drawn twice are apart in the groups of a column that were counted, and what noise makes.

        All tables as fine as the compared cells are pooled. A prior's tables contain this margin, so its error is at
        most about the distance to the real tables that was measured for them.
        """
        if name not in self._columns:
            cells, parts = self.cells[name], self.parts[name]
            least = min(cells.groups, max(part.cells for part in parts))
            fine = [part for part in parts if part.cells >= least]
            kept = [part.kept for part in fine if not part.is_part] or [1.0]
            finer = max(1.0, min(part.cells for part in fine) / cells.groups)
            counts = self.drawn.counts([name], [cells])
            live = max(2, int((counts > 0).sum()))
            variance = finer * (1 - 1 / live) / sum(1 / max(part.sd, _RARE) ** 2 for part in fine)
            held, _ = self.drawn.distances([name], fine[0].groupings)
            noise = self.drawn.noise(counts, math.sqrt(variance), sum(kept) / len(kept))
            off = min((each.reach(name, cells.groups) for each in self.told), default=1.0)
            self._columns[name] = held, min(noise, off)
        return self._columns[name]

    def _pair(self, one: str, other: str) -> _Pair:
        """Return the terms of a pair."""
        if (one, other) not in self._pairs:
            table = self.pairs.get(frozenset((one, other)))
            self._pairs[one, other] = self._not_counted(one, other) if table is None else self._counted(table)
        return self._pairs[one, other]

    def _counted(self, table: ShownCounts) -> _Pair:
        """Return the terms of a pair that was counted; in cells finer than its groups some dependence is not seen."""
        held, apart = self.drawn.distances(table.columns, table.groupings)
        by_name = zip(table.columns, table.groupings, strict=True)
        finer = sum(1 / each.groups for name, each in by_name if each.groups < self.cells[name].groups)
        counts = self.drawn.counts(table.columns, table.groupings)
        noise = self.drawn.noise(counts, table.sd, table.kept)
        return _Pair(held=held, noise=noise, finer=apart * finer)

    def _not_counted(self, one: str, other: str) -> _Pair:
        """Return the dependence that may be there all the same: less than the weakest that was worth a table.

        It is also what noise would hide in a coarse table of the two; of nothing else known, as in public tables. Where
        the model follows a prior, it is no more than that was found to be off: of several the farthest, as the answers
        do not tell which one.
        """
        sides = [min(self.cells[name].groups, _COARSE) for name in (one, other)]
        hidden = SIZE / 2 * self.pair_sd * math.sqrt(math.prod(each * (each - 1) for each in sides)) / self.drawn.total
        most = max(self.weakest, hidden)
        usual = TYPICAL if math.isinf(most) else TYPICAL * most / (TYPICAL + most)
        off = max(each.off for each in self.told) if frozenset((one, other)) in self.led else 1.0
        return _Pair(unmeasured=min(usual, off))


def _shown(table: MeasuredTable, drawn: DrawnTwice) -> Iterator[ShownCounts]:
    """Return what a table of noisy counts, or a level of a tree of them whose cells hold more than noise, shows."""
    if table.threshold is not None or not table.columns:
        return
    shown = ShownCounts(columns=table.columns, groupings=_groupings(table), sd=table.law.sd)
    if table.is_plain:
        counts = drawn.counts(shown.columns, shown.groupings)
        yield replace(shown, kept=_noise_share(table.counts, counts, shown.sd, drawn.size))
    elif table.leaves is not None or shown.holds_more_than_noise(drawn.total):
        yield shown


def _groupings(table: MeasuredTable) -> tuple[Grouping, ...]:
    """Return the groups of a table; of a tree of cells those that the leaves of half of the rows reach."""
    if table.leaves is None:
        return table.groupings_of(table.columns)
    tree, (levels, _) = table.leaves.question.tree, table.leaves.leaves
    order = np.argsort(levels, kind="stable")
    rows = np.cumsum(np.maximum(table.counts[order], 0), dtype=np.float64)  # whole numbers overflow where noise is huge
    level = int(levels[order[np.searchsorted(rows, rows[-1] / 2)]])
    depths = next(each for at in range(level, -1, -1) if _runs(tree, each := tree.depths(at)) <= _MOST_CELLS)
    return tuple(side.grouping for side in map(Side, tree.hierarchies, depths))


def _runs(tree: CellTree, depths: Sequence[int]) -> int:
    """Return how many cells there are where the columns are seen so deep."""
    return math.prod(each.groups(depth) for each, depth in zip(tree.hierarchies, depths, strict=True))


def _noise_share(noisy: np.ndarray, model: np.ndarray, sd: float, size: int) -> float:
    """Return the share of the noise's variance that is in the model: a model that keeps all is where the counts are."""
    total = float(model.sum())
    chance = total**2 / size * (1 - float(np.square(model / total).sum()))  # of the rows that were drawn
    away = max(0.0, float(np.square(noisy.reshape(-1) - model).sum()) - chance)
    return max(_LEAST_KEPT, 1 - away / max(model.size * sd**2, _RARE))


def _finest_pairs(shown: Sequence[ShownCounts]) -> dict[frozenset[str], ShownCounts]:
    """Return for each pair of columns in a noisy table the finest that shows it."""
    found: dict[frozenset[str], ShownCounts] = {}
    for table in shown:
        for columns in itertools.combinations(table.columns, 2):
            pair = table.part(columns)
            if frozenset(columns) not in found or pair.cells > found[frozenset(columns)].cells:
                found[frozenset(columns)] = pair
    return found


def _weakest_effect(part: LogLinear | None, drawn: DrawnTwice) -> float:
    """Return how much the weakest of the tables that were chosen change the model: more than the next ones would."""
    effects = sorted(_effects(part, drawn)) if part is not None else []
    return float(np.mean(effects[: math.ceil(_WEAKEST * len(effects))])) if effects else 0.0


def _effects(part: LogLinear, drawn: DrawnTwice) -> Iterator[float]:
    """Return the share of the rows that each table of two columns moves, its margins left alone."""
    for columns, groupings, theta in zip(part.tables, part.groupings, part.thetas, strict=True):
        if len(columns) != _PAIR:
            continue
        shares = drawn.counts(columns, groupings).reshape(theta.shape) / drawn.total + _RARE
        effect = theta
        for axis in (1, 0) * 3:
            mean = (shares * effect).sum(axis=axis, keepdims=True) / shares.sum(axis=axis, keepdims=True)
            effect = effect - mean
        yield float((shares * np.abs(np.expm1(np.clip(effect, -_MOST_EFFECT, _MOST_EFFECT)))).sum()) / 2
