"""SecondMoment and CellSums: how far neighbours move them, by looking at all rows, against the bounds of the proofs."""

import itertools
import math
from functools import cache

import numpy as np
import pytest

from helpers.vectors import (
    all_rows,
    coordinates_of,
    cut_cells,
    lattice_cells,
    moment_asked,
    random_cells,
    statistics_of,
    sums_asked,
)
from lapwing.kernel.noise_law import Sensitivity

RELATIONS = ("add-remove", "replace-one")
LINES = [("line",) * count for count in range(1, 7)]


def mixes(names, most):
    """Return all mixes of blocks with at most so many coordinates."""
    widths = {name: coordinates_of((name,)).size for name in names}
    sizes = itertools.chain.from_iterable(itertools.combinations_with_replacement(names, n) for n in range(1, most + 1))
    return [mix for mix in sizes if sum(widths[name] for name in mix) <= most]


MIXES = mixes(("line", "line or missing", "list of 1", "list of 2", "list of 3", "list of 2 or missing"), 6)
ATTAINING = [mix for mix in MIXES if len(mix) > 1 and "list of 1" not in mix]
SMALL = [mix for mix in MIXES if coordinates_of(mix).size < 6]


def norms(changes):
    """Return the largest L1 and squared L2 norm of some changes, shape (n, q)."""
    return np.array([np.abs(changes).sum(axis=-1).max(initial=0), (changes * changes).sum(axis=-1).max(initial=0)])


def moved(statistics, relation, max_rows=1):
    """Return how far sums over rows move, at most, from what single rows add to them: a Sensitivity."""
    zero = np.zeros((1, statistics.shape[1]), dtype=np.int64)
    units = np.concatenate((zero, statistics)) if max_rows > 1 else statistics
    for _ in range(max_rows - 1):
        units = np.unique((units[:, None] + np.concatenate((zero, statistics))).reshape(-1, zero.size), axis=0)
    if relation == "add-remove":
        return Sensitivity(*norms(units).tolist())
    return Sensitivity(*np.max([norms(units - one) for one in units], axis=0).tolist())


@cache
def products_of_all(blocks, diagonal, coding="centred"):
    """Return what each row adds to the second moment; halved, as a row and its negative add the same."""
    coordinates = coordinates_of(blocks, coding=coding)
    return statistics_of(moment_asked(coordinates, diagonal=diagonal), all_rows(coordinates))


def is_within(change, bound):
    return change.l1 <= bound.l1 and change.l2_squared <= bound.l2_squared


# ------------------------------------------------------------------------------------------ second moment, in a box


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("blocks", LINES[1:], ids=len)
def test_products_of_centred_lines_move_as_far_as_the_formulas_of_the_specification(blocks, relation):
    p = len(blocks)
    half = p * p // 4
    expected = (
        Sensitivity(p * (p - 1) // 2, p * (p - 1) // 2) if relation == "add-remove" else Sensitivity(2 * half, 4 * half)
    )

    assert moved(products_of_all(blocks, diagonal=False), relation) == expected
    assert moment_asked(coordinates_of(blocks)).sensitivity(relation, 1) == expected


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("blocks", LINES, ids=len)
def test_counts_of_pairs_of_ones_move_by_p_times_p_plus_1_over_2_under_both_relations(blocks, relation):
    pairs = len(blocks) * (len(blocks) + 1) // 2

    assert moved(products_of_all(blocks, diagonal=True, coding="unit"), relation) == Sensitivity(pairs, pairs)
    assert moment_asked(coordinates_of(blocks, coding="unit"), diagonal=True).sensitivity(relation, 1) == Sensitivity(
        pairs, pairs
    )


@pytest.mark.parametrize("relation", RELATIONS)
def test_products_between_centred_blocks_attain_their_bound(relation):
    loose = {}
    for blocks in ATTAINING:
        change = moved(products_of_all(blocks, diagonal=False), relation)
        bound = moment_asked(coordinates_of(blocks)).sensitivity(relation, 1)
        if change != bound:
            loose[blocks] = change, bound

    assert loose == {}
    assert len(ATTAINING) > 30


@pytest.mark.parametrize("coding", ["centred", "unit"])
def test_products_of_lists_attain_their_bound_with_the_diagonal_too(coding):
    lists = mixes(("list of 2", "list of 3", "list of 2 or missing"), 6)

    for blocks, relation in itertools.product(lists, RELATIONS):
        bound = moment_asked(coordinates_of(blocks, coding=coding), diagonal=True).sensitivity(relation, 1)
        assert moved(products_of_all(blocks, diagonal=True, coding=coding), relation) == bound


@pytest.mark.parametrize("coding", ["centred", "unit"])
@pytest.mark.parametrize("diagonal", [False, True], ids=["between", "diagonal"])
def test_an_added_row_attains_the_bound_of_products_in_every_box_and_a_replaced_one_stays_below(diagonal, coding):
    for blocks in SMALL:
        if diagonal or len(blocks) > 1:
            question = moment_asked(coordinates_of(blocks, coding=coding), diagonal=diagonal)
            added, replaced = (moved(products_of_all(blocks, diagonal, coding), relation) for relation in RELATIONS)
            assert added == question.sensitivity("add-remove", 1), blocks
            assert is_within(replaced, question.sensitivity("replace-one", 1)), blocks


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "blocks",
    [
        ("line", "line"),
        ("line",) * 3,
        ("line", "list of 2"),
        ("list of 2", "list of 2"),
        ("line or missing", "line"),
        ("line or missing", "line or missing"),
    ],
    ids="-".join,
)
def test_three_rows_of_a_person_attain_three_times_the_bound(blocks, relation):
    statistics = products_of_all(blocks, diagonal=False)

    change = moved(statistics, relation, max_rows=3)

    assert change == moment_asked(coordinates_of(blocks)).sensitivity(relation, 3)


def test_fractions_on_a_line_move_products_no_farther_than_its_ends():
    rng = np.random.default_rng(1)

    for bits, coding, diagonal in itertools.product((1, 3, 14), ("centred", "unit"), (False, True)):
        coordinates = coordinates_of(
            ("line of 5", "line of 3", "line or missing", "list of 2"), coding=coding, bits=bits
        )
        question = moment_asked(coordinates, diagonal=diagonal)
        codes = all_rows(coordinates)
        statistics = statistics_of(question, codes[rng.permutation(len(codes))[:150]])
        ends = statistics_of(question, np.array([[4, 2, 1, 0], [0, 2, 1, 0], [4, 2, 2, 1], [0, 2, 1, 1]]))
        for relation in RELATIONS:
            change = moved(np.concatenate((statistics, ends)), relation)
            assert is_within(change, question.sensitivity(relation, 1))
    assert moved(ends, "add-remove") == question.sensitivity("add-remove", 1)


# ---------------------------------------------------------------------------------- second moment, ball and simplex


INSIDE = [
    (name, bits, ("line of 5",) * p if p < 4 else (("line of 3",) * p if p < 6 else ("line",) * p))
    for name, bits, p in itertools.product(("ball", "simplex"), (0, 1, 2, 3), (1, 2, 3, 4, 5, 6))
]


def inside(convex_set, bits, blocks):
    return coordinates_of(
        blocks, convex_set=convex_set, bits=bits, coding="centred" if convex_set == "ball" else "unit"
    )


@pytest.mark.parametrize("convex_set", ["ball", "simplex"])
def test_no_vector_leaves_its_convex_set(convex_set):
    for name, bits, blocks in INSIDE:
        if name == convex_set:
            coordinates = inside(name, bits, blocks)
            codes = all_rows(coordinates)
            vectors = coordinates.vectors(dict(zip(coordinates.columns, codes.T, strict=True)))
            if convex_set == "ball":
                assert (vectors * vectors).sum(axis=1).max() <= coordinates.unit**2
            else:
                assert vectors.min() >= 0
                assert vectors.sum(axis=1).max() <= coordinates.unit
                assert coordinates.row_norm == coordinates.unit
            assert np.abs(vectors).sum(axis=1).max() <= coordinates.row_norm
            assert coordinates.row_norm <= math.sqrt(len(blocks)) * coordinates.unit


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("diagonal", [True, False], ids=["diagonal", "between"])
def test_no_products_in_a_ball_or_simplex_move_farther_than_their_bound(diagonal, max_rows):
    rng = np.random.default_rng(2)

    for name, bits, blocks in INSIDE if diagonal else [each for each in INSIDE if len(each[2]) > 1]:
        question = moment_asked(inside(name, bits, blocks), diagonal=diagonal)
        codes = all_rows(question.coordinates)
        statistics = statistics_of(question, codes[rng.permutation(len(codes))[: 80 if max_rows == 1 else 6]])
        for relation in RELATIONS:
            change = moved(statistics, relation, max_rows)
            assert is_within(change, question.sensitivity(relation, max_rows)), (name, bits, blocks)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bits", [0, 1, 2, 3])
@pytest.mark.parametrize("p", [2, 3, 4])
def test_products_in_a_simplex_attain_their_bound(p, bits, relation):
    coordinates = inside("simplex", bits, ("line of 3",) * p)
    question = moment_asked(coordinates, diagonal=True)

    assert moved(statistics_of(question, all_rows(coordinates)), relation) == question.sensitivity(relation, 1)


def test_products_in_a_ball_attain_the_bound_of_an_added_row():
    coordinates = inside("ball", 1, ("line of 5",) * 4)
    question = moment_asked(coordinates, diagonal=True)

    # (1, 1, 1, 1) and (2, 0, 0, 0) in units of a half.
    statistics = statistics_of(question, np.array([[3, 3, 3, 3], [4, 2, 2, 2]]))

    assert moved(statistics, "add-remove") == question.sensitivity("add-remove", 1) == Sensitivity(10, 16)


def test_squares_of_products_in_a_ball_attain_the_bound_of_a_replaced_row():
    coordinates = inside("ball", 2, ("line of 5",) * 2)
    question = moment_asked(coordinates, diagonal=True)

    change = moved(statistics_of(question, np.array([[4, 2], [2, 4]])), "replace-one")

    assert change.l2_squared == question.sensitivity("replace-one", 1).l2_squared == 2 * 4**4


def test_the_paper_s_bound_is_above_the_exact_one():
    for blocks in MIXES:
        coordinates = coordinates_of(blocks, coding="unit")
        paper = moment_asked(coordinates, diagonal=True, bound="paper").sensitivity("replace-one", 3)
        assert is_within(moment_asked(coordinates, diagonal=True).sensitivity("replace-one", 3), paper)
        assert paper.l1 == 3 * 2 * coordinates.size**2


# ------------------------------------------------------------------------------------------------- sums over cells


SUMMED = [
    *((blocks, {}) for blocks in (("line",), ("line",) * 3, ("line or missing", "line", "list of 2"), ("list of 3",))),
    *((blocks, {"coding": "unit"}) for blocks in (("line",) * 3, ("line or missing", "list of 3"), ("list of 1",))),
    *((("line of 3",) * 3, {"convex_set": "ball", "bits": bits}) for bits in (0, 2)),
    *((("line of 3",) * 3, {"convex_set": "simplex", "coding": "unit", "bits": bits}) for bits in (0, 2)),
]


def cells_for(coordinates):
    """Return one cell, cells between cuts and cells of lattices."""
    p, unit, rng = coordinates.size, coordinates.unit, np.random.default_rng(p_seed(coordinates))
    diagonal = np.ones((p, 1), dtype=np.int64)
    return [
        None,
        cut_cells(diagonal, [0]),
        cut_cells(np.eye(p, 2), [0], [-unit + 1, unit]),
        lattice_cells(diagonal, spacing=2, norm=4),
        *(random_cells(rng, p, size=3 * unit) for _ in range(4)),
    ]


def p_seed(coordinates):
    return [coordinates.size, coordinates.bits]


@pytest.mark.parametrize("summed", ["rows", "vectors"])
@pytest.mark.parametrize(("blocks", "settings"), SUMMED)
def test_no_sums_over_cells_move_farther_than_their_bound(blocks, settings, summed):
    coordinates, rng = coordinates_of(blocks, **settings), np.random.default_rng(3)
    codes = all_rows(coordinates)

    for cells, relation in itertools.product(cells_for(coordinates), RELATIONS):
        question = sums_asked(coordinates, cells, summed)
        statistics = statistics_of(question, codes)
        few = statistics[rng.permutation(len(statistics))[:7]]
        assert is_within(moved(statistics, relation), question.sensitivity(relation, 1))
        assert is_within(moved(few, relation, 3), question.sensitivity(relation, 3))


@pytest.mark.parametrize("max_rows", [1, 3])
def test_rows_of_cells_attain_their_bound(max_rows):
    question = sums_asked(coordinates_of(("line",)), cut_cells([[1]], [0]), "rows")
    statistics = statistics_of(question, all_rows(question.coordinates))

    for relation in RELATIONS:
        assert moved(statistics, relation, max_rows) == question.sensitivity(relation, max_rows)


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("blocks", "settings"),
    [
        (("line",) * 2, {}),
        (("line", "list of 2"), {}),
        (("line or missing",), {}),
        (("list of 2", "list of 2"), {}),
        (("list of 2",), {"coding": "unit"}),
        (("line or missing",), {"coding": "unit"}),
        (("line of 3", "line of 3"), {"convex_set": "simplex", "coding": "unit", "bits": 1}),
    ],
)
def test_sums_of_vectors_attain_their_bound(blocks, settings, relation, max_rows):
    question = sums_asked(coordinates_of(blocks, **settings))
    statistics = statistics_of(question, all_rows(question.coordinates))

    assert moved(statistics, relation, max_rows) == question.sensitivity(relation, max_rows)


def test_sums_of_ones_attain_their_bound_where_a_row_goes_to_another_cell():
    coordinates = coordinates_of(("line", "line of 3"), coding="unit", bits=1)
    question = sums_asked(coordinates, cut_cells([[0], [1]], [2]))
    square = question.sensitivity("replace-one", 1).l2_squared

    # (2, 1) in one cell, (2, 2) in the other: less than the bound by the difference of 1 and 2.
    change = moved(statistics_of(question, np.array([[1, 1], [1, 2]])), "replace-one")

    assert change == Sensitivity(7, 13)
    assert square == 16


def test_sums_in_a_ball_attain_their_bound():
    question = sums_asked(inside("ball", 1, ("line of 5",) * 4))
    statistics = statistics_of(question, np.array([[3, 3, 3, 3], [1, 1, 1, 1]]))

    for relation in RELATIONS:
        assert moved(statistics, relation) == question.sensitivity(relation, 1)
