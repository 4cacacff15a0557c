"""`lapwing.plan`: what a release would cost, and how exact it would be, before any row is read."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, cast

from lapwing.errors import ParameterError
from lapwing.judge.report.plots import planned_plot
from lapwing.kernel.budget.budget import Budget, BudgetRequest, Number, read_request
from lapwing.kernel.plain import rational_text
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import settings_of, why_default
from lapwing.model.certificate.certificate import CostLine, Statement
from lapwing.model.certificate.cost_lines import CHOSEN, asked_text, budget_to_dict, counted_lines
from lapwing.model.certificate.promise import fields_of_origin, origin_lines
from lapwing.model.frozen import Frozen
from lapwing.model.planned import Planned
from lapwing.rows.guard import private_boundary
from lapwing.runs.linked import read_linked_settings, refuse_settings_of_one, refuse_shares_of_one
from lapwing.runs.plan.effort import MACHINE, Effort, MaxRowsEffect, effort_of, max_rows_effects, together
from lapwing.runs.plan.memory import Memory, check_fits, read_memory
from lapwing.runs.plan.planning import common_figure, expected_terms, planned
from lapwing.runs.plan.text import cost_table, effort_text, error_lines, max_rows_lines, memory_lines, unit_lines
from lapwing.runs.policy import forbidden
from lapwing.runs.settings import Settings, read_settings, spending_of
from lapwing.schema.linked.database import is_linked
from lapwing.typing import LinkedSchemaLike, MechanismLike, PriorLike, PublicTablesLike, Relation, SchemaLike
from lapwing.verbs.linked_plan import LinkedPlan

SUGGESTED_DELTA: Final = "1e-9"
"""The δ that a plan under pure ε is compared with."""

_SEED: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaGain:
    """Compare pure ε with (ε, δ).

    what: what is compared: the first accuracy statement, or, where that is about something else with and without δ, or
    at its largest in both, the first one that can be compared.
    """

    what: str
    delta: float
    pure: float
    with_delta: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
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
        Fields whose domain was taken from the data by the owner's decision, or bought with budget.
    notes : tuple of str
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
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", Frozen(self.settings))

    @property
    def total(self) -> Budget:
        """What the release would spend."""
        return self.request.budget

    @property
    def _asked(self) -> str:
        return asked_text(self.total, self.request.epsilon, self.request.delta)

    @property
    def _cost(self) -> str:
        return str(self.total) if self.total.notion == "pure" else self._asked

    def __repr__(self) -> str:
        error = f"expected error {self.accuracy[0].value:.3g}"
        return (
            f"Plan({self.mechanism}, {self._asked}, {counted_lines(self.lines)}, {error} at {self.expected_rows} rows)"
        )

    def text(self) -> str:
        """Return the plan as plain text, a screen long."""
        return (
            "\n".join(
                [
                    f"Mechanism: {self.mechanism}. {self.reason}.",
                    f"Cost: {self._cost} for {counted_lines(self.lines)}, {self.relation} neighbours.",
                    *unit_lines(self.relation, self.privacy_unit, self.max_rows),
                    *origin_lines(self.assumed_fields, self.dp_fields),
                    self._condition(),
                    *self.notes,
                    "",
                    *cost_table(self.lines),
                    "",
                    *max_rows_lines(self.max_rows_effects, self.max_rows),
                    *error_lines(self.accuracy),
                    *self._gain_lines(),
                    effort_text(self.effort, self.expected_rows),
                    *memory_lines(self.effort.memory),
                ]
            )
            + "\n"
        )

    def plot(self) -> Any:  # noqa: ANN401 - of altair
        """Draw where the budget would go, and the noise on the counts of each kind of table.

        Returns
        -------
        chart of altair
            To show, change and save.

        Raises
        ------
        LapwingError
            If ``lapwing[report]`` is not installed.
        """
        return planned_plot(self.lines, self.total)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON values, always in the same order."""
        request = self.request
        asked = {"epsilon": request.epsilon, "delta": request.delta, "rho": request.rho}
        gain = self.delta_gain
        return {
            "mechanism": self.mechanism,
            "settings": dict(self.settings),
            "reason": self.reason,
            "total": budget_to_dict(self.total),
            "requested": {key: None if value is None else rational_text(value) for key, value in asked.items()},
            "relation": self.relation,
            "privacy_unit": self.privacy_unit,
            "max_rows": self.max_rows,
            "assumed_fields": list(self.assumed_fields),
            "dp_fields": list(self.dp_fields),
            "expected_rows": self.expected_rows,
            "accuracy": [statement.to_dict() for statement in self.accuracy],
            "max_rows_effects": [asdict(effect) for effect in self.max_rows_effects],
            "delta_gain": gain and asdict(gain),
            "effort": {
                "seconds": self.effort.seconds,
                "memory_bytes": self.effort.memory_bytes,
                "memory": asdict(self.effort.memory),
                "machine": MACHINE,
            },
            "costs": [line.to_dict() for line in self.lines],
        }

    def _condition(self) -> str:
        """Say for which releases the plan is exact."""
        if any(line.question == CHOSEN for line in self.lines):
            return (
                "Tables are chosen as the release goes, more of them at less cost each where they tell much: the total "
                "is as planned, the number of tables may be another."
            )
        if self.has_public_rows:
            return (
                f"The number of rows is public under replace-one neighbours; this is the plan for {self.expected_rows}."
            )
        return (
            f"A release has these cost lines when it is given the same expected_rows, {self.expected_rows}; without, "
            "it buys a noisy number of rows first."
        )

    def _gain_lines(self) -> list[str]:
        """Say what a δ changes."""
        gain = self.delta_gain
        if gain is None:
            return []
        return [
            f"Pure ε against δ = {gain.delta:g} at the same ε: {gain.what} {gain.pure:.3g} against "
            f"{gain.with_delta:.3g}, {'lower' if gain.with_delta < gain.pure else 'not lower'} with δ."
        ]


@private_boundary
def plan(
    schema: SchemaLike | LinkedSchemaLike,
    *,
    expected_rows: int | Mapping[str, int],
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismLike | None = None,
    neighbours: Relation = "add-remove",
    public_tables: PublicTablesLike | None = None,
    prior: PriorLike = None,
    memory: Memory = None,
    shares: Mapping[str, Number] | None = None,
) -> Plan:
    """Say what a release would cost and how exact it would be, before any row is read.

    Parameters
    ----------
    schema : Schema, path or mapping; LinkedSchema
        Everything public about the table, or about linked ones.
    expected_rows : int, at least 1; or mapping of str to int
        A public guess of the number of rows, made without the data. Of linked tables one for each, by name; of events
        also of the persons, under the name of their key.
    epsilon, delta, rho, mechanism, neighbours, public_tables, prior
        As for `lapwing.synthesize`.
    memory : int or str, optional
        Bytes, or text such as "4 GB": refuse a release that needs more.
    shares : mapping of str to number, optional
        Of linked tables, as for `lapwing.synthesize`.

    Returns
    -------
    Plan
        The same one for the same settings: simulations have a fixed seed. Of linked tables and of events a
        `LinkedPlan`, with a plan for each part.

    Raises
    ------
    SchemaError, ParameterError, CapacityError
        As `lapwing.synthesize` would.

    Notes
    -----
    Costs no budget: there is no data. The cost lines are those of the questions that the mechanism's run asks.

    Examples
    --------
    >>> schema = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
    >>> plan(schema, expected_rows=1000, epsilon=1, mechanism="Independent")
    Plan(Independent, ε = 1, 1 noisy table, expected error 0.00439 at 1000 rows)
    """
    if expected_rows is None:
        raise ParameterError(
            "a plan needs expected_rows, a public guess of the number of rows; give a whole number", code="LW315"
        )
    asked: Any = {"epsilon": epsilon, "delta": delta, "rho": rho, "mechanism": mechanism, "seed": _SEED}
    if is_linked(schema):
        refuse_settings_of_one(neighbours=neighbours, public_tables=public_tables, prior=prior, memory=memory)
        return cast("Plan", _linked(schema, expected_rows=expected_rows, shares=shares, **asked))
    refuse_shares_of_one(shares)
    limit = read_memory(memory)
    settings = read_settings(
        schema,
        neighbours=neighbours,
        expected_rows=cast("int", expected_rows),
        public_tables=public_tables,
        prior=prior,
        **asked,
    )
    found = _plan_of(settings, is_default=mechanism is None)
    if limit is not None:
        check_fits(found.effort.memory, limit, found.expected_rows)
    return found


def _plan_of(settings: Settings, *, is_default: bool, is_part: bool = False) -> Plan:
    """Return the plan of one table; that of a part says less of what else could be asked for."""
    rows = settings.expected_rows
    assert rows is not None, "a plan needs expected_rows"
    terms = expected_terms(settings.relation, settings.schema, rows)
    found = planned(settings, terms)
    return Plan(
        mechanism=settings.mechanism.name,
        settings=settings_of(settings.mechanism),
        reason=_reason(settings, is_default=is_default),
        request=settings.request,
        lines=tuple(line for question in found.questions for line in CostLine.planned(question, terms)),
        relation=terms.relation,
        privacy_unit=settings.schema.unit_label,
        max_rows=terms.max_rows,
        has_public_rows=terms.rows is not None,
        expected_rows=rows,
        accuracy=found.accuracy,
        effort=effort_of(settings, found.questions, terms, rows),
        delta_gain=None if is_part else _delta_gain(settings, terms, found),
        max_rows_effects=() if is_part else max_rows_effects(settings, terms, found, rows),
        assumed_fields=fields_of_origin(settings.schema, "assumed"),
        dp_fields=fields_of_origin(settings.schema, "dp"),
        notes=found.notes if is_part else (*found.notes, *forbidden(spending_of(settings))),
    )


def _linked(schema: object, *, mechanism: object, **asked: Any) -> LinkedPlan:  # noqa: ANN401
    """Return the plan of linked tables; asked: as `read_linked_settings`."""
    settings = read_linked_settings(schema, mechanism=mechanism, transcript=None, **asked)
    lacking = [name for name, part in settings.parts.items() if part.expected_rows is None]
    if lacking:
        such = ", ".join(f"{name!r}: {1000 * number}" for number, name in enumerate(settings.parts, 1))
        raise ParameterError(
            f"a plan needs the expected number of rows of each table, and that of {', '.join(lacking)} is missing; "
            f"give expected_rows such as {{{such}}}",
            code="LW315",
        )
    named = mechanism if isinstance(mechanism, Mapping) else dict.fromkeys(settings.parts, mechanism)
    parts = {
        name: _plan_of(part, is_default=named.get(name) is None, is_part=True) for name, part in settings.parts.items()
    }
    return LinkedPlan(
        linked=settings.linked,
        request=settings.request,
        parts=parts,
        effort=together([part.effort for part in parts.values()]),
        notes=forbidden(spending_of(settings)),
    )


def _reason(settings: Settings, *, is_default: bool) -> str:
    """Say why this mechanism."""
    rule = why_default(settings.schema)
    return rule if is_default else f"It was asked for ({rule})"


def _delta_gain(settings: Settings, terms: Terms, plan: Planned) -> DeltaGain | None:
    """Plan again with a δ, or without the one that was asked for."""
    request = settings.request
    if request.epsilon is None or any(isinstance(each, SparseCounts) and each.is_filtered for each in plan.questions):
        return None  # a filtered grid has other cells at another noise, whose errors do not compare
    try:
        other = read_request(epsilon=request.epsilon, delta=SUGGESTED_DELTA if request.delta is None else None)
        changed = planned(replace(settings, request=other), terms)
    except ParameterError:
        return None  # too little budget for a δ
    here, there = common_figure([(plan, terms), (changed, terms)])
    what = here.kind if here.text == plan.accuracy[0].text else here.text
    values = (here.value or 0.0, there.value or 0.0)
    pure, with_delta = values if request.delta is None else reversed(values)
    return DeltaGain(what=what, delta=float(request.delta or SUGGESTED_DELTA), pure=pure, with_delta=with_delta)
