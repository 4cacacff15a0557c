"""Rules on codes and their search, beside rows of all codes looked at one by one."""

import json
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lapwing.errors import SchemaError
from lapwing.schema.rules.codes import DependencyRule, ExactSum, OrderPair, components
from lapwing.schema.rules.narrowing import narrow_domains
from lapwing.schema.rules.search import complete_row
from lapwing.schema.schemas import Schema

# Tiny domains of every sort: with and without missing, special values, steps, lists in and out of order.
FIELDS: dict[str, dict[str, Any]] = {
    "a": {"type": "integer", "constraints": {"minimum": 0, "maximum": 4, "required": True}},
    "b": {"type": "integer", "constraints": {"minimum": 1, "maximum": 7}, "resolution": 2, "special": [-1]},
    "c": {"type": "number", "constraints": {"minimum": -0.5, "maximum": 1, "required": True}, "resolution": 0.5},
    "d": {"type": "integer", "categories": [3, 0, 8], "constraints": {"required": True}},
    "s": {"type": "string", "categories": ["x", "y", "z"]},
    "t": {"type": "string", "categories": ["x", "y"], "constraints": {"required": True}},
    "o": {"type": "string", "categories": ["low", "mid", "high"], "categoriesOrdered": True},
    "p": {
        "type": "string",
        "categories": ["low", "mid", "high"],
        "categoriesOrdered": True,
        "constraints": {"required": True},
    },
}
REGULAR: dict[str, list[Any]] = {
    "a": [0, 1, 2, 3, 4],
    "b": [1, 3, 5, 7],
    "c": [-0.5, 0.0, 0.5, 1.0],
    "d": [3, 0, 8],
    "s": ["x", "y", "z"],
    "t": ["x", "y"],
    "o": ["low", "mid", "high"],
    "p": ["low", "mid", "high"],
}
NUMBERS, TEXTS, ORDERED = ("a", "b", "c", "d"), ("s", "t"), ("o", "p")
MOST_ROWS = 2_000
SPECIAL = {"b": [-1]}


def values_of(name: str) -> list[Any]:
    """Return what a row may show in a column, in the order of codes."""
    missing = [] if FIELDS[name].get("constraints", {}).get("required") else [None]
    return [*REGULAR[name], *SPECIAL.get(name, []), *missing]


# ------------------------------------------------------------------------------------------------ the naive twin


def is_kept(rule: dict[str, Any], row: dict[str, Any]) -> bool:
    """Return whether one row of values keeps a rule that is not about rows together, read off the file format."""
    if "order" in rule:
        return all(
            is_ordered(rule, row, low, high) for low, high in zip(rule["order"], rule["order"][1:], strict=False)
        )
    if "sum" in rule:
        names = [*rule["sum"], rule["equals"]]
        if not all(row[name] in REGULAR[name] for name in names):
            return True
        return sum(times * row[name] for name, times in rule["sum"].items()) == row[rule["equals"]]
    if "when" in rule:
        return not matches(rule["when"], row) or matches(rule["then"], row)
    if "never" in rule:
        return not matches(rule["never"], row)
    if "allowed" in rule:
        return any(matches(dict(zip(rule["allowed"], each, strict=True)), row) for each in rule["rows"])
    names = [*rule["determines"], rule["column"]]
    for *causes, effect in rule.get("values", []):
        if [row[name] for name in names[:-1]] == causes:
            return bool(row[names[-1]] == effect)
    return True


def is_ordered(rule: dict[str, Any], row: dict[str, Any], low: str, high: str) -> bool:
    """Return whether one value is at most the other, if both are regular."""
    if row[low] not in REGULAR[low] or row[high] not in REGULAR[high]:
        return True
    keys = [(REGULAR[name].index(row[name]) if name in ORDERED else row[name]) for name in (low, high)]
    return bool(keys[0] < keys[1]) if rule.get("strict") else bool(keys[0] <= keys[1])


def matches(conditions: dict[str, Any], row: dict[str, Any]) -> bool:
    """Return whether one row meets all conditions."""
    return all(meets(name, wanted, row[name]) for name, wanted in conditions.items())


def meets(name: str, wanted: Any, value: Any) -> bool:
    if isinstance(wanted, list):
        return any(meets(name, each, value) for each in wanted)
    if not isinstance(wanted, dict):
        return bool(value == wanted)
    if value not in REGULAR[name]:
        return False
    keys = {key: REGULAR[name].index(end) if name in ORDERED else end for key, end in wanted.items()}
    place = REGULAR[name].index(value) if name in ORDERED else value
    return bool(keys.get("minimum", place) <= place <= keys.get("maximum", place))


def rows_of(names: list[str]) -> Iterator[tuple[dict[str, int], dict[str, Any]]]:
    """Return every row of some columns, as codes and as values."""
    for codes in product(*(range(len(values_of(name))) for name in names)):
        yield (
            dict(zip(names, codes, strict=True)),
            {name: values_of(name)[code] for name, code in zip(names, codes, strict=True)},
        )


# --------------------------------------------------------------------------------------------------- random rules


def conditions(name: str) -> st.SearchStrategy[Any]:
    """Return conditions on one column."""
    one = st.sampled_from(values_of(name))
    if name in TEXTS:
        return st.one_of(one, st.lists(one, min_size=1, max_size=2))
    ends = st.tuples(*(st.sampled_from(REGULAR[name]) for _ in range(2)))
    key = REGULAR[name].index if name in ORDERED else float
    ranges = ends.map(lambda pair: dict(zip(("minimum", "maximum"), sorted(pair, key=key), strict=True)))
    if name == "d":  # a list without an order has no ranges
        return st.one_of(one, st.lists(one, min_size=1, max_size=2))
    half = st.tuples(st.sampled_from(["minimum", "maximum"]), st.sampled_from(REGULAR[name])).map(
        lambda end: dict([end])
    )
    return st.one_of(one, ranges, half, st.lists(st.one_of(one, ranges), min_size=1, max_size=2))


def several(names: tuple[str, ...], least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), min_size=least, max_size=most, unique=True)


ALL = tuple(FIELDS)


@st.composite
def one_rule(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["order", "sum", "values", "when", "never", "allowed"]))
    if kind == "order":
        names = draw(st.one_of(several(NUMBERS, 2, 3), several(ORDERED, 2, 2)))
        return {"order": names, "strict": draw(st.booleans())}
    if kind == "sum":
        *terms, equals = draw(several(NUMBERS, 2, 3))
        return {"sum": {name: draw(st.sampled_from([-2, -1, 1, 3])) for name in terms}, "equals": equals}
    names = draw(several(ALL, 2, 3))
    if kind == "when":
        split = draw(st.integers(1, len(names) - 1))
        return {
            "when": {name: draw(conditions(name)) for name in names[:split]},
            "then": {name: draw(conditions(name)) for name in names[split:]},
        }
    if kind == "never":
        return {"never": {name: draw(conditions(name)) for name in names}}
    if kind == "allowed":
        rows = st.lists(st.tuples(*map(conditions, names)).map(list), min_size=1, max_size=4)
        return {"allowed": names, "rows": draw(rows)}
    causes = st.tuples(*(st.sampled_from(values_of(name)) for name in names[:-1]))
    listed = draw(st.lists(causes, min_size=1, max_size=3, unique=True))
    rows = [[*cause, draw(st.sampled_from(values_of(names[-1])))] for cause in listed]
    return {"determines": names[:-1], "column": names[-1], "values": rows}


RULES = st.lists(one_rule(), min_size=1, max_size=4)


def named(rules: list[dict[str, Any]]) -> list[str]:
    """Return the columns of rules."""
    found: list[str] = []
    for rule in rules:
        for key in ("order", "sum", "determines", "allowed", "when", "then", "never"):
            found.extend(rule.get(key, []))
        found.extend(rule[key] for key in ("equals", "column") if key in rule)
    names = list(dict.fromkeys(found))
    assume(prod(len(values_of(name)) for name in names) <= MOST_ROWS)
    return names


def schema_of(rules: list[dict[str, Any]], **changes: Any) -> Schema:
    fields = [{"name": name, **FIELDS[name]} for name in ALL]
    return Schema.from_dict({"fields": fields, "rules": rules, **changes})


def drafted(rules: list[dict[str, Any]]) -> Any:
    """Return the rules of a schema on codes; None where they contradict each other."""
    try:
        return schema_of(rules).coded_rules
    except SchemaError as error:
        if "no row of the declared values" not in str(error):
            raise
        return None


# ---------------------------------------------------------------------------------------------------------- tests


@settings(max_examples=100, deadline=None)
@given(rule=one_rule())
def test_a_row_breaks_a_rule_exactly_where_the_file_format_says_so(rule: dict[str, Any]) -> None:
    names = named([rule])
    rows = list(rows_of(names))
    kept = np.array([is_kept(rule, values) for _, values in rows])

    found = drafted([rule])

    assert (found is None) == (not kept.any())
    if found is not None:
        codes = {name: np.array([each[name] for each, _ in rows]) for name in names}
        broken = np.logical_or.reduce([each.broken(codes) for each in found])
        assert (broken == ~kept).all()


@settings(max_examples=50, deadline=None)
@given(rules=RULES, data=st.data())
def test_a_search_finds_a_row_exactly_where_there_is_one(rules: list[dict[str, Any]], data: st.DataObject) -> None:
    found = drafted(rules)
    if found is None:
        assert not any(all(is_kept(rule, values) for rule in rules) for _, values in rows_of(named(rules)))
        return
    schema = schema_of(rules)
    for component in components(found):
        fixed = {}
        for name in component:
            size = len(values_of(name))
            codes = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=size, unique=True).map(sorted))
            if data.draw(st.booleans()):
                fixed[name] = np.array([[code, code + 1] for code in codes])
        own = [rule for rule in rules if set(named([rule])) <= set(component)]
        rows = [
            codes
            for codes, values in rows_of(list(component))
            if all((codes[name] == runs[:, 0]).any() for name, runs in fixed.items())
            and all(is_kept(rule, values) for rule in own)
        ]

        row = complete_row(schema, fixed, component)

        assert (row is None) == (not rows)
        assert row is None or row in rows


@settings(max_examples=40, deadline=None)
@given(rules=RULES)
def test_narrowing_loses_no_row_that_keeps_the_rules(rules: list[dict[str, Any]]) -> None:
    found = drafted(rules)
    if found is None:
        return
    names = named(rules)
    rows = [codes for codes, values in rows_of(names) if all(is_kept(rule, values) for rule in rules)]

    domains = narrow_domains(found, {name: np.array([[0, len(values_of(name))]]) for name in names})

    assert domains is not None
    for row in rows:
        assert all(((runs[:, 0] <= row[name]) & (row[name] < runs[:, 1])).any() for name, runs in domains.items())


@settings(max_examples=100, deadline=None)
@given(rule=one_rule(), data=st.data())
def test_what_a_box_of_codes_may_hold_is_never_called_impossible(rule: dict[str, Any], data: st.DataObject) -> None:
    compared = [each for each in drafted([rule]) or () if isinstance(each, OrderPair | ExactSum)]
    for each in compared:
        boxes = {}
        for name in each.columns:
            ends = st.integers(0, len(values_of(name)))
            boxes[name] = [np.array(data.draw(st.lists(ends, min_size=5, max_size=5))) for _ in range(2)]
        found = each.possible({name: (starts, stops) for name, (starts, stops) in boxes.items()})

        for place in range(5):
            ranges = [range(boxes[name][0][place], boxes[name][1][place]) for name in each.columns]
            rows = list(product(*ranges))
            codes = {name: np.array([row[at] for row in rows]) for at, name in enumerate(each.columns)}
            exists = bool(rows) and bool((~each.broken(codes)).any())
            assert found[place] >= exists
            if isinstance(each, OrderPair):
                assert found[place] == exists


@settings(max_examples=60, deadline=None)
@given(
    causes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30),
    data=st.data(),
)
def test_of_each_determinant_the_commonest_value_is_right(causes: list[tuple[int, int]], data: st.DataObject) -> None:
    effects = data.draw(st.lists(st.integers(0, 3), min_size=len(causes), max_size=len(causes)))
    rule = schema_of([{"determines": ["s", "t"], "column": "p"}]).coded_rules[0]
    assert isinstance(rule, DependencyRule)
    codes = {"s": np.array(causes)[:, 0], "t": np.array(causes)[:, 1], "p": np.array(effects)}

    broken = rule.broken(codes)

    # Misfits, the last codes of "t" and "p", are right whatever they stand beside, and count for nothing.
    rows = [(cause, effect) for cause, effect in zip(causes, effects, strict=True) if cause[1] < 2 and effect < 3]
    for cause, effect, is_broken in zip(causes, effects, broken, strict=True):
        if (cause, effect) not in rows:
            assert not is_broken
            continue
        counts = {value: rows.count((cause, value)) for value in range(3)}
        assert is_broken == (effect != max(counts, key=lambda value: (counts[value], -value)))


@settings(max_examples=40, deadline=None)
@given(rules=st.lists(one_rule(), min_size=2, max_size=4))
def test_the_rules_that_are_named_contradict_each_other_and_hang_together(rules: list[dict[str, Any]]) -> None:
    if drafted(rules) is not None:
        return
    with pytest.raises(SchemaError) as error:
        schema_of(rules)
    message = str(error.value)
    told = [number for number, rule in enumerate(rules, 1) if f"{number} (" in message]
    kept = [rules[number - 1] for number in told]

    assert drafted(kept) is None
    for place, rule in enumerate(kept):
        others = json.dumps(kept[:place] + kept[place + 1 :])
        assert len(kept) == 1 or any(f'"{name}"' in others for name in "abcdopst" if f'"{name}"' in json.dumps(rule))
