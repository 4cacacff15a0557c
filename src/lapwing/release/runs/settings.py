"""The settings of a release, checked before any row is read."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, cast

from lapwing.errors import ParameterError, SchemaError
from lapwing.kernel.budget.budget import Budget, BudgetRequest, read_request
from lapwing.kernel.codec import SELDOM, Codec, Leaf
from lapwing.kernel.plain import read_exact, read_key, read_keys
from lapwing.kernel.terms import Relation, Terms
from lapwing.mechanisms.registry import (
    Trusted,
    default_mechanism,
    is_known,
    make_mechanism,
    name_in_files,
    settings_of,
)
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.release.runs.public_rows import (
    file_digests,
    points_digest,
    prior_digests,
    recorded_rows,
    with_public_points,
)
from lapwing.release.runs.public_tables import check_priors
from lapwing.release.runs.spending import Spending
from lapwing.rows.out.outputs import check_made_up
from lapwing.schema.linked.database import LinkedTables, with_files
from lapwing.schema.public_tables.cells import public_total
from lapwing.schema.scalars import safe_repr
from lapwing.schema.schemas import Schema

MOST_MISFITS: Final = Fraction(1, 10)
LINKED_RELATION: Final[Relation] = "add-remove"
"""The one of several tables: under replace-one the number of units would be public, and a unit may have no row."""

_MISFIT_SHARES: Final = (Fraction(1, 200), Fraction(1, 25))
"""Least and largest part of a budget that asks how many rows hold a misfit; the largest where nobody expects a number
of rows. At epsilon 1 half of 900 rows is then surely seen not to fit, and all of 400."""
_MISFIT_COSTS: Final = {"pure": 36, "zcdp": 162}
"""Costs, with one row per unit, times the number of rows, or its square, that show half of these rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """Everything public that fixes the release of a table.

    schema: not a draft, with at least one modelled column; request: what was asked for, and the budget it grants;
    most_misfits: share of a column's cells above which noisy counts end the release, 0 to 1: never; misfit_share: part
    of the budget that says first how many rows hold a misfit, None: nothing is asked; keys: whether it also says how
    many rows of a linked table have a key that no row of the table above has.
    """

    document: ClassVar = (
        *("schema", "mechanism", "request", "relation", "expected_rows", "seed", "is_seeded", "most_misfits"),
        *("misfit_share", "keys", "points?", "priors?", "files?"),
    )

    schema: Schema
    mechanism: Mechanism
    request: BudgetRequest
    relation: Relation
    expected_rows: int | None
    seed: int
    is_seeded: bool
    most_misfits: Fraction = field(default=Fraction(1), metadata=SELDOM)
    misfit_share: Fraction | None = field(default=None, metadata=SELDOM)
    keys: bool = field(default=False, metadata=SELDOM)

    selection_delta: ClassVar[Fraction] = Fraction(0)
    """The part of δ that selections of texts take: none."""

    def __post_init__(self) -> None:
        checked_relation(self.relation, self.mechanism)
        if not 0 <= self.seed < 2**128:
            raise ParameterError("the seed of a release must be from 0 to 2**128 - 1", code="LW643")
        if not 0 <= self.most_misfits <= 1 or not (self.misfit_share is None or 0 < self.misfit_share < 1):
            raise ParameterError("misfits of a release must be from 0 to 1, their share between these", code="LW643")

    @property
    def name(self) -> str:
        """What the budget is spent on: the mechanism."""
        return self.mechanism.name

    @property
    def points(self) -> str | None:
        """Which rows public points are. Whoever resumes must find the same: a file of one name could hold others."""
        return points_digest(self.mechanism)

    @property
    def priors(self) -> tuple[str, ...] | None:
        """Which rows priors are."""
        return tuple(prior_digests(self.mechanism)) or None

    @property
    def files(self) -> Mapping[str, str] | None:
        """Which files these are of."""
        return file_digests(self.mechanism) or None

    @classmethod
    def from_dict(cls, values: object) -> "TableSettings":
        """Read back what `SETTINGS` wrote. No path in it is followed; `with_recorded_rows` reads its public rows."""
        # What schema and mechanism refuse is told as it is.
        schema, mechanism = (read_key(values, key, dict) for key in ("schema", "mechanism"))
        return SETTINGS.read(cls, values, schema=usable_schema(schema), mechanism=_mechanism(mechanism))

    def with_recorded_rows(self, values: Mapping[str, Any], *, is_mended: bool = False) -> "TableSettings":
        """Return what `from_dict` read back with the public rows that it names, as far as they are those recorded.

        is_mended: whether the schema is another one by now, which gives the same rows other codes.
        """
        paid = (self.request.budget, self.relation)
        recorded: dict[str, object] = {} if is_mended else {key: values.get(key) for key in ("points", "priors")}
        files = values.get("files", {})
        return replace(
            self, mechanism=recorded_rows(self.mechanism, self.schema, self.seed, paid, files=files, codes=recorded)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything public that fixes a release, apart from where it is recorded.

    parts: by table, each as if it had been asked for by itself, and by "" where it is the only one; their budgets sum
    to the request's; linked: how several tables hang together, None of one.
    """

    document: ClassVar = ("linked", "request", "parts", "published?")

    request: BudgetRequest
    parts: Mapping[str, TableSettings]
    linked: LinkedTables | None = None

    @classmethod
    def of_one(cls, part: TableSettings) -> "Settings":
        """Return the settings of a release of one table."""
        return cls(request=part.request, parts={"": part})

    @property
    def selection_delta(self) -> Fraction:
        """That of all parts."""
        return self.first.selection_delta

    @property
    def first(self) -> TableSettings:
        """The part of the first table, which may be the only one."""
        return next(iter(self.parts.values()))

    @property
    def name(self) -> str:
        """What the budget is spent on: all mechanisms."""
        names = " and ".join(part.mechanism.name for part in self.parts.values())
        return names if self.linked is None else f"linked {names}"

    @property
    def schema(self) -> Schema:
        """Gives the privacy unit: as many rows of the first table's key as the largest table may have."""
        return max((part.schema for part in self.parts.values()), key=lambda schema: schema.max_rows)

    @property
    def relation(self) -> Relation:
        """That of all parts."""
        return self.first.relation

    @property
    def published(self) -> Mapping[str, str] | None:
        """Which files public tables are of."""
        lookups = () if self.linked is None else self.linked.lookups
        return {each.name: each.file for each in lookups if each.file} or None

    @classmethod
    def from_dict(cls, values: object) -> "Settings":
        """Read back what `SETTINGS` wrote; refuse parts that are of other tables, or spend other than is paid."""
        if not isinstance(values, dict) or "linked" not in values:
            return cls.of_one(TableSettings.from_dict(values))
        parts = {name: TableSettings.from_dict(part) for name, part in read_key(values, "parts", dict).items()}
        linked = LinkedTables.from_dict(read_key(values, "linked", dict))
        found = _PARTS.read(cls, values, parts=parts, linked=linked)
        if tuple(parts) != linked.names or any(not _is_part(each, linked.coded[name]) for name, each in parts.items()):
            raise ParameterError("the parts of a release must be of its tables", code="LW643")
        whole = found.request.budget
        own = [part.request.budget for part in parts.values()]
        if {each.notion for each in own} != {whole.notion} or sum(each.amount for each in own) != whole.amount:
            raise ParameterError("the budgets of the parts of a release must sum to its own", code="LW643")
        return replace(found, linked=with_files(linked, values.get("published")))

    def with_recorded_rows(self, values: Mapping[str, Any]) -> "Settings":
        """Return what `from_dict` read back with the public rows of its parts."""
        of = {"": values} if self.linked is None else values["parts"]
        parts = {name: part.with_recorded_rows(of[name]) for name, part in self.parts.items()}
        return replace(self, parts=parts)


def _is_part(settings: TableSettings, coded: Schema) -> bool:
    """Return whether settings are of a table of several; no prior may be, whose rows would be read."""
    has_prior = getattr(settings.mechanism, "prior", None) is not None
    is_ended_by_misfits = settings.most_misfits < 1  # it could not go on under a mended schema
    return settings.schema == coded and settings.relation == LINKED_RELATION and not (has_prior or is_ended_by_misfits)


def misfit_share(budget: Budget, max_rows: int, rows: int | None) -> Fraction:
    """Return which part of a budget asks how many rows hold a misfit; less where more rows are expected.

    >>> [misfit_share(Budget.pure(1), 1, rows) for rows in (None, 900, 1800, 10**6)]
    [Fraction(1, 25), Fraction(1, 25), Fraction(1, 50), Fraction(1, 200)]
    """
    least, most = _MISFIT_SHARES
    if rows is None:
        return most
    known = Fraction(max_rows, rows) ** (1 if budget.notion == "pure" else 2)
    return max(least, min(most, _MISFIT_COSTS[budget.notion] * known / budget.amount))


def table_settings(
    schema: Schema,
    mechanism: object,
    request: BudgetRequest,
    neighbours: str,
    expected: object,
    *,
    seed: int,
    is_seeded: bool,
) -> TableSettings:
    """Return the settings of one table."""
    check_made_up(schema.fields)
    chosen = usable_mechanism(mechanism)
    check_priors(schema, chosen)
    relation = checked_relation(neighbours, chosen)  # before public points are read
    rows = public_total(schema) if expected is None else cast("Any", expected)
    rows = Terms(relation=relation, max_rows=schema.max_rows, expected_rows=rows).expected_rows
    return TableSettings(
        schema=schema,
        mechanism=with_public_points(chosen, schema, seed),
        request=request,
        relation=relation,
        expected_rows=rows,
        seed=seed,
        is_seeded=is_seeded,
    )


def usable_schema(schema: object) -> Schema:
    """Load a schema and refuse drafts and schemas without anything to model."""
    checked = Schema.load(cast("Any", schema)).one_table
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


def usable_mechanism(mechanism: object) -> Mechanism:
    """Return the mechanism given as such, by name, or by default; code of others only where the caller trusts it."""
    if mechanism is None:
        return default_mechanism()
    if isinstance(mechanism, str):
        return make_mechanism(mechanism, {})
    given = mechanism.mechanism if isinstance(mechanism, Trusted) else mechanism
    if not isinstance(given, Mechanism):
        raise ParameterError(
            f"mechanism must be a name or settings such as Independent(), got {safe_repr(given)}; derive a class of "
            "your own from lapwing.Mechanism",
            code="LW305",
        )
    if given is mechanism and not is_known(given):
        kind = type(given)
        raise ParameterError(
            f"{kind.__module__}.{kind.__qualname__} is no mechanism of Lapwing's, and its code would run beside the "
            "private rows; give lapwing.Trusted(...) of it if you trust that code, and the certificate will say so",
            code="LW312",
        )
    return given


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


def spending_of(settings: Any) -> Spending:  # noqa: ANN401 - all that is paid for
    """Return what a policy looks at; somebody else's mechanism cannot take the name of one of Lapwing's."""
    return Spending(
        runs=tuple(
            name_in_files(each.mechanism) if isinstance(each, TableSettings) else each.name
            for each in settings.parts.values()
        ),
        budget=settings.request.budget,
        delta=settings.request.delta or Fraction(0),
        selection_delta=settings.selection_delta,
        relation=settings.relation,
        privacy_unit=settings.schema.unit_label,
    )


def _mechanism(values: object) -> Mechanism:
    """Make the mechanism of a transcript."""
    read_keys(values, "name", "settings")
    return make_mechanism(read_key(values, "name", str), read_key(values, "settings", dict))


def _request(values: object) -> BudgetRequest:
    """Read back what was asked for."""
    return read_request(**asdict(SETTINGS.read(RequestedBudget, values)))


_LEAVES: Final[Mapping[Any, Leaf]] = {
    BudgetRequest: (lambda request: SETTINGS.write(RequestedBudget.of(request)), _request),
    Fraction: (str, read_exact),
    LinkedTables: (LinkedTables.to_dict, LinkedTables.from_dict),
    Mechanism: (lambda each: {"name": name_in_files(each), "settings": settings_of(each)}, _mechanism),
    Schema: (Schema.to_dict, usable_schema),
}
_PARTS: Final[Codec] = Codec(_LEAVES)
SETTINGS: Final[Codec] = Codec(
    {
        Settings: (lambda each: _PARTS.write(each if each.linked else each.first), Settings.from_dict),
        **_LEAVES,
    }
)
"""How settings stand in transcripts: of one table without a list of tables."""
