"""The settings of a release of linked tables, checked before any row is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Final, cast

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.budget import Budget, BudgetRequest, Number, exact_number, read_request
from lapwing.kernel.questions.misfit_rows.question import NoisyRows
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.terms import Relation
from lapwing.mechanisms.registry import default_mechanism, looks_at_misfits
from lapwing.model.bounds import rows_range
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import Requested
from lapwing.model.certificate.declared import FALSE_WARNING
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs.certify import promised_epsilons
from lapwing.release.runs.generators import chosen_seed
from lapwing.release.runs.misfits import KEYS, row_shares, rows_limit
from lapwing.release.runs.public_tables import PublicTable, given_public_tables
from lapwing.release.runs.settings import SETTINGS, TableSettings, misfit_share, table_settings, usable_schema
from lapwing.schema.linked.coded import SMALL
from lapwing.schema.linked.database import LinkedTables, with_files
from lapwing.schema.scalars import quote, told
from lapwing.schema.schemas import Schema

_RELATION: Final[Relation] = "add-remove"
"""The one relation: under replace-one the number of units would be public, and a unit may have no row."""

_ROWS_OF_OTHERS: Final = 4
"""A table of rows of others counts in its share as four tables of as many columns: noise grows with the rows of a unit,
and these are on average half as many as may be used."""


_FEW: Final = 0.05
_MOST_LOST: Final = 0.5
"""Share of a table's rows that hold a misfit, or have no parent, above which a release ends."""
_MOST_MISFITS: Final = 0.1  # of the cells of each column, as for a table by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedSettings:
    """Everything public that fixes a release of linked tables, apart from where it is recorded.

    parts: by table, each as if it had been asked for by itself; their budgets sum to the request's.
    """

    document: ClassVar = ("linked", "request", "parts", "published?")

    linked: LinkedTables
    parts: Mapping[str, TableSettings]
    request: BudgetRequest

    @property
    def first(self) -> TableSettings:
        """The part of the first table."""
        return next(iter(self.parts.values()))

    @property
    def selection_delta(self) -> Fraction:
        """The part of δ that selections of texts take: none."""
        return Fraction(0)

    @property
    def expected_rows(self) -> None:
        """None: each part has its own."""

    @property
    def name(self) -> str:
        """What the budget is spent on: all mechanisms."""
        return f"linked {' and '.join(part.name for part in self.parts.values())}"

    @property
    def schema(self) -> Schema:
        """Gives the privacy unit: as many rows of the first table's key as the largest table may have."""
        return max((part.schema for part in self.parts.values()), key=lambda schema: schema.max_rows)

    @property
    def relation(self) -> Relation:
        """That of all parts."""
        return _RELATION

    @property
    def published(self) -> Mapping[str, str] | None:
        """Which files public tables are of."""
        return {each.name: each.file for each in self.linked.lookups if each.file} or None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "LinkedSettings":
        """Read back what `SETTINGS` wrote, as `Settings` does; a ValueError where parts spend other than is debited."""
        if any(part["mechanism"]["settings"].get("prior") for part in values["parts"].values()):
            raise ValueError  # before its rows are read
        parts = {name: TableSettings.from_dict(part) for name, part in values["parts"].items()}
        linked = LinkedTables.from_dict(values["linked"])
        found = SETTINGS.read(cls, values, parts=parts, linked=linked)
        if tuple(parts) != linked.names or any(part.schema != linked.coded[name] for name, part in parts.items()):
            raise ValueError
        first, *others = (part.request.budget for part in parts.values())
        if sum(others, first) != found.request.budget or any(part.relation != _RELATION for part in parts.values()):
            raise ValueError
        return replace(found, linked=with_files(linked, values.get("published")))

    def with_recorded_rows(self, values: Mapping[str, Any]) -> "LinkedSettings":
        """Return what `from_dict` read back with the public rows of its parts."""
        return replace(
            self, parts={name: part.with_recorded_rows(values["parts"][name]) for name, part in self.parts.items()}
        )


def read_linked_settings(
    linked: LinkedTables,
    *,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    shares: Mapping[str, Number] | None,
    mechanism: object,
    expected_rows: object,
    seed: int | None,
    transcript: Path | None,
    public_tables: object = None,
) -> LinkedSettings:
    """Check the settings of `lapwing.synthesize` with linked tables; see there for their meaning.

    mechanism, expected_rows: one for all tables, or by table; transcript: where the transcript is or is to be; one that
    is there gives the seed that was drawn for it.
    """
    linked = _with_public_tables(linked, public_tables)
    request = read_request(epsilon=epsilon, delta=delta, rho=rho)
    used = chosen_seed(seed, transcript)
    budgets = request.budget.split(_shares(linked, shares))
    mechanisms, expected = _by_table(linked, "mechanism", mechanism), _expected(linked, expected_rows)
    parts = {
        name: _part(
            usable_schema(linked.coded[name]),
            mechanisms.get(name) or _usual(linked, name),
            budget,
            expected.get(name),
            (used, seed is not None),
            keys=not linked.is_events and linked.table(name).parent == linked.names[0],
        )
        for name, budget in zip(linked.names, budgets, strict=True)
    }
    return LinkedSettings(linked=linked, parts=parts, request=request)


def refuse_lost(settings: LinkedSettings, name: str, answer: NoisyRows) -> None:
    """End a release of which most rows of a table are lost, by a noisy count, before the rest of its budget is spent.

    A release of linked tables goes on under no mended schema: so fewer misfits than these end none, and are warned of.
    """
    table = settings.linked.table(name)
    said = {
        True: f"have a {quote(table.link)} that no row of {table.parent} has as its {quote(settings.linked.key)}: keys "
        "meet where they are written alike (00007 is not 7, nor is a text with a blank behind it), so write them alike "
        "in both tables",
        False: "hold a cell that fits nothing in the schema",
    }
    several = rows_limit(
        _MOST_MISFITS, len(answer.question.columns)
    )  # of many columns one in ten cells, here and there
    for kind, share in row_shares(answer).items():
        if share > max(_MOST_LOST, 0 if kind == KEYS else several):
            raise DataError(
                f"{name}: at least about {share:.0%} of the rows, by noisy counts, {said[kind == KEYS]}; the release "
                "ended before the rest of its budget was spent, and a new one pays anew; `lapwing schema check` says, "
                "free, what to mend",
                code="LW118",
            )


def few_warnings(answers: Sequence[Answer], of_parent: Sequence[Answer]) -> tuple[Notice, ...]:
    """Say where noisy counts show that there is hardly a row for any row of the table above."""
    below, above = (rows_range(each, Fraction(FALSE_WARNING) / 2) for each in (answers, of_parent))
    if below is None or above is None or below[1] >= _FEW * above[0]:
        return ()
    return (Notice("few_rows", {"rows": round(1 / _FEW)}),)


def certificate_of(settings: LinkedSettings, parts: Mapping[str, Certificate]) -> Certificate:
    """Return the certificate of all parts."""
    request = settings.request
    first, *others = (part.total for part in parts.values())
    total = sum(others, first)
    assert total.amount <= request.budget.amount, "each part spends at most its own budget, and these sum to the whole"
    epsilons = promised_epsilons(request, total)
    return Certificate.of_tables(settings.linked, parts, requested=Requested.of(request), epsilons=epsilons)


_WHY_NOT: Final = {
    "neighbours": "under replace-one the number of keys would be public, and a key may have no row",
    "misfits": "they go on under no mended schema, so that they end only where most rows of a table are lost",
    "prior": 'a prior is rows of one table; let public tables that "hold" as "prior" be where a model starts',
    "memory": "their rows are put together in memory; lapwing.plan(..., memory=...) says whether that is enough",
}


def refuse_settings_of_one(**given: object) -> None:
    """Refuse settings that releases of linked tables do not take, and say why."""
    usual = {"neighbours": "add-remove", "misfits": "0.1"}
    for name, value in given.items():
        if str(value) != usual[name] if name in usual else value is not None:
            raise ParameterError(
                f"linked tables and events in order take no {name}, got {told(value)}: {_WHY_NOT[name]}", code="LW252"
            )


def refuse_shares_of_one(shares: object) -> None:
    """Refuse shares of one table."""
    if shares is not None:
        raise ParameterError(f"shares are of linked tables, got {told(shares)} for one; leave it out", code="LW252")


def _with_public_tables(linked: LinkedTables, given: object) -> LinkedTables:
    """Return linked tables with more public totals, each of the table that has its columns."""
    more: dict[str, list[PublicTable]] = {}
    for each in given_public_tables(given):
        what = f"the public table of {', '.join(each.columns)}"
        more.setdefault(linked.home_of(each.columns, what, is_own=True), []).append(each)
    tables = [
        replace(
            table,
            schema=replace(table.schema, public_tables=(*table.schema.public_tables, *more.get(table.name, ()))),
        )
        for table in linked.tables
    ]
    return replace(linked, tables=tuple(tables)) if more else linked


def _usual(linked: LinkedTables, name: str) -> object:
    """Return the mechanism of a table by default; how a small column goes on from place to place matters more."""
    lag, schema, usual = linked.lag(name), linked.coded[name], default_mechanism()
    if lag is None:
        return usual
    small = {column: called for column, called in lag.previous.items() if schema.field(column).domain.size <= SMALL}
    by_place = [(column, called, lag.number) for column, called in small.items()]
    of_three = [(column, lag.previous[column], called) for column, called in lag.second.items()]
    to_the_end = [(column, lag.left) for column in small]
    return replace(cast("Any", usual), workload=(*by_place, *of_three, *to_the_end))


def _shares(linked: LinkedTables, shares: Mapping[str, Number] | None) -> tuple[Fraction, ...]:
    """Return each table's part of the budget: as given, or by the numbers of columns, so that errors are alike."""
    if shares is None:
        sizes = [
            len(linked.coded[table.name].columns) * (1 if table.parent is None else _ROWS_OF_OTHERS)
            for table in linked.tables
        ]
        weights = [round(100 * size ** (1 / 3)) for size in sizes]
        return tuple(Fraction(weight, sum(weights)) for weight in weights)
    _check_tables(linked, "shares", shares)
    found = tuple(exact_number(f"the share of {name}", shares.get(name, 0)) for name in linked.names)
    if any(share <= 0 for share in found) or sum(found) != 1:
        raise ParameterError(
            f"shares must be above 0 for each table and sum to 1, got {', '.join(f'{each}' for each in found)} for "
            f"{', '.join(linked.names)}",
            code="LW301",
        )
    return found


def _by_table(linked: LinkedTables, what: str, value: object) -> Mapping[str, object]:
    """Return one value for each table, which is given for all or by table."""
    if isinstance(value, Mapping):
        _check_tables(linked, what, value)
        return value
    return dict.fromkeys(linked.names, value)


def _expected(linked: LinkedTables, value: object) -> Mapping[str, object]:
    """Return the expected number of rows of each table; a single number is that of the first table that is given."""
    if value is None or isinstance(value, Mapping):
        return _by_table(linked, "expected_rows", value or {})
    return {linked.given[0]: value}


def _check_tables(linked: LinkedTables, what: str, value: Mapping[Any, Any]) -> None:
    """Refuse values by table that name another one."""
    for name in value:
        if name not in linked.names:
            raise ParameterError(
                f"{what} names the table {told(name)}, which is not there; tables are {', '.join(linked.names)}",
                code="LW301",
            )


def _part(
    schema: Schema,
    mechanism: object,
    budget: Budget,
    expected: Any,  # noqa: ANN401
    seed: tuple[int, bool],
    *,
    keys: bool,
) -> TableSettings:
    """Return the settings of one part, as if it had been asked for by itself: too small an amount is refused."""
    if getattr(mechanism, "prior", None) is not None:
        raise ParameterError("releases of linked tables take no prior; leave it out of the mechanism", code="LW252")
    own = read_request(epsilon=budget.amount) if budget.notion == "pure" else read_request(rho=budget.amount)
    found = table_settings(schema, mechanism, own, _RELATION, expected, seed=seed[0], is_seeded=seed[1])
    if looks_at_misfits(found.mechanism) and not keys:
        return found
    return replace(found, misfit_share=misfit_share(budget, schema.max_rows, found.expected_rows), keys=keys)
