"""Rows as vectors: columns and cells as coordinates, convex sets, and models fitted to moments."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers.bits import ZeroNoiseBits
from helpers.flag_tables import FLAG as MODEL_FLAG
from helpers.flag_tables import flags
from helpers.models import dense
from helpers.vectors import (
    Rows,
    all_rows,
    both_ways,
    coordinates_of,
    cut_cells,
    exact,
    lattice_cells,
    moment_asked,
    random_cells,
    random_coordinates,
    random_rows,
    sums_asked,
)
from lapwing.errors import ParameterError
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.questions.cell_sums import resummed
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.cell_sums.answer import answer_cell_sums
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.terms import Terms
from lapwing.maths.lattice_net import private_net
from lapwing.mechanisms.shared.vectors.means import (
    Means,
    fitted_means,
    weighted_covariance,
    weighted_mean,
)
from lapwing.mechanisms.shared.vectors.row_vectors import (
    Blocks,
    check_projection,
    projector,
    row_coordinates,
    rows_in_ball,
    rows_on_simplex,
)
from lapwing.mechanisms.shared.vectors.vector_cells import (
    Totals,
    VectorCovariance,
    chosen_bins,
    covariance_of,
    moment_question,
    noise_edge,
    sampling_variance,
    totals_of,
)
from lapwing.mechanisms.vectors.microaggregation.model import (
    means_as_model,
    net_cells,
    total_questions,
)
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import evenly, lookup
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


# -------------------------------------------------------------------------------------------------------- convex sets
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


# ------------------------------------------------------------------------------------------------- a cell of its own
def cells_by_hand(projection, vectors):
    """Return the cells of whole vectors, from what the documentation says, in Python's own integers."""
    cells = []
    for row in vectors.astype(int).tolist():
        at = [sum(a * b for a, b in zip(row, axis, strict=True)) for axis in projection.directions.T.tolist()]
        if projection.spacing:
            gaps = [a - b for a, b in zip(at, projection.origin.tolist(), strict=True)]
            net = projection._net.tolist()
            distances = [
                sum((a - projection.spacing * k) ** 2 for a, k in zip(gaps, each, strict=True)) for each in net
            ]
            cells.append(distances.index(min(distances)))
            continue
        cell = 0
        for number, cuts in zip(at, projection.cuts, strict=True):
            cell = cell * (len(cuts) + 1) + sum(cut <= number for cut in cuts.tolist())
        cells.append(cell)
    return cells


def near_ties(rng, projection, unit):
    """Move cuts or origin so that many of the rows lie on, just above, or just below a boundary."""
    vectors = rng.integers(-unit, unit + 1, (200, projection.width)).astype(np.float64)
    at = vectors.astype(np.int64) @ projection.directions
    if projection.spacing:
        origin = at[0] - projection.spacing // 2 + rng.integers(-1, 2, projection.count)
        return replace(projection, origin=origin), vectors
    cuts = tuple(np.unique(np.append(at[:3, place], at[3:6, place] + 1)) for place in range(projection.count))
    return replace(projection, cuts=cuts), vectors


@pytest.mark.parametrize("size", [3, 2**20, 2**33])
@pytest.mark.parametrize("width", [1, 5, 60])
def test_the_cell_of_a_row_is_a_function_of_the_row_alone(width, size):
    rng = np.random.default_rng([width, size])

    for _ in range(8):
        projection = random_cells(rng, width, directions=int(rng.integers(0, 4)), size=size)
        projection, vectors = near_ties(rng, projection, 2)
        cells = projection.cells_of(vectors)

        assert cells.tolist() == cells_by_hand(projection, vectors)
        order = rng.permutation(len(vectors))
        assert np.array_equal(projection.cells_of(np.asfortranarray(vectors[order])), cells[order])
        alone = [int(projection.cells_of(row[None])[0]) for row in vectors]
        assert alone == cells.tolist()
        with ThreadPoolExecutor(8) as pool:
            parts = list(pool.map(projection.cells_of, np.array_split(np.repeat(vectors, 50, axis=0), 16)))
        assert np.array_equal(np.concatenate(parts), np.repeat(cells, 50))


def test_a_row_on_a_cut_lies_above_it_and_on_a_lattice_the_smaller_point_wins():
    vectors = np.array([[-1.0], [0.0], [1.0], [2.0], [3.0]])

    assert cut_cells([[2]], [-1, 2]).cells_of(vectors).tolist() == [0, 1, 2, 2, 2]
    assert lattice_cells([[1]], spacing=2, norm=1).cells_of(vectors).tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("chunk", [1, 7, 4097])
def test_sums_do_not_depend_on_order_chunks_or_threads(chunk):
    rng = np.random.default_rng(chunk)
    coordinates = coordinates_of(("line of 5", "line or missing", "list of 3", "list of 2"), bits=12)
    cells = lattice_cells(rng.integers(-(2**20), 2**20, (coordinates.size, 3)), spacing=2**30, norm=4)
    codes = random_rows(rng, coordinates, 60 if chunk < 10 else 9000)
    shuffled = Rows(coordinates, codes[rng.permutation(len(codes))], chunk)

    for question in (
        moment_asked(coordinates, diagonal=True),
        sums_asked(coordinates, cells, "rows"),
        sums_asked(coordinates, cells),
        sums_asked(coordinates, cells, "damped means", damping=3),
    ):
        expected = exact(question, Rows(coordinates, codes))
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _, question=question: exact(question, shuffled), range(8)))
        assert all(np.array_equal(each, expected) for each in found)


# ---------------------------------------------------------------------------------- the room and the audit's recount
def test_room_and_audit_agree_on_random_questions():
    rng = np.random.default_rng(7)

    for _ in range(60):
        coordinates = random_coordinates(rng)
        cells = random_cells(rng, coordinates.size, size=3 * coordinates.unit) if rng.integers(4) else None
        source = Rows(coordinates, random_rows(rng, coordinates, int(rng.integers(0, 40))), int(rng.integers(1, 20)))
        for question in (
            moment_asked(coordinates, diagonal=bool(rng.integers(2))),
            sums_asked(coordinates, cells, "rows"),
            sums_asked(coordinates, cells),
            sums_asked(coordinates, cells, "damped means", damping=int(rng.integers(1, 9))),
        ):
            room, audit = both_ways(question, source)
            assert room.dtype == np.int64
            assert np.array_equal(room, audit)


def test_questions_of_one_batch_have_their_own_cells():
    rng = np.random.default_rng(6)
    centred = coordinates_of(("line of 5", "line or missing"), bits=2)
    others = (replace(centred, coding="unit"), replace(centred, bits=3), replace(centred))
    cells = lattice_cells([[1, 0], [2, 1], [-3, 1]], spacing=2, norm=4)
    source = Rows(centred, random_rows(rng, centred, 40), 7)
    asked = [
        sums_asked(coordinates, cells, summed, damping=3 if summed == "damped means" else None)
        for coordinates in (centred, *others)
        for summed in ("rows", "vectors", "damped means")
    ]

    answers = answer_cell_sums(asked, PrivateRows.of(source, None), Terms(relation="add-remove"), ZeroNoiseBits())

    assert all(np.array_equal(each.values, resummed(each.question, source)) for each in answers)
    assert [each.question for each in answers] == asked


def coordinates_for(schema, rng, *, bits):
    """Return coordinates of all columns of any schema: ordered ones as lines, one time in two."""
    domains = [column.domain for column in schema.columns]
    kinds = ["line" if domain.ordered and rng.integers(2) else "list" for domain in domains]
    tables = [
        lookup(domain, np.arange(domain.values) % 2) if domain.values in range(2, 9) and rng.integers(3) == 0 else None
        for domain in domains
    ]
    return Coordinates(
        columns=tuple(column.name for column in schema.columns),
        groupings=tuple(
            evenly(domain, 5) if table is None else table for domain, table in zip(domains, tables, strict=True)
        ),
        kinds=tuple(kinds),
        listed=tuple(int(rng.integers(0, domain.reserved + 1)) for domain in domains),
        coding=str(rng.choice(["centred", "unit"])),
        bits=bits,
    )


@pytest.mark.parametrize("max_rows", [1, 3])
def test_room_and_audit_agree_on_tables_of_all_kinds_of_fields(max_rows):
    rng = np.random.default_rng(max_rows)

    for _ in range(40):
        pair = neighbour_pair(rng, "replace-one", max_rows)
        coordinates = coordinates_for(pair.schema, rng, bits=int(rng.integers(0, 13)))
        cells = random_cells(rng, coordinates.size, size=2 + coordinates.unit)
        questions = [moment_asked(coordinates, diagonal=True), sums_asked(coordinates, cells, "rows")]
        questions += [sums_asked(coordinates, cells), sums_asked(coordinates, cells, "damped means", damping=3)]
        changes = []
        sources = [code_table(data, pair.schema) for data in (pair.data, pair.neighbour)]
        for question in questions:
            (one, recount), (other, _) = (both_ways(question, source) for source in sources)
            assert np.array_equal(one, recount)
            bound = question.sensitivity("replace-one", max_rows)
            changes.append((np.abs(one - other).sum() <= bound.l1, ((one - other) ** 2).sum() <= bound.l2_squared))
        assert all(map(all, changes))


def test_all_rows_of_a_small_table_have_the_vectors_that_the_audit_finds():
    coordinates = coordinates_of(("line of 5", "line or missing", "list of 2 or missing"), bits=4)

    for row in all_rows(coordinates):
        room_finds, audit_finds = both_ways(sums_asked(coordinates), Rows(coordinates, [row]))
        assert np.array_equal(room_finds, audit_finds)
    assert isinstance(moment_asked(coordinates), SecondMoment)


ONE = Budget.pure(1)
RULE_REAL = {"name": "real", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}


def rule_coordinates(*fields, numbers="intervals", **settings):
    return row_coordinates(Schema.from_dict({"fields": list(fields)}), numbers, 16, **settings)


def of_flags(count, **settings):
    return row_coordinates(flags(count), "intervals", 16, **settings)


def covariance(between, inside):
    between, inside = np.array(between, dtype=float), np.array(inside, dtype=float)
    return VectorCovariance(between, inside, ~np.eye(len(between), dtype=bool), 0.1)


def answered(question, values, scale=Fraction(1)):
    return NoisySums(question, np.asarray(values, dtype=np.int64).reshape(question.shape), NoiseLaw("laplace", scale))


# ------------------------------------------------------------------------------------------------------ edge and bins
@pytest.mark.parametrize(("rows", "sd"), [(10**9, 0.02), (4000, 0.0), (4000, 0.02)])
def test_the_edge_of_noise_is_about_the_largest_eigenvalue_of_independent_columns(rows, sd):
    rng, columns = np.random.default_rng(1), 80
    noise = np.triu(rng.normal(0, math.sqrt(sd**2 + 1 / rows), (columns, columns)), 1)

    largest = np.linalg.eigvalsh(noise + noise.T)[-1]

    even = covariance(np.zeros((columns, columns)), np.eye(columns))
    assert largest == pytest.approx(noise_edge(columns, sd, sampling_variance(even, rows)), rel=0.15)


@pytest.mark.parametrize(
    ("directions", "bins", "most", "expected"),
    [
        (None, None, 20.0, (6, 3)),
        (None, None, 1.9, ()),
        (None, None, 0.0, ()),
        (0, None, 100.0, ()),
        (1, None, 100.0, (100,)),
        (3, None, 1.0, ()),
        (9, None, 8.0, (4, 2)),
        (0, 5, 100.0, ()),
        (2, 5, 1.0, (5, 5)),
        (9, 2, 1.0, (2, 2, 2)),
        (None, 5, 25.0, (5, 5)),
        (None, 5, 24.0, (5,)),
        (None, 5, 4.0, ()),
    ],
)
def test_settings_choose_directions_and_bins(directions, bins, most, expected):
    found = chosen_bins(np.array([3.0, 1.0, 0.1]), 0.5, most, directions=directions, bins=bins)

    assert found == expected


# --------------------------------------------------------------------------------------------------------------- cuts
@pytest.mark.parametrize("rows", [0, 1, 2, 100, 50_000, 10**9])
def test_the_paper_s_net_has_at_most_the_root_of_the_rows_in_cells(rows):
    rng = np.random.default_rng(1)
    vectors = rng.integers(0, 2, (200, 6)).astype(float)

    found = net_cells(of_flags(6, coding="unit"), vectors.T @ vectors / 200, rows)

    choice = private_net(max(1, rows), 6)
    if not choice.dimensions:
        assert found is None
        return
    assert found.count == choice.dimensions
    assert found.cells <= math.sqrt(rows)
    assert found.spacing * math.sqrt(found.norm) <= math.sqrt(6) * 2**20 * (1 + 1e-9)
    assert found.spacing / (math.sqrt(6) * 2**20) == pytest.approx(choice.alpha / math.sqrt(choice.dimensions))


# --------------------------------------------------------------------------------------------- totals and covariance
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_number_of_rows_is_asked_for_where_it_is_private_at_the_noise_of_one_sum(relation):
    rows = 50 if relation == "replace-one" else None
    terms = Terms(relation=relation, rows=rows)
    questions = total_questions(of_flags(4), ONE, terms)

    found = totals_of(tuple(answered(each, np.arange(-3, each.shape[0] * each.width - 3)) for each in questions), terms)

    assert [each.summed for each in questions] == (["rows", "vectors"] if rows is None else ["vectors"])
    assert sum(each.cost.amount for each in questions) == 1
    assert len({each.noise(relation, 1) for each in questions}) == 1
    assert (found.rows, found.rows_sd) == ((1.0, math.sqrt(found.rows_sd**2)) if rows is None else (50.0, 0.0))
    assert found.sums.tolist() == [-3.0, -2.0, -1.0, 0.0]


@pytest.mark.parametrize("bits", [0, 12])
def test_a_covariance_without_diagonal_fills_in_what_lines_and_lists_have_there(bits):
    both = (
        rule_coordinates(FLAG, KIND)
        if bits == 0
        else rule_coordinates(FLAG, RULE_REAL | {"name": "r"}, numbers="means")
    )
    rng, rows = np.random.default_rng(2), 400
    codes = {name: rng.integers(0, [2, 4][place] if bits == 0 else 2, rows) for place, name in enumerate(both.columns)}
    vectors = both.vectors(codes)
    question = moment_question(both, ONE)
    products = (vectors.T @ vectors)[question.pairs]
    totals = Totals(float(rows), 0.0, vectors.sum(axis=0) / both.unit, 0.0)

    found = covariance_of(answered(question, products), totals)

    expected = np.cov(vectors / both.unit, rowvar=False, bias=True)
    assert question.diagonal is (bits > 0)
    assert found.between + found.inside == pytest.approx(expected, abs=1e-12)
    assert not found.between[~found.pairs].any()
    assert not found.inside[found.pairs].any()
    assert found.pairs.tolist() == (both.owners[:, None] != both.owners).tolist()
    assert found.sd == pytest.approx(NoiseLaw("laplace", Fraction(1)).sd / both.unit**2 / rows)


MODEL_MAYBE = {"name": "maybe", "type": "integer", "constraints": {"minimum": 0, "maximum": 10}, "special": [99]}


def model_coordinates(*fields, numbers="intervals", intervals=16):
    schema = Schema.from_dict({"fields": list(fields)})
    return schema, row_coordinates(schema, numbers, intervals)


def model_of(schema, of_rows, means, weights=None, details=None):
    """Return a model of means, of equal weights."""
    means = np.array(means, dtype=float)
    shares = np.full(len(means), 1 / len(means)) if weights is None else np.array(weights)
    return means_as_model(schema, of_rows, Means(shares, means, 9.0), 9, details or {})


# ---------------------------------------------------------------------------------------------------------- details
# ------------------------------------------------------------------------------------------------------------- laws
def test_a_mean_on_a_line_is_a_point_beside_the_shares_of_missing_and_special_values():
    schema, of_rows = model_coordinates(MODEL_FLAG, MODEL_MAYBE, numbers="means")

    # Half of the rows are regular, with the mean -0.6 (code 2); a quarter each is special and missing.
    model = model_of(schema, of_rows, [[1, -0.3, 0.25, 0.25], [1, 0, 1, 1], [1, 5, 0, 0]])

    laws = [dense(model.laws["maybe"], atom, 13) for atom in range(3)]
    assert [laws[0][code] for code in (2, 11, 12)] == pytest.approx([0.5, 0.25, 0.25])
    assert laws[1][11:] == pytest.approx([0.5, 0.5])
    assert laws[2][10] == pytest.approx(1.0)
    assert [law.sum() for law in laws] == pytest.approx([1.0] * 3)


BETWEEN = ~np.eye(4, dtype=bool)


def cells_of(seed, cells=30, columns=4, spread=0.4):
    """Return means of cells in the box, and their weights."""
    rng = np.random.default_rng(seed)
    return box(rng.normal(0, spread, (cells, columns))), rng.dirichlet(np.full(cells, 0.7))


def misfit(means, weights, aim, pairs):
    """Return the sum of squared differences of the pairs' covariances from the aim."""
    own = weighted_covariance(means, weights, weighted_mean(means, weights))
    return float(((own - aim)[pairs] ** 2).sum())


# --------------------------------------------------------------------------------------------------------- shrinking
# ----------------------------------------------------------------------------------------------------------- fitting
@pytest.mark.parametrize("seed", range(8))
def test_a_covariance_that_cells_can_have_is_reached_with_the_same_mean(seed):
    means, weights = cells_of(seed, spread=0.2)
    centre = weighted_mean(means, weights)
    turned = centre + (means - centre) @ (np.eye(4) + np.random.default_rng(seed).normal(0, 0.15, (4, 4)))
    aim = weighted_covariance(turned, weights, weighted_mean(turned, weights))

    found = fitted_means(means, weights, aim, BETWEEN, box)

    assert misfit(found, weights, aim, BETWEEN) < 0.02 * misfit(means, weights, aim, BETWEEN)
    assert weighted_mean(found, weights) == pytest.approx(centre, abs=1e-12)


@pytest.mark.parametrize("project", [box, rows_in_ball, rows_on_simplex], ids=["box", "ball", "simplex"])
@pytest.mark.parametrize("seed", range(6))
def test_no_aim_makes_the_misfit_larger_or_leaves_the_set(seed, project):
    rng = np.random.default_rng(seed)
    means, weights = cells_of(seed, spread=0.9)
    means = project(means)
    noise = rng.normal(0, rng.choice([0.01, 0.1, 1.0]), (4, 4))
    aim = weighted_covariance(means, weights, weighted_mean(means, weights)) + noise + noise.T

    found = fitted_means(means, weights, aim, BETWEEN, project)

    assert misfit(found, weights, aim, BETWEEN) <= misfit(means, weights, aim, BETWEEN)
    assert found == pytest.approx(project(found), abs=1e-12)


def nearest_by_scipy(point, *, bounds, constraints=()):
    """Return the nearest point of a set that scipy's SLSQP finds."""
    found = minimize(
        lambda x: ((x - point) ** 2).sum(),
        np.clip(point, *np.array(bounds, dtype=float).T),
        jac=lambda x: 2 * (x - point),
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


SUMS_TO_ONE = {"type": "eq", "fun": lambda x: x.sum() - 1}


@pytest.mark.parametrize("width", [1, 2, 5])
def test_points_go_to_the_nearest_of_the_simplex(width):
    points = np.random.default_rng(width).normal(0, 1, (12, width))

    found = rows_on_simplex(points)

    for point, nearest in zip(points, found, strict=True):
        expected = nearest_by_scipy(point, bounds=[(0, 1)] * width, constraints=SUMS_TO_ONE)
        assert nearest == pytest.approx(expected, abs=1e-5)
    assert rows_on_simplex(found) == pytest.approx(found, abs=1e-15)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_points_go_to_the_nearest_of_the_ball(width):
    points = np.random.default_rng(width).normal(0, 1, (12, width))
    inside = {"type": "ineq", "fun": lambda x: 1 - (x**2).sum(), "jac": lambda x: -2 * x}

    found = rows_in_ball(points)

    for point, nearest in zip(points, found, strict=True):
        expected = nearest_by_scipy(point, bounds=[(-1, 1)] * width, constraints=inside)
        assert nearest == pytest.approx(expected, abs=1e-5)
    short = points[(points**2).sum(axis=1) <= 1]
    assert rows_in_ball(short).tolist() == short.tolist()


def test_points_go_to_the_nearest_of_a_product_of_intervals_and_simplices():
    lows = np.array([-1.0, np.nan, np.nan, 0.0, np.nan, np.nan, np.nan, np.nan])
    product = Blocks(lows, [np.array([[1, 6], [2, 7]]), np.array([[4], [5]])])
    points = np.random.default_rng(1).normal(0, 1.5, (20, 8))

    found = product.project(points)

    for point, nearest in zip(points, found, strict=True):
        assert nearest[0] == min(1.0, max(-1.0, point[0]))
        assert nearest[3] == min(1.0, max(0.0, point[3]))
        assert nearest[4] == nearest[5] == 1.0
        for pair in ([1, 6], [2, 7]):
            expected = nearest_by_scipy(point[pair], bounds=[(0, 1)] * 2, constraints=SUMS_TO_ONE)
            assert nearest[pair] == pytest.approx(expected, abs=1e-5)
    assert product.project(found) == pytest.approx(found, abs=1e-15)
    assert product.project(points[:0]).shape == (0, 8)


@pytest.mark.parametrize(
    ("lows", "simplices"),
    [
        ([-1.0, 0.0], [[[1]]]),
        ([-1.0, np.nan], []),
        ([np.nan, np.nan], [[[0, 1]], [[1]]]),
        ([np.nan, np.nan], [[[0, 1, 2]]]),
    ],
)
def test_a_coordinate_in_no_block_or_in_two_is_refused(lows, simplices):
    with pytest.raises(ParameterError, match="each coordinate must be an interval or in one simplex; list it once"):
        Blocks(np.array(lows), [np.array(each) for each in simplices])
