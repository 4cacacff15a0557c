"""Conditions as the fields of a form: what they ask of each kind of column."""

import pytest

from lapwing.errors import ParameterError
from lapwing.extras.studio.rooms.filters import Typed, where_of
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

    assert where_of(SCHEMA, Typed(tuple(pairs))) == wanted


@pytest.mark.parametrize("form", [{"w2": "3"}, {"w2": "-1"}, {"w2": "9" * 5000}, {"w1": "missing"}])
def test_what_no_page_of_ours_sends_is_refused(form):
    with pytest.raises(ParameterError, match="load the page again"):
        where_of(SCHEMA, Typed(tuple(form.items())))
