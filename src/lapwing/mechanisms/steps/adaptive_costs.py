"""What an adaptive release costs, step by step: functions of schema, settings, budget and released numbers."""

import math
from dataclasses import dataclass
from fractions import Fraction

from lapwing.budget.budget import Budget
from lapwing.mechanisms.steps.candidate_tables import MOST_TRIPLE_COLUMNS, selection_epsilon
from lapwing.mechanisms.steps.public_cells import is_refined
from lapwing.mechanisms.steps.refined_columns import stage_questions
from lapwing.release.certificate import Statement
from lapwing.release.chosen_table import ChosenTable
from lapwing.release.noise_law import NoiseLaw, calibrated, row_sensitivity
from lapwing.release.planned import Planned
from lapwing.release.questions import MarginalCounts
from lapwing.release.select_worst import SelectWorst
from lapwing.release.terms import Terms
from lapwing.schema.schemas import Schema

REFINED_CELLS = 128
"""Cells that a column counted in stages has as its share of the budget is reckoned."""

ONE_WAY_SHARE = {"zcdp": 0.2, "pure": 0.3}
"""Least part of the budget for one-way tables."""

ROUNDS = {"zcdp": 50, "pure": 24}
"""Rounds that are planned: under pure ε the cost of a table grows with its noise's scale, so there are fewer."""

ANNEALING = {"zcdp": 4, "pure": 2}
"""By how much a table's cost grows when the model stands still: its noise is then halved."""

COLUMNS_PER_WINNER = 20
"""A round chooses one more table for every so many columns; wide tables have half the rounds, of twice the tables."""

LEAST_PARTICLES, MOST_PARTICLES = 20_000, 60_000
PARTICLE_CELLS = 6_000_000
"""Most particles times columns above the least number of particles."""

TYPICAL_CELLS = 256
"""Cells of a typical table."""

COARSE_CELLS = 16
DROWNING = {"zcdp": (0.05, 0.5), "pure": (0.01, 0.1)}
"""Part of the rows that the noise of a coarse table moves: where one-way tables begin to get more, and get all.

Under pure ε a share of the budget costs a one-way table more: its noise grows with 1 / share, not with the root.
"""

MOST_ATOMS = 400_000
ATOM_CELLS = 8_000_000
"""Most atoms times columns, so that wide tables stay quick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Divide a budget.

    Parameters
    ----------
    columns : int
        Modelled columns.
    one_way : Budget
        For all one-way tables.
    one_way_shares : tuple of Fraction
        How they share it: in proportion to the square root of their cells.
    edge : Budget
        For choosing and measuring one pair of the tree.
    table : Budget
        For choosing and measuring one table of a round.
    rounds, winners : int
        Rounds planned, and tables of each.
    annealing : int
        Factor of ``table`` when the model stands still.
    """

    columns: int
    one_way: Budget
    one_way_shares: tuple[Fraction, ...]
    edge: Budget
    table: Budget
    rounds: int
    winners: int
    annealing: int

    @property
    def one_way_costs(self) -> tuple[Budget, ...]:
        """Cost of each column's one-way table; they sum to ``one_way``."""
        return self.one_way.split(self.one_way_shares)

    def atoms(self, total: float, particles: int) -> int:
        """Return the number of released atoms: two per row, at least the particles of the fit, at most 400,000."""
        most = min(MOST_ATOMS, max(particles, ATOM_CELLS // self.columns))
        return min(most, max(particles, 2 * round(total)))


def costs_of(schema: Schema, budget: Budget, *, one_way: float | None, tree: float, rounds: int | None) -> Costs:
    """Divide the budget of a release.

    Parameters
    ----------
    schema : Schema
        Gives the columns; a single one gets everything.
    budget : Budget
        Pure ε or zCDP.
    one_way : float or None
        Share of the one-way tables; None for the one to begin with.
    tree : float
        As for `Adaptive`.
    rounds : int or None
        As for `Adaptive`.
    """
    columns = len(schema.columns)
    one_way = ONE_WAY_SHARE[budget.notion] if one_way is None else one_way
    share = Fraction(str(one_way)) if columns > 1 else Fraction(1)
    rest, tree_share = budget * (1 - share), Fraction(str(tree))
    winners = winners_of(columns)
    planned = rounds or ROUNDS[budget.notion] // (2 if columns > MOST_TRIPLE_COLUMNS else 1)
    return Costs(
        columns=columns,
        one_way=budget * share,
        one_way_shares=tuple(
            Fraction(math.isqrt(10_000 * (REFINED_CELLS if is_refined(column) else column.domain.size)), 100)
            for column in schema.columns
        ),
        edge=rest * (tree_share / max(1, columns - 1)),
        table=rest * ((1 - tree_share) / (planned * winners)),
        rounds=planned,
        winners=winners,
        annealing=ANNEALING[budget.notion],
    )


def winners_of(columns: int) -> int:
    """Return how many tables one round chooses."""
    return max(1, (2 if columns > MOST_TRIPLE_COLUMNS else 1) * columns // COLUMNS_PER_WINNER)


def one_way_share(share: float | None, total: float, costs: Costs, terms: Terms) -> float:
    """Return the part of the budget for one-way tables, now that the number of rows is known: more where pairs drown.

    Parameters
    ----------
    share : float or None
        The part that is spent already, as for `costs_of`.
    total : float
        Noisy number of rows, at least 0.
    costs, terms
        Of the release, with that share.

    Returns
    -------
    float
        At least ``share``: just that while the noise of a table of 16 cells moves at most 5 % of the rows (pure ε:
        1 %); 1 from 50 % on (10 %), where tables of two columns would tell little; in between in proportion to the
        logarithm, rounded to hundredths, and 1 where the noise that the rest of the budget buys moves more than that.
    """
    if not costs.table.amount:
        return 1.0
    share = ONE_WAY_SHARE[costs.table.notion] if share is None else share
    moved = table_law(costs.table, terms).mean_absolute * COARSE_CELLS / (2 * max(1.0, total))
    first, last = DROWNING[costs.table.notion]
    drowned = math.log(max(moved, first) / first) / math.log(last / first)
    found = max(share, min(1.0, round(share + (1 - share) * drowned, 2)))
    rest = (1 - found) / (1 - share)
    # What is left must be worth asking for: a table of noise alone would only pull the model away.
    is_worth_it = moved <= last * (rest if costs.table.notion == "pure" else math.sqrt(rest))
    return found if is_worth_it else 1.0


def particles_for(total: float, costs: Costs, terms: Terms) -> int:
    """Return the number of particles during the fit: their noise in a typical cell stays below that of its count.

    Parameters
    ----------
    total : float
        Noisy number of rows, at least 0.
    costs, terms
        Of the release.

    Notes
    -----
    A cell of c rows of n has particle variance ``c n / m``; it stays below ``sd**2`` for ``m = c n / sd**2``.
    """
    if not costs.table.amount:  # a single column
        return LEAST_PARTICLES
    sd = table_law(costs.table, terms).sd
    needed = total**2 / (TYPICAL_CELLS * sd**2) if sd else math.inf
    most = min(MOST_PARTICLES, max(LEAST_PARTICLES, PARTICLE_CELLS // costs.columns))
    return int(min(max(needed, LEAST_PARTICLES), most))


def table_law(cost: Budget, terms: Terms) -> NoiseLaw:
    """Return the noise on each count of a table that costs this."""
    return calibrated(row_sensitivity(terms.relation, terms.max_rows), cost)


def planned_release(
    schema: Schema, costs: Costs, terms: Terms, selection: Fraction, resolutions: tuple[int, ...]
) -> Planned:
    """Return the questions of a release in which nothing is annealed, and the noise of its tables.

    Parameters
    ----------
    schema, terms
        Of the release; the number of rows is public or expected.
    costs : Costs
        Of the release.
    selection : Fraction
        Part of each step that pays for the choice.
    resolutions : tuple of int
        Levels of the columns.
    """
    columns = len(schema.columns)
    pairs = len(resolutions) * math.comb(columns, 2)
    triples = math.comb(columns, 3) if columns <= MOST_TRIPLE_COLUMNS else 0
    questions: list[MarginalCounts | SelectWorst | ChosenTable] = [*stage_questions(schema, costs.one_way_costs)]
    steps = [(costs.edge, pairs)] * (columns - 1)
    steps += [(costs.table, pairs + triples)] * (costs.rounds * costs.winners)
    for cost, count in steps if costs.table.amount else ():
        select = SelectWorst(
            columns=tuple(column.name for column in schema.columns),
            levels=(),
            candidates=(),
            estimates=None,
            penalties=None,
            epsilon=selection_epsilon(cost * selection),
            notion=cost.notion,
            candidate_count=count,
        )
        questions += [select, ChosenTable(cost - select.cost)]
    return Planned(questions=tuple(questions), accuracy=_expected_noise(costs, terms, selection))


def _expected_noise(costs: Costs, terms: Terms, selection: Fraction) -> tuple[Statement, ...]:
    """Say how large the noise on a table is beside the rows."""
    rows = max(1, terms.rows if terms.rows is not None else terms.expected_rows or 1)
    chosen = [("a table of a round", costs.table), ("a pair of the tree", costs.edge)] if costs.table.amount else []
    steps = [(what, cost * (1 - selection)) for what, cost in chosen]
    widest = max(costs.one_way_shares)
    steps.append(("the widest one-way table", costs.one_way * (widest / sum(costs.one_way_shares))))
    laws = [(what, table_law(cost, terms)) for what, cost in steps]
    summary = Statement(
        kind="expected error",
        text=f"total variation distance that the noise of {laws[0][0]} with {TYPICAL_CELLS} cells makes on its own at "
        f"{rows} rows, before the fit takes most of it out; no bound is proved for the whole",
        value=min(1.0, laws[0][1].mean_absolute * TYPICAL_CELLS / (2 * rows)),
    )
    each = [
        Statement(kind="expected noise", text=f"standard deviation of each count of {what}, in records", value=law.sd)
        for what, law in laws
    ]
    return summary, *each
