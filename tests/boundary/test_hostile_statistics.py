"""Statistics that try to bring something out of the room: what a mechanism tampers with, and what functions do."""

import warnings
from decimal import Decimal

import numpy as np
import pytest

import lapwing as lw
from helpers.linear_runs import question_of
from helpers.vectors import Rows
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.linear_statistics.answer import answer_linear_statistics, exact_statistics
from lapwing.kernel.terms import Terms
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {"fields": [{"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 100, "required": True}}]}
)
ONE = Budget.pure(1)
SECRET = 77


def asked(*statistics):
    """Return the question for some statistics of one column."""
    return question_of(statistics, SCHEMA, ONE)


def answer(question, ages):
    """Return the answer of the room about rows of these ages."""
    source, terms = Rows(question, [[age] for age in ages]), Terms(relation="add-remove")
    (found,) = answer_linear_statistics([question], PrivateRows.of(source, SCHEMA), terms, SystemBits())
    return found


def sums(question, ages):
    """Return the sums without noise."""
    return exact_statistics(question, Rows(question, [[age] for age in ages]), SCHEMA)


# --------------------------------------------------------------------------------------------------- tampered fields


@pytest.mark.parametrize(
    "changes",
    [{"lower": 0, "upper": 1}, {"lower": 1, "upper": 1}, {"upper": 7}, {"lower": 5, "upper": -5}, {"bits": 0}],
    ids=str,
)
def test_noise_covers_a_row_whatever_bounds_a_mechanism_writes_into_a_statistic(changes):
    question = asked("age / 100")
    for name, value in changes.items():
        object.__setattr__(question.statistics[0], name, value)

    found = answer(question, [100])

    assert np.abs(sums(question, [100]) - sums(question, [])).sum() <= found.noise.parameter


def test_noise_covers_a_row_whatever_bounds_a_mechanism_writes_into_a_row_function():
    question = asked(lw.row_function(lambda record: record["age"] / 100))
    object.__setattr__(question.statistics[0], "lower", -1)
    object.__setattr__(question.statistics[0], "upper", 1)

    found = answer(question, [100])

    assert np.abs(sums(question, [100])).sum() <= found.noise.parameter


@pytest.mark.parametrize(
    "program",
    [(("boom",),), (("in", "other", (0, 9)),), (("number", "age", 101, 0, 10**9, 1),), (("in", "age", (0, 9)),) * 2],
    ids=["unknown step", "unknown column", "outside of the bounds", "two values"],
)
def test_a_tampered_program_is_refused_alike_for_no_row_and_some(program):
    question = asked("age / 100")
    object.__setattr__(question.statistics[0], "program", program)
    said = []

    for ages in ([], [50]):
        with pytest.raises(ParameterError) as refused:
            answer(question, ages)
        said.append(str(refused.value))

    assert said[0] == said[1]


def test_a_factor_that_leaves_64_bits_is_refused_before_any_row():
    with pytest.raises(ParameterError, match="can grow beyond"):
        asked("min(abs(age / 100), 0) * 4611686018427387904 + age / 100")


# ------------------------------------------------------------------------------------------------- hostile functions


class Loud(type):
    """A type that raises where it is compared."""

    def __eq__(cls, other):
        raise ValueError(SECRET)

    def __hash__(cls):
        return 1


class Agreeing(type):
    """A type that says it is any other."""

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(float)


class Number(float):
    """A number with code of its own."""

    def __lt__(self, other):
        raise ValueError(SECRET)

    __gt__ = __round__ = __mul__ = __float__ = __lt__


class Convertible:
    """Something that says it is a float, and looks like one."""

    __class__ = np.float64

    def __float__(self):
        return 1.0

    def item(self):
        return Number(1)


def raised(error):
    """Return a function that raises an error of a type and with a text that tell the record."""

    def function(record):
        raise type(f"Secret{record['age']}", (error,), {})(record)

    return function


async def coroutine(record):
    return 1


def generator(record):
    yield 1


def endless(record):
    return endless(record)


def warning(record):
    warnings.warn(str(record), stacklevel=1)
    np.float64(1) / np.float64(0)
    return warning


def breaking_numpy(record):
    np.seterr(all="raise")
    warnings.simplefilter("error")
    return float("nan")


NOTHING = {
    "an exception": raised(Exception),
    "an exit": raised(SystemExit),
    "the end of a generator": raised(GeneratorExit),
    "the end of an iterator": raised(StopIteration),
    "no memory": raised(MemoryError),
    "a coroutine": coroutine,
    "a generator": generator,
    "endless recursion": endless,
    "warnings": warning,
    "settings of NumPy": breaking_numpy,
    "a loud type": lambda record: Loud("Type", (), {})(),
    "an agreeing type": lambda record: Agreeing("Type", (), {})(),
    "a number of its own": lambda record: Number(1),
    "a convertible": lambda record: Convertible(),
    "a decimal": lambda record: Decimal(1),
    "an array": lambda record: np.ones(1),
    "an array without shape": lambda record: np.array(1.0),
    "a complex number": lambda record: 1 + 0j,
    "a text": lambda record: "1",
    "infinity": lambda record: float("inf"),
    "a long float": lambda record: np.longdouble(1),
    "a time": lambda record: np.datetime64(1, "s"),
}


@pytest.mark.parametrize("function", NOTHING.values(), ids=NOTHING)
def test_what_is_no_number_counts_the_lower_bound_and_says_nothing(function, capfd):
    question = asked(lw.row_function(function, bounds=(-0.5, 1)))

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = sums(question, [SECRET, 3])

    assert found.tolist() == [-(2**16)]
    assert seen == []
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_does_not_carry_the_record():
    question = asked(lw.row_function(raised(KeyboardInterrupt)))

    with pytest.raises(KeyboardInterrupt) as stopped:
        sums(question, [SECRET])

    assert stopped.type is KeyboardInterrupt
    assert (stopped.value.args, stopped.value.__context__, stopped.value.__cause__) == ((), None, None)


def test_a_function_that_changes_its_record_changes_no_other_function_s():
    clearing = lw.row_function(lambda record: record.clear() or 0)
    reading = lw.row_function(lambda record: record["age"] / 100)

    found = sums(asked(clearing, reading, clearing, reading), [100, 50])

    assert found.tolist() == [0, 98304, 0, 98304]


def test_a_name_that_changes_is_asked_for_once():
    class Telling:
        """Tell the last record by its name."""

        def __init__(self):
            self.__name__ = "telling"

        def __call__(self, record):
            self.__name__ = str(record)
            return 0

    mechanism = lw.LinearStatistics(statistics=(lw.row_function(Telling()),), degree=0, mu="uniform", points=5)
    question = asked(*mechanism.statistics)

    sums(question, [SECRET])

    assert (mechanism.statistics[0].text, question.statistics[0].text) == ("telling", "telling")
