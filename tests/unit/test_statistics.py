"""A compiled statistic cannot claim less than its program does, whoever built it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.question import RowStatistic, Statistic
from lapwing.kernel.room.checks import is_plain
from lapwing.model.statistics.expressions import compile_statistic, row_function
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

AGE = ("number", "age", 121, 15, 16384, 30)  # age / 120
OLD = ("in", "age", (65, 121))
SCHEMA = Schema(
    fields=(
        Field(name="age", type="integer", minimum=0, maximum=120),
        Field(name="sex", type="string", categories=("f", "m")),
    )
)


def built(*program, text="by hand"):
    return Statistic(text=text, program=program)


@dataclass(frozen=True)
class Asked:
    """A question that holds statistics."""

    statistics: tuple[object, ...]


class Word(str):
    __slots__ = ()


class Number(int):
    pass


class Steps(tuple):
    __slots__ = ()


class Sly(Statistic):
    """A statistic that would see the codes."""


class SlyRow(RowStatistic):
    pass


# --------------------------------------------------------------------------------------------------- hand-built


def test_derived_fields_cannot_be_given():
    with pytest.raises(TypeError, match="unexpected keyword argument 'upper'"):
        Statistic(text="", program=(OLD,), upper=0)


def test_derived_fields_that_were_tampered_with_are_derived_anew():
    statistic = built(AGE)
    for name, lie in (("upper", 1), ("lower", 0), ("bits", 0), ("columns", ())):
        object.__setattr__(statistic, name, lie)

    again = replace(statistic)

    assert (again.lower, again.upper, again.bits, again.columns) == (0, 2**16, 16, ("age",))


def test_a_program_that_was_tampered_with_is_checked_anew():
    statistic = built(OLD)
    object.__setattr__(statistic, "program", (*statistic.program, ("indicator",), ("scale", 1000, 1)))

    with pytest.raises(ParameterError, match="can go from 0 to 1000; divide it by 1000"):
        replace(statistic)


def test_values_are_clipped_even_to_bounds_that_lie():
    statistic = built(AGE)
    object.__setattr__(statistic, "upper", 5)

    assert statistic.values({"age": np.array([0, 60, 120])}).tolist() == [0, 5, 5]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ((), "is a tuple of 1 to 4096 steps"),
        ([OLD], "is a tuple of 1 to 4096 steps"),
        (Steps((OLD,)), "is a tuple of 1 to 4096 steps"),
        ((OLD,) * 5000, "is a tuple of 1 to 4096 steps"),
        ((["in", "age", (0, 1)],), "a step of a statistic is a tuple that starts with a word"),
        (((),), "a step of a statistic is a tuple that starts with a word"),
        (((3,),), "a step of a statistic is a tuple that starts with a word"),
        (((Word("in"), "age", (0, 1)),), "a step of a statistic is a tuple that starts with a word"),
        ((("exec", "age"),), "'exec' with these settings is no step of a statistic"),
        ((("in", "age"),), "'in' with these settings is no step"),
        ((("in", Word("age"), (0, 1)),), "'in' with these settings is no step"),
        ((("in", "age", [0, 1]),), "'in' with these settings is no step"),
        ((("in", "age", (0, 1.0)),), "step 'in' of a statistic takes up to 65536 whole numbers within 2[*][*]62"),
        ((("in", "age", (Number(0), 1)),), "whole numbers within"),
        ((("in", "age", (True, 2)),), "whole numbers within"),
        ((("in", "age", (0, 1, 2)),), "runs of codes in a statistic are disjoint and increase from 0"),
        ((("in", "age", (5, 4)),), "runs of codes in a statistic are disjoint and increase from 0"),
        ((("in", "age", (-1, 4)),), "runs of codes in a statistic are disjoint and increase from 0"),
        ((("in", "age", (0, 2**55)),), "runs of codes in a statistic are disjoint and increase from 0"),
        ((("in", "age", tuple(range(70000))),), "takes up to 65536 whole numbers"),
        ((("lookup", "age", ()),), "lists at least one number"),
        ((("lookup", "age", (0, 2**63)),), "whole numbers within 2[*][*]62"),
        ((("number", "age", 0, 0, 1, 1),), "the numbers of a column in a statistic are too large"),
        ((("number", "age", 2**60, 0, 1, 1),), "the numbers of a column in a statistic are too large"),
        ((("number", "age", 2**50, 0, 2**50, 2**40),), "the numbers of a column in a statistic are too large"),
        ((("number", "age", 121, 0, 1, 0),), "the numbers of a column in a statistic are too large"),
        ((("number", "age", 121, 0, 1, -1),), "the numbers of a column in a statistic are too large"),
        ((AGE, ("scale", 1, 0)), "divided by a positive whole number"),
        ((AGE, ("scale", 2**61, 2**61)), "can grow beyond 2[*][*]46 on the way"),
        ((AGE, ("scale", 2**46, 1), ("scale", 1, 2**46)), "can grow beyond 2[*][*]46 on the way"),
        ((("constant", 2**62), ("constant", 2**62), ("add",), AGE, ("less",)), "can grow beyond 2[*][*]46"),
        ((("constant", 2**40), ("constant", 2**40), ("multiply",), AGE, ("less",)), "can grow beyond 2[*][*]46"),
        ((("constant", -(2**62)), ("constant", 2**62), ("subtract",), AGE, ("less",)), "can grow beyond"),
        ((OLD, ("and",)), "step 'and' of a statistic finds no values of its kind"),
        ((AGE, ("not",)), "step 'not' of a statistic finds no values of its kind"),
        ((OLD, ("negate",)), "step 'negate' of a statistic finds no values of its kind"),
        ((AGE, OLD, ("add",)), "step 'add' of a statistic finds no values of its kind"),
        ((AGE, AGE, ("and",)), "step 'and' of a statistic finds no values of its kind"),
        ((OLD, OLD), "leaves 2 values, not one"),
        ((("constant", 0),), "a statistic without a column is the same for every row"),
        ((AGE, AGE, ("add",)), "can go from 0 to 2; divide it by 2"),
        ((AGE, ("scale", 0, 1)), "it is the same for every row, so there is nothing to measure; leave it out"),
        ((("lookup", "age", (0,)), ("scale", 2**62, 1)), "can grow beyond 2[*][*]46 on the way"),
    ],
)
def test_a_malformed_program_is_refused(program, message):
    with pytest.raises(ParameterError, match=message):
        Statistic(text="by hand", program=program)


@pytest.mark.parametrize("text", [3, None, Word("age"), "x" * 8193])
def test_the_text_is_a_plain_and_short_one(text):
    with pytest.raises(ParameterError, match="the text of a statistic is a str of at most 8192 characters; shorten it"):
        built(OLD, text=text)
    with pytest.raises(ParameterError, match="the text of a statistic is a str of at most 8192 characters; shorten it"):
        RowStatistic(text=text, columns=("age",), lower=-1, upper=1)


def test_every_code_of_a_wide_domain_stays_inside_int64():
    last = 2**53
    huge = built(("number", "x", last, -(2**61), 2**7, 2**45), ("number", "x", last, 0, -1, 2**37), ("maximum",))
    ends = np.array([0, 1, last - 1, last, 2**62], dtype=np.int64)

    values = huge.values({"x": ends})

    exact = [max((-(2**61) + 2**7 * code) // 2**45, -code // 2**37) for code in ends[:3].tolist()]
    assert values.tolist() == [*exact, 0, 0]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int64])
def test_runs_and_numbers_do_not_depend_on_the_width_of_codes(dtype):
    codes = {"age": np.arange(122).astype(dtype)}
    three = built(("in", "age", (0, 3, 5, 6, 100, 300)))
    minus = built(AGE, ("negate",))

    assert np.flatnonzero(three.values(codes)).tolist() == [0, 1, 2, 5, *range(100, 122)]
    assert minus.values(codes).tolist() == [*(-((15 + 16384 * age) // 30) for age in range(121)), 0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_a_run_may_end_after_the_largest_code_that_its_dtype_holds(dtype):
    codes = {"x": np.array([0, 254, 255]).astype(dtype)}

    found = [
        built(("in", "x", ends)).values(codes).tolist() for ends in ((255, 256), (0, 256), (255, 2**53), (300, 400))
    ]

    assert found == [[0, 0, 1], [1, 1, 1], [0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    ("numbers", "steps", "expected"),
    [
        ((1, 2, -1, -2, 3), (("scale", 1, 3),), [0, 1, 0, -1, 1]),
        ((1, -1, 3), (("scale", 1, 2),), [1, 0, 2]),  # halves upwards
        ((100, 32768, 40000), (("constant", 32768), ("multiply",)), [50, 16384, 20000]),
        ((3, -3), (("constant", 10923), ("multiply",)), [1, -1]),
        ((3, -7), (("constant", 5), ("minimum",), ("absolute",), ("negate",)), [-3, -7]),
        ((3, -7), (("constant", -5), ("maximum",), ("constant", 1), ("subtract",)), [2, -6]),
    ],
)
def test_steps_are_exact_and_round_to_the_nearest(numbers, steps, expected):
    statistic = built(("lookup", "x", numbers), *steps)

    found = statistic.values({"x": np.arange(len(numbers))})

    assert found.tolist() == expected


# ------------------------------------------------------------------------------------------------------- records


# ----------------------------------------------------------------------------------------------------- plain only


@pytest.mark.parametrize(
    "each", [built(OLD), built(AGE), compile_statistic(row_function(len), SCHEMA)], ids=["in", "age", "row"]
)
def test_both_kinds_of_statistic_are_plain(each):
    assert is_plain(Asked((each,)))


@pytest.mark.parametrize(
    "each",
    [
        Sly(text="by hand", program=(OLD,)),
        SlyRow(text="len", columns=("age",), lower=0, upper=1, function=len),
        len,
        row_function(len),
        (built(OLD), lambda codes: codes),
    ],
    ids=["subclass", "row subclass", "callable", "row function", "beside"],
)
def test_a_subclass_or_code_in_another_place_is_not_plain(each):
    assert not is_plain(Asked((each,)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", Word("by hand")),
        ("text", len),
        ("program", ((Word("in"), "age", (0, 1)),)),
        ("program", (("in", "age", (Number(0), 1)),)),
        ("program", ((len,),)),
        ("upper", Number(1)),
        ("columns", (Word("age"),)),
    ],
)
def test_a_value_that_was_smuggled_in_after_the_checks_is_not_plain(name, value):
    statistic = built(OLD)
    object.__setattr__(statistic, name, value)

    assert not is_plain(Asked((statistic,)))


@pytest.mark.parametrize("name", ["text", "columns", "lower", "upper"])
def test_the_function_is_the_one_place_for_code(name):
    statistic = compile_statistic(row_function(len), SCHEMA)
    object.__setattr__(statistic, name, len)

    assert not is_plain(Asked((statistic,)))
