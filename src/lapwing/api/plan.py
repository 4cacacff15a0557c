"""`lapwing.plan`: what a release would cost, and how exact it would be, before any row is read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number, read_request
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import WHY_DEFAULT, settings_of
from lapwing.model.certificate.certificate import CostLine
from lapwing.model.certificate.cost_lines import PlannedRelease
from lapwing.model.certificate.promise import fields_of_origin
from lapwing.on_demand import extra
from lapwing.release.plans import DeltaGain, Plan
from lapwing.release.runs.plan.effort import Memory, check_fits, effort_of, max_rows_effects, read_memory, together
from lapwing.release.runs.plan.planning import common_figure, expected_terms, foreseen, plan_release
from lapwing.release.runs.reading import read_settings
from lapwing.release.runs.settings import Settings, TableSettings, spending_of
from lapwing.release.runs.shares import USUAL_DELTA
from lapwing.rows.entry import private_boundary
from lapwing.schema.linked.database import LinkedTables
from lapwing.typing import MechanismLike, PriorLike, PublicTablesLike, Relation, SchemaLike

_SEED: Final = 0


@private_boundary
def plan(
    schema: SchemaLike,
    *,
    expected_rows: int | Mapping[str, int],
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismLike | Mapping[str, MechanismLike] | None = None,
    neighbours: Relation = "add-remove",
    public_tables: PublicTablesLike | None = None,
    prior: PriorLike = None,
    memory: Memory = None,
    shares: Mapping[str, Number] | None = None,
) -> Plan:
    """Say what a release would cost and how exact it would be, before any row is read.

    Parameters
    ----------
    schema : Schema, path or mapping
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
        The same one for the same settings: simulations have a fixed seed. Of linked tables and of events it has a plan
        for each in ``parts``.

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
    >>> plan(schema, expected_rows=1000, epsilon=1, mechanism="Independent")  # doctest: +ELLIPSIS
    Plan(Independent, ε = 1, 1 noisy table and 1 invalid-row count, expected error 0.00456 (total variation) at ...)
    """
    if expected_rows is None:
        raise ParameterError(
            "a plan needs expected_rows, a public guess of the number of rows; give a whole number", code="LW315"
        )
    settings = read_settings(
        schema,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mechanism=mechanism,
        neighbours=neighbours,
        expected_rows=expected_rows,
        seed=_SEED,
        shares=shares,
        public_tables=public_tables,
        prior=prior,
    )
    limit = read_memory(memory)
    if settings.linked is None:
        found = _plan_of(settings.first, is_default=mechanism is None)
        found = replace(found, notes=(*found.notes, *extra("policy").forbidden(spending_of(settings))))
    else:
        found = _linked(settings, settings.linked, mechanism)
    if limit is not None:
        check_fits(found.effort.memory, limit, 0)
    return found


def _plan_of(settings: TableSettings, *, is_default: bool, is_part: bool = False) -> Plan:
    """Return the plan of one table; that of a part says less of what else could be asked for."""
    rows = settings.expected_rows
    assert rows is not None, "a plan needs expected_rows"
    terms = expected_terms(settings.relation, settings.schema, rows)
    found = plan_release(settings, terms)
    return Plan(
        mechanism=settings.mechanism.name,
        settings=settings_of(settings.mechanism),
        reason=_reason(is_default=is_default),
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
        notes=found.notes,
        foreseen=foreseen(settings, terms, found.questions, rows),
    )


def _linked(settings: Settings, linked: LinkedTables, mechanism: object) -> Plan:
    """Return the plan of linked tables; mechanism: as it was given."""
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
    return Plan.of_tables(
        linked,
        settings.request,
        parts,
        effort=together([part.effort for part in parts.values()]),
        notes=extra("policy").forbidden(spending_of(settings)),
    )


def _reason(*, is_default: bool) -> str:
    """Say why this mechanism."""
    return WHY_DEFAULT if is_default else f"It was asked for ({WHY_DEFAULT})"


def _delta_gain(settings: TableSettings, terms: Terms, plan: PlannedRelease) -> DeltaGain | None:
    """Plan again with a δ, or without the one that was asked for."""
    request = settings.request
    filtered = (each for each in plan.questions if isinstance(each, SparseCounts) and each.threshold is not None)
    if request.epsilon is None or any(filtered):
        return None  # a filtered grid has other cells at another noise, whose errors do not compare
    try:
        other = read_request(epsilon=request.epsilon, delta=USUAL_DELTA if request.delta is None else None)
        changed = plan_release(replace(settings, request=other), terms)
    except ParameterError:
        return None  # too little budget for a δ
    here, there = common_figure([(plan, terms), (changed, terms)])
    values = (here.value or 0.0, there.value or 0.0)
    pure, with_delta = values if request.delta is None else reversed(values)
    return DeltaGain(what=here.code, delta=float(request.delta or USUAL_DELTA), pure=pure, with_delta=with_delta)
