"""Texts that are not listed: they fold into their prefixes, go to one category for all, or are misfits as before."""

import json

import polars as pl
import pytest

from helpers.command import lapwing
from lapwing.errors import ParameterError, SchemaError
from lapwing.extras.evaluate.internal.schemas import FieldFit, check_table
from lapwing.rows.cells import Numbers, Texts, Times, texts
from lapwing.rows.codec import encode
from lapwing.schema.conditions import read_conditions, wanted_runs, where_runs
from lapwing.schema.fields import Field
from lapwing.schema.files import field_from
from lapwing.schema.groupings.category_trees import Prefixes
from lapwing.schema.schemas import Schema


def codes_field(*categories, unlisted=None, lengths=(1, 3), **settings):
    hierarchy = Prefixes(lengths, fold=True) if lengths else None
    return Field(
        name="dx",
        type="string",
        categories=categories,
        hierarchy=hierarchy,
        unlisted=unlisted,
        required=True,
        **settings,
    )


def named(field, cells):
    """Return the category of each cell, None at the last code."""
    raw = cells if isinstance(cells, Numbers | Times | Texts) else texts(cells)
    return [(*field.categories, None)[code] for code in encode(raw, field).tolist()]


def test_a_text_goes_to_its_longest_listed_prefix_then_to_the_category_for_all():
    field = codes_field("250", "2", "250.01", "4", "rest", unlisted="rest")

    assert named(field, ["250.01", "250.13", "250", "251", "2", "401.9", "V70", "25", "re"]) == [
        *("250.01", "250", "250", "2", "2", "4", "rest", "2", "rest"),
    ]


def test_rules_are_written_only_where_they_are_set_and_read_back():
    plain = {"name": "dx", "type": "string", "categories": ["250", "rest"], "hierarchy": {"prefixes": [1, 3]}}
    ruled = {**plain, "hierarchy": {"prefixes": [1, 3], "fold": True}, "unlisted": "rest"}
    schemas = [Schema.from_dict({"fields": [each]}) for each in (plain, ruled)]

    assert schemas[0].to_dict()["fields"][0] == {**plain, "provenance": "assumed"}
    assert schemas[1].to_dict()["fields"][0] == {**ruled, "provenance": "assumed"}
    assert schemas[0].fingerprint != schemas[1].fingerprint
    assert Schema.from_dict(json.loads(json.dumps(schemas[1].to_dict()))) == schemas[1]
    off = {**plain, "hierarchy": {"prefixes": [1, 3], "fold": False}, "unlisted": None}
    assert Schema.from_dict({"fields": [off]}).fingerprint == schemas[0].fingerprint


def test_a_draft_may_name_its_rules_before_its_list():
    field = field_from(
        {
            "name": "dx",
            "type": "string",
            "categories": None,
            "hierarchy": {"prefixes": [1], "fold": True},
            "unlisted": "o",
        }
    )

    assert field.blank == ("categories",)
    assert (field.folds, field.unlisted) == ((1,), "o")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"unlisted": "x"}, 'field "dx": unlisted "x" is not one of the categories; add it to them'),
        ({"unlisted": ["a"]}, "unlisted must be the text of a category, got a list"),
        ({"unlisted": "a", "categories": None, "role": "identifier"}, "unlisted applies to string fields"),
        ({"unlisted": "1", "categories": [1, 2]}, "unlisted applies to string fields whose categories are texts"),
        ({"type": "integer", "categories": [1], "unlisted": "1"}, "unlisted applies to string fields"),
        ({"type": "integer", "categories": None, "unlisted": "1"}, "unlisted applies to string fields"),
        ({"hierarchy": {"parents": {"a": "b"}, "fold": True}}, 'unknown key "fold"; known are parents'),
        ({"categories": [1], "hierarchy": {"prefixes": [1], "fold": True}}, "hierarchy fold applies to string fields"),
        ({"unlisted": "a", "missingValues": ["a"]}, "is both a category and a missing value"),
        ({"unlisted": "\ud800"}, "unlisted must be the text of a category"),
        ({"categories": None, "hierarchy": {"parents": {"a": "b"}}}, "hierarchy needs categories"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused(settings, said):
    source = {"name": "dx", "type": "string", "categories": ["a", "b"], **settings}

    with pytest.raises(SchemaError) as refused:
        field_from(source)

    assert said in str(refused.value)


def test_a_condition_on_a_text_that_is_not_listed_is_told_what_to_ask_for():
    field = codes_field("250", "2", "4", "rest", unlisted="rest")
    schema = Schema(fields=(field,))

    for value, known_as in (("250.13", "250"), (250.13, "250"), ("V70", "rest")):
        with pytest.raises(ParameterError) as refused:
            wanted_runs(field, value)
        assert str(refused.value).endswith(f'; it is counted under "{known_as}": ask for that')
    with pytest.raises(ParameterError, match='it is counted under "250": ask for that'):
        where_runs(schema, read_conditions(["dx=250.13"], schema))
    with pytest.raises(ParameterError) as refused:
        wanted_runs(codes_field("250"), "V70")
    assert str(refused.value).endswith('choose one of "250"')


def test_folded_and_unlisted_cells_are_counted_apart():
    field = codes_field("250", "250.01", "rest", "250.2", unlisted="rest")
    cells = ["250.01", "250.13", "250.2", "250.7", "V70", "rest", "", None, b"\xff"]
    table = pl.DataFrame({"dx": pl.Series(cells, dtype=pl.Object)})

    (found,) = check_table(table, Schema(fields=(field,))).value

    assert found == FieldFit(name="dx", cells=9, missing=2, clamped=0, special=0, misfit=1, folded=2, unlisted=1)


def test_schema_check_shows_both_counts_and_where_most_texts_go(tmp_path):
    schema = Schema(fields=(codes_field("250", "rest", unlisted="rest"),))
    schema.save(tmp_path / "s.json")
    pl.DataFrame({"dx": ["250.1", "canary", "canaries", "250", "canned"]}).write_csv(tmp_path / "t.csv")

    said = lapwing("schema", "check", tmp_path / "s.json", tmp_path / "t.csv")
    lines = said.out.splitlines()

    assert said.status == 0
    assert lines[-3].endswith("misfit  folded  unlisted")
    assert lines[-2].split() == ["dx", "5", "0", "0", "0", "0", "1", "3"]
    assert lines[-1] == 'dx: 3 of 5 cells are not listed and go to "rest"'
    assert any('texts not listed go to their prefix, other texts go to "rest"' in line for line in lines)
    assert "canar" not in said.out + said.err


@pytest.mark.parametrize("column", ["diag_1", "diag_2", "diag_3"])
def test_three_characters_of_each_diagnosis_cover_every_row_of_a_real_table(shared_data, column):
    data = shared_data / "diabetes130" / "data.parquet"
    field = Schema.load(shared_data / "diabetes130" / "schema.json").field(column)
    short = sorted({text[:3] for text in field.categories})
    assert len(short) < len(field.categories)
    folding = Field(
        name=column, type="string", categories=tuple(short), hierarchy=Prefixes((1, 3), fold=True), required=True
    )

    cells = pl.read_parquet(data, columns=[column])[column]
    (found,) = check_table(data, Schema(fields=(folding,))).value

    assert found.misfit == found.missing == found.unlisted == 0
    assert found.folded == int((~cells.is_in(short)).sum())
    assert named(folding, Texts(cells)) == cells.str.head(3).to_list()
