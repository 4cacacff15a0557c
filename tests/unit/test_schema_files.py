"""Fields and whole schemas: reading, writing, looking up, changing, and every way in which a file can be broken."""

import copy
import json
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import lapwing as lw
from helpers import make
from lapwing.errors import SchemaError
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.files import field_from
from lapwing.schema.schemas import Schema

FORMAT = json.loads((files("lapwing") / "schema" / "lapwing.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(FORMAT)
AGE: dict[str, Any] = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}}
SEX: dict[str, Any] = {"name": "sex", "type": "string", "categories": ["f", "m"], "provenance": "public"}
ID: dict[str, Any] = {"name": "id", "type": "integer", "role": "identifier"}


CASES = {
    (kind, text): said
    for kind, cases in tomllib.loads((Path(__file__).parents[1] / "cases/schemas.toml").read_text()).items()
    for text, said in cases.items()
}


def table(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"fields": list(fields or (AGE, SEX)), **more}


def write(folder: Path, content: bytes) -> Path:
    path = folder / "schema.json"
    path.write_bytes(content)
    return path


def test_every_shared_schema_loads_survives_saving_and_has_the_format(shared_data: Path, tmp_path: Path) -> None:
    paths = sorted(shared_data.glob("*/schema.json"))

    for path in paths:
        schema = Schema.load(path)
        schema.save(tmp_path / "saved.json")
        again = Schema.load(str(tmp_path / "saved.json"))

        assert again == schema
        assert again.fingerprint == schema.fingerprint
        assert all(field.domain.size > 1 for field in schema.columns)
        assert VALIDATOR.is_valid(json.loads(path.read_text(encoding="utf-8"))), path
        assert VALIDATOR.is_valid(schema.to_dict()), path
    assert len(paths) == 26


def test_the_privacy_unit_is_read() -> None:
    schema = Schema.load(table(ID, AGE, privacyUnit={"field": "id", "maxRows": 5.0}))

    assert schema.privacy_unit == PrivacyUnit("id", 5)
    assert (schema.max_rows, schema.unit_label) == (5, "id:5")


@pytest.mark.parametrize(("kind", "text"), CASES)
def test_a_broken_rule_is_named_in_one_line(kind: str, text: str) -> None:
    schema = {"fields": [{"name": "age", **json.loads(text)}]} if kind == "fields" else json.loads(text)

    with pytest.raises(SchemaError) as caught:
        Schema.load(schema)

    sentence = str(caught.value)
    assert CASES[kind, text] in sentence
    assert sentence.startswith('field "age": ') or kind == "schemas"
    assert "\n" not in sentence
    assert caught.value.__cause__ is None


def test_a_byte_order_mark_is_read_past(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + json.dumps(table()).encode())

    assert Schema.load(path) == Schema.load(table())


def test_a_draft_may_leave_domains_open_until_it_is_a_file_again() -> None:
    draft = Schema(fields=(Field(name="age", type="integer"), Field(name="sex", type="string")), is_draft=True)

    written = draft.to_dict()

    assert written["fields"][0]["constraints"] == {"minimum": None, "maximum": None}
    assert written["fields"][1]["categories"] is None
    says = r"the schema is a draft; still open: age \(minimum, maximum\), sex \(categories\); fill them in from public "
    with pytest.raises(SchemaError, match=says):
        Schema.load(written)


def test_all_that_a_draft_leaves_open_is_named_at_once(tmp_path: Path) -> None:
    half = {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": None}}
    blank = {"name": "ward", "type": "string", "categories": None}
    few = write(tmp_path, json.dumps(table(ID, AGE, half, blank, draft=True)).encode())

    with pytest.raises(SchemaError) as caught:
        Schema.load(few)
    with pytest.raises(SchemaError, match=r"c19 \(categories\) and 80 more fields; fill"):
        Schema.load(table(*({**blank, "name": f"c{number}"} for number in range(100)), draft=True))

    assert "still open: height (maximum), ward (categories); " in str(caught.value)


def test_missing_values_of_the_table_hold_for_fields_without_their_own() -> None:
    own = {**SEX, "missingValues": ["?"]}
    blank = {"name": "answer", "type": "string", "categories": ["", "x"]}

    schema = Schema.load(table(AGE, own, missingValues=["", "NA"]))
    default = Schema.load(table(AGE, blank))

    assert [field.missing_values for field in schema.fields] == [("", "NA"), ("?",)]
    assert [field.missing_values for field in default.fields] == [("",), ()]
    assert Schema.load(schema.to_dict()) == schema
    assert Schema.load(default.to_dict()) == default


def test_missing_values_that_all_fields_share_are_written_once() -> None:
    written = Schema.load(table(missingValues=["NA"])).to_dict()

    assert written["missingValues"] == ["NA"]
    assert all("missingValues" not in field for field in written["fields"])


def test_the_normal_form_says_only_what_is_not_default() -> None:
    assert Schema.load(table()).to_dict() == {
        "fields": [
            {
                "name": "age",
                "type": "integer",
                "constraints": {"minimum": 0, "maximum": 120},
                "provenance": "assumed",
            },
            {"name": "sex", "type": "string", "categories": ["f", "m"], "provenance": "public"},
        ]
    }


def test_the_fingerprint_does_not_depend_on_the_order_of_keys_or_the_form_of_numbers() -> None:
    reordered = {"fields": [dict(reversed(AGE.items())), SEX]}
    reformed = table({**AGE, "constraints": {"maximum": 120.0, "minimum": 0.0}}, SEX)

    prints = {Schema.load(source).fingerprint for source in (table(), reordered, reformed)}

    assert len(prints) == 1
    assert len(prints.pop()) == 64


# ----------------------------------------------------------------------------------------------------------- one field


def age(**changes: Any) -> dict[str, Any]:
    return {**AGE, **changes}


def listed(kind: str, *categories: object, **more: Any) -> dict[str, Any]:
    return {"name": "age", "type": kind, "categories": list(categories), **more}


def test_enum_and_labelled_categories_mean_categories() -> None:
    plain = field_from(listed("string", "a", "b"))
    enum = field_from({"name": "age", "type": "string", "constraints": {"enum": ["a", "b"]}})
    labelled = field_from(listed("string", {"value": "a", "label": "Apple"}, {"value": "b"}))

    assert plain == enum == replace(labelled, labels=())
    assert labelled.labels == (("a", "Apple"),)


def test_what_only_describes_is_read_past() -> None:
    plain = field_from(AGE)

    decorated = field_from(
        age(
            title="Age",
            example=3,
            rdfType="https://schema.org/age",
            format="default",
            constraints={**AGE["constraints"], "unique": False, "minLength": 1},  # type: ignore[dict-item]
        )
    )

    assert decorated == plain


def test_null_means_absent() -> None:
    keys = ("categories", "special", "resolution", "description", "missingValues", "role", "provenance", "trueValues")

    assert field_from(age(**dict.fromkeys(keys))) == field_from(AGE)


# ------------------------------------- a schema as Python's own containers: names, columns by name, and changes by `|`


PEOPLE = lw.Schema.load(make.schema({"id": "id", "sex": ["f", "m"], "age": (0, 99)}, missingValues=["", "NA"]))


def test_names_columns_and_sizes_are_as_of_a_mapping():
    assert PEOPLE.names == tuple(PEOPLE) == ("id", "sex", "age")
    assert PEOPLE["age"] is PEOPLE.field("age")
    assert len(PEOPLE) == 3
    assert ("age" in PEOPLE, "Age" in PEOPLE, 0 in PEOPLE) == (True, False, False)
    with pytest.raises(SchemaError, match='no field is called "agge"; did you mean "age"'):
        PEOPLE["agge"]


def test_keys_of_a_field_change_and_all_else_stays():
    changed = PEOPLE | {"age": {"maximum": 120, "special": [-1]}}

    assert (changed["age"].minimum, changed["age"].maximum, changed["age"].special) == (0, 120, (-1,))
    assert changed["age"].missing_values == ("", "NA")
    assert [changed[name] for name in ("id", "sex")] == [PEOPLE[name] for name in ("id", "sex")]
    assert PEOPLE["age"].maximum == 99
    assert changed == PEOPLE | {"age": {"constraints": {"maximum": 120}, "special": [-1]}}
    assert PEOPLE | {} == PEOPLE | PEOPLE == PEOPLE


def test_another_schema_has_the_word_on_its_fields_and_on_the_table():
    rules = [{"when": {"sex": sex}, "then": {"age": {"minimum": least}}} for sex, least in (("f", 1), ("m", 2))]
    first = lw.Schema.load({**PEOPLE.to_dict(), "name": "a", "rules": rules[:1]})
    unit = PrivacyUnit("id", 3)
    second = lw.Schema.load({**(PEOPLE | {"age": {"maximum": 50}}).to_dict(), "rules": rules})
    second = replace(second, privacy_unit=unit)

    found = first | second

    assert found.names == PEOPLE.names
    assert (found["age"].maximum, found.privacy_unit, found.name) == (50, unit, "a")
    assert found.rules == second.rules  # the first rule once


def test_some_columns_keep_what_is_about_them_alone():
    rule = {"when": {"sex": "f"}, "then": {"age": {"minimum": 1}}}
    unit = {"field": "id", "maxRows": 2}
    table = {
        "columns": ["sex"],
        "cells": [["f", 5], ["m", 6]],
        "source": "x",
        "provenance": "public",
        "hold": "prior",
        "sd": 9,
    }
    whole = lw.Schema.load(
        {
            **(PEOPLE | {"sex": {"required": True}}).to_dict(),
            "weight": "age",
            "privacyUnit": unit,
            "rules": [rule],
            "publicTables": [table],
        }
    )

    assert whole.select(["age", "sex"]).names == ("id", "age", "sex")
    assert whole.select(whole.names) == whole
    sex = whole.select(["sex"])
    assert (sex.names, sex.rules, sex.weight, sex.public_tables) == (("id", "sex"), (), None, whole.public_tables)
    age = whole.select(("age",))
    assert (age.names, age.weight, age.public_tables) == (("id", "age"), "age", ())
    for wrong, said in (("age", "got a str"), (["agge"], 'did you mean "age"'), (3, "got a int")):
        with pytest.raises(SchemaError, match=said):
            whole.select(wrong)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (3, "changes of a schema map columns to keys, or are a Schema, got a int; write for example"),
        ({"age": 3}, 'changes of field "age" must be an object with keys, got 3'),
        ({"age": {"mimimum": 3}}, 'did you mean "minimum"'),
        ({"age": {"maximum": -4}}, "minimum 0 is above maximum -4"),
        ({"new": {}}, 'no field is called "new"; a new column needs a "type"'),
        ({"agge": {"maximum": 3}}, 'no field is called "agge"; did you mean "age"'),
        ({3: {"type": "boolean"}}, "every field needs a name that is a text"),
    ],
)
def test_changes_that_a_schema_cannot_have_are_refused(changes, said):
    with pytest.raises(SchemaError, match=said):
        PEOPLE | changes


def test_a_private_table_is_no_change_and_shows_no_cell():
    import pandas as pd

    with pytest.raises(SchemaError) as caught:
        PEOPLE | pd.DataFrame({"age": [41.125]})
    with pytest.raises(SchemaError, match="got a Series"):
        PEOPLE.select(pd.Series(["41.125"]))
    with pytest.raises(SchemaError, match="got a DataFrame") as headless:
        PEOPLE.select(pd.DataFrame({"41.125": [1]}))

    assert "41" not in str(caught.value) + str(headless.value)


# -------------------------------------------------------------- the JSON Schema of schema files agrees with the reader


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
YEAR = ("2010-01-01", "2010-12-31")
COLUMNS: dict[str, Any] = {
    "id": {"type": "string", "role": "identifier"},
    "age": make.field("age", (0, 120), special=[-1]),
    "share": make.field("share", {"type": "number", "constraints": {"minimum": 0, "maximum": 1}}, resolution=0.01),
    "city": make.field("city", ["a", "b"], categoriesOrdered=True, provenance="dp"),
    "grade": {"type": "string", "categories": [1, 1.5], "constraints": {"required": True}},
    "sex": {"type": "string", "constraints": {"enum": ["f", "m"]}, "missingValues": ["?"]},
    "level": {"type": "integer", "categories": [{"value": 1, "label": "one"}, {"value": 2}]},
    "flag": make.field("flag", bool, trueValues=["true"], falseValues=["false"]),
    "day": YEAR,
    "week": make.field("week", YEAR, resolution="week"),
    "pay": make.field("pay", (-5000, 10**6), resolution=100, scale="log"),
    "code": make.field("code", ["250", "401"], hierarchy={"prefixes": [1, 2]}),
    "folded": {
        "type": "string",
        "categories": ["250", {"value": "rest"}],
        "hierarchy": {"prefixes": [3], "fold": True},
        "unlisted": "rest",
    },
    "unit": make.field("unit", [1, 2], hierarchy={"parents": {"2": "top"}}),
    "time": {
        "type": "datetime",
        "constraints": {"minimum": "2010-01-01", "maximum": "2010-12-31T23:00:00"},
        "resolution": "hour",
        "special": ["1900-01-01"],
        "format": "any",
    },
}
WHOLE = make.schema(
    COLUMNS,
    name="everything",
    draft=False,
    privacyUnit={"field": "id", "maxRows": 3},
    missingValues=["", "NA"],
    rules=RULES,
)


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


BROKEN: list[Any] = [
    {**WHOLE, "nullValues": ["NA"]},
    {**WHOLE, "dialect": {"separator": ";"}},
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
    changed("age", hierarchy={"prefixes": [1]}),
    changed("id", hierarchy={"prefixes": [1]}),
    changed("flag", categories=[True, False], hierarchy={"prefixes": [1]}),
    changed("city", hierarchy={"prefixes": [1]}),
    changed("code", hierarchy={"prefixes": list(range(1, 10))}),
    changed("code", hierarchy={"prefixes": [1], "parents": {"250": "2"}}),
    changed("unit", hierarchy={"parents": {"2": "top"}, "fold": True}),
    changed("unit", hierarchy={"prefixes": [1], "fold": True}),
    changed("grade", hierarchy={"prefixes": [1], "fold": True}),
    changed("grade", unlisted="1"),
    changed("level", unlisted="1"),
    changed("id", unlisted="rest"),
    changed("day", unlisted="2010-01-01"),
    changed("city", scale="log", categoriesOrdered=None),
    changed("city", special=["c"]),
    changed("city", constraints={"minimum": "a"}),
    changed("level", categories=["1"]),
    changed("flag", categories=[0, 1]),
    changed("flag", constraints={"minimum": 0, "maximum": 1}),
]


def test_the_format_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(FORMAT)


def test_a_schema_with_every_key_has_the_format() -> None:
    loaded = Schema.load(WHOLE)

    assert VALIDATOR.is_valid(WHOLE)
    assert VALIDATOR.is_valid(loaded.to_dict())


OF_ANY_KEY = [
    None,
    5,
    -1,
    0,
    0.5,
    "x",
    "",
    [],
    ["x"],
    [5],
    [[1]],
    [True, True],
    {},
    {"x": 1},
    True,
    "2010-01-01T00:00Z",
]
OF_ANY_KEY += [2**63, ...]
SEEN_BY_THE_READER_ALONE = {"name", "field", "minimum", "maximum", "enum", "value", "prefixes", "unlisted", "fields"}
SEEN_BY_THE_READER_ALONE |= {"categories", "categoriesOrdered", "constraints", "hierarchy"}
"""What the format cannot compare with other keys."""


def steps(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each part."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from steps(value[key], (*path, key))


def put(tree: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy with something else in one place, or nothing where it is an ellipsis."""
    if not path:
        return new
    tree, (key, *rest) = copy.copy(tree), path
    if not rest and new is ...:
        del tree[key]
    else:
        tree[key] = put(tree[key] if rest else None, tuple(rest), new)
    return tree


def test_reader_and_format_agree_on_whatever_stands_anywhere_in_a_field() -> None:
    others = [(key, value) for field in WHOLE["fields"] for key, value in field.items() if key != "name"]
    unit = {"privacyUnit": {"field": "id", "maxRows": 3}, "draft": False, "name": "x", "missingValues": ["NA"]}
    refused = 0
    for field in WHOLE["fields"]:
        whole = {"fields": [WHOLE["fields"][1], field], **unit} if field["name"] == "id" else {"fields": [field]}
        place = len(whole["fields"]) - 1
        changes = [(path, new) for path in steps(whole) for new in OF_ANY_KEY if path or new is not ...]
        changes += [(("fields", place, key), value) for key, value in [*others, ("x", 1)]]
        for path, new in changes:
            broken = put(whole, path, new)
            key = next((each for each in reversed(path) if isinstance(each, str)), "")
            try:
                Schema.from_dict(broken)
            except SchemaError:
                refused += 1
                assert not VALIDATOR.is_valid(broken) or key in SEEN_BY_THE_READER_ALONE, broken
            else:  # nothing is the same as no key, and labels are read past
                assert VALIDATOR.is_valid(broken) or new is None or key == "label", broken
    assert refused > 2000


@pytest.mark.parametrize("broken", BROKEN)
def test_reader_and_format_refuse_the_same(broken: Any) -> None:
    with pytest.raises(SchemaError):
        Schema.from_dict(broken)

    assert not VALIDATOR.is_valid(broken)
