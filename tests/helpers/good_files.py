"""Files of strangers that are read by their keys: a good one of each format, and who reads it."""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from helpers.foreign_files import FOREIGN
from helpers.linked_homes import THREE
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.extras.office.policy import read_policy
from lapwing.extras.studio.jobs import JOBS, Choices, Job, read_job
from lapwing.kernel.codec import PLAIN
from lapwing.release.runs.public_tables import read_public_tables, with_public_tables
from lapwing.schema.schemas import Schema

NEEDED = {"constraints": {"required": True}}
FULL: dict[str, Any] = {
    "name": "everything",
    "privacyUnit": {"field": "person", "maxRows": 3},
    "missingValues": ["", "NA"],
    "purchases": [
        {
            **{"fields": ["sex"], "notion": "pure", "amount": "1/3", "relation": "add-remove"},
            **{"privacyUnit": "person:3", "release": "8f14e45f", "lapwing": "0.1.0"},
        }
    ],
    "fields": [
        {"name": "person", "type": "integer", "role": "identifier"},
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 99, "required": True},
            "special": [-1],
        },
        {"name": "left", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "total", "type": "integer", "constraints": {"minimum": 0, "maximum": 198}},
        {
            **{"name": "income", "type": "number", "constraints": {"minimum": 0, "maximum": 100000}},
            **{"resolution": 0.5, "scale": "log"},
        },
        {"name": "sex", "type": "string", "categories": ["f", "m"], "provenance": "public", **NEEDED},
        {
            **{"name": "job", "type": "string", "categories": ["a1", "a2", "b1", "b2", "other"]},
            **{"hierarchy": {"prefixes": [1]}, "unlisted": "other"},
        },
        {"name": "born", "type": "date", "constraints": {"minimum": "1900-01-01", "maximum": "2020-12-31"}},
        {
            **{"name": "seen", "type": "datetime", "resolution": "hour"},
            "constraints": {"minimum": "2000-01-01T00:00:00", "maximum": "2020-12-31T00:00:00"},
        },
        {"name": "ok", "type": "boolean", "trueValues": ["true"], "falseValues": ["false"]},
        {"name": "fine", "type": "boolean", **NEEDED},
        {"name": "town", "type": "integer", "categories": [1, 2], "hierarchy": {"parents": {"1": "n", "2": "s"}}},
    ],
    "rules": [
        {"order": ["age", "left"], "description": "x"},
        {"sum": {"age": 1, "left": 1}, "equals": "total"},
        {"determines": ["sex"], "column": "fine", "values": [["f", True], ["m", False]]},
        {"when": {"sex": "f", "age": {"maximum": 10}}, "then": {"ok": True}},
        {"never": {"sex": "m", "job": ["a1", "a2"]}},
        {"allowed": ["sex", "ok"], "rows": [["f", True], ["f", False], ["m", True], ["m", None], ["f", None]]},
    ],
    "publicTables": [
        {"columns": ["sex"], "cells": [["f", 510], ["m", 490]], "source": "Census", "provenance": "public"},
        {
            **{"columns": ["age", "sex"], "source": "Census", "provenance": "public", "hold": "prior", "sd": 9.0},
            "cells": [
                [{"minimum": 0, "maximum": 17}, "f", 100],
                [{"minimum": 18}, ["f"], 410],
                [{"maximum": 17}, "m", 9],
            ],
            "complete": True,
        },
    ],
}
LINKED: dict[str, Any] = {
    **{"key": "home", "maxChildren": 4, "count": "persons", "rules": [{"order": ["rooms", "age"]}]},
    "parent": {
        "fields": [
            {"name": "home", "type": "integer", "role": "identifier"},
            {"name": "rooms", "type": "integer", "constraints": {"minimum": 1, "maximum": 9, "required": True}},
        ]
    },
    "child": {
        "fields": [
            {"name": "home", "type": "integer", "role": "identifier"},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
        ]
    },
}
EVENTS: dict[str, Any] = {
    **{"privacyUnit": {"field": "home", "maxRows": 4}, "order": {"by": "age", "descending": True}},
    **{"constant": ["rooms"], "fields": [*LINKED["parent"]["fields"], LINKED["child"]["fields"][1]]},
    "rules": [{"order": ["rooms", "age"]}],
}
BARE = Schema.load({key: value for key, value in FULL.items() if key != "publicTables"})
POLICY = """
ask = "the data office"
mechanisms = ["Adaptive"]
neighbours = ["add-remove"]
privacyUnits = ["row"]
leastGroup = 10
needsLedger = true
needsNames = ["preparedBy"]
[release]
epsilon = 1
delta = 1e-6
[datasets.homes.total]
epsilon = 3
"""
JOB = PLAIN.write(
    Job(name="a", place=Path(), sql="select 1", db="sqlite:///x.db", choices=Choices(rows="5", dataset="a"))
)


def read_schema(path: Path) -> object:
    schema = Schema.load(path)
    assert Schema.from_dict(schema.to_dict()) == schema
    return schema.fingerprint


def read_linked(path: Path) -> object:
    schema = Schema.load(path).linked
    assert Schema.load(schema.to_dict()).linked == schema
    return schema.coded


def read_public(path: Path) -> object:
    return with_public_tables(BARE, list(read_public_tables(path, "Census 2020")))


def read_metadata(path: Path) -> object:
    """Read a foreign description, of its first table if it has several."""
    whole = _parsed(path)
    tables = whole.get("tables") if isinstance(whole, dict) else None
    name = next(iter(tables), None) if isinstance(tables, dict) else None
    return read_foreign(path, table=name if isinstance(name, str) else None).schema.to_dict()


def _parsed(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _job(path: Path) -> object:
    place = path.parent.resolve() / JOBS / "a"
    place.mkdir(parents=True, exist_ok=True)
    (place / "job.json").write_bytes(path.read_bytes())
    found = read_job(path.parent.resolve(), "a")
    assert isinstance(found, Job)
    return found.title


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: a good file as plain values, who reads it, and whether a key that is not known is refused."""

    tree: Any
    read: Callable[[Path], object]
    is_strict: bool = True


def _foreign(name: str) -> Reader:
    return Reader(yaml.safe_load((FOREIGN / name).read_text(encoding="utf-8")), read_metadata, is_strict=False)


TREES: Mapping[str, Reader] = {
    "schema": Reader(FULL, read_schema),
    "linked schema": Reader(LINKED, read_linked),
    "linked tables": Reader(json.loads(json.dumps(THREE)), read_linked),
    "events": Reader(EVENTS, read_linked),
    "public table": Reader(FULL["publicTables"], read_public),
}
READERS: Mapping[str, Reader] = {
    **TREES,
    "policy": Reader(tomllib.loads(POLICY), read_policy),
    "job of the studio": Reader(JOB, _job),
    "first SDV": _foreign("sdv1-visits.json"),
    "SDV": _foreign("sdv2-visits.json"),
    "SmartNoise": _foreign("smartnoise-adult.yaml"),
    "Croissant": _foreign("croissant/people.json"),
    "mbi": _foreign("mbi-adult-domain.json"),
}


def _toml(value: object) -> str:
    """Return a value as TOML, tables in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value)


def content_of(name: str, tree: Any) -> bytes:
    """Return the content of a file of one format that holds plain values."""
    if name == "policy" and isinstance(tree, Mapping):
        return "\n".join(f"{json.dumps(key)} = {_toml(value)}" for key, value in tree.items()).encode()
    return json.dumps(tree).encode()
