"""The distance that a PSMM release states at 95 %: realised distances stay below it, and too little noise is found."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from helpers.bits import SeededBits
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.terms import Terms
from lapwing.maths.noise_transport import noise_transport
from lapwing.mechanisms.shared.trees.stated import GAMMA
from lapwing.mechanisms.trees.psmm.accuracy import counted_cells, released_statements, simulated_norms
from lapwing.mechanisms.trees.psmm.box_cells import cells_of
from lapwing.mechanisms.trees.psmm.measures import nearest_measure
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.schema.schemas import Schema

FALSE_ALARMS = 1e-9
PAIR = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]})
TERMS = Terms(relation="add-remove")


def is_within(over: int, runs: int, chance: float = GAMMA) -> bool:
    """Tell whether so many passes of a bound are possible, at the suite's rate of false alarms."""
    return over <= binom.isf(FALSE_ALARMS, runs, chance)


def norms_of_noise(columns: int, cells: int, runs: int):
    """Return the bounds of the norm of the noise of releases of an empty table, and the cells."""
    schema, norms = unit_columns(columns), []
    for seed in range(runs):
        _, (answer,) = run(PSMM(cells=cells), frame_of(np.zeros((0, columns))), schema, bits=SeededBits(seed))
        box = cells_of(schema, answer.question.groupings)
        norms.append(noise_transport(box.layers(box.within(answer.counts)[None]), box.unit)[0])
    return np.array(norms), box


def claimed_quantile(box, scale: Fraction) -> float:
    """Return the 95 % quantile that noise of this scale gives, from many simulations."""
    rng = np.random.default_rng(1)
    norms = np.concatenate([simulated_norms(box, NoiseLaw("laplace", scale), rng)[0] for _ in range(20)])
    return float(np.quantile(norms, 1 - GAMMA))


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("runs", [400, pytest.param(2000, marks=pytest.mark.full)])
def test_the_norm_of_real_noise_passes_its_quantile_as_often_as_stated(columns, runs):
    norms, box = norms_of_noise(columns, 64, runs)

    over = int((norms > claimed_quantile(box, Fraction(1))).sum())
    understated = int((norms > claimed_quantile(box, Fraction(4, 5))).sum())

    assert is_within(over, runs)
    # Not far too safe either.
    assert is_within(runs - over, runs, 1 - GAMMA)
    assert not is_within(understated, runs)


@pytest.mark.parametrize("runs", [300, pytest.param(1500, marks=pytest.mark.full)])
@pytest.mark.parametrize("ones", [60, 115])
def test_realised_distances_stay_below_the_stated_one(runs, ones):
    data = pl.DataFrame({"flag": np.arange(120) < ones})
    over = 0
    for seed in range(runs):
        model, answers = run(PSMM(), data, PAIR, budget=Budget.pure("0.2"), bits=SeededBits(seed), expected_rows=120)

        (distance, _) = PSMM().statements(PAIR, TERMS, answers, model, np.random.default_rng(seed))

        share = (model.weights * (model.laws["flag"].index == 1)).sum() / model.weights.sum()
        over += abs(share - ones / 120) > distance.value

    assert is_within(over, runs)


@pytest.mark.parametrize("runs", [100, pytest.param(1000, marks=pytest.mark.full)])
def test_releases_on_a_line_stay_below_their_stated_distance_and_one_of_tiny_noise_would_not(runs):
    rng, schema = np.random.default_rng(3), unit_columns(1)
    points, over, understated, loose = np.sort(rng.beta(2, 5, 400)), 0, 0, []
    for seed in range(runs):
        model, answers = run(PSMM(cells=64), frame_of(points[:, None]), schema, bits=SeededBits(seed))
        box = cells_of(schema, answers[0].question.groupings)
        counts = box.within(answers[0].counts)

        measure = nearest_measure(counts, box, None)
        (distance, _) = PSMM(cells=64).statements(schema, TERMS, answers, model, np.random.default_rng(seed))
        tiny = counted_cells(schema, box, NoiseLaw("laplace", Fraction(1, 20)), counts, None)
        (claimed, _) = released_statements(box, tiny, measure, "uniform", np.random.default_rng(seed))

        ends = np.linspace(0, 1, box.cells + 1)[1:]
        real = np.searchsorted(points, ends, "right") / points.size
        # At the ends of cells only: no more than the distance.
        found = np.abs(np.cumsum(measure) / measure.sum() - real)[:-1].sum() / box.cells
        over += found > distance.value
        loose.append(distance.value / found)
        understated += found > claimed.value - box.diameter

    assert is_within(over, runs)
    assert np.median(loose) < 5
    assert understated > runs / 4
