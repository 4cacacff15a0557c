"""The privacy of a selection: brute-force sensitivity of the scores, and the losses of exact laws on neighbours."""

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.selections import question, scores_of
from lapwing.kernel.noise.selection import exponential_mechanism
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.select_worst.answer import answer_select_worst
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.terms import Terms
from lapwing.rows.exact_tables import ExactTables
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import identity, lookup
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "x", "type": "string", "categories": ["a", "b"], "constraints": {"required": True}},
    {"name": "y", "type": "boolean"},
]
VALUES = [("a", True), ("b", True), ("b", None), ("zzz", False)]
MANY = 10**6
RELATIONS = ["add-remove", "replace-one"]
ROUNDING = 1e-12  # the logarithms below are of doubles of size at most 10


def unit_schema(max_rows):
    who = {"name": "who", "type": "integer", "role": "identifier"}
    return Schema.from_dict({"fields": [who, *FIELDS], "privacyUnit": {"field": "who", "maxRows": max_rows}})


def rows_of(who, cells):
    return [{"who": who, "x": x, "y": y} for x, y in cells]


def asked(schema, *, notion="pure", epsilon=Fraction(1, 2)):
    """Return a question whose candidates look at the same tables in opposite ways, one without its misfits."""
    x, y = (schema.field(name).domain for name in ("x", "y"))
    levels = ((identity(x), lookup(x, [0, 0])), (identity(y),))
    estimates = {
        ((0, 0),): [[MANY, 0, 0], [0, MANY, 0], [MANY, 0, -1], [-1, -1, -1]],
        ((0, 1),): [[3, -1], [0, 4]],
        ((0, 0), (1, 0)): [[0, MANY, 2] * 3, [MANY, 0, 1] * 3],
    }
    pairs = [(candidate, each) for candidate, listed in estimates.items() for each in listed]
    return question(
        ("x", "y"),
        levels,
        [candidate for candidate, _ in pairs],
        estimates=list(itertools.chain.from_iterable(each for _, each in pairs)),
        penalties=[sum(MANY for cell in each if cell == MANY) for _, each in pairs],
        epsilon=epsilon,
        notion=notion,
    )


def scores_of_neighbours(relation, max_rows):
    """Yield pairs of score vectors over all neighbours whose changed unit owns up to max_rows + 1 rows."""
    schema = unit_schema(max_rows)
    others = rows_of(1, [("a", False)] * 2) + rows_of(2, [("b", True), ("a", None)])
    kinds = {"who": pl.Int64, "x": pl.String, "y": pl.Boolean}
    sets = [
        rows_of(9, cells)
        for size in range(max_rows + 2)
        for cells in itertools.combinations_with_replacement(VALUES, size)
    ]
    whole = asked(schema)
    scores = [
        scores_of(whole, ExactTables(code_table(pl.DataFrame(others + extra, schema=kinds), schema))) for extra in sets
    ]
    if relation == "add-remove":
        return [pair for each in scores for pair in ((each, scores[0]), (scores[0], each))]
    return list(itertools.product(scores[1:], repeat=2))


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
def test_brute_force_attains_the_sensitivity_of_a_score_and_never_passes_it(relation, max_rows):
    claimed = asked(unit_schema(max_rows)).sensitivity(relation, max_rows).l1

    moved = [one - other for one, other in scores_of_neighbours(relation, max_rows)]

    assert max(int(np.abs(change).max()) for change in moved) == claimed
    assert max(int(change.max() - change.min()) for change in moved) == 2 * claimed
    assert all(change[3] == 0 for change in moved)  # all of its cells are marked


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_the_worst_neighbour_loses_exactly_the_cost(relation, max_rows, notion):
    whole = asked(unit_schema(max_rows), notion=notion, epsilon=Fraction(2, 7))
    answer = Selection(whole, 0, whole.sensitivity(relation, max_rows).l1)

    losses = [answer.privacy_loss(*pair) for pair in scores_of_neighbours(relation, max_rows)]

    assert max(losses) == whole.cost.amount
    assert min(losses) == 0


def law(scores, epsilon, sensitivity):
    weights = [math.exp(float(epsilon) * int(each - max(scores)) / (2 * sensitivity)) for each in scores]
    return [weight / sum(weights) for weight in weights]


def renyi(one, other, order):
    total = sum(p * math.exp((order - 1) * math.log(p / q)) for p, q in zip(one, other, strict=True))
    return math.log(total) / (order - 1)


def laws_of_neighbours(relation, max_rows, epsilon, size):
    """Yield the scores and the exact laws of selections among a few of the candidates, on every pair of neighbours."""
    sensitivity = asked(unit_schema(max_rows)).sensitivity(relation, max_rows).l1
    pairs = {(tuple(one.tolist()), tuple(other.tolist())) for one, other in scores_of_neighbours(relation, max_rows)}
    for places in itertools.combinations(range(len(next(iter(pairs))[0])), size):
        for one, other in {(tuple(a[i] for i in places), tuple(b[i] for i in places)) for a, b in pairs}:
            yield one, other, law(one, epsilon, sensitivity), law(other, epsilon, sensitivity)


def few(notion, epsilon, size, sensitivity):
    whole = question(("x",), ((identity(unit_schema(1).field("x").domain),),), (((0, 0),),) * size)
    return Selection(
        question(whole.columns, whole.levels, whole.candidates, epsilon=epsilon, notion=notion), 0, sensitivity
    )


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(4)])
def test_no_outcome_of_a_pure_selection_changes_by_more_than_its_loss(epsilon, size):
    answer = few("pure", epsilon, size, 2)

    for one, other, p, q in laws_of_neighbours("replace-one", 1, epsilon, size):
        loss = float(answer.privacy_loss(np.array(one), np.array(other)))
        assert max(abs(math.log(a / b)) for a, b in zip(p, q, strict=True)) <= loss + ROUNDING


@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 8.0, 64.0])
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_the_renyi_divergence_is_at_most_an_eighth_of_eta_squared(epsilon, size, order):
    answer = few("zcdp", epsilon, size, 2)

    excess = [
        renyi(p, q, order) / order - float(answer.privacy_loss(np.array(one), np.array(other)))
        for one, other, p, q in laws_of_neighbours("replace-one", 1, epsilon, size)
    ]

    assert max(excess) <= 1e-9 * float(epsilon) ** 2  # log(total) / (order - 1) loses digits near order 1


def test_a_loss_for_twice_the_sensitivity_would_be_too_small():
    wrong = few("zcdp", Fraction(1), 2, 4)

    excess = [
        renyi(p, q, 1.001) / 1.001 - float(wrong.privacy_loss(np.array(one), np.array(other)))
        for one, other, p, q in laws_of_neighbours("replace-one", 1, Fraction(1), 2)
    ]

    assert max(excess) > 0.05


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_draw_takes_scores_to_move_by_the_rows_of_a_unit_on_each_side(relation, max_rows):
    schema = unit_schema(max_rows)
    rows = rows_of(1, [("a", False)] * 2) + rows_of(2, [("b", True), ("a", None)])
    rows_of_table = PrivateRows.of(code_table(pl.DataFrame(rows), schema), schema)
    tables = rows_of_table.tables
    ask = asked(schema, epsilon=Fraction(5, 7))
    scores = scores_of(ask, tables)
    moves = max_rows if relation == "add-remove" else 2 * max_rows
    terms = Terms(relation=relation, max_rows=max_rows)

    found = [answer_select_worst([ask], rows_of_table, terms, SeededBits(seed))[0].choice for seed in range(60)]

    def drawn(bound):
        return [exponential_mechanism(scores, Fraction(5, 7), bound, SeededBits(seed)) for seed in range(60)]

    assert found == drawn(moves)
    assert found != drawn(2 * moves)
    assert moves == 1 or found != drawn(moves // 2)
