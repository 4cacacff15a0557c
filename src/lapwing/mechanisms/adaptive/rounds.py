"""What is asked of columns together: how near a prior is, or a look at all pairs; then rounds.

A round chooses the tables that the model fits worst, measures them, and fits again.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, groupby, product
from typing import Final

import numpy as np

from lapwing.engine.particles import pull_schedule, ridge_of
from lapwing.engine.tables import Cells, Factor, cells_of, coarsen, pack, sets_of, table_shape, unpack
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.room.curator import Curator
from lapwing.mechanisms.adaptive.budget import (
    FINE_NOISE,
    FOURS,
    HAND_CELLS,
    LEAST_LOOK_COLUMNS,
    MOST_LOOK_COLUMNS,
    MOST_LOOK_TABLES,
    MOST_PAIRS_AT_ONCE,
    Costs,
    are_clear,
    first_coordinates,
    half_coordinates,
    look_columns,
    next_tables,
    share_at_once,
    table_law,
)
from lapwing.mechanisms.adaptive.candidates import (
    MOST_CELLS,
    MOST_TRIPLE_COLUMNS,
    Candidates,
    Priority,
    ResolvedColumn,
    candidates_of,
    competing_triples,
    expected_noise,
    four_tables,
    measurement,
    pair_tables,
    rounded_down,
    table_sizes,
    table_weights,
    triple_tables,
)
from lapwing.mechanisms.adaptive.fit import (
    LEAST_SD,
    NO_PRIOR,
    SD_PER_ABSOLUTE,
    AnsweredTable,
    Fit,
    PriorTables,
    add_measured,
    measured_table,
    median_signal_to_noise,
    refit,
)
from lapwing.mechanisms.adaptive.one_way import OneWayTable
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.mechanisms.shared.vectors.means import (
    CELL_SHARES,
    CellSettings,
    Means,
    cell_questions,
    choose_cells,
    most_cells,
    solve_means,
)
from lapwing.mechanisms.shared.vectors.row_vectors import projector
from lapwing.mechanisms.shared.vectors.vector_cells import Totals, covariance_of, moment_question
from lapwing.schema.groupings.grouping import evenly
from lapwing.schema.schemas import Schema

PAIRS_FIRST = 2  # rounds in which only tables of two columns compete: what three do at once is seen against them
_MOST_HANDS = 60
_TIED, _ASKED = 1, 2  # through others; in one table


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """What the rounds need beside the fit: the curator, the costs, what matters more, and the column of strata."""

    curator: Curator
    costs: Costs
    priorities: tuple[Priority, ...]
    strata: int | None = None


@dataclass(frozen=True, slots=True)
class _Choice:
    """A table to measure: at what cost, and what it and its choice cost together."""

    table: Cells
    cost: Budget
    spent: Fraction


def rounds(asking: Asking, fit: Fit, left: Budget, rng: np.random.Generator) -> Fit:
    """Choose tables, measure them and fit, until the budget is spent."""
    costs, tables = asking.costs, asking.costs.tables
    pairs = _pairs(asking, fit, is_mixed=costs.most_cells == MOST_CELLS)
    fours = four_tables(fit.columns) if costs.fours.amount else pairs[:0]
    last = costs.fours if len(fours) else costs.fours * 0
    left = left - last
    for number in range(costs.rounds if left.amount and len(pairs) else 0):
        if number:
            fit = refit(fit, rng, pulls=pull_schedule(2, 1, start=0.2) if number > 1 else pull_schedule(rest=1))
        chosen = _choose_every_pair(asking, fit, left) if not number else []
        if not chosen:
            is_late = number >= PAIRS_FIRST or costs.rounds <= PAIRS_FIRST
            competing = _with_triples(asking, fit, pairs) if is_late else pairs
            chosen = _choose(
                asking, fit, _deal_hands(fit, competing, rng), left, tables=tables, rounds=costs.rounds - number
            )
        left = Budget(left.notion, left.amount - sum((each.spent for each in chosen), Fraction(0)))
        new = _measure(asking, fit, chosen)
        tables = next_tables(tables, median_signal_to_noise(fit, new), costs)
        fit = add_measured(fit, new)
    if last.amount:
        fit = refit(fit, rng, pulls=pull_schedule(2, 1, start=0.2))
        chosen = _choose(asking, fit, _deal_hands(fit, fours, rng), last, tables=FOURS, rounds=1)
        fit = add_measured(fit, _measure(asking, fit, chosen))
    return refit(fit, rng, pulls=pull_schedule(rest=1)) if costs.rounds == 1 and fit.measured else fit


def _pairs(asking: Asking, fit: Fit, *, is_mixed: bool = False) -> np.ndarray:
    """Return the tables of two columns, in every stratum where there are strata."""
    return pair_tables(fit.columns, asking.costs.most_pair_cells, is_mixed=is_mixed, strata=asking.strata)


def _measure(asking: Asking, fit: Fit, chosen: Sequence[_Choice]) -> list[AnsweredTable]:
    """Ask for tables that were chosen."""
    answers = asking.curator.ask(*(measurement(fit.columns, each.table, each.cost) for each in chosen))
    return [measured_table(fit, each.table, answer) for each, answer in zip(chosen, answers, strict=True)]


def _with_triples(asking: Asking, fit: Fit, pairs: np.ndarray) -> np.ndarray:
    """Return the tables of two columns and those of three columns that compete now."""
    known = [_columns(each.table) for each in fit.measured]
    known = [each if len(each) == 2 else tuple([place for place in each if place != asking.strata]) for each in known]
    sets = competing_triples(len(fit.columns), [each for each in known if len(each) == 2])
    sets = [each for each in sets if asking.strata not in each]  # these are pairs in strata
    triples = triple_tables(fit.columns, sets, asking.costs.most_cells)
    if not len(triples):
        return pairs
    lacking = triples.shape[1] - pairs.shape[1]
    return np.concatenate((np.pad(pairs, ((0, 0), (0, lacking), (0, 0)), constant_values=-1), triples))


def _choose_every_pair(asking: Asking, fit: Fit, left: Budget) -> list[_Choice]:
    """Return all pairs of columns, each as fine as its noise allows, where none would drown; otherwise nothing.

    They get half of what is left, as long as there are rounds to come: which tables are worth more is chosen then.
    Those that matter more get four times as much as others.
    """
    pairs = _pairs(asking, fit)
    if not 0 < np.max(sets_of(pairs), initial=-1) + 1 <= MOST_PAIRS_AT_ONCE:
        return []
    levels = [*_by_columns(pairs), *_priority_triples(asking, fit)]
    weights = table_weights(pack([each[0] for each in levels]), asking.priorities)
    unit = rounded_down(left.amount * share_at_once(asking.costs.rounds) / int(weights.sum()))
    sd = table_law(Budget(left.notion, unit), asking.curator.terms).sd
    found = expected_noise(fit.columns, pack([table for each in levels for table in each]), fit.zeros)
    noise_of = np.split(found, np.cumsum([len(each) for each in levels])[:-1])
    if not are_clear(np.array([noise[-1] for noise in noise_of]), fit.total, sd):
        return []
    moved_rows = [noise * sd / (2 * fit.total) for noise in noise_of]
    tables = [
        each[min(int(np.count_nonzero(noise > FINE_NOISE)), len(each) - 1)]
        for each, noise in zip(levels, moved_rows, strict=True)
    ]
    costs = [Budget(left.notion, unit * int(weight)) for weight in weights]
    if asking.costs.rounds == 1:
        costs[-1] = Budget(left.notion, left.amount - unit * int(weights[:-1].sum()))
    return [_Choice(table, cost, cost.amount) for table, cost in zip(tables, costs, strict=True)]


def _priority_triples(asking: Asking, fit: Fit) -> list[list[Cells]]:
    """Return the tables of three columns that were named, which are asked for with the pairs."""
    named = [tuple(sorted(each.columns)) for each in asking.priorities if each.is_table and len(each.columns) == 3]
    return _by_columns(triple_tables(fit.columns, named, asking.costs.most_cells))


def _deal_hands(fit: Fit, tables: np.ndarray, rng: np.random.Generator) -> list[Candidates]:
    """Return the candidates of a round: of many columns, in random parts ("hands"), those of the same columns together.

    A choice compares the tables of one part only, as to compare all takes time; the best are spread over the parts.
    """
    if len(fit.columns) <= MOST_TRIPLE_COLUMNS:
        return [candidates_of(fit.columns, tables, fit.zeros)]
    hands = min(_MOST_HANDS, -(-int(table_sizes(fit.columns, tables).sum()) // HAND_CELLS))
    sets = sets_of(tables)
    order = rng.permutation(int(sets[-1]) + 1)
    hand_of = np.empty_like(order)
    hand_of[order] = np.arange(order.size) % hands
    return [
        candidates_of(fit.columns, tables[hand_of[sets] == hand], fit.zeros) for hand in range(min(hands, order.size))
    ]


def _choose(
    asking: Asking, fit: Fit, hands: Sequence[Candidates], left: Budget, *, tables: int, rounds: int
) -> list[_Choice]:
    """Choose the tables of one round; the last of the last round gets what is left.

    The model does not learn in between, so that no two columns are looked at together twice while others are left.
    """
    looked = [_Hand(asking, candidates, fit) for candidates in hands]
    most = min(tables, sum(each.sets for each in looked))
    step = Budget(left.notion, rounded_down(left.amount / (rounds * most)))
    taken = np.zeros((len(fit.columns),) * 2, dtype=np.int8)
    found: list[_Choice] = []
    while len(found) < most:
        turn = [each for each in looked if each.sets > each.chosen][: most - len(found)]
        is_last = rounds == 1 and len(found) + len(turn) == most
        costs = [step] * len(turn)
        if is_last:
            spent = sum((each.spent for each in found), step.amount * (len(turn) - 1))
            costs[-1] = Budget(left.notion, left.amount - spent)
        turns = len(found) // len(hands)
        questions = [hand.question(cost, taken, turns) for hand, cost in zip(turn, costs, strict=True)]
        answers = asking.curator.ask(*questions)
        for hand, cost, question, answer in zip(turn, costs, questions, answers, strict=True):
            rest = cost - question.cost
            is_rest = is_last and hand is turn[-1]
            paid = rest if is_rest else Budget(rest.notion, rounded_down(rest.amount))
            found.append(_Choice(hand.take(answer.choice, taken), paid, question.cost.amount + paid.amount))
    return found


class _Hand:
    """Candidates that are looked at together, and which of them are still to be chosen."""

    def __init__(self, asking: Asking, candidates: Candidates, fit: Fit) -> None:
        self._asking, self._candidates = asking, candidates
        self._estimates = candidates.estimates(fit.counts(candidates.tables))
        self._set = sets_of(candidates.tables)
        columns = candidates.tables[np.flatnonzero(np.diff(self._set, prepend=-1)), :, 0]
        self._pairs = _pairs_of(_without(columns, asking.strata))
        self._weights = table_weights(candidates.tables, asking.priorities)
        self._is_new = np.ones(len(self._pairs), dtype=bool)
        self.sets, self.chosen = len(self._pairs), 0

    def question(self, cost: Budget, taken: np.ndarray, turns: int) -> SelectWorst:
        """Return the question which of them to measure: not two columns that were looked at together, if possible.

        Tables that matter w times as much as others have w turns of w + 2 for themselves; turns: those that are over.
        """
        asking = self._asking
        worst = taken[self._pairs[:, :, 0], self._pairs[:, :, 1]].max(axis=1)
        least = worst[self._is_new].min()
        if least == _ASKED:
            taken[:] = 0
        is_open = (self._is_new & (worst == least))[self._set]
        share, all_turns = self._weights, self._weights + 2
        has_turn = (share > 1) & (-(-turns * share // all_turns) < -(-(turns + 1) * share // all_turns))
        is_preferred = is_open & has_turn
        is_open = is_preferred if is_preferred.any() else is_open
        law = table_law(cost * (1 - asking.costs.selection), asking.curator.terms)
        return self._candidates.question(self._estimates, law.sd, cost * asking.costs.selection, ~is_open)

    def take(self, choice: int, taken: np.ndarray) -> Cells:
        """Return the chosen table; where there is one round, its columns are tied to all that theirs are tied to."""
        self.chosen += 1
        self._is_new[self._set[choice]] = False
        one, two = self._pairs[self._set[choice]].T
        if self._asking.costs.rounds == 1:
            ends = np.union1d(one, two)
            tied = np.union1d(ends, np.flatnonzero(taken[ends].any(axis=0)))
            taken[np.ix_(tied, tied)] = np.maximum(taken[np.ix_(tied, tied)], _TIED)
        taken[one, two] = taken[two, one] = _ASKED
        return unpack(self._candidates.tables[[choice]])[0]


def _pairs_of(columns: np.ndarray) -> np.ndarray:
    """Return the pairs of columns of tables, int64 (tables, pairs, 2); of two columns, the same three times."""
    pairs = columns[:, list(combinations(range(columns.shape[1]), 2))]
    return np.where((pairs < 0).any(axis=2, keepdims=True), pairs[:, :1], pairs)


def _without(columns: np.ndarray, strata: int | None) -> np.ndarray:
    """Return the columns of tables without that of strata, where two others are left."""
    is_own = (columns == strata) & (np.count_nonzero(columns >= 0, axis=1, keepdims=True) > 2)
    return np.take_along_axis(np.where(is_own, -1, columns), np.argsort(is_own, axis=1, kind="stable"), axis=1)


def _columns(table: Cells) -> tuple[int, ...]:
    return tuple([column for column, _ in table])


def _by_columns(tables: np.ndarray) -> list[list[Cells]]:
    """Return tables over the same columns together, in their order."""
    return [list(each) for _, each in groupby(unpack(tables), _columns)]


# -- A prior: rows that were published before. Its columns steady the one-way tables; its tables of two columns pull
# the model as far as one question finds them near the private ones, until a pair is measured.
PRIOR_SHARE: Final = Fraction(1, 50)
"""Part of the budget that asks how near a prior is, for each of them."""
MOST_PRIOR_TABLES: Final = 400  # of a prior, the strongest: each is felt in every sweep
MOST_PRIOR_CELLS: Final = 400  # of one of them
NEAR: Final = 0.75
"""A prior pulls if its tables are nearer to the private ones than this part of their own distance from independence."""
_INDEPENDENT_PART: Final = 0.005  # part of a prior's table that is taken to be independent: no cell is ruled out
_DISTANCE_BITS: Final = 4  # expected counts in sixteenths of a row
_LEAST_DISTANCE: Final = 0.002  # distance of a prior, in rows per row: none is exact
_MOST_SHIFT: Final = 2.0  # standard deviations by which a noisy count moves towards the prior at most
_EVEN_ERROR: Final = 0.1  # part of what a prior may be wrong by that is spread over all values alike
_RAKING_ROUNDS: Final = 30


@dataclass(frozen=True, slots=True, eq=False)
class _PriorTable:
    """A prior's table of two columns, in records: as it is, and as independent columns would have it."""

    table: Cells
    counts: np.ndarray
    independent: np.ndarray


def shrink_towards_prior(
    tables: Sequence[OneWayTable], names: Sequence[str], priors: Sequence[PublicRows], total: float
) -> tuple[OneWayTable, ...]:
    """Return one-way tables drawn towards those of the nearest prior, as far as noise explains their differences.

    names: of their columns. Each count is the mean of both, weighted by the inverse of their variances. What the prior
    may be wrong by is in proportion to its counts: by what its difference has in this column beyond what noise often
    makes, or in typical ones beyond what it makes on average, whichever is more, and at least by what the number of its
    rows leaves open. No count moves by more than two standard deviations of its noise, so that a prior that is far off
    costs little.
    """
    named = dict(zip(names, tables, strict=True))
    prior = min(priors, key=lambda each: _typical_excess(named, each, total))
    least = max(_typical_excess(named, prior, total), total / prior.rows)
    found = {
        name: _shrunk_table(table, prior.codes[name], least, total)
        for name, table in named.items()
        if name in prior.codes
    }
    return tuple((named | found).values())


def _typical_excess(named: Mapping[str, OneWayTable], prior: PublicRows, total: float) -> float:
    """Return what a prior's columns typically differ by beyond the noise: may be below 0.

    Without the fifths that changed most and least: a few columns that changed say nothing of the others.
    """
    found = sorted(_excess(named[name], codes, total) for name, codes in prior.codes.items())
    return float(np.mean(found[len(found) // 5 : -(len(found) // 5) or None]))


def _noisy_counts(table: OneWayTable) -> np.ndarray:
    return table.counts if table.masses is None else table.masses


def _expected_one_way(table: OneWayTable, codes: np.ndarray, total: float) -> np.ndarray:
    """Return a prior's counts in the cells of a one-way table, of as many records."""
    counted = np.bincount(table.grouping.apply(codes), minlength=table.grouping.groups)[: _noisy_counts(table).size]
    return counted * (total / max(1, int(counted.sum())))


def _excess(table: OneWayTable, codes: np.ndarray, total: float) -> float:
    """Return the squared difference from a prior's counts beyond the noise, for each record: may be below 0."""
    gap = _noisy_counts(table) - _expected_one_way(table, codes, total)
    return float((np.square(gap) - max(table.sd, LEAST_SD) ** 2).sum()) / total


def _noise_excess(table: OneWayTable, total: float) -> float:
    """Return the standard deviation of what noise alone makes of `_excess`."""
    return max(table.sd, LEAST_SD) ** 2 * float(np.sqrt(2 * _noisy_counts(table).size)) / total


def _shrunk_table(table: OneWayTable, codes: np.ndarray, least: float, total: float) -> OneWayTable:
    """Return a one-way table drawn towards a prior's; least: variance of the prior's counts, for each record."""
    noisy, variance = _noisy_counts(table), max(table.sd, LEAST_SD) ** 2
    expected, error = (
        _expected_one_way(table, codes, total),
        max(_excess(table, codes, total) - _noise_excess(table, total), least),
    )
    wrong = error * ((1 - _EVEN_ERROR) * expected + _EVEN_ERROR * total / noisy.size)
    weight = wrong / (wrong + variance)
    shift = np.clip((1 - weight) * (expected - noisy), -_MOST_SHIFT * variance**0.5, _MOST_SHIFT * variance**0.5)
    steadied, sd = noisy + shift, table.sd * float(np.sqrt(weight.mean()))
    if table.masses is None:
        return replace(table, counts=steadied, sd=sd)
    masses = np.maximum(steadied, 0.0)
    masses *= total / max(float(masses.sum()), _LEAST_DISTANCE)
    return replace(table, masses=masses, counts=np.pad(masses, (0, table.counts.size - masses.size)), sd=sd)


def measure_prior_distances(
    curator: Curator, columns: Sequence[ResolvedColumn], priors: Sequence[PublicRows], total: float, cost: Budget
) -> PriorTables:
    """Ask how near each prior is, and return the tables of the nearest, with the pull that its distance asks for."""
    told = [list(_strongest(_prior_tables(columns, prior, total))) for prior in priors]
    askable = [(prior, tables) for prior, tables in zip(priors, told, strict=True) if tables]
    answers = curator.ask(*(_question(columns, tables, cost) for _, tables in askable))
    near: list[tuple[float, int, float, PublicRows, list[_PriorTable]]] = []
    for (prior, tables), answer in zip(askable, answers, strict=True):
        unit = answer.question.scale * total
        distance = max(float(answer.values[0]) / unit, answer.noise.sd / unit, _LEAST_DISTANCE)
        own = float(np.mean([np.abs(each.counts - each.independent).sum() for each in tables])) / total
        if distance < NEAR * own:
            near.append((distance / own, len(near), distance, prior, tables))
    if not near:
        return NO_PRIOR
    _, _, distance, prior, tables = min(near)
    factors = tuple(_prior_pull(columns, each, distance, prior.rows, total) for each in tables)
    return PriorTables(factors, distance * total)


def planned_prior_question(schema: Schema, cost: Budget) -> TableDistances:
    """Return what stands in a plan for the question how near a prior is: its groups depend on noisy tables."""
    chosen = schema.columns[:2]
    return TableDistances(
        columns=tuple(column.name for column in chosen),
        groupings=tuple(evenly(column.domain, 2) for column in chosen),
        tables=((0, 1),),
        cells=None,
        expected=None,
        bits=_DISTANCE_BITS,
        cost=cost,
    )


def reserve_prior_budget(budget: Budget, priors: int) -> tuple[Budget, Budget]:
    """Return what the question about one prior costs, and what is left for the rest of the release."""
    cost = Budget(budget.notion, rounded_down(budget.amount * PRIOR_SHARE))
    return cost, Budget(budget.notion, budget.amount - cost.amount * priors)


def _prior_tables(columns: Sequence[ResolvedColumn], prior: PublicRows, total: float) -> list[_PriorTable]:
    """Return a prior's tables of two columns, with the margins that this release has."""
    axes = [column.axis for column in columns]
    groups, has = _prior_groups(columns, prior)
    found = []
    for one, two in combinations(np.flatnonzero(has).tolist(), 2):
        table = _finest_pair(columns, one, two)
        if table is None or not groups.shape[1]:
            continue
        shape = table_shape(axes, table)
        margins = [np.bincount(axes[at].levels[level], axes[at].base, axes[at].sizes[level]) for at, level in table]
        first, second = (margin * (total / margin.sum()) for margin in margins)
        independent = np.outer(first, second) / total
        counts = np.bincount(cells_of(axes, groups, table), minlength=independent.size).reshape(shape)
        mixed = counts * (total * (1 - _INDEPENDENT_PART) / groups.shape[1]) + _INDEPENDENT_PART * independent
        found.append(_PriorTable(table, _rake(mixed, first, second).reshape(-1), independent.reshape(-1)))
    return found


def _prior_groups(columns: Sequence[ResolvedColumn], prior: PublicRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the finest groups of the prior's rows without misfits, uint16 (d, rows), and which columns it has."""
    groups = np.zeros((len(columns), prior.rows), dtype=np.uint16)
    has, fits = np.zeros(len(columns), dtype=bool), np.ones(prior.rows, dtype=bool)
    for place, column in enumerate(columns):
        if column.name in prior.codes:
            has[place] = True
            groups[place] = column.groupings[0].apply(prior.codes[column.name])
            fits &= groups[place] < column.axis.base.size
    return groups[:, fits], has


def _finest_pair(columns: Sequence[ResolvedColumn], one: int, two: int) -> Cells | None:
    """Return the table of two columns with most cells that is small enough."""
    found: Cells | None = None
    most = 0
    for first, second in product(range(len(columns[one].groupings)), range(len(columns[two].groupings))):
        cells = columns[one].axis.sizes[first] * columns[two].axis.sizes[second]
        if most < cells <= MOST_PRIOR_CELLS:
            found, most = ((one, first), (two, second)), cells
    return found


def _rake(counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return a table with other margins and the same odds (Deming and Stephan 1940)."""
    for _ in range(_RAKING_ROUNDS):
        counts = counts * (first / np.maximum(counts.sum(axis=1), _LEAST_DISTANCE))[:, None]
        counts = counts * (second / np.maximum(counts.sum(axis=0), _LEAST_DISTANCE))
    return counts


def _question(columns: Sequence[ResolvedColumn], tables: Sequence[_PriorTable], cost: Budget) -> TableDistances:
    """Return the question for the distance of a prior's tables, each column at the coarsest level that one has."""
    coarsest: dict[int, int] = {}
    for at, level in (pair for each in tables for pair in each.table):
        coarsest[at] = max(level, coarsest.get(at, 0))
    places = {at: place for place, at in enumerate(sorted(coarsest))}
    expected = [_expected_counts(columns, each, coarsest) for each in tables]
    return TableDistances(
        columns=tuple(columns[at].name for at in places),
        groupings=tuple(columns[at].groupings[coarsest[at]] for at in places),
        tables=tuple(tuple(places[at] for at, _ in each.table) for each in tables),
        cells=tuple(np.arange(each.size) for each in expected),
        expected=tuple(expected),
        bits=_DISTANCE_BITS,
        cost=cost,
    )


def _expected_counts(columns: Sequence[ResolvedColumn], each: _PriorTable, coarsest: Mapping[int, int]) -> np.ndarray:
    """Return the expected counts of a table at coarser levels, in whole sixteenths, with no row among misfits."""
    axes = [column.axis for column in columns]
    table = tuple((at, coarsest[at]) for at, _ in each.table)
    counts = coarsen(axes, each.table, each.counts, table).reshape(table_shape(axes, table))
    sizes = [columns[at].groupings[coarsest[at]].groups for at, _ in each.table]
    whole = np.zeros(sizes, dtype=np.int64)
    whole[: counts.shape[0], : counts.shape[1]] = np.rint(counts * 2**_DISTANCE_BITS)
    return whole.reshape(-1)


def _strongest(tables: Sequence[_PriorTable]) -> Iterator[_PriorTable]:
    """Yield the tables that are farthest from independence, in their order."""
    strength = [-float(np.abs(each.counts - each.independent).sum()) for each in tables]
    for place in sorted(np.argsort(strength, kind="stable")[:MOST_PRIOR_TABLES].tolist()):
        yield tables[place]


def _prior_pull(
    columns: Sequence[ResolvedColumn], each: _PriorTable, distance: float, rows: int, total: float
) -> Factor:
    """Return a table as a target that gives way as what it may be wrong by asks for."""
    cells = each.counts.size
    wrong = np.hypot(SD_PER_ABSOLUTE * distance * total / cells, total / np.sqrt(rows * cells))
    axes = [column.axis for column in columns]
    ridge = ridge_of(axes, each.table, each.counts, float(wrong))
    return Factor(table=each.table, theta=np.zeros(cells), target=each.counts, ridge=ridge)


# -- A look at all pairs of columns in halves, where tables of them would drown in noise: one number a pair, then the
# means of cells along the directions in which columns vary together. What they say pulls as tables of a prior do.
_CELL_SETTINGS = CellSettings()


def look_at_pairs(curator: Curator, columns: Sequence[ResolvedColumn], cost: Budget, records: float) -> PriorTables:
    """Look at the columns whose halves are most even, and return tables that pull.

    Where no direction stands out of the noise there is one cell: then the halves alone are counted once more.
    """
    halves = _half_levels(columns)
    known = {place: _half_shares(columns[place], level) for place, level in halves.items()}
    order = sorted(known, key=lambda place: abs(known[place][0] - known[place][1]))
    seen = order[:MOST_LOOK_COLUMNS]
    wide = half_coordinates([(columns[place].name, columns[place].groupings[halves[place]]) for place in seen])
    # Counts that are lower than was expected leave a look at the fewest columns: it is paid for.
    chosen = order[: max(LEAST_LOOK_COLUMNS, look_columns(wide, cost, records, curator.terms))]
    coordinates = first_coordinates(wide, len(chosen))
    sums = np.array([known[place][1] - known[place][0] for place in chosen]) * records
    deviations = np.array([math.sqrt(2) * columns[place].sd for place in chosen])
    totals = Totals(records, 0.0, sums, deviations)
    costs = cost.split(CELL_SHARES)
    (moment,) = curator.ask(moment_question(coordinates, costs[0]))
    most = most_cells(coordinates, costs, records, curator.terms, _CELL_SETTINGS)
    projection = choose_cells(coordinates, moment, totals, most, _CELL_SETTINGS)
    counts, of_cells = curator.ask(*cell_questions(coordinates, projection, costs))
    means = solve_means(moment, counts, of_cells, totals, settings=_CELL_SETTINGS, project=projector(coordinates))
    directions = 0 if projection is None else projection.count
    sd = covariance_of(moment, totals).sd * math.sqrt(2 * max(1, directions) / len(chosen))
    return _pair_tables_of(columns, [(place, halves[place]) for place in chosen], means, sd * records)


def _half_levels(columns: Sequence[ResolvedColumn]) -> dict[int, int]:
    """Return the level of each column that has two groups of regular values."""
    levels = {place: column.coarsest + int(column.has_halves) for place, column in enumerate(columns)}
    return {place: level for place, level in levels.items() if columns[place].groupings[level].regular == 2}


def _half_shares(column: ResolvedColumn, level: int) -> np.ndarray:
    """Return the shares of the groups of a level."""
    masses = np.bincount(column.axis.levels[level], column.axis.base, column.axis.sizes[level])
    return np.asarray(masses / masses.sum())


def _pair_tables_of(
    columns: Sequence[ResolvedColumn], halves: Sequence[tuple[int, int]], means: Means, sd: float
) -> PriorTables:
    """Return the tables of two columns that weighted means of rows stand for.

    sd: of the noise that is left in the sum of a product, in records: a quarter of it in each cell.
    """
    axes = [column.axis for column in columns]
    above = (1 + means.means) / 2
    mean = means.weights @ means.means
    covariance = np.abs((means.means * means.weights[:, None]).T @ means.means - np.outer(mean, mean))
    pairs = list(combinations(np.argsort([place for place, _ in halves]).tolist(), 2))
    strongest = sorted(pairs, key=lambda pair: -covariance[pair])[:MOST_LOOK_TABLES]
    factors = []
    for one, two in sorted(strongest):
        table: Cells = (halves[one], halves[two])
        joint = np.empty((2, 2))
        joint[1, 1] = means.weights @ (above[:, one] * above[:, two])
        joint[1, 0] = means.weights @ above[:, one] - joint[1, 1]
        joint[0, 1] = means.weights @ above[:, two] - joint[1, 1]
        joint[0, 0] = 1 - joint.reshape(-1)[1:].sum()
        whole = np.outer(*[_half_shares(columns[place], level) for place, level in table])
        whole[:2, :2] = joint * whole[:2, :2].sum()
        counts = whole.reshape(-1) * means.rows
        ridge = ridge_of(axes, table, counts, sd / 4)
        factors.append(Factor(table=table, theta=np.zeros(counts.size), target=counts, ridge=ridge))
    return PriorTables(tuple(factors), sd)
