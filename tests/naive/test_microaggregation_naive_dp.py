"""Microaggregation against Algorithm 2 as the paper prints it, and the default against its documentation, in loops.

Noise is what the answers of real runs hold: their values are the noisy numbers of both sides.
"""

import itertools
import math

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.flag_tables import FLAG, REQUIRED
from helpers.models import dense
from helpers.pmm_runs import run
from helpers.vector_twins import Solved, blocks_of, dot, in_box, leading, on_simplex, vectors
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.schema.schemas import Schema

KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": REQUIRED}
FEW = {"name": "few", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}, "special": [9]}
WIDE = {"name": "wide", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}}
FLAGS = Schema.from_dict({"fields": [FLAG | {"name": f"f{i}"} for i in range(4)]})
LISTS = Schema.from_dict({"fields": [FLAG, FLAG | {"name": "f1"}, KIND, FEW]})
WIDER = Schema.from_dict({"fields": [FLAG, FLAG | {"name": "f1"}, KIND, FEW, WIDE]})


def table(schema, rows, seed):
    """Return rows of columns that hang together, one misfit in fifty."""
    rng = np.random.default_rng(seed)
    place = rng.random(rows)
    columns = {}
    for field in schema.columns:
        at = np.clip(place + rng.normal(0, 0.2, rows), 0, 0.999)
        values = {"kind": ["a", "b", "c"], "few": ["0", "1", "2", "3", "9", None], "wide": list(map(str, range(100)))}
        choices = values.get(field.name, ["false", "true"])
        found = [choices[int(each * len(choices))] for each in at]
        columns[field.name] = ["?" if rng.random() < 0.02 else each for each in found]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


# --------------------------------------------------------------------------------------------------- the paper's own


def net_of(alpha, t):
    """Return the points of the lattice alpha / sqrt(t) * Z^t in the unit ball, by looking at a cube."""
    side, reach = alpha / math.sqrt(t), math.ceil(math.sqrt(t) / alpha)
    cube = itertools.product(range(-reach, reach + 1), repeat=t)
    return [tuple(side * k for k in point) for point in cube if side**2 * dot(point, point) <= 1]


def algorithm_2(counted, schema, noisy_moment, epsilon):
    """Return the exact shares and damped means of the cells of Algorithm 2, steps 1 to 9, and b.

    Rows are divided by the square root of the number of columns, the length of the longest.
    """
    rows, p = sum(counted.values()), len(next(iter(counted)))
    scale = math.sqrt(len(schema.columns))
    b = math.ceil(math.sqrt(p * math.sqrt(rows) / epsilon))  # a whole number of rows
    alpha = math.log(rows) ** (-1 / 4)
    t = min(p, math.floor(math.log(math.sqrt(rows)) / math.log(7 / alpha)))
    axes, net = leading(noisy_moment, t), net_of(alpha, t) if t else [()]
    shares, means = [0.0] * len(net), [[0.0] * p for _ in net]
    members = [0] * len(net)
    for vector, count in counted.items():
        at = [dot(vector, axis) / scale for axis in axes]
        distances = [dot(gap, gap) for gap in ([a - v for a, v in zip(at, point, strict=True)] for point in net)]
        cell = distances.index(min(distances))
        members[cell] += count
        means[cell] = [mean + count * x / scale for mean, x in zip(means[cell], vector, strict=True)]
    shares = [each / rows for each in members]
    means = [[x / max(size, b) for x in mean] for mean, size in zip(means, members, strict=True)]
    return shares, means, b


def exact_moment(counted, schema):
    """Return S of the scaled rows."""
    rows, p, d = sum(counted.values()), len(next(iter(counted))), len(schema.columns)
    return [[sum(count * x[i] * x[j] for x, count in counted.items()) / rows / d for j in range(p)] for i in range(p)]


def mirrored(upper, p):
    """Return a symmetric matrix from its upper triangle, row by row."""
    places = {pair: place for place, pair in enumerate(itertools.combinations_with_replacement(range(p), 2))}
    return [[upper[places[min(i, j), max(i, j)]] for j in range(p)] for i in range(p)]


def atoms_of(model, schema):
    """Return the weights and the coordinates of a model's atoms, as chances."""
    found = []
    for atom in range(model.atoms):
        chances = []
        for field, (_, is_line) in zip(schema.columns, blocks_of(schema), strict=True):
            law = dense(model.laws[field.name], atom, field.domain.size).tolist()
            chances += [law[1]] if is_line else law[: len(law) - (not field.domain.missing)]
        found.append(chances)
    return model.weights, np.array(found)


CASES = [
    (FLAGS, 300, 1.0, ZeroNoiseBits()),
    (LISTS, 2000, 0.3, ZeroNoiseBits()),
    (LISTS, 32_000, 5.0, ZeroNoiseBits()),
    (FLAGS, 2, 1.0, SeededBits(1)),
    (FLAGS, 300, 1.0, SeededBits(2)),
    (FLAGS, 32_000, 1.0, SeededBits(3)),
    (LISTS, 300, 9.0, SeededBits(4)),
    (LISTS, 32_000, 0.5, SeededBits(5)),
]


@pytest.mark.parametrize(("schema", "rows", "epsilon", "bits"), CASES)
def test_the_paper_s_constants_are_algorithm_2_step_by_step(schema, rows, epsilon, bits):
    data = table(schema, rows, seed=7)

    model, (moment, counts, means) = run(
        Microaggregation(variant="paper"),
        data,
        schema,
        relation="replace-one",
        budget=Budget.pure(str(epsilon)),
        bits=bits,
    )

    counted, d = vectors(data, schema, low=0), len(schema.columns)
    p = len(next(iter(counted)))
    noisy_moment = mirrored([each / rows / d for each in moment.values.tolist()], p)
    shares, damped, b = algorithm_2(counted, schema, noisy_moment, epsilon)
    noisy_shares = [each / rows for each in counts.values.tolist()]
    noisy_means = [[each / 2**MEAN_BITS / math.sqrt(d) for each in mean] for mean in means.values.tolist()]
    assert means.question.damping == b
    assert means.question.cells == len(shares)

    # Noise: around the exact numbers, at the paper's scales; of zero-noise runs none.
    quiet, exact = isinstance(bits, ZeroNoiseBits), exact_moment(counted, schema)
    upper = itertools.combinations_with_replacement(range(p), 2)
    scales = (6 * p**2 / (d * rows * epsilon), 6 / (rows * epsilon), 12 * math.sqrt(d) / (b * epsilon))
    units = (rows * d, rows, 2**MEAN_BITS * math.sqrt(d))
    laws = [float(answer.noise.parameter) / unit for answer, unit in zip((moment, counts, means), units, strict=True)]
    assert laws[:2] == pytest.approx(scales[:2])
    assert scales[2] < laws[2] < 1.001 * scales[2]  # means are rounded
    for noisy, true, scale in (
        ([noisy_moment[i][j] for i, j in upper], [exact[i][j] for i in range(p) for j in range(i, p)], scales[0]),
        (noisy_shares, shares, scales[1]),
        (list(itertools.chain(*noisy_means)), list(itertools.chain(*damped)), scales[2]),
    ):
        gaps = np.abs(np.array(noisy) - np.array(true))
        assert gaps.max() < (2 * 2.0**-MEAN_BITS if quiet else 15 * scale)
        assert quiet or gaps.size < 9 or scale / 2 < gaps.mean() < 2 * scale

    weights = on_simplex(noisy_shares)
    expected = [in_box([math.sqrt(d) * each for each in mean], schema, 0) for mean in noisy_means]
    found_weights, found = atoms_of(model, schema)
    full = [place for place, weight in enumerate(weights) if weight > 1e-12]
    assert found_weights == pytest.approx([weights[place] for place in full], abs=1e-9)
    assert found == pytest.approx(np.array([expected[place] for place in full]), abs=1e-9)
    assert model.rows == rows


@pytest.mark.parametrize("seed", range(6))
def test_the_euclidean_projection_of_weights_is_a_nearest_point_in_l1_as_step_13_asks(seed):
    rng = np.random.default_rng(seed)
    noisy = rng.dirichlet(np.ones(7)) + rng.laplace(0, 10 ** -(seed % 4), 7)

    found = np.array(on_simplex(noisy.tolist()))

    # In L1 no point is nearer than clipping, and moving either only down or only up to the sum of 1.
    clipped = np.maximum(noisy, 0.0)
    least = (clipped - noisy).sum() + abs(clipped.sum() - 1) if clipped.sum() >= 1 else 1 - noisy.sum()
    assert np.abs(found - noisy).sum() == pytest.approx(least)
    assert project_to_simplex(noisy, 1.0) == pytest.approx(found)


# ----------------------------------------------------------------------------------------------------- the default's


TIGHT = [
    (FLAGS, 3000, Budget.pure(5), "add-remove", SeededBits(1)),
    (FLAGS, 3000, Budget.zcdp("0.5"), "replace-one", SeededBits(2)),
    (LISTS, 1500, Budget.pure(6), "add-remove", SeededBits(3)),
    (LISTS, 1000, Budget.zcdp("0.5"), "replace-one", SeededBits(4)),
    (LISTS, 1500, Budget.pure(6), "replace-one", ZeroNoiseBits()),
]


@pytest.mark.parametrize(("schema", "rows", "budget", "relation", "bits"), TIGHT)
def test_the_default_solves_its_answers_as_documented(schema, rows, budget, relation, bits):
    data = table(schema, rows, seed=9)

    model, answers = run(Microaggregation(), data, schema, budget=budget, relation=relation, bits=bits)

    solved = Solved(answers, schema, rows if relation == "replace-one" else None)
    projection = answers[-1].question.projection
    assert projection.cells > 3
    # A cell holds twelve times the noise on its sums; at most 4096 cells.
    most = min(4096, solved.rows / (12 * max(1.0, answers[-1].noise.sd)))
    chosen = solved.choose_cells(most)
    assert len(chosen) == projection.count
    for place, (axis, cuts) in enumerate(chosen):
        assert projection.directions[:, place] / 2**20 == pytest.approx(axis, abs=1e-6)
        assert projection.cuts[place] / 2**20 == pytest.approx(cuts, abs=1e-6)

    weights, means = solved.solve()

    full = [place for place, weight in enumerate(weights) if weight > 1e-12]
    lines = [solved.coordinates.kinds[owner] == "line" for owner in solved.owners]
    expected = [
        [(x + 1) / 2 if is_line else x for x, is_line in zip(means[place], lines, strict=True)] for place in full
    ]
    found_weights, found = atoms_of(model, schema)
    assert found_weights == pytest.approx([weights[place] for place in full], abs=1e-9)
    assert found == pytest.approx(np.array(expected), abs=1e-6)
    assert model.rows == (rows if relation == "replace-one" else round(solved.rows))


def test_values_inside_an_interval_have_the_shares_of_its_finer_noisy_counts():
    data = table(WIDER, 2000, seed=3)

    model, (fine, *_, sums) = run(Microaggregation(intervals=4), data, WIDER, budget=Budget.pure(3), bits=SeededBits(8))

    counts = fine.counts.tolist()
    masses = on_simplex(counts, max(1, sum(counts)))
    groups = sums.question.coordinates.groupings[4].apply(np.arange(100)).tolist()
    cells = fine.question.groupings[0].apply(np.arange(100)).tolist()
    assert fine.question.columns == ("wide",)
    assert len(set(groups)) < len(set(cells))
    for atom in range(model.atoms):
        law = dense(model.laws["wide"], atom, 101)
        for group in set(groups):
            members = [code for code in range(100) if groups[code] == group]
            inside = [masses[cells[code]] / cells.count(cells[code]) for code in members]
            shares = [each / sum(inside) for each in inside] if sum(inside) else [1 / len(members)] * len(members)
            assert law[members] == pytest.approx(law[members].sum() * np.array(shares), abs=1e-12)
