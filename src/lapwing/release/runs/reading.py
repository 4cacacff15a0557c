"""Read the settings of a release, as `lapwing.synthesize` and `lapwing.plan` take them, of one table or of several."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, cast

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget, Number, exact_number, read_request
from lapwing.mechanisms.registry import default_mechanism, looks_at_misfits
from lapwing.release.runs.generators import chosen_seed
from lapwing.release.runs.public_rows import with_priors
from lapwing.release.runs.public_tables import PublicTable, given_public_tables, with_public_tables
from lapwing.release.runs.settings import (
    LINKED_RELATION,
    MOST_MISFITS,
    Settings,
    TableSettings,
    misfit_share,
    table_settings,
    usable_schema,
)
from lapwing.schema.linked.coded import SMALL
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.scalars import safe_repr
from lapwing.schema.schemas import Schema

_ROWS_OF_OTHERS: Final = 4
"""A table of rows of others counts in its share as four tables of as many columns: noise grows with the rows of a unit,
and these are on average half as many as may be used."""

_WHY_NOT: Final = {
    "neighbours": "under replace-one the number of keys would be public, and a key may have no row",
    "misfits": "they go on under no mended schema, so that they end only where most rows of a table are lost",
    "prior": 'a prior is rows of one table; let public tables that "hold" as "prior" be where a model starts',
    "memory": "their rows are put together in memory; lapwing.plan(..., memory=...) says whether that is enough",
}


def read_settings(
    schema: object,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: object = None,
    neighbours: str = "add-remove",
    expected_rows: object = None,
    seed: int | None = None,
    shares: Mapping[str, Number] | None = None,
    public_tables: object = None,
    prior: object = None,
    misfits: Number = MOST_MISFITS,
    transcript: Path | None = None,
) -> Settings:
    """Check the settings of `lapwing.synthesize`; see there for their meaning.

    transcript: where it is or is to be; one that is there gives the seed that was drawn for it.
    """
    checked, most = Schema.load(cast("Any", schema)), exact_number("misfits", misfits)
    if not 0 <= most <= 1:
        raise ParameterError(
            f"misfits must be a share from 0 to 1, got {safe_repr(misfits)}; write for example 0.1, or 1 for any "
            "number",
            code="LW304",
        )
    if checked.linked is not None:
        refuse_settings_of_one(
            neighbours=None if neighbours == LINKED_RELATION else neighbours,
            misfits=None if most == MOST_MISFITS else misfits,
            prior=prior,
        )
    elif shares is not None:
        raise ParameterError(
            f"shares are of linked tables, got {safe_repr(shares)} for one; leave it out", code="LW252"
        )
    request = read_request(epsilon=epsilon, delta=delta, rho=rho)
    drawn: Any = {"seed": chosen_seed(seed, transcript), "is_seeded": seed is not None}
    if checked.linked is not None:
        linked = _with_public_tables(checked.linked, public_tables)
        budgets = request.budget.split(_shares(linked, shares))
        mechanisms, expected = _by_table(linked, "mechanism", mechanism), _expected(linked, expected_rows)
        parts = {
            name: _part(linked, name, mechanisms.get(name), budget, expected.get(name), **drawn)
            for name, budget in zip(linked.names, budgets, strict=True)
        }
        return Settings(request=request, parts=parts, linked=linked)
    one = with_public_tables(usable_schema(checked), public_tables)
    part = table_settings(one, mechanism, request, neighbours, cast("Any", expected_rows), **drawn)
    read = with_priors(part.mechanism, one, prior, (request.budget, part.relation))
    is_asked = most < 1 and not looks_at_misfits(read)
    share = misfit_share(request.budget, one.max_rows, part.expected_rows) if is_asked else None
    return Settings.of_one(replace(part, mechanism=read, most_misfits=most, misfit_share=share))


def refuse_settings_of_one(**given: object) -> None:
    """Refuse settings that releases of linked tables do not take, and say why."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                f"linked tables and events in order take no {name}, got {safe_repr(value)}: {_WHY_NOT[name]}",
                code="LW252",
            )


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
                f"{what} names the table {safe_repr(name)}, which is not there; tables are {', '.join(linked.names)}",
                code="LW301",
            )


def _part(
    linked: LinkedTables,
    name: str,
    mechanism: object,
    budget: Budget,
    expected: object,
    **drawn: Any,  # noqa: ANN401
) -> TableSettings:
    """Return the settings of one part, as if it had been asked for by itself: too small an amount is refused."""
    schema = usable_schema(linked.coded[name])
    own = read_request(epsilon=budget.amount) if budget.notion == "pure" else read_request(rho=budget.amount)
    part = table_settings(schema, mechanism or _usual(linked, name), own, LINKED_RELATION, expected, **drawn)
    if getattr(part.mechanism, "prior", None) is not None:  # also of a mechanism that the caller trusts
        raise ParameterError("releases of linked tables take no prior; leave it out of the mechanism", code="LW252")
    keys = not linked.is_events and linked.table(name).parent == linked.names[0]
    if looks_at_misfits(part.mechanism) and not keys:
        return part
    return replace(part, misfit_share=misfit_share(budget, schema.max_rows, part.expected_rows), keys=keys)
