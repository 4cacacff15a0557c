"""Generated neighbours of linked tables, and record and replay of all parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Final

import numpy as np
import polars as pl

from lapwing.api.running import run_release
from lapwing.extras.audit.replay import ReplayFindings, examine_release, together
from lapwing.extras.audit.worst_case import USUAL, Mode
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.release.runs.reading import read_settings
from lapwing.release.runs.settings import Settings
from lapwing.rows.linked import code_linked
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.schemas import Schema

Tables = dict[str, pl.DataFrame]
"""Tables by name."""

_Rows = list[dict[str, Any]]

KEY = {"name": "home", "type": "string", "role": "identifier"}
PERSON = {"name": "person", "type": "string", "role": "identifier"}
SCHEMA = LinkedTables.from_dict(
    {
        "tables": {
            "homes": {
                "primaryKey": "home",
                "fields": [
                    KEY,
                    {"name": "kind", "type": "string", "categories": ["a", "b"]},
                    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}},
                ],
            },
            "people": {
                "primaryKey": "person",
                "foreignKeys": {"home": "homes"},
                "maxRows": 3,
                "order": {"by": "age", "descending": True},
                "fields": [
                    KEY,
                    PERSON,
                    {"name": "flag", "type": "boolean", "constraints": {"required": True}},
                    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 5}},
                ],
            },
            "visits": {
                "foreignKeys": {"person": "people"},
                "maxRows": 2,
                "fields": [PERSON, {"name": "kind", "type": "string", "categories": ["a", "b"]}],
            },
        }
    }
)
_CELLS = {"kind": ("a", "b", "zzz", None), "age": ("0", "2", "5", "77", "x", None), "flag": ("true", "false", None)}
_HOMES = ("h1", "h2", "h3", "h4", "h5", "07", "7", None)
"""Texts of keys: one may be missing, and two look alike and are not."""
_MOVED: Final = "m"
"""The key of a person of several homes, whose visits are those of each, and stay when one of them goes."""


ORDERS: Final[tuple[Any, ...]] = ({"by": "age", "descending": True}, {"by": "age"}, None)
"""How the people of a home may be put in order."""


def with_most_rows(schema: LinkedTables, most: int, order: Any = ORDERS[0]) -> LinkedTables:  # noqa: ANN401
    """Return a schema under which every row of a parent has at most so many rows, and people an order or none."""
    source = schema.to_dict()
    for table in source["tables"].values():
        if "maxRows" in table:
            table["maxRows"] = most
    source["tables"]["people"].pop("order")
    source["tables"]["people"].update({} if order is None else {"order": order})
    return LinkedTables.from_dict(source)


def linked_pair(
    rng: np.random.Generator, schema: LinkedTables = SCHEMA, *, is_full: bool = False
) -> tuple[Tables, Tables]:
    """Return two databases of texts; one of them has one home more, with all that belongs to it.

    is_full: whether that home has as many people as it may, all of them of the next home too, of which they say other
    things, and each as many visits, all alike: what loses most.
    """
    homes = list(rng.permutation(np.array(_HOMES, dtype=object))[: rng.integers(1 + is_full, len(_HOMES) + 1)])
    full = [0, 1] if is_full else []
    rows = {home: _unit(rng, home, schema, full=value) for home, value in zip_longest(homes, full)}
    shared = [f"{_MOVED}{place}" for place in range(schema.table("people").max_rows)] if is_full else [_MOVED]
    visits = [visit for person in shared for visit in _visits(rng, person, schema, full=0 if is_full else None)]
    of_all = {"homes": [], "people": [], "visits": visits}
    all_of = _tables(rng, [of_all, *(rows[home] for home in homes)], schema)
    fewer = _tables(rng, [of_all, *(rows[home] for home in homes[1:])], schema)
    return (all_of, fewer) if rng.integers(2) else (fewer, all_of)


def _unit(
    rng: np.random.Generator, home: str | None, schema: LinkedTables, *, full: int | None = None
) -> dict[str, _Rows]:
    """Draw all rows of one home. Persons may lack a key or have one of another, and visits may be of nobody.

    full: for as many rows as there may be, the place of the value that all of them have.
    """
    most = schema.table("people").max_rows * (2 if full is None else 1)
    people = _rows(rng, {"home": home}, most, ("flag", "age"), full=full)
    persons = [f"{home}-{number}" for number in range(3)]
    for place, row in enumerate(people):
        drawn = (None, None, _MOVED, _MOVED, *persons)
        row["person"] = drawn[rng.integers(len(drawn))] if full is None else f"{_MOVED}{place}"
    visits = [visit for person in (None, *persons) for visit in _visits(rng, person, schema)]
    return {"homes": _rows(rng, {"home": home}, 2, ("kind", "age")), "people": people, "visits": visits}


def _visits(rng: np.random.Generator, person: str | None, schema: LinkedTables, *, full: int | None = None) -> _Rows:
    return _rows(rng, {"person": person}, 2 * schema.table("visits").max_rows, ("kind",), full=full)


def _rows(
    rng: np.random.Generator,
    keys: Mapping[str, str | None],
    most: int,
    names: Sequence[str],
    *,
    full: int | None = None,
) -> _Rows:
    """Draw rows of one key, at times all the same; or as many as there may be, with the value of one place."""
    if full is not None:
        return [{**keys, **{name: _CELLS[name][full] for name in names}} for _ in range(most)]
    rows = [
        {name: _CELLS[name][rng.integers(len(_CELLS[name]))] for name in names} for _ in range(rng.integers(most + 1))
    ]
    if rows and rng.integers(2):
        rows = [rows[0]] * len(rows)
    return [{**keys, **row} for row in rows]


def _tables(rng: np.random.Generator, units: Sequence[Mapping[str, _Rows]], schema: LinkedTables) -> Tables:
    """Return the tables of some units."""
    found = {}
    for table in schema.tables:
        chosen = [row for unit in units for row in unit[table.name]]
        order = rng.permutation(len(chosen))
        found[table.name] = pl.DataFrame(
            {
                field.name: pl.Series([chosen[at][field.name] for at in order], dtype=pl.String)
                for field in table.written
            }
        )
    return found


def linked_settings(
    mechanism: Mechanism | None = None, *, pure: bool = True, times: int = 1, schema: LinkedTables = SCHEMA
) -> Settings:
    """Return settings of a linked release at so many times a budget of one, the same mechanism for all parts."""
    small = Independent.small() if mechanism is None else mechanism
    return read_settings(
        Schema(linked=schema),
        epsilon=times if pure else None,
        rho=None if pure else times,
        mechanism=small,
        expected_rows=dict(zip(schema.names, (9, 20), strict=False)),
        seed=11,
    )


def examine_linked(
    one: Tables, other: Tables, settings: Settings, code: Callable[..., Any] = code_linked, *, mode: Mode = USUAL
) -> ReplayFindings:
    """Record and replay all parts between two databases, and compare what they claim together."""
    first, second = (code(tables, settings.linked) for tables in (one, other))
    found = {
        name: examine_release(first[name].source, second[name].source, part, run_release, mode=mode)
        for name, part in settings.parts.items()
    }
    asked = settings.request.budget.amount
    shares = [part.request.budget.amount / asked for part in settings.parts.values()]
    flags = [f"{name}: {flag}" for name, part in found.items() for flag in part.flags]
    if sum(shares) > 1:
        flags.append("the parts claim more together than was asked for")
    parts = [replace(part, flags=()) for part in found.values()]
    whole = together(parts, shares)
    return replace(whole, flags=(*flags, *whole.flags))
