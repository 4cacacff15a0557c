"""Theorems 4.2 and 4.3 of PMM in metrics of one's own: trees of codes, great circles, roads, the Euclidean norm."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

from helpers.pmm_runs import run
from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.trees.budget import paper_scales
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.schema.schemas import Schema
from lapwing.theorems.pmm import nested_cells, theorem_4_1, theorem_4_2, theorem_4_3

CODES = ["".join(each) for each in itertools.product("ABC", "12", "xyz")]
HEIGHTS = (1.0, 0.4, 0.1)


def shared(one, other):
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), 3)


APART = np.array([[0.0 if one == other else HEIGHTS[shared(one, other)] for other in CODES] for one in CODES])
"""Codes of different chapters lie at distance 1, of one chapter at 0.4, of one section at 0.1."""

LEVELS = [np.unique([code[:size] for code in CODES], return_inverse=True)[1] for size in (1, 2, 3)]


def test_a_tree_of_codes_is_made_binary_and_keeps_its_diameters():
    tree = nested_cells(LEVELS, APART)

    assert [len(level) for level in tree.cells] == [1, 2, 3, 6, 12, 18]
    assert all(np.bincount(parents).max() <= 2 for parents in tree.parents)
    for level, sizes in zip(tree.cells, tree.diameters, strict=True):
        assert sorted(np.concatenate(level).tolist()) == list(range(len(CODES)))
        assert sizes.tolist() == [max(APART[a, b] for a in cell for b in cell) for cell in level]
    assert tree.deltas == pytest.approx([1.0, 1.0, 1.0, 3 * 0.4, 6 * 0.1, 6 * 0.1])
    assert tree.resolution == 0.0


def test_the_scales_spend_epsilon_and_no_others_have_a_smaller_bound():
    tree, rng = nested_cells(LEVELS, APART), np.random.default_rng(1)
    scales = paper_scales(tree.deltas, "pure", 0.7)

    best = theorem_4_2(tree.deltas, scales, n=1000, resolution=tree.resolution)

    assert theorem_4_1(scales) == pytest.approx(0.7)
    assert theorem_4_3(tree.deltas, 0.7, n=1000, resolution=tree.resolution) == pytest.approx(best)
    for _ in range(200):
        others = np.array(scales) * np.exp(rng.normal(0, 0.3, len(scales)))
        others *= sum(1 / others) / 0.7
        assert best <= theorem_4_2(tree.deltas, others, n=1000, resolution=tree.resolution) * (1 + 1e-12)


def tree_distance(one, other):
    """Return the exact distance between two laws on the codes: the metric is that of a tree's paths."""
    total = 0.0
    for size, length in ((1, (HEIGHTS[0] - HEIGHTS[1]) / 2), (2, (HEIGHTS[1] - HEIGHTS[2]) / 2), (3, HEIGHTS[2] / 2)):
        own = np.unique([code[:size] for code in CODES], return_inverse=True)[1]
        total += length * np.abs(np.bincount(own, one) - np.bincount(own, other)).sum()
    return total


def shares_of(weights, law):
    """Return the share of each code of a one-column model."""
    laws, shares = law.laws, np.zeros(len(CODES))
    masses = np.bincount(law.index, weights, laws.count)[np.repeat(np.arange(laws.count), np.diff(laws.offsets))]
    for mass, start, stop in zip(masses * laws.probabilities, laws.starts, laws.stops, strict=True):
        shares[start:stop] += mass / (stop - start)
    return shares / shares.sum()


def test_releases_of_pmm_keep_the_bound_in_a_metric_that_pmm_does_not_know():
    rng = np.random.default_rng(2)
    codes = rng.choice(len(CODES), 400, p=rng.dirichlet(np.ones(len(CODES))))
    table = pl.DataFrame({"code": [CODES[place] for place in codes]})
    field = {"name": "code", "type": "string", "categories": CODES, "constraints": {"required": True}}
    schema = Schema.from_dict({"fields": [field | {"hierarchy": {"prefixes": [1, 2]}}]})
    found = []
    in_order = [CODES.index(category) for category in schema.field("code").categories]
    real = np.bincount(codes, minlength=len(CODES)) / len(codes)
    for seed in range(300):
        model, answers = run(PMM(variant="paper", depth=5), table, schema, expected_rows=400, seed=seed)
        released = np.zeros(len(CODES))
        released[in_order] = shares_of(model.weights, model.laws["code"])
        found.append(tree_distance(released, real))

    question = answers[-1].question
    (nested,), levels = question.hierarchies, []
    for depth in range(1, nested.depth + 1):
        own = np.empty(len(CODES), dtype=np.int64)
        own[in_order] = np.repeat(np.arange(nested.groups(depth)), nested.stops(depth) - nested.starts(depth))
        levels.append(own)
    tree = nested_cells(levels, APART)
    scales = [float(law.parameter) for law in question.noises("add-remove", 1)]
    bound = theorem_4_2(tree.deltas, scales, n=400, resolution=tree.resolution)

    assert len(scales) == len(tree.cells)
    assert np.mean(found) <= bound < 1
    assert np.mean(found) > bound / 30


def haversine(places):
    """Return great-circle distances in kilometres of places given by latitude and longitude."""
    latitude, longitude = np.radians(places).T
    across = np.sin((latitude[:, None] - latitude) / 2) ** 2
    along = np.cos(latitude[:, None]) * np.cos(latitude) * np.sin((longitude[:, None] - longitude) / 2) ** 2
    return 2 * 6371 * np.arcsin(np.sqrt(np.minimum(1, across + along)))


def test_great_circles_roads_and_the_euclidean_norm_are_distances_like_others():
    places = np.random.default_rng(3).uniform([-60, -180], [60, 180], (64, 2))
    corner = np.array([90.0, 180.0])
    boxes = [np.floor((places + corner) * size / (2 * corner)).astype(int) @ [size, 1] for size in (2, 4)]
    ring = np.minimum(
        np.abs(np.subtract.outer(range(64), range(64))), 64 - np.abs(np.subtract.outer(range(64), range(64)))
    )
    euclidean = np.linalg.norm(places[:, None] - places, axis=2)
    circle = haversine(places)

    trees = {
        name: nested_cells(boxes, apart) for name, apart in (("circle", (circle + circle.T) / 2), ("l2", euclidean))
    }
    road = nested_cells([np.arange(64) // 8, np.arange(64)], ring.astype(float))

    assert trees["circle"].deltas[0] == circle.max() <= math.pi * 6371
    assert trees["l2"].resolution == max(euclidean[np.ix_(cell, cell)].max() for cell in trees["l2"].cells[-1])
    assert road.deltas[0] == 32
    assert road.deltas[4] == 8 * 7
    assert road.resolution == 0


@pytest.mark.parametrize(
    ("levels", "distances", "said"),
    [
        ([np.zeros(2, dtype=int)], APART, "nested cells need a cell on each level and a distance for each of the 18"),
        (LEVELS, -APART, "distances must be at least 0 and symmetric; give a metric"),
        (LEVELS, np.triu(APART), "distances must be at least 0 and symmetric; give a metric"),
    ],
)
def test_what_is_no_metric_is_refused(levels, distances, said):
    with pytest.raises(ParameterError, match=f"^{said}"):
        nested_cells(levels, distances)
