"""Whole releases, many times over on two neighbours, seen by an attacker who knows both tables.

What is seen of a run is a number. From the answers it is the log-likelihood ratio of the two tables, than which no test
is more powerful (Neyman and Pearson); from the released model it is how many rows lie where the tables differ.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.special import betaincinv, logsumexp
from scipy.stats import norm

from helpers.kept import Kept
from lapwing.extras.audit.checks import cells
from lapwing.extras.audit.held import HeldRows
from lapwing.extras.audit.rechecks import loss_between, recount
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.questions.split_decisions.question import Splits
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.model.sampling.marginals import marginal
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

ROWS = 1
EXPECTED = 1000
"""A public guess that lets a mechanism ask all that it would ask of so many rows."""


@dataclass(frozen=True)
class Attacked:
    """A mechanism at a budget, on a table and the same table with one row more, equal to some of the others.

    others: as many rows more in both tables that are equal to it, and as many that differ from it in every column.
    """

    mechanism: object
    budget: object
    columns: int = 3
    others: int = 0

    @cached_property
    def schema(self):
        """Booleans, or one whole number."""
        fields = [{"name": f"c{place}", "type": "boolean"} for place in range(self.columns)]
        if self.columns == 1:
            fields = [{"name": "c0", "type": "integer", "constraints": {"minimum": 0, "maximum": 15}}]
        for field in fields:
            field.setdefault("constraints", {})["required"] = True
        return Schema.from_dict({"fields": fields})

    @cached_property
    def sources(self):
        """The two tables."""
        row = {field.name: True if field.type == "boolean" else 15 for field in self.schema.columns}
        other = {name: False if value is True else 0 for name, value in row.items()}
        tables = [[row] * (rows + self.others) + [other] * self.others for rows in (ROWS, ROWS + 1)]
        return tuple(code_table(pl.DataFrame(table), self.schema) for table in tables)

    def ran(self, source, seed):
        """Return the answers and the model of one run."""
        kept = Kept()
        terms = Terms(relation="add-remove", max_rows=1, expected_rows=EXPECTED)
        room = Room(source, self.schema, terms, self.budget, bits=SystemBits(), sink=kept)
        model = self.mechanism.run(room, self.schema, self.budget, np.random.default_rng(seed))
        return kept.answers, model

    def seen(self, which, seed):
        """Return the log-likelihood ratio, the model's rows in the differing cell, all its rows, and the exact loss."""
        answers, model = self.ran(self.sources[which], seed)
        held = tuple(map(HeldRows, self.sources))
        exact = [[recount(answer, rows, self.schema) for rows in held] for answer in answers]
        ratio = sum(log_ratio(answer, *both) for answer, both in zip(answers, exact, strict=True))
        loss = sum(loss_between(answer, *both) for answer, both in zip(answers, exact, strict=True))
        names = tuple(field.name for field in self.schema.columns)
        groupings = tuple(identity(field.domain) for field in self.schema.columns)
        table = marginal(model, names, groupings)
        # Rounded: runs that say the same stay on one side of every cut.
        return (
            round(ratio, 9),
            table[tuple(field.domain.values - 1 for field in self.schema.columns)],
            model.rows,
            float(loss),
        )

    def scores(self, runs):
        """Return what is seen of so many runs on each table: ndarray of float64, shape (2, runs, 4)."""
        return np.array([[self.seen(which, run) for run in range(runs)] for which in (0, 1)], dtype=np.float64)


def log_ratio(answer, first, second):
    """Return ln P[answer | second] - ln P[answer | first], from the exact numbers on two tables."""
    if isinstance(answer, Selection):
        logs = [float(answer.question.epsilon) / (2 * answer.sensitivity) * each[0] for each in (first, second)]
        one, two = (each[answer.choice] - logsumexp(each) for each in logs)
        return two - one
    if isinstance(answer, Splits | NoisyCells):
        changed = {cell for cell in {*first[0], *second[0]} if first[0].get(cell, 0) != second[0].get(cell, 0)}
        one, two = (cells._log_probability(answer, table[0], changed) for table in (first, second))
        return float(two - one)
    return sum(log_ratio_of_table(*each) for each in zip(answer.tables, first, second, strict=True))


def log_ratio_of_table(table, first, second):
    """Return the log-likelihood ratio of noisy numbers."""
    scale = float(table.noise.parameter)
    one, two = ((table.counts - exact).astype(np.float64) for exact in (first, second))
    if table.noise.kind == "laplace":
        return (np.abs(one) - np.abs(two)).sum() / scale
    return (one**2 - two**2).sum() / (2 * scale)


def certified_mu(first, second, cut=0.0, *, mistake=0.05):
    """Return a lower bound on the mu of Gaussian differential privacy: how often a guess by one cut is right.

    Under mu a guess is right with a probability of at most Phi(mu / 2), whatever the cut, which must not depend on
    these runs. Right guesses on the two tables have two probabilities; their sum is no more spread out than a binomial
    of the mean one (Hoeffding 1956), so the bound of Clopper and Pearson holds.
    """
    runs = len(first) + len(second)
    right = int((first <= cut).sum() + (second > cut).sum())
    share = betaincinv(right, runs - right + 1, mistake) if right else 0.0
    return max(0.0, 2 * float(norm.ppf(share)))
