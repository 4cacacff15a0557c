"""What the noisy answers of a release show of its columns and pairs: in which groups, with how much noise."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.model.evidence import AskedTable, MeasuredTable, Side, views
from lapwing.model.model import ReleasedModel
from lapwing.release.queries import public_counts
from lapwing.release.runs.verdict.drawn import ModelDraws
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, identity
from lapwing.schema.public_tables.cells import coded_tables
from lapwing.schema.schemas import Schema

Pair = frozenset[str]

_LEAST_KEPT: Final = 0.1
_RARE: Final = 1e-9
_PAIR: Final = 2  # columns
_MOST_CELLS: Final = 2**20  # of a tree's level that is looked at
_SIZE: Final = math.sqrt(2 / math.pi)  # mean size of Gaussian noise of deviation 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownCounts:
    """What counts show of some columns: the groupings, and the noise on a cell; none on public ones.

    kept: share of the noise's variance that is still in the model. A fit has taken signal with the rest: the error is
    between what is kept and all of it, and taken to be their geometric mean.
    """

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    sd: float
    kept: float = 1.0

    @property
    def left(self) -> float:
        """Deviation of the error that is left in the model's cells."""
        return float(self.sd * self.kept**0.25)

    @property
    def cells(self) -> int:
        """How many there are."""
        return math.prod(each.groups for each in self.groupings)

    def part(self, columns: Sequence[str]) -> "ShownCounts":
        """Return what it shows of some of the columns."""
        by_name = dict(zip(self.columns, self.groupings, strict=True))
        groupings = tuple(by_name[name] for name in columns)
        sd = self.sd * math.sqrt(self.cells / math.prod(each.groups for each in groupings))
        return replace(self, columns=tuple(columns), groupings=groupings, sd=sd)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ReleaseEvidence:
    """What a release shows.

    columns: all that shows each of them; pairs: the finest table of each pair that was counted; led: pairs that noisy
    counts do not show, and how far those are off at most that a look or a near prior told of.
    """

    drawn: ModelDraws
    columns: Mapping[str, tuple[ShownCounts, ...]]
    pairs: Mapping[Pair, ShownCounts]
    led: Mapping[Pair, float]


def release_evidence(
    schema: Schema, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
) -> ReleaseEvidence | None:
    """Return what a release shows of its columns and pairs.

    rng: public. Post-processing of released numbers: costs no budget. None where some column is in no table of public
    or noisy counts and no tree of them, so that nothing is known of its noise, and where there are no rows.
    """
    if not model.rows:
        return None
    drawn = ModelDraws(schema, model, rng)
    noisy = [each for answer in answers for table in views(answer) for each in _shown(table, drawn)]
    shown = [*_public(schema), *noisy]
    names = [field.name for field in schema.columns]
    columns = {name: tuple(each.part([name]) for each in shown if name in each.columns) for name in names}
    off = _off(answers, drawn.total)
    learnt = learnt_pairs(answers, schema)
    led = dict.fromkeys(led_pairs(answers, model, schema), off)
    found = ReleaseEvidence(drawn=drawn, columns=columns, pairs=_finest_pairs(shown, learnt), led=led)
    return found if all(columns.values()) else None


def varying(schema: Schema) -> list[Field]:
    """Return the columns that may have several values: others are related to none."""
    domains = {field: field.domain for field in schema.columns}
    return [field for field, each in domains.items() if each.values + each.specials + each.missing > 1]


def learnt_pairs(answers: Sequence[Answer], schema: Schema) -> frozenset[Pair]:
    """Return the pairs of columns that noisy counts, or public ones, show together."""
    noisy = {table.columns for answer in answers for table in views(answer)}
    return _pairs(noisy | {each.columns for each in _public(schema)}, schema)


def led_pairs(answers: Sequence[Answer], model: ReleasedModel, schema: Schema) -> frozenset[Pair]:
    """Return the pairs that no counts show together, and a look does, or a prior found to be near."""
    asked = any(isinstance(answer.question, TableDistances | SecondMoment) for answer in answers)
    tables = [] if model.log_linear is None or not asked else model.log_linear.tables
    return _pairs((table for table in tables if len(table) == _PAIR), schema) - learnt_pairs(answers, schema)


def _pairs(tables: Iterable[tuple[str, ...]], schema: Schema) -> frozenset[Pair]:
    """Return the pairs of columns in some tables that may be related."""
    names = {field.name for field in varying(schema)}
    pairs = (frozenset(pair) for columns in tables for pair in itertools.combinations(columns, _PAIR))
    return frozenset(pair for pair in pairs if pair <= names)


def _public(schema: Schema) -> Iterator[ShownCounts]:
    """Return what is public of columns and pairs: the only value of a column, and the tables that rows hold."""
    for field in schema.columns:
        if field not in varying(schema):
            yield ShownCounts(columns=(field.name,), groupings=(identity(field.domain),), sd=0.0)
    for table in coded_tables(schema):
        for columns in itertools.chain(*(itertools.combinations(table.columns, ways) for ways in (1, _PAIR))):
            groupings = tuple(map(table.grouping_of, columns))
            if public_counts(schema, AskedTable(columns, groupings))[1].all():
                yield ShownCounts(columns=columns, groupings=groupings, sd=0.0)


def _off(answers: Sequence[Answer], rows: float) -> float:
    """Return how far tables of two columns are off that a look or a prior told of: the farthest, at least its noise."""
    sums = [each for each in answers if isinstance(each, NoisySums)]
    looks = [
        _SIZE * each.noise.sd / (2 * each.question.scale * rows)
        for each in sums
        if isinstance(each.question, SecondMoment)
    ]
    priors = [
        max(float(each.values[0]), each.noise.sd) / (2 * each.question.scale * rows)
        for each in sums
        if isinstance(each.question, TableDistances)
    ]
    return max((*looks, *priors), default=0.0)


def _shown(table: MeasuredTable, drawn: ModelDraws) -> Iterator[ShownCounts]:
    """Return what a table of noisy counts, or a level of a tree of them whose cells hold more than noise, shows."""
    if table.threshold is not None or not table.columns:
        return
    shown = ShownCounts(columns=table.columns, groupings=_groupings(table), sd=table.law.sd)
    if table.is_plain:
        counts = drawn.counts(shown.columns, shown.groupings)
        yield replace(shown, kept=_noise_share(table.counts, counts, shown.sd, drawn.size))
    elif table.leaves is not None or shown.cells * shown.sd < drawn.total:
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


def _finest_pairs(shown: Sequence[ShownCounts], learnt: frozenset[Pair]) -> dict[Pair, ShownCounts]:
    """Return for each pair of columns the finest table that shows it."""
    found: dict[Pair, ShownCounts] = {}
    for table in shown:
        for columns in itertools.combinations(table.columns, _PAIR):
            pair = table.part(columns)
            key = frozenset(columns)
            if key in learnt and (key not in found or pair.cells > found[key].cells):
                found[key] = pair
    return found
