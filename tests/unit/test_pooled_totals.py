"""Every answer that was paid for counts in the one-way marginals of microaggregation: pooled totals, and raking."""

import numpy as np
import pytest

from helpers.flag_tables import KIND, WIDE
from lapwing.mechanisms.shared.vectors.means import raked, weighted_mean
from lapwing.mechanisms.shared.vectors.row_vectors import projector, row_coordinates
from lapwing.schema.schemas import Schema

FLAG = {"name": "f0", "type": "boolean", "constraints": {"required": True}}
SCHEMA = Schema.from_dict({"fields": [FLAG, WIDE, KIND]})


@pytest.mark.parametrize("coding", ["centred", "unit"])
def test_raking_reaches_any_mean_and_stays_in_the_box(coding):
    coordinates = row_coordinates(SCHEMA, "intervals", 4, coding=coding)
    rng, project = np.random.default_rng(1), projector(coordinates)
    means = project(rng.normal(0.2, 0.6, (40, coordinates.size)))
    weights = rng.dirichlet(np.ones(40))
    aim = project(rng.normal(0.2, 0.6, (1, coordinates.size)))[0]

    found = raked(means, weights, aim, coordinates)

    assert weighted_mean(found, weights) == pytest.approx(aim, abs=2e-3)
    assert np.abs(project(found) - found).max() < 1e-12
