"""Random expressions over small domains: every row of the whole domain, against plain Python and against the bounds."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from helpers.plain_statistics import Near, TooNear, agrees, plain_function
from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.programs import values_of
from lapwing.kernel.questions.linear_statistics.question import Statistic
from lapwing.model.statistics.expressions import compiled
from lapwing.rows.out.decode import records
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

SCHEMA = Schema(
    fields=(
        Field(name="k", type="integer", minimum=-2, maximum=3, special=(-9,)),
        Field(name="m", type="number", minimum=0, maximum=0.6, resolution=0.2, required=True),
        Field(name="c", type="integer", categories=(4, 0, 2)),
        Field(name="flag", type="boolean"),
        Field(name="word", type="string", categories=("a", "b", "c"), ordered=True),
        Field(name="day", type="date", minimum="2020-02-28", maximum="2020-03-01", special=("1900-01-01",)),
    )
)
SIZES = [field.domain.size for field in SCHEMA.columns]
# Every row of a domain of 7 * 5 * 4 * 3 * 4 * 5 codes.
EVERY = np.array(list(itertools.product(*map(range, SIZES))), dtype=np.int64)
CODES = {field.name: EVERY[:, place] for place, field in enumerate(SCHEMA.columns)}

EQUAL = {
    "k": ["-2", "0", "3", "-9"],
    "m": ["0", "0.2", "0.6"],
    "c": ["0", "2", "4"],
    "flag": ["True", "False"],
    "word": ["'a'", "'b'", "'c'"],
    "day": ["'2020-02-28'", "'2020-02-29'", "'1900-01-01'"],
}
ORDERED = {
    "k": ["-1", "0", "2", "0.5", "1e-9"],
    "m": ["0.1", "0.2", "0.4", "0.5"],
    "c": ["1", "2", "2.5", "3"],
    "word": ["'b'"],
    "day": ["'2020-02-29'"],
}
ORDERS = st.sampled_from(["<", "<=", ">", ">="])


@st.composite
def on_codes(draw) -> str:
    """Return a comparison of a column with constants."""
    name = draw(st.sampled_from(list(EQUAL)))
    kind = draw(st.sampled_from(["equal", "in", "missing", "order", "chain"]))
    if kind == "missing":
        return f"{name} is {draw(st.sampled_from(['', 'not ']))}None" if name != "m" else "m >= 0.4"
    if kind in ("order", "chain") and name in ORDERED:
        constant, order = draw(st.sampled_from(ORDERED[name])), draw(ORDERS)
        if kind == "order":
            return draw(st.sampled_from([f"{name} {order} {constant}", f"{constant} {order} {name}"]))
        return f"{constant} {order} {name} {draw(ORDERS)} {draw(st.sampled_from(ORDERED[name]))}"
    if kind == "in":
        values = draw(st.lists(st.sampled_from(EQUAL[name]), min_size=1, max_size=2, unique=True))
        return f"{name} {draw(st.sampled_from(['in', 'not in']))} ({', '.join(values)},)"
    return f"{name} {draw(st.sampled_from(['==', '!=']))} {draw(st.sampled_from(EQUAL[name]))}"


LEAVES = st.sampled_from(["k", "m", "c", "k", "(flag + 0)", "1", "-0.5", "3", "0.25"])


def numbers(depth: int) -> st.SearchStrategy[str]:
    """Return texts of numbers, up to so many levels deep."""
    if depth == 0:
        return LEAVES
    inner, truth = numbers(depth - 1), truths(depth - 1)
    return st.one_of(
        LEAVES,
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds("({} / {})".format, inner, st.sampled_from(["2", "-3", "(1 + 0.5)"])),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "-", "+"]), inner),
        st.builds("(({}) * 0.5)".format, truth),
    )


def truths(depth: int) -> st.SearchStrategy[str]:
    """Return texts of truths, up to so many levels deep."""
    if depth == 0:
        return st.one_of(on_codes(), st.just("flag"))
    inner, number = truths(depth - 1), numbers(depth - 1)
    return st.one_of(
        on_codes(),
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("not ({})".format, inner),
        st.builds("{} {} {}".format, number, ORDERS, number),
    )


TEXTS = st.one_of(truths(3), numbers(3))


def compiled_or_refused(text: str) -> Statistic:
    """Compile; divide numbers that leave [-1, 1] as the error says; pass by what is the same for every row."""
    divided = text
    for _ in range(2):
        try:
            return compiled(divided, SCHEMA)
        except ParameterError as error:
            message = str(error)
        event(message.split(": ", 1)[1][:40])
        assume("divide it by" in message)
        divided = f"({text}) / {message.rsplit(' ', 1)[1]}"
    raise AssertionError(message)


def some_rows(seed: int) -> dict[str, np.ndarray]:
    chosen = np.random.default_rng(seed).choice(len(EVERY), 150, replace=False)
    return {name: codes[chosen] for name, codes in CODES.items()}


def check_against_python(text: str, seed: int) -> None:
    statistic = compiled_or_refused(text)
    rows = some_rows(seed)

    values = statistic.values(rows)

    twin = plain_function(statistic.text, SCHEMA)
    for found, record in zip(values.tolist(), records(rows, SCHEMA), strict=True):
        try:
            expected = twin(record)
        except TooNear:
            continue
        assert agrees(found, statistic.bits, expected), (statistic.text, record, found, expected)


@settings(max_examples=40)
@given(TEXTS, st.integers(0, 99))
@example("not k != -9", 0)
@example("(k - k) * (m < c)", 1)
@example("k == -9 and k + 0 < 3", 2)
def test_a_program_computes_what_python_computes_from_the_text(text, seed):
    check_against_python(text, seed)


@pytest.mark.full
@settings(max_examples=3000)
@given(TEXTS, st.integers(0, 99))
def test_thousands_of_programs_compute_what_python_computes_from_the_text(text, seed):
    check_against_python(text, seed)


@settings(max_examples=40)
@given(TEXTS)
def test_no_row_of_the_whole_domain_leaves_the_bounds_even_before_they_are_enforced(text):
    statistic = compiled_or_refused(text)

    values = values_of(statistic.program, CODES)

    assert statistic.lower <= values.min()
    assert values.max() <= statistic.upper
    assert max(-statistic.lower, statistic.upper) <= 1 << statistic.bits


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("k / 3", -2 / 3, 1),
        ("k * c / 12", -8 / 12, 1),
        ("(k + m) / 4", -0.5, 0.9),
        ("abs(k) / 3", 0, 1),
        ("abs(k - 1) * -0.3", -0.9, 0),
        ("min(k, c) / 3 - m", -2 / 3 - 0.6, 1),
        ("max(k, c, 1) / 8", 0, 0.5),
        ("(k < 2) * 0.5 - flag / 4", -0.25, 0.5),
        ("(k + 9) / 20", 0, 0.6),
    ],
)
def test_bounds_are_reached_where_each_column_stands_once(text, lower, upper):
    scale = 2 if lower < -1 else 1

    statistic = compiled(f"({text}) / {scale}", SCHEMA)

    values = statistic.values(CODES)
    assert (values.min(), values.max()) == (statistic.lower, statistic.upper)
    assert values.min() == pytest.approx(lower / scale * 2**16, abs=2)
    assert values.max() == pytest.approx(upper / scale * 2**16, abs=2)


@settings(max_examples=20)
@given(TEXTS, st.integers(0, 99))
def test_a_row_has_one_value_whatever_stands_beside_it(text, seed):
    statistic = compiled_or_refused(text)
    rows = some_rows(seed)

    together = statistic.values(rows)

    for place in range(0, 150, 37):
        alone = {name: codes[place : place + 1].astype(np.uint8) for name, codes in rows.items()}
        assert statistic.values(alone).tolist() == [together[place]]


@settings(max_examples=20)
@given(TEXTS)
def test_a_statistic_comes_back_from_its_record(text):
    statistic = compiled_or_refused(text)

    written = json.loads(json.dumps(statistic.to_dict()))

    again = Statistic.from_dict(written)
    assert again == statistic == replace(statistic)
    assert (again.columns, again.bits, again.lower, again.upper) == (
        statistic.columns,
        statistic.bits,
        statistic.lower,
        statistic.upper,
    )
    assert np.array_equal(again.values(CODES), statistic.values(CODES))


def test_the_twin_tells_numbers_from_truths():
    assert agrees(1, 0, True)
    assert not agrees(1, 0, False)
    assert not agrees(2**16, 16, Near(0))
    assert not agrees(1, 0, Near(1))
