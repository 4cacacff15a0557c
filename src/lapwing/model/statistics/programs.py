"""Compile the syntax tree of a statistic against a schema, into postfix steps on codes."""

import ast
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final, cast

from lapwing.errors import ParameterError, SchemaError
from lapwing.kernel.questions.linear_statistics.programs import LIMIT, MOST_LISTED, MOST_STEPS, ONE, Step
from lapwing.model.statistics.comparisons import equal_ends, line, missing_ends, ordered_ends, plain
from lapwing.schema.fields import Field
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

_refused = partial(ParameterError, code="LW340")

_MOST_BITS: Final = 4096
"""Most bits of numerator and denominator of a constant that is computed."""

_LARGEST: Final = 2**1000
_TRUTHS: Final = (ast.BoolOp, ast.Compare)
_LISTS: Final = (ast.Tuple, ast.List, ast.Set)
_ORDERS: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_MIRRORED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
_COMPARED: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "less",
    ast.LtE: "at_most",
    ast.Gt: "less",
    ast.GtE: "at_most",
    ast.Eq: "equal",
    ast.NotEq: "differs",
}

Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """The numbers of a column, multiplied by and then added to exact constants."""

    field: Field
    scale: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)


_Number = Fraction | _Column | Steps
"""A constant, a column, or the steps that leave a number."""


def program_of(tree: ast.expr, schema: Schema) -> Steps:
    """Return the program of a statistic.

    >>> schema = Schema(fields=(Field(name="age", type="integer", minimum=0, maximum=99),))
    >>> program_of(ast.parse("not age < 65", mode="eval").body, schema)
    (('in', 'age', (0, 65)), ('not',))
    """
    return _truth(tree, schema) if _is_truth(tree, schema) else _steps(_number(tree, schema))


def _is_truth(node: ast.expr, schema: Schema) -> bool:
    """Tell whether a part says that something holds."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Name):
        return _field(node, schema).type == "boolean"
    return isinstance(node, _TRUTHS)


def _field(node: ast.Name, schema: Schema) -> Field:
    """Return the modelled field of a name."""
    try:
        field = schema.field(node.id)
    except SchemaError as error:
        message = str(error)
    else:
        if field.identifier:
            raise _refused(f"column {quote(field.name)} is an identifier, which is not modelled; name another")
        return field
    raise _refused(message)


# --------------------------------------------------------------------------------------------------------- truths


def _truth(node: ast.expr, schema: Schema) -> Steps:
    """Return the steps that leave a truth."""
    if not _is_truth(node, schema):
        raise _refused("and, or and not take comparisons and true-or-false columns; compare its numbers")
    if isinstance(node, ast.UnaryOp):
        return (*_truth(node.operand, schema), ("not",))
    if isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        return _joined([_truth(each, schema) for each in node.values], word)
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        pairs = zip(sides, node.ops, sides[1:], strict=False)
        return _joined([_comparison(left, type(op), right, schema) for left, op, right in pairs], "and")
    field = _field(cast("ast.Name", node), schema)
    return (("in", field.name, (1, 2)),)


def _joined(parts: list[Steps], word: str) -> Steps:
    """Return the steps of parts, joined from the first to the last by a word."""
    found = parts[0]
    for each in parts[1:]:
        found = (*found, *each, (word,))
        # The middle of a chained comparison is written twice: nested ones would double at every level.
        if len(found) > MOST_STEPS:
            raise _refused(f"it takes more than {MOST_STEPS} steps; write it shorter, or as several")
    return found


def _comparison(left: ast.expr, order: type[ast.cmpop], right: ast.expr, schema: Schema) -> Steps:
    """Return the steps of one comparison: on codes where a column meets constants, else of numbers."""
    if isinstance(right, _LISTS) or order in (ast.Is, ast.IsNot):
        return _membership(left, order, right, schema)
    if isinstance(right, ast.Name) and _constant(left, schema) is not None:
        left, order, right = right, _MIRRORED.get(order, order), left
    constant = _constant(right, schema)
    if isinstance(left, ast.Name) and constant is not None:
        field = _field(left, schema)
        if order in _ORDERS:
            return (("in", field.name, ordered_ends(field, order, constant)),)
        return (("in", field.name, equal_ends(field, plain(constant), order is ast.NotEq)),)
    if order in (ast.Gt, ast.GtE):
        left, right = right, left
    return (*_steps(_number(left, schema)), *_steps(_number(right, schema)), (_COMPARED[order],))


def _membership(left: ast.expr, order: type[ast.cmpop], right: ast.expr, schema: Schema) -> Steps:
    """Return the step of ``in`` and ``is``."""
    if not isinstance(left, ast.Name):
        raise _refused("in and is stand after the name of a column; compare other numbers with == and <")
    field = _field(left, schema)
    if order in (ast.Is, ast.IsNot):
        if not (isinstance(right, ast.Constant) and right.value is None):
            raise _refused("is takes None, for missing; compare values with ==")
        return (("in", field.name, missing_ends(field, order is ast.IsNot)),)
    constants = [_constant(each, schema) for each in cast("ast.Tuple", right).elts]
    if not constants or any(each is None for each in constants):
        raise _refused(f"{quote(field.name)} in [...] takes one constant or more; ask for missing with is None")
    return (("in", field.name, equal_ends(field, [plain(each) for each in constants], order is ast.NotIn)),)


def _constant(node: ast.expr, schema: Schema) -> Fraction | str | bool | None:
    """Return the value of a part that names no column; None where it names one, or is None itself."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | bool)):
        return node.value
    if _reads_column(node) or isinstance(node, (*_TRUTHS, *_LISTS)):
        return None
    found = _number(node, schema)
    return found if isinstance(found, Fraction) else None


def _reads_column(node: ast.AST) -> bool:
    """Tell whether a part names a column."""
    parts = node.args if isinstance(node, ast.Call) else list(ast.iter_child_nodes(node))
    return isinstance(node, ast.Name) or any(map(_reads_column, parts))


# -------------------------------------------------------------------------------------------------------- numbers


def _number(node: ast.expr, schema: Schema) -> _Number:
    """Return what a part is as a number."""
    if isinstance(node, ast.Constant):
        return _literal(node)
    if isinstance(node, ast.Name):
        field = _field(node, schema)
        if field.type not in ("boolean", "integer", "number"):
            raise _refused(
                f"column {quote(field.name)} holds {field.type} values, no numbers; compare it with a constant"
            )
        return _Column(field)
    if isinstance(node, _LISTS):
        raise _refused("a list stands after in only; write column in ('a', 'b')")
    if _is_truth(node, schema):
        return (*_truth(node, schema), ("indicator",))
    if isinstance(node, ast.UnaryOp):
        found = _number(node.operand, schema)
        return found if isinstance(node.op, ast.UAdd) else _times(found, Fraction(-1))
    if isinstance(node, ast.Call):
        return _called(node, schema)
    return _combined(cast("ast.BinOp", node), schema)


def _literal(node: ast.Constant) -> Fraction:
    """Return a constant as the fraction that it reads as: 0.1 is a tenth."""
    if node.value is None:
        raise _refused("None means missing; ask for it with is None")
    if isinstance(node.value, bool | str):
        kind = "a text" if isinstance(node.value, str) else "a truth"
        raise _refused(f"{quote(node.value)} is {kind}, where a number is needed; compare it with one column")
    return Fraction(str(node.value))


def _combined(node: ast.BinOp, schema: Schema) -> _Number:
    """Return a sum, difference, product or quotient."""
    left, right = _number(node.left, schema), _number(node.right, schema)
    if isinstance(node.op, ast.Sub) and (isinstance(left, Fraction) or isinstance(right, Fraction)):
        return _plus(left, _times(right, Fraction(-1)))
    if isinstance(node.op, ast.Sub):
        return (*_steps(left), *_steps(right), ("subtract",))
    if isinstance(node.op, ast.Add):
        return _plus(left, right)
    if isinstance(node.op, ast.Div):
        if not isinstance(right, Fraction) or right == 0:
            raise _refused("numbers are divided by constants other than 0 only; use lw.row_function for others")
        return _times(left, 1 / right)
    if isinstance(right, Fraction):
        return _times(left, right)
    if isinstance(left, Fraction):
        return _times(right, left)
    return (*_steps(left), *_steps(right), ("multiply",))


def _called(node: ast.Call, schema: Schema) -> _Number:
    """Return an absolute value, or the smallest or largest of numbers."""
    name = cast("ast.Name", node.func).id
    if (name == "abs") != (len(node.args) == 1) or not node.args:
        raise _refused("abs takes one number, min and max two or more; write them as in min(a, b)")
    found = [_number(each, schema) for each in node.args]
    constants = [each for each in found if isinstance(each, Fraction)]
    if len(constants) == len(found):
        folded = {"abs": abs(constants[0]), "min": min(constants), "max": max(constants)}
        return folded[name]
    if name == "abs":
        return (*_steps(found[0]), ("absolute",))
    return _joined(list(map(_steps, found)), "minimum" if name == "min" else "maximum")


def _plus(left: _Number, right: _Number) -> _Number:
    """Return a sum; exactly where one of them is a constant."""
    if isinstance(left, Fraction):
        left, right = right, left
    if isinstance(right, Fraction):
        if isinstance(left, Fraction):
            return _small(left + right)
        if isinstance(left, _Column):
            return replace(left, shift=_small(left.shift + right))
    return (*_steps(left), *_steps(right), ("add",))


def _times(number: _Number, factor: Fraction) -> _Number:
    """Return a multiple by a constant."""
    if isinstance(number, Fraction):
        return _small(number * factor)
    if isinstance(number, _Column):
        return replace(number, scale=_small(number.scale * factor), shift=_small(number.shift * factor))
    if factor == -1:
        return (*number, ("negate",))
    return (*number, ("scale", factor.numerator, factor.denominator))


def _small(constant: Fraction) -> Fraction:
    """Refuse constants that no column comes near, before their arithmetic takes time."""
    bits = max(constant.numerator.bit_length(), constant.denominator.bit_length())
    if bits > _MOST_BITS or abs(constant) > _LARGEST:
        raise _refused("a constant in it is too large or has too many digits; write a shorter one")
    return constant


# ---------------------------------------------------------------------------------------------- numbers as steps


def _steps(number: _Number) -> Steps:
    """Return the steps that leave a number."""
    if isinstance(number, Fraction):
        return (("constant", _nearest(number * ONE)),)
    if not isinstance(number, _Column):
        return number
    field = number.field
    if not field.is_categorical:
        return (("number", field.name, field.domain.values, *_on_codes(number)),)
    listed = (
        (Fraction(0), Fraction(1)) if field.categories is None else [Fraction(str(each)) for each in field.categories]
    )
    numbers = tuple(_nearest((number.scale * each + number.shift) * ONE) for each in listed)
    if len(numbers) > MOST_LISTED:
        raise _refused(
            f"column {quote(field.name)} lists more than {MOST_LISTED} numbers; declare minimum and maximum instead"
        )
    return (("lookup", field.name, numbers),)


def _on_codes(number: _Column) -> tuple[int, int, int]:
    """Return start, step and divisor that give a column's number from its code, rounded to the nearest ``2**-16``."""
    values = number.field.domain.values
    origin, unit = line(number.field)
    start = (number.scale * origin + number.shift) * ONE + Fraction(1, 2)
    slope = number.scale * unit * ONE
    divisor, reach = math.lcm(start.denominator, slope.denominator), abs(start) + abs(slope) * values
    if divisor > LIMIT or divisor * reach > LIMIT:
        # As exact as 62 bits allow: within four cells of a number without resolution.
        bits = int(LIMIT / (2 * reach)).bit_length() - 1
        if bits < 0:
            raise _refused(
                f"the numbers of column {quote(number.field.name)} go beyond 2**44; divide it by a constant first"
            )
        divisor = 1 << min(bits, 61)
    return _nearest(start * divisor), _nearest(slope * divisor), divisor


def _nearest(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))
