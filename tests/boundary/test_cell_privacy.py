"""Record and replay of the settings of Grid and KDTree that their small ones leave out."""

import itertools

import numpy as np
import pytest

from helpers.audits import under_one_relation_each
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.mechanisms.trees.kd_tree.cells import MOST_UNIFORM
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
from mechanism_checks import settings_for

OTHERS = {
    "paper, filter": KDTree(variant="paper", coarse=1.0, fine=0.25, threshold=1),
    "paper, lemma 10": KDTree(variant="paper", coarse=1.0, fine=0.5),
    "free levels from a noisy number of rows": KDTree(fine=0.25),
    "empty cells are split": KDTree(variant="paper", coarse=1.0, fine=0.5, tau=0, placement="uniform"),
    "grid, given": Grid(width=1.0),
    "grid, paper": Grid(variant="paper"),
    "grid, width from a noisy number of rows": Grid(),
}


@pytest.mark.parametrize(("mechanism", "relation"), under_one_relation_each(OTHERS))
@pytest.mark.parametrize(("pairs", "columns"), [(8, MOST_UNIFORM + 1), pytest.param(64, 8, marks=pytest.mark.full)])
def test_no_pair_is_flagged_under_other_settings(mechanism, relation, pairs, columns):
    rng = np.random.default_rng([pairs, len(relation)])

    flagged = []
    for max_rows, pure, _ in itertools.product((1, 3), (True, False), range(pairs // 4)):
        pair = neighbour_pair(rng, relation, max_rows, most_columns=columns)
        settings = settings_for(mechanism, pair.schema, relation, pure=pure, times=int(rng.choice([1, 10, 1000])))
        flagged += audit_pair(pair.data, pair.neighbour, settings)

    assert flagged == []
