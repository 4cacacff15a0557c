"""Generated neighbours of two linked tables, and record and replay of both parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from lapwing.audit.replay import Examined, examine_release
from lapwing.audit.worst_case import USUAL, Mode
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.shared.registration import Mechanism
from lapwing.rows.linked import code_linked
from lapwing.runs.settings import LinkedSettings, read_linked_settings
from lapwing.schema.linked import LinkedSchema
from lapwing.verbs.running import run_release

Tables = tuple[pl.DataFrame, pl.DataFrame]
"""Parents and children."""

_Rows = list[dict[str, Any]]

KEY = {"name": "home", "type": "string", "role": "identifier"}
SCHEMA = LinkedSchema.load(
    {
        "key": "home",
        "maxChildren": 3,
        "parent": {
            "fields": [
                KEY,
                {"name": "kind", "type": "string", "categories": ["a", "b"]},
                {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}},
            ]
        },
        "child": {
            "fields": [
                KEY,
                {"name": "flag", "type": "boolean", "constraints": {"required": True}},
                {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 5}},
            ]
        },
    }
)
_CELLS = {"kind": ("a", "b", "zzz", None), "age": ("0", "2", "5", "77", "x", None), "flag": ("true", "false", None)}
_HOMES = ("h1", "h2", "h3", "h4", "h5", "07", "7", None)
"""Texts of keys: one may be missing, and two look alike and are not."""


def linked_pair(rng: np.random.Generator, schema: LinkedSchema = SCHEMA) -> tuple[Tables, Tables]:
    """Return two pairs of tables of texts, parents and children; one of them has one key more.

    Keys have no, one or several parent rows and no to more than `max_children` children. The order of rows says
    nothing.
    """
    homes = list(rng.permutation(np.array(_HOMES, dtype=object))[: rng.integers(1, len(_HOMES) + 1)])
    most = 2 * schema.max_children
    rows = {home: (_rows(rng, home, 2, ("kind", "age")), _rows(rng, home, most, ("flag", "age"))) for home in homes}
    all_of = _tables(rng, rows, homes, schema)
    fewer = _tables(rng, rows, homes[1:], schema)
    return (all_of, fewer) if rng.integers(2) else (fewer, all_of)


def _rows(rng: np.random.Generator, home: str | None, most: int, names: Sequence[str]) -> _Rows:
    """Draw rows of one key, at times all the same."""
    rows = [
        {name: _CELLS[name][rng.integers(len(_CELLS[name]))] for name in names} for _ in range(rng.integers(most + 1))
    ]
    if rows and rng.integers(2):
        rows = [rows[0]] * len(rows)
    return [{"home": home, **row} for row in rows]


def _tables(
    rng: np.random.Generator,
    rows: Mapping[str | None, tuple[_Rows, _Rows]],
    homes: Sequence[str | None],
    schema: LinkedSchema,
) -> Tables:
    """Return the tables of some keys."""
    found = []
    for place, part in enumerate((schema.parent, schema.child)):
        chosen = [row for home in homes for row in rows[home][place]]
        order = rng.permutation(len(chosen))
        found.append(
            pl.DataFrame(
                {
                    field.name: pl.Series([chosen[at][field.name] for at in order], dtype=pl.String)
                    for field in part.fields
                }
            )
        )
    return found[0], found[1]


def linked_settings(
    mechanism: Mechanism | None = None, *, pure: bool = True, times: int = 1, schema: LinkedSchema = SCHEMA
) -> LinkedSettings:
    """Return settings of a linked release at so many times a budget of one, the same mechanism for both parts."""
    small = Independent.small() if mechanism is None else mechanism
    return read_linked_settings(
        schema,
        epsilon=times if pure else None,
        delta=None,
        rho=None if pure else times,
        parent_share="1/3",
        mechanisms=(small, small),
        expected=(9, 20),
        seed=11,
        transcript=None,
    )


def examine_linked(
    one: Tables, other: Tables, settings: LinkedSettings, code: Callable[..., Any] = code_linked, *, mode: Mode = USUAL
) -> Examined:
    """Record and replay both parts between two pairs of tables, and compare what they claim together.

    one, other: parents and children; the pairs differ in all rows of one key; code: what joins and codes the tables,
    always in memory. Returns the loss is that of both parts together, as a share of the budget that was asked for.
    """
    first, second = (code(*tables, settings.linked) for tables in (one, other))
    sources = {"parent": (first.parent, second.parent), "child": (first.child, second.child)}
    parts = {"parent": settings.parent, "child": settings.child}
    found = {name: examine_release(*sources[name], part, run_release, mode=mode) for name, part in parts.items()}
    flags = [f"{name}: {flag}" for name, part in found.items() for flag in part.flags]
    claims = sum(part.request.budget.amount for part in parts.values())
    asked = settings.request.budget.amount
    if claims > asked:
        flags.append("the parts claim more together than was asked for")
    lost = sum(found[name].loss_share * part.request.budget.amount for name, part in parts.items())
    return replace(
        found["child"],
        flags=tuple(flags),
        loss_share=lost / asked,
        questions=found["parent"].questions | found["child"].questions,
        is_released=found["parent"].is_released and found["child"].is_released,
    )
