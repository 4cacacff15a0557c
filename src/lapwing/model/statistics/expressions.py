"""The language of linear statistics: texts and functions that a user gives, compiled against a schema."""

import ast
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from lapwing.errors import ParameterError, SchemaError
from lapwing.kernel.questions.linear_statistics.programs import ONE
from lapwing.kernel.questions.linear_statistics.question import MOST_TEXT, RowStatistic, Statistic
from lapwing.model.statistics.programs import program_of
from lapwing.schema.scalars import finite_number, quote
from lapwing.schema.schemas import Schema

MOST_DEPTH: Final = 100
"""Deepest nesting of an expression; a chain of additions is one level deeper for each term."""

MOST_PARTS: Final = 4000
"""Most names, constants and operations of an expression."""

_MOST_NAME: Final = 200
_ALLOWED: Final = (ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call, ast.Name, ast.Constant)
_LISTS: Final = (ast.Tuple, ast.List, ast.Set)
_OPERATORS: Final = (
    *(ast.And, ast.Or, ast.Not, ast.USub, ast.UAdd, ast.Add, ast.Sub, ast.Mult, ast.Div),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot),
)
_FUNCTIONS: Final = ("abs", "min", "max")
_TOKENS: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`((?:[^`]|``)+)`|([^\W\d]\w*)""", re.DOTALL)
"""Texts in quotes, columns in backticks, and words: only the last two are looked at."""


@dataclass(frozen=True, slots=True)
class Stat:
    """A linear statistic as an expression, not yet tied to a schema. Made by `stat`."""

    text: str

    def __post_init__(self) -> None:
        _tree(self.text)


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

    *Missing cells and misfits*: every comparison with them is false, ``!=`` and ``not in`` too, so ``not (age < 65)``
    is true for them; ``is None`` asks for missing. A special value equals itself and nothing else, and lies in no
    order. Arithmetic with any of the three is unknown; a comparison with an unknown number is false, and a statistic
    that is unknown counts 0.

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


def compiled(each: Stat | RowFunction | str, schema: Schema) -> Statistic | RowStatistic:
    """Tie a statistic to a schema.

    >>> from lapwing.schema.fields import Field
    >>> schema = Schema(fields=(Field(name="age", type="integer", minimum=0, maximum=120),))
    >>> senior = compiled("age >= 65", schema)
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
    text = each.text if isinstance(each, Stat) else each
    tree = _tree(text)
    try:
        return Statistic(text=text.strip(), program=program_of(tree, schema))
    except (ParameterError, SchemaError) as error:
        message = str(error)
    raise _refused(text, message.replace("where asks", "it asks", 1).removeprefix("where: "))


# -------------------------------------------------------------------------------------------------------- parsing


def _tree(text: object) -> ast.expr:
    """Return the syntax tree of a text in the language, with the columns' own names in it."""
    if type(text) is not str:
        raise ParameterError(
            f"a statistic must be a text, got {type(text).__name__}; write one such as 'age >= 65'", code="LW340"
        )
    if len(text) > MOST_TEXT:
        raise ParameterError(f"a statistic is a text of at most {MOST_TEXT} characters; shorten it", code="LW340")
    names: dict[str, str] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of backslashes that mean nothing
            tree = ast.parse(_plain_words(text, names).strip(), mode="eval").body
    except (SyntaxError, ValueError):
        problem = (
            "it is no expression; compare with ==, join with and, or, not, quote texts and dates, and put backticks "
            "around names that are no Python words"
        )
    except (RecursionError, MemoryError):
        problem = _too_large()
    else:
        problem = _problem(tree, names)
        if not problem:
            return tree
    raise _refused(text, problem)


def _plain_words(text: str, names: dict[str, str]) -> str:
    """Return a text with plain words in the place of names in backticks and of words that Python would normalise."""
    stem = "column_"
    while stem in text:
        stem += "_"

    def plain(found: re.Match[str]) -> str:
        name = found[1].replace("``", "`") if found[1] else found[2]
        if name is None or (found[2] and name.isascii()):
            return found[0]
        word = f"{stem}{len(names)}"
        names[word] = name
        return word

    return _TOKENS.sub(plain, text)


def _problem(tree: ast.expr, names: dict[str, str]) -> str:
    """Return what in a tree is not in the language, if anything; put the names of columns back."""
    level: list[ast.AST] = [tree]
    parts = 0
    for _ in range(MOST_DEPTH):
        if not level or parts > MOST_PARTS:
            break
        parts += len(level)
        for node in level:
            problem = _problem_of(node)
            if problem:
                return problem
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
        level = [
            child
            for node in level
            for child in (node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node))
        ]
    return _too_large() if level or parts > MOST_PARTS else ""


def _problem_of(node: ast.AST) -> str:
    """Return what is wrong with one node by itself, if anything."""
    if isinstance(node, ast.Call):
        is_known = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords
        return "" if is_known else f"the functions are {', '.join(_FUNCTIONS)}"
    if isinstance(node, ast.Constant):
        return _problem_of_constant(node.value)
    if isinstance(node, ast.Compare):
        lists = [
            isinstance(right, _LISTS) == isinstance(op, ast.In | ast.NotIn)
            for op, right in zip(node.ops, node.comparators, strict=True)
        ]
        return "" if all(lists) and not isinstance(node.left, _LISTS) else "write lists as in: column in ['a', 'b']"
    if isinstance(node, (*_ALLOWED, *_LISTS, *_OPERATORS, ast.expr_context)):
        return ""
    return f"{_WORDS.get(type(node).__name__, type(node).__name__)} is not in the language of statistics"


_WORDS: Final = {
    "Pow": "a power",
    "Mod": "a remainder",
    "FloorDiv": "the operator //",
    "BitAnd": "the operator & (write and)",
    "BitOr": "the operator | (write or)",
    "Invert": "the operator ~ (write not)",
    "Attribute": "a dot after a name (where it is part of a column's name, put backticks around that)",
    "Subscript": "a bracket after a name",
    "IfExp": "if ... else",
    "JoinedStr": "an f-string",
}
"""How parts that others might expect are called in errors."""


def _problem_of_constant(value: object) -> str:
    if value is None or isinstance(value, bool | str):
        return ""
    is_number = isinstance(value, int | float) and finite_number(value) is not None
    return "" if is_number else "constants are finite numbers, texts, True, False and None"


def _too_large() -> str:
    return f"it has more than {MOST_PARTS} parts, or nests deeper than {MOST_DEPTH}; write it shorter, or as several"


def _refused(text: str, problem: str) -> ParameterError:
    return ParameterError(f"stat {quote(text)}: {problem}", code="LW340")
