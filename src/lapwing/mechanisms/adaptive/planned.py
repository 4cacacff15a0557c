"""What an adaptive release is going to ask, from schema, settings and budget alone."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product, starmap
from operator import mul
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.ask_columns import stage_questions
from lapwing.mechanisms.adaptive.candidates import (
    MOST_CELLS,
    MOST_FOUR_CELLS,
    MOST_GROWN,
    MOST_TRIPLE_COLUMNS,
    noise_left,
    rounded_down,
    selection_epsilon,
)
from lapwing.mechanisms.adaptive.columns import MOST_VALUES
from lapwing.mechanisms.adaptive.costs import (
    FOURS,
    TYPICAL_CELLS,
    Costs,
    are_clear,
    reserved_groups,
    share_at_once,
    table_law,
)
from lapwing.mechanisms.adaptive.fit import SNAPSHOTS
from lapwing.mechanisms.adaptive.look import MOST_LOOKED, planned_look
from lapwing.mechanisms.adaptive.rounds import HAND_CELLS
from lapwing.mechanisms.shared.base import Work
from lapwing.mechanisms.shared.one_way import told_rows
from lapwing.model.certificate.cost_lines import ChosenTable, PlannedQuestion
from lapwing.model.certificate.statements import Statement
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

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
    rows = float(told_rows(terms))
    questions: list[MarginalCounts | SelectWorst | ChosenTable | SecondMoment | CellSums] = [
        *stage_questions(schema, costs.one_way_costs)
    ]
    table, rounds = costs.table, costs.rounds
    if costs.look.amount:
        questions += planned_look(schema, costs.look, rows, terms)
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
    return tuple(questions)


def planned_work(schema: Schema, costs: Costs, questions: Sequence[PlannedQuestion], rows: int, particles: int) -> Work:
    """Return what choosing tables, counting them and moving the particles takes; particles: between rounds."""
    columns = len(schema.columns)
    looks = [question for question in questions if isinstance(question, SecondMoment)]
    halves = sum(min(MOST_LOOKED, math.comb(len(question.columns), 2)) for question in looks)
    tables = halves + sum(isinstance(question, ChosenTable) for question in questions)
    choices = sum(isinstance(question, SelectWorst) for question in questions)
    pairs, triples = _candidate_cells(schema, costs.levels)
    fours = math.comb(columns, 4) * 2**4 * bool(costs.fours.amount)
    cells, last = pairs + triples + fours, costs.particles(rows, particles)
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
    is_small = sides.prod(axis=1).max() <= costs.most_cells
    noise = noise_left(sides.prod(axis=1), sides.max(axis=1))
    return cost if is_small and are_clear(noise, rows, table_law(cost, terms).sd) else None


def expected_noise(costs: Costs, terms: Terms) -> tuple[Statement, ...]:
    """Say how large the noise on a table is beside the rows."""
    rows = told_rows(terms)
    steps = [("chosen", costs.table * (1 - costs.selection))] if costs.table.amount else []
    widest = max(costs.one_way_shares)
    steps.append(("one_way", costs.one_way * (widest / sum(costs.one_way_shares))))
    laws = [(what, table_law(cost, terms)) for what, cost in steps]
    cells = min(TYPICAL_CELLS, costs.most_cells)
    first, law = laws[0]
    own = law.mean_absolute * cells / (2 * rows)
    summary = Statement(f"expected_{first}_noise", own, {"cells": cells, "rows": rows})
    return summary, *(Statement(f"noise_on_{what}_table", law.sd) for what, law in laws)
