"""What is protected, in words: right for both relations, for rows and for units, with one row of each and with more."""

import pytest

from lapwing.model.certificate.promise import uncovered_warnings
from lapwing.present.promises import protected_facts
from lapwing.schema.schemas import Schema

AGE = {
    "name": "age",
    "type": "integer",
    "constraints": {"minimum": 0, "maximum": 97, "required": True},
    "provenance": "public",
}


ONE = {
    "add-remove": "whether any one row is in the table, and what it says",
    "replace-one": "what any one row says, not how many rows there are",
}
ALL = {
    "add-remove": "whether they are in the table, and what they say",
    "replace-one": "how many they are and what they say, but not how many different values of p there are",
}


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_lines_say_what_is_protected_under_which_relation(relation):
    row, one, five = ([fact.line for fact in protected_facts(relation, unit)] for unit in ("row", "p:1", "p:5"))

    assert row == [
        f"Protected: {ONE[relation]} ({relation} neighbours).",
        "A person with several rows is not protected as a whole: each row is, by itself.",
    ]
    shared = "Protected: all rows that share one value of p, of which"
    assert one[0] == f"{shared} only 1 is used: {ALL[relation]} ({relation} neighbours)."
    assert five == [
        f"{shared} at most 5 are used: {ALL[relation]} ({relation} neighbours).",
        "Rows without p are protected only together, as if they shared one more value.",
        "Synthetic rows are drawn one by one: you cannot count in them how many rows share one value of p.",
    ]


def test_every_list_and_bound_from_the_table_is_warned_of_lists_of_many_texts_first():
    many = {"name": "diagnosis", "type": "string", "categories": [f"d{n}" for n in range(95)]}
    fields = [
        {"name": "patient", "type": "integer", "role": "identifier", "provenance": "assumed"},
        {**AGE, "provenance": "assumed"},
        {**AGE, "name": "known"},
        {**AGE, "name": "bought", "provenance": "dp"},
        {"name": "flag", "type": "boolean", "provenance": "assumed"},
        {"name": "ward", "type": "string", "categories": ["east", "west"]},
        {"name": "code", "type": "integer", "categories": [3, 7, 9]},
        {**many, "provenance": "assumed"},
        *({**AGE, "name": f"x{number}", "provenance": "assumed"} for number in range(20)),
    ]

    (warning,) = uncovered_warnings(Schema.from_dict({"fields": fields}).columns)

    told = {"diagnosis": 95, "ward": 2, "code": 3, "age": None, **{f"x{number}": None for number in range(20)}}
    assert list(warning.fields["fields"].items()) == list(told.items())
    assert "diagnosis (95 values), ward (2 values), code (3 values), age, x0, x1" in warning.text
