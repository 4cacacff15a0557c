"""Texts that no schema lists: how they are selected, what they cost, and what is drawn for them."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.bits import CountingBits, ZeroNoiseBits
from helpers.category_runs import open_schema
from helpers.command import lapwing
from lapwing.errors import ParameterError, SchemaError
from lapwing.extras.evaluate.internal.schemas import FieldFit, check_table
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import CERTIFICATES
from lapwing.model.certificate.cost_lines import CostLine, counted_lines
from lapwing.model.statistics.expressions import read_conditions
from lapwing.rows.cells import UNREADABLE, Numbers, Texts, Times, texts
from lapwing.rows.codec import encode
from lapwing.rows.source import code_table
from lapwing.schema.conditions import wanted_runs, where_runs
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
    plain = make.field("dx", ["250", "rest"], hierarchy={"prefixes": [1, 3]})
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
        make.field("dx", "string", categories=None, hierarchy={"prefixes": [1], "fold": True}, unlisted="o")
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


TERMS = Terms(relation="add-remove")
LAW = NoiseLaw("laplace", Fraction(2))


def question(**changes):
    every = {"column": "town", "prefix": None, "cost": Budget.pure(2), "delta": Fraction(1, 100), "most": 5}
    return CategorySelection(**(every | changes))


def room(texts, bits=None) -> Curator:
    schema = open_schema(has_unit=False)
    source = code_table(pl.DataFrame({"town": pl.Series(texts, dtype=pl.String)}), schema)
    return Room(
        source,
        schema,
        TERMS,
        Budget.pure(1000),
        bits=ZeroNoiseBits() if bits is None else bits,
        sink=NoTranscript(),
        delta=Fraction(1, 2),
    )


def shown(texts, **changes):
    """Return what is shown of some texts without noise."""
    (answer,) = room(texts).ask(question(**changes))
    return dict(zip(answer.texts, answer.counts.tolist(), strict=True))


@pytest.mark.parametrize(
    "text", ["", None, "N/A", "two\nlines", "tab\t", "\u2028", "\x7f", "\xa0", "\ufeff", "x" * 201, "\U0010ffff"]
)
def test_some_texts_are_never_listed(text):
    assert shown([text] * 500 + ["here"] * 500) == {"here": 500}


@pytest.mark.parametrize("text", ["a", " ", "x" * 200, "007", "e\u0301", "日本", "🦆", "<b>"])
def test_any_printable_text_can_be_listed_as_it_is(text):
    assert shown([text] * 500) == {text: 500}


def test_a_prefix_that_reads_as_missing_is_never_listed():
    assert shown(["Zug", "Zürich"] * 100, prefix=1) == {}
    assert shown(["Zug", "Zürich"] * 100, prefix=2) == {"Zu": 100, "Zü": 100}


def test_questions_about_one_column_share_one_pass_over_the_rows(monkeypatch):
    passes = []
    inside = room(["Bern"] * 50)
    honest = inside._rows.source.texts
    monkeypatch.setattr(
        type(inside._rows.source), "texts", lambda self, column: passes.append(column) or honest(column)
    )

    inside.ask(question(prefix=1), question(prefix=2), question())

    assert passes == ["town"]


def test_rows_of_one_unit_beyond_its_limit_do_not_count():
    schema = open_schema(3)
    rows = [("one", "Bern")] * 500 + [(f"p{place}", "Chur") for place in range(60)]
    source = code_table(pl.DataFrame(rows, schema=["person", "town"], orient="row"), schema)
    terms = Terms(relation="add-remove", max_rows=3)
    parts = {"bits": ZeroNoiseBits(), "sink": NoTranscript(), "delta": Fraction(1, 2)}

    (answer,) = Room(source, schema, terms, Budget.pure(3), **parts).ask(question())

    assert answer.texts == ("Chur",)


def test_secret_words_are_drawn_for_every_text_that_occurs_once_in_one_call_per_question():
    bits = CountingBits(SystemBits())

    room([f"t{place}" for place in range(500)] * 3, bits).ask(question(), question(prefix=1))

    fewer = CountingBits(SystemBits())
    room([f"t{place}" for place in range(500)], fewer).ask(question(), question(prefix=1))
    assert bits.count == fewer.count  # of distinct texts, not of rows


# ------------------------------------------------------------------------------------------------ records, refusals
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cost": Budget("pure", Fraction(0))}, "more than 0"),
        ({"delta": Fraction(0)}, "from 1e-300 to 0.5, got 0"),
        ({"delta": Fraction(51, 100)}, "from 1e-300 to 0.5, got 0.51"),
        ({"delta": Fraction(1, 10**301)}, "from 1e-300"),
        ({"delta": Fraction(10**400)}, "got far more"),
        ({"prefix": 0}, "from 1 to 200, got 0"),
        ({"prefix": 201}, "from 1 to 200, got 201"),
        ({"prefix": True}, "from 1 to 200, got True"),
        ({"most": 0}, "from 1 to 1000000, got 0"),
        ({"most": 10**6 + 1}, "got 1000001"),
    ],
)
def test_settings_outside_their_range_are_refused(changes, words):
    with pytest.raises(ParameterError, match=words):
        question(**changes)


def answered(texts=("a", "b"), counts=(5, 7), threshold=5, **changes):
    return SelectedTexts(question(**changes), tuple(texts), np.array(counts, dtype=np.int64), LAW, threshold)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"texts": ("b", "a")}, "distinct, sorted"),
        ({"texts": ("a", "a")}, "distinct, sorted"),
        ({"counts": (5,)}, "2 selected texts"),
        ({"counts": (5, 4)}, "reach the threshold 5"),
        ({"most": 1}, "no more or longer"),
        ({"texts": ("a", "bcd"), "prefix": 2}, "no more or longer"),
        ({"texts": ("", "a")}, "printable"),
        ({"texts": ("a", "b\n")}, "printable"),
        ({"texts": ("a", "x" * 201)}, "no more or longer"),
    ],
)
def test_an_answer_that_no_room_gives_is_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        answered(**given)


# ------------------------------------------------------------------------------------------------ costs and figures
@pytest.mark.parametrize("cost", [Budget.pure("0.5"), Budget.zcdp("0.125")], ids=str)
def test_a_cost_line_tells_noise_and_delta_and_comes_back(cost):
    (line,) = CostLine.planned(question(cost=cost), TERMS)

    assert line.delta == Fraction(1, 100)
    assert line.cost == cost
    assert line.noise == question(cost=cost).noise("add-remove", 1)
    assert line.columns == ("town",)
    assert CERTIFICATES.read(CostLine, json.loads(json.dumps(CERTIFICATES.write(line)))) == line


def test_lines_that_cannot_fail_have_no_delta():
    (line,) = CostLine.planned(question(), TERMS)
    sure = replace(line, delta=None)

    assert "delta" not in CERTIFICATES.write(sure)
    assert CERTIFICATES.read(CostLine, CERTIFICATES.write(sure)) == sure


@pytest.mark.parametrize("delta", ["0.1", 0.1, {"decimal": "0.1"}, {"exact": "0"}, {"exact": "1"}])
def test_a_line_with_a_delta_that_is_none_is_refused(delta):
    (line,) = CostLine.planned(question(), TERMS)

    with pytest.raises(ParameterError):
        CERTIFICATES.read(CostLine, CERTIFICATES.write(line) | {"delta": delta})


def test_a_certificate_counts_lists_by_themselves():
    lines = CostLine.planned(question(), TERMS)

    assert counted_lines(lines) == "1 noisy category list"
    assert counted_lines(lines * 2) == "2 noisy category lists"


# ---------------------------------------------------------------------------------------------------- the loss told
def test_the_loss_is_of_shown_counts_and_of_what_is_hidden():
    answer = answered()

    assert answer.privacy_loss({"a": 4, "b": 1}, {"a": 3, "b": 1}) == Fraction(1, 2)
    hidden = answer.privacy_loss({"c": 4}, {"c": 3})
    q = np.exp(-0.5)
    below = [1 - q ** (5 - rows) / (1 + q) for rows in (4, 3)]
    assert abs(float(hidden) - abs(np.log(below[0] / below[1]))) < 1e-12  # floats of order one


def test_a_text_that_one_table_alone_has_adds_nothing_where_it_is_hidden():
    assert answered().privacy_loss({"c": 4, "a": 4}, {"a": 4}) == 0


@pytest.mark.parametrize(("text", "least"), [("A", 5), ("aa", 6), ("c", 6)])
def test_where_the_list_is_full_a_hidden_text_is_below_the_last_one(text, least):
    """Of equal counts the first by code point is shown: "A" would have been with 5, "aa" comes after "a"."""
    full = answered(most=2)

    q = np.exp(-0.5)
    below = [1 - q ** (least - rows) / (1 + q) for rows in (4, 2)]

    loss = full.privacy_loss({text: 4}, {text: 2})
    assert abs(float(loss) - abs(np.log(below[0] / below[1]))) < 1e-12  # floats of order one


def test_the_loss_of_gaussian_noise_is_that_of_the_shared_counts():
    answer = SelectedTexts(question(cost=Budget.zcdp(1)), ("a",), np.array([9]), NoiseLaw("gaussian", Fraction(8)), 5)

    assert answer.privacy_loss({"a": 4, "b": 1, "c": 9}, {"a": 2, "b": 4}) == Fraction(4 + 9, 16)
