"""What a release costs, step by step, and what a plan says of it: functions of public and released numbers."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product, starmap
from operator import mul
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, calibrate_noise, row_sensitivity
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.candidates import (
    MOST_CELLS,
    MOST_FOUR_CELLS,
    MOST_GROWN,
    MOST_TRIPLE_COLUMNS,
    MOST_VALUES,
    noise_left,
    rounded_down,
    selection_epsilon,
)
from lapwing.mechanisms.adaptive.fit import SNAPSHOTS
from lapwing.mechanisms.adaptive.one_way import stage_questions
from lapwing.mechanisms.shared.base import Work
from lapwing.mechanisms.shared.one_way import is_refined, public_or_expected_rows
from lapwing.mechanisms.shared.vectors.means import (
    CELL_SHARES,
    cell_questions,
)
from lapwing.mechanisms.shared.vectors.vector_cells import moment_question, noise_edge
from lapwing.model.certificate.cost_lines import ChosenTable, PlannedQuestion
from lapwing.model.certificate.statements import Statement
from lapwing.model.compared import TYPICAL
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly
from lapwing.schema.schemas import Schema

REFINED_CELLS = 128  # cells that a column counted in stages has as its share of the budget is reckoned
LEAST_SHARE = Fraction(1, 2)
"""Least share of a column of few values, of the mean: it would pay for the wide ones with its accuracy."""
ONE_WAY_SHARE = {"zcdp": 0.25, "pure": 0.3}  # least part of the budget for one-way tables
SELECTION_SHARE = {"zcdp": 0.05, "pure": 0.15}
"""Part of each step that pays for choosing the table: under pure ε a share buys less of a choice."""
ROUNDS = {"zcdp": 5, "pure": 4}
"""How often tables are chosen and the model is fitted; fewer under pure ε, where a share buys less of a table."""
WIDE, WIDE_ROUNDS = 200, 3  # with more columns than that there are no more rounds: choosing is the cost
LEAST_TABLES = 6
"""A round chooses a table for every column, and at least so many; fewer where there are more than 30 columns."""
CLEAR_NOISE = 0.012
"""Part of the rows that noise of a pair's coarsest table may move, after the fit, for all pairs to be asked at once."""
FINE_NOISE = 0.04  # each pair is as fine then as moves no larger part
MOST_PAIRS_AT_ONCE = 2_500
_MOST_CLEAR = 0.95  # of all pairs
BALANCE, WIDE_BALANCE = 5.0, 2.5
"""Signal of a typical table over the noise that is left of it, both as roots of squares: what a round should find.

The second where columns are many: their pairs are many, too, and worth little each.
"""
MANY_COLUMNS = 80  # beyond, they are
MOST_TABLES, MOST_WIDE_TABLES = 150, 400  # most tables of a round, or one per column; the second of many columns
_LEAST_CHOSEN = 3
_MOST_IN_ALL = 2_000
_MOST_CHANGE = 3.0
RESOLUTIONS = (32, 16, 8, 4)  # most groups of a column at each level
ONE_RESOLUTION = (6,)  # of wide tables: pairs at several levels would be tens of millions of cells
FINEST, MOST_FINEST_COLUMNS, FINEST_NOISE = 64, 6, 0.2
"""So few columns have a level of so many groups, too, where the noise of such a pair moves no larger part of rows."""
PARTICLES = 20_000  # between rounds; fewer where more than 100 columns would take long, at least a quarter
MOST_ATOMS = 400_000
ATOM_CELLS = 8_000_000  # most atoms times columns, so that wide tables stay quick
TYPICAL_CELLS = 256  # cells of a typical table
MOST_COARSE_CELLS = 16
MOST_STRATA_CELLS = 2**16  # of a pair in all strata
DROWNING = 0.02, 0.5
"""Part of the rows that the noise of a coarse table moves: where one-way tables begin to get more, and get all."""
FOURS, FOURS_SHARE = 2, Fraction(1, 12)
"""Tables of four columns, in two groups each, at the end, and their part of what tables of more columns get."""
MOST_FOUR_COLUMNS = 24  # all sets of four compete: some ten thousand
PRESENCE_SHARE = Fraction(1, 4)  # most of the budget for tables of what is missing together, where others would drown
PRESENCE_SELECTION = Fraction(2, 5)
PRESENCE_NOISE, PRESENCE_DROWNING = 0.03, 0.1
"""Noise of such a table, as part of the rows: it is made no smaller than the first, and not asked above the second."""
PRESENCE_GROUPS = (3, 2)
"""Most groups of a column in such a table: all regular values, those missing (or misfits), and a special value."""
BALANCED_NOISE = 0.25  # of single columns beside that of tables: they get no larger share than makes it so
DROWNED_SHARE, MOSTLY_HALVES = 0.45, 0.75
"""Share of one-way tables from which others are given up where there is better to do: a look at all pairs, where so
many columns have two values."""
LOOK_NOISE = 0.03  # part of the rows that noise of single columns may move beside a look
LEAST_LOOK, LEAST_LOOK_ONE_WAY = Fraction(3, 5), 20  # least part of a look, and least hundredths of single columns
MOST_LOOK_COLUMNS = 200  # of which all pairs are multiplied, row by row
LEAST_LOOK_COLUMNS = 4  # with fewer there is no direction to speak of
LIKELY_EIGENVALUE = 0.2  # part of the largest eigenvalue there can be that columns of a table often have
MOST_LOOK_TABLES = 1_200  # tables of halves, the strongest: each is felt in every sweep
HAND_CELLS = 500_000  # cells of the candidates that are looked at together, where there are more than 30 columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Divide a budget.

    table: for choosing and measuring one table of the first round; rounds, tables: rounds, and tables that the first of
    them chooses; levels: most groups of a column at each level; fours: for tables of four columns, after
    all rounds; look: for a look at all pairs, in place of rounds; strata: in how many each pair is counted.
    """

    columns: int
    one_way: Budget
    one_way_shares: tuple[Fraction, ...]
    most_cells: int
    table: Budget
    rounds: int
    tables: int
    selection: Fraction
    levels: tuple[int, ...]
    fours: Budget
    look: Budget
    strata: int = 1

    @property
    def most_pair_cells(self) -> int:
        """Most cells of a table of two columns, in all strata."""
        return min(MOST_STRATA_CELLS, self.most_cells * self.strata)

    @property
    def one_way_costs(self) -> tuple[Budget, ...]:
        """Cost of each column's one-way table; they sum to ``one_way``."""
        return self.one_way.split(self.one_way_shares)

    def particles(self, total: float, least: int) -> int:
        """Return the number of released particles of one sweep: one per row, at least those between rounds."""
        most = min(MOST_ATOMS, max(3 * least, ATOM_CELLS // self.columns)) // 3
        return min(most, max(least, round(total)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What the settings of `Adaptive` say about the budget; parameters as there, ``levels`` for its resolutions.

    may_look: whether a look may take the place of rounds: not where one of them is set, tables are named, or a prior is
    given, which says more.
    """

    one_way: float | None
    selection: float | None
    rounds: int | None
    levels: tuple[int, ...] | None
    may_look: bool = False
    strata: int = 1


def divide_budget(schema: Schema, budget: Budget, rows: float, terms: Terms, shares: Shares) -> Costs:
    """Divide the budget, now that a number of rows is known: public, expected or noisy.

    Returns more for one-way tables where pairs would drown in noise. Where they get all: up to a quarter of it for a
    round of the smallest tables, which tell what is missing together, unless these would drown too.
    """
    first = usual_costs(schema, budget, shares)
    cells = coarse_cells(schema, first.levels) * shares.strata
    share = one_way_share(shares.one_way, rows, first, terms, cells)
    if share == 1 and (presence := _presence_costs(first, schema, budget, rows, terms=terms, shares=shares)):
        return presence
    if shares.may_look and share >= DROWNED_SHARE and (looking := _look_costs(first, schema, budget, rows, terms)):
        return looking
    is_doubtful = budget.notion == "pure" and first.columns > MANY_COLUMNS and share >= DROWNED_SHARE
    if shares.one_way is None and is_doubtful:
        share = share if _is_worth_tables(first, share, single_noise(schema, budget, rows, terms)) else 1.0
    is_least = budget * Fraction(str(share)) == first.one_way  # where pairs begin to drown, fours find too little
    if shares.one_way is None and not is_least and share < 1:
        share = min(share, _balanced_share(first, single_noise(schema, budget, rows, terms), cells, rows, terms))
    has_fours = is_least and 4 <= first.columns <= MOST_FOUR_COLUMNS and first.rounds > 1
    final = usual_costs(schema, budget, replace(shares, one_way=share), FOURS_SHARE if has_fours else Fraction(0))
    if shares.levels is None and are_finest(final, rows, terms):
        return replace(final, levels=(FINEST, *final.levels))
    return final


def usual_costs(schema: Schema, budget: Budget, shares: Shares, fours: Fraction = Fraction(0)) -> Costs:
    """Divide the budget of a release; fours: part for them of what tables of more columns get."""
    columns = len(schema.columns)
    one_way = ONE_WAY_SHARE[budget.notion] if shares.one_way is None else shares.one_way
    selection = SELECTION_SHARE[budget.notion] if shares.selection is None else shares.selection
    share = Fraction(str(one_way)) if columns > 1 else Fraction(1)
    rest = budget * (1 - share)
    usual = 1 if columns == 2 else ROUNDS[budget.notion]  # there is one pair, and nothing to choose
    rounds = shares.rounds or (WIDE_ROUNDS if columns > WIDE else usual)
    tables = min(tables_of(columns), most_tables(columns, rounds))
    return Costs(
        columns=columns,
        one_way=budget * share,
        one_way_shares=one_way_shares(schema),
        most_cells=MOST_CELLS,
        table=rest * (1 - fours) / (rounds * max(1, tables)),
        rounds=rounds,
        tables=tables,
        selection=Fraction(str(selection)),
        levels=shares.levels or usual_levels(columns),
        fours=rest * fours,
        look=budget * 0,
        strata=shares.strata,
    )


def usual_levels(columns: int) -> tuple[int, ...]:
    """Return the resolutions: fewer for wide tables, so that they stay quick."""
    usual = RESOLUTIONS if columns <= MOST_TRIPLE_COLUMNS else RESOLUTIONS[1:]
    return usual if columns <= WIDE else ONE_RESOLUTION


def one_way_shares(schema: Schema) -> tuple[Fraction, ...]:
    """Return how columns share the budget of one-way tables: like the roots of their cells, none less than half a mean.

    >>> fields = [{"name": "a", "type": "integer", "constraints": {"minimum": 1, "maximum": 63}},
    ...           {"name": "b", "type": "boolean"}]
    >>> one_way_shares(Schema.from_dict({"fields": fields}))
    (Fraction(8, 1), Fraction(973, 400))
    """
    cells = [REFINED_CELLS if is_refined(column) else column.domain.size for column in schema.columns]
    roots = [Fraction(math.isqrt(10_000 * each), 100) for each in cells]
    least = sum(roots, Fraction(0)) * LEAST_SHARE / len(roots)
    return tuple(max(root, least) for root in roots)


def tables_of(columns: int) -> int:
    """Return how many tables one round chooses: no set of columns twice."""
    if columns > MOST_TRIPLE_COLUMNS:
        return columns * 3 // 5
    return min(max(LEAST_TABLES, columns), math.comb(columns, 2) + math.comb(columns, 3))


def particles_of(columns: int) -> int:
    """Return the number of particles between rounds.

    >>> particles_of(15), particles_of(200), particles_of(500)
    (20000, 10000, 5000)
    """
    return min(PARTICLES, max(PARTICLES // 4, 100 * PARTICLES // columns))


def most_tables(columns: int, rounds: int) -> int:
    """Return how many tables a round chooses at most: a model file holds some thousand.

    >>> most_tables(15, 5), most_tables(500, 3), most_tables(15, 1000)
    (150, 500, 3)
    """
    most = MOST_TABLES if columns <= MANY_COLUMNS else MOST_WIDE_TABLES
    return max(_LEAST_CHOSEN, min(max(most, columns), _MOST_IN_ALL // rounds))


def next_tables(tables: int, gain: float, costs: Costs) -> int:
    """Return how many tables the next round chooses: more, each with more noise, where the last ones changed much.

    Where k tables share a budget, noise grows like the root of k, so that their error together is least where the last
    one brings a fixed multiple of its noise; signals are taken to fall off like 1 / k.
    """
    balance = BALANCE if costs.columns <= MANY_COLUMNS else WIDE_BALANCE
    change = min(_MOST_CHANGE, max(1 / _MOST_CHANGE, math.pow(gain / balance, 2 / 3)))
    return min(max(_LEAST_CHOSEN, round(tables * change)), most_tables(costs.columns, costs.rounds))


def _balanced_share(costs: Costs, noise: float, cells: int, rows: float, terms: Terms) -> float:
    """Return the share at which noise moves a typical column by a fixed part of what it moves of a table.

    costs: at the least share, which is never undercut; noise: as `single_noise` gives it. Columns of a few values need
    no more. Of a share s, noise is as ``s ** -power``.
    """
    least, power = ONE_WAY_SHARE[costs.table.notion], 1 if costs.table.notion == "pure" else 0.5
    moved = table_law(costs.table, terms).mean_absolute * cells / (2 * max(1.0, rows))
    odds = math.pow(noise / (BALANCED_NOISE * moved), 1 / power) / (1 - least)
    return max(least, round(odds / (1 + odds), 2))


def coarse_cells(schema: Schema, resolutions: Sequence[int]) -> int:
    """Return the cells of a typical pair at the coarsest level, from the schema alone; at most 16.

    >>> fields = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "ab"]
    >>> coarse_cells(Schema.from_dict({"fields": fields}), (16, 4))
    4
    """
    sides = [min(resolutions[-1], column.domain.values) + reserved_groups(column) for column in schema.columns]
    return min(MOST_COARSE_CELLS, round(float(np.median(sides)) ** 2))


def reserved_groups(column: Field) -> int:
    """Return the groups beside those of regular values."""
    return column.domain.specials + int(column.domain.missing)


def single_noise(schema: Schema, budget: Budget, rows: float, terms: Terms) -> float:
    """Return the part of the rows that noise moves of a typical column, where single columns get the whole budget."""
    laws = [table_law(cost, terms).mean_absolute for cost in budget.split(one_way_shares(schema))]
    cells = [min(REFINED_CELLS, column.domain.values + reserved_groups(column)) for column in schema.columns]
    return float(np.mean(np.array(laws) * cells)) / (2 * rows)


def _is_worth_tables(costs: Costs, share: float, noise: float) -> bool:
    """Return whether tables of many columns may bring more than single columns lose by them, under pure ε.

    Tables of few of the pairs tell of few; what a pair loses to independence is taken to be as in public tables. noise:
    as `single_noise` gives it.
    """
    told = costs.rounds * costs.tables / math.comb(costs.columns, 2)
    return TYPICAL * told >= noise * (1 / share - 1)


def _look_costs(usual: Costs, schema: Schema, budget: Budget, rows: float, terms: Terms) -> Costs | None:
    """Return costs with a look at all pairs in halves; None where it would tell too little.

    Single columns get what they need for their own noise to move few rows, the look all the rest, as long as that is
    most of it.
    """
    halves = sum(column.domain.values == 2 for column in schema.columns)
    if halves < max(LEAST_LOOK_COLUMNS, MOSTLY_HALVES * len(schema.columns)):
        return None
    part = (single_noise(schema, budget, rows, terms) / LOOK_NOISE) ** (1 if budget.notion == "pure" else 2)
    share = Fraction(max(LEAST_LOOK_ONE_WAY, math.ceil(100 * part)), 100)
    if share > 1 - LEAST_LOOK:
        return None
    look = budget * (1 - share)
    if not planned_look(schema, look, rows, terms):
        return None
    return replace(usual, one_way=budget * share, look=look, table=budget * 0)


def _presence_costs(
    usual: Costs, schema: Schema, budget: Budget, rows: float, *, terms: Terms, shares: Shares
) -> Costs | None:
    """Return costs of a round of tables of what is missing or special; None where it drowns, too, or is empty."""
    most = min(PRESENCE_SHARE, 1 - Fraction(str(shares.one_way or 0)))
    selection = PRESENCE_SELECTION if shares.selection is None else Fraction(str(shares.selection))
    groups = [2 + column.domain.specials for column in schema.columns if reserved_groups(column)]
    for largest in PRESENCE_GROUPS:
        columns = sum(size <= largest for size in groups)
        if columns < 2 or largest not in groups:
            continue
        table, cells = budget * (most / (columns - 1)), largest**2
        moved = table_law(table, terms).mean_absolute * cells / (2 * rows)
        if moved > PRESENCE_DROWNING:
            continue
        if moved < PRESENCE_NOISE:  # it need not be better than that
            saved = (moved / PRESENCE_NOISE) ** (1 if budget.notion == "pure" else 2)
            table = table * Fraction(math.ceil(1000 * saved), 1000)
        table = Budget(budget.notion, rounded_down(table.amount))
        return replace(
            usual,
            one_way=budget - table * (columns - 1),
            most_cells=max(cells, math.floor(cells * PRESENCE_DROWNING / max(moved, PRESENCE_NOISE))),
            table=table,
            rounds=1,
            tables=columns - 1,
            selection=selection,
        )
    return None


def one_way_share(share: float | None, total: float, costs: Costs, terms: Terms, cells: int) -> float:
    """Return the part of the budget for one-way tables, now that the number of rows is known: more where pairs drown.

    share: the part that is spent already, as for `costs_of`. Returns at least ``share``: just that while the noise of a
    coarse table moves at most 2 % of the rows; 1 from 50 % on, where tables of two columns would be mostly noise; in
    between in proportion to the logarithm, rounded to hundredths, and 1 where the noise that the rest of the budget
    buys moves more than that.
    """
    if not costs.table.amount:
        return 1.0
    share = ONE_WAY_SHARE[costs.table.notion] if share is None else share
    moved = table_law(costs.table, terms).mean_absolute * cells / (2 * max(1.0, total))
    first, last = DROWNING
    drowned = math.log(max(moved, first) / first) / math.log(last / first)
    found = max(share, min(1.0, round(share + (1 - share) * drowned, 2)))
    rest = (1 - found) / (1 - share)
    # What is left must be worth asking for: a table of noise alone would only pull the model away.
    is_worth_it = moved <= last * (rest if costs.table.notion == "pure" else math.sqrt(rest))
    return found if is_worth_it else 1.0


def table_law(cost: Budget, terms: Terms) -> NoiseLaw:
    """Return the noise on each count of a table that costs this."""
    return calibrate_noise(row_sensitivity(terms.relation, terms.max_rows), cost)


def are_finest(costs: Costs, rows: float, terms: Terms) -> bool:
    """Return whether pairs are asked for in the most groups, too: few columns, and noise that is small beside rows."""
    noise = noise_left(np.array([FINEST**2]), np.array([FINEST])).item()
    return (
        costs.table.amount > 0
        and costs.columns <= MOST_FINEST_COLUMNS
        and (noise * table_law(costs.table, terms).sd <= 2 * rows * FINEST_NOISE)
    )


def share_at_once(rounds: int) -> Fraction:
    """Return the part of what is left that all pairs get where they are asked at once."""
    return Fraction(1, 2) if rounds > 1 else Fraction(1)


def are_clear(coarsest: np.ndarray, rows: float, sd: float) -> bool:
    """Return whether all pairs are asked at once: what noise of one unit puts into their coarsest tables is small."""
    return coarsest.size <= MOST_PAIRS_AT_ONCE and bool(
        np.mean(coarsest * sd / (2 * rows) <= CLEAR_NOISE) >= _MOST_CLEAR
    )


# -- What a plan says: questions, noise and work.
# Measured as `lapwing.release.runs.plan.effort` says.
_SWEEP_SECONDS: Final = 5e-8
_PAIR_SECONDS: Final = 5e-9
_CHOICE_SECONDS: Final = 3e-8
_SWEEPS, _LAST_SWEEPS = 4, 10  # of a round; at the end, what explains the particles among them
_ATOM_BYTES: Final = 60
_CANDIDATE_BYTES: Final = 150
_CELL_BYTES: Final = 8


def planned_questions(schema: Schema, costs: Costs, terms: Terms) -> tuple[PlannedQuestion, ...]:
    """Return the questions of a release."""
    columns = len(schema.columns)
    rows = float(public_or_expected_rows(terms))
    questions: list[MarginalCounts | SelectWorst | ChosenTable | SecondMoment | CellSums] = [
        *stage_questions(schema, costs.one_way_costs)
    ]
    table, rounds = costs.table, costs.rounds
    if costs.look.amount:
        questions += planned_look(schema, costs.look, rows, terms)
    if table.amount:
        at_once = _pair_cost(schema, costs, rows, terms)
        if at_once is not None:
            questions += [ChosenTable(at_once, costs.most_pair_cells)] * math.comb(columns, 2)
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
            [select] * costs.tables + [ChosenTable(table - select.cost, costs.most_pair_cells)] * costs.tables
        ) * rounds
        if costs.fours.amount:
            table = costs.fours / FOURS
            epsilon = selection_epsilon(table * costs.selection)
            select = replace(select, epsilon=epsilon, candidate_count=math.comb(columns, 4))
            questions += [select] * FOURS + [ChosenTable(table - select.cost, MOST_FOUR_CELLS)] * FOURS
    return tuple(questions)


def planned_work(schema: Schema, costs: Costs, questions: Sequence[PlannedQuestion], rows: int, particles: int) -> Work:
    """Return what choosing tables, counting them and moving the particles takes; particles: between rounds."""
    columns = len(schema.columns)
    looks = [question for question in questions if isinstance(question, SecondMoment)]
    halves = sum(min(MOST_LOOK_TABLES, math.comb(len(question.columns), 2)) for question in looks)
    tables = halves + sum(isinstance(question, ChosenTable) for question in questions)
    choices = sum(isinstance(question, SelectWorst) for question in questions)
    pairs, triples = _candidate_cells(schema, costs.levels)
    fours = math.comb(columns, 4) * 2**4 * bool(costs.fours.amount)
    cells, last = pairs * costs.strata + triples + fours, costs.particles(rows, particles)
    looked = cells if columns <= MOST_TRIPLE_COLUMNS else min(cells, HAND_CELLS)
    sweeps = particles * costs.rounds * _SWEEPS / 2 + last * _LAST_SWEEPS
    return Work(
        seconds=_SWEEP_SECONDS * sweeps * tables
        + _PAIR_SECONDS * rows * math.comb(columns, 2) * bool(tables)
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
    cells = sides.prod(axis=1) * costs.strata
    is_small = cells.max() <= costs.most_pair_cells
    noise = noise_left(cells, np.maximum(sides.max(axis=1), costs.strata))
    return cost if is_small and are_clear(noise, rows, table_law(cost, terms).sd) else None


def noise_statements(costs: Costs, terms: Terms) -> tuple[Statement, ...]:
    """Say how large the noise on a table is beside the rows."""
    rows = public_or_expected_rows(terms)
    steps = [("chosen", costs.table * (1 - costs.selection))] if costs.table.amount else []
    widest = max(costs.one_way_shares)
    steps.append(("one_way", costs.one_way * (widest / sum(costs.one_way_shares))))
    laws = [(what, table_law(cost, terms)) for what, cost in steps]
    cells = min(TYPICAL_CELLS, costs.most_cells)
    first, law = laws[0]
    own = law.mean_absolute * cells / (2 * rows)
    summary = Statement(f"expected_{first}_noise", own, {"cells": cells, "rows": rows})
    return summary, *(Statement(f"noise_on_{what}_table", law.sd) for what, law in laws)


def planned_look(schema: Schema, cost: Budget, rows: float, terms: Terms) -> tuple[SecondMoment | CellSums, ...]:
    """Return what a look would ask, as far as the schema tells: halves and cells depend on noisy answers."""
    names = [(column.name, evenly(column.domain, 2)) for column in schema.columns if column.domain.values > 1]
    wide = half_coordinates(names[:MOST_LOOK_COLUMNS])
    count = look_columns(wide, cost, rows, terms)
    if count < LEAST_LOOK_COLUMNS:
        return ()
    coordinates, costs = first_coordinates(wide, count), cost.split(CELL_SHARES)
    return (moment_question(coordinates, costs[0]), *cell_questions(coordinates, None, costs))


def look_columns(wide: Coordinates, cost: Budget, rows: float, terms: Terms) -> int:
    """Return how many of the columns are looked at: as many as may stand out of the noise that their pairs cost."""
    moment = cost.split(CELL_SHARES)[0]

    def drowns(count: int) -> bool:
        question = moment_question(first_coordinates(wide, count), moment)
        sd = question.noise(terms.relation, terms.max_rows).sd / rows
        return noise_edge(count, sd) > LIKELY_EIGENVALUE * (count - 1)

    counts = range(LEAST_LOOK_COLUMNS, len(wide.columns) + 1)
    found = bisect_left(counts, True, key=drowns)  # more columns drown where fewer do
    return counts[found - 1] if found else 0


def half_coordinates(halves: Sequence[tuple[str, Grouping]]) -> Coordinates:
    """Return the map to -1 and 1, and to 0 for what is missing, special or invalid."""
    return Coordinates(
        columns=tuple(name for name, _ in halves),
        groupings=tuple(grouping for _, grouping in halves),
        kinds=tuple("line" for _ in halves),
        listed=tuple(0 for _ in halves),
    )


def first_coordinates(wide: Coordinates, count: int) -> Coordinates:
    """Return the first columns alone."""
    return half_coordinates(list(zip(wide.columns, wide.groupings, strict=True))[:count])
