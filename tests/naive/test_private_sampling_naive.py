"""Private sampling, written from the paper: point by point in fractions, and its two programs by general solvers."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import lapwing as lw
from helpers.private_draws import (
    MISFIT,
    asked,
    cube_schema,
    frame_of,
    kinds_of_rows,
    law_by_hand,
    sets_up_to,
    walsh,
)
from lapwing.kernel.questions.private_draw.answer import exact_weights
from lapwing.maths.reduced_density import (
    UNIT,
    degrees,
    is_well_conditioned,
    low_degree_sums,
    sign_matrix,
    walsh_transform,
)
from lapwing.rows.source import code_table

CASES = [
    (1, 1, 7, "1/10"),
    (3, 1, 20, "1/4"),
    (3, 2, 20, "1/10"),
    (4, 2, 50, "1"),
    (5, 3, 11, "2/3"),
    (5, 5, 40, "1/10"),
]
"""Columns, degree, rows, floor."""


def random_points(columns, rows, rng):
    """Return rows that lean to one side, some with misfits."""
    drawn = (rng.random((rows, columns)) < rng.random(columns)).astype(int)
    return [MISFIT if rng.random() < 0.1 else tuple(row) for row in drawn.tolist()]


@pytest.mark.parametrize(("columns", "degree", "rows", "floor"), CASES)
def test_the_weights_are_the_law_of_the_paper(columns, degree, rows, floor):
    points = random_points(columns, rows, np.random.default_rng(rows))
    question = asked(columns, rows, degree=degree, floor=floor)

    weights = exact_weights(question, code_table(frame_of(points, columns), cube_schema(columns))).tolist()

    law = law_by_hand(points, columns, degree, Fraction(floor))
    assert [Fraction(weight, sum(weights)) for weight in weights] == law


@pytest.mark.parametrize(("columns", "degree", "rows", "floor"), CASES)
def test_the_density_has_the_marginals_of_the_table_where_its_floor_leaves_it_alone(columns, degree, rows, floor):
    points = random_points(columns, rows, np.random.default_rng(rows))
    flat = points + [point for point in kinds_of_rows(columns)[:-1] for _ in range(2 * rows)]

    law = law_by_hand(flat, columns, degree, Fraction(1, 1000))

    cube = [point[::-1] for point in itertools.product((0, 1), repeat=columns)]
    for members in sets_up_to(columns, degree)[1:]:
        mean = Fraction(sum(walsh(members, point) for point in flat if point is not MISFIT), len(flat))
        assert sum(share * walsh(members, point) for share, point in zip(law, cube, strict=True)) == mean


@pytest.mark.parametrize("floor", [0.01, 0.3, 1])
def test_a_density_of_all_columns_is_as_near_to_the_table_as_it_says(floor):
    rng = np.random.default_rng(3)
    plan = lw.plan(
        cube_schema(3),
        expected_rows=20,
        epsilon=99,
        mechanism=lw.PrivateSampling(degree=3, floor=floor),
        neighbours="replace-one",
    )
    said = {statement.code: statement.value for statement in plan.accuracy}["distance_of_density"]

    for _ in range(20):
        points = [kinds_of_rows(3)[each] for each in rng.integers(8, size=20) * rng.integers(2)]
        table = np.bincount([x + 2 * y + 4 * z for x, y, z in points], minlength=8) / 20
        density = np.array(law_by_hand(points, 3, 3, Fraction(str(floor))), dtype=float)

        assert np.abs(table - density).sum() / 2 <= said + 1e-12  # sums of a few doubles


def density_by_solvers(points, values, means, floor, ceiling):
    """Return steps 4 and 5: the smallest λ by a linear program, the nearest density by another solver."""
    count = len(points)
    uniform = np.full(count, 1 / count)
    target = means - values.T @ uniform
    # h = (1 - λ) H + λ u has the coefficients of u plus (1 - λ) times the rest: variables h and λ.
    equations = np.column_stack([values.T, target])
    bounds = [(2 * floor / count, (ceiling - floor) / count)] * count + [(0, 1)]
    found = linprog([*[0] * count, 1], A_eq=equations, b_eq=values.T @ uniform + target, bounds=bounds)
    wanted = values.T @ uniform + (1 - found.x[-1]) * target
    nearest = minimize(
        lambda h: ((h - uniform) ** 2).sum() * count,
        found.x[:-1],
        jac=lambda h: 2 * (h - uniform) * count,
        constraints=[{"type": "eq", "fun": lambda h: values.T @ h - wanted, "jac": lambda h: values.T}],
        bounds=[(floor / count, ceiling / count)] * count,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x[-1], nearest.x


@pytest.mark.parametrize(
    ("columns", "degree", "size", "rows", "floor", "ceiling"),
    [
        (1, 1, 4, 5, 0.25, 2.0),
        (2, 1, 5, 30, 0.25, 2.0),
        (3, 1, 8, 40, 0.1, 1.5),
        (3, 2, 12, 25, 0.25, 2.0),
        (4, 1, 16, 100, 0.4, 1.6),
        (4, 2, 20, 60, 0.05, 3.0),
    ],
)
def test_the_published_density_is_that_of_general_solvers(columns, degree, size, rows, floor, ceiling):
    rng = np.random.default_rng([columns, size])
    points = next(
        each
        for each in (rng.integers(2**columns, size=size) for _ in range(500))
        if is_well_conditioned(each, columns, degree)
    )
    table = random_points(columns, rows, rng)
    question = asked(columns, rows, degree=degree, floor=str(floor), points=points.tolist(), ceiling=str(ceiling))

    weights = exact_weights(question, code_table(frame_of(table, columns), cube_schema(columns)))

    cube = [tuple(point >> place & 1 for place in range(columns)) for point in points.tolist()]
    sets = sets_up_to(columns, degree)
    values = np.array([[walsh(members, point) for members in sets] for point in cube], dtype=float)
    means = np.array(
        [1.0] + [np.mean([0 if x is MISFIT else walsh(members, x) for x in table]) for members in sets[1:]]
    )
    _, density = density_by_solvers(cube, values, means, floor, ceiling)
    # SLSQP stops where the squared distance changes by less than 1e-14, so it is about 1e-7 off.
    assert np.abs(weights / UNIT - density).max() < 1e-5
    assert size * weights.min() >= floor * UNIT - size
    assert size * weights.max() <= ceiling * UNIT


@pytest.mark.parametrize(("columns", "degree"), [(1, 1), (3, 1), (4, 2), (3, 3)])
def test_the_smallest_singular_value_decides_about_points(columns, degree):
    rng = np.random.default_rng(columns)
    seen = set()

    for size in range(1, 3 * columns + 12):
        for _ in range(4):
            points = rng.integers(2**columns, size=size)
            signs = sign_matrix(points, columns, degree).astype(float)
            least = np.linalg.svd(signs.T @ signs, compute_uv=False).min() ** 0.5
            bound = size**0.5 / (2 * np.exp(degree))
            if abs(least - bound) > 1e-6:  # beyond the rounding of the singular value of a small matrix
                assert is_well_conditioned(points, columns, degree) == (least > bound)
                seen.add(bool(least > bound))

    assert True in seen
    assert False in seen


@pytest.mark.parametrize(("size", "suits"), [(59, True), (60, False)])
def test_the_bound_on_the_singular_value_is_met_to_the_point(size, suits):
    """All points but one are equal: the squared value is 2, the bound a fourth of ``m / e**2``, 1.996 and 2.03."""
    points = np.array([1] + [0] * (size - 1))

    assert is_well_conditioned(points, 1, 1) == suits


@pytest.mark.parametrize("columns", [0, 1, 4])
def test_the_fast_transform_is_the_sum_over_all_points(columns):
    values = np.random.default_rng(columns).integers(-50, 50, size=2**columns)
    cube = range(2**columns)

    slow = [sum(int(values[x]) * (-1) ** (x & mask).bit_count() for x in cube) for mask in cube]

    assert walsh_transform(values).tolist() == slow
    assert (walsh_transform(walsh_transform(values)) == values * 2**columns).all()
    assert degrees(columns).tolist() == [mask.bit_count() for mask in cube]
    assert low_degree_sums(values, 7, 1).tolist() == [
        7 if mask == 0 else (slow[mask] if mask.bit_count() == 1 else 0) for mask in cube
    ]
