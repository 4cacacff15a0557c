"""What a release of linked tables would cost, and how exact it would be: a plan for each part, and the whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from lapwing.kernel.budget.budget import BudgetRequest
from lapwing.kernel.plain import rational_text
from lapwing.model.certificate.cost_lines import asked_text, budget_to_dict, counted_lines
from lapwing.runs.plan.effort import MACHINE, Effort
from lapwing.runs.plan.text import aligned, effort_text
from lapwing.schema.linked.database import LinkedSchema

if TYPE_CHECKING:
    from lapwing.verbs.plan import Plan


_SAID: Final = ("Rows without", "Rows out are drawn")
"""How lines begin that a plan of one table says, and that are said of the whole or do not hold of a part."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedPlan:
    """Say what a release of linked tables, or of events, would do; a function of the schema and public settings alone.

    Parameters
    ----------
    linked : LinkedSchema
        The tables.
    request : BudgetRequest
        What was asked for, for all parts together.
    parts : mapping of str to Plan
        By table, of its part of the budget.
    effort : Effort
        Estimated time and memory of the whole.
    notes : tuple of str
        Which rules of a policy forbid it.
    """

    linked: LinkedSchema
    request: BudgetRequest
    parts: Mapping[str, "Plan"]
    effort: Effort
    notes: tuple[str, ...] = ()

    @property
    def asked(self) -> str:
        """What was asked for, in short."""
        return asked_text(self.request.budget, self.request.epsilon, self.request.delta)

    @property
    def shares(self) -> dict[str, Fraction]:
        """Each table's part of the budget; they sum to 1."""
        return {name: part.total.amount / self.request.budget.amount for name, part in self.parts.items()}

    def __repr__(self) -> str:
        parts = (f"{name}: {repr(part).partition('(')[2].removesuffix(')')}" for name, part in self.parts.items())
        return f"LinkedPlan({self.asked}; {'; '.join(parts)})"

    def text(self) -> str:
        """Return the plan as plain text: the whole first, then part by part."""
        lines = [
            f"Cost: {self.asked} in all, add-remove neighbours.",
            f"Protected: {self.linked.protected}",
            *self.notes,
            "",
            *aligned(self.table()),
            "",
            effort_text(self.effort, sum(part.expected_rows for part in self.parts.values())),
        ]
        for name, part in self.parts.items():
            lines += [
                "",
                "",
                f"{name}:",
                "",
                *(line for line in part.text().splitlines() if not line.startswith(_SAID)),
            ]
        return "\n".join(lines) + "\n"

    def table(self) -> list[tuple[str, ...]]:
        """Return one line for each part, the heading first."""
        heading = ("table", "share", "cost", "expected rows", "answers", "expected error")
        shares = self.shares
        return [
            heading,
            *(
                (
                    name,
                    f"{float(shares[name]):.1%}",
                    asked_text(part.total, part.request.epsilon, part.request.delta),
                    f"{part.expected_rows}",
                    counted_lines(part.lines),
                    "" if part.accuracy[0].value is None else f"{part.accuracy[0].value:.3g}",
                )
                for name, part in self.parts.items()
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON values, always in the same order."""
        asked = {"epsilon": self.request.epsilon, "delta": self.request.delta, "rho": self.request.rho}
        return {
            "total": budget_to_dict(self.request.budget),
            "requested": {key: None if value is None else rational_text(value) for key, value in asked.items()},
            "protected": self.linked.protected,
            "shares": {name: rational_text(share) for name, share in self.shares.items()},
            "effort": {
                "seconds": self.effort.seconds,
                "memory_bytes": self.effort.memory_bytes,
                "machine": MACHINE,
            },
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
        }
