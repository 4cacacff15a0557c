"""PSMM: its measures, the flow that covers negative counts, and metrics that a schema brings."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom

import lapwing as lw
from helpers.audits import under_one_relation_each
from helpers.bits import SeededBits
from helpers.pmm_runs import frame_of, refused, run, unit_columns
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.terms import Terms
from lapwing.maths.noise_transport import noise_transport
from lapwing.mechanisms.shared.trees.accuracy import noise_tree
from lapwing.mechanisms.shared.trees.own_metrics import EARTH_KM, own_metric, own_shape
from lapwing.mechanisms.shared.trees.simulation import tree_deltas
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.trees.psmm.accuracy import counted_cells, released_statements
from lapwing.mechanisms.trees.psmm.box_cells import Steps, box_cells, cover_deficits
from lapwing.mechanisms.trees.psmm.measures import cover_line, isotonic_l1
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.model.rows import sample_codes
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

SIZE = {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [99]}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}}
MIXED = Schema.from_dict({"fields": [SIZE, KIND]})
ROWS = pl.DataFrame({"size": ["0", "6", "6", "99", None, "3"] * 50, "kind": ["a", "b", "c", "c", "a", "b"] * 50})
NOTHING = ROWS.clear()


class NoRows:
    """A curator who may not be asked."""

    terms = Terms(relation="add-remove")


def optional_column(columns=1):
    """Return a schema of numbers from 0 to 1 that may be missing, so that no row can be a misfit."""
    number = {"type": "number", "constraints": {"minimum": 0, "maximum": 1}, "special": [7]}
    return Schema.from_dict({"fields": [{"name": f"x{place}", **number} for place in range(columns)]})


def test_a_counted_table_far_larger_than_its_cells_is_refused():
    flags = [{"name": f"f{i}", "type": "boolean", "constraints": {"required": True}} for i in range(16)]

    with pytest.raises(CapacityError, match="a cell for each combination"):
        box_cells(Schema.from_dict({"fields": flags}), 1, 65_536)


@pytest.mark.parametrize(
    ("columns", "wanted", "shape"),
    [(1, 1, (1,)), (1, 1000, (1000,)), (2, 99, (9, 9)), (2, 100, (10, 10)), (3, 999, (9, 9, 9))],
)
def test_a_box_is_cut_into_equal_runs_of_each_column(columns, wanted, shape):
    cells = box_cells(unit_columns(columns), wanted, 2**20)

    assert cells.shape == shape
    assert cells.diameter == pytest.approx(1 / shape[0])
    assert cells.is_exact
    assert all((sides == 1).all() and sides.size == shape[0] - 1 for sides in cells.sides)


def test_one_cell_for_each_combination_is_counted_even_where_fewer_are_asked_for():
    _, (answer,) = run(PSMM(cells=1), ROWS, MIXED)

    assert answer.question.shape == (3, 4)


@pytest.mark.parametrize(("epsilon", "cells"), [("0.01", 4), ("0.1", 16), (1, 128), (10, 2048)])
def test_more_budget_gives_more_cells(epsilon, cells):
    data = frame_of(np.full((5, 1), 0.5))

    _, (answer,) = run(PSMM(), data, unit_columns(1), budget=Budget.pure(epsilon), expected_rows=1000)

    assert answer.question.shape == (cells + 1,)


@pytest.mark.parametrize("variant", ["default", "paper"])
@pytest.mark.parametrize("data", [ROWS, NOTHING, ROWS.head(1)], ids=["300 rows", "no row", "one row"])
def test_the_model_stands_for_the_public_number_of_rows(variant, data):
    model, _ = run(PSMM(cells=40, variant=variant), data, MIXED, relation="replace-one", bits=SeededBits(3))

    assert model.rows == data.height


def test_the_model_stands_for_the_sum_of_the_noisy_counts():
    model, (answer,) = run(PSMM(cells=40), ROWS, MIXED, bits=SeededBits(3))

    inside = answer.counts[:, :3].sum()
    assert model.rows == inside != 300
    assert model.weights.sum() == inside
    assert (model.weights > 0).all()


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("is_required", [True, False])
def test_the_linear_program_sums_to_the_public_number(columns, is_required):
    data = frame_of(np.random.default_rng(1).random((500, columns)))
    schema = unit_columns(columns) if is_required else optional_column(columns)

    public, _ = run(PSMM(cells=64, variant="paper"), data, schema, relation="replace-one", bits=SeededBits(2))
    rescaled, _ = run(PSMM(cells=64), data, schema, relation="replace-one", bits=SeededBits(2))

    assert public.weights.sum() == pytest.approx(500)
    assert rescaled.weights.sum() != pytest.approx(500)
    assert public.rows == rescaled.rows == 500


def test_the_linear_program_leaves_out_misfits_that_noise_does_not_explain():
    points = frame_of(np.random.default_rng(1).random((500, 1)))
    odd = pl.DataFrame({"x0": pl.Series([None] * 300, dtype=pl.Float64)})

    model, _ = run(
        PSMM(cells=64, variant="paper"),
        pl.concat([points, odd]),
        unit_columns(1),
        relation="replace-one",
        bits=SeededBits(2),
    )

    assert model.weights.sum() == pytest.approx(500, abs=12)  # noise of standard deviation 2.8 on the misfits
    assert model.rows == 800


def test_what_the_linear_program_adds_does_not_end_up_in_one_cell():
    data, schema = frame_of(np.random.default_rng(1).random((4000, 1))), optional_column()
    largest = []
    for seed in range(8):
        model, _ = run(PSMM(cells=40, variant="paper"), data, schema, relation="replace-one", bits=SeededBits(seed))
        largest.append(model.weights.max())

    # A hundred rows in each cell; noise of standard deviation 2.8 in a cell and 18 in the sum.
    assert max(largest) < 150


def test_a_noisy_sum_of_nothing_gives_the_uniform_model_and_says_so():
    mechanism, rng = PSMM(cells=40), np.random.default_rng(1)
    for seed in range(60):
        model, answers = run(mechanism, NOTHING, MIXED, bits=SeededBits(seed))
        if model.rows == 0:
            break

    (stated, _) = mechanism.statements(MIXED, NoRows.terms, answers, model, rng)

    assert model.rows == 0
    assert model.atoms == 1
    assert (int(model.laws["size"].laws.stops[0]), int(model.laws["kind"].laws.stops[0])) == (7, 3)
    assert "The noisy counts sum to 0 or less: the model is uniform" in stated.text
    assert stated.value == 1.0


# --------------------------------------------------------------------------------------------- statements and plans
def test_less_error_is_expected_of_more_rows():
    few, many = (lw.plan(unit_columns(2), expected_rows=rows, epsilon=1, mechanism="PSMM") for rows in (10**3, 10**5))

    assert many.accuracy[0].value < few.accuracy[0].value / 3


@pytest.mark.parametrize("scale", [10, 60])
def test_the_stated_distance_counts_what_was_moved_and_what_the_noise_may_hide(scale):
    kinds = {"name": "kind", "type": "string", "categories": ["a", "b"]}
    schema = Schema.from_dict({"fields": [kinds]})
    cells, noise = box_cells(schema, 3, 3), NoiseLaw("laplace", Fraction(scale))
    counted = counted_cells(schema, cells, noise, np.array([4000, -90, 0]), None)

    (distance, _) = released_statements(
        cells, counted, np.array([3910.0, 0.0, 0.0]), "uniform", np.random.default_rng(1)
    )

    # 90 were moved, and three noises of this scale move more than twice, and less than ten times it.
    assert 90 + 2 * scale < distance.value * 3910 < 90 + 10 * scale


def test_a_placement_in_the_centre_states_more():
    schema = unit_columns(1)
    model, answers = run(PSMM(cells=8), frame_of(np.full((900, 1), 0.3)), schema)

    stated = [
        PSMM(cells=8, placement=placement)
        .statements(schema, Terms(relation="add-remove"), answers, model, np.random.default_rng(1))[0]
        .value
        for placement in ("uniform", "centre")
    ]

    assert stated[1] == pytest.approx(stated[0] + 1 / 16)


FAR = float("inf")


def line(lengths):
    places = np.arange(len(lengths) + 1, dtype=np.int64)
    return Steps(places[:-1], places[1:], np.array(lengths, dtype=np.int64))


def complete(cells, rng):
    """Return steps between all pairs of cells, at arbitrary whole costs."""
    tails, heads = (np.array(each) for each in zip(*itertools.combinations(range(cells), 2), strict=True))
    return Steps(tails, heads, rng.integers(1, 9, tails.size))


def cheapest(counts, steps, free):
    """Return the least cost of covering all deficits but ``free``, by a linear program over the steps."""
    cells, arcs = counts.size, 2 * steps.tails.size
    tails, heads = np.concatenate((steps.tails, steps.heads)), np.concatenate((steps.heads, steps.tails))
    out = np.zeros((cells + 1, arcs + cells))
    out[tails, np.arange(arcs)] += 1
    out[heads, np.arange(arcs)] -= 1
    out[np.arange(cells), arcs + np.arange(cells)] = -1
    out[cells, arcs:] = 1
    prices = np.concatenate((steps.costs, steps.costs, np.zeros(cells)))
    return linprog(prices, A_ub=out, b_ub=np.append(counts, free)).fun


def cost_between(before, after, steps):
    """Return the least cost of moving one table into another of the same sum."""
    return cheapest(before - after, steps, 0)


@given(st.lists(st.integers(-5, 6), min_size=2, max_size=9), st.integers(0, 6), st.integers(0, 10**6))
def test_the_covered_deficits_cost_as_little_as_a_linear_program_finds(counts, free, seed):
    rng, counts = np.random.default_rng(seed), np.array(counts, dtype=np.int64)
    steps = complete(counts.size, rng)
    free = max(free, -int(counts.sum()))

    left = cover_deficits(counts, steps, price=FAR, free=free)

    deficits = -np.minimum(counts, 0).sum()
    assert left.sum() == counts.sum()
    assert -np.minimum(left, 0).sum() == min(free, deficits)
    assert (np.minimum(left, 0) >= np.minimum(counts, 0)).all()
    assert (np.maximum(left, 0) <= np.maximum(counts, 0)).all()
    assert cost_between(counts, left, steps) == pytest.approx(cheapest(counts, steps, free))


@given(st.lists(st.integers(-5, 6), min_size=2, max_size=30), st.integers(0, 10**6))
def test_on_a_line_it_costs_what_isotonic_regression_costs(counts, seed):
    counts, rng = np.array(counts, dtype=np.int64), np.random.default_rng(seed)
    counts[0] += max(0, -int(counts.sum()))
    lengths = rng.integers(1, 5, counts.size - 1)

    left = cover_deficits(counts, line(lengths), price=FAR)

    costs = [
        int((lengths * np.abs(np.cumsum(counts - each))[:-1]).sum()) for each in (left, cover_line(counts, lengths))
    ]
    assert left.min() >= 0
    assert costs[0] == costs[1]


@pytest.mark.parametrize(("price", "left"), [(2.0, [3, 0, -1]), (2.5, [2, 0, 0]), (FAR, [2, 0, 0])])
def test_a_deficit_that_only_dearer_paths_reach_is_left(price, left):
    assert cover_deficits(np.array([3, 0, -1]), line([1, 1]), price=price).tolist() == left


@pytest.mark.parametrize("scale", [1, 2**33, 2**55])
def test_huge_counts_are_moved_whole(scale):
    counts = np.array([5, -3, 7, -2, 1], dtype=np.int64) * scale + np.array([1, 0, 3, 2, 0])

    left = cover_deficits(counts, line([1] * 4), price=FAR)

    assert left.sum() == counts.sum()
    assert left.min() >= 0


def test_counts_above_32_bits_beside_small_deficits_are_exact():
    counts = np.array([2**40, -3, 2**35, -(2**20)], dtype=np.int64)

    left = cover_deficits(counts, line([2, 1, 5]), price=FAR)

    assert left.tolist() == [2**40, 0, 2**35 - 2**20 - 3, 0]


# -- Isotonic regression in absolute error, and covering negative counts on a line.
SEQUENCES = st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 4)), min_size=1, max_size=6)


def error(result, values, weights):
    return int((weights * np.abs(result - values)).sum())


@given(SEQUENCES)
def test_no_other_sequence_is_nearer(pairs):
    values, weights = (np.array(each, dtype=np.int64) for each in zip(*pairs, strict=True))

    result = isotonic_l1(values, weights)

    others = itertools.combinations_with_replacement(sorted(set(values.tolist())), len(values))
    assert (np.diff(result) >= 0).all()
    assert error(result, values, weights) == min(error(np.array(other), values, weights) for other in others)


# -- Upper bounds of the bounded-Lipschitz norm of noise.
def grid(shape, rng, tables=1, layers=1):
    return rng.integers(-5, 6, (tables, layers, *shape)).astype(float)


def ones(shape):
    return [np.ones(size - 1, dtype=np.int64) for size in shape]


def test_tables_are_bounded_one_by_one():
    rng = np.random.default_rng(1)
    noise = grid((5, 3), rng, tables=4, layers=2)

    together = noise_transport([(noise, ones((5, 3)))], 0.2)

    alone = [noise_transport([(table[None], ones((5, 3)))], 0.2)[0] for table in noise]
    assert together == pytest.approx(alone)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (64,), (5, 5), (8, 3), (4, 3, 5)])
def test_the_bound_of_the_expectation_is_above_the_mean_and_not_far_from_it(shape):
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 3, (4000, 2, *shape))

    mean = noise_transport([(noise, ones(shape))], 0.1).mean()
    (bound,) = noise_transport([(np.full((1, 2, *shape), 9.0), ones(shape))], 0.1, "variances")

    # The mean of a normal variable's absolute value is 0.8 standard deviations.
    assert mean == pytest.approx(bound * np.sqrt(2 / np.pi), rel=0.03)


CODES = ["".join(each) for each in itertools.product("AB", "12", "xy")]
SIDE, CORNER = 8, np.array([40, -3])


def metric_grid(name: str, low: int) -> dict[str, object]:
    return {
        "name": name,
        "type": "integer",
        "constraints": {"minimum": low, "maximum": low + SIDE - 1, "required": True},
    }


SQUARE = Schema.from_dict({"fields": [metric_grid("lat", 40), metric_grid("lon", -3)]})
WORDS = Schema.from_dict(
    {
        "fields": [
            {
                "name": "code",
                "type": "string",
                "categories": CODES[::-1],
                "hierarchy": {"prefixes": [1, 2]},
                "constraints": {"required": True},
            }
        ]
    }
)
ROADS = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0))) * 3
CASES = {
    "euclidean": (("euclidean", "lat", "lon"), SQUARE),
    "great-circle": (("great-circle", "lat", "lon"), SQUARE),
    "hierarchy": (("hierarchy", "code"), WORDS),
    "distances": (("distances", "code", CODES, ROADS), WORDS),
}


def places(schema: Schema) -> np.ndarray:
    """Return all combinations of codes, in the order of the cells of the deepest level."""
    return np.array(list(itertools.product(*(range(field.domain.values) for field in schema.columns))))


def on_the_globe(one, other) -> float:
    """Return the great-circle distance of two places in degrees, in kilometres."""
    (a, b), (c, d) = np.radians(one), np.radians(other)
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(min(1.0, half)))


def naive_distance(kind: str, one: np.ndarray, other: np.ndarray) -> float:
    """Return the distance of two combinations of codes, from the definition, in its unit."""
    if kind == "euclidean":
        return math.dist(one, other)
    if kind == "great-circle":
        return on_the_globe(one + CORNER, other + CORNER)
    first, second = (str(WORDS.columns[0].categories[each[0]]) for each in (one, other))
    if kind == "distances":
        return float(ROADS[CODES.index(first), CODES.index(second)])
    return float(next((3 - place for place in range(3) if first[place] != second[place]), 0))


def all_distances(kind: str, schema: Schema) -> np.ndarray:
    points = places(schema)
    return np.array([[naive_distance(kind, one, other) for other in points] for one in points])


def tree_of(setting, schema):
    """Return the question of a plan and its tree."""
    mechanism = PMM(metric=setting, depth=6 if schema is SQUARE else 3)
    _, answers = run(mechanism, empty(schema), schema, expected_rows=1000)
    noisy = next(each for each in answers if type(each).__name__ == "NoisyTree")
    metric = own_metric(mechanism.metric, schema)
    return noisy.question, noise_tree(noisy.question, noisy.noises, schema, is_root_exact=False, metric=metric), metric


def empty(schema: Schema) -> pl.DataFrame:
    kinds = {field.name: pl.String if field.type == "string" else pl.Int64 for field in schema.columns}
    return pl.DataFrame({name: [] for name in kinds}, schema=kinds)


@pytest.mark.parametrize("kind", CASES)
def test_diameters_are_those_of_the_farthest_pair_of_each_cell(kind: str) -> None:
    setting, schema = CASES[kind]
    question, tree, metric = tree_of(setting, schema)
    distances, points = all_distances(kind, schema), places(schema)
    assert distances.max() <= metric.farthest * (1 + 1e-12)

    for level, shape in enumerate(question.shapes):
        sizes = np.broadcast_to(tree.diameters[level], shape) * metric.farthest
        cut = zip(question.hierarchies, question.depths(level), points.T, strict=True)
        cells = np.column_stack([np.searchsorted(each.starts(depth), codes, "right") - 1 for each, depth, codes in cut])
        for cell in np.ndindex(*shape):
            inside = (cells == cell).all(axis=1)
            farthest = distances[np.ix_(inside, inside)].max()
            assert farthest <= sizes[cell] * (1 + 1e-12)
            # A great circle is shorter than the way that the bound goes, by little in so small a box.
            assert sizes[cell] <= farthest * (1.05 if kind == "great-circle" else 1 + 1e-12)


def test_around_the_globe_no_cell_is_wider_than_its_diameter() -> None:
    steps = {"lat": (-80, 80), "lon": (-180, 160)}
    fields = [
        {"name": name, "type": "integer", "constraints": {"minimum": low, "maximum": high}, "resolution": 20}
        for name, (low, high) in steps.items()
    ]
    schema = Schema.from_dict({"fields": fields})
    metric = own_metric(("great-circle", "lat", "lon"), schema)
    assert metric.farthest == pytest.approx(math.pi * EARTH_KM)

    for depths in itertools.product(range(5), range(5)):
        cut = [hierarchy(field.domain, depth) for field, depth in zip(schema.columns, depths, strict=True)]
        levels = dict(zip(steps, zip(cut, depths, strict=True), strict=True))
        shape = [nested.groups(depth) for nested, depth in zip(cut, depths, strict=True)]
        sizes = np.broadcast_to(metric.sizes(levels, tuple(steps)), shape) * metric.farthest
        for cell in np.ndindex(*shape):
            runs = zip(cut, depths, cell, schema.columns, strict=True)
            sides = [
                range(int(nested.starts(depth)[place]), min(int(nested.stops(depth)[place]), field.domain.values))
                for nested, depth, place, field in runs
            ]
            points = [(20.0 * a - 80, 20.0 * b - 180) for a, b in itertools.product(*sides)]
            ends = [one for one in points if one[1] in (points[0][1], points[-1][1])]
            found = max((on_the_globe(one, other) for one in ends for other in ends), default=0.0)
            assert found <= sizes[cell] + 1e-6


@pytest.mark.parametrize("kind", CASES)
def test_the_planned_shape_is_that_of_the_tree_that_is_asked(kind: str) -> None:
    setting, schema = CASES[kind]
    question, tree, metric = tree_of(setting, schema)

    shape = own_shape(metric, 2**22)
    asked = len(question.schedule)

    assert [question.columns[place] for place in question.schedule] == [
        schema.columns[place].name for place in shape.schedule[:asked]
    ]
    assert tree_deltas(tree.splits, tree.diameters) == pytest.approx(shape.deltas[: asked + 1])
    assert tree.resolution == pytest.approx(shape.resolutions[asked])
    assert shape.is_complete


def exact_distance(one: np.ndarray, other: np.ndarray, distances: np.ndarray) -> float:
    """Return W1 of two laws on the same places, as a linear program."""
    size = len(one)
    sums = np.concatenate([np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))])
    return float(linprog(distances.ravel(), A_eq=sums, b_eq=np.concatenate([one, other])).fun)


@pytest.mark.parametrize(
    ("setting", "relation"),
    under_one_relation_each({"-".join(each): each for each in itertools.product(("default", "paper"), CASES)}),
)
def test_the_certificate_is_seldom_passed_and_no_more_than_it_need_be(setting: tuple[str, str], relation: str) -> None:
    variant, kind = setting
    metric, schema = CASES[kind]
    mechanism, runs, rows = PMM(metric=metric, variant=variant), 25, 300
    distances, rng = all_distances(kind, schema), np.random.default_rng(5)
    chosen = places(schema)[(rng.beta(2, 5, rows) * len(distances)).astype(int)]
    table = pl.DataFrame(
        {
            field.name: [field.categories[code] for code in codes] if field.categories else codes + field.minimum
            for field, codes in zip(schema.columns, chosen.T, strict=True)
        }
    )
    terms = Terms(relation=relation, rows=rows if relation == "replace-one" else None, expected_rows=rows)
    shape, found = [field.domain.values for field in schema.columns], []

    for seed in range(runs):
        settings = {"relation": relation, "expected_rows": rows, "bits": SeededBits(seed), "seed": seed}
        model, answers = run(mechanism, table, schema, **settings)
        (stated, _) = mechanism.statements(schema, terms, answers, model, np.random.default_rng(seed))
        chunks = list(sample_codes(model, schema, 20_000, np.random.default_rng(seed)))
        drawn = [np.concatenate([chunk[field.name] for chunk in chunks]) for field in schema.columns]
        released = np.bincount(np.ravel_multi_index(drawn, shape), minlength=len(distances)) / 20_000
        true = np.bincount(np.ravel_multi_index(chosen.T, shape), minlength=len(distances)) / rows
        assert stated.code == "own_distance"
        found.append(exact_distance(released, true, distances) / (stated.value * stated.fields["farthest"]))

    assert (np.array(found) > 1).sum() <= binom.isf(1e-9, runs, 0.05)
    assert np.median(found) > 0.05


def test_plan_and_release_say_the_distance_in_kilometres_and_other_columns_are_counted() -> None:
    kind = {"name": "kind", "type": "string", "categories": ["a", "b"]}
    fields = [*SQUARE.to_dict()["fields"], kind]
    schema, mechanism = Schema.from_dict({"fields": fields}), PMM(metric=("great-circle", "lat", "lon"))
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"lat": rng.integers(40, 48, 500), "lon": rng.integers(-3, 5, 500), "kind": ["a"] * 500})

    planned = lw.plan(schema, expected_rows=500, epsilon=2, mechanism=mechanism)
    release = lw.synthesize(table, schema, epsilon=2, mechanism=mechanism, seed=1)

    assert re.search(
        r"is at most [0-9.]+ km, which is [0-9.]+ of the largest distance, at 500 rows\.$", planned.accuracy[0].text
    )
    own = [each.code for each in release.certificate.accuracy if "own" in each.code]
    assert own == ["own_distance", "largest_own_cell"]
    assert release.sample(1000, seed=1)["kind"].eq("a").mean() > 0.9
    assert release.certificate.settings["metric"] == ["great-circle", "lat", "lon"]


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("l2", "starts with one of euclidean, great-circle, hierarchy, distances"),
        (("great-circle", "lat"), "great-circle needs a latitude and a longitude"),
        (("distances", "code", CODES, [[0, 1], [1]]), "a square matrix of numbers"),
        (("distances", "code", ["A"], [[0, 1], [1, 0]]), "the list of the 2 places"),
        (("distances", "code", ["A", "B"], [[0, 1], [2, 0]]), "a symmetric matrix"),
        (("distances", "code", list("ABC"), [[0, 9, 1], [9, 0, 1], [1, 1, 0]]), "a way round that is shorter"),
    ],
)
def test_a_metric_that_is_none_is_refused(metric, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        PMM(metric=metric)


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (("euclidean", "x"), "names the column 'x', which the schema has not"),
        (("great-circle", "lon", "code"), "needs columns of numbers, which 'code' is not"),
        (("great-circle", "lon", "far"), "great-circle needs degrees"),
        (("hierarchy", "lat"), "hierarchy needs a column of categories"),
        (("distances", "code", ["A", "B"], [[0, 1], [1, 0]]), "every category of 'code' once"),
    ],
)
def test_a_metric_that_the_schema_has_not_is_refused_before_the_debit(metric, said: str) -> None:
    fields = [*SQUARE.to_dict()["fields"], *WORDS.to_dict()["fields"]]
    far = {"name": "far", "type": "number", "constraints": {"minimum": 0, "maximum": 1000}}

    with pytest.raises(ParameterError, match=said):
        lw.plan({"fields": [*fields, far]}, expected_rows=100, epsilon=1, mechanism=PMM(metric=metric))


KINDS = Schema.from_dict(
    {"fields": [{"name": f"k{i}", "type": "string", "categories": list("abcdefghi")} for i in range(3)]}
)


@pytest.mark.parametrize(
    ("mechanism", "schema", "error", "message"),
    [
        (
            PSMM(),
            unit_columns(4),
            ParameterError,
            r"at most 3 ordered columns, got 4 \(x0, x1, x2, x3\); leave columns out",
        ),
        (PSMM(max_cells=999), KINDS, CapacityError, "here 1000, above 999; leave columns out, or use Adaptive"),
        (PSMM(cells=40, variant="paper"), MIXED, ParameterError, "neighbours='replace-one', or variant='default'"),
    ],
    ids=repr,
)
def test_what_no_box_of_cells_can_hold_is_refused_before_the_debit(tmp_path, mechanism, schema, error, message):
    refused(tmp_path, mechanism, schema, error, message)
