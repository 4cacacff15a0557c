"""Rows for condition rows follow the model's law given the whole condition, and the test sees who leaves some out."""

import math

import numpy as np
import pytest

from helpers.log_linear import exact_law, model_at, random_part, scaled
from helpers.models import joint, random_model, small_schema
from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.given_rows import rows_given

SCHEMA = small_schema()
NAMES = [field.name for field in SCHEMA.columns]
ROWS = 40_000
FALSE_ALARM = 1e-9
GIVEN = [("flag", "colour"), ("age", "grade"), ("colour", "age", "grade")]


def _conditions(law: np.ndarray, given: tuple[str, ...], seed: int) -> dict[str, np.ndarray]:
    """Return condition rows from the law itself: each of its combinations as often as it should be."""
    cells = np.random.default_rng(seed).choice(law.size, ROWS, p=law.ravel())
    codes = dict(zip(NAMES, np.unravel_index(cells, law.shape), strict=True))
    return {name: codes[name] for name in given}


def _distance(codes: dict[str, np.ndarray], law: np.ndarray) -> float:
    """Return the total variation between rows and the whole joint law."""
    cells = np.ravel_multi_index([codes[name] for name in NAMES], law.shape)
    return float(np.abs(np.bincount(cells, minlength=law.size) / ROWS - law.ravel()).sum() / 2)


def _limit(law: np.ndarray) -> float:
    """Return what independent rows of the law exceed with a chance below the false alarm.

    The mean is at most half the sum of the standard deviations; one row moves the distance by 1 / n at most, so that
    McDiarmid's inequality bounds what comes on top.
    """
    mean = np.sqrt(law * (1 - law) / ROWS).sum() / 2
    return float(mean + math.sqrt(math.log(1 / FALSE_ALARM) / (2 * ROWS)))


def _without(conditions: dict[str, np.ndarray], kept: int, model: ReleasedModel) -> dict[str, np.ndarray]:
    """Return rows of a sampler that looks at the first given columns only."""
    first = dict(list(conditions.items())[:kept])
    if not first:
        mixed = np.random.default_rng(9).permutation(ROWS)
        first = {name: codes[mixed] for name, codes in conditions.items()}
    return rows_given(model, SCHEMA, first, np.random.default_rng(8)).codes | conditions


def _mixture() -> tuple[ReleasedModel, np.ndarray]:
    model = random_model(SCHEMA, 6, 2)
    return model, joint(model, SCHEMA)


def _log_linear() -> tuple[ReleasedModel, np.ndarray]:
    """Return a log-linear law, and a model whose forty atoms know next to nothing of it."""
    part = scaled(random_part(SCHEMA, 1), 3.0)
    law = exact_law(SCHEMA, part)
    cells = np.random.default_rng(3).choice(np.flatnonzero(law.ravel()), 40)
    return model_at(SCHEMA, part, np.stack(np.unravel_index(cells, law.shape), axis=1)), law


@pytest.mark.parametrize("given", GIVEN, ids="-".join)
@pytest.mark.parametrize("made", [_mixture, _log_linear])
def test_rows_follow_the_law_given_the_whole_condition(made, given):
    model, law = made()
    conditions = _conditions(law, given, 1)

    found = rows_given(model, SCHEMA, conditions, np.random.default_rng(2))

    assert all(np.array_equal(found.codes[name], codes) for name, codes in conditions.items())
    assert _distance(found.codes, law) < _limit(law)


@pytest.mark.parametrize("given", [("age", "grade"), ("colour", "age", "grade")], ids="-".join)
@pytest.mark.parametrize("made", [_mixture, _log_linear])
@pytest.mark.parametrize("kept", [0, 1])
def test_the_test_sees_a_sampler_that_leaves_conditions_out(made, given, kept):
    model, law = made()
    conditions = _conditions(law, given, 1)

    # So far beyond the limit that such a sampler passes the test above with a chance below 1e-9 (McDiarmid again).
    power = math.sqrt(math.log(1 / FALSE_ALARM) / (2 * ROWS))
    assert _distance(_without(conditions, kept, model), law) > _limit(law) + power


def test_one_condition_many_times_meets_each_cell_of_its_law():
    model, law = _mixture()
    age, grade = 2, 3
    exact = law[:, :, age, grade] / law[:, :, age, grade].sum()

    found = rows_given(
        model, SCHEMA, {"age": np.full(ROWS, age), "grade": np.full(ROWS, grade)}, np.random.default_rng(4)
    ).codes
    counts = np.bincount(found["flag"].astype(int) * exact.shape[1] + found["colour"], minlength=exact.size)

    assert np.abs(counts / ROWS - exact.ravel()).sum() / 2 < _limit(exact)
