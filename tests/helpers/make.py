"""One factory of schemas, tables, files, releases and ledgers: a test names what differs, and gets the rest.

Columns are written as what they hold: ``bool``; a pair of bounds, ``(0, 99)``, ``(0.0, 1.5)`` or two days; a list of
categories, ``["f", "m"]``; ``"id"`` for an identifier; a type, ``"string"``, of which nothing else is known; or a
mapping of the field's keys.
"""

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.kernel.budget.ledger import Ledger

PEOPLE: Mapping[str, Any] = {"age": (0, 99), "sex": ["f", "m"], "day": ("2020-01-01", "2020-12-31")}
TERMS = {"relation": "add-remove", "privacy_unit": "row"}
KINDS = ((bool, "boolean"), (int, "integer"), (float, "number"))


def field(name: str, holds: Any, **more: Any) -> dict[str, Any]:
    """Return a field; more: other keys, and ``required``."""
    keys: dict[str, Any] = {"name": name}
    bounds: dict[str, Any] = {"required": True} if more.pop("required", False) else {}
    if isinstance(holds, Mapping):
        keys |= holds
    elif holds is bool:
        keys["type"] = "boolean"
    elif holds == "id":
        keys |= {"type": "integer", "role": "identifier"}
        bounds = {}
    elif isinstance(holds, str):
        keys["type"] = holds
    elif isinstance(holds, tuple):
        keys["type"] = _kind(holds[0], "date" if len(str(holds[0])) == 10 else "datetime")
        bounds = {"minimum": holds[0], "maximum": holds[1]} | bounds
    else:
        keys |= {"type": _kind(holds[0], "string"), "categories": [*holds]}
    bounds = {**keys.get("constraints", {}), **bounds}
    return keys | ({"constraints": bounds} if bounds else {}) | more


def _kind(value: object, of_text: str) -> str:
    return next((kind for of, kind in KINDS if isinstance(value, of)), of_text)


def fields(columns: Mapping[str, Any] = PEOPLE, **more: Any) -> list[dict[str, Any]]:
    """Return the fields of some columns; more: keys that all of them have."""
    return [field(name, holds, **more) for name, holds in columns.items()]


def schema(columns: Mapping[str, Any] = PEOPLE, *, required: bool = False, **keys: Any) -> dict[str, Any]:
    """Return a schema as it stands in a file; keys: of the schema, such as ``privacyUnit``."""
    return {**keys, "fields": fields(columns, required=required)}


def database(tables: Mapping[str, Mapping[str, Any]], **keys: Any) -> dict[str, Any]:
    """Return a schema of several tables, each a mapping of its keys, with columns as its ``fields``."""
    return {**keys, "tables": {name: {**each, "fields": fields(each["fields"])} for name, each in tables.items()}}


def table(columns: Mapping[str, Any] = PEOPLE, rows: int = 400, seed: int = 1) -> pl.DataFrame:
    """Return rows that fit columns, or a schema, drawn evenly; an identifier is another one in each row."""
    rng = np.random.default_rng(seed)
    known = lw.Schema.load({"fields": columns["fields"] if "fields" in columns else fields(columns)})
    modelled = {each.name for each in known.columns}
    return pl.DataFrame(
        {each.name: _cells(each, rows, rng) if each.name in modelled else [*range(rows)] for each in known.fields}
    )


def _cells(of: Any, rows: int, rng: np.random.Generator) -> list[Any]:
    if of.type == "boolean":
        return rng.integers(2, size=rows).astype(bool).tolist()
    if of.categories is not None:
        return [of.categories[at] for at in rng.integers(len(of.categories), size=rows)]
    if of.type == "number":
        return rng.uniform(of.minimum, of.maximum, rows).round(3).tolist()
    if of.type == "integer":
        return rng.integers(of.minimum, of.maximum, rows, endpoint=True).tolist()
    low, high = (dt.datetime.fromisoformat(str(end)) for end in (of.minimum, of.maximum))
    moments = [low + (high - low) * share for share in rng.random(rows)]
    return [each.date() for each in moments] if of.type == "date" else moments


def files(folder: Path, contents: Mapping[str, Any]) -> Path:
    """Write files by name: a table by its ending, text or bytes as they are, all else as JSON; return the folder."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pl.DataFrame):
            content.write_parquet(path) if path.suffix == ".parquet" else content.write_csv(path)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def release(columns: Mapping[str, Any] = PEOPLE, *, rows: int = 400, **settings: Any) -> lw.Release:
    """Return a release of `table` by the quickest mechanism, far above noise; settings: of `lapwing.synthesize`."""
    known = columns if "fields" in columns else schema(columns)
    usual = {"epsilon": 100, "mechanism": "independent", "seed": 1}
    data = settings.pop("data", None)
    return lw.synthesize(table(known, rows) if data is None else data, known, **(usual | settings))


def ledger(path: Path | str, limit: object = 3, *, dataset: str = "people", **terms: Any) -> Ledger:
    """Return a ledger with one account, of epsilon unless ``unit`` is given; terms: others of `Ledger.init`."""
    made = Ledger.create_or_open(path)
    made.init(dataset, **({"unit": "pure", "limit": limit} | TERMS | terms))
    return made
