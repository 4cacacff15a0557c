"""One schema with columns of every sort, for rules about them."""

from typing import Any

from lapwing.schema.schemas import Schema

YEAR = {"minimum": "2015-01-01", "maximum": "2015-12-31"}
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "string", "role": "identifier"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}, "special": [-1]},
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 9}, "resolution": 0.1},
    {"name": "share", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "day", "type": "date", "constraints": YEAR},
    {"name": "hour", "type": "datetime", "constraints": YEAR, "resolution": "hour"},
    {"name": "month", "type": "date", "constraints": {**YEAR, "minimum": "2015-01-20"}, "resolution": "month"},
    {"name": "week", "type": "date", "constraints": YEAR, "resolution": "week"},
    {"name": "flag", "type": "boolean", "constraints": {"required": True}},
]


def schema_of(*rules: object, **changes: Any) -> Schema:
    return Schema.from_dict({"fields": FIELDS, "rules": list(rules), **changes})


def bounded(name: str, minimum: int, maximum: int, **more: Any) -> dict[str, Any]:
    limits = {"minimum": minimum, "maximum": maximum, "required": True}
    return {"name": name, "type": "integer", "constraints": limits, **more}
