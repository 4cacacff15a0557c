"""Rounds: choose tables that the model fits worst, measure them, fit again."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, groupby, product, starmap
from operator import mul
from typing import Final

import numpy as np

from lapwing.engine.particles import heated
from lapwing.engine.tables import Cells, packed, sets_of, unpacked
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.ask_columns import stage_questions
from lapwing.mechanisms.adaptive.candidates import (
    MOST_CELLS,
    MOST_FOUR_CELLS,
    MOST_GROWN,
    MOST_TRIPLE_COLUMNS,
    Candidates,
    candidates_of,
    cells_of,
    competing_triples,
    expected_noise,
    four_tables,
    measurement,
    noise_left,
    pair_tables,
    preferred_tables,
    rounded_down,
    selection_epsilon,
    triple_tables,
)
from lapwing.mechanisms.adaptive.columns import MOST_VALUES, ResolvedColumn
from lapwing.mechanisms.adaptive.costs import (
    FINE_NOISE,
    FOURS,
    MOST_PAIRS_AT_ONCE,
    TYPICAL_CELLS,
    Costs,
    are_clear,
    next_tables,
    reserved_groups,
    share_at_once,
    table_law,
)
from lapwing.mechanisms.adaptive.fit import SNAPSHOTS, Fit, Measured, gain, measured, moved, with_measured
from lapwing.mechanisms.shared.one_way import told_rows
from lapwing.mechanisms.shared.registration import Asked, Work
from lapwing.model.certificate.certificate import Statement
from lapwing.model.certificate.cost_lines import VARIATION, ChosenTable, Planned
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

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


# -- What an adaptive release is going to ask, from schema, settings and budget alone.


UNRELATED: Final = (
    "Tables of two columns would be mostly noise: none is measured, and no relation between columns is kept."
)
PRIOR_ALONE: Final = (
    "Tables of two columns would be mostly noise: none is measured, and relations between columns are those of a "
    "prior, if it is found near."
)

# Measured as `lapwing.runs.plan.effort` says.
_SWEEP_SECONDS: Final = 5e-8
_PAIR_SECONDS: Final = 5e-9
_CHOICE_SECONDS: Final = 3e-8
_SWEEPS, _LAST_SWEEPS = 4, 10  # of a round; at the end, what explains the particles among them
_ATOM_BYTES: Final = 60
_CANDIDATE_BYTES: Final = 150
_CELL_BYTES: Final = 8


def planned_release(schema: Schema, costs: Costs, terms: Terms) -> Planned:
    """Return the questions of a release, and the noise of its tables."""
    columns = len(schema.columns)
    rows = float(told_rows(terms))
    questions: list[MarginalCounts | SelectWorst | ChosenTable] = [*stage_questions(schema, costs.one_way_costs)]
    table, rounds = costs.table, costs.rounds
    if table.amount:
        at_once = _pair_cost(schema, costs, rows, terms)
        if at_once is not None:
            questions += [ChosenTable(at_once, costs.most_cells)] * math.comb(columns, 2)
            table = table * (share_at_once(rounds) * Fraction(rounds, max(1, rounds - 1)))
            rounds -= 1
        triples = math.comb(columns, 3) if columns <= MOST_TRIPLE_COLUMNS else 0
        select = SelectWorst(
            columns=tuple(column.name for column in schema.columns),
            levels=(),
            candidates=None,
            estimates=None,
            penalties=None,
            epsilon=selection_epsilon(table * costs.selection),
            notion=table.notion,
            candidate_count=len(costs.levels) * math.comb(columns, 2) + triples,
        )
        questions += (
            [select] * costs.tables + [ChosenTable(table - select.cost, costs.most_cells)] * costs.tables
        ) * rounds
        if costs.fours.amount:
            table = costs.fours / FOURS
            epsilon = selection_epsilon(table * costs.selection)
            select = replace(select, epsilon=epsilon, candidate_count=math.comb(columns, 4))
            questions += [select] * FOURS + [ChosenTable(table - select.cost, MOST_FOUR_CELLS)] * FOURS
    notes = () if any(isinstance(each, ChosenTable) for each in questions) or columns == 1 else (UNRELATED,)
    return Planned(questions=tuple(questions), accuracy=_expected_noise(costs, terms), notes=notes)


def planned_work(asked: Asked, costs: Costs, particles: int) -> Work:
    """Return what choosing tables, counting them and moving the particles takes; particles: between rounds."""
    columns, questions = len(asked.schema.columns), asked.questions
    tables = sum(isinstance(question, ChosenTable) for question in questions)
    choices = sum(isinstance(question, SelectWorst) for question in questions)
    pairs, triples = _candidate_cells(asked.schema, costs.levels)
    fours = math.comb(columns, 4) * 2**4 * bool(costs.fours.amount)
    cells, last = pairs + triples + fours, costs.particles(asked.rows, particles)
    looked = cells if columns <= MOST_TRIPLE_COLUMNS else min(cells, HAND_CELLS)
    sweeps = particles * costs.rounds * _SWEEPS / 2 + last * _LAST_SWEEPS
    return Work(
        seconds=_SWEEP_SECONDS * sweeps * tables
        + _PAIR_SECONDS * asked.rows * math.comb(columns, 2) * bool(tables)
        + _CHOICE_SECONDS * looked * choices,
        model_bytes=_ATOM_BYTES * SNAPSHOTS * last * columns + _CANDIDATE_BYTES * cells,
        table_bytes=_CELL_BYTES * cells,
    )


def _candidate_cells(schema: Schema, resolutions: tuple[int, ...]) -> tuple[int, int]:
    """Return about how many cells the pairs, and the triples, have that compete."""
    columns = schema.columns
    is_mixed = len(columns) <= MOST_TRIPLE_COLUMNS
    kinds = Counter(_groups_of(column, resolutions) for column in columns)
    pairs = sum(
        (count * (count - 1) // 2 if one is two else count * number) * _pair_cells(one, two, is_mixed=is_mixed)
        for (one, count), (two, number) in combinations_with_replacement(kinds.items(), 2)
    )
    number = math.comb(len(columns), 3) if is_mixed else MOST_GROWN
    return pairs, number * max(groups[-1] for groups in kinds) ** 3


def _groups_of(column: Field, resolutions: Sequence[int]) -> tuple[int, ...]:
    """Return about how many groups a column has at each level."""
    domain = column.domain
    is_finer = len(resolutions) > 1 and not (domain.ordered or domain.cuts) and domain.values > resolutions[0]
    levels = (MOST_VALUES, *resolutions) if is_finer else tuple(resolutions)
    return tuple(min(size + domain.reserved, domain.size) for size in levels)


def _pair_cells(one: tuple[int, ...], two: tuple[int, ...], *, is_mixed: bool) -> int:
    """Return the cells of all tables of two columns that are small enough."""
    listed = product(one, two) if is_mixed else zip(reversed(one), reversed(two), strict=False)
    return sum(cells for cells in starmap(mul, listed) if cells <= MOST_CELLS)


def _pair_cost(schema: Schema, costs: Costs, rows: float, terms: Terms) -> Budget | None:
    """Return what each pair costs where all are asked at once, from the schema alone; None where they are chosen."""
    sizes = [min(costs.levels[-1], column.domain.values) + reserved_groups(column) for column in schema.columns]
    sides = np.array(list(combinations(sizes, 2)), dtype=np.float64).reshape(-1, 2)
    whole = costs.table.amount * costs.rounds * costs.tables
    cost = Budget(costs.table.notion, rounded_down(whole * share_at_once(costs.rounds) / len(sides)))
    is_small = sides.prod(axis=1).max() <= costs.most_cells
    noise = noise_left(sides.prod(axis=1), sides.max(axis=1))
    return cost if is_small and are_clear(noise, rows, table_law(cost, terms).sd) else None


def _expected_noise(costs: Costs, terms: Terms) -> tuple[Statement, ...]:
    """Say how large the noise on a table is beside the rows."""
    rows = told_rows(terms)
    chosen = [("a chosen table", costs.table)] if costs.table.amount else []
    steps = [(what, cost * (1 - costs.selection)) for what, cost in chosen]
    widest = max(costs.one_way_shares)
    steps.append(("the widest one-way table", costs.one_way * (widest / sum(costs.one_way_shares))))
    laws = [(what, table_law(cost, terms)) for what, cost in steps]
    cells = min(TYPICAL_CELLS, costs.most_cells)
    summary = Statement(
        kind="expected error",
        text=f"total variation distance that the noise of {laws[0][0]} with {cells} cells makes on its own at "
        f"{rows} rows, before the fit takes most of it out; no bound is proved for the whole",
        value=laws[0][1].mean_absolute * cells / (2 * rows),
        unit=VARIATION,
    )
    of_each = "standard deviation of each count of"
    each = [
        Statement(kind="expected noise", text=f"{of_each} {what}, in records", value=law.sd, unit="rows")
        for what, law in laws
    ]
    return summary, *each
