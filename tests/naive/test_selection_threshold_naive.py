"""Thresholds of selections against units enumerated one by one, and lists against rows counted one by one."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from helpers.bits import ZeroNoiseBits
from helpers.category_runs import failure, open_schema, tails
from lapwing.errors import ParameterError
from lapwing.extras.audit.pairs import text_pair
from lapwing.extras.audit.questions.category_selection import is_least_threshold
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.category_selection.answer import answer_category_selection, exact_texts, listable_counts
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.terms import Terms
from lapwing.maths.selection_threshold import check_delta, selection_threshold
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

ROUNDING = 1e-9  # relative, of sums of a few thousand floats

DELTAS = [Fraction(1, 2), Fraction(1, 5), Fraction(1, 20), Fraction(1, 1000), Fraction(1, 10**9)]
SCALES = [Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)]


@pytest.mark.parametrize(("scale", "max_rows", "delta"), list(zip(SCALES, [1, 2, 3, 7, 1], DELTAS, strict=True)))
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_no_unit_shows_up_more_often_than_delta_and_one_less_would_be_too_low(kind, scale, max_rows, delta):
    parameter = scale if kind == "laplace" else scale**2

    found = selection_threshold(kind, parameter, max_rows, delta)

    assert found > max_rows
    assert failure(kind, parameter, max_rows, found) <= float(delta) * (1 + ROUNDING)
    if found > max_rows + 1:
        assert failure(kind, parameter, max_rows, found - 1) > float(delta) * (1 - ROUNDING)
    law = NoiseLaw(kind, parameter)
    assert [is_least_threshold(found + more, law, max_rows, delta) for more in (-1, 0, 1)] == [False, True, False]


def test_both_worst_units_occur_one_text_of_all_rows_and_many_of_one_row():
    few, many = Fraction(1, 2), Fraction(20)
    tail = [tails("laplace", scale) for scale in (few, many)]

    at = [selection_threshold("laplace", scale, 3, Fraction(1, 1000)) for scale in (few, many)]

    one_text = [beyond[least - 3] for beyond, least in zip(tail, at, strict=True)]
    three_texts = [1 - (1 - beyond[least - 1]) ** 3 for beyond, least in zip(tail, at, strict=True)]
    assert one_text[0] > three_texts[0]
    assert one_text[1] < three_texts[1]


@pytest.mark.parametrize(
    ("sigma", "delta", "max_rows"),
    [(65, Fraction(1, 10**12), 3), (200, Fraction(1, 7), 50), (5000, Fraction(1, 100), 1)],
)
def test_wide_gaussian_thresholds_are_safe_and_at_most_one_too_high(sigma, delta, max_rows):
    """Against the real Gaussian, of which the discrete one differs by far less than any of this at sigma >= 65."""
    found = selection_threshold("gaussian", Fraction(sigma**2), max_rows, delta)

    def shows(threshold):
        one, all_at_once = (stats.norm.sf((threshold - rows - 0.5) / sigma) for rows in (1, max_rows))
        return max(all_at_once, -math.expm1(max_rows * math.log1p(-one)))

    near = 1e-3  # the relative error of the midpoint rule at t <= 8 and sigma >= 65: (t**2 - 1) / (24 sigma**2)
    assert shows(found) <= float(delta) * (1 + near)
    assert shows(found - 2) > float(delta)


def test_the_two_ways_to_sum_a_gaussian_meet():
    for delta, rows in itertools.product(DELTAS[2:], (1, 4)):
        narrow, wide = (selection_threshold("gaussian", Fraction(64**2 + more), rows, delta) for more in (0, 1))
        assert narrow <= wide <= narrow + 1


def test_a_threshold_grows_with_the_noise_and_with_the_rows_of_a_unit_and_falls_with_delta():
    for kind in ("laplace", "gaussian"):
        over_noise = [selection_threshold(kind, Fraction(scale), 2, Fraction(1, 100)) for scale in (1, 9, 10**4, 10**9)]
        over_rows = [selection_threshold(kind, Fraction(9), rows, Fraction(1, 100)) for rows in (1, 2, 30, 10**6)]
        over_delta = [selection_threshold(kind, Fraction(9), 2, delta) for delta in DELTAS]
        for series in (over_noise, over_rows, over_delta):
            assert series == sorted(series)


@pytest.mark.parametrize(
    "given",
    [
        ("laplace", Fraction(1, 10**9), 3, Fraction(1, 10**300)),
        ("laplace", Fraction(2**50), 10**6, Fraction(1, 10**300)),
        ("gaussian", Fraction(1, 10**9), 3, Fraction(1, 10**300)),
        ("gaussian", Fraction(2**100), 10**6, Fraction(1, 10**300)),
    ],
)
def test_thresholds_of_extreme_settings_are_found(given):
    assert given[2] < selection_threshold(*given) < 2**61


@pytest.mark.parametrize(
    "given",
    [
        ("gauss", Fraction(1), 1, DELTAS[0]),
        ("laplace", Fraction(0), 1, DELTAS[0]),
        ("laplace", Fraction(2**121), 1, DELTAS[0]),
        ("laplace", Fraction(1), 0, DELTAS[0]),
        ("laplace", Fraction(1), 1, Fraction(0)),
        ("laplace", Fraction(1), 1, Fraction(3, 5)),
    ],
)
def test_settings_out_of_range_are_refused(given):
    with pytest.raises(ParameterError):
        selection_threshold(*given)


def test_the_range_of_delta_is_told():
    with pytest.raises(ParameterError, match=r"from 1e-300 to 0.5, got 0.75; give one such as 1e-9"):
        check_delta(Fraction(3, 4))


# -------------------------------------------------------------------------------------------------- lists of texts


def by_hand(frame, question, max_rows):
    """Return what is shown of rows without noise; every person has at most the rows allowed."""
    counts = Counter()
    for text in frame["town"].to_list():
        start = (text or "")[: question.prefix or None]
        if 0 < len(start) <= 200 and start.isprintable() and start not in ("N/A", "Z") and text not in ("N/A", "Z"):
            counts[start] += 1
    least = question.threshold("add-remove", max_rows)
    named = sorted(
        ((text, rows) for text, rows in counts.items() if rows >= least), key=lambda each: (-each[1], each[0])
    )
    return sorted(named[: question.most])


@pytest.mark.parametrize(
    ("seed", "prefix", "most"),
    [(0, None, 1), (1, None, 3), (2, None, 1000), (3, 1, 3), (4, 2, 1), (5, 2, 1000), (6, 5, 3), (7, 5, 1000)],
)
def test_without_noise_the_list_is_that_of_rows_counted_by_hand(seed, prefix, most):
    frame = text_pair(np.random.default_rng(seed), "add-remove", 1).data
    schema = open_schema(has_unit=False)  # each row is a unit, so that none is cut
    cost = Budget.pure(10**6)
    question = CategorySelection(column="town", prefix=prefix, cost=cost, delta=Fraction(1, 1000), most=most)

    source, terms = code_table(frame.select("town"), schema), Terms(relation="add-remove")
    (answer,) = answer_category_selection([question], PrivateRows.of(source, schema), terms, ZeroNoiseBits())

    assert list(zip(answer.texts, answer.counts.tolist(), strict=True)) == by_hand(frame, question, 1)


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_no_unit_moves_shared_counts_further_than_the_sensitivity_and_some_unit_that_far(relation, max_rows):
    question = CategorySelection(column="town", prefix=1, cost=Budget.pure(1), delta=Fraction(1, 9))
    bound = question.sensitivity(relation, max_rows)
    rng, largest = np.random.default_rng(5), (0, 0)
    for place in range(80):
        base = ["a1", "a2", "b", "c", *rng.choice(["a1", "a2", "b", "c"], 8).tolist()]
        old, new = (rng.choice(["a1", "a2", "b", "c"], max_rows).tolist() for _ in range(2))
        old, new = (unit[:1] * max_rows if place % 2 else unit for unit in (old, new))
        other = [] if relation == "add-remove" else new
        one, two = (listable_counts(question, Counter([*base, *unit]), ()) for unit in (old, other))
        gaps = [one[text] - two[text] for text in one.keys() & two.keys()]
        moved = (sum(map(abs, gaps)), sum(gap * gap for gap in gaps))
        assert moved[0] <= bound.l1
        assert moved[1] <= bound.l2_squared
        largest = max(largest, moved)
    assert largest == (bound.l1, bound.l2_squared)


def test_texts_are_counted_over_chunks():
    class Chunks:
        def texts(self, column):
            yield pl.Series([column, None, "b"])
            yield pl.Series([], dtype=pl.String)
            yield pl.Series(["b", "b", None, "c"])

    assert exact_texts("a", Chunks()) == {"a": 1, "b": 3, "c": 1}


@pytest.mark.parametrize("name", ["count", "text"])
def test_texts_are_counted_whatever_the_column_is_called(name):
    schema = Schema(fields=(Field(name=name, type="string", open=True),))

    source = code_table(pl.DataFrame({name: ["a", None, "b", "a"]}), schema)

    assert exact_texts(name, source) == {"a": 2, "b": 1}
