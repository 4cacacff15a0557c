"""The language of linear statistics: texts and functions that a user gives, compiled against a schema."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.programs import ONE, Step
from lapwing.kernel.questions.linear_statistics.question import RowStatistic, Statistic
from lapwing.maths.runs import Runs, meet, merge_runs, without
from lapwing.model.statistics.programs import is_truth, program_of
from lapwing.model.statistics.trees import Among, Apply, Node, stat_asker, tree_of
from lapwing.schema.conditions import WHERE, Codes, items_of, modelled_field, wanted_of, where_runs
from lapwing.schema.scalars import finite_number, quote
from lapwing.schema.schemas import Schema

_MOST_NAME: Final = 200
_MAY_BE_A_NAME: Final = re.compile(r"""[^<>!'"`()]+""")
"""What stands before = where a text names a column that it does not know; an expression has one of these first."""


@dataclass(frozen=True, slots=True)
class Stat:
    """A linear statistic as an expression, not yet tied to a schema. Made by `stat`."""

    text: str
    tree: Node = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if type(self.text) is not str:
            raise ParameterError(
                f"a statistic must be a text, got {type(self.text).__name__}; write one such as 'age >= 65'",
                code="LW340",
            )
        object.__setattr__(self, "tree", tree_of(self.text))


Condition = Mapping[str, object] | Stat | str
"""What rows are asked to be: by column, or as a text."""


@dataclass(frozen=True, slots=True)
class RowFunction:
    """A linear statistic as code that is given one record at a time. Made by `row_function`.

    bounds: values are clipped to them; within [-1, 1], the lower one first; text: the function's name, as far as it has
    one, read once.
    """

    function: Callable[[dict[str, Any]], object] = field(repr=False)
    bounds: tuple[float, float] = (-1, 1)
    text: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                f"row_function takes a function of one record, got a {type(self.function).__name__}; "
                "write expressions as lw.stat",
                code="LW342",
            )
        ends = tuple(self.bounds) if isinstance(self.bounds, tuple | list) else ()
        known = [each for each in ends if finite_number(each) is not None]
        if len(ends) != 2 or len(known) != 2 or not -1 <= known[0] < known[1] <= 1:
            shown = ", ".join(quote(each) for each in ends[:3]) or "none"
            raise ParameterError(
                f"the bounds of a row function must be two numbers -1 <= lower < upper <= 1, got {shown}; "
                "divide the function's result",
                code="LW342",
            )
        object.__setattr__(self, "bounds", (known[0], known[1]))
        name = getattr(self.function, "__name__", type(self.function).__name__)
        object.__setattr__(self, "text", str(name)[:_MOST_NAME])


def stat(text: str) -> Stat:
    """Write a linear statistic as an expression on the columns of a table.

    Parameters
    ----------
    text : str
        Comparisons (``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, also chained), ``in (...)``, ``is None``, joined by
        ``and``, ``or``, ``not``; true-or-false columns as they are; and sums, differences, products, quotients by
        constants, ``abs``, ``min`` and ``max`` of numbers. Names that are no Python words stand in backticks. At most
        8192 characters.

    Returns
    -------
    Stat
        Its syntax is checked; columns and bounds are checked where it meets a schema.

    Raises
    ------
    ParameterError
        If the text is not in the language.

    Notes
    -----
    *Columns against constants* are compared on the schema's codes, exactly. ``==`` and ``in`` take values of the domain
    and mean what `where` means: a number its nearest step or its cell, a date its week, month or hour. Orders go by the
    value that a code stands for, listed numbers and dates by their value, listed texts in the order that the schema
    declares. Numbers without resolution that lie in the cell of the constant count as equal to it, but zero, minimum
    and maximum count as themselves. A date as the end of a range of moments means its whole day.

    *Missing cells and invalid values*: every comparison with them is false, ``!=`` and ``not in`` too, so
    ``not (age < 65)`` is true for them; ``is None`` asks for missing. A special value equals itself and nothing else,
    and lies in no order. Arithmetic with any of the three is unknown; a comparison with an unknown number is false,
    and a statistic that is unknown counts 0.

    *Arithmetic* is exact but for rounding to the nearest ``2**-16``: of each constant, of each column (after it is
    multiplied, divided or shifted by constants), and of each product and quotient. A real number stands for the middle
    of its cell. True counts 1 and false 0.

    A statistic lies in [-1, 1]; its bounds are derived from the schema and are its sensitivity.

    References
    ----------
    .. [1] March Boedihardjo, Thomas Strohmer, Roman Vershynin, "Privacy of Synthetic Data: A Statistical Framework",
       Section 2. Test functions there are any; here they are what can be bounded and evaluated in whole numbers.

    Examples
    --------
    >>> stat("age >= 65 and sex == 'Female'").text
    "age >= 65 and sex == 'Female'"
    >>> stat("open('/etc/passwd')")
    Traceback (most recent call last):
    lapwing.errors.ParameterError: stat "open('/etc/passwd')": the functions are abs, min, max
    `lapwing explain LW340` says why, and what to do
    """
    return Stat(text)


def row_function(f: Callable[[dict[str, Any]], object], bounds: tuple[float, float] = (-1, 1)) -> RowFunction:
    """Give a linear statistic as code that sees one record at a time.

    Parameters
    ----------
    f : callable
        Called with a fresh dict of one row's values (None for missing), as `lapwing.rows.out.decode.records` gives
        them.
        It must keep nothing from one call to the next, print nothing and write nothing: that it does is assumed, and
        the certificate says so.
    bounds : pair of numbers, default (-1, 1)
        Values are clipped to them, then rounded to multiples of ``2**-16``; within [-1, 1], the lower one first.

    Returns
    -------
    RowFunction

    Raises
    ------
    ParameterError
        If `f` cannot be called, or the bounds are not increasing within [-1, 1].

    Notes
    -----
    Where `f` raises, or returns no finite number, the statistic is its lower bound. True and False are 1 and 0.

    Examples
    --------
    >>> row_function(lambda row: row["bmi"] / 80, bounds=(0, 1)).bounds
    (0, 1)
    """
    return RowFunction(f, bounds)


def compile_statistic(each: Stat | RowFunction | str, schema: Schema) -> Statistic | RowStatistic:
    """Tie a statistic to a schema.

    >>> from lapwing.schema.fields import Field
    >>> schema = Schema(fields=(Field(name="age", type="integer", minimum=0, maximum=120),))
    >>> senior = compile_statistic("age >= 65", schema)
    >>> senior.columns, senior.bits, senior.lower, senior.upper
    (('age',), 0, 0, 1)
    """
    if isinstance(each, RowFunction):
        lower, upper = (Fraction(str(end)) * ONE for end in each.bounds)
        return RowStatistic(
            text=each.text,
            columns=tuple(field.name for field in schema.columns),
            lower=math.ceil(lower),
            upper=math.floor(upper),
            function=each.function,
        )
    if not isinstance(each, Stat | str):
        raise ParameterError(
            f"a statistic is a text, lw.stat(...) or lw.row_function(...), got a {type(each).__name__}; write one",
            code="LW340",
        )
    asked = each if isinstance(each, Stat) else Stat(each)
    asker = stat_asker(asked.text)
    program = program_of(asked.tree, schema, asker)
    try:
        return Statistic(text=asked.text.strip(), program=program)
    except ParameterError as error:
        said, code = str(error), error.code
    raise ParameterError(f"{asker.name}: {said}", code=code)


def condition_of(where: Condition, schema: Schema) -> Statistic:
    """Tie a condition to a schema: a statistic that is 1 in the rows that meet it, and 0 in all others.

    >>> from lapwing.schema.conditions import Between
    >>> from lapwing.schema.fields import Field
    >>> schema = Schema(fields=(Field(name="age", type="integer", minimum=0, maximum=120),))
    >>> forms = ({"age": Between(65, None)}, "age=65..", "age >= 65")
    >>> [condition_of(form, schema).program for form in forms]
    [(('in', 'age', (65, 121)),), (('in', 'age', (65, 121)),), (('in', 'age', (65, 121)),)]
    """
    asked = (_short(where, schema) or where) if isinstance(where, str) else where
    if isinstance(asked, Mapping):
        parts = tuple(Among(name, items_of(modelled_field(schema, name), wanted)) for name, wanted in asked.items())
        if not parts:
            names = ", ".join(field.name for field in schema.columns)
            raise ParameterError(f"where names no column; choose from {names}", code="LW330")
        return Statistic(text="where", program=program_of(Apply("and", parts), schema, WHERE))
    stat = asked if isinstance(asked, Stat) else Stat(asked)
    if not is_truth(stat.tree, schema, stat_asker(stat.text)):
        said = f"a condition is true or false, got {quote(stat.text)}; write for example age=30..40 or age >= 30"
        raise ParameterError(said, code="LW320")
    found = compile_statistic(stat, schema)
    assert isinstance(found, Statistic)
    return found


def _short(text: str, schema: Schema, called: Callable[[str], str] = str) -> dict[str, object] | None:
    """Return what ``col=value`` asks, None where a text is an expression; called: gives a column's name in the schema.

    The value may be a range, a list or nothing, as for `wanted_of`.
    """
    name, equals, value = text.partition("=")
    is_column = name in {field.name for field in schema.columns}
    if not equals or value.startswith("=") or not (is_column or _MAY_BE_A_NAME.fullmatch(name)):
        return None
    column = called(name if is_column else name.strip())
    return {column: wanted_of(modelled_field(schema, column), value)}


def read_conditions(
    texts: Sequence[str], schema: Schema, called: Callable[[str], str] = str
) -> dict[str, object] | None:
    """Return the conditions that rows shall meet, all of them, by column; None where there are none.

    texts: each ``col=value`` or an expression that asks columns one by one; called: as for `_short`.

    >>> from lapwing.schema.fields import Field
    >>> schema = Schema(fields=(Field(name="age", type="integer", minimum=0, maximum=120),))
    >>> read_conditions(["age=30..40,65"], schema)
    {'age': [30 <= value <= 40, 65]}
    """
    conditions: dict[str, object] = {}
    for text in texts:
        asked = _short(text, schema, called)
        if asked is None:
            runs = _by_column(condition_of(text, schema).program, schema)
            asked = {name: Codes(codes) for name, codes in runs.items()}
        for name, wanted in asked.items():
            if name in conditions:
                said = f"where names column {name!r} twice; say all that is asked of it at once"
                raise ParameterError(said, code="LW320")
            conditions[name] = wanted
    return conditions or None


def asked_codes(where: Condition, schema: Schema) -> dict[str, Runs]:
    """Return the codes that each column must lie in for a condition to hold."""
    if isinstance(where, Stat | str):
        text = where if isinstance(where, str) else where.text
        where = read_conditions([text], schema) or {}
    return where_runs(schema, where)


def _by_column(program: Sequence[Step], schema: Schema) -> dict[str, Runs]:
    """Return the codes that each column must lie in, of a program that asks one column at a time."""
    stack: list[dict[str, Runs]] = []
    for step in program:
        match step:
            case ("in", str(name), tuple(ends)):
                stack.append({name: np.array(ends, dtype=np.int64).reshape(-1, 2)})
            case ("not",) if len(stack[-1]) == 1:
                ((name, runs),) = stack.pop().items()
                domain = schema.field(name).domain
                stack.append({name: without(runs, domain.size if domain.missing else domain.last)})
            case ("and",):
                last, first = stack.pop(), stack.pop()
                stack.append({**first, **{name: meet(first.get(name, runs), runs) for name, runs in last.items()}})
            case ("or",) if len(stack[-1]) == 1 and stack[-1].keys() == stack[-2].keys():
                last, first = stack.pop(), stack.pop()
                stack.append({name: merge_runs([*first[name].tolist(), *runs.tolist()]) for name, runs in last.items()})
            case _:
                raise ParameterError(
                    "where draws rows by what each column may be, got a condition in which columns depend on each "
                    "other; write conditions on one column each, with and between them",
                    code="LW320",
                )
    (found,) = stack
    for name, runs in found.items():
        if not runs.size:
            raise ParameterError(f"where leaves column {quote(name)} no value; ask for a wider condition", code="LW320")
    return found
