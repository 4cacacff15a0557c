"""PMM in metrics of the user's own: diameters against every pair, the plan's tree, the certificate against exact W1."""

import itertools
import math
import re

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

import lapwing as lw
from helpers.bits import SeededBits
from helpers.pmm_runs import run
from lapwing.errors import ParameterError
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.trees.accuracy import noise_tree
from lapwing.mechanisms.shared.trees.own_metrics import EARTH_KM, own_metric, own_shape
from lapwing.mechanisms.shared.trees.simulation import tree_deltas
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.model.rows import sample_codes
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

CODES = ["".join(each) for each in itertools.product("AB", "12", "xy")]
SIDE, CORNER = 8, np.array([40, -3])


def grid(name: str, low: int) -> dict[str, object]:
    return {
        "name": name,
        "type": "integer",
        "constraints": {"minimum": low, "maximum": low + SIDE - 1, "required": True},
    }


SQUARE = Schema.from_dict({"fields": [grid("lat", 40), grid("lon", -3)]})
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


@pytest.mark.parametrize(("kind", "variant"), [*itertools.product(CASES, ("default", "paper"))])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_certificate_is_seldom_passed_and_no_more_than_it_need_be(kind: str, variant: str, relation: str) -> None:
    setting, schema = CASES[kind]
    mechanism, runs, rows = PMM(metric=setting, variant=variant), 25, 300
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
