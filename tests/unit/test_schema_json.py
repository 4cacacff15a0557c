"""The JSON Schema of schema files agrees with the reader: on all shared files, and on what both can refuse."""

import copy
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from lapwing.errors import SchemaError
from lapwing.schema.schemas import Schema

FORMAT = json.loads((files("lapwing") / "schema" / "lapwing.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(FORMAT)

RULES: list[dict[str, Any]] = [
    {"order": ["day", "week"], "strict": True, "description": "days before weeks", "provenance": "assumed"},
    {"sum": {"level": 2, "unit": -1}, "equals": "age"},
    {"sum": ["level", "unit"], "equals": "age"},
    {"determines": ["level", "unit"], "column": "city"},
    {"determines": "level", "column": "city", "values": [[1, "a"], [None, None]]},
    {"when": {"age": {"maximum": 14}, "flag": True}, "then": {"city": ["a", None], "level": 1}},
    {"never": {"age": [{"minimum": 90}, -1], "sex": "f"}},
    {"allowed": ["city", "sex"], "rows": [["a", "f"], ["b", ["m", None]], [None, "f"]]},
]
WHOLE: dict[str, Any] = {
    "name": "everything",
    "draft": False,
    "privacyUnit": {"field": "id", "maxRows": 3},
    "missingValues": ["", "NA"],
    "rules": RULES,
    "fields": [
        {"name": "id", "type": "string", "role": "identifier"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}, "special": [-1]},
        {"name": "share", "type": "number", "constraints": {"minimum": 0, "maximum": 1}, "resolution": 0.01},
        {"name": "city", "type": "string", "categories": ["a", "b"], "categoriesOrdered": True, "provenance": "dp"},
        {"name": "grade", "type": "string", "categories": [1, 1.5], "constraints": {"required": True}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}, "missingValues": ["?"]},
        {"name": "level", "type": "integer", "categories": [{"value": 1, "label": "one"}, {"value": 2}]},
        {"name": "flag", "type": "boolean", "trueValues": ["true"], "falseValues": ["false"]},
        {"name": "day", "type": "date", "constraints": {"minimum": "2010-01-01", "maximum": "2010-12-31"}},
        {
            "name": "week",
            "type": "date",
            "constraints": {"minimum": "2010-01-01", "maximum": "2010-12-31"},
            "resolution": "week",
        },
        {
            "name": "pay",
            "type": "integer",
            "constraints": {"minimum": -5000, "maximum": 10**6},
            "resolution": 100,
            "scale": "log",
        },
        {"name": "code", "type": "string", "categories": ["250", "401"], "hierarchy": {"prefixes": [1, 2]}},
        {
            "name": "folded",
            "type": "string",
            "categories": ["250", {"value": "rest"}],
            "hierarchy": {"prefixes": [3], "fold": True},
            "unlisted": "rest",
        },
        {"name": "unit", "type": "integer", "categories": [1, 2], "hierarchy": {"parents": {"2": "top"}}},
        {
            "name": "time",
            "type": "datetime",
            "constraints": {"minimum": "2010-01-01", "maximum": "2010-12-31T23:00:00"},
            "resolution": "hour",
            "special": ["1900-01-01"],
            "format": "any",
        },
    ],
}


def changed(field: str, **settings: Any) -> dict[str, Any]:
    """Return the whole schema with some keys of one field changed; None takes a key away."""
    schema = copy.deepcopy(WHOLE)
    own = next(found for found in schema["fields"] if found["name"] == field)
    own.update(settings)
    for key in [key for key, value in own.items() if value is None]:
        del own[key]
    return schema


def ruled(**rule: Any) -> dict[str, Any]:
    """Return the whole schema with one rule."""
    return {**WHOLE, "rules": [rule]}


def test_the_format_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(FORMAT)


def test_every_shared_schema_has_the_format_before_and_after_saving(shared_data: Path) -> None:
    paths = sorted(shared_data.glob("*/schema.json"))

    for path in paths:
        source = json.loads(path.read_text(encoding="utf-8"))

        assert VALIDATOR.is_valid(source), path
        assert VALIDATOR.is_valid(Schema.load(source).to_dict()), path
    assert len(paths) == 26


def test_a_schema_with_every_key_has_the_format() -> None:
    loaded = Schema.load(WHOLE)

    assert VALIDATOR.is_valid(WHOLE)
    assert VALIDATOR.is_valid(loaded.to_dict())


@pytest.mark.parametrize(
    "broken",
    [
        [],
        {},
        {"fields": []},
        {"fields": [WHOLE["fields"][0]]},
        {"fields": ["age"]},
        {**WHOLE, "name": 5},
        {**WHOLE, "nullValues": ["NA"]},
        {**WHOLE, "dialect": {"separator": ";"}},
        {**WHOLE, "privacyUnit": {"field": "id", "maxRows": 1, "max": 1}},
        changed("age", levels=["a"]),
        changed("age", constraints={"minimum": 0, "maximum": 120, "max": 120}),
        {**WHOLE, "draft": "yes"},
        {**WHOLE, "missingValues": "NA"},
        {**WHOLE, "missingValues": [-9]},
        {**WHOLE, "privacyUnit": {"field": "id"}},
        {**WHOLE, "privacyUnit": {"field": "id", "maxRows": 0}},
        {**WHOLE, "privacyUnit": {"field": 1, "maxRows": 1}},
        {**WHOLE, "rules": {}},
        {**WHOLE, "rules": ["age < day"]},
        ruled(),
        ruled(description="no rule"),
        ruled(order=["day"]),
        ruled(order=["day", "day"]),
        ruled(order="day"),
        ruled(order=["day", 1]),
        ruled(order=["day", "week"], strict="yes"),
        ruled(order=["day", "week"], strictly=True),
        ruled(order=["day", "week"], provenance="dp"),
        ruled(order=["day", "week"], description=1),
        ruled(order=["day", "week"], never={"age": 1}),
        ruled(sum={"level": 1}),
        ruled(sum={"level": 0}, equals="age"),
        ruled(sum={"level": 0.5}, equals="age"),
        ruled(sum={"level": "1"}, equals="age"),
        ruled(sum={}, equals="age"),
        ruled(sum=[], equals="age"),
        ruled(determines=["level"]),
        ruled(determines=[], column="city"),
        ruled(determines=["level"], column="city", values=[]),
        ruled(determines=["level"], column="city", values=[["a"]]),
        ruled(determines=["level"], column="city", values=[[1, ["a"]]]),
        ruled(when={"age": 1}),
        ruled(when={}, then={"city": "a"}),
        ruled(when={"age": {}}, then={"city": "a"}),
        ruled(when={"age": {"max": 14}}, then={"city": "a"}),
        ruled(when={"age": {"maximum": [14]}}, then={"city": "a"}),
        ruled(then={"city": "a"}),
        ruled(never={"age": []}),
        ruled(never={"age": [[1]]}),
        ruled(never=["age"]),
        ruled(allowed=["city"]),
        ruled(allowed=["city"], rows=[]),
        ruled(allowed=["city"], rows=["a"]),
        changed("age", name=""),
        changed("age", type=None),
        changed("age", type="int"),
        changed("age", constraints=None),
        changed("age", constraints={"minimum": 0}),
        changed("age", constraints={"minimum": None, "maximum": 5}),
        changed("age", constraints={"minimum": "0", "maximum": 5}),
        changed("age", constraints={"minimum": 0.5, "maximum": 5}),
        changed("age", constraints={"minimum": 0, "maximum": 2**63}),
        changed("age", constraints={"minimum": 0, "maximum": 5, "required": 1}),
        changed("age", special=["-1"]),
        changed("age", special=[-1, -1]),
        changed("age", special=-1),
        changed("age", resolution=0.5),
        changed("age", resolution=0),
        changed("age", resolution="10"),
        changed("age", scale="logarithmic"),
        changed("age", hierarchy={"prefixes": [1]}),
        changed("level", scale="log"),
        changed("city", scale="log", categoriesOrdered=None),
        changed("day", scale="log"),
        changed("flag", scale="log"),
        changed("id", hierarchy={"prefixes": [1]}),
        changed("flag", categories=[True, False], hierarchy={"prefixes": [1]}),
        changed("city", hierarchy={"prefixes": [1]}),
        changed("code", hierarchy={"prefixes": []}),
        changed("code", hierarchy={"prefixes": [0]}),
        changed("code", hierarchy={"prefixes": [1.5]}),
        changed("code", hierarchy={"prefixes": list(range(1, 10))}),
        changed("code", hierarchy={"prefix": [1]}),
        changed("code", hierarchy={"prefixes": [1], "parents": {"250": "2"}}),
        changed("code", hierarchy={}),
        changed("code", hierarchy=[1]),
        changed("code", hierarchy={"parents": {}}),
        changed("code", hierarchy={"parents": {"250": 2}}),
        changed("code", hierarchy={"parents": ["250"]}),
        changed("unit", hierarchy={"parents": {"2": "top"}, "fold": True}),
        changed("unit", hierarchy={"prefixes": [1], "fold": True}),
        changed("code", hierarchy={"fold": True}),
        changed("folded", hierarchy={"prefixes": [3], "fold": "yes"}),
        changed("folded", unlisted=3),
        changed("grade", hierarchy={"prefixes": [1], "fold": True}),
        changed("grade", unlisted="1"),
        changed("level", unlisted="1"),
        changed("id", unlisted="rest"),
        changed("day", unlisted="2010-01-01"),
        changed("age", role="id"),
        changed("age", provenance="guess"),
        changed("age", description=5),
        changed("age", decimalChar=",,"),
        changed("age", bareNumber="no"),
        changed("share", resolution=0),
        changed("share", resolution="0.01"),
        changed("share", constraints={"minimum": "0", "maximum": 1}),
        changed("city", categories=None),
        changed("city", categories=[]),
        changed("city", categories=["a", ["b"]]),
        changed("city", categories=["a", None]),
        changed("city", categoriesOrdered="yes"),
        changed("city", special=["c"]),
        changed("city", constraints={"minimum": "a"}),
        changed("level", categories=["1"]),
        changed("level", special=[-1]),
        changed("flag", categories=[0, 1]),
        changed("flag", constraints={"minimum": 0, "maximum": 1}),
        changed("flag", trueValues=[1]),
        changed("day", constraints={"minimum": "2010-01-01", "maximum": "31.12.2010"}),
        changed("day", constraints={"minimum": "2010-01-01T00:00:00", "maximum": "2010-12-31"}),
        changed("day", resolution="hour"),
        changed("time", constraints={"minimum": "2010-01-01", "maximum": "2010-12-31T23:00:00Z"}),
        changed("time", resolution="week"),
        changed("time", special=[0]),
        changed("time", role="identifier", special=None),
    ],
)
def test_reader_and_format_refuse_the_same(broken: Any) -> None:
    with pytest.raises(SchemaError):
        Schema.from_dict(broken)

    assert not VALIDATOR.is_valid(broken)
