"""Neighbours of two linked tables that differ in all rows of one key, and record and replay of both parts."""

import inspect
import types
from dataclasses import replace

import numpy as np
import polars as pl

import lapwing.table.linked
from lapwing.api.linked_settings import read_linked_settings
from lapwing.api.running import run_release
from lapwing.audit.replay import examine_release
from lapwing.mechanisms.independent import Independent
from lapwing.schema.linked import LinkedSchema
from lapwing.table.linked import code_linked

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
CELLS = {"kind": ("a", "b", "zzz", None), "age": ("0", "2", "5", "77", "x", None), "flag": ("true", "false", None)}
HOMES = ("h1", "h2", "h3", "h4", "h5", "07", "7", None)
"""Texts of keys: one may be missing, and two look alike and are not."""


def linked_pair(rng, schema=SCHEMA):
    """Return two pairs of tables of texts, parents and children; one of them has one key more.

    Keys have no, one or several parent rows and no to more than `max_children` children. The order of rows says
    nothing.
    """
    homes = list(rng.permutation(np.array(HOMES, dtype=object))[: rng.integers(1, len(HOMES) + 1)])
    rows = {home: (_rows(rng, home, 2, ("kind", "age")), _rows(rng, home, 6, ("flag", "age"))) for home in homes}
    all_of = _tables(rng, rows, homes, schema)
    fewer = _tables(rng, rows, homes[1:], schema)
    return (all_of, fewer) if rng.integers(2) else (fewer, all_of)


def _rows(rng, home, most, names):
    """Draw rows of one key, at times all the same."""
    rows = [
        {name: CELLS[name][rng.integers(len(CELLS[name]))] for name in names} for _ in range(rng.integers(most + 1))
    ]
    if rows and rng.integers(2):
        rows = [rows[0]] * len(rows)
    return [{"home": home, **row} for row in rows]


def _tables(rng, rows, homes, schema):
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
    return tuple(found)


def linked_settings(mechanism=None, *, pure=True, times=1, schema=SCHEMA):
    """Return settings of a linked release at so many times a budget of one."""
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


def audit_linked(one, other, settings, code=code_linked):
    """Return the broken promises of both parts, between two pairs of tables, and of their claims together."""
    first, second = (code(*tables, settings.linked) for tables in (one, other))
    flags = []
    for name in ("parent", "child"):
        part = getattr(settings, name)
        flags += [
            f"{name}: {flag}" for flag in examine_release(*_sources(first, second, name), part, run_release).flags
        ]
    claims = settings.parent.request.budget + settings.child.request.budget
    if claims.amount > settings.request.budget.amount:
        flags.append("the parts claim more together than was asked for")
    return flags


def _sources(first, second, name):
    return getattr(first, name), getattr(second, name)


def changed_module(*changes):
    """Return the module that joins tables with some texts changed: pairs of old and new."""
    source = inspect.getsource(lapwing.table.linked)
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    module = types.ModuleType("changed_linked")
    module.__file__ = lapwing.table.linked.__file__
    exec(compile(source, "changed_linked", "exec"), module.__dict__)
    return module


def with_rows_of_one(settings):
    """Return settings whose children are noised as if a key had one."""
    joined = settings.child.schema
    unit = replace(joined.privacy_unit, max_rows=1)
    return replace(settings, child=replace(settings.child, schema=replace(joined, privacy_unit=unit)))
