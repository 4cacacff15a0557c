"""Texts that are not listed: they fold into their prefixes, go to one category for all, or are misfits as before."""

import json
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.errors import ParameterError, SchemaError
from lapwing.extras.evaluate.internal.schemas import FieldFit, check_table
from lapwing.rows.cells import UNREADABLE, Numbers, Texts, Times, texts
from lapwing.rows.codec import encode
from lapwing.rows.source import code_table
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


def test_without_a_category_for_all_what_folds_nowhere_is_a_misfit():
    field = codes_field("250", "2")

    assert named(field, ["250.13", "V70", "", " 2x"]) == ["250", None, None, None]


def test_only_the_declared_lengths_fold():
    field = codes_field("25", "2500", "2", lengths=(1, 3))

    assert named(field, ["2500.1", "250", "25.5"]) == ["2", "2", "2"]


def test_branches_alone_fold_nothing():
    field = Field(name="dx", type="string", categories=("250", "2"), hierarchy=Prefixes((1, 3)))

    assert named(field, ["250.13"]) == [None]


def test_missing_cells_and_texts_for_missing_stay_missing():
    field = codes_field("2", "rest", unlisted="rest", missing_values=("2?", "NA"))

    assert named(field, ["2?", "NA", "", None, "2??", " "]) == [None, None, None, None, "2", "rest"]
    assert named(field, Numbers(np.array([np.nan, 2.5]))) == [None, "2"]
    assert named(field, Numbers(np.array([25, 7]), np.array([True, False]))) == [None, "rest"]


def test_the_empty_text_counts_where_it_is_listed_only():
    assert named(codes_field("", "a", unlisted="a", missing_values=()), ["", "b"]) == ["", "a"]
    assert named(codes_field("a", "", unlisted="", missing_values=()), ["", "b"]) == ["", ""]
    assert named(codes_field("a", unlisted="a", missing_values=("NA",)), ["", "b"]) == [None, "a"]


def test_what_no_field_can_hold_stays_a_misfit():
    field = codes_field("\x00", "b", "rest", unlisted="rest")

    assert named(field, [object(), b"\xff\xfe", UNREADABLE, b"bytes", "\x00b", "\x00"]) == [
        *(None, None, None, "b", "\x00", "\x00")
    ]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
def test_numbers_fold_by_the_text_they_stand_for(dtype):
    field = codes_field("250", "4", "rest", unlisted="rest")
    values = np.array([25013, 250, 4019, 7, 2500], dtype=dtype)

    assert named(field, Numbers(values)) == named(field, map(str, values.tolist()))
    assert named(field, Numbers(values)) == ["250", "250", "4", "rest", "250"]


def test_decimals_moments_and_booleans_fold_as_they_are_written():
    field = codes_field("250", "202", "t", "-", "i", "rest", unlisted="rest", lengths=(1, 3))

    assert named(field, Numbers(np.array([250.13, -2.5, np.inf, -np.inf, 1e300]))) == ["250", "-", "i", "-", "rest"]
    assert named(field, Numbers(np.array([True, False]))) == ["t", "rest"]
    assert named(field, Times(np.array([1_600_000_000_000_000, -(2**63), 0]))) == ["202", "rest", "rest"]


def test_long_whole_numbers_keep_their_digits_as_floats():
    field = codes_field("123", "1", lengths=(1, 3))
    exact = 1_234_567_890_123_456_768

    assert named(field, Numbers(np.array([float(exact)]))) == ["123"]
    assert named(field, [exact, float(exact), str(exact), str(float(exact)), "1e+400"]) == [*["123"] * 4, "1"]


def test_decimals_with_an_exponent_are_the_number_they_are():
    field = codes_field("100", "12", "1E", lengths=(2,))

    cells = [Decimal("1E+2"), Decimal("100.0"), Decimal("1.2E+3"), Decimal("1E+400"), Decimal("sNaN")]

    assert named(field, cells) == ["100", "100", "12", "1E", None]


def test_a_number_with_spaces_around_it_is_the_number_and_a_text_is_taken_to_the_letter():
    field = codes_field("250", "V70", "rest", unlisted="rest")

    assert named(field, [" 250.13\t", "250.00", " V70.1", "v70"]) == ["250", "250", "rest", "rest"]


def test_a_number_beyond_64_bits_is_found_where_its_text_is_listed():
    field = codes_field("9223372036854775808", "rest", unlisted="rest", lengths=())

    assert named(field, Numbers(np.array([2**63, 5], dtype=np.uint64))) == ["9223372036854775808", "rest"]


def test_characters_are_counted_and_not_bytes():
    field = codes_field("\u00e9\U0001f426", "e", "\U0001f426", lengths=(1, 2))

    assert named(field, ["\u00e9\U0001f426x", "\U0001f426\u00e9", "e\u0301"]) == ["\u00e9\U0001f426", "\U0001f426", "e"]


def test_rules_change_no_code_of_a_listed_text():
    cells = ["250.01", "V70", "007", "7", "true", "2020-01-01", "2.5", " 7", "TRUE", "2020-01-01T00:00", "7.0"]
    categories = ("V70", "250.01", "007", "7", "true", "2020-01-01", "2.5", "rest", "2", "V")
    branches = Field(name="dx", type="string", categories=categories, hierarchy=Prefixes((1, 3)))
    ruled = Field(
        name="dx", type="string", categories=categories, hierarchy=Prefixes((1, 3), fold=True), unlisted="rest"
    )

    assert ruled.categories == branches.categories
    assert ruled.domain == branches.domain
    assert encode(texts(cells), ruled).tolist() == encode(texts(cells), branches).tolist()


def test_a_prefix_that_is_listed_comes_first_in_its_branch():
    field = codes_field("250", "250.01", "251", "2", "4", "25", lengths=(1, 2, 3))
    first = codes_field("2", "25", "250", "250.01", "251", "4", lengths=(1, 2, 3))

    assert first.categories == ("2", "25", "250", "250.01", "251", "4")
    assert set(field.categories[:5]) == {"250", "250.01", "251", "2", "25"}


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
    assert lines[-3].endswith("invalid  folded  unlisted")
    assert lines[-2].split() == ["dx", "5", "0", "0", "0", "0", "1", "3"]
    assert lines[-1] == 'dx: 3 of 5 cells are not listed and go to "rest"'
    assert any('texts not listed go to their prefix, other texts go to "rest"' in line for line in lines)
    assert "canar" not in said.out + said.err


def test_what_folds_into_the_category_for_all_is_folded():
    field = codes_field("250", unlisted="250")

    (found,) = check_table(pl.DataFrame({"dx": ["250.1", "V70"]}), Schema(fields=(field,))).value

    assert (found.folded, found.unlisted, found.misfit) == (1, 1, 0)


def test_codes_do_not_depend_on_how_the_rows_are_chunked():
    field = codes_field("250", "4", "rest", unlisted="rest")
    cells = ["250.13", "V70", "401", "250", "x", None] * 50_000
    table = pl.concat([pl.DataFrame({"dx": cells[:7]}), pl.DataFrame({"dx": cells[7:]})], rechunk=False)

    codes = np.concatenate([chunk["dx"] for chunk in code_table(table, Schema(fields=(field,))).chunks()])

    assert codes.tolist() == encode(texts(cells), field).tolist()


def test_rows_out_show_prefixes_and_the_category_for_all():
    field = codes_field("250", "4", "rest", unlisted="rest")
    table = pl.DataFrame({"dx": ["250.13", "401.9", "V70", "250.7"] * 500})

    rows = lw.synthesize(table, Schema(fields=(field,)), epsilon=10).sample(400, seed=1)

    assert set(rows["dx"].to_list()) == {"250", "4", "rest"}


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
