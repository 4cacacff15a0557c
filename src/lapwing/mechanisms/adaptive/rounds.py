"""Rounds: choose tables that the model fits worst, measure them, fit again."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby

import numpy as np

from lapwing.engine.particles import heated
from lapwing.engine.tables import Cells, packed, sets_of, unpacked
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.room.curator import Curator
from lapwing.mechanisms.adaptive.candidates import (
    MOST_CELLS,
    MOST_TRIPLE_COLUMNS,
    Candidates,
    candidates_of,
    cells_of,
    competing_triples,
    expected_noise,
    four_tables,
    measurement,
    pair_tables,
    preferred_tables,
    rounded_down,
    triple_tables,
)
from lapwing.mechanisms.adaptive.columns import ResolvedColumn
from lapwing.mechanisms.adaptive.costs import (
    FINE_NOISE,
    FOURS,
    MOST_PAIRS_AT_ONCE,
    Costs,
    are_clear,
    next_tables,
    share_at_once,
    table_law,
)
from lapwing.mechanisms.adaptive.fit import Fit, Measured, gain, measured, moved, with_measured

Wanted = tuple[frozenset[int], tuple[frozenset[int], ...]]  # columns, and tables, that matter more, by position
PAIRS_FIRST = 2  # rounds in which only tables of two columns compete: what three do at once is seen against them
HAND_CELLS = 500_000  # cells of the candidates that are looked at together, where there are more than 30 columns
_MOST_HANDS = 60
_TIED, _ASKED = 1, 2  # through others; in one table
_WANTED_WEIGHT = 4  # of pairs that matter more, where all are asked for at once
_FREE = 3  # every third table of a round is chosen among all, also where some matter more


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """What the rounds need: the curator, the columns, the costs, and what matters more."""

    curator: Curator
    columns: tuple[ResolvedColumn, ...]
    costs: Costs
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A table to measure: at what cost, and what it and its choice cost together."""

    table: Cells
    cost: Budget
    spent: Fraction


def rounds(asking: Asking, fit: Fit, left: Budget, rng: np.random.Generator) -> Fit:
    """Choose tables, measure them and fit, until the budget is spent."""
    costs, tables = asking.costs, asking.costs.tables
    pairs = pair_tables(asking.columns, costs.most_cells, is_mixed=costs.most_cells == MOST_CELLS)
    fours = four_tables(asking.columns) if costs.fours.amount else pairs[:0]
    last = costs.fours if len(fours) else costs.fours * 0
    left = left - last
    for number in range(costs.rounds if left.amount and len(pairs) else 0):
        if number:
            fit = moved(fit, rng, pulls=heated(2, 1, start=0.2) if number > 1 else heated(rest=1))
        chosen = _every_pair(asking, fit, left) if not number else []
        if not chosen:
            is_late = number >= PAIRS_FIRST or costs.rounds <= PAIRS_FIRST
            competing = _with_triples(asking, fit, pairs) if is_late else pairs
            chosen = _chosen(
                asking, fit, _dealt(fit, competing, rng), left, tables=tables, rounds=costs.rounds - number
            )
        left = Budget(left.notion, left.amount - sum((each.spent for each in chosen), Fraction(0)))
        new = _counted(asking, fit, chosen)
        tables = next_tables(tables, gain(fit, new), costs)
        fit = with_measured(fit, new)
    if last.amount:
        fit = moved(fit, rng, pulls=heated(2, 1, start=0.2))
        chosen = _chosen(asking, fit, _dealt(fit, fours, rng), last, tables=FOURS, rounds=1)
        fit = with_measured(fit, _counted(asking, fit, chosen))
    return moved(fit, rng, pulls=heated(rest=1)) if costs.rounds == 1 and fit.measured else fit


def _counted(asking: Asking, fit: Fit, chosen: Sequence[_Chosen]) -> list[Measured]:
    """Ask for tables that were chosen."""
    answers = asking.curator.ask(*(measurement(asking.columns, each.table, each.cost) for each in chosen))
    return [measured(fit, each.table, answer) for each, answer in zip(chosen, answers, strict=True)]


def _with_triples(asking: Asking, fit: Fit, pairs: np.ndarray) -> np.ndarray:
    """Return the tables of two columns and those of three columns that compete now."""
    known = [_columns(each.table) for each in fit.measured if len(each.table) == 2]
    sets = competing_triples(len(asking.columns), known)
    triples = triple_tables(asking.columns, sets, asking.costs.most_cells)
    if not len(triples):
        return pairs
    return np.concatenate((np.pad(pairs, ((0, 0), (0, 1), (0, 0)), constant_values=-1), triples))


def _every_pair(asking: Asking, fit: Fit, left: Budget) -> list[_Chosen]:
    """Return all pairs of columns, each as fine as its noise allows, where none would drown; otherwise nothing.

    They get half of what is left, as long as there are rounds to come: which tables are worth more is chosen then.
    Those that matter more get four times as much as others.
    """
    pairs = pair_tables(asking.columns, asking.costs.most_cells)
    if not 0 < np.max(sets_of(pairs), initial=-1) + 1 <= MOST_PAIRS_AT_ONCE:
        return []
    levels = [*_by_columns(pairs), *_wanted_triples(asking)]
    weights = 1 + (_WANTED_WEIGHT - 1) * preferred_tables(packed([each[0] for each in levels]), *asking.wanted)
    unit = rounded_down(left.amount * share_at_once(asking.costs.rounds) / int(weights.sum()))
    sd = table_law(Budget(left.notion, unit), asking.curator.terms).sd
    found = expected_noise(asking.columns, packed([table for each in levels for table in each]), fit.zeros)
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
    return [_Chosen(table, cost, cost.amount) for table, cost in zip(tables, costs, strict=True)]


def _wanted_triples(asking: Asking) -> list[list[Cells]]:
    """Return the tables of three columns that were named, which are asked for with the pairs."""
    named = [tuple(sorted(each)) for each in asking.wanted[1] if len(each) == 3]
    return _by_columns(triple_tables(asking.columns, named, asking.costs.most_cells))


def _dealt(fit: Fit, tables: np.ndarray, rng: np.random.Generator) -> list[Candidates]:
    """Return the candidates of a round: of many columns, in random parts ("hands"), those of the same columns together.

    A choice compares the tables of one part only, as to compare all takes time; the best are spread over the parts.
    """
    if len(fit.columns) <= MOST_TRIPLE_COLUMNS:
        return [candidates_of(fit.columns, tables, fit.zeros)]
    hands = min(_MOST_HANDS, -(-int(cells_of(fit.columns, tables).sum()) // HAND_CELLS))
    sets = sets_of(tables)
    order = rng.permutation(int(sets[-1]) + 1)
    hand_of = np.empty_like(order)
    hand_of[order] = np.arange(order.size) % hands
    return [
        candidates_of(fit.columns, tables[hand_of[sets] == hand], fit.zeros) for hand in range(min(hands, order.size))
    ]


def _chosen(
    asking: Asking, fit: Fit, hands: Sequence[Candidates], left: Budget, *, tables: int, rounds: int
) -> list[_Chosen]:
    """Choose the tables of one round; the last of the last round gets what is left.

    The model does not learn in between, so that no two columns are looked at together twice while others are left.
    """
    looked = [_Hand(asking, candidates, fit) for candidates in hands]
    most = min(tables, sum(each.sets for each in looked))
    step = Budget(left.notion, rounded_down(left.amount / (rounds * most)))
    taken = np.zeros((len(fit.columns),) * 2, dtype=np.int8)
    found: list[_Chosen] = []
    while len(found) < most:
        turn = [each for each in looked if each.sets > each.chosen][: most - len(found)]
        is_last = rounds == 1 and len(found) + len(turn) == most
        costs = [step] * len(turn)
        if is_last:
            spent = sum((each.spent for each in found), step.amount * (len(turn) - 1))
            costs[-1] = Budget(left.notion, left.amount - spent)
        is_free = len(found) // len(hands) % _FREE == _FREE - 1
        questions = [hand.question(cost, taken, is_free=is_free) for hand, cost in zip(turn, costs, strict=True)]
        answers = asking.curator.ask(*questions)
        for hand, cost, question, answer in zip(turn, costs, questions, answers, strict=True):
            rest = cost - question.cost
            is_rest = is_last and hand is turn[-1]
            paid = rest if is_rest else Budget(rest.notion, rounded_down(rest.amount))
            found.append(_Chosen(hand.take(answer.choice, taken), paid, question.cost.amount + paid.amount))
    return found


class _Hand:
    """Candidates that are looked at together, and which of them are still to be chosen."""

    def __init__(self, asking: Asking, candidates: Candidates, fit: Fit) -> None:
        self._asking, self._candidates = asking, candidates
        self._estimates = candidates.estimates(fit.counts(candidates.tables))
        self._set = sets_of(candidates.tables)
        self._pairs = _pairs_of(candidates.tables[np.flatnonzero(np.diff(self._set, prepend=-1)), :, 0])
        self._is_wanted = preferred_tables(candidates.tables, *asking.wanted)
        self._is_new = np.ones(len(self._pairs), dtype=bool)
        self.sets, self.chosen = len(self._pairs), 0

    def question(self, cost: Budget, taken: np.ndarray, *, is_free: bool) -> SelectWorst:
        """Return the question which of them to measure: not two columns that were looked at together, if possible."""
        asking = self._asking
        worst = taken[self._pairs[:, :, 0], self._pairs[:, :, 1]].max(axis=1)
        least = worst[self._is_new].min()
        if least == _ASKED:
            taken[:] = 0
        is_open = (self._is_new & (worst == least))[self._set]
        is_wanted = is_open & self._is_wanted
        is_open = is_open if is_free or not is_wanted.any() else is_wanted
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
        return unpacked(self._candidates.tables[[choice]])[0]


def _pairs_of(columns: np.ndarray) -> np.ndarray:
    """Return the pairs of columns of tables, int64 (tables, pairs, 2); of two columns, the same three times."""
    pairs = columns[:, list(combinations(range(columns.shape[1]), 2))]
    return np.where((pairs < 0).any(axis=2, keepdims=True), pairs[:, :1], pairs)


def _columns(table: Cells) -> tuple[int, ...]:
    return tuple([column for column, _ in table])


def _by_columns(tables: np.ndarray) -> list[list[Cells]]:
    """Return tables over the same columns together, in their order."""
    return [list(each) for _, each in groupby(unpacked(tables), _columns)]
