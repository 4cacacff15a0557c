"""Distances between tables: of columns, of pairs, of whole tables, and associations within one."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from lapwing.errors import CapacityError, LapwingError, ParameterError
from lapwing.extras.evaluate.metrics import columns, distances
from lapwing.extras.evaluate.metrics.associations import compare_associations
from lapwing.extras.evaluate.metrics.columns import (
    compare_columns,
    missing_given,
    pairs_given,
    pairs_together,
)
from lapwing.extras.evaluate.metrics.distances import (
    compare_bounded_lipschitz,
    compare_densities,
    compare_kernels,
    compare_wasserstein,
)
from lapwing.extras.evaluate.metrics.tables import public_tables as public_side
from lapwing.extras.evaluate.metrics.tables.public_tables import public_tables
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.table_distances.question import MOST_TABLES, TableDistances
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.cost_lines import CostLine, counted_lines
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema


def schema_of(*fields):
    return Schema.from_dict({"fields": list(fields)})


def numbers(columns):
    field = {"type": "integer", "constraints": {"minimum": 0, "maximum": 100, "required": True}}
    return schema_of(*({"name": f"c{place}", **field} for place in range(columns)))


def codes(rows):
    return {f"c{place}": cells for place, cells in enumerate(np.array(rows).T)}


def compared(real, other, schema, seed=0):
    """Return every figure of one other table by key."""
    others, rng = {"other": other}, np.random.default_rng(seed)
    found = [compare(real, others, schema, rng=rng) for compare in (compare_bounded_lipschitz, compare_densities)]
    found += compare_wasserstein(real, others, schema, rng=rng)
    return {each.metric.key: each for each in found if each is not None}


def test_large_tables_are_sampled_and_say_so(monkeypatch) -> None:
    monkeypatch.setattr(distances, "DENSITY_ROWS", 400)
    monkeypatch.setattr(distances, "SLICED_ROWS", 500)
    monkeypatch.setattr(distances, "ASSIGNED", 50)
    rng = np.random.default_rng(3)
    real, other = codes(rng.integers(0, 101, (3000, 2))), codes(rng.integers(0, 61, (3000, 2)))

    found = compared(real, other, numbers(2))

    assert {key: each.rows for key, each in found.items()} == {
        "bounded_lipschitz": 50,
        "kernel_density": 400,
        "wasserstein_linf": 50,
        "wasserstein_l2": 50,
        "wasserstein_sliced": 500,
    }
    assert all(each.values["other"].standard_error > 0 for each in found.values())


@pytest.mark.parametrize("is_other_small", [False, True])
def test_the_standard_error_of_densities_is_the_spread_over_samples(is_other_small: bool, monkeypatch) -> None:
    rng = np.random.default_rng(4)
    real, other = codes(rng.integers(0, 101, (20_000, 1))), codes(rng.integers(0, 61, (20_000, 1)))
    if is_other_small:
        other = {"c0": other["c0"][:300]}
    monkeypatch.setattr(distances, "DENSITY_ROWS", 400)

    found = [
        compare_densities(real, {"other": other}, numbers(1), rng=np.random.default_rng(seed)) for seed in range(150)
    ]

    estimates = [each.values["other"] for each in found]
    spread = np.std([each.value for each in estimates])
    assert np.mean([each.standard_error for each in estimates]) == pytest.approx(spread, rel=0.25)


def distance(fields, real, other, seed=1):
    """Return what two tables, a list of codes for each column, are found to be apart."""
    names = [field["name"] for field in fields]
    tables = [{name: np.array(codes) for name, codes in zip(names, table, strict=True)} for table in (real, other)]
    rng = np.random.default_rng(seed)
    return compare_kernels(tables[0], {"other": tables[1]}, Schema.from_dict({"fields": fields}), rng=rng)


SCHEMA = Schema.from_dict(
    {"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "string", "categories": ["x", "y"]}]}
)
DATA = pl.DataFrame({"a": ["true", "false", "?"] * 20, "b": ["x", "y", "x"] * 20})


def question(**changes):
    every = {
        "columns": ("a", "b"),
        "groupings": tuple(identity(column.domain) for column in SCHEMA.columns),
        "tables": ((0,), (0, 1)),
        "cells": (np.array([0, 2]), np.array([0, 5, 8])),
        "expected": (np.array([3, 0]), np.array([0, 9, 1])),
        "bits": 3,
        "cost": Budget.pure(2),
    }
    return TableDistances(**(every | changes))


def room(budget=Budget.pure(100)):  # noqa: B008 - a frozen value
    source = code_table(DATA, SCHEMA)
    return Room(source, SCHEMA, Terms(relation="add-remove"), budget, bits=SystemBits(), sink=NoTranscript())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"columns": ("a", "a")}, "distinct columns"),
        ({"groupings": (identity(Domain(2, 0, True, True, False)),)}, "one grouping each"),
        ({"cost": Budget("pure", Fraction(0))}, "more than 0"),
        ({"bits": 17}, "17 bits"),
        ({"bits": True}, "True bits"),
        ({"tables": ()}, "got 0"),
        ({"tables": ((0,),) * (MOST_TABLES + 1)}, "got 4097"),
        ({"tables": ((0,), ())}, "at least one of the columns"),
        ({"tables": ((0,), (0, 2))}, "at least one of the columns"),
        ({"tables": ((0,), (-1,))}, "at least one of the columns"),
        ({"tables": ((0,), (0, True))}, "at least one of the columns"),
        ({"tables": ((0,), (1, 0))}, "must increase"),
        ({"tables": ((0,), (1, 1))}, "must increase"),
        ({"expected": None}, "both cells and expected counts"),
        ({"cells": None}, "both cells and expected counts"),
        ({"cells": None, "expected": None, "digest": "zz"}, "64 hexadecimal digits"),
        ({"cells": (np.array([0, 2]),)}, "of each of its tables"),
        ({"cells": (np.array([2, 0]), np.array([0, 5, 8]))}, "increasing"),
        ({"cells": (np.array([0, 0]), np.array([0, 5, 8]))}, "increasing"),
        ({"cells": (np.array([0, 3]), np.array([0, 5, 8]))}, "increasing"),
        ({"cells": (np.array([-1, 2]), np.array([0, 5, 8]))}, "increasing"),
        ({"cells": (np.array([0, 2]), np.array([0, 5]))}, "as many"),
        ({"cells": (np.array([0.0, 2.0]), np.array([0, 5, 8]))}, "int64"),
        ({"cells": (np.zeros(0, int), np.array([0, 5, 8])), "expected": (np.zeros(0, int), np.zeros(3, int))}, "one"),
        ({"expected": (np.array([3, -1]), np.array([0, 9, 1]))}, "at least 0"),
        ({"expected": (np.array([3, 2**47]), np.array([0, 9, 1]))}, r"2\*\*47"),
        ({"expected": (np.array([2**62, 2**62]), np.array([0, 9, 1]))}, r"2\*\*47"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(changes, words):
    with pytest.raises(LapwingError, match=words):
        question(**changes)


def test_tables_with_too_many_cells_are_refused():
    wide = identity(Domain(2**32, 0, False, True, False))
    parts = {"columns": ("p", "q", "r"), "groupings": (wide,) * 3, "cells": None, "expected": None}

    with pytest.raises(CapacityError, match=r"2\*\*62"):
        question(**parts, tables=((0, 1, 2),))


def test_the_room_answers_no_question_that_is_only_a_record():
    with pytest.raises(ParameterError, match="only a record"):
        room().ask(replace(question(), cells=None, expected=None))


def test_a_question_that_was_changed_after_its_checks_is_checked_again_in_the_room():
    asked = question()
    object.__setattr__(asked, "expected", (np.array([-(2**62), 0]), np.array([0, 9, 1])))

    with pytest.raises(ParameterError, match="at least 0"):
        room().ask(asked)


def test_the_answer_is_the_distance_plus_little_noise_at_a_large_budget():
    asked = question(cells=(np.array([0, 2]), np.array([0, 4, 6])), cost=Budget.pure(10**6))

    (answer,) = room(Budget.pure(10**6)).ask(asked)

    groups = [grouping.apply(codes) for grouping, codes in zip(asked.groupings, coded().values(), strict=True)]
    by_hand = 0
    for table, cells, expected in zip(asked.tables, asked.cells, asked.expected, strict=True):
        number = groups[0] if table == (0,) else groups[0] * 3 + groups[1]
        counts = np.bincount(number, minlength=9)
        whole = np.zeros(9, dtype=np.int64)
        whole[cells] = expected
        by_hand += int(np.abs(8 * counts - whole).sum())
    assert answer.values.tolist() == [by_hand]


def coded():
    (chunk,) = code_table(DATA, SCHEMA).chunks()
    return chunk


def test_a_certificate_counts_distances_by_themselves():
    (answer,) = room().ask(question())

    assert counted_lines(CostLine.of(answer, Terms(relation="add-remove"))) == "1 noisy mean distance"


# ----------------------------------------------------------------------------------------------- the public side
def tables_codes(schema, rows, rng):
    return {c.name: rng.integers(0, c.domain.values + c.domain.reserved, rows) for c in schema.columns}


def test_all_tables_of_one_and_two_columns_and_a_sample_of_others_are_compared():
    fields = [{"name": f"c{place}", "type": "boolean"} for place in range(14)]
    schema, rng = Schema.from_dict({"fields": fields}), np.random.default_rng(1)

    found = public_tables(tables_codes(schema, 30, rng), schema, rng=rng)

    assert [(each.ways, len(each.tables), each.possible) for each in found] == [(1, 14, 14), (2, 91, 91), (3, 128, 364)]


def test_fewer_tables_are_compared_where_they_would_list_too_many_cells(monkeypatch):
    monkeypatch.setattr(public_side, "MOST_LISTED", 1000)
    fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 10**6}} for name in "abcdef"]
    schema, rng = Schema.from_dict({"fields": fields}), np.random.default_rng(1)

    found = public_tables(tables_codes(schema, 400, rng), schema, rng=rng)

    assert [len(each.tables) for each in found] == [6, 2, 2]
    assert all(sum(map(len, each.cells)) <= 1000 for each in found[1:])


@pytest.mark.parametrize("change", ["counts", "names", "rows"])
def test_the_digest_tells_public_tables_apart(change):
    schema, rng = SCHEMA, np.random.default_rng(1)
    (tables,) = public_tables(tables_codes(schema, 30, rng), schema, ways=[1], rng=rng)
    others = {
        "counts": replace(tables, counts=tuple(each[::-1] for each in tables.counts)),
        "names": replace(tables, columns=("a", "other")),
        "rows": replace(tables, rows=31),
    }

    assert others[change].digest != tables.digest


FIELDS = [
    {"name": "a", "type": "boolean"},
    {"name": "b", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}, "special": [-1]},
    {"name": "c", "type": "boolean", "constraints": {"required": True}},
    {"name": "d", "type": "string", "categories": ["x", "y"]},
]
COLUMN_SCHEMA = Schema.from_dict({"fields": FIELDS})


def number(name="x", most=9, **more):
    constraints = {"minimum": 0, "maximum": most} | ({"required": True} if more.pop("required", False) else {})
    return {"name": name, "type": "integer", "constraints": constraints} | more


def column_compared(field, real, other):
    """Return the errors of one column."""
    schema = Schema.from_dict({"fields": [field]})
    return compare_columns({"x": np.array(real)}, {"x": np.array(other)}, schema)[0]


def test_codes_of_a_small_type_do_not_wrap():
    real, other = np.array([0, 250], dtype=np.uint8), np.array([250, 0], dtype=np.uint8)

    assert column_compared(number(most=252), real, other).numbers.wasserstein == 0


@pytest.mark.parametrize("codes", [{}, {"x": np.zeros(0, dtype=np.int64)}])
def test_a_column_without_codes_is_refused(codes):
    with pytest.raises(ParameterError, match='codes of column "x", at least one row'):
        compare_columns({"x": np.array([1])}, codes, Schema.from_dict({"fields": [number()]}))


@pytest.mark.parametrize(("choose", "pairs"), [(pairs_together, "ab ad bd"), (pairs_given, "ab ac ad da db dc")])
def test_pairs_are_of_columns_with_gaps_and_sampled_by_the_seed_where_there_are_more(choose, pairs, monkeypatch):
    every = choose(COLUMN_SCHEMA, rng=np.random.default_rng(0))
    monkeypatch.setattr(columns, "PAIRS", 2)

    chosen = [choose(COLUMN_SCHEMA, rng=np.random.default_rng(seed)) for seed in range(20)]

    assert every == tuple(tuple(pair) for pair in pairs.split())
    assert chosen[0] == choose(COLUMN_SCHEMA, rng=np.random.default_rng(0))
    assert set(chosen) > {chosen[0]}
    assert {len(pairs) for pairs in chosen} == {2}
    assert set(itertools.chain(*chosen)) == set(every)


def test_codes_of_gaps_in_small_types_do_not_wrap():
    many = number("b", most=15, special=list(range(20, 160)))
    wide = Schema.from_dict({"fields": [FIELDS[0], many]})
    # 2 * 156 is 2 * 28 in eight bits.
    real, other = ({"a": np.array([0, 0], np.uint8), "b": np.array([0, code], np.uint8)} for code in (156, 28))

    assert missing_given(real, other, wide, (("a", "b"),)).mean == 0.5


ASSOCIATIONS_AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1, -2]}
CITY = {"name": "city", "type": "string", "categories": [f"c{place}" for place in range(40)]}
FLAG = {"name": "flag", "type": "boolean"}
SPECIAL, MISSING = 100, 102


def strength_of(fields, *columns):
    """Return the strength of dependence of the first two columns of one table."""
    codes = {field["name"]: np.asarray(column) for field, column in zip(fields, columns, strict=True)}
    found = compare_associations(codes, {}, schema_of(*fields), rng=np.random.default_rng(0))
    return found.matrices["real"][0, 1]


def test_a_column_that_another_tells_has_strength_1_whatever_their_types() -> None:
    city = np.random.default_rng(1).integers(16, size=4000)

    assert strength_of([CITY, ASSOCIATIONS_AGE], city, 5 * city) == 1
    assert strength_of([CITY, FLAG], city, city // 3 % 2) == pytest.approx(1)
    assert strength_of([ASSOCIATIONS_AGE, FLAG], 5 * city, city // 8) == pytest.approx(1)
