"""Compile the tree of an expression against a schema, into the kernel's postfix steps on codes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from lapwing.errors import LapwingError
from lapwing.kernel.questions.linear_statistics.programs import LIMIT, MOST_STEPS, ONE, Step
from lapwing.maths.runs import without
from lapwing.model.statistics.trees import Among, Apply, Column, Node, small
from lapwing.schema.conditions import Asker, codes_of, modelled_field
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import CONTINUOUS_VALUES
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Scaled:
    """The numbers of a column, multiplied by and then added to exact constants."""

    field: Field
    scale: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)


_Number = Fraction | _Scaled | Steps
"""A constant, a column, or the steps that leave a number."""


def program_of(tree: Node, schema: Schema, asker: Asker) -> Steps:
    """Return the program of an expression.

    >>> from lapwing.model.statistics.trees import tree_of
    >>> schema = Schema(fields=(Field(name="age", type="integer", minimum=0, maximum=99),))
    >>> program_of(tree_of("not age < 65"), schema, Asker())
    (('in', 'age', (0, 65)), ('not',))
    """
    compiler = _Compiler(schema, asker)
    return compiler.truth(tree) if compiler.is_truth(tree) else compiler.steps(compiler.number(tree))


def is_truth(tree: Node, schema: Schema, asker: Asker) -> bool:
    """Tell whether an expression says that something holds."""
    return _Compiler(schema, asker).is_truth(tree)


@dataclass(frozen=True, slots=True)
class _Compiler:
    schema: Schema
    asker: Asker

    def is_truth(self, node: Node) -> bool:
        """Tell whether a part says that something holds."""
        if isinstance(node, Column):
            return modelled_field(self.schema, node.name, self.asker).type == "boolean"
        is_word = isinstance(node, Apply) and node.word in ("and", "or", "not", "less", "at_most", "equal", "differs")
        return is_word or isinstance(node, Among)

    def truth(self, node: Node) -> Steps:
        """Return the steps that leave a truth."""
        if not self.is_truth(node):
            raise self.refused("and, or and not take comparisons and true-or-false columns; compare its numbers")
        if isinstance(node, Column):
            return (("in", node.name, (1, 2)),)
        if isinstance(node, Among):
            return (("in", node.column, self._ends(node)),)
        assert isinstance(node, Apply)
        if node.word == "not":
            return (*self.truth(node.parts[0]), ("not",))
        if node.word in ("and", "or"):
            return self._joined(node.word, node.parts, self.truth)
        return self._joined(node.word, node.parts, lambda part: self.steps(self.number(part)))

    def _ends(self, node: Among) -> tuple[int, ...]:
        """Return where the runs of codes begin that a column must lie in, and the code after each of them."""
        field = modelled_field(self.schema, node.column, self.asker)
        runs = codes_of(field, node.items, self.asker)
        if node.is_negated:  # what is missing, or does not fit, differs from nothing
            runs = without(runs, field.domain.last)
        if not runs.size:
            raise self.asker.asked(field, "none of its values, of which there is no other; leave one out")
        return tuple(runs.reshape(-1).tolist())

    def _joined(self, word: str, parts: Sequence[Node], steps_of: Callable[[Node], Steps]) -> Steps:
        """Return the steps of parts, joined from the first to the last by a word."""
        found = steps_of(parts[0])
        for part in parts[1:]:
            found = (*found, *steps_of(part), (word,))
            # The middle of a chained comparison is written twice: nested ones would double at every level.
            if len(found) > MOST_STEPS:
                raise self.refused(f"it takes more than {MOST_STEPS} steps; write it shorter, or as several")
        return found

    def number(self, node: Node) -> _Number:
        """Return what a part is as a number."""
        if isinstance(node, Column):
            field = modelled_field(self.schema, node.name, self.asker)
            if field.type not in ("boolean", "integer", "number"):
                said = f"column {quote(field.name)} holds {field.type} values, no numbers; compare it with a constant"
                raise self.refused(said)
            return _Scaled(field)
        if self.is_truth(node):
            return (*self.truth(node), ("indicator",))
        if isinstance(node, Apply):
            return self._applied(node.word, node.parts)
        if isinstance(node, Fraction):
            return node
        if node is None:
            raise self.refused("None means missing; ask for it with is None")
        kind = "a text" if isinstance(node, str) else "a truth"
        raise self.refused(f"{quote(node)} is {kind}, where a number is needed; compare it with one column")

    def _applied(self, word: str, parts: tuple[Node, ...]) -> _Number:
        """Return the result of an operation on numbers, exactly where it is one of a column and constants."""
        if word in ("minimum", "maximum"):
            return self._joined(word, parts, lambda part: self.steps(self.number(part)))
        left, right = self.number(parts[0]), self.number(parts[-1])
        if word == "plus":
            return left
        if word == "absolute":
            return (*self.steps(left), ("absolute",))
        if word == "add":
            return self._plus(left, right)
        if word == "multiply" and isinstance(right, Fraction):
            return self._times(left, right)
        if word == "multiply" and isinstance(left, Fraction):
            return self._times(right, left)
        return (*self.steps(left), *self.steps(right), (word,))

    def _plus(self, left: _Number, right: _Number) -> _Number:
        """Return a sum; exactly where one of them is a constant."""
        if isinstance(left, Fraction):
            left, right = right, left
        if isinstance(left, _Scaled) and isinstance(right, Fraction):
            return replace(left, shift=small(left.shift + right, self.asker))
        return (*self.steps(left), *self.steps(right), ("add",))

    def _times(self, number: _Number, factor: Fraction) -> _Number:
        """Return a multiple by a constant."""
        if isinstance(number, Fraction):
            return small(number * factor, self.asker)
        if isinstance(number, _Scaled):
            scale, shift = (small(each * factor, self.asker) for each in (number.scale, number.shift))
            return replace(number, scale=scale, shift=shift)
        return (*number, ("negate",) if factor == -1 else ("scale", factor.numerator, factor.denominator))

    def steps(self, number: _Number) -> Steps:
        """Return the steps that leave a number."""
        if isinstance(number, Fraction):
            return (("constant", _nearest(number * ONE)),)
        if not isinstance(number, _Scaled):
            return number
        field = number.field
        if not field.is_categorical:
            return (("number", field.name, field.domain.values, *self._on_codes(number)),)
        listed = (0, 1) if field.categories is None else field.categories
        numbers = ((number.scale * Fraction(str(each)) + number.shift) * ONE for each in listed)
        return (("lookup", field.name, tuple(map(_nearest, numbers))),)

    def _on_codes(self, number: _Scaled) -> tuple[int, int, int]:
        """Return start, step and divisor that give a column's number from its code, rounded to nearest ``2**-16``."""
        values = number.field.domain.values
        origin, unit = _line(number.field)
        start = (number.scale * origin + number.shift) * ONE + Fraction(1, 2)
        slope = number.scale * unit * ONE
        divisor, reach = math.lcm(start.denominator, slope.denominator), abs(start) + abs(slope) * values
        if divisor > LIMIT or divisor * reach > LIMIT:
            # As exact as 62 bits allow: within four cells of a number without resolution.
            bits = int(LIMIT / (2 * reach)).bit_length() - 1
            if bits < 0:
                name = quote(number.field.name)
                raise self.refused(f"the numbers of column {name} go beyond 2**44; divide it by a constant first")
            divisor = 1 << min(bits, 61)
        return _nearest(start * divisor), _nearest(slope * divisor), divisor

    def refused(self, said: str) -> LapwingError:
        """Return the refusal of an expression."""
        return self.asker.refused(said, "LW340")


def _line(field: Field) -> tuple[Fraction, Fraction]:
    """Return the number of code 0 of a numeric field, and the distance to the next; of cells the middles."""
    found = field.range
    if found.step is not None:
        return Fraction(str(field.minimum)) if field.type == "number" else Fraction(found.lo), Fraction(found.step)
    cell = (Fraction(found.hi) - Fraction(found.lo)) / CONTINUOUS_VALUES
    return Fraction(found.lo) + cell / 2, cell


def _nearest(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))
