"""Rows as vectors: the coordinates that columns get, and the projections of means on their convex set."""

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.vectors.row_vectors import check_projection, is_binary, projector, row_coordinates
from lapwing.schema.schemas import Schema

REQUIRED = {"required": True}
FLAG = {"name": "flag", "type": "boolean", "constraints": REQUIRED}
MAYBE = {"name": "maybe", "type": "boolean"}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"]}
PAIR = {"name": "pair", "type": "string", "categories": ["a", "b"], "constraints": REQUIRED}
GRADE = {"name": "grade", "type": "string", "categories": ["a", "b", "c"], "categoriesOrdered": True}
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}, "special": [-1, -2]}
FEW = {"name": "few", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}}
REAL = {"name": "real", "type": "number", "constraints": {"minimum": -1, "maximum": 3, "required": True}}
SOLE = {"name": "sole", "type": "integer", "constraints": {"minimum": 4, "maximum": 4, "required": True}}
CODES = {"name": "codes", "type": "string", "categories": [f"{a}{b:02}" for a in "abcd" for b in range(50)]}


def coordinates(*fields, numbers="intervals", intervals=16, **settings):
    return row_coordinates(Schema.from_dict({"fields": list(fields)}), numbers, intervals, **settings)


@pytest.mark.parametrize(
    ("field", "numbers", "kind", "width"),
    [
        (FLAG, "intervals", "line", 1),
        (PAIR, "intervals", "line", 1),
        (MAYBE, "intervals", "list", 3),
        (KIND, "intervals", "list", 4),
        (KIND, "means", "list", 4),
        (GRADE, "means", "list", 4),
        (FEW, "intervals", "list", 10),
        (FEW, "means", "line", 1),
        (AGE, "means", "line", 4),
        (REAL, "means", "line", 1),
        (SOLE, "intervals", "list", 1),
        (SOLE, "means", "line", 1),
    ],
)
def test_a_column_is_one_coordinate_or_one_for_each_of_its_groups(field, numbers, kind, width):
    found = coordinates(field, numbers=numbers)

    assert (found.kinds, found.widths) == ((kind,), (width,))


def test_wide_columns_have_about_as_many_intervals_as_are_asked_for():
    for intervals in (2, 8, 16, 256):
        for field in (AGE, REAL):
            (grouping,) = coordinates(field, intervals=intervals).groupings
            assert intervals / 2 <= grouping.regular <= 2 * intervals + 8


@pytest.mark.parametrize(("intervals", "regular"), [(2, 8), (16, 64), (49, 196), (50, 200)])
def test_many_categories_are_put_together_in_runs(intervals, regular):
    (grouping,) = coordinates(CODES, intervals=intervals).groupings

    assert grouping.regular <= regular
    assert (grouping.regular == 200) is (regular == 200)


def test_only_lines_of_more_than_two_values_need_fine_units():
    assert coordinates(FLAG, KIND, AGE).bits == 0
    assert coordinates(FLAG, MAYBE, numbers="means").bits == 0
    assert coordinates(FLAG, FEW, numbers="means").bits == 12
    assert coordinates(FEW, convex_set="ball").bits == coordinates(FLAG, convex_set="simplex").bits == 12


def test_the_square_of_a_line_is_known_where_it_has_two_places():
    assert is_binary(coordinates(FLAG, KIND, AGE))
    assert not is_binary(coordinates(FLAG, FEW, numbers="means"))
    assert not is_binary(coordinates(FLAG, convex_set="simplex"))


@pytest.mark.parametrize("convex_set", ["ball", "simplex"])
@pytest.mark.parametrize(
    ("field", "message"),
    [
        (AGE, 'column "age" has missing or special values, which no (ball|simplex) has; require it in the schema or'),
        (REAL | {"constraints": {"minimum": 0, "maximum": 1}}, 'column "real" has missing or special values'),
        (MAYBE, 'column "maybe" has (missing or special values|two values, which lie at -1 and 1)'),
        (KIND, 'column "kind" must be one coordinate in a (ball|simplex), but has categories'),
        (GRADE, 'column "grade" must be one coordinate in a (ball|simplex), but has categories'),
    ],
)
def test_a_column_that_is_no_number_is_in_no_ball_and_in_no_simplex(convex_set, field, message):
    with pytest.raises(ParameterError, match=f"^{message}.*convex_set='box'"):
        coordinates(FEW, field, convex_set=convex_set)


@pytest.mark.parametrize("field", [FLAG, PAIR, MAYBE])
def test_two_values_are_in_no_ball_beside_other_columns(field):
    with pytest.raises(
        ParameterError, match=r'^column ".*" has two values, which lie at -1 and 1: .* use convex_set=\'box'
    ):
        coordinates(FEW, field, convex_set="ball")


# -------------------------------------------------------------------------------------------------------- convex sets


def test_means_in_a_box_are_intervals_and_shares():
    found = projector(coordinates(FLAG, KIND, AGE, numbers="means"))(np.array([[-3.0, 2, 1, 0, 0, 5, -5, 0.5, 2]]))

    assert found.tolist() == [[-1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 1.0]]


def test_means_of_lines_from_zero_stay_above_it():
    assert projector(coordinates(FLAG, REAL, numbers="means", coding="unit"))(np.array([[-3.0, 0.5]])).tolist() == [
        [0.0, 0.5]
    ]


def test_means_in_a_ball_and_in_a_simplex_go_to_the_nearest_point():
    outside = np.array([[3.0, 4.0]])

    assert projector(coordinates(FEW, REAL, convex_set="ball"))(outside) == pytest.approx(np.array([[0.6, 0.8]]))
    assert projector(coordinates(FEW, REAL, convex_set="simplex"))(outside).tolist() == [[0.0, 1.0]]


def box(points):
    return np.clip(points, -1.0, 1.0)


def test_a_projection_of_one_s_own_gets_points_of_the_box_and_a_copy_of_them():
    seen, points = [], np.array([[2.0, -0.5], [0.1, 0.2]])

    def in_place(given):
        seen.append(given.copy())
        return np.minimum(given, 0.3, out=given)

    project = projector(coordinates(FLAG, REAL, numbers="means"), in_place)

    assert project(points).tolist() == [[0.3, -0.5], [0.1, 0.2]]
    assert seen[0].tolist() == [[1.0, -0.5], [0.1, 0.2]]
    assert points.tolist() == [[2.0, -0.5], [0.1, 0.2]]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (lambda points: points[:, :1], r"must return an array of finite numbers of shape \(3, 2\); check the callable"),
        (lambda points: points[:1], "must return an array of finite numbers"),
        (lambda _: None, "must return an array of finite numbers"),
        (lambda _: "a", "must return an array of finite numbers"),
        (lambda points: [[0.0], *points.tolist()], "must return an array of finite numbers"),
        (lambda points: points + 0j, "must return an array of finite numbers"),
        (lambda points: points * np.nan, "must return an array of finite numbers"),
        (lambda points: np.full_like(points, np.inf), "must return an array of finite numbers"),
        (lambda points: points + 1e-6, "returned points outside the box of the schema; intersect its set with the box"),
        (lambda points: -2 * points, "returned points outside the box of the schema"),
        (lambda points: points / 2, "moved points that it returned itself, so it is no projection"),
        (lambda points: np.divide(points, 2, out=points), "moved points that it returned itself"),
        (lambda points: -points, "moved points that it returned itself, so it is no projection"),
    ],
)
def test_a_callable_that_is_no_projection_inside_the_box_is_refused(own, message):
    with pytest.raises(ParameterError, match=f"^convex_set {message}"):
        check_projection(own, np.array([[1.0, 0.5], [-1.0, 0.0], [0.2, 1.0]]), box)


def test_a_projection_may_round_and_return_lists_or_whole_numbers():
    points = np.array([[1.0, 0.5]])

    assert check_projection(lambda given: np.minimum(given, 0.3, out=given), points, box).tolist() == [[0.3, 0.3]]
    assert points.tolist() == [[1.0, 0.5]]
    assert check_projection(lambda given: given.tolist(), points, box).tolist() == points.tolist()
    assert check_projection(lambda given: given + 1e-12, points, box) == pytest.approx(points)
    assert check_projection(lambda given: np.zeros(given.shape, dtype=int), points, box).dtype == np.float64
    assert check_projection(lambda given: given, points[:0], box).shape == (0, 2)
