"""One field: what is read, what is refused, and whether the sentence names field and rule."""

import math
from typing import Any

import pytest

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.files import field_from

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}}


def age(**changes: Any) -> dict[str, Any]:
    return {**AGE, **changes}


def bounded(kind: str, minimum: object, maximum: object, **more: Any) -> dict[str, Any]:
    return {"name": "age", "type": kind, "constraints": {"minimum": minimum, "maximum": maximum}, **more}


def listed(kind: str, *categories: object, **more: Any) -> dict[str, Any]:
    return {"name": "age", "type": kind, "categories": list(categories), **more}


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        (bounded("integer", 120, 0), "minimum 120 is above maximum 0; swap them"),
        (bounded("integer", None, 5), "minimum is missing or blank"),
        (bounded("integer", "0", 5), 'minimum "0" is not a whole number'),
        (bounded("integer", True, 5), "minimum true is not a whole number"),
        (bounded("integer", 0, 2**63), "is not a whole number of 64 bits"),
        (bounded("number", math.nan, 5), "minimum NaN is not a finite number"),
        (bounded("number", 0, math.inf), "maximum Infinity is not a finite number"),
        (bounded("number", "0", 5), 'minimum "0" is not a finite number'),
        (bounded("date", 2010, "2010-01-01"), "minimum 2010 is not a date"),
        (bounded("datetime", "2010-01-01T00:00:00Z", "2010-01-01"), "without time zone"),
        (bounded("string", "a", "b"), "minimum does not apply to type string"),
        (bounded("boolean", None, True), "maximum does not apply to type boolean"),
        (age(type=None), "has no type; choose one of"),
        (age(type="float"), 'type "float" is not known; did you mean "number"'),
        (age(type="whole"), 'type "whole" is not known; choose one of'),
        (age(type="geopoint"), 'type "geopoint" is not known; leave the column out'),
        (age(special=["-1"]), 'special value "-1" is not a whole number'),
        (age(special=[-1, -1.0]), "special value -1 is listed twice"),
        (
            bounded("datetime", "2010-01-01", "2010-01-02", special=["1970-01-01", "1970-01-01T00:00"]),
            "is listed twice",
        ),
        (listed("integer", 1, 2, special=[-1]), "special applies to bounded numbers and dates only"),
        (listed("string", "a", special=["b"]), "special does not apply to type string"),
        (age(role="identifier", special=[-1]), "special applies to bounded numbers and dates only"),
        (age(resolution=0.5), "resolution 0.5 must be a whole positive step such as 100"),
        (age(resolution=0), "resolution 0 must be a whole positive step"),
        (bounded("number", 0, 1, resolution=0), "resolution 0 must be a positive step"),
        (bounded("datetime", "2010-01-01", "2010-01-02", resolution="week"), 'resolution "week" is not known'),
        (
            bounded("date", "2010-01-01", "2010-01-02", resolution="hour"),
            'resolution "hour" is not known; choose one of day, week, month, year',
        ),
        (listed("string", "a", resolution=1), "resolution 1 does not apply to type string"),
        (listed("integer", 1, 2, scale="log"), "scale log applies to bounded integers and numbers only"),
        (listed("string", "a", scale="log"), "scale log applies to bounded integers and numbers only"),
        (age(hierarchy={"prefixes": [1]}), "hierarchy needs categories; list them or remove it"),
        (listed("boolean", True, False, hierarchy={"prefixes": [1]}), "hierarchy does not apply to type boolean"),
        (
            listed("string", "a", categoriesOrdered=True, hierarchy={"prefixes": [1]}),
            "hierarchy does not go with categoriesOrdered; remove one of them",
        ),
        (listed("string", "a", hierarchy={"prefixes": list(range(1, 10))}), "must be 1 to 8 lengths, got 9"),
        (listed("string", "a", hierarchy={"prefixes": [1, "3"]}), 'must be whole numbers of at least 1, got "3"'),
        (listed("string", "a", hierarchy={"prefixes": [3, 1]}), "must increase, got 3 before 1; sort them"),
        (listed("string", "a", hierarchy={"parents": {"a": "\ud800"}}), "a text that is not valid Unicode"),
        (
            listed("string", "a", "b", hierarchy={"parents": {"a": "x", "x": "y", "y": "z", "z": "x"}}),
            'hierarchy leads from "x" back to itself; remove one of its parents',
        ),
        (
            listed("string", "a", hierarchy={"parents": {"a": "b", "c": "b"}}),
            'hierarchy gives "c" a parent, but it is no category and leads to none',
        ),
        (
            listed("string", "0", hierarchy={"parents": {str(at): str(at + 1) for at in range(9)}}),
            'hierarchy has 9 branches above category "0", more than 8; leave some out',
        ),
        (listed("number", 1, 2, resolution=0.5), "resolution does not apply to categories"),
        (listed("string"), "the category list is empty"),
        (listed("string", "a", "b", "a"), 'category "a" is listed twice'),
        (listed("string", "1", 2), "category 2 does not fit type string beside the others"),
        (listed("string", "a", None), "category null must be a text, a number, true or false"),
        (listed("string", 1.5, math.nan), "category NaN is not a finite number"),
        (listed("integer", "1", "2"), 'category "1" does not fit type integer'),
        (listed("boolean", 0, 1), "category 0 does not fit type boolean"),
        (listed("datetime", "2010-01-01", "2010-01-01T00:00"), 'category "2010-01-01T00:00" is listed twice'),
        (age(special=[-1], missingValues=["-1"]), "-1 is both a special and a missing value"),
        (listed("date", "today"), 'category "today" is not a date'),
        (listed("string", "a", "\ud800"), "not valid Unicode"),
        (listed("string", "a", missingValues=["a"]), '"a" is both a category and a missing value'),
        (age(categoriesOrdered=True), "categoriesOrdered needs categories"),
        (listed("string", "a", constraints={"enum": ["a", "b"]}), "categories and enum list different values"),
        (bounded("date", "2010-01-01", "2010-01-02", format="%d/%m"), "must name the year, the month and the day"),
        (bounded("date", "2010-01-01", "2010-01-02", format="%Y-%m-%d %H"), "must name no hour; use type datetime"),
        (bounded("datetime", "2010-01-01", "2010-01-02", format="%Y-%m-%d"), "must name the hour"),
        (bounded("date", "2010-01-01", "2010-01-02", format="%Y-%m-%d %d"), "names a part twice"),
        (bounded("date", "2010-01-01", "2010-01-02", format="dd.mm.yyyy"), "write for example %d.%m.%Y"),
        (age(groupChar="."), "decimalChar and groupChar must differ"),
        ({"name": "age", "type": "boolean", "decimalChar": ","}, "decimalChar applies to type integer and number"),
        (
            {"name": "age", "type": "boolean", "trueValues": ["x"], "falseValues": ["x"]},
            '"x" is both true and false',
        ),
        ({"name": "age", "type": "date", "role": "identifier"}, "an identifier must have type integer or string"),
    ],
)
def test_a_broken_rule_is_named_with_its_field(source: dict[str, Any], rule: str) -> None:
    with pytest.raises(SchemaError) as caught:
        _ = field_from(source).domain

    sentence = str(caught.value)
    assert sentence.startswith('field "age": ')
    assert rule in sentence
    assert "\n" not in sentence


def test_enum_and_labelled_categories_mean_categories() -> None:
    plain = field_from(listed("string", "a", "b"))
    enum = field_from({"name": "age", "type": "string", "constraints": {"enum": ["a", "b"]}})
    labelled = field_from(listed("string", {"value": "a", "label": "Apple"}, {"value": "b"}))

    assert plain == enum == labelled


def test_both_lists_may_agree_and_categories_give_the_order() -> None:
    field = field_from(listed("integer", 2, 1, constraints={"enum": [1, 2]}))

    assert field.categories == (2, 1)


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


def test_numbers_are_kept_in_one_form() -> None:
    loose = field_from(bounded("integer", 0.0, 120.0, special=[-1.0]))
    strict = field_from(bounded("integer", 0, 120, special=[-1]))
    number = field_from(bounded("number", -0.0, 1.0, resolution=1.0))

    assert loose == strict
    assert [type(value) for value in (loose.minimum, *loose.special)] == [int, int]
    assert repr((number.minimum, number.maximum, number.resolution)) == "(0, 1, 1)"


def test_lists_given_in_python_become_tuples() -> None:
    field = Field(name="x", type="integer", minimum=0, maximum=9, special=[-1])  # type: ignore[arg-type]

    assert field.special == (-1,)
    assert hash(field) == hash(Field(name="x", type="integer", minimum=0, maximum=9, special=(-1,)))
