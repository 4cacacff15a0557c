"""Plans: what a release would cost, and how exact it would be; of one table, and of linked ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing.kernel.budget.budget import Budget, BudgetRequest
from lapwing.kernel.codec import PLAIN
from lapwing.kernel.plain import rational_text
from lapwing.kernel.terms import Relation
from lapwing.maths.arrays import Frozen
from lapwing.model.certificate.certificate import CERTIFICATES, CostLine
from lapwing.model.certificate.cost_lines import Requested, asked_text, budget_to_dict, counted_lines
from lapwing.model.certificate.linked import published
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.on_demand import Shown, extra
from lapwing.release.runs.plan.effort import MACHINE, Effort, MaxRowsEffect
from lapwing.schema.linked.database import LinkedTables


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaGain:
    """Compare pure ε with (ε, δ).

    what: code of what is compared: the first accuracy statement, or, where that is about something else with and
    without δ, or at its largest in both, the first one that can be compared.
    """

    what: str
    delta: float
    pure: float
    with_delta: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(Shown):
    """Say what a release would do; a function of the schema and public settings alone.

    Parameters
    ----------
    mechanism : str
        Its name.
    settings : mapping
        Its settings, plain JSON values.
    reason : str
        Why this mechanism.
    request : BudgetRequest
        What was asked for.
    lines : tuple of CostLine
        What the certificate's cost lines would be.
    relation : add-remove or replace-one
        The neighbour relation.
    privacy_unit : str
        ``row``, or ``FIELD:MAXROWS``.
    max_rows : int
        Rows that one privacy unit may own.
    has_public_rows : bool
        Whether the number of rows is public.
    expected_rows : int
        The number of rows that errors, time and memory are for.
    accuracy : tuple of Statement
        What is proved about the expected error; the first one is the summary.
    effort : Effort
        Estimated time and memory.
    delta_gain : DeltaGain or None
        What a δ changes; None for a budget in ρ, or where the budget is too small for a δ.
    max_rows_effects : tuple of MaxRowsEffect
        What another ``maxRows`` would change; empty where a row is what is protected.
    assumed_fields, dp_fields : tuple of str
        Fields whose domain was taken from the data by the owner's decision, or learned with budget.
    notes : tuple of Notice
        What else the mechanism says of it, and which rules of a policy forbid it.
    """

    mechanism: str
    settings: Mapping[str, Any]
    reason: str
    request: BudgetRequest
    lines: tuple[CostLine, ...]
    relation: Relation
    privacy_unit: str
    max_rows: int
    has_public_rows: bool
    expected_rows: int
    accuracy: tuple[Statement, ...]
    effort: Effort
    delta_gain: DeltaGain | None
    max_rows_effects: tuple[MaxRowsEffect, ...]
    assumed_fields: tuple[str, ...]
    dp_fields: tuple[str, ...]
    notes: tuple[Notice, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", Frozen(self.settings))

    @property
    def total(self) -> Budget:
        """What the release would spend."""
        return self.request.budget

    @property
    def asked(self) -> str:
        """What was asked for, in short."""
        return asked_text(self.total, self.request.epsilon, self.request.delta)

    def __repr__(self) -> str:
        error = f"expected error {self.accuracy[0].figure} at {self.expected_rows} rows"
        return f"Plan({self.mechanism}, {self.asked}, {counted_lines(self.lines)}, {error})"

    def text(self) -> str:
        """Return the plan as plain text, a screen long."""
        return str(self._told("text"))

    def plot(self) -> Any:  # noqa: ANN401 - of altair
        """Draw where the budget would go, and the noise on the counts of each kind of table.

        Returns
        -------
        chart of altair
            To show, change and save.

        Raises
        ------
        LapwingError
            If ``lapwing[evaluate]`` is not installed.
        """
        return extra("plots").planned_plot(self.lines, self.total)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON values, always in the same order."""
        gain = self.delta_gain
        return {
            "mechanism": self.mechanism,
            "settings": dict(self.settings),
            "reason": self.reason,
            "total": budget_to_dict(self.total),
            "requested": CERTIFICATES.write(Requested.of(self.request)),
            "relation": self.relation,
            "privacy_unit": self.privacy_unit,
            "max_rows": self.max_rows,
            "assumed_fields": list(self.assumed_fields),
            "dp_fields": list(self.dp_fields),
            "expected_rows": self.expected_rows,
            "accuracy": [statement.to_dict() for statement in self.accuracy],
            "max_rows_effects": [CERTIFICATES.write(effect) for effect in self.max_rows_effects],
            "delta_gain": gain and PLAIN.write(gain),
            "effort": {
                "seconds": self.effort.seconds,
                "memory_bytes": self.effort.memory_bytes,
                "memory": PLAIN.write(self.effort.memory),
                "machine": MACHINE,
            },
            "costs": [CERTIFICATES.write(line) for line in self.lines],
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedPlan(Shown):
    """Say what a release of linked tables, or of events, would do; a function of the schema and public settings alone.

    Parameters
    ----------
    linked : LinkedTables
        The tables.
    request : BudgetRequest
        What was asked for, for all parts together.
    parts : mapping of str to Plan
        By table, of its part of the budget.
    effort : Effort
        Estimated time and memory of the whole.
    notes : tuple of Notice
        Which rules of a policy forbid it.
    """

    linked: LinkedTables
    request: BudgetRequest
    parts: Mapping[str, Plan]
    effort: Effort
    notes: tuple[Notice, ...] = ()

    @property
    def asked(self) -> str:
        """What was asked for, in short."""
        return asked_text(self.request.budget, self.request.epsilon, self.request.delta)

    @property
    def shares(self) -> dict[str, Fraction]:
        """Each table's part of the budget; they sum to 1."""
        return {name: part.total.amount / self.request.budget.amount for name, part in self.parts.items()}

    def __repr__(self) -> str:
        parts = (f"{name}: {part!r}" for name, part in self.parts.items())
        return f"LinkedPlan({self.asked}; {'; '.join(parts)})"

    def text(self) -> str:
        """Return the plan as plain text: the whole first, then part by part."""
        return str(self._told("text"))

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
                    part.accuracy[0].figure,
                )
                for name, part in self.parts.items()
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON values, always in the same order."""
        return {
            "total": budget_to_dict(self.request.budget),
            "requested": CERTIFICATES.write(Requested.of(self.request)),
            "protected": self.linked.protected,
            "published": [each.to_dict() for each in published(self.linked)],
            "shares": {name: rational_text(share) for name, share in self.shares.items()},
            "effort": {
                "seconds": self.effort.seconds,
                "memory_bytes": self.effort.memory_bytes,
                "machine": MACHINE,
            },
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
        }
