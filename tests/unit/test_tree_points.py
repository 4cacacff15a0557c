"""Points of a tree of pairs: chains come out whole, columns without relation stay apart, and no misfit is drawn."""

import numpy as np

from helpers.flag_tables import flags, frame_of_flags
from helpers.pmm_runs import run
from lapwing.kernel.budget.budget import Budget
from lapwing.mechanisms.shared.vectors.reduced_space import tree_points
from lapwing.mechanisms.vectors.linear_statistics.workload import points_of

COUNT = 20_000


class Drawing:
    """Spend everything on a tree."""

    def run(self, curator, schema, budget, rng):
        return tree_points(curator, schema, budget, COUNT, rng)


def chain(rng, rows):
    """Return three flags, each equal to the one before but for one row in ten."""
    flips = rng.random((rows, 2)) < 0.1
    first = rng.random(rows) < 0.3
    second = first ^ flips[:, 0]
    return np.stack((first, second, second ^ flips[:, 1]), axis=1)


def shares(codes):
    """Return the share of each of the eight cells."""
    return np.bincount(codes @ np.array([4, 2, 1]), minlength=8) / len(codes)


def test_a_chain_comes_out_whole():
    rows = chain(np.random.default_rng(1), 4000)

    model, _ = run(Drawing(), frame_of_flags(rows), flags(3), budget=Budget.pure(1000))

    points = np.stack(list(points_of(model).values()), axis=1)
    assert np.abs(shares(points) - shares(rows.astype(np.int64))).max() < 0.02  # 5 deviations of 20,000 points
    assert model.rows == 4000
