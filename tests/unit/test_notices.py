"""What readers of certificates and plans should know, and what is proved: codes that documents say and code raises."""

from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import lapwing
from lapwing.errors import ParameterError
from lapwing.model.certificate.notices import CODES, Notice, Tables, Word
from lapwing.model.certificate.statements import FORMS, UNITS, Statement
from lapwing.present.messages import say
from lapwing.present.stated import label_of

SOURCE = Path(lapwing.__file__).parent
EXAMPLES: Mapping[Any, Any] = {
    str: "age",
    int: 3,
    float: 0.25,
    tuple[str, ...]: ("age", "sex"),
    Tables: "pairs",
    Word: "fair",
}
WHOLE = [
    Notice(code, {name: EXAMPLES.get(kind, {"age": 4}) for name, kind in own.items()}) for code, own in CODES.items()
]


class Template:
    """Stand for a field, and leave its place in the sentence as it was."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __format__(self, _: str) -> str:
        return f"{{{self.name}}}"

    __repr__ = __str__ = lambda self: f"{{{self.name}}}"


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_said_with_exactly_its_fields(code):
    said = say(f"notice.{code}", **{name: Template(name) for name in CODES[code]})

    assert {name for _, name, _, _ in Formatter().parse(said) if name} == set(CODES[code])
    assert said[0] in "{Rr" or said[0].islower()
    assert not said.endswith(".")


def test_every_code_is_raised_by_some_code():
    source = "".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path.name != "notices.py")

    of_others = ["assumed_by_mechanism"]
    assert [code for code in CODES if f'"{code}"' not in source] == of_others


@pytest.mark.parametrize("notice", WHOLE, ids=lambda notice: notice.code)
def test_a_notice_is_read_back(notice):
    assert Notice.from_dict(notice.to_dict()) == notice
    assert str(notice) == notice.text


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ("text", "an object with the key 'code' is missing"),
        ({"code": "invented"}, "'invented' is no code"),
        ({"code": "rows_invalid"}, "the key 'share' is missing"),
        ({"code": "rows_invalid", "share": "0.2"}, "'share' must be of type float"),
        ({"code": "rows_invalid", "share": 0.2, "rows": 1}, "the key 'rows' is not known"),
        ({"code": "rows_invalid", "share": float("nan")}, "must be finite"),
        ({"code": "rows_invalid", "share": 10**400}, "must be finite"),
        ({"code": "uncovered", "fields": {"age": 1.5}}, "'fields.age' must be of type int"),
        ({"code": "better_at", "tables": "all of them", "word": "good", "cost": "rho 1"}, "'tables' must be"),
    ],
)
def test_a_strange_notice_is_refused(values, why):
    with pytest.raises(ParameterError, match=why):
        Notice.from_dict(values)


def test_code_makes_no_notice_without_its_fields():
    with pytest.raises(ParameterError, match="is no code of a warning"):
        Notice("rows_invalid")


# -- What is stated: a figure beside the code.


WORDLESS = {
    "public_number_of_rows",
    "restated_theorem",
    "strata_counted",
    "own_words",
    *(code for code in FORMS if code.startswith("not_proved")),
}
STATED = [
    Statement(
        code,
        None if code in WORDLESS else 0.25,
        {name: "rows" if name == "unit" else EXAMPLES[kind] for name, kind in form.fields.items()},
    )
    for code, form in FORMS.items()
]


@pytest.mark.parametrize("code", FORMS)
def test_a_statement_is_said_with_its_fields_and_its_figure(code):
    label, text = (say_parts(code, part) for part in ("label", "text"))

    own = {"farthest": "own"}  # the figure times the largest distance is said in its place
    said = {own.get(each, each) for each in FORMS[code].fields} - ({"unit"} if code == "own" else set())
    assert label | text == said | (set() if code in WORDLESS else {"figure"})


def say_parts(code, part):
    fields = {name: Template(name) for name in (*FORMS[code].fields, "figure", "own")}
    said = say(f"stated.{code}.{part}", **fields)
    assert not said.endswith(".")
    return {name for _, name, _, _ in Formatter().parse(said) if name}


def test_every_statement_is_made_by_some_code():
    source = "".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path.name != "statements.py")

    made_up = {"expected_chosen_noise", "expected_one_way_noise", "noise_on_chosen_table", "noise_on_one_way_table"}
    assert {code for code in FORMS if f'"{code}"' not in source} <= made_up | {"own", "own_words"}


@pytest.mark.parametrize("stated", STATED, ids=lambda stated: stated.code)
def test_a_statement_is_read_back_and_told_with_its_figure(stated):
    assert Statement.from_dict(stated.to_dict()) == stated
    assert stated.unit in UNITS
    assert stated.text[0].isupper() or stated.text[0].isdigit()
    assert stated.text.endswith(".")
    assert ("0.25" in stated.text) == (stated.value is not None)
    assert label_of(stated)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"code": "invented", "value": 1.0}, "'invented' is no code of a statement"),
        ({"code": "distance", "value": 1.0}, "the key 'columns' is missing"),
        ({"code": "distance", "columns": ["a"], "value": "1"}, "'value' must be of type float"),
        ({"code": "distance", "columns": ["a"], "value": float("inf")}, "must be finite"),
        ({"code": "distance", "columns": ["a"], "text": "at most 1"}, "the key 'text' is not known"),
        ({"code": "fit", "value": 1.0, "moved": float("nan")}, "must be finite"),
        ({"code": "own", "label": "a", "text": "b", "unit": "miles", "value": 1.0}, "the unit of the statement 'own'"),
    ],
)
def test_a_strange_statement_is_refused(values, why):
    with pytest.raises(ParameterError, match=why):
        Statement.from_dict(values)


def test_what_rules_moved_is_told_with_the_bound_that_it_widened():
    bound, other = (Statement("distance", 0.25, {"columns": ("age",)}, 0.125), Statement("fit", 0.25, {}, 0.125))

    assert bound.text.endswith("is at most 0.25; of that, 0.125 is what rules and public tables moved at most.")
    assert other.text.endswith("is 0.25; of the mechanism's model, before rules and public tables are kept.")
