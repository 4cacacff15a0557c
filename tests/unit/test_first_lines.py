"""The first line of a text file: column names, or a sentence that says why it has none and quotes nothing of it."""

import pytest

from lapwing.errors import DataError
from lapwing.extras.evaluate.internal.schemas import draft_schema
from lapwing.rows.entry import source_of
from lapwing.rows.source import code_table
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        ]
    }
)


def refusal(path):
    with pytest.raises(DataError) as caught:
        source_of(path).open(SCHEMA)
    return str(caught.value)


SEPARATED = (
    'has one column in its first line and is read as comma-separated; give the schema its "dialect", '
    'such as {"delimiter": ";"}'
)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("rows.csv", "", "is empty; give a file whose first line has the column names"),
        ("rows.csv", "\n\r\n", "is empty; give a file whose first line has the column names"),
        ("rows.csv", "sex;secret\nf;1\n", SEPARATED),
        ("rows.csv", "sex\tsecret\nf\t1\n", SEPARATED),
        ("rows.csv", "sex|secret\nf|1\n", SEPARATED),
        ("rows.tsv", "sex,secret\nf,1\n", SEPARATED.replace("comma", "tab")),
        ("rows.csv", "\0" * 64, "begins with zero bytes or is UTF-16; save it again as UTF-8"),
    ],
    ids=["empty", "only empty lines", "semicolons", "tabs", "bars", "commas in tsv", "zero bytes"],
)
def test_a_text_file_without_a_line_of_column_names_is_told_so_and_its_line_is_not_shown(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_text(content)

    assert refusal(path) == f"file {quote(str(path))} {says}"


@pytest.mark.parametrize("names", ["sex,age", "\u5e74,\u5e02"])
def test_a_file_in_utf_16_is_refused_by_its_first_line(tmp_path, names):
    path = tmp_path / "rows.csv"
    path.write_text(f"{names}\nf,1\n", "utf-16")

    assert "is UTF-16; save it again as UTF-8" in refusal(path)
    with pytest.raises(DataError, match="is UTF-16; save it again as UTF-8"):
        draft_schema(path)


@pytest.mark.parametrize("header", ["secret", "secret;more,other"])
def test_a_file_that_has_column_names_is_asked_for_the_absent_ones(tmp_path, header):
    path = tmp_path / "rows.csv"
    path.write_text(f"{header}\n1\n")

    assert 'has no column "sex", "age"; rename its columns' in refusal(path)


def test_a_lone_column_whose_name_has_a_semicolon_is_read(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;b\n1\n")
    schema = Schema.from_dict(
        {"fields": [{"name": "a;b", "type": "integer", "constraints": {"minimum": 0, "maximum": 1}}]}
    )

    assert [chunk["a;b"].tolist() for chunk in code_table(path, schema).chunks()] == [[1]]
