"""What a certificate lists: what each question cost, and why; and what is proved about accuracy."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Self

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget, BudgetRequest, Notion
from lapwing.kernel.codec import SELDOM
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity, calibrate_noise, row_sensitivity
from lapwing.kernel.plain import at_least, rational_text, read_exact, read_keys
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.questions import TABLE, Answer, Part, Question
from lapwing.kernel.questions.registered import KINDS
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.terms import Relation, Terms
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.schema.short import short

_refused = partial(ParameterError, code="LW621")


@dataclass(frozen=True, slots=True)
class ChosenTable:
    """Stand in a plan for the `MarginalCounts` question whose columns a selection will choose."""

    cost: Budget
    cells: int  # at most


CHOSEN = f"{MarginalCounts.kind} (chosen)"
"""Kind of a planned table whose columns a selection chooses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedBudget:
    """What the caller asked for: epsilon, perhaps with delta, or rho."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise _refused("a certificate needs the requested epsilon or the requested rho, not both")

    @classmethod
    def of(cls, request: BudgetRequest) -> Self:
        """Return what stands on a certificate of a request."""
        return cls(epsilon=request.epsilon, delta=request.delta, rho=request.rho)


PlannedQuestion = Question | ChosenTable
"""What a plan knows will be asked; of tables that earlier answers choose, only the cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRelease:
    """Hold the questions of a release and its expected error; a function of public numbers.

    questions: everything that will be asked, in order; selections without estimates, the leaves of a tree that is not
    yet split for those of the split one; accuracy: what is proved about the expected error. The first one sums the
    release up in one number, and there is one; notes: what whoever reads the plan should know.
    """

    questions: tuple[PlannedQuestion, ...]
    accuracy: tuple[Statement, ...]
    notes: tuple[Notice, ...] = ()

    def __post_init__(self) -> None:
        if not self.accuracy or self.accuracy[0].value is None:
            raise ParameterError(
                "the accuracy of a mechanism's plan must begin with a statement that has a value, got none; "
                "state what is known, as the code own of Statement",
                code="LW304",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """Say what one noisy table, or one selection, cost, and why it cost that much.

    columns: the columns of the table; of a selection, those of the table that it chose, none while it is planned;
    sensitivity: how far the exact answer moves between neighbours (relation and max_rows included); noise: the noise on
    each number; None for questions that are protected by a random choice instead; level: which level of a tree of
    tables it is; None for a table on its own; candidates: of a selection: how many tables it chose among; None for a
    table; delta: of a noisy category list: with this probability at most it shows a text that one unit alone has; None
    for all others, which cannot fail.
    """

    question: str
    columns: tuple[str, ...]
    level: int | None = None
    candidates: int | None = None
    relation: Relation
    max_rows: int
    sensitivity: Sensitivity
    noise: NoiseLaw | None
    cost: Budget
    delta: Fraction | None = field(default=None, metadata=SELDOM)

    __repr__ = short

    def __post_init__(self) -> None:
        Terms(relation=self.relation, max_rows=self.max_rows)
        if self.candidates is not None and (self.candidates < 1 or self.noise is not None or self.level is not None):
            raise _refused("the cost line of a selection needs at least one candidate, no noise and no level")
        if self.delta is not None and not (0 < self.delta < 1 and self.noise is not None):
            raise _refused("the delta of a cost line must be above 0 and below 1, and beside noise")
        if self.noise is not None and _loss(self.sensitivity, self.noise, self.cost.notion) > self.cost.amount:
            raise _refused(
                f"a {self.question} over {', '.join(self.columns)} loses more privacy than the {self.cost} it is "
                "charged; add noise or charge more"
            )

    @classmethod
    def of(cls, answer: Answer, terms: Terms) -> tuple[Self, ...]:
        """Return the lines of an answer that was given under these terms: one per noisy table, one of a selection."""
        question = answer.question
        tables = tuple(Part(table.noise, table.cost, table.level) for table in answer.tables)
        parts = tables or question.parts(terms.relation, terms.max_rows)
        lines = tuple(cls._line(question, terms, part) for part in parts)
        return tuple(replace(line, columns=answer.chosen) for line in lines) if isinstance(answer, Selection) else lines

    @classmethod
    def planned(cls, question: Question | ChosenTable, terms: Terms) -> tuple[Self, ...]:
        """Return the lines that the answer to a question would have under these terms."""
        if isinstance(question, ChosenTable):
            return (cls._chosen(question.cost, terms),)
        return tuple(cls._line(question, terms, part) for part in question.parts(terms.relation, terms.max_rows))

    @classmethod
    def _chosen(cls, cost: Budget, terms: Terms) -> Self:
        """Return the line of a table whose columns are not known before a selection is answered."""
        bound = row_sensitivity(terms.relation, terms.max_rows)
        return cls(
            question=CHOSEN,
            columns=(),
            relation=terms.relation,
            max_rows=terms.max_rows,
            sensitivity=bound,
            noise=calibrate_noise(bound, cost),
            cost=cost,
        )

    @classmethod
    def _line(cls, question: Question, terms: Terms, part: Part) -> Self:
        """Return the line of one noisy table or one selection; of a selection that is planned without columns."""
        return cls(
            question=question.kind,
            columns=question.columns if part.candidates is None else (),
            relation=terms.relation,
            max_rows=terms.max_rows,
            sensitivity=question.sensitivity(terms.relation, terms.max_rows),
            noise=part.noise,
            cost=part.cost,
            level=part.level,
            candidates=part.candidates,
            delta=question.delta or None,
        )


def counted_lines(lines: Sequence[CostLine]) -> str:
    """Say how many noisy tables and selections cost lines stand for, such as ``3 noisy tables and 1 selection``."""
    called = Counter(KINDS[line.question].called if line.question in KINDS else TABLE for line in lines)
    counts = [
        (called[name], name) for name in dict.fromkeys([TABLE, *(each.called for each in reversed(KINDS.values()))])
    ]
    named = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count]
    return " and ".join(named) or "0 noisy tables"


def budget_text(total: Budget, epsilon: Fraction | None, delta: Fraction | None) -> str:
    """Return a budget as it was asked for: ε and δ where these were, and what they come to in ρ.

    >>> budget_text(Budget.zcdp("0.014973057673"), Fraction(1), Fraction(1, 10**9))
    'ε = 1, δ = 1e-9 (ρ = 0.015)'
    """
    if total.notion == "pure":
        return f"ε = {at_least(total.epsilon, 4)}"
    rho = f"ρ = {at_least(total.rho, 3)}"
    if epsilon is None or delta is None:
        return rho
    return f"ε = {at_least(epsilon, 4)}, δ = {at_least(delta, 3).replace('e-0', 'e-')} ({rho})"


def budget_to_dict(budget: Budget) -> dict[str, str]:
    """Return an amount of budget as plain JSON values."""
    return {"notion": budget.notion, **rational_text(budget.amount)}


def budget_from_dict(values: object) -> Budget:
    """Read back what `budget_to_dict` wrote."""
    notion, exact, _ = read_keys(values, "notion", "exact", "decimal")
    return Budget(notion, read_exact(exact))


def noise_to_dict(noise: NoiseLaw) -> dict[str, str | float]:
    """Return a noise law as plain JSON values: the exact parameter, what it means, and the standard deviation."""
    means = "scale" if noise.kind == "laplace" else "variance"
    # Rounded to the nearest, unlike what is promised: noise is told neither larger nor smaller than it is.
    parameter = {"exact": str(noise.parameter), "decimal": f"{float(noise.parameter):.6g}"}
    return {"kind": noise.kind, "means": means, **parameter, "sd": noise.sd}


def noise_from_dict(values: object) -> NoiseLaw:
    """Read back what `noise_to_dict` wrote."""
    kind, _, exact, _, _ = read_keys(values, "kind", "means", "exact", "decimal", "sd")
    return NoiseLaw(kind, read_exact(exact))


def _loss(sensitivity: Sensitivity, noise: NoiseLaw, notion: Notion) -> Fraction:
    """Return the ε or ρ that noise gives at this sensitivity (pure ε is worth ε²/2 of ρ)."""
    if sensitivity.l1 < 0 or sensitivity.l2_squared < 0:
        raise _refused("a sensitivity must be at least 0")
    if noise.kind == "laplace":
        epsilon = Fraction(sensitivity.l1) / noise.parameter
        return epsilon if notion == "pure" else epsilon**2 / 2
    if notion == "pure":
        raise _refused("Gaussian noise has no pure epsilon; use a zcdp budget")
    return Fraction(sensitivity.l2_squared) / (2 * noise.parameter)
