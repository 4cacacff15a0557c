"""Record and replay over generated neighbours: the main privacy test of a whole release."""

import itertools

import numpy as np
import pytest

from lapwing.audit.pairs import neighbour_pair
from lapwing.audit.replay import audit_pair
from lapwing.mechanisms.registry import MECHANISMS
from mechanism_checks import settings_for

PAIRS = 400


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", MECHANISMS.values(), ids=lambda kind: kind.name)
def test_no_pair_of_neighbours_is_flagged(kind, relation, max_rows):
    rng = np.random.default_rng([max_rows, len(relation)])
    flagged = []

    for _, pure in zip(range(PAIRS), itertools.cycle((True, False)), strict=False):
        pair = neighbour_pair(rng, relation, max_rows)
        flagged += audit_pair(pair.data, pair.neighbour, settings_for(kind.small(), pair.schema, relation, pure=pure))

    assert flagged == []
