"""Statistics of a table: expressions, functions of rows, and what is released of them."""

import datetime as dt
import math
import re
import threading
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.question import RowStatistic, Statistic
from lapwing.kernel.room.checks import is_plain
from lapwing.model.statistics.expressions import compile_statistic, row_function
from lapwing.model.statistics.trees import MOST_DEPTH
from lapwing.rows.out.decode import records
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


FIELDS = {
    "age": Field(name="age", type="integer", minimum=0, maximum=120, special=(-1,)),
    "hours": Field(name="hours-per-week", type="integer", minimum=0, maximum=99, required=True),
    "tens": Field(name="tens", type="integer", minimum=0, maximum=100, resolution=10),
    "price": Field(name="price", type="number", minimum=0.1, maximum=9.9, resolution=0.1),
    "wage": Field(name="wage", type="number", minimum=0, maximum=1e6),
    "sex": Field(name="sex", type="string", categories=("Female", "Male")),
    "size": Field(name="size", type="string", categories=("S", "M", "L"), ordered=True),
    "grade": Field(name="grade", type="integer", categories=(3, 1, 2)),
    "smoker": Field(name="smoker", type="boolean"),
    "born": Field(name="born", type="date", minimum="2000-01-01", maximum="2000-12-31"),
    "month": Field(name="month", type="date", minimum="2000-01-15", maximum="2000-12-31", resolution="month"),
    "at": Field(name="at", type="datetime", minimum="2000-01-01", maximum="2000-01-03", resolution="hour"),
    "id": Field(name="id", type="integer", identifier=True),
    "größe": Field(name="größe", type="integer", minimum=0, maximum=9),
    "ﬁ": Field(name="ﬁ", type="integer", minimum=0, maximum=9),
    "fi": Field(name="fi", type="boolean"),
    "tick": Field(name="a`b c", type="boolean"),
}
EXPRESSIONS_SCHEMA = Schema(fields=tuple(FIELDS.values()))


def test_constants_of_columns_are_folded_before_anything_is_rounded():
    tiny = Schema(fields=(Field(name="x", type="number", minimum=0, maximum=1e-6),))
    codes = {"x": np.array([0, 2**31, 2**32 - 1])}

    found = compile_statistic("(x * 1000000 - 0.5) * 2", tiny).values(codes)

    assert found.tolist() == [-(2**16), 0, 2**16]


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("age * grade / 360", 0, 1),
        ("abs(age - 60) * -0.01", -0.6, 0),
        ("max(age, grade, 50) / 240 - smoker / 4", 50 / 240 - 0.25, 0.5),
        ("(age + 60) / 240", 0, 0.75),  # 0 lies between the bounds where a value can be unknown
    ],
)
def test_bounds_are_reached_where_each_column_stands_once(text, lower, upper):
    codes = np.meshgrid(*(np.arange(FIELDS[key].domain.size) for key in ("age", "grade", "smoker")))
    statistic = compile_statistic(text, EXPRESSIONS_SCHEMA)

    values = statistic.values({key: each.ravel() for key, each in zip(("age", "grade", "smoker"), codes, strict=True)})

    assert (values.min(), values.max()) == (statistic.lower, statistic.upper)
    assert [values.min(), values.max()] == pytest.approx([lower * 2**16, upper * 2**16], abs=2)


def test_decimals_are_read_as_they_are_written():
    assert compile_statistic("price * 0.1 - 0.01", EXPRESSIONS_SCHEMA).values({"price": np.array([0])}).tolist() == [0]
    assert compile_statistic("age / 3 / 40", EXPRESSIONS_SCHEMA) != compile_statistic(
        "age / 120", EXPRESSIONS_SCHEMA
    )  # by their text
    assert (
        compile_statistic("age / 3 / 40", EXPRESSIONS_SCHEMA).program
        == compile_statistic("age / 120", EXPRESSIONS_SCHEMA).program
    )


@pytest.mark.parametrize(
    "text", ["`a``b c`", "`größe` > 3", "größe > 3", "ﬁ > 3", "fi", " ( smoker )\n", "`hours-per-week`>3"]
)
def test_names_are_the_columns_own_whatever_python_makes_of_them(text):
    columns = {"`a``b c`": "a`b c", "größe > 3": "größe", "ﬁ > 3": "ﬁ", "fi": "fi", " ( smoker )\n": "smoker"}
    columns |= {"`größe` > 3": "größe", "`hours-per-week`>3": "hours-per-week"}

    assert compile_statistic(lw.stat(text), EXPRESSIONS_SCHEMA).columns == (columns[text],)


def test_backticks_and_words_inside_quotes_are_left_alone():
    odd = Schema(fields=(Field(name="x", type="string", categories=("it's `odd`", "größe", 'a "b" \\')),))

    found = [
        compile_statistic(text, odd).values({"x": np.arange(3)}).tolist()
        for text in (r"x == 'it\'s `odd`'", "x == 'größe'", r"""x == "a \"b\" \\" """)
    ]

    assert found == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


# --------------------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "a statistic lies in [-1, 1], but this one can go from 0 to 120; divide it by 120"),
        ("age / 120 - 2", "a statistic lies in [-1, 1], but this one can go from -2 to 0; divide it by 2"),
        ("ag > 3", 'no column "ag"; did you mean "age"?'),
        ("id > 3", 'column "id" is an identifier, which is not modelled; name another'),
        ("sex == 'female'", 'column "sex" must be one of its categories, got "female"; did you mean "Female"'),
        ("sex / 2", 'column "sex" holds string values, no numbers; compare it with a constant'),
        ("sex < 'Male'", 'column "sex" has no order; list values with in (...), or declare categoriesOrdered'),
        ("born - month > 3", 'column "born" holds date values, no numbers; compare it with a constant'),
        ("born > 3", 'column "born" holds date values, got 3 in an order; write a day such as 2020-01-31'),
        ("age > 200", 'column "age" has no value > 200; its domain goes from 0 to 120'),
        ("age == 200", 'column "age" holds integer values from 0 to 120, got 200; name a value in its domain'),
        ("sex not in ('Male', 'Female')", 'column "sex" for none of its values, of which there is no other'),
        ("smoker > 0", 'column "smoker" is true or false; write it as it is, or after not'),
        ("age == None", "None means missing; ask for it with is None"),
        ("age is 3", "is takes None, for missing; compare values with =="),
        ("`hours-per-week` is None", 'asks column "hours-per-week" for missing, but it is required; name a value'),
        ("age in (None, 3)", '"age" in [...] takes one constant or more; ask for missing with is None'),
        ("age + 1 in (2, 3)", "in and is stand after the name of a column; compare other numbers with == and <"),
        ("age and smoker", "and, or and not take comparisons and true-or-false columns; compare its numbers"),
        ("age / age", "numbers are divided by constants other than 0 only; use lw.row_function for others"),
        ("1 / 2", "a statistic without a column is the same for every row; name one"),
        ("wage * wage * wage / 1e18", "can grow beyond 2**46 on the way; divide its columns by constants first"),
        ("wage * 1e12 / 1e18 + age", "a statistic lies in [-1, 1]"),
        ("wage * 1e300 * 1e-300 * 1e308 * 1e308 * 0", "a constant in it is too large or has too many digits"),
        ("abs(age, 2)", "abs takes one number, min and max two or more; write them as in min(a, b)"),
        ("'a' + age", '"a" is a text, where a number is needed; compare it with one column'),
    ],
)
def test_what_does_not_fit_the_schema_is_refused_in_words(text, message):
    with pytest.raises(ParameterError) as refused:
        compile_statistic(text, EXPRESSIONS_SCHEMA)

    said = str(refused.value)
    assert message in said
    assert said.startswith("stat ")
    assert "\n" not in said
    assert "where" not in said.replace("where a number", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is no expression"),
        (
            "age >=",
            "it is no expression; compare with ==, join with and, or, not, quote texts and dates, and put backticks "
            "around names that are no Python words",
        ),
        ("hours-per-week` > 3", "put backticks around names"),
        ("age; 1", "it is no expression"),
        ("(x := 3)", "NamedExpr is not in the language of statistics"),
        ("x ** 2", "a power is not in the language of statistics"),
        ("(x > 1) & (y > 2)", "the operator & (write and) is not in the language"),
        ("x.y > 1", "a dot after a name"),
        ("x[0] > 1", "a bracket after a name is not in the language"),
        ("1 if x else 0", "if ... else is not in the language"),
        ("f'{x}' == 'a'", "an f-string is not in the language"),
        ("lambda: 0", "Lambda is not in the language"),
        ("[y for y in x]", "ListComp is not in the language"),
        ("__import__('os').system('true')", "the functions are abs, min, max"),
        ("min(x, y, key=abs)", "the functions are abs, min, max"),
        ("max(*x, 1)", "Starred is not in the language"),
        ("x in y", "write lists as in: column in ['a', 'b']"),
        ("x == (1, 2)", "write lists as in: column in ['a', 'b']"),
        ("x == b'a'", "constants are finite numbers, texts, True, False and None"),
        ("x < 1e999", "constants are finite numbers, texts, True, False and None"),
        (r"x == '\d'", "it is no expression"),
        ("x == '\ud800'", "it is no expression"),
        ("x > " + "1" * 5000, "it is no expression"),
        ("smoker #\nor", "it is no expression"),
        ("x" * 9000, "a statistic is a text of at most 8192 characters; shorten it"),
        (3, "a statistic must be a text, got int; write one such as 'age >= 65'"),
    ],
)
def test_what_is_not_in_the_language_is_refused_when_it_is_written(text, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        lw.stat(text)


@pytest.mark.parametrize(
    "text",
    [
        "-" * 8000 + "x",
        "not " * 2000 + "x",
        "(" * 4000 + "x" + ")" * 4000,
        "[" * 4000,
        "x" + " + x" * 2000,
        "abs(" * 1500 + "x" + ")" * 1500,
        "x " + "< 1 " * 2000,
        "0 < (" * 90 + "age" + ") < 1" * 90,
        "`" * 8000,
        "'" * 8001,
        "age in (" + "1," * 4050 + ")",
        "min(" + "1," * 4050 + "1)",
        "9e307" + " * 9e307" * 90 + " * age",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_texts_are_refused_and_take_no_time(text):
    said = []

    def attempt():
        with pytest.raises(ParameterError) as refused:
            compile_statistic(lw.stat(text), EXPRESSIONS_SCHEMA)
        said.append(str(refused.value))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(timeout=10)

    assert said, "no answer within ten seconds"
    assert len(said[0]) < 400


def test_an_expression_as_deep_as_allowed_is_compiled():
    depth = MOST_DEPTH - 3

    found = compile_statistic("-" * depth + "(age / 120)", EXPRESSIONS_SCHEMA)

    assert (found.lower, found.upper) == (-(2**16), 0)
    with pytest.raises(ParameterError, match="nests deeper than 100; write it shorter, or as several"):
        compile_statistic("-" * MOST_DEPTH + "(age / 120)", EXPRESSIONS_SCHEMA)


def test_a_column_may_be_called_like_a_function():
    named = Schema(fields=(Field(name="abs", type="integer", minimum=-5, maximum=5),))

    assert compile_statistic("abs(abs) / 5", named).values({"abs": np.array([0, 5])}).tolist() == [2**16, 0]


def test_only_texts_stats_and_row_functions_are_compiled():
    with pytest.raises(
        ParameterError, match=r"is a text, lw.stat\(...\) or lw.row_function\(...\), got a int; write one"
    ):
        compile_statistic(3, EXPRESSIONS_SCHEMA)
    assert compile_statistic("smoker", EXPRESSIONS_SCHEMA) == compile_statistic(lw.stat("smoker"), EXPRESSIONS_SCHEMA)


FUNCTIONS_SCHEMA = Schema(
    fields=(
        Field(name="k", type="integer", minimum=0, maximum=9, special=(-1,)),
        Field(name="x", type="number", minimum=-1, maximum=3),
        Field(name="step", type="number", minimum=0.1, maximum=0.7, resolution=0.1, required=True),
        Field(name="id", type="string", identifier=True),
        Field(name="word", type="string", categories=("a", "b"), required=True),
        Field(name="flag", type="boolean"),
        Field(name="day", type="date", minimum="2020-01-10", maximum="2020-12-31", resolution="month"),
        Field(name="at", type="datetime", minimum="2020-01-01", maximum="2020-01-02", resolution="hour"),
    )
)
FIRST = {"k": 3, "x": 0, "step": 2, "word": 1, "flag": 0, "day": 1, "at": 25}


def coded(*rows):
    return {name: np.array([row[name] for row in rows]) for name in FIRST}


def values_of(f, codes, bounds=(-1, 1)):
    statistic = compile_statistic(lw.row_function(f, bounds), FUNCTIONS_SCHEMA)
    return statistic.values_of_records(records(codes, FUNCTIONS_SCHEMA)).tolist()


class Quit(BaseException):
    """Not even an Exception."""


def raises(error):
    def f(record):
        raise error

    return f


def deep(record):
    return deep(record)


class Truthy:
    def __bool__(self):
        return True

    def __float__(self):
        return 1.0


class SlyFunctions(float):
    def __lt__(self, other):
        raise Quit


def test_a_record_holds_the_values_of_all_modelled_columns_in_order():
    (record,) = records(coded(FIRST), FUNCTIONS_SCHEMA)

    assert list(record) == ["k", "x", "step", "word", "flag", "day", "at"]
    assert record == {
        "k": 3,
        "x": -1.0,
        "step": 0.3,
        "word": "b",
        "flag": False,
        "day": dt.date(2020, 2, 1),
        "at": dt.datetime(2020, 1, 2, 1),
    }
    assert [type(each) for each in record.values()] == [int, float, float, str, bool, dt.date, dt.datetime]


def test_special_values_are_themselves_and_missing_and_misfits_are_none():
    special = {**FIRST, "k": 10}
    last = {field.name: field.domain.last for field in FUNCTIONS_SCHEMA.columns}

    first, second = records(coded(special, last), FUNCTIONS_SCHEMA)

    assert first["k"] == -1
    assert set(second.values()) == {None}


def test_a_record_is_a_function_of_its_own_row_and_a_fresh_dict():
    rng = np.random.default_rng(0)
    codes = {field.name: rng.integers(0, field.domain.size, 20_000) for field in FUNCTIONS_SCHEMA.columns}

    together = list(records(codes, FUNCTIONS_SCHEMA))

    for place in (0, 1, 2**14 - 1, 2**14, 19_999):
        alone = list(records({name: each[place : place + 1] for name, each in codes.items()}, FUNCTIONS_SCHEMA))
        assert alone == [together[place]]
    assert len({id(record) for record in together}) == 20_000


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (0.5, 2**15),
        (True, 2**16),
        (False, 0),
        (1, 2**16),
        (7, 2**16),
        (-1e300, -(2**16)),
        (10**400, 2**16),
        (1 / 3, 21845),
        (np.float64(0.25), 2**14),
        (np.float32(-0.25), -(2**14)),
        (np.int8(-1), -(2**16)),
        (np.bool_(True), 2**16),
    ],
)
def test_numbers_are_clipped_and_rounded(result, expected):
    assert values_of(lambda record: result, coded(FIRST)) == [expected]


@pytest.mark.parametrize(
    "result",
    [
        math.nan,
        math.inf,
        -math.inf,
        np.float64("inf"),
        None,
        "0.5",
        b"1",
        1j,
        [1],
        np.array([0.5]),
        Truthy(),
        SlyFunctions(0.5),
    ],
)
def test_what_is_no_finite_number_becomes_the_lower_bound(result):
    assert values_of(lambda record: result, coded(FIRST), bounds=(-0.25, 0.75)) == [-(2**14)]


@pytest.mark.parametrize(
    "f",
    [
        raises(ValueError("age 34")),
        raises(SystemExit(3)),
        raises(MemoryError()),
        raises(GeneratorExit()),
        raises(StopIteration()),
        raises(Quit()),
        lambda record: record["no such column"],
        lambda record: 1 / 0,
        lambda: 0,
        deep,
    ],
)
def test_whatever_a_function_raises_its_row_gets_the_lower_bound_and_the_next_one_its_own(f):
    def sometimes(record):
        return f(record) if record["k"] == 3 else 0.5

    assert values_of(sometimes, coded(FIRST, {**FIRST, "k": 4}, FIRST)) == [-(2**16), 2**15, -(2**16)]


def test_only_an_interrupt_by_the_operator_ends_the_run():
    with pytest.raises(KeyboardInterrupt):
        values_of(raises(KeyboardInterrupt()), coded(FIRST))


def test_warnings_are_not_shown_and_the_filters_are_as_before():
    def loud(record):
        warnings.warn(f"k is {record['k']}", UserWarning, stacklevel=1)
        return float(np.float64(1) / np.float64(record["k"] - 3) > 0)

    before = list(warnings.filters)

    with warnings.catch_warnings(record=True) as shown, np.errstate(all="raise"):
        warnings.simplefilter("always")
        found = values_of(loud, coded(FIRST))

    assert (found, shown) == ([2**16], [])
    assert warnings.filters == before


def test_what_a_function_does_to_its_record_stays_there():
    def greedy(record):
        kept = record.pop("k")
        record.clear()
        return kept / 9

    codes = coded(FIRST, FIRST)

    assert values_of(greedy, codes) == values_of(greedy, codes) == [21845, 21845]
    assert codes["k"].tolist() == [3, 3]


def test_bounds_that_are_no_multiples_are_rounded_inwards():
    statistic = compile_statistic(lw.row_function(lambda record: record["k"] - 4, bounds=(-0.1, 0.3)), FUNCTIONS_SCHEMA)

    found = statistic.values_of_records(records(coded(FIRST, {**FIRST, "k": 9}), FUNCTIONS_SCHEMA))

    assert (statistic.lower, statistic.upper, statistic.bits) == (-6553, 19660, 16)
    assert found.tolist() == [-6553, 19660]
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    "bounds", [(1, -1), (0, 0), (-2, 1), (0, math.nan), (0, math.inf), (False, True), (0,), 3, None, ("0", "1")]
)
def test_bounds_increase_within_minus_one_to_one(bounds):
    with pytest.raises(
        ParameterError, match=r"must be two numbers -1 <= lower < upper <= 1, got .*; divide the function"
    ):
        lw.row_function(len, bounds)


def test_bounds_closer_than_a_multiple_are_refused():
    with pytest.raises(ParameterError, match=r"a row function needs bounds -1 <= lower < upper <= 1, in 2\*\*-16"):
        compile_statistic(lw.row_function(len, bounds=(0, 1e-6)), FUNCTIONS_SCHEMA)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(
        ParameterError, match="row_function takes a function of one record, got a str; write expressions"
    ):
        lw.row_function("age > 3")


def test_a_row_function_that_was_read_back_has_no_code():
    statistic = compile_statistic(lw.row_function(len), FUNCTIONS_SCHEMA)

    again = RowStatistic.from_dict(statistic.to_dict())

    assert (again.text, again.columns, again.lower, again.upper) == ("len", statistic.columns, -(2**16), 2**16)
    with pytest.raises(ParameterError, match="the function 'len' is not part of a record; give it again"):
        again.values_of_records([])
