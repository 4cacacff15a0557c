"""The language of linear statistics: texts and functions that a user gives, compiled against a schema."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.programs import ONE
from lapwing.kernel.questions.linear_statistics.question import RowStatistic, Statistic
from lapwing.model.statistics.programs import program_of
from lapwing.model.statistics.trees import Among, Apply, Node, stat_asker, tree_of
from lapwing.schema.conditions import WHERE, items_of, modelled_field
from lapwing.schema.scalars import finite_number, quote
from lapwing.schema.schemas import Schema

_MOST_NAME: Final = 200


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


def condition_of(where: Mapping[str, object] | Stat | str, schema: Schema) -> Statistic:
    """Tie a condition to a schema: a statistic that is 1 in the rows that meet it, and 0 in all others.

    >>> from lapwing.schema.conditions import Between
    >>> from lapwing.schema.fields import Field
    >>> schema = Schema(fields=(Field(name="age", type="integer", minimum=0, maximum=120),))
    >>> condition_of({"age": Between(65, None)}, schema).program == condition_of("age >= 65", schema).program
    True
    """
    if isinstance(where, Mapping):
        parts = tuple(Among(name, items_of(modelled_field(schema, name), wanted)) for name, wanted in where.items())
        if not parts:
            names = ", ".join(field.name for field in schema.columns)
            raise ParameterError(f"where names no column; choose from {names}", code="LW330")
        return Statistic(text="where", program=program_of(Apply("and", parts), schema, WHERE))
    found = compile_statistic(where, schema)
    if not isinstance(found, Statistic) or found.bits:
        raise ParameterError(f"a condition is true or false, got {where!r}; compare it with a constant", code="LW320")
    return found
