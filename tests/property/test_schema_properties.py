"""What holds for every schema, and for everything that might be taken for one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lapwing.errors import SchemaError
from lapwing.schema.scalars import date_text, datetime_text
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import parse_json
from lapwing.schema.values import category_positions, special_codes

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
NUMBERS = st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e9, 1e9))
DAYS = st.integers(-50_000, 50_000)


def between(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> dict[str, Any]:
    low, high = sorted((draw(values), draw(values)))
    return {"minimum": low, "maximum": high}


@st.composite
def hierarchies(draw: st.DrawFn, categories: list[str]) -> dict[str, Any] | None:
    kind = draw(st.sampled_from(["none", "prefixes", "parents"]))
    if kind == "prefixes":
        return {"prefixes": sorted(draw(st.lists(st.integers(1, 9), min_size=1, max_size=8, unique=True)))}
    # Parents stand further behind: no circle.
    parents = {one: draw(st.sampled_from([*categories[at + 1 :], "a branch"])) for at, one in enumerate(categories)}
    return {"parents": parents | {"a branch": "all"}} if kind == "parents" and "a branch" not in categories else None


@st.composite
def ranges(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    units = ["day", "month", "year"]
    if kind == "integer":
        constraints, steps = between(draw, st.integers(-(2**51), 2**51)), [1, 100, 2**60]
    elif kind == "number":
        constraints, steps = between(draw, NUMBERS), [0.01, 1, 2.5]
    elif kind == "date":
        constraints = {key: date_text(value) for key, value in between(draw, DAYS).items()}
        return {"constraints": constraints, "resolution": draw(st.sampled_from([None, "week", *units]))}
    else:
        times = between(draw, DAYS.map(lambda day: day * 86_400 * 10**6 + 10**6))
        constraints = {key: datetime_text(value) for key, value in times.items()}
        return {"constraints": constraints, "resolution": draw(st.sampled_from([None, "hour", "minute", *units]))}
    special = st.integers(-(2**62), 2**62) if kind == "integer" else NUMBERS
    return {
        "constraints": constraints,
        "resolution": draw(st.sampled_from([None, *steps])),
        "scale": draw(st.sampled_from([None, "linear", "log"])),
        "special": draw(st.lists(special, unique_by=float, max_size=3)),
    }


@st.composite
def fields(draw: st.DrawFn, name: str) -> dict[str, Any]:
    kind = draw(st.sampled_from(["integer", "number", "string", "boolean", "date", "datetime", "list", "identifier"]))
    field: dict[str, Any] = {"name": name, "type": kind, "description": draw(st.text("ab", max_size=2))}
    if kind in ("integer", "number", "date", "datetime"):
        field |= draw(ranges(kind))
    elif kind == "string":
        field["categories"] = draw(st.lists(TEXTS, min_size=1, max_size=6, unique=True))
        field["categoriesOrdered"] = draw(st.booleans())
        if not field["categoriesOrdered"]:
            field["hierarchy"] = draw(hierarchies(field["categories"]))
    elif kind == "list":
        field["type"] = draw(st.sampled_from(["string", "number"]))
        field["categories"] = draw(st.lists(NUMBERS, min_size=1, max_size=6, unique_by=float))
    elif kind == "identifier":
        field |= {"type": draw(st.sampled_from(["integer", "string"])), "role": "identifier"}
    field["constraints"] = {**field.get("constraints", {}), "required": draw(st.booleans())}
    if draw(st.booleans()):
        field["provenance"] = draw(st.sampled_from(["public", "assumed", "dp"]))
    return field


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(TEXTS, min_size=1, max_size=5, unique=True))
    table: dict[str, Any] = {"fields": [draw(fields(name)) for name in names], "draft": draw(st.booleans())}
    table["fields"].append({"name": "sure", "type": "boolean"} if "sure" not in names else draw(fields("certain")))
    if draw(st.booleans()):
        table["privacyUnit"] = {"field": draw(st.sampled_from(names)), "maxRows": draw(st.integers(1, 9))}
    if draw(st.booleans()):
        table["name"] = draw(TEXTS)
    return table


def taken_or_refused(read: Callable[..., Any], *source: object) -> tuple[Any, str]:
    """Return what was read and an empty text, or None and the sentence of the refusal."""
    try:
        return read(*source), ""
    except SchemaError as error:
        return None, str(error)


@given(table=tables())
@settings(max_examples=150)
def test_the_normal_form_is_a_fixed_point(table: dict[str, Any]) -> None:
    schema = Schema.from_dict(table)

    text = json.dumps(schema.to_dict(), allow_nan=False)
    again = Schema.from_dict(parse_json(text.encode(), "the schema"))  # type: ignore[arg-type]

    assert again == schema
    assert json.dumps(again.to_dict()) == text
    assert again.fingerprint == schema.fingerprint


@given(table=tables())
@settings(max_examples=150)
def test_bounds_steps_and_domains_agree(table: dict[str, Any]) -> None:
    schema = Schema.from_dict(table)

    for field in schema.columns:
        domain = field.domain
        if field.categories is not None:
            assert sorted(category_positions(field).values()) == list(range(domain.values))
        elif not field.is_categorical:
            low, high, width = field.range.lo, field.range.hi, field.range.step
            assert low <= high
            if width is None and not domain.continuous:
                assert field.resolution in ("month", "year") or low == high
            if width is not None and field.type != "number":
                assert low + (domain.values - 1) * width == high
        assert sorted(special_codes(field).values()) == list(range(domain.values, domain.last))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.sampled_from(
                    ["fields", "name", "type", "constraints", "minimum", "maximum", "categories", "special", "role"]
                ),
                st.text(max_size=3),
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)
KEYS = [
    "type",
    "constraints",
    "categories",
    "special",
    "resolution",
    "scale",
    "hierarchy",
    "role",
    "missingValues",
    "description",
    "format",
]


@given(value=JSON)
@example(value=None)
@settings(max_examples=200)
def test_any_value_is_a_schema_or_one_sentence(value: Any) -> None:
    for source in (value, {"fields": value}, {"fields": [value]}, {"fields": [], "privacyUnit": value}):
        with pytest.raises(SchemaError) as caught:
            Schema.from_dict(source)

        assert "\n" not in str(caught.value)


@given(key=st.sampled_from(KEYS), value=JSON, kind=st.sampled_from(["integer", "number", "string", "date", "boolean"]))
@settings(max_examples=300)
def test_any_setting_of_a_field_is_taken_or_refused_in_one_sentence(key: str, value: Any, kind: str) -> None:
    field = {"name": "x", "type": kind, "constraints": {"minimum": 0, "maximum": 9}, key: value}

    for source in (
        field,
        {"name": "x", "type": kind, "constraints": {"minimum": value, "maximum": value, "enum": value}},
    ):
        schema, sentence = taken_or_refused(Schema.from_dict, {"fields": [source, {"name": "y", "type": "boolean"}]})

        assert "\n" not in sentence
        assert schema is None or Schema.from_dict(schema.to_dict()) == schema
