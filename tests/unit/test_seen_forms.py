"""What noisy counts of forms show a column to be."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.release.runs.learned.forms import SeenForms, column_of, form_field
from lapwing.schema.forms import FORMS
from lapwing.schema.groupings.grouping import identity

PLACES = {form: place for place, form in enumerate(FORMS)} | {"missing": len(FORMS)}


def seen(epsilon=10, **counts):
    """Return what counts show, without their noise."""
    column = form_field("x")
    question = MarginalCounts(columns=("x",), groupings=(identity(column.domain),), cost=Budget.pure(Fraction(epsilon)))
    found = np.zeros(len(PLACES), dtype=np.int64)
    for form, count in counts.items():
        found[PLACES[form]] = count
    return SeenForms.of(NoisyCounts(question, found, question.noise("add-remove", 1)))


def told(counts, kind="text", has_commas=False, epsilon=10):
    """Return the type, step and form of a column of such counts."""
    found = column_of("x", kind, seen(epsilon, **counts), has_commas=has_commas, has_texts=False)
    if found is None:
        return None
    own = found.reading
    return found.type, found.resolution, own.decimal_char, own.group_char, own.date_format


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"whole": 1000}, ("integer", None, ".", "", None)),
        ({"whole": 1000, "text": 60}, ("integer", None, ".", "", None)),
        ({"whole": 1000, "text": 300}, None),
        ({"whole": 990, ".0": 4000, ".1": 30}, ("integer", None, ".", "", None)),
        ({"whole": 500, ".1": 500}, ("number", 0.1, ".", "", None)),
        ({"whole": 100, ".1": 300, ".2": 2600}, ("number", 0.01, ".", "", None)),
        ({".5": 900, ".4": 100}, ("number", 1e-05, ".", "", None)),
        ({".more": 1000}, ("number", None, ".", "", None)),
        ({"whole": 100, ",1": 900}, ("number", 0.1, ",", "", None)),
        ({"whole": 100, ".group": 900}, ("number", 0.001, ".", "", None)),
        ({"whole": 100, ".group": 900, ".groups": 90}, ("integer", None, ",", ".", None)),
        ({",2": 300, ".groups,": 900}, ("number", 0.01, ",", ".", None)),
        ({".2": 300, ",groups.": 900}, ("number", 0.01, ".", ",", None)),
        ({"whole": 300, ",group": 900}, ("integer", None, ".", ",", None)),
        ({",2": 300, " groups,": 900}, ("number", 0.01, ",", " ", None)),
        ({"whole%": 1000}, ("integer", None, ".", "", None)),
        ({".2%": 300, ",groups.%": 900, ".2": 50}, ("number", 0.01, ".", ",", None)),
        ({",2%": 300, ".groups,%": 900}, ("number", 0.01, ",", ".", None)),
        ({",1%": 1000, "text": 300}, None),
        ({"code": 300, "whole": 900}, None),
        ({"code": 5, "whole": 900}, ("integer", None, ".", "", None)),
        ({"truth": 1000}, ("boolean", None, ".", "", None)),
        ({"nein/ja": 1000}, ("string", None, ".", "", None)),
        ({"nein/ja": 1000, "text": 100}, None),
        ({"day": 1000}, ("date", None, ".", "", None)),
        ({"day": 100, "minute": 900}, ("datetime", "minute", ".", "", None)),
        ({"minute": 100, "second": 900}, ("datetime", None, ".", "", None)),
        ({"d.m.": 1000}, ("date", None, ".", "", "%d.%m.%Y")),
        ({"d/m/": 600, "either/": 400}, ("date", None, ".", "", "%d/%m/%Y")),
        ({"m/d/": 600, "either/": 400}, ("date", None, ".", "", "%m/%d/%Y")),
        ({"either/": 1000}, None),
        ({}, None),
    ],
)
def test_a_column_is_what_nearly_all_of_its_cells_are_written_as(counts, expected):
    assert told(counts) == expected


def test_where_commas_are_decimal_a_lone_point_parts_thousands():
    assert told({"whole": 100, ".group": 900}, has_commas=True) == ("integer", None, ",", ".", None)
    assert told({"whole": 100}, has_commas=True) == ("integer", None, ".", "", None)


def test_of_columns_with_a_type_the_step_is_told():
    assert told({".0": 10, "whole": 990}, "number")[:2] == ("integer", None)
    assert told({"day": 1000}, "datetime")[:2] == ("datetime", "day")
    assert told({}, "number")[:2] == ("number", None)
    assert told({}, "datetime")[:2] == ("datetime", None)


def test_what_noise_may_be_tells_nothing():
    assert told({"whole": 50}, epsilon=Fraction(1, 10)) is None
    assert told({"whole": 500}, "number", epsilon=Fraction(1, 10))[0] == "integer"
    for kind in ("number", "text"):
        assert told({"whole": 200}, kind, epsilon=Fraction(1, 10))[:2] == ("number", 1)
        assert told({".2": 200}, kind, epsilon=Fraction(1, 10))[:2] == ("number", 0.01)
        assert told({".more": 200}, kind, epsilon=Fraction(1, 10))[:2] == ("number", None)


def test_a_column_without_values_is_told_from_one_that_noise_hides():
    assert seen(missing=1000).is_empty
    assert not seen(missing=1000, text=100).is_empty
    assert not seen(missing=1, epsilon=1).is_empty


def test_a_column_has_a_value_in_every_row_where_noise_leaves_few_others():
    def is_required(**counts):
        return column_of("x", "text", seen(1, **counts), has_commas=False, has_texts=True).required

    assert is_required(whole=1000)
    assert not is_required(whole=1000, missing=20)
    assert not is_required(whole=1000, text=20)
    assert is_required(text=1000, whole=20)
    assert not is_required(whole=50)
