"""What readers of certificates and plans should know: codes with fields, each said by documents and raised by code."""

from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import lapwing
from lapwing.errors import ParameterError
from lapwing.model.certificate.notices import CODES, Notice
from lapwing.present.messages import say

SOURCE = Path(lapwing.__file__).parent
EXAMPLES: Mapping[Any, Any] = {str: "age", int: 3, float: 0.25, tuple[str, ...]: ("age", "sex")}
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

    assert [code for code in CODES if f'"{code}"' not in source] == []


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
    ],
)
def test_a_strange_notice_is_refused(values, why):
    with pytest.raises(ParameterError, match=why):
        Notice.from_dict(values)


def test_code_makes_no_notice_without_its_fields():
    with pytest.raises(ParameterError, match="is no code of a warning"):
        Notice("rows_invalid")
