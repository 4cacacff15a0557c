"""W1 against POT (Python Optimal Transport), in an environment of its own.

python3.11 -m venv /tmp/pot
/tmp/pot/bin/python -m pip install --require-hashes -r requirements/oracle-pot.txt
PYTHONPATH=src /tmp/pot/bin/python -m pytest tests/oracle/test_wasserstein_against_pot.py -o junit_family=xunit1 \
    --junit-xml=/tmp/pot.xml

The properties in /tmp/pot.xml are the figures.
"""

import numpy as np
import pytest

from lapwing.judge.samples import (
    Pieces,
    random_directions,
    wasserstein_assignment,
    wasserstein_line,
    wasserstein_pieces,
    wasserstein_sliced,
)

ot = pytest.importorskip("ot", reason="needs requirements/oracle-pot.txt")

pytestmark = pytest.mark.oracle

THEIR_NAMES = {"linf": "chebyshev", "l1": "cityblock", "l2": "euclidean"}
# Both sides are exact up to the rounding of sums of a few thousand floats of size 1.
RELATIVE = 1e-9


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_distance_on_a_line_agrees(seed: int, weighted: bool, record_property) -> None:
    rng = np.random.default_rng(seed)
    points, others = rng.normal(size=3000), rng.beta(2, 5, size=2000)
    weights, other_weights = rng.random(3000), rng.random(2000)
    theirs = ot.wasserstein_1d(
        points,
        others,
        weights / weights.sum() if weighted else None,
        other_weights / other_weights.sum() if weighted else None,
        p=1,
    )

    ours = wasserstein_line(
        points,
        others,
        weights=weights if weighted else None,
        other_weights=other_weights if weighted else None,
    )

    record_property("relative difference", ours / theirs - 1)
    assert ours == pytest.approx(theirs, rel=RELATIVE)


@pytest.mark.parametrize("metric", THEIR_NAMES)
@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("rows", [50, 800])
def test_the_assigned_distance_agrees_with_the_network_simplex(
    rows: int, columns: int, metric: str, record_property
) -> None:
    rng = np.random.default_rng(rows + columns)
    points, others = rng.random((rows, columns)), rng.beta(2, 3, (rows, columns))
    theirs = ot.emd2([], [], ot.dist(points, others, metric=THEIR_NAMES[metric]), numItermax=10_000_000)

    ours = wasserstein_assignment(points, others, metric=metric)

    record_property("relative difference", ours / theirs - 1)
    assert ours == pytest.approx(theirs, rel=RELATIVE)


@pytest.mark.parametrize("columns", [2, 5])
def test_the_sliced_distance_agrees_along_the_same_directions(columns: int, record_property) -> None:
    rng = np.random.default_rng(columns)
    points, others = rng.random((900, columns)), rng.beta(2, 3, (700, columns))
    directions = random_directions(columns, 60, np.random.default_rng(11))
    theirs = ot.sliced_wasserstein_distance(points, others, projections=directions.T, p=1)

    ours = wasserstein_sliced(points, others, np.random.default_rng(11), directions=60).value

    record_property("relative difference", ours / theirs - 1)
    assert ours == pytest.approx(theirs, rel=RELATIVE)


def test_pieces_are_the_limit_of_finer_and_finer_points(record_property) -> None:
    starts, stops, masses = np.array([0.0, 0.3, 0.2]), np.array([0.5, 0.4, 1.0]), np.array([0.25, 0.25, 0.5])
    sample = np.random.default_rng(1).random(500)
    inside = (np.arange(20_000) + 0.5) / 20_000
    grid = (starts[:, None] + (stops - starts)[:, None] * inside).ravel()
    theirs = ot.wasserstein_1d(grid, sample, np.repeat(masses / 20_000, 20_000), None, p=1)

    ours = wasserstein_pieces(Pieces(starts, stops, masses), Pieces(sample, sample, np.ones(500)))

    record_property("difference", ours - theirs)
    # A point of their grid stands for at most 0.8/20,000 of the line.
    assert ours == pytest.approx(theirs, abs=1e-5)
