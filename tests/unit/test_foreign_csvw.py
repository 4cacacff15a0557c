"""CSVW becomes schemas: types, bounds, null, required, titles, keys, and which of several tables."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from helpers.cases import spread
from helpers.foreign_files import FOREIGN
from lapwing.errors import SchemaError
from lapwing.rows.source import code_table
from lapwing.schema.foreign.csvw import read_csvw
from lapwing.schema.foreign.reading import read_foreign

PEOPLE = FOREIGN / "csvw" / "people.json"


def read(*columns, **table):
    schema = {"columns": list(columns)} | table.pop("schema", {})
    return read_csvw({"url": "a.csv", "tableSchema": schema, **table}, "the file")


def field_of(datatype, **column):
    return read({"name": "a", "datatype": datatype, **column}, {"name": "b"}).schema.field("a")


def test_what_csvw_wrote_gives_types_bounds_and_words():
    found = read_foreign(PEOPLE, table="people.csv")

    fields = {field.name: field for field in found.schema.fields}
    assert list(fields) == ["id", "age", "height", "born", "smokes", "City of birth", "tags"]
    assert fields["id"].identifier
    assert (fields["age"].minimum, fields["age"].maximum, fields["age"].required) == (0, 120, True)
    assert (fields["height"].type, fields["height"].maximum, fields["height"].missing_values) == (
        "number",
        2.5,
        ("NA",),
    )
    assert (fields["born"].type, fields["born"].minimum) == ("date", "1900-01-01")
    assert fields["smokes"].categories == ("yes", "no")
    assert fields["City of birth"].categories == ("Aix", "Brno", "Cork")
    assert [(lack.field, lack.what) for lack in found.lacks] == [("tags", "categories")]
    assert all(field.provenance == "assumed" for field in found.schema.fields)


def test_one_of_several_tables_must_be_chosen():
    with pytest.raises(SchemaError, match=r'choose one with table= or --table: "people\.csv", "cities\.csv"'):
        read_foreign(PEOPLE)
    with pytest.raises(SchemaError, match='no table "streets"'):
        read_foreign(PEOPLE, table="streets")
    tables = [{"url": f"https://x.org/{name}.csv?v=1", "tableSchema": {"columns": [{"name": name}]}} for name in "ab"]
    assert read_csvw({"tables": tables}, "f", "b.csv").schema.fields[0].name == "b"


@pytest.mark.parametrize(
    ("datatype", "bounds"),
    [
        ({"base": "integer", "minExclusive": 0, "maxExclusive": "10"}, (1, 9)),
        ({"base": "integer", "minInclusive": "0.5", "maxInclusive": 9.5}, (1, 9)),
        ({"base": "number", "minExclusive": 0, "maximum": 1}, (0, 1)),
        ({"base": "xsd:positiveInteger", "maximum": "9"}, (1, 9)),
        ("nonPositiveInteger", (None, 0)),
        ("byte", (None, None)),
        ({"base": "date", "minimum": "2010-01-01", "maximum": "31.12.2010"}, ("2010-01-01", None)),
        ({"base": "dateTime", "minimum": "2010-01-01T00:00:00Z"}, (None, None)),
    ],
    ids=range(8),
)
def test_bounds_are_those_that_the_datatype_states(datatype, bounds):
    field = field_of(datatype)

    assert (field.minimum, field.maximum) == bounds


def test_a_bound_that_is_not_read_is_told():
    found = read({"name": "a", "datatype": {"base": "date", "minimum": "2010-01-01Z", "maximum": "2011-01-01"}})

    assert any("time zone" in note for note in found.notes)
    assert found.lacks[0].what == "minimum"


@pytest.mark.parametrize(
    ("pattern", "categories"),
    [
        ("F|M", ("F", "M")),
        ("^(F|M)$", ("F", "M")),
        ("(?:a b|c-d)", ("a b", "c-d")),
        ("[FM]", None),
        ("F|M.*", None),
        ("F|F", None),
    ],
    ids=range(6),
)
def test_a_pattern_that_lists_words_is_a_list_and_no_other_is(pattern, categories):
    assert field_of({"base": "string", "format": pattern}).categories == categories


def test_settings_of_the_schema_the_table_and_the_group_hold_for_columns_that_have_none():
    schema = {"columns": [{"name": "a"}, {"name": "b", "null": "x", "required": False}], "null": "NA", "required": True}
    group = {"datatype": "integer", "tables": [{"url": "a.csv", "tableSchema": schema}]}

    first, second = read_csvw(group, "the file").schema.fields

    assert (first.type, first.missing_values, first.required) == ("integer", ("NA",), True)
    assert (second.missing_values, second.required) == (("x",), False)


def test_columns_go_by_the_title_that_stands_above_them():
    names = [
        read({**titles, "datatype": "boolean"}).schema.fields[0].name
        for titles in (
            {"name": "a"},
            {"name": "a", "titles": "A"},
            {"name": "a", "titles": ["A", "a"]},
            {"titles": {"en": ["A", "B"]}},
        )
    ]

    assert names == ["a", "A", "a", "A"]


def test_virtual_columns_are_left_out_and_suppressed_ones_stay():
    found = read({"name": "a"}, {"name": "b", "virtual": True}, {"name": "c", "suppressOutput": True})

    assert [field.name for field in found.schema.fields] == ["a", "c"]
    assert any("virtual" in note for note in found.notes)


@pytest.mark.parametrize(
    ("dialect", "read_as"),
    [
        ({"delimiter": ",", "header": True, "encoding": "utf-8", "commentPrefix": "#"}, {}),
        ({"delimiter": ";", "encoding": "latin-1"}, {"delimiter": ";", "encoding": "latin-1"}),
        ({"quoteChar": None, "skipRows": 2}, {"quoteChar": None, "skipRows": 2}),
        ({"headerRowCount": 0}, {"header": False}),
        ({"header": False}, {"header": False}),
    ],
    ids=range(5),
)
def test_how_a_file_is_written_comes_along(dialect, read_as):
    found = read({"name": "a"}, dialect=dialect)

    assert found.notes == ()
    assert found.schema.dialect.to_dict() == read_as


@pytest.mark.parametrize(
    "dialect",
    [
        *({"delimiter": "||"}, {"delimiter": 1}, {"delimiter": [","]}, {"encoding": "klingon"}, {"header": "yes"}),
        *({"headerRowCount": 2}, {"headerRowCount": []}, {"skipRows": -1}, {"trim": True}, {"doubleQuote": False}),
        *({"delimiter": '"'}, "http://x.org/dialect.json"),
    ],
    ids=range(12),
)
def test_a_file_that_a_schema_cannot_describe_is_told(dialect):
    found = read({"name": "a"}, dialect=dialect)

    assert any("plain CSV" in note for note in found.notes)
    assert found.schema.dialect.to_dict() == {}


def test_the_dialect_of_a_group_is_that_of_its_tables():
    group = {"dialect": {"delimiter": ";"}, "tables": [{"url": "a.csv", "tableSchema": {"columns": [{"name": "a"}]}}]}

    assert read_csvw(group, "the file").schema.dialect.delimiter == ";"


@pytest.mark.parametrize(
    ("base", "form", "read_as"),
    [
        ("date", "yyyy-MM-dd", {}),
        ("date", "dd.MM.yyyy", {"format": "%d.%m.%Y"}),
        ("date", "M/d/yyyy", {"format": "%m/%d/%Y"}),
        ("date", "yyyyMMdd", {"format": "%Y%m%d"}),
        ("dateTime", "d MMM yy, hh:mm a", {"format": "%d %b %y, %I:%M %p"}),
        ("dateTime", "dd.MM.yyyy'T'HH:mm:ss", {"format": "%d.%m.%YT%H:%M:%S"}),
        ("decimal", {"decimalChar": ",", "groupChar": "."}, {"decimalChar": ",", "groupChar": "."}),
        ("decimal", {"decimalChar": ",", "pattern": "0,0"}, None),
        ("integer", {"groupChar": " "}, {"groupChar": " "}),
        ("integer", "#,##0", {"groupChar": ","}),
        ("decimal", "0.00", {}),
        ("decimal", "0.00%", None),
        ("decimal", {"decimalChar": "comma"}, None),
        ("decimal", {"decimalChar": ",", "groupChar": ","}, None),
        ("date", "dd.MM", None),
        ("date", "dd.MM.yyyy X", None),
        ("date", "dd.MM.yyyy HH:mm", None),
        ("date", "dd 'de' MM yyyy", None),
        ("date", "%d.MM.yyyy", None),
        ("date", "any", None),
        ("dateTime", "dd.MM.yyyy", None),
        ("dateTime", "yyyy-MM-ddTHH:mm:ss.SSS", None),
    ],
    ids=range(22),
)
def test_how_cells_are_written_comes_along_or_is_told(base, form, read_as):
    found = read({"name": "a", "datatype": {"base": base, "format": form}})

    assert found.schema.fields[0].reading.to_dict() == (read_as or {})
    assert [note for note in found.notes if "of their own" in note] == list(found.notes)
    assert bool(found.notes) == (read_as is None)


def test_a_file_is_read_as_its_metadata_say(tmp_path):
    date = {"base": "date", "format": "dd.MM.yyyy", "minimum": "2020-01-01", "maximum": "2020-12-31"}
    price = {"base": "decimal", "format": {"decimalChar": ",", "groupChar": "."}, "minimum": 0, "maximum": 5000}
    columns = ({"name": "tag", "datatype": date}, {"name": "preis", "datatype": price})
    schema = read(*columns, dialect={"delimiter": ";", "encoding": "latin-1"}).schema
    path = tmp_path / "a.csv"
    path.write_bytes("tag;preis\n24.12.2020;1.234,50\n01.02.2020;7,25\n".encode("latin-1"))
    plain = pl.DataFrame({"tag": [dt.date(2020, 12, 24), dt.date(2020, 2, 1)], "preis": [1234.5, 7.25]})

    found, same = (next(iter(code_table(data, schema).chunks())) for data in (path, plain))

    assert all(np.array_equal(found[name], same[name]) for name in ("tag", "preis"))
    assert len(set(found["tag"].tolist())) == len(set(found["preis"].tolist())) == 2


@pytest.mark.parametrize(
    "value",
    [
        {"tableSchema": 1},
        {"tableSchema": "http://x.org/schema.json"},
        {"tableSchema": {"columns": [{}]}},
        {"tableSchema": {"columns": [{"name": 1}]}},
        {"tableSchema": {"columns": [{"name": "a"}, {"name": "a"}]}},
        {"tableSchema": {"columns": [{"name": "a", "datatype": {"base": {}}}]}},
        {"tableSchema": {"columns": [{"name": "a", "null": 1}]}},
        {"tableSchema": {"columns": [{"name": "a", "required": "yes"}]}},
        {"tableSchema": {"columns": [{"name": "a"}], "primaryKey": {"a": 1}}},
        {"tableSchema": {"columns": [{"name": "a", "datatype": {"base": "integer", "minimum": 9, "maximum": 1}}]}},
        {"tableSchema": {"columns": [{"name": "\ud800"}]}},
        {"tables": [1]},
    ],
    ids=range(12),
)
def test_a_broken_file_is_refused_in_a_sentence(value):
    with pytest.raises(SchemaError, match=r"the file|field|schema"):
        read_csvw({"@context": "http://www.w3.org/ns/csvw", **value}, "the file")


@spread(
    ("form", [1, [], {}, {"pattern": 1}, "|", "a||b", "|" * 200_000, "(" * 1000]),
    ("base", ["string", "boolean", "integer", "date"]),
)
def test_any_format_is_read_or_told(base, form):
    assert field_of({"base": base, "format": form}).name == "a"


@pytest.mark.full
def test_many_columns_are_read_in_one_pass():
    found = read(*({"name": f"c{n}", "datatype": "integer", "separator": ";"} for n in range(100_000)))

    assert len(found.lacks) == 100_000
    assert max(map(len, found.notes)) < 300


def test_a_key_of_several_columns_names_no_identifier():
    found = read({"name": "a"}, {"name": "b"}, schema={"primaryKey": ["a", "b"]})

    assert not any(field.identifier for field in found.schema.fields)
    assert any("several columns" in note for note in found.notes)
