"""SelectWorst: its scores and record, its privacy, and the exact law of its selection."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.selections import (
    LEVELS,
    NAMES,
    PAIRS,
    SCHEMA,
    SOURCE,
    asked,
    question,
    random_question,
    room,
    rows_of,
    scores_by_hand,
    scores_of,
)
from lapwing.engine.tables import pack, unpack
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.selection import exponential_mechanism
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.registered import question_from_dict
from lapwing.kernel.questions.select_worst import question as questions
from lapwing.kernel.questions.select_worst.answer import answer_select_worst
from lapwing.kernel.questions.select_worst.question import Selection, SelectWorst
from lapwing.kernel.terms import Terms
from lapwing.rows.exact_tables import ExactTables
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity, interval_grouping, lookup, prefix_grouping
from lapwing.schema.groupings.hierarchies import merge_groups
from lapwing.schema.schemas import Schema


# ------------------------------------------------------------------------------------------------ what is refused
@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"columns": ()}, "needs distinct columns"),
        ({"columns": ("kind", "age", "kind")}, "name each column once"),
        ({"columns": ("kind", "age")}, "give each its own"),
        ({"levels": (*LEVELS[:2], ())}, "must be at least one"),
        ({"levels": (*LEVELS[:2], LEVELS[2][::-1])}, "merging groups of the first"),
        ({"levels": (*LEVELS[:2], (LEVELS[2][0], LEVELS[1][2]))}, "merging groups of the first"),
        ({"candidates": None}, "at least one candidate"),
        ({"candidates": (((0, 0),),)}, "must be int64 of shape"),
        ({"candidates": np.zeros((0, 1, 2), dtype=np.int64)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 0, 2), dtype=np.int64)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 3), dtype=np.int64)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 2, 2), dtype=np.int64)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 2), dtype=bool)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 2))}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 2), dtype=object)}, "must be int64 of shape"),
        ({"candidates": np.array([[[-1, -1]], [[0, 0]]])}, "at least one of 3 columns"),
        ({"candidates": np.array([[[-1, -1], [0, 0]]])}, "beyond all of its axes"),
        ({"candidates": np.array([[[0, 0], [-1, -1], [1, 0]]])}, "beyond all of its axes"),
        ({"candidates": np.array([[[0, 0], [0, 0]]])}, "positions increasing"),
        ({"candidates": np.array([[[1, 0], [0, 0]]])}, "positions increasing"),
        ({"candidates": np.array([[[-1, 0]]])}, "by position"),
        ({"candidates": np.array([[[-2, 0]]])}, "by position"),
        ({"candidates": np.array([[[3, 0]]])}, "by position"),
        ({"candidates": np.array([[[0, 3]]])}, "levels count from 0"),
        ({"candidates": np.array([[[0, -1]]])}, "levels count from 0"),
        ({"estimates": np.ones(3, dtype=np.int64)}, "estimates of a selection must be int64 of shape"),
        ({"estimates": np.ones(16)}, "estimates of a selection must be int64"),
        ({"penalties": np.zeros(3, dtype=np.int64)}, "penalties of a selection must be int64 of shape"),
        ({"penalties": None}, "both estimates and penalties"),
        ({"estimates": None}, "both estimates and penalties"),
        ({"estimates": np.full(7, -2)}, "at least 0, or -1"),
        ({"estimates": np.full(7, 2**61)}, "at most 2\\*\\*60"),
        ({"penalties": np.array([2**60 + 1, 0])}, "between"),
        ({"penalties": np.array([0, -(2**63)])}, "between"),
        ({"epsilon": Fraction(0)}, "above 0"),
        ({"epsilon": 0.5}, "must be a Fraction"),
        ({"notion": "renyi"}, "'pure' or 'zcdp'"),
    ],
)
def test_a_malformed_question_is_refused(parts, message):
    whole = question(NAMES, LEVELS, (((0, 0),), ((2, 0),)), estimates=np.ones(7), penalties=[0, 0])
    given = {
        key: getattr(whole, key)
        for key in ("columns", "levels", "candidates", "estimates", "penalties", "epsilon", "notion")
    }

    with pytest.raises(ParameterError, match=message):
        SelectWorst(**given | parts)


def test_tables_beyond_the_cell_limit_are_refused_however_large_their_product():
    wide = prefix_grouping(Domain(2**32, 0, missing=True, ordered=True, continuous=True), 10)

    for columns in (2, 60):
        with pytest.raises(CapacityError, match="fewer or coarser tables"):
            question(
                [f"x{i}" for i in range(columns)],
                [(wide,)] * columns,
                [tuple((place, 0) for place in range(columns))],
                estimates=np.ones(1),
            )


def test_levels_are_nested_in_the_first_and_need_not_be_in_each_other():
    domain = SCHEMA.field("age").domain
    fine, thirds, halves = identity(domain), interval_grouping(domain, [4, 8]), interval_grouping(domain, [6])

    assert merge_groups(fine, thirds).tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3]
    assert merge_groups(thirds, halves) is None
    assert question(["age"], [(fine, thirds, halves)], [((0, 1),), ((0, 2),)]).candidate_count == 2


# ------------------------------------------------------------------------------------------------------ its price
def test_the_price_is_epsilon_or_an_eighth_of_its_square():
    assert asked(epsilon=Fraction(3, 4)).cost == Budget.pure("3/4")
    assert asked(epsilon=Fraction(3, 4), notion="zcdp").cost == Budget.zcdp("9/128")


def test_the_digest_changes_with_every_part_of_the_question():
    base = {"estimates": np.ones(asked().estimates.size), "penalties": np.zeros(len(PAIRS), dtype=np.int64)}
    one_estimate, one_penalty = base["estimates"].copy(), base["penalties"].copy()
    one_estimate[3], one_penalty[1] = -1, 1
    other_levels = (
        LEVELS[0],
        (LEVELS[1][0], interval_grouping(SCHEMA.field("age").domain, [3]), LEVELS[1][2]),
        LEVELS[2],
    )
    variants = [
        asked(**base),
        asked(**base | {"estimates": one_estimate}),
        asked(**base | {"penalties": one_penalty}),
        asked(**base, epsilon=Fraction(1, 3)),
        asked(**base, notion="zcdp"),
        question(("kind", "age", "other"), LEVELS, PAIRS),
        question(NAMES, other_levels, PAIRS),
        question(NAMES, LEVELS, PAIRS[::-1], estimates=base["estimates"]),
    ]

    assert len({each.digest for each in variants}) == len(variants)
    assert asked(**base).digest == asked().digest
    assert replace(asked(), epsilon=Fraction(1, 3)).digest == asked(epsilon=Fraction(1, 3)).digest


def test_digests_of_estimates_that_are_let_go_are_not_taken_for_others():
    rng = np.random.default_rng(2)
    first, before = asked(), len(questions._HASHES)
    estimates = [rng.integers(-1, 10**6, first.estimates.size) for _ in range(30)]

    found = [replace(first, estimates=each).digest for each in estimates]

    assert len(set(found)) == len(estimates)
    assert found == [asked(estimates=each).digest for each in estimates]
    assert len(questions._HASHES) == before


# ------------------------------------------------------------------------------------------------------- the room
def test_without_noise_the_worst_candidate_is_chosen():
    rng = np.random.default_rng(1)
    for _ in range(20):
        whole = random_question(rng, SCHEMA)
        (answer,) = room().ask(whole)

        scores = scores_by_hand(whole, rows_of(SOURCE))
        assert answer.choice == int(np.argmax(scores))
        assert answer.chosen == tuple(NAMES[place] for place, _ in unpack(whole.candidates)[answer.choice])
        assert answer.tables == ()


@pytest.mark.parametrize(("relation", "max_rows", "bound"), [("add-remove", 3, 3), ("replace-one", 3, 6)])
def test_the_draw_is_for_the_sensitivity_of_the_terms(relation, max_rows, bound):
    terms = Terms(relation=relation, max_rows=max_rows)

    (answer,) = room(terms=terms).ask(asked())

    assert answer.sensitivity == asked().sensitivity(relation, max_rows).l1 == bound


def test_a_question_read_back_or_only_planned_is_refused():
    read = question_from_dict(asked().to_dict())
    planned = SelectWorst(
        columns=NAMES,
        levels=LEVELS,
        candidates=pack(PAIRS),
        estimates=None,
        penalties=None,
        epsilon=Fraction(1),
        notion="pure",
    )

    for each in (read, planned):
        assert each.candidate_count == len(PAIRS)
        with pytest.raises(ParameterError, match="only a record or a plan"):
            room().ask(each)


# ----------------------------------------------------------------------------------------------------- its record
def test_a_choice_outside_the_candidates_is_refused():
    with pytest.raises(ParameterError, match="cannot be number"):
        Selection(asked(), len(PAIRS), 1)


PRIVACY_FIELDS = [
    {"name": "x", "type": "string", "categories": ["a", "b"], "constraints": {"required": True}},
    {"name": "y", "type": "boolean"},
]
VALUES = [("a", True), ("b", True), ("b", None), ("zzz", False)]
MANY = 10**6
RELATIONS = ["add-remove", "replace-one"]
ROUNDING = 1e-12  # the logarithms below are of doubles of size at most 10


def unit_schema(max_rows):
    who = {"name": "who", "type": "integer", "role": "identifier"}
    return Schema.from_dict({"fields": [who, *PRIVACY_FIELDS], "privacyUnit": {"field": "who", "maxRows": max_rows}})


def privacy_rows_of(who, cells):
    return [{"who": who, "x": x, "y": y} for x, y in cells]


def privacy_asked(schema, *, notion="pure", epsilon=Fraction(1, 2)):
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
    others = privacy_rows_of(1, [("a", False)] * 2) + privacy_rows_of(2, [("b", True), ("a", None)])
    kinds = {"who": pl.Int64, "x": pl.String, "y": pl.Boolean}
    sets = [
        privacy_rows_of(9, cells)
        for size in range(max_rows + 2)
        for cells in itertools.combinations_with_replacement(VALUES, size)
    ]
    whole = privacy_asked(schema)
    scores = [
        scores_of(whole, ExactTables(code_table(pl.DataFrame(others + extra, schema=kinds), schema))) for extra in sets
    ]
    if relation == "add-remove":
        return [pair for each in scores for pair in ((each, scores[0]), (scores[0], each))]
    return list(itertools.product(scores[1:], repeat=2))


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
def test_brute_force_attains_the_sensitivity_of_a_score_and_never_passes_it(relation, max_rows):
    claimed = privacy_asked(unit_schema(max_rows)).sensitivity(relation, max_rows).l1

    moved = [one - other for one, other in scores_of_neighbours(relation, max_rows)]

    assert max(int(np.abs(change).max()) for change in moved) == claimed
    assert max(int(change.max() - change.min()) for change in moved) == 2 * claimed
    assert all(change[3] == 0 for change in moved)  # all of its cells are marked


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_the_worst_neighbour_loses_exactly_the_cost(relation, max_rows, notion):
    whole = privacy_asked(unit_schema(max_rows), notion=notion, epsilon=Fraction(2, 7))
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
    sensitivity = privacy_asked(unit_schema(max_rows)).sensitivity(relation, max_rows).l1
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
    rows = privacy_rows_of(1, [("a", False)] * 2) + privacy_rows_of(2, [("b", True), ("a", None)])
    rows_of_table = PrivateRows.of(code_table(pl.DataFrame(rows), schema), schema)
    tables = rows_of_table.tables
    ask = privacy_asked(schema, epsilon=Fraction(5, 7))
    scores = scores_of(ask, tables)
    moves = max_rows if relation == "add-remove" else 2 * max_rows
    terms = Terms(relation=relation, max_rows=max_rows)

    found = [answer_select_worst([ask], rows_of_table, terms, SeededBits(seed))[0].choice for seed in range(60)]

    def drawn(bound):
        return [exponential_mechanism(scores, Fraction(5, 7), bound, SeededBits(seed)) for seed in range(60)]

    assert found == drawn(moves)
    assert found != drawn(2 * moves)
    assert moves == 1 or found != drawn(moves // 2)


ORDERS = (1.000001, 1.5, 2.0, 4.0, 16.0, 128.0)
SENSITIVITY = 4
EPSILONS = (0.1, 1.0, 4.0)
Law = list[float]


def exponential_law(scores: tuple[int, ...], epsilon: float) -> Law:
    """Return the outcome law of the exponential mechanism."""
    weights = [math.exp(epsilon * (score - max(scores)) / (2 * SENSITIVITY)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def permute_and_flip_law(scores: tuple[int, ...], epsilon: float) -> Law:
    """Return the outcome law of permute-and-flip: candidates in random order, each accepted with its weight."""
    weights = [math.exp(epsilon * (score - max(scores)) / (2 * SENSITIVITY)) for score in scores]
    law = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0 / len(orders)
        for candidate in order:
            law[candidate] += reached * weights[candidate]
            reached *= 1 - weights[candidate]
    return law


def law_renyi(law: Law, other: Law, order: float) -> float:
    """Return the Renyi divergence of an order above 1."""
    total = sum(p * math.exp((order - 1) * math.log(p / r)) for p, r in zip(law, other, strict=True))
    return math.log(total) / (order - 1)


def neighbours(candidates: int):
    """Return score vectors and their neighbours: every score moves by at most the sensitivity, either way."""
    gaps = range(0, 3 * SENSITIVITY + 1, 2)
    moves = range(-SENSITIVITY, SENSITIVITY + 1, SENSITIVITY)
    for scores in itertools.product([0], *[gaps] * (candidates - 1)):
        for move in itertools.product(moves, repeat=candidates):
            yield scores, tuple(score + step for score, step in zip(scores, move, strict=True))


def worst(mechanism, epsilon: float, order: float) -> float:
    """Return the largest Renyi divergence over the neighbours, divided by its order."""
    pairs = itertools.chain(neighbours(2), neighbours(3))
    return max(law_renyi(mechanism(a, epsilon), mechanism(b, epsilon), order) / order for a, b in pairs)


def test_both_mechanisms_are_epsilon_dp() -> None:
    for mechanism in (exponential_law, permute_and_flip_law):
        for scores, other in itertools.chain(neighbours(2), neighbours(3)):
            law, after = mechanism(scores, 1.0), mechanism(other, 1.0)
            assert max(math.log(p / r) for p, r in zip(law, after, strict=True)) <= 1.0 + ROUNDING


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_exponential_mechanism_has_range_epsilon(epsilon: float) -> None:
    for scores, other in itertools.chain(neighbours(2), neighbours(3)):
        pairs = zip(exponential_law(scores, epsilon), exponential_law(other, epsilon), strict=True)
        losses = [math.log(p / r) for p, r in pairs]
        assert max(losses) - min(losses) <= epsilon + ROUNDING


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_exponential_mechanism_costs_at_most_an_eighth_of_epsilon_squared(epsilon: float, order: float) -> None:
    assert worst(exponential_law, epsilon, order) <= epsilon**2 / 8 * (1 + 1e-9)  # log(total) loses 1e-10 near order 1


def test_permute_and_flip_charged_an_eighth_of_epsilon_squared_is_caught() -> None:
    equal, moved = (0, 0), (-SENSITIVITY, SENSITIVITY)
    on_two = law_renyi(permute_and_flip_law(equal, 0.1), permute_and_flip_law(moved, 0.1), 1.000001)
    divergence = worst(permute_and_flip_law, 0.1, 1.000001)

    assert on_two == pytest.approx(0.00455, abs=5e-6)  # spec 09 prints three digits
    assert divergence >= on_two - ROUNDING > 3 * 0.1**2 / 8
    assert divergence <= 0.1**2 / 2


def test_permute_and_flip_does_not_have_range_epsilon() -> None:
    law, other = permute_and_flip_law((0, 0), 0.1), permute_and_flip_law((-SENSITIVITY, SENSITIVITY), 0.1)

    losses = [math.log(p / r) for p, r in zip(law, other, strict=True)]

    assert max(losses) - min(losses) > 0.1 * 1.5
