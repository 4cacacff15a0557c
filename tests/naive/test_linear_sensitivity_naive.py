"""LinearStatistics: how far neighbours move the sums, by looking at all units, against the bounds of the proof."""

import itertools

import numpy as np
import pytest

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.linear_statistics.answer import exact_statistics, row_values
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.model.statistics.expressions import compile_statistic, row_function
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "flag", "type": "boolean", "constraints": {"required": True}},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}},
        ]
    }
)
EXPRESSIONS = {
    "an indicator": ("flag",),
    "exclusive indicators": ("age == 0", "age == 1", "age >= 2"),
    "numbers": ("age / 3", "(age - 1) / 4"),
    "numbers above zero": ("(age + 3) / 6",),
    "both": ("flag and age > 1", "age / 4"),
    "code": (row_function(lambda row: row["age"] / 2 - 1, bounds=(-0.5, 1)), "flag"),
    "code that fails": (row_function(lambda row: 1 / (row["age"] or 0), bounds=(0, 1)),),
}


def question_of(texts):
    statistics = tuple(compile_statistic(each, SCHEMA) for each in texts)
    columns = tuple(dict.fromkeys(name for each in statistics for name in each.columns))
    groupings = tuple(identity(SCHEMA.field(name).domain) for name in columns)
    return LinearStatistics(columns=columns, groupings=groupings, statistics=statistics, cost=Budget.pure(1))


def every_row():
    """Return the codes of all rows that there can be."""
    sizes = [field.domain.size for field in SCHEMA.columns]
    cells = np.indices(sizes).reshape(len(sizes), -1)
    return {field.name: codes for field, codes in zip(SCHEMA.columns, cells, strict=True)}


class Rows:
    """A source of one chunk."""

    def __init__(self, codes):
        self.codes = codes

    def chunks(self):
        yield self.codes


def moved(values, relation, max_rows):
    """Return the largest L1 norm and squared L2 norm of what a unit's rows change, over all units."""
    units = [np.zeros(values.shape[0], dtype=np.int64)]
    for rows in range(1, max_rows + 1):
        chosen = itertools.combinations_with_replacement(range(values.shape[1]), rows)
        units += [values[:, list(each)].sum(axis=1) for each in chosen]
    present = units[1:]
    others = units[:1] if relation == "add-remove" else present
    changes = [one - other for one in present for other in others]
    return max(int(np.abs(each).sum()) for each in changes), max(int((each**2).sum()) for each in changes)


@pytest.mark.parametrize("max_rows", [1, 2])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_unit_moves_the_sums_further_than_the_bounds(name, relation, max_rows):
    question = question_of(EXPRESSIONS[name])

    l1, l2_squared = moved(row_values(question, every_row(), SCHEMA), relation, max_rows)

    bound = question.sensitivity(relation, max_rows)
    assert l1 <= bound.l1
    assert l2_squared <= bound.l2_squared


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", ["an indicator", "both"])
def test_the_bounds_are_attained(name, relation):
    question = question_of(EXPRESSIONS[name])

    l1, l2_squared = moved(row_values(question, every_row(), SCHEMA), relation, 1)

    bound = question.sensitivity(relation, 1)
    assert (l1, l2_squared) == (bound.l1, bound.l2_squared)


def test_indicators_cost_half_of_what_the_paper_charges_for_them():
    """Theorem 2.2: 2 |F| / n for functions into [-1, 1]; |F| / n is enough for 0 and 1."""
    question = question_of(("flag", "age == 0", "age == 1"))

    assert question.bits == 0
    assert question.sensitivity("replace-one", 1).l1 == 3
    assert question_of(("2 * flag - 1", "2 * (age == 0) - 1")).sensitivity("replace-one", 1).l1 == 2 * 2 * 2**16


def test_sums_are_those_of_each_row_alone():
    codes = {name: np.tile(each, 3) for name, each in every_row().items()}
    question = question_of(EXPRESSIONS["both"])

    sums = exact_statistics(question, Rows(codes), SCHEMA)

    one_by_one = [
        row_values(question, {name: each[i : i + 1] for name, each in codes.items()}, SCHEMA)
        for i in range(len(codes["age"]))
    ]
    assert sums.tolist() == np.sum(one_by_one, axis=0).ravel().tolist()


def test_a_question_comes_back_from_its_record_without_its_functions():
    question = question_of(EXPRESSIONS["code"])

    back = LinearStatistics.from_dict(question.to_dict())

    assert back.to_dict() == question.to_dict()
    assert question.is_askable
    assert not back.is_askable
    assert back.sensitivity("add-remove", 2) == question.sensitivity("add-remove", 2)
