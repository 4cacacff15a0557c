"""A model of Adaptive of adult: a column given two others, against the model's own table of the three."""

import numpy as np
import pytest

import lapwing as lw
from helpers.source_tree import PACKAGE
from lapwing.model.rows import sample_codes
from lapwing.model.sampling.given_rows import rows_given
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import evenly, identity

ROWS = 40_000
TRIPLES = [
    (("education", "sex"), "occupation"),
    (("age", "income"), "marital_status"),
    (("marital_status", "hours_per_week"), "relationship"),
]


@pytest.fixture(scope="module")
def release():
    examples = PACKAGE / "examples"
    return lw.synthesize(
        examples / "adult.parquet",
        examples / "adult.schema.json",
        epsilon=2,
        delta="1e-6",
        mechanism="adaptive",
        seed=1,
    )


def _distance(codes, columns, groupings, law):
    cells = np.ravel_multi_index(
        [grouping.apply(codes[name].astype(np.int64)) for name, grouping in zip(columns, groupings, strict=True)],
        law.shape,
    )
    return float(np.abs(np.bincount(cells, minlength=law.size) / cells.size - law.ravel()).sum() / 2)


@pytest.mark.full
@pytest.mark.parametrize(("given", "free"), TRIPLES)
def test_a_column_given_two_others_follows_the_models_table(release, given, free):
    model, schema = release.model, release.schema
    columns = [*given, free]
    domains = [schema.field(name).domain for name in columns]
    groupings = [identity(d) if d.values <= 32 else evenly(d, 16) for d in domains]
    law = marginal(model, columns, groupings)
    law /= law.sum()
    (rows,) = sample_codes(model, schema, ROWS, np.random.default_rng(1))
    pick = np.random.default_rng(2).integers(0, ROWS, ROWS)
    floor = _distance({name: rows[name][pick] for name in columns}, columns, groupings, law)
    conditions = {name: rows[name] for name in given}

    found = rows_given(model, schema, conditions, np.random.default_rng(3)).codes
    first = rows_given(model, schema, {given[0]: rows[given[0]]}, np.random.default_rng(4)).codes
    mixed = {**rows, free: rows[free][pick]}

    # Half of a bootstrap's own noise more than the bootstrap, and both wrong samplers lie beyond.
    assert _distance(found, columns, groupings, law) < 1.5 * floor
    assert _distance({**first, **conditions}, columns, groupings, law) > 1.5 * floor
    assert _distance(mixed, columns, groupings, law) > 1.5 * floor
