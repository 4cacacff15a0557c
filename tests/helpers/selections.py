"""Selections for tests: questions, the plain way to score them, and a tiny adaptive mechanism that asks them."""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from helpers import make
from helpers.bits import ZeroNoiseBits
from lapwing.engine.tables import pack, unpack
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.questions import RECORDS
from lapwing.kernel.questions.select_worst.answer import misfits
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.mechanisms.shared.one_way import one_way_law, one_way_questions, pooled_total
from lapwing.model.certificate.certificate import Statement
from lapwing.model.certificate.cost_lines import PlannedRelease
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping, lookup
from lapwing.schema.schemas import Schema

NAMES = ("kind", "age", "flag")
SCHEMA = Schema.from_dict(
    {
        "fields": [
            make.field("kind", ["a", "b", "c"], required=True),
            make.field("age", (0, 11)),
            make.field("flag", bool),
        ]
    }
)
DATA = pl.DataFrame(
    {
        "kind": ["a", "b", "b", "zzz", "c", "a", "a"],
        "age": ["0", "11", "5", "6", None, "99", "3"],
        "flag": ["true", "false", None, "true", "true", "false", "?"],
    }
)
TERMS = Terms(relation="add-remove")
TWO = Budget.pure(2)


def levels_of(domain, groups=4):
    """Return three nested resolutions of any domain: runs, pairs of runs, and everything in one group."""
    if domain.values <= groups:
        fine = identity(domain)
        runs = np.arange(domain.values)
        if domain.values == 1:
            return (fine,)
        return fine, lookup(domain, runs // 2), lookup(domain, runs * 0)
    fine = evenly(domain, groups)
    starts = fine.pieces()[0][1 : fine.regular]
    return fine, interval_grouping(domain, starts[1::2]), interval_grouping(domain, starts[:0])


def tables_over(levels, ways=(1, 2), same=True):
    """Return all tables over so many columns: at one level for all of their columns, or at all combinations."""
    found = []
    for size in ways:
        for places in itertools.combinations(range(len(levels)), size):
            depths = itertools.product(*(range(len(levels[place])) for place in places))
            found += [tuple(zip(places, each, strict=True)) for each in depths if not same or min(each) == max(each)]
    return tuple(found)


def table_shape(levels, candidate):
    return tuple(levels[place][level].groups for place, level in candidate)


def question(columns, levels, candidates, *, estimates=None, penalties=None, epsilon=Fraction(1, 2), notion="pure"):
    """Return a selection; by default each cell is estimated at 1 and nothing is penalised."""
    listed = unpack(candidates) if isinstance(candidates, np.ndarray) else candidates
    cells = sum(int(np.prod(table_shape(levels, each))) for each in listed)
    return SelectWorst(
        columns=tuple(columns),
        levels=tuple(levels),
        candidates=candidates if isinstance(candidates, np.ndarray) else pack(candidates),
        estimates=np.ones(cells, dtype=np.int64) if estimates is None else np.asarray(estimates, dtype=np.int64),
        penalties=np.zeros(len(candidates), dtype=np.int64) if penalties is None else np.asarray(penalties),
        epsilon=epsilon,
        notion=notion,
    )


LEVELS = tuple(levels_of(SCHEMA.field(name).domain) for name in NAMES)
PAIRS = tables_over(LEVELS, (2,))
SOURCE = code_table(DATA, SCHEMA)


def asked(**parts):
    """Return a question about pairs of the three columns."""
    return question(NAMES, LEVELS, PAIRS, **parts)


def room(*, source=SOURCE, bits=None, budget=TWO, terms=TERMS, recorded=()):
    """Return a room of seven rows."""
    return Room(source, SCHEMA, terms, budget, bits=bits or ZeroNoiseBits(), sink=NoTranscript(), recorded=recorded)


def random_question(rng, schema, *, candidates=None, ways=(1, 2, 3), epsilon=Fraction(1, 2), notion="pure"):
    """Return a selection over all columns of a schema, with random estimates, marks and penalties."""
    names = tuple(column.name for column in schema.columns)
    levels = tuple(levels_of(column.domain) for column in schema.columns)
    tables = tables_over(levels, ways, same=False)
    chosen = [tables[i] for i in rng.permutation(len(tables))[:candidates]]
    cells = sum(int(np.prod(table_shape(levels, each))) for each in chosen)
    return question(
        names,
        levels,
        chosen,
        estimates=rng.integers(-1, 6, cells),
        penalties=rng.integers(-9, 9, len(chosen)),
        epsilon=epsilon,
        notion=notion,
    )


def exact_cells(asked, tables):
    """Return the exact counts of all candidates' cells, one candidate after another."""
    (found,) = tables.sums([asked], lambda _, cells: cells)
    return found


def scores_of(asked, tables):
    """Return the scores that the room draws from."""
    (found,) = misfits([asked], tables)
    return found - asked.penalties


def group_by_hand(grouping: Grouping, code: int) -> int:
    """Return the group of one code, from what a grouping says about itself."""
    said = RECORDS.write(grouping)
    if code >= said["values"]:
        return grouping.regular + code - said["values"]
    if said["kind"] == "shift":
        return code >> said["shift"]
    if said["kind"] == "table":
        return said["table"][code]
    return sum(start <= code for start in said["cuts"])


def scores_by_hand(asked: SelectWorst, rows: list[dict[str, int]]) -> list[int]:
    """Return the score of each candidate, cell by cell and row by row."""
    cells = iter(asked.estimates.tolist())
    scores = []
    for candidate, penalty in zip(unpack(asked.candidates), asked.penalties.tolist(), strict=True):
        axes = [(asked.columns[place], asked.levels[place][level]) for place, level in candidate]
        places = [tuple(group_by_hand(grouping, row[name]) for name, grouping in axes) for row in rows]
        misfit = 0
        for cell in itertools.product(*(range(grouping.groups) for _, grouping in axes)):
            estimate = next(cells)
            if estimate >= 0:
                misfit += abs(places.count(cell) - estimate)
        scores.append(misfit - penalty)
    assert next(cells, None) is None
    return scores


def rows_of(source):
    """Return the rows of a coded source as dicts of codes."""
    rows = []
    for chunk in source.chunks():
        columns = [values.tolist() for values in chunk.values()]
        rows += [dict(zip(chunk, row, strict=True)) for row in zip(*columns, strict=True)]
    return rows


class CountingSource:
    """A source that notes the tables of every pass."""

    def __init__(self, source):
        self.source, self.passes = source, []

    def count(self, tables):
        self.passes.append([tuple(name for name, _ in table) for table in tables])
        return self.source.count(tables)


@dataclass(frozen=True, slots=True)
class Selecting(Mechanism):
    """Ask tables and selections in one batch, measure the winner, ask again: adaptive, and small."""

    name = "Selecting"
    summary = "asks tables and selections in turn"
    relations = ("add-remove", "replace-one")

    def run(self, curator, schema, budget, rng):
        first, second, ones = self._shares(budget)
        fine = {column.name: levels_of(column.domain)[0] for column in schema.columns}
        guess = curator.terms.expected_rows or 40
        flat = {name: np.full(grouping.groups, 1 / grouping.groups) for name, grouping in fine.items()}

        *tables, blind = curator.ask(
            *one_way_questions(schema, fine, ones), self._selection(schema, flat, guess, first)
        )
        total = pooled_total(tables, curator.terms.rows)
        shares = {
            name: np.maximum(table.counts, 1) / np.maximum(table.counts, 1).sum()
            for name, table in zip(fine, tables, strict=True)
        }
        informed = self._selection(schema, shares, total, second, avoid=blind.choice)
        one, other = curator.ask(informed, informed)
        places = unpack(informed.candidates)[one.choice]
        (measured,) = curator.ask(
            MarginalCounts(
                columns=tuple(informed.columns[place] for place, _ in places),
                groupings=tuple(informed.levels[place][level] for place, level in places),
                cost=budget - first.cost_of() - second.cost_of() * 2 - ones,
            )
        )

        laws = {
            column.name: Indexed(np.zeros(1, dtype=np.uint8), one_way_law(table, column.domain, max(total, 1.0)))
            for column, table in zip(schema.columns, tables, strict=True)
        }
        rows = round(total) + blind.choice + other.choice + int(measured.counts.max() > 0)
        return ReleasedModel(weights=np.ones(1), rows=rows, laws=laws)

    def plan(self, schema, budget, terms, rng):
        first, _, ones = self._shares(budget)
        fine = {column.name: levels_of(column.domain)[0] for column in schema.columns}
        names = tuple(fine)
        planned = SelectWorst(
            columns=names,
            levels=(),
            candidates=None,
            estimates=None,
            penalties=None,
            epsilon=first.epsilon,
            notion=first.notion,
            candidate_count=len(tables_over(tuple(levels_of(column.domain) for column in schema.columns))),
        )
        accuracy = (Statement("expected_cell_noise", 1.0),)
        return PlannedRelease(questions=(*one_way_questions(schema, fine, ones), planned), accuracy=accuracy)

    def _shares(self, budget):
        """Return the epsilon of the first selection, that of the next two, and the budget of the one-way tables."""
        # Both epsilons are exact under either notion: rho 1/2 pays epsilon 1 (1/8) and three of 1/2 (1/32 each).
        unit = budget.amount if budget.notion == "pure" else 2 * budget.amount
        parts = (Fraction(1, 4), Fraction(1, 8)) if budget.notion == "pure" else (Fraction(1), Fraction(1, 2))
        first, second = (Share(unit * part, budget.notion) for part in parts)
        return first, second, (budget - first.cost_of() - second.cost_of() * 2) / 2

    def _selection(self, schema, shares, total, share, avoid=None):
        names = tuple(column.name for column in schema.columns)
        levels = tuple(levels_of(column.domain) for column in schema.columns)
        candidates = tables_over(levels, (1, 2))
        estimates = [self._estimate(schema, levels, shares, total, each) for each in candidates]
        # One candidate that any row makes worse, one that any row makes better: neighbours that attain the bound.
        estimates[0] = np.minimum(estimates[0], 0)
        estimates[-1] = np.where(estimates[-1] < 0, -1, 10**6)
        looked = np.array([np.count_nonzero(each >= 0) for each in estimates])
        penalties = looked + np.where(np.arange(len(estimates)) == len(estimates) - 1, 10**6 * looked, 0)
        if avoid is not None:
            penalties[avoid] += 3
        return question(
            names,
            levels,
            candidates,
            estimates=np.concatenate(estimates),
            penalties=penalties,
            epsilon=share.epsilon,
            notion=share.notion,
        )

    def _estimate(self, schema, levels, shares, total, candidate):
        """Return the product of one-way shares; cells of misfits are not looked at."""
        product, is_misfit = np.ones(()), np.zeros((), dtype=bool)
        for place, level in candidate:
            column, grouping = schema.columns[place], levels[place][level]
            starts, _, groups = levels[place][0].pieces()
            along = np.zeros(grouping.groups)
            for start, group in zip(starts.tolist(), groups.tolist(), strict=True):
                along[group_by_hand(grouping, start)] += shares[column.name][group]
            marked = np.arange(grouping.groups) == (-1 if column.domain.missing else grouping.groups - 1)
            product = product[..., None] * along
            is_misfit = is_misfit[..., None] | marked
        return np.where(is_misfit, -1, np.rint(total * product)).astype(np.int64).ravel()


@dataclass(frozen=True, slots=True)
class Share:
    """The epsilon of a selection, and what it costs."""

    epsilon: Fraction
    notion: str

    def cost_of(self):
        return Budget(self.notion, self.epsilon if self.notion == "pure" else self.epsilon**2 / 8)
