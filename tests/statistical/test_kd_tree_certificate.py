"""The distance that a tree of cells states after its release: the truth stays below it, too little noise does not."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, wasserstein_distance

from helpers.bits import SeededBits
from helpers.kept import Kept
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Relation, Terms
from lapwing.mechanisms.shared.trees.stated import GAMMA, stated_distance
from lapwing.mechanisms.trees.kd_tree.accuracy import counted_leaves
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
from lapwing.model.model import ReleasedModel
from lapwing.model.rows import sample_codes
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

FALSE_ALARMS = 1e-9
SIDE = {"type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
LINE = Schema.from_dict({"fields": [{"name": "x", **SIDE}]})
PAIR = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]})


def release(source, schema, terms, mechanism, budget, seed):
    """Return the model of one release, the noisy leaves, all answers; the noise is seeded, so that nothing flickers."""
    kept = Kept()
    room = Room(source, schema, terms, budget, bits=SeededBits(seed), sink=kept)
    model = mechanism.run(room, schema, budget, np.random.default_rng(seed))
    return model, next(each for each in kept.answers if isinstance(each, NoisyCells)), tuple(kept.answers)


def line_distance(points: np.ndarray, model: ReleasedModel, seed: int) -> float:
    rng = np.random.default_rng(seed)
    rows = np.concatenate([chunk["x"] for chunk in sample_codes(model, LINE, 10_000, rng)])
    return float(wasserstein_distance(points, (rows + 0.5) / 2.0**32))


@pytest.mark.parametrize(
    ("mechanism", "relation", "budget"),
    [
        (KDTree(), "add-remove", Budget.pure(1)),
        (KDTree(split_share=0.6, coarse=0.5, fine=0.01), "replace-one", Budget.zcdp("0.125")),
        (Grid(width=1 / 64), "add-remove", Budget.pure(1)),
    ],
)
@pytest.mark.parametrize("runs", [60, pytest.param(400, marks=pytest.mark.full)])
def test_realised_distances_stay_below_the_stated_one(
    mechanism: KDTree | Grid, relation: Relation, budget: Budget, runs: int
) -> None:
    points = np.random.default_rng(3).beta(2, 5, 500)
    terms = Terms(relation=relation, rows=500 if relation == "replace-one" else None, expected_rows=500)
    source, found = code_table(pl.DataFrame({"x": points}), LINE), []

    for seed in range(runs):
        model, _, answers = release(source, LINE, terms, mechanism, budget, seed)
        stated = mechanism.statements(LINE, terms, answers, model, np.random.default_rng(seed))[0]
        assert stated.code == "distance"
        found.append(line_distance(points, model, seed) / (stated.value or 0))

    assert (np.array(found) > 1).sum() <= binom.isf(FALSE_ALARMS, runs, GAMMA)
    # The proof is not loose by more than this.
    assert np.median(found) > 1 / 6


@pytest.mark.parametrize("runs", [1500, pytest.param(20_000, marks=pytest.mark.full)])
def test_a_fifth_too_little_noise_is_found_where_the_bound_is_sharp(runs: int) -> None:
    rows, ones = 20_000, 9000
    source = code_table(pl.DataFrame({"flag": np.arange(rows) < ones}), PAIR)
    terms = Terms(relation="add-remove", expected_rows=rows)
    over = {1.0: 0, 0.8: 0}
    mechanism = Grid(width=0.5, threshold=1)

    for seed in range(runs):
        _, noisy, _ = release(source, PAIR, terms, mechanism, Budget.pure(0.02), seed)
        shares = noisy.counts / noisy.counts.sum()
        counted = counted_leaves(noisy, PAIR)
        assert counted is not None
        tree, places = counted
        for claim in over:
            claimed = replace(tree, parameters=(*tree.parameters[:-1], tree.parameters[-1] * claim))
            stated = stated_distance(claimed, shares[places], "uniform", np.random.default_rng(seed))
            over[claim] += abs(shares[1] - ones / rows) > stated

    assert over[1.0] <= binom.isf(FALSE_ALARMS, runs, GAMMA)
    assert over[0.8] > binom.isf(FALSE_ALARMS, runs, GAMMA)
