"""The settings of a release, checked before any row is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from lapwing.errors import ParameterError, SchemaError
from lapwing.kernel.budget.budget import BudgetRequest, Number, read_request
from lapwing.kernel.terms import Relation, Terms
from lapwing.mechanisms.registry import (
    Trusted,
    default_mechanism,
    is_known,
    make_mechanism,
    name_in_files,
    settings_of,
)
from lapwing.mechanisms.shared.registration import Mechanism
from lapwing.runs.generators import checked_seed, fresh_seed
from lapwing.runs.public_points import points_digest, with_public_points
from lapwing.runs.public_tables import check_priors, with_public_tables
from lapwing.schema.public_tables.cells import public_total
from lapwing.schema.scalars import told
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything public that fixes a release, apart from where it is recorded.

    schema: not a draft, with at least one modelled column; request: what was asked for, and the budget it grants.
    """

    schema: Schema
    mechanism: Mechanism
    request: BudgetRequest
    relation: Relation
    expected_rows: int | None
    seed: int
    is_seeded: bool

    @property
    def name(self) -> str:
        """What the budget is spent on: the mechanism."""
        return self.mechanism.name

    @property
    def selection_delta(self) -> Fraction:
        """Zero: a release selects nothing from its rows."""
        return Fraction(0)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values, for the transcript."""
        request = self.request
        asked = {"epsilon": request.epsilon, "delta": request.delta, "rho": request.rho}
        points = points_digest(self.mechanism)
        return {
            "schema": self.schema.to_dict(),
            "mechanism": {"name": name_in_files(self.mechanism), "settings": settings_of(self.mechanism)},
            "request": {key: None if value is None else str(value) for key, value in asked.items()},
            "relation": self.relation,
            "expected_rows": self.expected_rows,
            "seed": self.seed,
            "is_seeded": self.is_seeded,
            # Whoever resumes must find the same public rows: the name of a file alone could come to stand for others.
            **({} if points is None else {"points": points}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Settings":
        """Read back what `to_dict` wrote."""
        schema = usable_schema(values["schema"])
        mechanism = make_mechanism(values["mechanism"]["name"], values["mechanism"]["settings"])
        mechanism = with_public_points(mechanism, schema, values["seed"])
        return cls(
            schema=schema,
            mechanism=mechanism,
            request=read_request(**values["request"]),
            relation=checked_relation(values["relation"], mechanism),
            expected_rows=values["expected_rows"],
            seed=values["seed"],
            is_seeded=values["is_seeded"],
        )


def read_settings(
    schema: object,
    *,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    mechanism: object,
    neighbours: str,
    expected_rows: int | None,
    seed: int | None,
    public_tables: object = None,
) -> Settings:
    """Check the settings of `lapwing.synthesize`; see there for their meaning."""
    request = read_request(epsilon=epsilon, delta=delta, rho=rho)
    checked = with_public_tables(usable_schema(schema), public_tables)
    chosen = usable_mechanism(mechanism, checked)
    check_priors(checked, chosen)
    if expected_rows is None:
        expected_rows = public_total(checked)
    relation = checked_relation(neighbours, chosen)
    if expected_rows is not None and (isinstance(expected_rows, bool) or not isinstance(expected_rows, int)):
        raise ParameterError(
            f"expected_rows must be a whole number, got {told(expected_rows)}; give a public guess", code="LW315"
        )
    Terms(relation=relation, max_rows=checked.max_rows, expected_rows=expected_rows)
    own = checked_seed(seed)
    used = fresh_seed() if own is None else own
    return Settings(
        schema=checked,
        mechanism=with_public_points(chosen, checked, used),
        request=request,
        relation=relation,
        expected_rows=expected_rows,
        seed=used,
        is_seeded=own is not None,
    )


def usable_schema(schema: object) -> Schema:
    """Load a schema and refuse drafts and schemas without anything to model."""
    checked = Schema.load(cast("Any", schema))
    if checked.is_draft:
        checked.check_complete()
        raise SchemaError(
            "the schema is a draft: its owner must fill in bounds and categories from public knowledge and remove "
            '"draft": true before it can be used',
            code="LW203",
        )
    if not checked.columns:
        raise SchemaError(
            "the schema has no column to model: every field is an identifier; declare at least one other field",
            code="LW209",
        )
    return checked


def usable_mechanism(mechanism: object, schema: Schema) -> Mechanism:
    """Return the mechanism given as such, by name, or by default; code of others only where the caller trusts it."""
    if mechanism is None:
        return default_mechanism(schema)
    if isinstance(mechanism, str):
        return make_mechanism(mechanism, {})
    if isinstance(mechanism, Trusted):
        return mechanism.mechanism
    if isinstance(mechanism, type) or not hasattr(mechanism, "run"):
        raise ParameterError(
            f"mechanism must be a name or settings such as Independent(), got {told(mechanism)}", code="LW305"
        )
    if not is_known(mechanism):
        kind = type(mechanism)
        raise ParameterError(
            f"{kind.__module__}.{kind.__qualname__} is no mechanism of Lapwing's, and its code would run beside the "
            "private rows; give lapwing.Trusted(...) of it if you trust that code, and the certificate will say so",
            code="LW312",
        )
    return cast("Mechanism", mechanism)


def checked_relation(neighbours: str, mechanism: Mechanism) -> Relation:
    """Return the neighbour relation, if the mechanism supports it."""
    relation = Terms(relation=cast("Relation", neighbours)).relation
    if relation not in mechanism.relations:
        raise ParameterError(
            f"{mechanism.name} supports the neighbour relation {', '.join(mechanism.relations)}, got {relation}; set "
            "neighbours",
            code="LW314",
        )
    return relation
