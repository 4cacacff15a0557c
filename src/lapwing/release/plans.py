"""Plans: what a release would cost, and how exact it would be; of one table or of several."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from lapwing.kernel.budget.budget import Budget, BudgetRequest
from lapwing.kernel.codec import PLAIN
from lapwing.kernel.plain import rational_text
from lapwing.kernel.terms import Relation
from lapwing.maths.arrays import Frozen
from lapwing.model.certificate.certificate import CERTIFICATES, CostLine
from lapwing.model.certificate.cost_lines import RequestedBudget, budget_text, budget_to_dict, counted_lines
from lapwing.model.certificate.linked import published_tables
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.on_demand import Displayable, extra
from lapwing.release.runs.plan.effort import MACHINE, Effort, MaxRowsEffect
from lapwing.release.runs.plan.planning import Foreseen
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
class Plan(Displayable):
    """Say what a release would do; a function of the schema and public settings alone.

    That of several tables, and of events, has the plan of each in ``parts``, of its part of the budget; what it says of
    them all is what these say, one after the other, and the effort that of the whole.

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
    foreseen : Foreseen or None
        What the verdict on a release may say of single columns and relations; None of several tables.
    linked : LinkedTables or None
        Of several tables: these.
    several : mapping of str to Plan, or None
        Of several tables: the plan of each, by name. Made by `of_tables`.
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
    foreseen: Foreseen | None = None
    linked: LinkedTables | None = None
    several: Mapping[str, "Plan"] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", Frozen(self.settings))

    @classmethod
    def of_tables(
        cls,
        linked: LinkedTables,
        request: BudgetRequest,
        parts: Mapping[str, Self],
        *,
        effort: Effort,
        notes: tuple[Notice, ...],
    ) -> Self:
        """Return the plan of several tables; effort: of the whole; notes: which rules of a policy forbid it."""
        every = parts.values()
        widest = max(every, key=lambda part: part.max_rows)

        def listed(name: str) -> tuple[Any, ...]:
            return tuple(each for part in every for each in getattr(part, name))

        return cls(
            mechanism=" and ".join(dict.fromkeys(part.mechanism for part in every)),
            settings={name: part.settings for name, part in parts.items()},
            reason=" ".join(dict.fromkeys(part.reason for part in every)),
            request=request,
            lines=listed("lines"),
            relation=widest.relation,
            privacy_unit=widest.privacy_unit,
            max_rows=widest.max_rows,
            has_public_rows=False,
            expected_rows=sum(part.expected_rows for part in every),
            accuracy=listed("accuracy"),
            effort=effort,
            delta_gain=None,
            max_rows_effects=(),
            assumed_fields=tuple(dict.fromkeys(listed("assumed_fields"))),
            dp_fields=tuple(dict.fromkeys(listed("dp_fields"))),
            notes=notes,
            linked=linked,
            several=parts,
        )

    @property
    def parts(self) -> Mapping[str, "Plan"]:
        """The plan of each table by name; of one table this one, without a name."""
        return {"": self} if self.several is None else self.several

    @property
    def total(self) -> Budget:
        """What the release would spend."""
        return self.request.budget

    @property
    def asked(self) -> str:
        """What was asked for, in short."""
        return budget_text(self.total, self.request.epsilon, self.request.delta)

    @property
    def shares(self) -> dict[str, Fraction]:
        """Each table's part of the budget; they sum to 1."""
        return {name: part.total.amount / self.total.amount for name, part in self.parts.items()}

    def __repr__(self) -> str:
        if self.several is not None:
            return f"Plan({self.asked}; {'; '.join(f'{name}: {part!r}' for name, part in self.several.items())})"
        error = f"expected error {self.accuracy[0].figure} at {self.expected_rows} rows"
        return f"Plan({self.mechanism}, {self.asked}, {counted_lines(self.lines)}, {error})"

    def text(self) -> str:
        """Return the plan as plain text: of several tables the whole first, then part by part."""
        return str(self._in_words("text"))

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
                    part.asked,
                    f"{part.expected_rows}",
                    counted_lines(part.lines),
                    part.accuracy[0].figure,
                )
                for name, part in self.parts.items()
            ),
        ]

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
        found = {
            "mechanism": self.mechanism,
            "settings": dict(self.settings),
            "reason": self.reason,
            "total": budget_to_dict(self.total),
            "requested": CERTIFICATES.write(RequestedBudget.of(self.request)),
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
        if self.linked is None or self.several is None:
            return found
        return {
            **{
                key: found[key] for key in ("total", "requested", "relation", "privacy_unit", "expected_rows", "effort")
            },
            "protected": self.linked.protected,
            "published": [each.to_dict() for each in published_tables(self.linked)],
            "shares": {name: rational_text(share) for name, share in self.shares.items()},
            "parts": {name: part.to_dict() for name, part in self.several.items()},
        }
