"""Fields that any value fits, and the schema made of them by which a table is read before its domains are known."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from lapwing.errors import SchemaError
from lapwing.release.runs.learned.settings import opened_field, opened_schema
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.groupings.category_trees import Prefixes
from lapwing.schema.groupings.domains import MAGNITUDE_VALUES
from lapwing.schema.schemas import Schema

FIELDS = (
    Field(name="who", type="string", identifier=True, missing_values=("nobody",)),
    Field(name="income", type="integer", special=(-1, 10**18), missing_values=("", "N/A")),
    Field(name="score", type="number", minimum=0, maximum=1, resolution=0.01, scale="log", required=True),
    Field(name="town", type="string", description="where"),
    Field(name="code", type="string", hierarchy=Prefixes((1,)), categories=("a", "b", "ab"), unlisted="a"),
    Field(name="born", type="date", special=("1900-01-01",), resolution="month"),
    Field(name="seen", type="datetime", required=True),
    Field(name="flag", type="boolean"),
)
DRAFT = Schema(fields=FIELDS, is_draft=True, name="people", privacy_unit=PrivacyUnit("who", 3))


def named(field_name):
    return DRAFT.field(field_name)


def test_numbers_are_read_on_the_grid_of_magnitudes_and_keep_their_special_values():
    income, score = opened_field(named("income")), opened_field(named("score"))

    assert income == Field(name="income", type="integer", special=(-1, 10**18), missing_values=("", "N/A"), open=True)
    assert score == Field(name="score", type="number", required=True, open=True)
    for field, specials, missing in ((income, 2, True), (score, 0, False)):
        domain = field.domain
        assert (domain.values, domain.specials, domain.missing) == (MAGNITUDE_VALUES, specials, missing)
        assert (domain.ordered, domain.continuous, domain.cuts) == (True, False, ())


def test_texts_are_read_unlisted():
    for name in ("town", "code"):
        field = opened_field(named(name))

        assert field == Field(name=name, type="string", open=True)
        assert (field.domain.values, field.domain.ordered, field.domain.dtype) == (2**53, False, np.int64)


@pytest.mark.parametrize("name", ["born", "seen"])
def test_dates_and_moments_are_read_by_day_over_all_years(name):
    field = opened_field(named(name))

    codes = encode_texts(field, "0001-01-01", "0001-01-02T23:59:59", "9999-12-31T12:00", "no day")
    assert codes == [0, 1, 3652058, field.domain.last]
    assert (field.special, field.required, field.open) == (named(name).special, named(name).required, False)


def encode_texts(field, *cells):
    table = pl.DataFrame({field.name: pl.Series(cells, dtype=pl.String)})
    return [int(code) for part in code_table(table, Schema(fields=(field,))).chunks() for code in part[field.name]]


@pytest.mark.parametrize(("name", "what"), [("who", "identifier"), ("flag", "boolean")])
def test_fields_without_anything_to_learn_are_refused(name, what):
    with pytest.raises(SchemaError, match=f'"{name}".*{what}.*leave it out'):
        opened_field(named(name))
    with pytest.raises(SchemaError, match="leave it out"):
        opened_schema(DRAFT, ["town", name], {})


@pytest.mark.parametrize(
    "settings",
    [
        {"type": "date"},
        {"type": "integer", "minimum": 0},
        {"type": "number", "resolution": 1},
        {"type": "number", "scale": "log"},
        {"type": "string", "categories": ("a",)},
        {"type": "string", "identifier": True},
        {"type": "string", "special": (1,)},
    ],
    ids=str,
)
def test_an_opened_field_says_nothing_about_its_values(settings):
    with pytest.raises(SchemaError, match='field "x"'):
        Field(**{"name": "x", "open": True, **settings})


def test_files_do_not_know_opened_fields():
    opened = opened_schema(DRAFT, ["income", "town"], {})

    assert all("open" not in field for field in opened.to_dict()["fields"])
    with pytest.raises(SchemaError):
        Schema.from_dict(opened.to_dict())


def test_the_schema_has_the_fields_to_learn_and_who_is_protected_in_its_own_order():
    opened = opened_schema(DRAFT, ["town", "income"], {})

    assert [field.name for field in opened.fields] == ["who", "income", "town"]
    assert [field.open for field in opened.fields] == [False, True, True]
    assert (opened.is_draft, opened.name, opened.unit_label) == (False, "people", "who:3")
    assert opened.field("who").identifier
    assert opened.field("who").missing_values == ("nobody",)


def test_a_field_with_a_list_stays_one_and_a_dictionary_takes_its_place():
    alone = opened_schema(DRAFT, ["code"], {}).field("code")
    given = opened_schema(DRAFT, ["code", "town"], {"code": ("x", "y"), "town": ("York",)})

    assert alone == named("code")
    tree = Prefixes((1,), fold=True)  # codes count under those of the list that they begin with
    assert given.field("code") == Field(name="code", type="string", categories=("x", "y"), hierarchy=tree)
    assert given.field("town") == Field(name="town", type="string", categories=("York",))


def test_a_drafted_list_is_not_taken_for_a_public_one():
    drafted = replace(DRAFT, fields=(replace(named("code"), provenance="drafted"), *FIELDS[:1]))

    with pytest.raises(SchemaError, match="drafted"):
        opened_schema(drafted, ["code"], {})


UNITS = {
    "string": ["1", "1", "2.0", "2", "x", None, "nobody"],
    "integer": ["1", "1.0", "2", "x", "x", "", "nobody"],
    "number": ["1", "1.0", "2.5", "25e-1", "x", "", "nobody"],
    "date": ["2020-01-01", "2020-01-01T00:00", "2020-01-02", "x", "x", "", "nobody"],
    "datetime": ["2020-01-01", "2020-01-01T00:00", "2020-01-02", "2020-01-02T00:00Z", "x", "", "nobody"],
    "boolean": ["true", "True", "1", "0", "x", "", "nobody"],
}


@pytest.mark.parametrize("is_learned", [False, True], ids=["another field", "the unit's own field"])
@pytest.mark.parametrize("kind", UNITS)
def test_the_privacy_units_are_the_same_as_under_the_schema_itself(kind, is_learned):
    if kind == "boolean" and is_learned:
        pytest.skip("a boolean has nothing to learn")
    bounds = {
        "integer": {"minimum": 0, "maximum": 9},
        "number": {"minimum": 0, "maximum": 9},
        "date": {"minimum": "2020-01-01", "maximum": "2020-01-02"},
        "datetime": {"minimum": "2020-01-01", "maximum": "2020-01-02"},
        "string": {"categories": ("1", "x")},
        "boolean": {},
    }[kind]
    who = Field(name="who", type=kind, missing_values=("", "nobody"), **bounds)
    schema = Schema(fields=(who, replace(named("town"), categories=("a",))), privacy_unit=PrivacyUnit("who", 1))
    table = pl.DataFrame({"who": UNITS[kind], "town": list("abcdefg")})
    whole = code_table(table, schema)

    opened = opened_schema(schema, ["who" if is_learned else "town"], {})

    found = code_table(table, opened)
    assert (found.units, found.rows) == (whole.units, whole.rows)
    assert found.units < 7
    assert opened.field("who").identifier == (kind in ("integer", "string") and not is_learned)
