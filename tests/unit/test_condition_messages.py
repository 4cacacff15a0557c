"""What is said of a condition that is misspelt, and how to write it."""

import pytest

from lapwing.errors import ParameterError
from lapwing.model.sampling.conditions import Between
from lapwing.schema.conditions import wanted_runs
from lapwing.schema.fields import Field


def _field(kind: str, first: object, last: object) -> Field:
    return Field(name="x", type=kind, minimum=first, maximum=last)


SEXES = Field(name="x", type="string", categories=("Female", "Male"))
DAYS = _field("date", "2020-01-01", "2020-12-31")
MISSPELT = {
    "category": (SEXES, "female", r'must be one of its categories, got "female"; did you mean "Female" or "Male"\?$'),
    "far category": (SEXES, "zzz", r'got "zzz"; see the schema$'),
    "lower end": (DAYS, Between("2020-13-01", "2020-12-31"), r'"2020-13-01" as the lower end .*; write a day such as'),
    "upper end": (DAYS, Between("2020-01-01", "soon"), r'got "soon" as the upper end'),
    "no end": (DAYS, Between("2020-01-01", None), r"got null as the upper end of a range; name both ends$"),
    "moment": (
        _field("datetime", "2020-01-01T00:00:00", "2020-12-31T00:00:00"),
        "noon",
        r'got "noon"; write a moment such as 2020-01-31T13:45:00$',
    ),
    "range of rules": (
        _field("integer", 0, 99),
        {"minimum": 30, "maximum": 40},
        r"for an object; name a value, or for a range write lw\.between\(30, 40\)$",
    ),
    "range of texts": (SEXES, {"minimum": "Female"}, r"for an object; name a value$"),
}


@pytest.mark.parametrize("case", MISSPELT)
def test_what_is_misspelt_is_said_and_how_to_write_it(case):
    field, wanted, message = MISSPELT[case]

    with pytest.raises(ParameterError, match=f"(?m){message}"):
        wanted_runs(field, wanted)
