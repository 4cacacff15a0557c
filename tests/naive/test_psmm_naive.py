"""PSMM against the paper's dense linear program, and against loops over rows."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.dense_program import KIND, NEEDED, TABLES, cells_of_table, distances, integer, program
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.trees.psmm.box_cells import Steps, box_cells, cover_deficits
from lapwing.mechanisms.trees.psmm.measures import nearest_measure
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema


def noisy(cells, rng, mean):
    """Return counts that are mostly noise, in a part of the cells more."""
    counts = np.rint(rng.laplace(0, 2, cells.shape)).astype(np.int64)
    lump = rng.random(cells.shape) < 0.2
    return counts + np.where(lump, rng.poisson(5 * mean, cells.shape), 0)


@pytest.mark.parametrize("name", TABLES)
def test_the_measure_is_as_near_as_the_papers_linear_program_finds(name):
    schema, cells = cells_of_table(name)
    far, rng = distances(schema, cells), np.random.default_rng(3)
    for mean in (0.4, 2.0):
        counts = noisy(cells, rng, mean)
        summed = int(counts.sum())
        for total in {summed, summed + 9, max(1, summed - 4)} - set(range(-100, 1)):
            measure = nearest_measure(counts, cells, None if total == summed else total)

            assert measure.min() >= 0
            assert measure.sum() == pytest.approx(total)
            flat = counts.reshape(-1)
            assert program(flat, far, measure=measure) == pytest.approx(program(flat, far, total=total), abs=1e-7)


@pytest.mark.full
@pytest.mark.parametrize("name", TABLES)
def test_larger_measures_are_as_near_as_the_papers_linear_program_finds(name):
    schema, cells = cells_of_table(name, 200)
    counts = noisy(cells, np.random.default_rng(4), 1.0)

    measure = nearest_measure(counts, cells, None)

    far, flat = distances(schema, cells), counts.reshape(-1)
    best = program(flat, far, total=int(counts.sum()))
    assert program(flat, far, measure=measure) == pytest.approx(best, abs=1e-6)


def test_a_negative_sum_that_a_public_number_makes_up_for_is_covered_as_cheaply():
    schema, cells = cells_of_table("squares by category")
    counts = noisy(cells, np.random.default_rng(5), 0.0) - 1

    measure = nearest_measure(counts, cells, 30)

    far, flat = distances(schema, cells), counts.reshape(-1)
    assert counts.sum() < 0
    assert program(flat, far, measure=measure) == pytest.approx(program(flat, far, total=30))


@pytest.mark.parametrize("name", TABLES)
def test_steps_and_layers_make_the_distances_of_all_cells(name):
    schema, cells = cells_of_table(name)
    steps = cells.steps()

    found = np.where(np.eye(cells.cells, dtype=bool), 0.0, 1.0)
    for tail, head, cost in zip(steps.tails, steps.heads, steps.costs, strict=True):
        found[tail, head] = found[head, tail] = min(found[tail, head], cost * cells.unit)
    for middle in range(cells.cells):
        found = np.minimum(found, found[:, middle, None] + found[None, middle])

    assert found == pytest.approx(distances(schema, cells), abs=1e-6)


def test_distances_along_steps_are_never_below_the_largest_difference_of_a_coordinate():
    for name in ("uneven sides", "uneven runs"):
        schema, cells = cells_of_table(name)
        along = distances(schema, cells)

        largest = distances(schema, replace(cells, is_exact=True))

        assert not cells.is_exact
        assert (along >= largest - 1e-12).all()
        assert (along <= 2.3 * largest).all()


# ---------------------------------------------------------------------------------------------------- planted errors


def without_diagonals(cells, steps):
    places = np.array(np.unravel_index(np.stack([steps.tails, steps.heads]), cells.shape))
    straight = np.abs(places[:, 0] - places[:, 1]).sum(axis=0) == 1
    return Steps(steps.tails[straight], steps.heads[straight], steps.costs[straight])


def as_they_are(_, steps):
    return steps


def with_other_costs(_, steps):
    return Steps(steps.tails, steps.heads, np.arange(steps.tails.size) % 3 + 1)


@pytest.mark.parametrize(
    ("name", "spoil", "price", "is_seen"),
    [
        ("square", as_they_are, 1.0, False),
        ("squares by category", as_they_are, 1.0, False),
        ("square", without_diagonals, 1.0, True),
        ("cube", without_diagonals, 1.0, True),
        ("square", with_other_costs, 1.0, True),
        ("squares by category", as_they_are, 0.3, True),
    ],
)
def test_a_planted_error_in_steps_or_price_is_seen_in_the_objective(name, spoil, price, is_seen):
    schema, cells = cells_of_table(name)
    far, excess = distances(schema, cells), []
    for seed in range(10):
        counts = noisy(cells, np.random.default_rng(seed), 1.0).reshape(-1)
        left = cover_deficits(counts, spoil(cells, cells.steps()), price=price / cells.unit)
        measure = project_to_simplex(left, float(counts.sum()))
        excess.append(program(counts, far, measure=measure) - program(counts, far, total=int(counts.sum())))

    assert (max(excess) > 1e-6) is is_seen


# ------------------------------------------------------------------------------------------------------- whole runs


MIXED = Schema.from_dict({"fields": [integer("size", 6) | {"special": [99]}, KIND | {"constraints": NEEDED}]})
ROWS = pl.DataFrame(
    {"size": ["0", "6", "6", "99", None, "3", "x"] * 9, "kind": ["a", "b", "c", "c", "a", "b", "zz"] * 9}
)


@pytest.mark.parametrize(
    ("variant", "relation"), [("default", "add-remove"), ("default", "replace-one"), ("paper", "replace-one")]
)
def test_without_noise_the_model_is_the_table_of_the_cells(relation, variant):
    # As many misfits as noise would explain are none to the linear program.
    rows = ROWS if variant == "default" else ROWS.filter(pl.col("kind") != "zz")
    model, _ = run(PSMM(cells=30, variant=variant), rows, MIXED, bits=ZeroNoiseBits(), relation=relation)

    table = marginal(model, ["size", "kind"], [identity(column.domain) for column in MIXED.columns])
    expected = np.zeros((9, 4))
    for size, kind in [(0, 0), (6, 1), (6, 2), (7, 2), (8, 0), (3, 1)]:
        expected[size, kind] = 1 / 6
    assert table / table.sum() == pytest.approx(expected)
    assert model.rows == (63 if (variant, relation) == ("default", "replace-one") else 54)


@pytest.mark.parametrize("seed", range(6))
def test_a_run_returns_the_measure_of_counts_by_loops_and_the_dense_program(seed):
    rng = np.random.default_rng(seed)
    points = rng.beta(2, 5, (80, 2))
    schema, side = unit_columns(2), 5

    model, (answer,) = run(PSMM(cells=side**2), frame_of(points), schema, bits=SeededBits(seed))
    model_without_noise, _ = run(PSMM(cells=side**2), frame_of(points), schema, bits=ZeroNoiseBits())

    counted = np.zeros((side, side))
    for x, y in points:
        counted[int(x * side), int(y * side)] += 1
    cells = box_cells(schema, side**2, 100)
    assert measure_of(model_without_noise, side).reshape(-1).tolist() == counted.reshape(-1).tolist()
    noisy_counts, far = answer.counts[:side, :side].reshape(-1), distances(schema, cells)
    found = program(noisy_counts, far, measure=measure_of(model, side))
    assert found == pytest.approx(program(noisy_counts, far, total=int(noisy_counts.sum())))
    assert model.rows == noisy_counts.sum()


def measure_of(model, side):
    """Return the weight of each cell by a loop over atoms."""
    measure = np.zeros((side, side))
    for weight, i, j in zip(model.weights, model.laws["x0"].index, model.laws["x1"].index, strict=True):
        measure[i, j] += weight
    return measure
