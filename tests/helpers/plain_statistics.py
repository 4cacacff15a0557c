"""Statistics as plain Python would evaluate their text, record by record: the slow twin of compiled programs.

The text itself is evaluated by Python. What a cell means where Python's own values would not do (missing, special,
real numbers in cells) is said here by small classes, anew and without codes.
"""

import ast
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.rows.cells import Numbers
from lapwing.rows.codec import encode
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

ONE = Fraction(1, 2**16)


class Unknown:
    """A missing cell, or a number that is computed from one: every comparison with it is false."""

    def __init__(self, is_missing: bool = False) -> None:
        self.is_missing = is_missing

    def __eq__(self, other: object) -> bool:
        return other is None and self.is_missing

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def _false(self, _: object) -> bool:
        return False

    def _unknown(self, *_: object) -> "Unknown":
        return Unknown()

    __lt__ = __le__ = __gt__ = __ge__ = _false
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _unknown
    __neg__ = __pos__ = __abs__ = _unknown


class Special(Unknown):
    """A special value: equal to itself, different from other values, in no order, and no number."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value

    def __eq__(self, other: object) -> bool:
        return not isinstance(other, Near | Unknown) and self.value == other

    def __ne__(self, other: object) -> bool:
        return not (other is None or isinstance(other, Near | Unknown)) and self.value != other

    __hash__ = None


@dataclass(frozen=True, eq=False)
class Near:
    """A number that is known up to an error; comparisons closer than that are refused."""

    value: Fraction
    error: Fraction = Fraction(0)

    def __add__(self, other: object) -> "Near | Unknown":
        if isinstance(other, Unknown):
            return other
        other = near(other)
        return Near(self.value + other.value, self.error + other.error)

    def __mul__(self, other: object) -> "Near | Unknown":
        if isinstance(other, Unknown):
            return other
        other = near(other)
        error = abs(self.value) * other.error + abs(other.value) * self.error + self.error * other.error
        # Constants fold into columns without rounding, or are a step that rounds: the twin allows for the rounding.
        return Near(self.value * other.value, error + ONE / 2)

    def __truediv__(self, other: object) -> "Near":
        other = near(other)
        return Near(self.value / other.value, self.error / abs(other.value) + ONE / 2)

    def __sub__(self, other: object) -> "Near | Unknown":
        return self + other * -1 if isinstance(other, Unknown) else self + Near(-near(other).value, near(other).error)

    def __rsub__(self, other: object) -> "Near":
        return -self + other

    def __neg__(self) -> "Near":
        return Near(-self.value, self.error)

    def __pos__(self) -> "Near":
        return self

    def __abs__(self) -> "Near":
        return Near(abs(self.value), self.error)

    __radd__, __rmul__ = __add__, __mul__

    def _difference(self, other: object) -> Fraction | None:
        if isinstance(other, Unknown) or other is None:
            return None
        gap, error = self.value - near(other).value, self.error + near(other).error
        if 0 < abs(gap) <= error or (gap == 0 and error > ONE):
            raise TooNear
        return gap

    def __lt__(self, other: object) -> bool:
        gap = self._difference(other)
        return gap is not None and gap < 0

    def __le__(self, other: object) -> bool:
        gap = self._difference(other)
        return gap is not None and gap <= 0

    def __gt__(self, other: object) -> bool:
        gap = self._difference(other)
        return gap is not None and gap > 0

    def __ge__(self, other: object) -> bool:
        gap = self._difference(other)
        return gap is not None and gap >= 0

    def __eq__(self, other: object) -> bool:
        gap = self._difference(other)
        return gap is not None and gap == 0

    def __ne__(self, other: object) -> bool:
        gap = self._difference(other)
        return gap is not None and gap != 0

    __hash__ = None


class TooNear(Exception):
    """Two numbers that are closer than their rounding."""


class Real(Near):
    """A number without resolution: numbers of one cell are equal, but zero and the bounds are themselves."""

    def __init__(self, value: float, field: Field) -> None:
        width = Fraction(field.maximum) - Fraction(field.minimum)
        super().__init__(Fraction(value), 4 * width / 2**32 + ONE / 2)
        object.__setattr__(self, "field", field)

    def _difference(self, other: object) -> Fraction | None:
        if isinstance(other, Near | Unknown) or other is None:
            return super()._difference(other)
        exact = [float(self.field.minimum), float(self.field.maximum), 0.0]
        mine, its = (int(encode(Numbers(np.array([float(x)])), self.field)[0]) for x in (self.value, other))
        if mine == its and self.value not in exact and self.field.minimum <= other <= self.field.maximum:
            return Fraction(0)
        return self.value - Fraction(other)


def near(value: object) -> "Near | Unknown":
    return value if isinstance(value, Near | Unknown) else Near(Fraction(value))


def cell(value: object, field: Field) -> object:
    """Return a decoded value as the twin computes with it."""
    if value is None:
        return Unknown(is_missing=not field.required)
    if isinstance(value, dt.date):
        value = value.isoformat()
    if value in field.special:
        return Special(Fraction(str(value)) if field.type in ("integer", "number") else value)
    if field.type == "number" and field.domain.continuous:
        return Real(value, field)
    return Near(Fraction(str(value)), ONE / 2) if type(value) in (int, float) else value


class _Exact(ast.NodeTransformer):
    """Read decimals as they are written, and `is None` as a comparison that a class can answer."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, float):
            return node
        return ast.parse(f"Fraction('{node.value!r}')", mode="eval").body

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        near_sides = [ast.Call(ast.Name("near", ast.Load()), [side], []) for side in (node.left, node.right)]
        return ast.BinOp(near_sides[0], node.op, near_sides[1])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        return ast.Call(ast.Name("bool", ast.Load()), [node], [])  # Python's own and gives one of its sides

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        node.ops = [{ast.Is: ast.Eq, ast.IsNot: ast.NotEq}.get(type(op), type(op))() for op in node.ops]
        if any(isinstance(op, ast.NotEq) and _is_none(it) for op, it in zip(node.ops, node.comparators, strict=True)):
            return ast.UnaryOp(ast.Not(), ast.Compare(node.left, [ast.Eq()], node.comparators))
        if any(isinstance(op, ast.NotIn) for op in node.ops):
            (values,) = node.comparators
            differ = [ast.Compare(node.left, [ast.NotEq()], [value]) for value in values.elts]
            return ast.BoolOp(ast.And(), [*differ, differ[0]])
        return node


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def plain_function(text: str, schema: Schema):
    """Return the function from a record to what Python makes of the text: True, False, Near or Unknown."""
    tree = ast.fix_missing_locations(_Exact().visit(ast.parse(text, mode="eval")))
    code = compile(tree, "twin", "eval")
    fields = {field.name: field for field in schema.columns}
    functions = {
        "Fraction": Fraction,
        "near": near,
        "min": lambda *xs: _extreme(min, xs),
        "max": lambda *xs: _extreme(max, xs),
    }

    def value(record: Mapping[str, object]) -> object:
        cells = {name: cell(each, fields[name]) for name, each in record.items()}
        return eval(code, functions, cells)

    return value


def _extreme(choose, numbers) -> "Near | Unknown":
    unknown = [each for each in numbers if isinstance(each, Unknown)]
    if unknown:
        return Unknown()
    close = [near(each) for each in numbers]
    return Near(choose(each.value for each in close), max(each.error for each in close))


def agrees(found: int, bits: int, expected: object) -> bool:
    """Tell whether a statistic's value is the twin's, up to the rounding that the twin has counted."""
    if isinstance(expected, bool | Unknown):
        return (bits == 0 or isinstance(expected, Unknown)) and found == bool(expected)
    number = near(expected)
    return bits == 16 and abs(found * ONE - number.value) <= number.error + ONE / 2
