"""What an adaptive release is going to ask, from schema, settings and budget alone."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.ask_columns import stage_questions
from lapwing.mechanisms.adaptive.candidates import MOST_TRIPLE_COLUMNS, noise_left, rounded_down, selection_epsilon
from lapwing.mechanisms.adaptive.costs import TYPICAL_CELLS, Costs, are_clear, reserved_groups, share_at_once, table_law
from lapwing.model.certificate.certificate import Statement
from lapwing.model.certificate.cost_lines import ChosenTable
from lapwing.model.planned import Planned
from lapwing.schema.schemas import Schema


def planned_release(schema: Schema, costs: Costs, terms: Terms, resolutions: tuple[int, ...]) -> Planned:
    """Return the questions of a release, and the noise of its tables."""
    columns = len(schema.columns)
    rows = float(max(1, terms.rows if terms.rows is not None else terms.expected_rows or 1))
    questions: list[MarginalCounts | SelectWorst | ChosenTable] = [*stage_questions(schema, costs.one_way_costs)]
    table, rounds = costs.table, costs.rounds
    if table.amount:
        at_once = _pair_cost(schema, costs, rows, terms, resolutions)
        if at_once is not None:
            questions += [ChosenTable(at_once)] * math.comb(columns, 2)
            table = table * (share_at_once(rounds) * Fraction(rounds, max(1, rounds - 1)))
            rounds -= 1
        triples = math.comb(columns, 3) if columns <= MOST_TRIPLE_COLUMNS else 0
        select = SelectWorst(
            columns=tuple(column.name for column in schema.columns),
            levels=(),
            candidates=(),
            estimates=None,
            penalties=None,
            epsilon=selection_epsilon(table * costs.selection),
            notion=table.notion,
            candidate_count=len(resolutions) * math.comb(columns, 2) + triples,
        )
        questions += ([select] * costs.tables + [ChosenTable(table - select.cost)] * costs.tables) * rounds
    return Planned(questions=tuple(questions), accuracy=_expected_noise(costs, terms))


def _pair_cost(schema: Schema, costs: Costs, rows: float, terms: Terms, resolutions: tuple[int, ...]) -> Budget | None:
    """Return what each pair costs where all are asked at once, from the schema alone; None where they are chosen."""
    sizes = [min(resolutions[-1], column.domain.values) + reserved_groups(column) for column in schema.columns]
    sides = np.array(list(combinations(sizes, 2)), dtype=np.float64).reshape(-1, 2)
    whole = costs.table.amount * costs.rounds * costs.tables
    cost = Budget(costs.table.notion, rounded_down(whole * share_at_once(costs.rounds) / len(sides)))
    is_small = sides.prod(axis=1).max() <= costs.most_cells
    noise = noise_left(sides.prod(axis=1), sides.max(axis=1))
    return cost if is_small and are_clear(noise, rows, table_law(cost, terms).sd) else None


def _expected_noise(costs: Costs, terms: Terms) -> tuple[Statement, ...]:
    """Say how large the noise on a table is beside the rows."""
    rows = max(1, terms.rows if terms.rows is not None else terms.expected_rows or 1)
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
        value=min(1.0, laws[0][1].mean_absolute * cells / (2 * rows)),
    )
    each = [
        Statement(kind="expected noise", text=f"standard deviation of each count of {what}, in records", value=law.sd)
        for what, law in laws
    ]
    return summary, *each
