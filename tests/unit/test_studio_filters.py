"""Conditions as the fields of a form: what they ask of each kind of column."""

import pytest

from lapwing.errors import ParameterError
from lapwing.extras.studio.rooms.filters import Typed, where_of
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


@pytest.mark.parametrize("form", [{"w2": "3"}, {"w2": "-1"}, {"w2": "9" * 5000}, {"w1": "missing"}])
def test_what_no_page_of_ours_sends_is_refused(form):
    with pytest.raises(ParameterError, match="load the page again"):
        where_of(SCHEMA, Typed(tuple(form.items())))
