"""Every answer that was paid for counts in the one-way marginals of microaggregation: pooled totals, and raking."""

import numpy as np
import pytest

from helpers.bits import ZeroNoiseBits
from helpers.flag_tables import KIND, WIDE, mixed_rows
from helpers.pmm_runs import run
from lapwing.mechanisms.shared.vectors.means import rake_means, weighted_mean
from lapwing.mechanisms.shared.vectors.row_vectors import projector, row_coordinates
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.mechanisms.vectors.microaggregation.model import totals_of_details
from lapwing.schema.schemas import Schema

DATA = mixed_rows(3000)
FLAG = {"name": "f0", "type": "boolean", "constraints": {"required": True}}
SCHEMA = Schema.from_dict({"fields": [FLAG, WIDE, KIND]})


@pytest.mark.parametrize("coding", ["centred", "unit"])
def test_raking_reaches_any_mean_and_stays_in_the_box(coding):
    coordinates = row_coordinates(SCHEMA, "intervals", 4, coding=coding)
    rng, project = np.random.default_rng(1), projector(coordinates)
    means = project(rng.normal(0.2, 0.6, (40, coordinates.size)))
    weights = rng.dirichlet(np.ones(40))
    aim = project(rng.normal(0.2, 0.6, (1, coordinates.size)))[0]

    found = rake_means(means, weights, aim, coordinates)

    assert weighted_mean(found, weights) == pytest.approx(aim, abs=2e-3)
    assert np.abs(project(found) - found).max() < 1e-12


def test_finer_tables_say_what_they_add_up_to_and_of_other_columns_nothing():
    _, answers = run(Microaggregation(intervals=4, directions=1), DATA, SCHEMA, bits=ZeroNoiseBits())
    detail, rows, sums = answers[:3]
    coordinates = sums.question.coordinates

    found = totals_of_details(coordinates, [detail])

    is_wide = coordinates.owners == 1
    assert found.sums[is_wide].tolist() == sums.values[0][is_wide].tolist()
    assert found.rows == rows.values[0] == 3000
    assert np.isfinite(found.sums_sd[is_wide]).all()
    assert np.isinf(found.sums_sd[~is_wide]).all()
    assert found.sums_sd[is_wide].max() > found.sums_sd[is_wide].min()  # listed codes are single counts
