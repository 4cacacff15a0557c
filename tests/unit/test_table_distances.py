"""The question for distances of tables: records come back, a stranger's is refused, the room wants all of it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from lapwing.errors import CapacityError, LapwingError, ParameterError
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


def codes(schema, rows, rng):
    return {c.name: rng.integers(0, c.domain.values + c.domain.reserved, rows) for c in schema.columns}


def test_all_tables_of_one_and_two_columns_and_a_sample_of_others_are_compared():
    fields = [{"name": f"c{place}", "type": "boolean"} for place in range(14)]
    schema, rng = Schema.from_dict({"fields": fields}), np.random.default_rng(1)

    found = public_tables(codes(schema, 30, rng), schema, rng=rng)

    assert [(each.ways, len(each.tables), each.possible) for each in found] == [(1, 14, 14), (2, 91, 91), (3, 128, 364)]


def test_fewer_tables_are_compared_where_they_would_list_too_many_cells(monkeypatch):
    monkeypatch.setattr(public_side, "MOST_LISTED", 1000)
    fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 10**6}} for name in "abcdef"]
    schema, rng = Schema.from_dict({"fields": fields}), np.random.default_rng(1)

    found = public_tables(codes(schema, 400, rng), schema, rng=rng)

    assert [len(each.tables) for each in found] == [6, 2, 2]
    assert all(sum(map(len, each.cells)) <= 1000 for each in found[1:])


@pytest.mark.parametrize("change", ["counts", "names", "rows"])
def test_the_digest_tells_public_tables_apart(change):
    schema, rng = SCHEMA, np.random.default_rng(1)
    (tables,) = public_tables(codes(schema, 30, rng), schema, ways=[1], rng=rng)
    others = {
        "counts": replace(tables, counts=tuple(each[::-1] for each in tables.counts)),
        "names": replace(tables, columns=("a", "other")),
        "rows": replace(tables, rows=31),
    }

    assert others[change].digest != tables.digest
