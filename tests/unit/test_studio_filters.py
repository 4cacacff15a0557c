"""Conditions as the fields of a form: what they ask of each kind of column."""

import pytest

from lapwing.errors import ParameterError
from lapwing.extras.studio.rooms.filters import TypedForm, filters, has_more, where_of
from lapwing.schema.conditions import Between
from lapwing.schema.schemas import Schema

DAYS = {"minimum": "2020-01-01", "maximum": "2020-12-31"}
SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "id", "type": "integer", "role": "identifier"},
            {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 1000}, "special": [-1]},
            {"name": "day", "type": "date", "constraints": {**DAYS, "required": True}},
            {"name": "size", "type": "string", "categories": ["", "m", "l"], "categoriesOrdered": True},
            {"name": "code", "type": "integer", "categories": [1, 2, 3]},
            {"name": "smokes", "type": "boolean"},
            {"name": "town", "type": "string", "categories": [f"t{place}" for place in range(50)]},
        ]
    }
)
WIDE = Schema.from_dict({"fields": [{"name": f"c{place}", "type": "boolean"} for place in range(120)]})


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ({}, {}),
        ({"f0": " 10 ", "u0": "99.5"}, {"pay": [Between(10.0, 99.5)]}),
        ({"u0": "5", "w0": ["0", "missing"]}, {"pay": [-1, None, Between(None, 5.0)]}),
        ({"f1": "2020-02-01"}, {"day": [Between("2020-02-01", None)]}),
        ({"w2": ["0", "2"]}, {"size": ["", "l"]}),
        ({"w3": "1", "w4": "1"}, {"code": [2], "smokes": [True]}),
        ({"t5": "t3, t4"}, {"town": ["t3", "t4"]}),
        ({"t5": "  ", "f0": "", "more": "\n"}, {}),
    ],
)
def test_fields_are_conditions_and_empty_ones_are_none(form, wanted):
    pairs = [(name, each) for name, value in form.items() for each in (value if isinstance(value, list) else [value])]

    assert where_of(SCHEMA, TypedForm(tuple(pairs))) == wanted


def test_each_column_has_the_fields_of_its_kind():
    pay, day, size, code, smokes, town = filters(SCHEMA)

    assert (pay.low, pay.high, [label for _, label in pay.boxes]) == (0, 1000, ["-1", ""])
    assert (day.low, day.boxes) == ("2020-01-01", ())
    assert [value for value, _ in size.boxes] == ["0", "1", "2", "missing"]
    assert [label for _, label in (*code.boxes, *smokes.boxes)] == ["1", "2", "3", "", "false", "true", ""]
    assert town.is_text
    assert not has_more(SCHEMA)


@pytest.mark.parametrize("form", [{"w2": "3"}, {"w2": "-1"}, {"w2": "9" * 5000}, {"w1": "missing"}])
def test_what_no_page_of_ours_sends_is_refused(form):
    with pytest.raises(ParameterError, match="load the page again"):
        where_of(SCHEMA, TypedForm(tuple(form.items())))


def test_columns_of_a_wide_table_are_named_in_lines():
    assert len(filters(WIDE)) == 100
    assert has_more(WIDE)
    assert where_of(WIDE, TypedForm((("more", "c110=true\r\nc3=false\n"),))) == {"c110": True, "c3": False}
    with pytest.raises(ParameterError, match="asked for twice"):
        where_of(WIDE, TypedForm((("w3", "0"), ("more", "c3=true"))))
