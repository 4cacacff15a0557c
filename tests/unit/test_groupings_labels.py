"""Labels of groups: what a reader of an answer table sees."""

from typing import Any

import pytest

from lapwing.errors import ParameterError
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping, lookup, prefix_grouping
from lapwing.schema.values import label, labels


def field(**settings: Any) -> Field:
    return Field(name="x", **settings)


AGE = field(type="integer", minimum=0, maximum=99, special=(-1,))
CITY = field(type="string", categories=("a", "b", "c", "d", "e"), required=True)


def labelled(grouping: Grouping, of: Field) -> list[str]:
    found = labels(grouping, of)
    assert found == [label(grouping, of, group) for group in range(grouping.groups)]
    return found


def test_integers_are_ranges() -> None:
    assert labelled(interval_grouping(AGE.domain, [1, 18]), AGE) == ["0", "1-17", "18-99", "-1", "missing"]


def test_numbers_are_intervals_and_the_last_is_closed() -> None:
    share = field(type="number", minimum=0, maximum=2, required=True)

    assert labelled(evenly(share.domain, 4), share) == ["[0, 0.5)", "[0.5, 1)", "[1, 1.5)", "[1.5, 2]", "invalid"]


@pytest.mark.parametrize(
    ("kind", "resolution", "expected"),
    [
        ("date", "week", ["2009-12-31 to 2010-01-14", "2010-01-21 to 2010-02-04", "invalid"]),
        ("date", "month", ["2009-12", "2010-01 to 2010-02", "invalid"]),
        ("datetime", "year", ["2009", "2010", "invalid"]),
    ],
)
def test_weeks_are_the_days_they_begin_with_and_months_and_years_their_names(
    kind: Any, resolution: str, expected: list[str]
) -> None:
    when = field(type=kind, minimum="2009-12-31", maximum="2010-02-09", resolution=resolution, required=True)

    assert labelled(evenly(when.domain, 2), when) == expected


@pytest.mark.parametrize(
    ("resolution", "expected"),
    [
        ("day", ["2010-01-01", "2010-01-02", "invalid"]),
        (
            "hour",
            ["2010-01-01T00:00:00 to 2010-01-01T23:00:00", "2010-01-02T00:00:00 to 2010-01-02T23:00:00", "invalid"],
        ),
    ],
)
def test_times_are_times_of_their_resolution(resolution: str, expected: list[str]) -> None:
    time = field(type="datetime", minimum="2010-01-01", maximum="2010-01-02", resolution=resolution, required=True)

    assert labelled(evenly(time.domain, 2), time) == expected


def test_categories_are_themselves_or_lists() -> None:
    assert labelled(identity(CITY.domain), CITY) == ["a", "b", "c", "d", "e", "invalid"]
    assert labelled(interval_grouping(CITY.domain, [1]), CITY) == ["a", "b, c, d, ... (4 categories)", "invalid"]
    assert labelled(lookup(CITY.domain, [0, 1, 0, 1, 0]), CITY) == ["a, c, e", "b, d", "invalid"]


def test_one_label_of_a_grouping_too_fine_to_list_is_found() -> None:
    share = field(type="number", minimum=0, maximum=1)

    assert label(prefix_grouping(share.domain, 4), share, 2**27) == "[0.5, 0.500000003725)"


@pytest.mark.parametrize("group", [-1, 13])
def test_a_group_that_is_not_there_is_refused(group: int) -> None:
    with pytest.raises(ParameterError, match="group must be from 0 to 11"):
        label(evenly(AGE.domain, 10), AGE, group)


def test_a_grouping_of_another_field_is_refused() -> None:
    with pytest.raises(ParameterError, match="build the grouping from this field's domain"):
        labels(identity(CITY.domain), AGE)
