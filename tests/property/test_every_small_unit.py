"""Every unit that there can be on a small domain: no question's numbers move by more than its sensitivity says."""

import itertools

import numpy as np
import polars as pl
import pytest

from lapwing.extras.audit.worst_case import grouping_of, people_schema
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.answer import exact_sums
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.linear_statistics.answer import exact_statistics
from lapwing.kernel.questions.linear_statistics.question import ONE, LinearStatistics, RowStatistic
from lapwing.kernel.questions.second_moment.answer import exact_products
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.table_distances.answer import exact_distances
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.rows.source import code_table

COST = Budget.pure(1)
COLUMNS = ("x", "a", "b")
ROWS = ((0, False, False), (31, False, True), (0, True, False), (31, True, True))
OTHERS = ((), ROWS)


def coordinates(names, kinds, coding="centred", convex_set="box"):
    """Return the coordinates of some columns."""
    groupings = tuple(map(grouping_of, names))
    listed = (0,) * len(names)
    return Coordinates(
        columns=names, groupings=groupings, kinds=kinds, listed=listed, coding=coding, convex_set=convex_set, bits=4
    )


def sums(summed, damping=None, **settings):
    """Return the question for the sums of all columns in one cell."""
    vectors = coordinates(("a", "b"), ("line", "line"), **settings)
    return CellSums(coordinates=vectors, projection=None, summed=summed, damping=damping, cost=COST)


def products(kinds, coding, diagonal):
    """Return the question for products of coordinates."""
    vectors = coordinates(COLUMNS[-len(kinds) :], kinds, coding)
    return SecondMoment(coordinates=vectors, diagonal=diagonal, cost=COST)


def share(lower, upper):
    """Return a function of a record whose values are these bounds, or between them."""
    return RowStatistic(
        text="share",
        columns=COLUMNS,
        lower=int(lower * ONE),
        upper=int(upper * ONE),
        function=lambda record: lower + (upper - lower) * record["x"] / 31,
    )


def statistics(*bounds):
    """Return the question for functions of records with these bounds."""
    shares = tuple(share(*each) for each in bounds)
    return LinearStatistics(columns=COLUMNS, groupings=tuple(map(grouping_of, COLUMNS)), statistics=shares, cost=COST)


def distances(*tables):
    """Return the question for the distance of tables of a and b from ones that are empty."""
    cells = tuple(np.arange(2 ** len(table), dtype=np.int64) for table in tables)
    return TableDistances(
        columns=("a", "b"),
        groupings=(grouping_of("a"), grouping_of("b")),
        tables=tables,
        cells=cells,
        expected=tuple(np.full(len(each), 2, dtype=np.int64) for each in cells),
        bits=0,
        cost=COST,
    )


QUESTIONS = {
    "centred sums": sums("vectors"),
    "sums": sums("vectors", coding="unit"),
    "sums in a ball": sums("vectors", convex_set="ball"),
    "sums in a simplex": sums("vectors", coding="unit", convex_set="simplex"),
    "damped means": sums("damped means", damping=1),
    "centred products": products(("line", "line"), "centred", diagonal=False),
    "products": products(("line", "line", "line"), "unit", diagonal=False),
    "products and squares": products(("line", "line"), "unit", diagonal=True),
    "products of lists": products(("list", "list"), "centred", diagonal=True),
    "statistics around 0": statistics((-1, 1), (-0.5, 0.25)),
    "statistics above 0": statistics((0.5, 1), (0.25, 0.5)),
    "statistics below 0": statistics((-1, -0.75)),
    "one distance": distances((0, 1)),
    "three distances": distances((0,), (1,), (0, 1)),
}
ATTAINED = {"centred sums", "sums in a simplex", "centred products", "products", "products and squares"} | {
    "products of lists",
    "statistics around 0",
    "one distance",
}
"""Those of which some unit here moves the numbers by just as much."""


def exact(question, source, schema):
    """Return the numbers of a question without noise."""
    match question:
        case SecondMoment():
            return exact_products(question.coordinates, source)[question.pairs]
        case CellSums():
            return exact_sums(question, source).reshape(-1)
        case LinearStatistics():
            return exact_statistics(question, source, schema)
        case _:
            return np.array(exact_distances([question], source))


def numbers_with(question, others, units, max_rows):
    """Return the numbers of a question on tables of some people and each of some units, in a row each."""
    schema = people_schema(max_rows)
    kinds = {"person": pl.String, "x": pl.Int64, "a": pl.Boolean, "b": pl.Boolean}
    found = []
    for unit in units:
        rows = [(str(place), *row) for place, row in enumerate(others)] + [("the person", *row) for row in unit]
        source = code_table(pl.DataFrame(rows, schema=kinds, orient="row"), schema)
        found.append(exact(question, source, schema))
    return np.array(found)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("max_rows", [1, 2])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_unit_moves_an_answer_by_more_than_its_sensitivity(name, max_rows, relation):
    question = QUESTIONS[name]
    bound = question.sensitivity(relation, max_rows)
    sizes = range(1, max_rows + 1)
    units = [unit for size in sizes for unit in itertools.combinations_with_replacement(ROWS, size)]
    l1 = l2_squared = 0

    for others in OTHERS:
        with_unit = numbers_with(question, others, units, max_rows)
        without = with_unit if relation == "replace-one" else numbers_with(question, others, [()], max_rows)
        change = np.abs(with_unit[:, None] - without[None])
        l1 = max(l1, int(change.sum(axis=2).max()))
        l2_squared = max(l2_squared, int((change**2).sum(axis=2).max()))

    assert l1 <= bound.l1
    assert l2_squared <= bound.l2_squared
    if name in ATTAINED:
        assert (l1, l2_squared) == (bound.l1, bound.l2_squared)
