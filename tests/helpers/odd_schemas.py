"""Schemas and settings of every kind that Lapwing takes, drawn at random: fields, rules, public tables, mechanisms."""

import dataclasses
import typing

from lapwing.errors import LapwingError
from lapwing.mechanisms.registry import settings_of
from lapwing.mechanisms.shared.priors import invented_prior
from lapwing.release.runs.reading import read_settings
from lapwing.schema.schemas import Schema

NUMBERS = (1, 2, 3, 5, 8, 40, 0.01, 0.1, 0.5, 0.99, 1.0, 2.0, 100.0)
TEXTS = ("a", "b", "c", "aa", "ab", "Ünïcode ☃", "x,y", " ")


def pick(rng, choices):
    """Return one of some things, whatever they are."""
    return choices[int(rng.integers(len(choices)))]


def _whole(rng, name):
    low, wide = pick(rng, [0, -5, 1900, -(10**9)]), pick(rng, [0, 1, 2, 9, 120, 900, 10**6, 10**12, 2 * 10**15])
    return {
        "name": name,
        "type": "integer",
        **_bounds(low, low + wide),
        **_some(rng, resolution=pick(rng, [2, 7, 100])),
    }


def _real(rng, name):
    low, high = pick(rng, [(0, 1), (-1, 1), (0, 1e-9), (-1e12, 1e12), (2.5, 2.5), (0, 100)])
    return {"name": name, "type": "number", **_bounds(low, high), **_step(rng, 0.1, 0.25, 5)}


def _date(rng, name):
    low, high = pick(rng, [("2020-01-31", "2020-03-01"), ("1900-01-01", "2100-12-31"), ("2020-02-29", "2020-02-29")])
    return {"name": name, "type": "date", **_bounds(low, high), **_step(rng, "day", "week", "month", "year")}


def _moment(rng, name):
    low, high = pick(
        rng, [("2020-01-31T01:00:00", "2020-03-01T00:00:00"), ("2020-01-01T00:00:00", "2020-01-01T00:00:05")]
    )
    step = pick(rng, ["second", "minute", "hour", "day", "month", "year"])
    return {"name": name, "type": "datetime", **_bounds(low, high), **_some(rng, resolution=step)}


def _listed(rng, name):
    many = int(rng.choice([1, 2, 3, 8, 30, 700], p=[0.1, 0.3, 0.2, 0.2, 0.15, 0.05]))
    texts = (
        [*TEXTS, *(f"v{i:03}" for i in range(many))][:many] if rng.integers(2) else [f"k{i:04}" for i in range(many)]
    )
    kind = pick(
        rng, [{}, {"categoriesOrdered": True}, {"hierarchy": {"prefixes": [1]}}, {"hierarchy": {"prefixes": [1, 2, 4]}}]
    )
    return {"name": name, "type": "string", "categories": texts, **kind}


def _coded(rng, name):
    values = pick(rng, [[1], [0, 1], [3, 1, 2], [-9, 0, 5, 10**12]])
    return {"name": name, "type": "integer", "categories": values, **_some(rng, categoriesOrdered=True)}


def _flag(rng, name):
    return {"name": name, "type": "boolean"}


def _bounds(low, high):
    return {"constraints": {"minimum": low, "maximum": high}}


def _step(rng, *steps):
    return _some(rng, resolution=pick(rng, steps))


def _some(rng, **more):
    return more if rng.integers(2) else {}


FIELDS = (_whole, _real, _date, _moment, _listed, _listed, _coded, _flag)


def _field(rng, name):
    """Return a field of any type."""
    found = pick(rng, FIELDS)(rng, name)
    if rng.integers(2):
        found["constraints"] = {**found.get("constraints", {}), "required": True}
    if found["type"] in ("integer", "number") and "categories" not in found:
        if rng.integers(3) == 0:
            found["special"] = pick(rng, [[-99], [0], [-99, 10**13]])
        elif rng.integers(4) == 0 and "resolution" not in found:
            found["scale"] = "log"
    return {**found, "provenance": "public"}


def _halves(field):
    """Return conditions that cover the regular values of a field, apart from each other."""
    listed = field.categories
    if listed is not None:
        values = list(listed)
        cut = (len(values) + 1) // 2
        return [values[:cut], values[cut:]] if len(values) > 1 else [values]
    if field.type == "boolean":
        return [True, False]
    if field.type == "integer" and field.resolution is None and field.minimum < field.maximum:
        middle = (field.minimum + field.maximum) // 2
        return [{"maximum": middle}, {"minimum": middle + 1}]
    return [{"minimum": None, "maximum": None}] if field.type != "number" else [{"maximum": field.maximum}]


def _public_table(rng, schema, priors):
    """Return a public table of one column or two, whose cells may be empty, all of them as well."""
    chosen = [schema.columns[place] for place in rng.permutation(len(schema.columns))[: int(rng.integers(1, 3))]]
    conditions = []
    for field in chosen:
        parts = _halves(field)
        complete = not rng.integers(3)
        if not complete and field.domain.missing:
            parts = [*parts, None]
        if not complete:
            parts = [*parts, *(field.special or ())]
        conditions.append(parts)
    cells = [[]]
    for parts in conditions:
        cells = [[*cell, part] for cell in cells for part in parts]
    if rng.integers(3) == 0:
        cells = [cell for cell in cells if rng.integers(3)] or cells[:1]
    scale = pick(rng, [0, 1, 30, 10**6])
    counts = [int(count) for count in rng.integers(0, scale + 1, len(cells)) * rng.integers(0, 2, len(cells))]
    found = {
        "columns": [field.name for field in chosen],
        "source": "register",
        "provenance": "public",
        "cells": [[*cell, count] for cell, count in zip(cells, counts, strict=True)],
        "complete": bool(rng.integers(3)),
    }
    return found | ({"hold": "prior", "sd": pick(rng, [0.01, 1, 10, 10**6])} if priors and rng.integers(2) else {})


def _rule(rng, schema):
    """Return a rule of any kind on columns of a schema."""
    one, two = (schema.columns[place] for place in rng.integers(len(schema.columns), size=2))
    kind = int(rng.integers(6))
    if kind == 0:
        return {"order": [one.name, two.name], **_some(rng, strict=True)}
    if kind == 1:
        return {"sum": {one.name: pick(rng, [1, 2, -1])}, "equals": two.name}
    if kind == 2:
        return {"determines": [one.name], "column": two.name}
    condition, other = pick(rng, [*_halves(one), None]), pick(rng, [*_halves(two), None])
    if kind == 3:
        return {"when": {one.name: condition}, "then": {two.name: other}}
    if kind == 4:
        return {"never": {one.name: condition, two.name: other}}
    return {
        "allowed": [one.name, two.name],
        "rows": [[condition, other], [pick(rng, _halves(one)), pick(rng, _halves(two))]],
    }


def _with(schema, key, make, tries=3):
    """Return a schema with one more rule or public table where it is taken, and as it is where not."""
    written = schema.to_dict()
    for _ in range(tries):
        try:
            return Schema.from_dict({**written, key: [*written.get(key, []), make()]})
        except LapwingError:
            continue
    return schema


def odd_schema(rng, known, *, is_tied=True):
    """Return a schema of one to five columns that a mechanism may take; is_tied: at times with rules and tables."""
    required = {"constraints": {"required": bool(rng.integers(2))}}
    unit = {"name": "person", "type": "string", "role": "identifier", **required}
    max_rows = 1 if known.one_row_per_unit or rng.integers(2) else int(rng.integers(2, 5))
    while True:
        names = [f"c{place}" for place in range(int(rng.integers(1, 6)))]
        fields = [_field(rng, name) for name in names]
        if known.two_valued:
            fields = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in names]
        whole = {"fields": [unit, *fields], "privacyUnit": {"field": "person", "maxRows": max_rows}}
        try:
            schema = Schema.from_dict(whole if max_rows > 1 or rng.integers(3) == 0 else {"fields": fields})
            break
        except LapwingError:
            continue
    if not is_tied:
        return schema
    for _ in range(int(rng.choice([0, 0, 1, 2]))):
        schema = _with(schema, "rules", lambda: _rule(rng, schema))  # noqa: B023
    for _ in range(int(rng.choice([0, 1, 1, 2]))):
        schema = _with(schema, "publicTables", lambda: _public_table(rng, schema, known.takes_priors))  # noqa: B023
    return schema


def _changed(rng, mechanism):
    """Return a mechanism with one or two of its settings drawn anew, from what their types allow."""
    types = typing.get_type_hints(type(mechanism))
    names = [each.name for each in dataclasses.fields(mechanism) if each.name != "prior"]
    for _ in range(int(rng.integers(3))):
        name = pick(rng, names)
        kinds = typing.get_args(types[name]) or (types[name],)
        choices = [value for kind in (types[name], *kinds) for value in typing.get_args(kind) if isinstance(value, str)]
        choices += [None] * (type(None) in kinds)
        choices += [True, False] if bool in (types[name], *kinds) else []
        choices += [value for value in NUMBERS if type(value) in (types[name], *kinds)]
        try:
            mechanism = dataclasses.replace(mechanism, **{name: pick(rng, choices)}) if choices else mechanism
        except LapwingError:
            continue
    return mechanism


def odd_mechanism(rng, known, schema, *, usual=False):
    """Return small settings of a registered mechanism, changed at random, at times with priors; or its usual ones."""
    settings = [known()] if usual else list(known.audited(schema))
    found = _changed(rng, pick(rng, settings))
    if known.takes_priors and hasattr(found, "prior") and rng.integers(3) == 0:
        found = dataclasses.replace(found, prior=(invented_prior(schema),) * int(rng.integers(1, 3)))
    return found


def odd_settings(rng, known, schema, *, usual=False):
    """Return settings of a release; None where they are refused by themselves."""
    amount = pick(rng, ["1e-9", "0.001", "0.1", "1", "10", "1000", "10000"])
    budget = pick(rng, [{"epsilon": amount}, {"rho": amount}, {"epsilon": amount, "delta": "1e-9"}])
    try:
        return read_settings(
            schema,
            mechanism=odd_mechanism(rng, known, schema, usual=usual),
            neighbours=pick(rng, known.relations),
            expected_rows=pick(rng, [None, 1, 40, 10**6]),
            seed=int(rng.integers(1000)),
            **budget,
        ).first
    except LapwingError:
        return None


def described(settings):
    """Return what reproduces settings, as text."""
    return repr(
        {
            "schema": settings.schema.to_dict(),
            "mechanism": settings.mechanism.name,
            "settings": settings_of(settings.mechanism),
            "budget": (settings.request.epsilon, settings.request.delta, settings.request.rho),
            "relation": settings.relation,
            "expected_rows": settings.expected_rows,
            "seed": settings.seed,
        }
    )
