"""The language of statistics: what it means, and what it refuses in words."""

import re
import threading

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ParameterError
from lapwing.model.statistics.expressions import compile_statistic
from lapwing.model.statistics.trees import MOST_DEPTH
from lapwing.rows.cells import Numbers
from lapwing.rows.codec import encode
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

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
SCHEMA = Schema(fields=tuple(FIELDS.values()))


def value_at(text: str, **codes: int) -> float:
    statistic = compile_statistic(text, SCHEMA)
    by_name = {FIELDS[key].name: np.array([code]) for key, code in codes.items()}
    return statistic.values(by_name)[0] / 2**statistic.bits


def true_codes(text: str, key: str) -> list[int]:
    field = FIELDS[key]
    codes = np.arange(field.domain.size)
    return np.flatnonzero(compile_statistic(text, SCHEMA).values({field.name: codes})).tolist()


def code_of(key: str, number: float) -> int:
    return int(encode(Numbers(np.array([number])), FIELDS[key])[0])


# -------------------------------------------------------------------------------------------------------- meaning


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("tens >= 25", "tens", range(3, 11)),
        ("tens == 25", "tens", [2]),  # the nearest step, as the codec and where have it
        ("price >= 0.3", "price", range(2, 99)),
        ("price > 0.3", "price", range(3, 99)),
        ("grade >= 1.5", "grade", [0, 2]),
        ("month >= '2000-02-01'", "month", range(1, 12)),
        ("month == '2000-02-17'", "month", [1]),
        ("at <= '2000-01-01'", "at", range(24)),
        ("at < '2000-01-01T02:30'", "at", [0, 1, 2]),
        ("sex in {'Male'}", "sex", [1]),
    ],
)
def test_comparisons_with_constants_are_decided_on_codes(text, key, expected):
    assert true_codes(text, key) == list(expected)


def test_real_numbers_in_the_cell_of_a_constant_equal_it_and_zero_is_zero():
    forty, above = code_of("wage", 40.0), code_of("wage", 40.001)
    assert above > forty

    at_forty = {text: value_at(text, wage=forty) for text in ("wage >= 40", "wage > 40", "wage <= 40", "wage == 40")}
    at_zero = {text: value_at(text, wage=0) for text in ("wage > 0", "wage <= 0", "wage >= 1e-5", "wage < 1e-5")}

    assert list(at_forty.values()) == [1, 0, 1, 1]
    assert list(at_zero.values()) == [0, 1, 0, 1]
    assert value_at("wage > 40", wage=above) == 1
    assert value_at("wage >= 1000000", wage=2**32 - 1) == 1


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
    statistic = compile_statistic(text, SCHEMA)

    values = statistic.values({key: each.ravel() for key, each in zip(("age", "grade", "smoker"), codes, strict=True)})

    assert (values.min(), values.max()) == (statistic.lower, statistic.upper)
    assert [values.min(), values.max()] == pytest.approx([lower * 2**16, upper * 2**16], abs=2)


def test_decimals_are_read_as_they_are_written():
    assert compile_statistic("price * 0.1 - 0.01", SCHEMA).values({"price": np.array([0])}).tolist() == [0]
    assert compile_statistic("age / 3 / 40", SCHEMA) != compile_statistic("age / 120", SCHEMA)  # by their text
    assert compile_statistic("age / 3 / 40", SCHEMA).program == compile_statistic("age / 120", SCHEMA).program


@pytest.mark.parametrize(
    "text", ["`a``b c`", "`größe` > 3", "größe > 3", "ﬁ > 3", "fi", " ( smoker )\n", "`hours-per-week`>3"]
)
def test_names_are_the_columns_own_whatever_python_makes_of_them(text):
    columns = {"`a``b c`": "a`b c", "größe > 3": "größe", "ﬁ > 3": "ﬁ", "fi": "fi", " ( smoker )\n": "smoker"}
    columns |= {"`größe` > 3": "größe", "`hours-per-week`>3": "hours-per-week"}

    assert compile_statistic(lw.stat(text), SCHEMA).columns == (columns[text],)


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
        (
            "sex not in ('Male', 'Female')",
            'column "sex" for none of its values, of which there is no other',
        ),
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
        compile_statistic(text, SCHEMA)

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
            compile_statistic(lw.stat(text), SCHEMA)
        said.append(str(refused.value))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(timeout=10)

    assert said, "no answer within ten seconds"
    assert len(said[0]) < 400


def test_an_expression_as_deep_as_allowed_is_compiled():
    depth = MOST_DEPTH - 3

    found = compile_statistic("-" * depth + "(age / 120)", SCHEMA)

    assert (found.lower, found.upper) == (-(2**16), 0)
    with pytest.raises(ParameterError, match="nests deeper than 100; write it shorter, or as several"):
        compile_statistic("-" * MOST_DEPTH + "(age / 120)", SCHEMA)


def test_a_column_may_be_called_like_a_function():
    named = Schema(fields=(Field(name="abs", type="integer", minimum=-5, maximum=5),))

    assert compile_statistic("abs(abs) / 5", named).values({"abs": np.array([0, 5])}).tolist() == [2**16, 0]


def test_only_texts_stats_and_row_functions_are_compiled():
    with pytest.raises(
        ParameterError, match=r"is a text, lw.stat\(...\) or lw.row_function\(...\), got a int; write one"
    ):
        compile_statistic(3, SCHEMA)
    assert compile_statistic("smoker", SCHEMA) == compile_statistic(lw.stat("smoker"), SCHEMA)
