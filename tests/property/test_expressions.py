"""One language of conditions and statistics: its forms agree with plain Python, on rows of random small tables.

A text is drawn together with a function of a row, built side by side: the twin has no parser and no codes.
"""

import json
import operator
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.programs import values_of
from lapwing.kernel.questions.linear_statistics.question import Statistic
from lapwing.model.statistics.expressions import asked_codes, compile_statistic, condition_of, read_conditions
from lapwing.rows.out.decode import records
from lapwing.schema.conditions import Between
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

Row = dict[str, Any]
RANDOM = st.randoms(use_true_random=False)
MOST_ROWS = 150
NUMERIC = ("integer", "number", "boolean")
LISTS = {"number": (4, 0, 2, -1.5), "integer": (3, 1, 2), "string": ("a", "b", "c")}
DAYS = (
    {"type": "date", "minimum": "2019-12-30", "maximum": "2020-04-02", "resolution": "month"},
    {"type": "date", "minimum": "2020-02-28", "maximum": "2020-03-01"},
    {"type": "datetime", "minimum": "2020-02-28", "maximum": "2020-02-28T05:00:00", "resolution": "hour"},
)


def some_field(rng: Random, name: str) -> Field:
    """Return a small field, whose numbers are multiples of a quarter."""
    common: dict[str, Any] = {"name": name, "required": rng.random() < 0.5}
    kind = rng.choice(["boolean", "steps", "tens", "quarters", "list", "days"])
    low, size = rng.randint(-3, 1), rng.randint(2, 5)
    if kind == "boolean":
        return Field(type="boolean", **common)
    if kind == "list":
        of = rng.choice(sorted(LISTS))
        listed = tuple(rng.sample(LISTS[of], 3))
        return Field(type=of, categories=listed, ordered=rng.random() < 0.5, **common)
    if kind == "days":
        return Field(**rng.choice(DAYS), special=rng.choice([(), ("1900-01-01",)]), **common)
    common["special"] = rng.choice([(), (-9,)])
    if kind == "quarters":
        return Field(type="number", minimum=low / 4, maximum=(low + size) / 4, resolution=0.25, **common)
    step = 1 if kind == "steps" else 3
    return Field(type="integer", minimum=low, maximum=low + step * size + step // 2, resolution=step, **common)


class Table(NamedTuple):
    """A schema, rows as codes and as they are shown, and what regular codes of each column show, by value."""

    schema: Schema
    codes: dict[str, np.ndarray]
    rows: list[Row]
    regular: dict[str, list[Any]]


def some_table(rng: Random) -> Table:
    fields = tuple(some_field(rng, name) for name in ("k", "odd name", "c"))
    schema = Schema(fields=fields)
    every = np.array(list(product(*(range(field.domain.size) for field in fields))), dtype=np.int64)
    every = every[:: -(-len(every) // MOST_ROWS)]
    codes = {field.name: every[:, place] for place, field in enumerate(fields)}
    regular = {}
    for field in fields:
        alone = shown_rows({field.name: np.arange(field.domain.values)}, Schema(fields=(field,)))
        regular[field.name] = sorted((row[field.name] for row in alone), key=partial(key, field))
    return Table(schema, codes, shown_rows(codes, schema), regular)


def shown_rows(codes: dict[str, np.ndarray], schema: Schema) -> list[Row]:
    return [
        {name: value.isoformat() if isinstance(value, date) else value for name, value in row.items()}
        for row in records(codes, schema)
    ]


def specials(field: Field) -> list[Any]:
    """Return special values as rows show them."""
    return [f"{value}T00:00:00" if field.type == "datetime" else value for value in field.special]


def key(field: Field, value: Any) -> Any:
    """Return what the values of a column are ordered by."""
    if field.type == "string":
        return field.categories.index(value)
    return value if isinstance(value, str) else Fraction(value)


# --------------------------------------------------------------------------------------- conditions on one column


class Asked(NamedTuple):
    """One item that a column may be, in every form."""

    item: Any
    rule: Any
    typed: str
    text: str
    holds: Callable[[Any], bool]


def some_item(rng: Random, table: Table, field: Field) -> Asked:
    """Return missing, a value or a range."""
    name, regular = f"`{field.name}`", table.regular[field.name]
    # Numbers of a list are a range by their place, but in an order by their value.
    has_ranges = field.domain.ordered and field.type != "boolean" and (not field.categories or field.type == "string")
    kind = rng.choice(["value", *["range"] * has_ranges, *["missing"] * (not field.required)])
    if kind == "missing":
        return Asked(None, None, "", f"{name} is None", lambda value: value is None)
    if kind == "value":
        wanted = rng.choice([*regular, *specials(field)])
        typed = str(wanted).lower() if isinstance(wanted, bool) else str(wanted)
        return Asked(wanted, wanted, typed, f"{name} == {wanted!r}", lambda value: value == wanted)
    low, high = sorted(rng.choices(regular, k=2), key=partial(key, field))
    ends = rng.choice([(low, high), (None, high), (low, None)])
    texts = [f"{name} {order} {end!r}" for order, end in zip((">=", "<="), ends, strict=True) if end is not None]

    def holds(value: Any) -> bool:
        if value not in regular:
            return False
        own, (first, last) = key(field, value), ends
        return (first is None or key(field, first) <= own) and (last is None or own <= key(field, last))

    rule = {end: value for end, value in zip(("minimum", "maximum"), ends, strict=True) if value is not None}
    typed = "..".join("" if end is None else str(end) for end in ends)
    return Asked(Between(*ends), rule, typed, f"({' and '.join(texts)})", holds)


@settings(max_examples=100)
@given(RANDOM)
def test_a_mapping_typed_texts_an_expression_and_a_rule_mean_what_plain_python_does(rng):
    table = some_table(rng)
    fields = rng.sample(table.schema.columns, rng.randint(1, 3))
    asked = {field.name: [some_item(rng, table, field) for _ in range(rng.randint(1, 3))] for field in fields}
    expected = [all(any(each.holds(row[name]) for each in own) for name, own in asked.items()) for row in table.rows]

    where = {name: [each.item for each in own] for name, own in asked.items()}
    typed = [f"{name}={','.join(each.typed for each in own)}" for name, own in asked.items()]
    text = " and ".join(f"({' or '.join(each.text for each in own)})" for own in asked.values())
    never = {"never": {name: [each.rule for each in own] for name, own in asked.items()}}

    for mapping in (where, read_conditions(typed, table.schema), text):
        runs = asked_codes(mapping, table.schema)
        found = [np.searchsorted(own.ravel(), table.codes[name], side="right") % 2 for name, own in runs.items()]
        assert np.minimum.reduce(found).tolist() == expected
    for form in (where, text, *(typed if len(typed) == 1 else ())):
        assert condition_of(form, table.schema).values(table.codes).tolist() == expected
    if not is_everything(asked, table):  # a rule that leaves no row is refused with its schema
        (coded,) = Schema(fields=table.schema.fields, rules=[never]).coded_rules
        assert coded.broken(table.codes).tolist() == expected


def is_everything(asked: dict[str, list[Asked]], table: Table) -> bool:
    """Return whether every row that fits meets what is asked."""
    for name, own in asked.items():
        field = table.schema.field(name)
        values = [*table.regular[name], *specials(field), *([] if field.required else [None])]
        if not all(any(each.holds(value) for each in own) for value in values):
            return False
    return True


# ------------------------------------------------------------------------------------------------ whole expressions


class Part(NamedTuple):
    """A part of an expression, and what it is in a row: True or False; or a number, None where it is unknown."""

    text: str
    of: Callable[[Row], Any]


ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
COMPARED = {**ORDERS, "==": operator.eq, "!=": operator.ne}
OF_NUMBERS: dict[str, Callable[..., Any]] = {
    "({} + {})": operator.add,
    "({} - {})": operator.sub,
    "({} * {})": operator.mul,
    "({} / 4)": lambda number: number / 4,
    "({} / (-1 - 1))": lambda number: number / -2,
    "min({}, {})": min,
    "max({}, {}, 1)": lambda one, other: max(one, other, 1),
    "abs({})": abs,
    "-({})": operator.neg,
    "+({})": operator.pos,
}
OF_TRUTHS: dict[str, Callable[..., Any]] = {
    "({}) and ({})": lambda one, other: one and other,
    "({}) or ({})": lambda one, other: one or other,
    "not ({})": operator.not_,
}


def joined(form: str, function: Callable[..., Any], parts: list[Part], unknown: Any = None) -> Part:
    """Return an operation; where one of its numbers is unknown, it is too, or a comparison is false."""

    def of(row: Row) -> Any:
        found = [part.of(row) for part in parts]
        return unknown if None in found else function(*found)

    return Part(form.format(*(part.text for part in parts)), of)


def some_number(rng: Random, table: Table, depth: int) -> Part:
    """Return a part that is a number, an exact multiple of 2**-16 down to a depth of 3."""
    if depth and rng.random() < 0.1:
        return joined("((not ({})) + 0)", lambda truth: Fraction(not truth), [some_truth(rng, table, depth - 1)])
    if depth and rng.random() < 0.7:
        form = rng.choice(sorted(OF_NUMBERS))
        parts = [some_number(rng, table, depth - 1) for _ in range(form.count("{}"))]
        return joined(form, OF_NUMBERS[form], parts)
    fields = [field for field in table.schema.columns if field.type in NUMERIC]
    if fields and rng.random() < 0.7:
        name = rng.choice(fields).name
        text = f"(`{name}` + 0)" if table.schema.field(name).type == "boolean" else f"`{name}`"
        return Part(text, lambda row: Fraction(row[name]) if row[name] in table.regular[name] else None)
    constant = rng.choice(["1", "-0.5", "3", "0.25"])
    return Part(constant, lambda _: Fraction(constant))


def some_truth(rng: Random, table: Table, depth: int) -> Part:
    """Return a part that holds or not."""
    if not depth or rng.random() < 0.3:
        return some_leaf(rng, table, rng.choice(table.schema.columns))
    if rng.random() < 0.4:
        order = rng.choice(sorted(COMPARED))
        sides = [some_number(rng, table, depth - 1) for _ in range(2)]
        return joined(f"(0 + {{}}) {order} (0 + {{}})", COMPARED[order], sides, unknown=False)
    form = rng.choice(sorted(OF_TRUTHS))
    return joined(form, OF_TRUTHS[form], [some_truth(rng, table, depth - 1) for _ in range(form.count("{}"))])


def some_leaf(rng: Random, table: Table, field: Field) -> Part:
    """Return a comparison of a column with constants, which is true for some value."""
    name, regular = field.name, table.regular[field.name]
    column, values = f"`{name}`", [*regular, *specials(field)]
    kinds = ["among", *["flag"] * (field.type == "boolean"), *["missing"] * (not field.required)]
    if field.type != "boolean" and (field.type != "string" or field.ordered):
        kinds.append("ordered")
    kind, is_negated = rng.choice(kinds), rng.random() < 0.5
    if kind == "flag":
        return Part(column, lambda row: row[name] is True)
    if kind == "missing":
        return Part(f"{column} is {'not ' * is_negated}None", lambda row: (row[name] is None) is not is_negated)
    if kind == "among":
        wanted = rng.sample(values, rng.randint(1, len(values) - 1))
        text = f"{column} {'not ' * is_negated}in {wanted}"
        if len(wanted) == 1:
            text = f"{column} {'!=' if is_negated else '=='} {wanted[0]!r}"
        return Part(text, lambda row: row[name] in values and (row[name] in wanted) is not is_negated)
    order = rng.choice(sorted(ORDERS))
    constant = rng.choice(regular[1:] if order == "<" else regular[:-1] if order == ">" else regular)
    text = f"{column} {order} {constant!r}"
    if rng.random() < 0.5:
        text = f"{constant!r} {order.translate(str.maketrans('<>', '><'))} {column}"

    def holds(row: Row) -> bool:
        return row[name] in regular and ORDERS[order](key(field, row[name]), key(field, constant))

    return Part(text, holds)


def compiled_or_refused(text: str, schema: Schema) -> tuple[Statistic, int]:
    """Compile, divided by a power of 2 where the number leaves [-1, 1]; pass by what is the same for every row."""
    divisor = 1
    while True:
        try:
            return compile_statistic(text if divisor == 1 else f"({text}) / {divisor}", schema), divisor
        except ParameterError as error:
            said = str(error)
        assume("divide it by" in said)
        divisor *= 2


def check(rng: Random) -> None:
    table = some_table(rng)
    part = rng.choice([some_truth, some_number])(rng, table, 3)
    statistic, divisor = compiled_or_refused(part.text, table.schema)

    values = values_of(statistic.program, table.codes)

    assert statistic.lower <= values.min()
    assert values.max() <= statistic.upper
    assert statistic.values(table.codes).tolist() == values.tolist()
    for found, row in zip(values.tolist(), table.rows, strict=True):
        expected = part.of(row)
        if statistic.bits:
            error = Fraction(found, 2**16) - (expected or Fraction(0)) / divisor
            assert abs(error) <= Fraction(1, 2**16), (part.text, row)  # a last division rounds once
        else:
            assert bool(found) is expected, (part.text, row)
    place = len(values) // 2
    alone = {name: codes[place : place + 1].astype(np.uint8) for name, codes in table.codes.items()}
    assert statistic.values(alone).tolist() == [values[place]]
    again = Statistic.from_dict(json.loads(json.dumps(statistic.to_dict())))
    assert (again, again.lower, again.upper) == (statistic, statistic.lower, statistic.upper)


@settings(max_examples=100)
@given(RANDOM)
def test_an_expression_computes_what_plain_python_does_within_its_bounds(rng):
    check(rng)


@pytest.mark.full
@settings(max_examples=3000)
@given(RANDOM)
def test_thousands_of_expressions_compute_what_plain_python_does(rng):
    check(rng)
