"""A field as the studio's form shows it, and back."""

import pytest

from lapwing.extras.studio.rooms.fields import field_of, texts_of
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema


@pytest.mark.parametrize(
    "keys",
    [
        {"type": "integer", "constraints": {"minimum": -5, "maximum": 5, "required": True}, "special": [-9, 99]},
        {"type": "integer", "categories": [1, 2, 30], "missingValues": ["", "NA", "?"]},
        {"type": "number", "constraints": {"minimum": 0.5, "maximum": 1e6}, "scale": "log", "decimalChar": ","},
        {"type": "number", "constraints": {"minimum": 0, "maximum": 10}, "resolution": 0.1, "groupChar": " "},
        {"type": "string", "categories": ["b", " a", "A "], "categoriesOrdered": True, "description": "d"},
        {"type": "string", "categories": ["", "x\ny"], "missingValues": []},
        {"type": "string", "categories": ["A01", "A02", "B"], "hierarchy": {"prefixes": [1]}, "unlisted": "B"},
        {"type": "string", "categories": [1, 2]},
        {"type": "boolean", "trueValues": ["ja"], "falseValues": ["nein", "no"]},
        {"type": "boolean", "categories": [True, False]},
        {"type": "date", "constraints": {"minimum": "1900-01-01", "maximum": "2020-12-31"}, "format": "%d.%m.%Y"},
        {"type": "datetime", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}, "resolution": "hour"},
        {"type": "integer", "role": "identifier", "constraints": {"required": True}, "missingValues": ["", "-"]},
        {"type": "string", "categories": None, "provenance": "dp"},
        {"type": "integer", "provenance": "drafted"},
    ],
)
def test_a_form_that_is_sent_as_it_is_shown_changes_nothing(keys):
    field = Schema.load_draft({"draft": True, "fields": [{"name": "x", **keys}, {"name": "y", "type": "boolean"}]})["x"]
    sent = {key: text.replace("\n", "\r\n") for key, text in texts_of(field).items()}

    assert field_of(sent, field) == field


@pytest.mark.parametrize("count", [5_001, 600])
def test_a_list_that_no_box_can_show_stays_as_it_is(count):
    field = Field(name="x", type="string", categories=tuple(f"{number:0200}" for number in range(count)))
    sent = texts_of(field)

    assert sent["categories"] == ""
    assert field_of({**sent, "missing": "never"}, field).categories == field.categories


def test_another_type_leaves_behind_what_belonged_to_the_old_one():
    field = Field(name="x", type="number", minimum=0, maximum=1, special=(-1,), scale="log", provenance="public")
    found = field_of({**texts_of(field), "type": "string", "categories": "0\n1"}, field)

    assert (found.type, found.categories, found.special, found.minimum) == ("string", ("0", "1"), (), None)
