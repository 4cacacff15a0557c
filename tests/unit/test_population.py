"""Independent rows of a released model."""

import numpy as np
import pytest
from scipy.stats import chi2

from helpers.models import random_laws, small_schema
from lapwing.errors import ParameterError
from lapwing.model.model import Bernoulli, Indexed, ReleasedModel, Spans
from lapwing.model.rows import population_codes, sample_codes
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SCHEMA = small_schema()
FALSE_ALARMS = 1e-9


def random_model(rng):
    """Return a model with all three kinds of laws, atoms of weight 0 among them."""
    atoms = 7
    laws = {"flag": Bernoulli(rng.random(atoms).astype(np.float32))}
    for name in ("colour", "age"):
        domain = SCHEMA.field(name).domain
        laws[name] = Indexed(rng.integers(0, 3, atoms).astype(np.uint8), random_laws(domain, 3, rng))
    starts = rng.integers(0, 3, atoms)
    laws["grade"] = Spans(starts.astype(np.uint8), (starts + rng.integers(1, 4, atoms)).astype(np.uint8))
    weights = rng.random(atoms)
    weights[[2, -1]] = 0
    return ReleasedModel(weights=weights, rows=100, laws=laws)


@pytest.mark.parametrize("seed", range(4))
def test_rows_have_the_joint_law_of_the_model(seed):
    rng = np.random.default_rng(seed)
    model, n = random_model(rng), 100_000
    groupings = [identity(column.domain) for column in SCHEMA.columns]
    expected = marginal(model, [column.name for column in SCHEMA.columns], groupings) * n / model.rows

    codes = population_codes(model, SCHEMA, n, rng)

    found = np.zeros(expected.shape)
    np.add.at(found, tuple(codes[column.name].astype(np.intp) for column in SCHEMA.columns), 1)
    assert found[expected == 0].sum() == 0
    often = expected >= 10
    distance = ((found - expected)[often] ** 2 / expected[often]).sum()
    assert distance < chi2.isf(FALSE_ALARMS, int(often.sum()))
    assert {name: column.dtype for name, column in codes.items()} == {
        column.name: column.domain.dtype for column in SCHEMA.columns
    }


def test_rows_have_all_the_sampling_error_that_rows_of_a_release_lack():
    model = ReleasedModel(weights=np.ones(1), rows=100, laws={"flag": Bernoulli(np.full(1, 0.5))})
    flag = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
    rng = np.random.default_rng(3)

    drawn = [population_codes(model, flag, 400, rng)["flag"].mean() for _ in range(500)]
    released = [next(sample_codes(model, flag, 400, rng))["flag"].mean() for _ in range(20)]

    # The standard deviation of 500 draws is known to 3 %; 20 % is six times that.
    assert np.std(drawn) == pytest.approx(0.5 / 20, rel=0.2)
    assert np.ptp(released) <= 1 / 400


def test_no_rows_are_refused():
    with pytest.raises(ParameterError) as refused:
        population_codes(random_model(np.random.default_rng(1)), SCHEMA, 0, np.random.default_rng(1))

    assert str(refused.value) == "a simulated sample has at least 1 row, got 0"
