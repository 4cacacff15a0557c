"""The tree of an expression: what a text or a mapping asks of a row, whatever the schema."""

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from lapwing.errors import LapwingError
from lapwing.kernel.questions.linear_statistics.question import MOST_TEXT
from lapwing.schema.conditions import Asker, OrderComparison, plain_number
from lapwing.schema.scalars import finite_number, quote

MOST_DEPTH: Final = 100
"""Deepest nesting of an expression; a chain of additions is one level deeper for each term."""

MOST_PARTS: Final = 4000
"""Most names, constants and operations of an expression."""

_MOST_BITS: Final = 4096
"""Most bits of numerator and denominator of a constant that is computed."""

_LARGEST: Final = 2**1000
_TOKENS: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`((?:[^`]|``)+)`|([^\W\d]\w*)""", re.DOTALL)
"""Texts in quotes, columns in backticks, and words: only the last two are looked at."""

_FUNCTIONS: Final = {"abs": "absolute", "min": "minimum", "max": "maximum"}
_OPERATIONS: Final[dict[type, str]] = {
    **{ast.And: "and", ast.Or: "or", ast.Not: "not", ast.UAdd: "plus", ast.USub: "negate"},
    **{ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"},
}
_FOLDED: Final[dict[str, Callable[..., Fraction]]] = {
    **{"add": operator.add, "multiply": operator.mul, "absolute": abs, "minimum": min, "maximum": max},
    "plus": operator.pos,
}
_ORDERS: Final[dict[type[ast.cmpop], str]] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WORDS: Final = {"<": "less", "<=": "at_most", ">": "less", ">=": "at_most", "==": "equal", "!=": "differs"}
_LISTS: Final = (ast.Tuple, ast.List, ast.Set)
_PARTS: Final = {
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

_TOO_LARGE: Final = (
    f"it has more than {MOST_PARTS} parts, or nests deeper than {MOST_DEPTH}; write it shorter, or as several"
)


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column."""

    name: str


@dataclass(frozen=True, slots=True)
class Among:
    """That a column is one of some items, as `lapwing.schema.conditions` has them; or that it is there and is none."""

    column: str
    items: tuple[object, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation: a word of `lapwing.kernel.questions.linear_statistics.programs`, or plus, which changes nothing."""

    word: str
    parts: "tuple[Node, ...]"


Node = Fraction | str | bool | None | Column | Among | Apply


def stat_asker(text: str) -> Asker:
    """Return who asks where a text is compiled."""
    return Asker(f"stat {quote(text)}", code="LW340")


def tree_of(text: str) -> Node:
    """Return the tree of a text in the language.

    >>> tree_of("65 > age")
    Among(column='age', items=(OrderComparison(order='<', constant=Fraction(65, 1)),), is_negated=False)
    """
    asker, names = stat_asker(text), dict[str, str]()
    problem = f"a statistic is a text of at most {MOST_TEXT} characters; shorten it"
    root: ast.expr | None = None
    if len(text) <= MOST_TEXT:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # of backslashes that mean nothing
                root = ast.parse(_plain_words(text, names).strip(), mode="eval").body
        except (SyntaxError, ValueError):
            problem = (
                "it is no expression; compare with ==, join with and, or, not, quote texts and dates, and put "
                "backticks around names that are no Python words"
            )
        except (RecursionError, MemoryError):
            problem = _TOO_LARGE
        else:
            is_small = sum(not isinstance(each, ast.expr_context) for each in ast.walk(root)) <= MOST_PARTS
            problem = "" if is_small else _TOO_LARGE
    if problem or root is None:
        raise asker.refused(problem, "LW340")
    return _Reader(asker, names).read(root)


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


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads Python's tree of a text; names: the columns that words stand for."""

    asker: Asker
    names: Mapping[str, str]

    def read(self, node: ast.expr, depth: int = 1) -> Node:
        """Return the tree of a part, where all of it is in the language."""
        if depth > MOST_DEPTH:
            raise self.refused(_TOO_LARGE)
        if isinstance(node, ast.Name):
            return Column(self.names.get(node.id, node.id))
        if isinstance(node, ast.Constant):
            return self._constant(node.value)
        if isinstance(node, ast.Compare):
            return self._chain([node.left, *node.comparators], node.ops, depth)
        word, parts = self._operation(node)
        return self._applied(word, *self._read_all(parts, depth))

    def _read_all(self, nodes: Sequence[ast.expr], depth: int) -> tuple[Node, ...]:
        return tuple(self.read(node, depth + 1) for node in nodes)

    def _constant(self, value: object) -> Node:
        """Return a constant; a number as the fraction that it reads as: 0.1 is a tenth."""
        if value is None or isinstance(value, bool | str):
            return value
        if not isinstance(value, int | float) or finite_number(value) is None:
            raise self.refused("constants are finite numbers, texts, True, False and None")
        return Fraction(str(value))

    def _operation(self, node: ast.expr) -> tuple[str, list[ast.expr]]:
        """Return the word of an operation, and its parts."""
        word = _OPERATIONS.get(type(getattr(node, "op", None)), "")
        match node:
            case ast.BoolOp(values=parts) if word:
                return word, parts
            case ast.UnaryOp(operand=part) if word:
                return word, [part]
            case ast.BinOp(left=left, right=right) if word:
                return word, [left, right]
            case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in _FUNCTIONS:
                if (name == "abs") != (len(parts) == 1) or not parts:
                    raise self.refused("abs takes one number, min and max two or more; write them as in min(a, b)")
                return _FUNCTIONS[name], parts
            case ast.Call():
                raise self.refused(f"the functions are {', '.join(_FUNCTIONS)}")
            case ast.Tuple() | ast.List() | ast.Set():
                raise self.refused("a list stands after in only; write column in ('a', 'b')")
        kind = type(getattr(node, "op", node)).__name__
        raise self.refused(f"{_PARTS.get(kind, kind)} is not in the language of statistics")

    def _applied(self, word: str, *parts: Node) -> Node:
        """Return an operation; or what it gives, where all its parts are numbers."""
        left, right = parts[0], parts[-1]
        match word:
            case "negate":
                return self._applied("multiply", left, Fraction(-1))
            case "divide":
                if not isinstance(right, Fraction) or not right:
                    said = "numbers are divided by constants other than 0 only; use lw.row_function for others"
                    raise self.refused(said)
                return self._applied("multiply", left, 1 / right)
            case "subtract" if isinstance(left, Fraction) or isinstance(right, Fraction):
                return self._applied("add", left, self._applied("negate", right))
        numbers = [part for part in parts if isinstance(part, Fraction)]
        if len(numbers) < len(parts) or word not in _FOLDED:
            return Apply(word, parts)
        return small(_FOLDED[word](*numbers), self.asker)

    def _chain(self, sides: list[ast.expr], ops: list[ast.cmpop], depth: int) -> Node:
        """Return comparisons that all hold: each side is read once, and shared by those before and after it."""
        is_list = [isinstance(each, _LISTS) for each in sides]
        if is_list != [False, *(isinstance(op, ast.In | ast.NotIn) for op in ops)]:
            raise self.refused("write lists as in: column in ['a', 'b']")
        read = [self._read_all(_listed(side), depth) for side in sides]
        found = [self._compared(*each) for each in zip(read, ops, read[1:], strict=False)]
        return found[0] if len(found) == 1 else Apply("and", tuple(found))

    def _compared(self, before: tuple[Node, ...], op: ast.cmpop, values: tuple[Node, ...]) -> Node:
        """Return one comparison, of a column with constants, or of numbers."""
        left, is_negated = before[0], isinstance(op, ast.NotEq | ast.NotIn | ast.IsNot)
        if isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot):
            if not isinstance(left, Column) or len(before) > 1:
                raise self.refused("in and is stand after the name of a column; compare other numbers with == and <")
            if isinstance(op, ast.In | ast.NotIn) and not (values and all(map(_is_constant, values))):
                said = f"{quote(left.name)} in [...] takes one constant or more; ask for missing with is None"
                raise self.refused(said)
            if isinstance(op, ast.Is | ast.IsNot) and values != (None,):
                raise self.refused("is takes None, for missing; compare values with ==")
            return Among(left.name, tuple(map(_item, values)), is_negated)
        order, right = _ORDERS.get(type(op), "!=" if is_negated else "=="), values[0]
        if isinstance(right, Column) and _is_constant(left):
            left, order, right = right, _MIRRORED.get(order, order), left
        if isinstance(left, Column) and _is_constant(right):
            return Among(
                left.name, (OrderComparison(order, right) if order in _MIRRORED else _item(right),), is_negated
            )
        return Apply(_WORDS[order], (right, left) if order in (">", ">=") else (left, right))

    def refused(self, said: str) -> LapwingError:
        """Return the refusal of a text."""
        return self.asker.refused(said, "LW340")


def _listed(side: ast.expr) -> Sequence[ast.expr]:
    """Return the parts of a list, or what stands alone."""
    return side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]


def _is_constant(node: Node) -> bool:
    return isinstance(node, Fraction | str | bool)


def _item(node: Node) -> object:
    """Return a constant as a column is asked for it."""
    return plain_number(node) if isinstance(node, Fraction) else node


def small(constant: Fraction, asker: Asker) -> Fraction:
    """Refuse constants that no column comes near, before their arithmetic takes time."""
    bits = max(constant.numerator.bit_length(), constant.denominator.bit_length())
    if bits > _MOST_BITS or abs(constant) > _LARGEST:
        raise asker.refused("a constant in it is too large or has too many digits; write a shorter one", "LW340")
    return constant
