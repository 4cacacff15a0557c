"""Small tables with rules that interact, for tests that no row out breaks one."""

import polars as pl

from helpers.plain_rules import broken_rows

NUMBER = {"minimum": 0, "maximum": 30}
TANGLED = {
    "fields": [
        {"name": "cat", "type": "string", "categories": ["a", "b", "c", "d", "e"]},
        {"name": "big", "type": "string", "categories": ["x", "y"]},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 90, "required": True}},
        {"name": "a", "type": "integer", "constraints": NUMBER, "special": [-9]},
        {"name": "b", "type": "integer", "constraints": NUMBER},
        {"name": "c", "type": "integer", "constraints": {"minimum": 0, "maximum": 60}},
        {"name": "start", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-03-31"}},
        {"name": "end", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-04-30"}},
        {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 1000}},
        {"name": "job", "type": "boolean"},
        {"name": "free", "type": "integer", "constraints": NUMBER},
    ],
    "rules": [
        {"determines": ["cat"], "column": "big"},
        {"determines": ["big"], "column": "a"},
        {"order": ["a", "b"]},
        {"sum": ["a", "b"], "equals": "c"},
        {"order": ["start", "end"], "strict": True},
        {"when": {"age": {"maximum": 14}}, "then": {"job": False, "pay": None}},
        {"never": {"job": False, "pay": {"minimum": 1}}},
        {"allowed": ["job", "big"], "rows": [[True, "x"], [[False, None], ["x", "y", None]], [True, None]]},
    ],
}
"""Two dependencies in a chain that ends in a sum, and columns in several rules."""

TWO_VALUED = {
    "fields": [
        {"name": "kind", "type": "string", "categories": ["a", "b"], "constraints": {"required": True}},
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "mark", "type": "boolean", "constraints": {"required": True}},
    ],
    "rules": [
        {"when": {"kind": "a"}, "then": {"flag": True}},
        {"never": {"kind": "b", "mark": True}},
        {"determines": ["flag", "kind"], "column": "mark"},
    ],
}
"""For a mechanism that takes columns of two values only."""


def violations(frame: pl.DataFrame, schema: dict) -> list[int]:
    """Return how many decoded rows break each rule, by a checker that knows the file format alone."""
    return [broken_rows(frame, rule, schema["fields"]) for rule in schema["rules"]]


def tangled_rows(rows: int) -> pl.DataFrame:
    """Return rows that keep the rules of `TANGLED`."""
    kinds = ["a", "b", "c", "d", "e"]
    return pl.DataFrame(
        {
            "cat": [kinds[i % 5] for i in range(rows)],
            "big": ["x" if i % 5 < 3 else "y" for i in range(rows)],
            "age": [i * 7 % 91 for i in range(rows)],
            "a": [3 if i % 5 < 3 else 8 for i in range(rows)],
            "b": [8 + i % 11 for i in range(rows)],
            "c": [(3 if i % 5 < 3 else 8) + 8 + i % 11 for i in range(rows)],
            "start": [f"2020-02-{1 + i % 20:02}" for i in range(rows)],
            "end": [f"2020-03-{1 + i % 30:02}" for i in range(rows)],
            "pay": [None if i * 7 % 91 <= 14 or i % 5 >= 3 else float(i % 900) for i in range(rows)],
            "job": [not (i * 7 % 91 <= 14 or i % 5 >= 3) for i in range(rows)],
            "free": [i % 31 for i in range(rows)],
        }
    ).with_columns(pl.col("start", "end").str.to_date())
