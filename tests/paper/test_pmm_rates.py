"""How fast the paper's variant gets better with more rows, and how much better the default is."""

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

from helpers.bits import SeededBits
from helpers.kept import Kept
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.model.sampling.marginals import marginal
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import prefix_grouping
from lapwing.schema.schemas import Schema

SIDE = {"type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
# Below 10,000 rows the flow along trees of two and three columns is still near its largest possible value.
SMALL = {1: (1000, 10_000), 2: (10_000, 100_000), 3: (10_000, 100_000)}
LARGE = {1: (1000, 10_000, 100_000), 2: (10_000, 31_623, 100_000), 3: (10_000, 100_000, 1_000_000)}


def released_errors(points, variant, seed, *, halvings=None):
    """Release points on the unit cube at ε = 1, and return released minus true shares of the tree's leaf cells.

    ``halvings`` asks for another grid than the tree's.
    """
    rows, d = points.shape
    frame = pl.DataFrame({f"x{axis}": points[:, axis] for axis in range(d)})
    schema = Schema.from_dict({"fields": [{"name": name, **SIDE} for name in frame.columns]})
    kept, terms = Kept(), Terms(relation="add-remove", expected_rows=rows)
    source = code_table(frame, schema)
    room = Room(source, schema, terms, Budget.pure(1), bits=SeededBits(seed), sink=kept)
    model = PMM(variant=variant).run(room, schema, Budget.pure(1), np.random.default_rng(seed))
    (noisy,) = (answer for answer in kept.answers if isinstance(answer, NoisyTree))

    halved = [nested.depth for nested in noisy.question.hierarchies] if halvings is None else [halvings] * d
    groupings = [
        prefix_grouping(column.domain, 32 - times) for column, times in zip(schema.columns, halved, strict=True)
    ]
    (counts,) = source.count([tuple(zip(frame.columns, groupings, strict=True))])
    regular = tuple(slice(2**times) for times in halved)
    cells = marginal(model, frame.columns, groupings)[regular]
    return cells / cells.sum() - counts.reshape([grouping.groups for grouping in groupings])[regular] / rows


def tree_flow(errors):
    """Return what moving the errors along a tree of halvings in turn costs, the upper bound of W1 that 4.2 is about."""
    d, depth = errors.ndim, round(math.log2(errors.size))
    flow = 0.0
    for level in range(depth, 0, -1):
        axis = (level - 1) % d
        left, right = (np.take(errors, np.arange(first, errors.shape[axis], 2), axis=axis) for first in (0, 1))
        flow += 2.0 ** -((level - 1) // d) * float(np.abs(left - right).sum()) / 2
        errors = left + right
    return flow


def line_distance(errors):
    """Return W1 of shares on equal cells of the unit line, each taken as its centre."""
    places = np.arange(errors.size) / errors.size
    more, less = np.maximum(errors, 0), np.maximum(-errors, 0)
    return float(wasserstein_distance(places, places, more, less) * more.sum())


def mean_distance(rows, d, releases):
    """Return the mean over releases of fresh uniform points: W1 on the line, else the flow along the tree."""
    found = []
    for seed in range(releases):
        points = np.random.default_rng([rows, d, seed]).random((rows, d))
        errors = released_errors(points, "paper", seed)
        found.append(line_distance(errors) if d == 1 else tree_flow(errors))
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("sizes", "releases"), [(SMALL, 3), pytest.param(LARGE, 6, marks=pytest.mark.full)], ids=["small", "large"]
)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_papers_variant_has_its_rate_in_the_number_of_rows(d, sizes, releases):
    rows = sizes[d]
    theory = [math.log(n) ** 2 / n if d == 1 else n ** (-1 / d) for n in rows]

    measured = [mean_distance(n, d, releases) for n in rows]

    slopes = [float(np.polyfit(np.log(rows), np.log(values), 1)[0]) for values in (measured, theory)]
    # Three releases of one column scatter by a quarter, which moves the slope over one decade by 0.1; the flow of more
    # columns is a sum over thousands of cells and hardly scatters. Between 1/n and the next slower rate lies 0.5.
    assert abs(slopes[0] - slopes[1]) <= (0.25 if d == 1 else 0.08)


DATA = {
    "uniform": lambda rng, rows, d: rng.random((rows, d)),
    "two Beta laws": lambda rng, rows, d: np.where(
        rng.random((rows, 1)) < 0.6, rng.beta(2, 8, (rows, d)), rng.beta(9, 3, (rows, d))
    ),
    "ten Gaussians": lambda rng, rows, d: np.clip(
        rng.uniform(0.15, 0.85, (10, d))[rng.integers(10, size=rows)] + rng.normal(0, 0.04, (rows, d)), 0, 1
    ),
    "clusters": lambda rng, rows, d: np.clip(
        rng.random((40, d))[rng.choice(40, rows, p=rng.dirichlet(np.full(40, 0.5)))] + rng.normal(0, 0.001, (rows, d)),
        0,
        1,
    ),
}


@pytest.mark.parametrize("rows", [10_000, pytest.param(100_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("law", DATA)
def test_the_default_is_nearer_than_the_papers_variant_on_the_line(law, rows):
    points = DATA[law](np.random.default_rng(5), rows, 1)

    distances = {
        variant: np.mean([line_distance(released_errors(points, variant, seed, halvings=16)) for seed in range(6)])
        for variant in ("default", "paper")
    }

    # The limit for each data set; `bench/pmm.py accuracy` measures 0.37 to 0.58.
    assert distances["default"] <= 0.9 * distances["paper"]
