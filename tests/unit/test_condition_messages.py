"""What is said of a condition that is misspelt, and how to write it."""

import polars as pl
import pytest

import lapwing as lw
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
    "far category": (SEXES, "zzz", r'got "zzz"; choose one of "Female", "Male"$'),
    "lower end": (DAYS, Between("2020-13-01", "2020-12-31"), r'"2020-13-01" as the lower end .*; write a day such as'),
    "upper end": (DAYS, Between("2020-01-01", "soon"), r'got "soon" as the upper end'),
    "no end": (DAYS, Between(None, None), r'where asks column "x" for a range without ends; name one$'),
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


def test_one_end_may_be_left_out():
    ages = _field("integer", 0, 99)
    sizes = Field(name="x", type="string", categories=("s", "m", "l"), ordered=True)

    assert wanted_runs(ages, Between(18, None)).tolist() == [[18, 100]]
    assert wanted_runs(ages, Between(None, 17)).tolist() == [[0, 18]]
    assert wanted_runs(ages, [Between(None, 3), Between(98, None)]).tolist() == [[0, 4], [98, 100]]
    assert wanted_runs(DAYS, Between("2020-12-30", None)).tolist() == [[364, 366]]
    assert wanted_runs(sizes, Between("m", None)).tolist() == [[1, 3]]
    assert wanted_runs(Field(name="x", type="boolean"), Between(True, None)).tolist() == [[1, 2]]
    with pytest.raises(ParameterError, match="has no value from 120 on; its domain goes from 0 to 99"):
        wanted_runs(ages, Between(120, None))


def test_a_range_says_what_it_means():
    assert repr(lw.between(18, 65)) == "18 <= value <= 65"
    assert repr(lw.between(None, "2020-01-31")) == "value <= '2020-01-31'"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ((18, 65), r"a pair, which may mean a range or two values; write lw.between\(18, 65\) or \[18, 65\]"),
        (slice(18, 65), r"a slice; write lw.between\(18, 65\), which has both ends"),
    ],
)
def test_a_pair_that_may_mean_a_range_is_refused(wanted, said):
    schema = {"fields": [{"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}]}
    release = lw.synthesize(pl.DataFrame({"age": [18, 40, 65] * 50}), schema, epsilon=100, mechanism="Independent")

    for call in (lambda: release.sample(5, where={"age": wanted}), lambda: release.accuracy(where={"age": wanted})):
        with pytest.raises(ParameterError, match=said):
            call()
    assert set(release.sample(50, where={"age": [18, 65]})["age"]) == {18, 65}
    assert set(release.sample(50, where={"age": (18, 40, 65)})["age"]) == {18, 40, 65}
    assert release.sample(50, where={"age": lw.between(30, None)})["age"].min() >= 30
