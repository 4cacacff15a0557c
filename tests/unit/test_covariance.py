"""The covariance that a release's answers tell, and its certified error."""

import numpy as np
import pytest

import lapwing as lw
from helpers.flag_tables import MIXED, flags, frame_of_flags, latent_rows, mixed_rows
from lapwing.errors import ParameterError

ROWS = latent_rows(np.random.default_rng(1), 3000, 4)
TRUE = np.cov(2.0 * ROWS.T - 1.0, bias=True)
BETWEEN = ~np.eye(4, dtype=bool)


def found(seed, **settings):
    mechanism = lw.Microaggregation(directions=1, bins=2)
    data, schema = settings.pop("table", (frame_of_flags(ROWS), flags(4)))
    return lw.synthesize(data, schema, mechanism=mechanism, seed=seed, **{"epsilon": 5, **settings})


@pytest.mark.parametrize("settings", [{}, {"neighbours": "replace-one"}, {"epsilon": None, "rho": "0.1"}])
def test_the_error_is_within_its_bound_and_not_far_below(settings):
    """Each fails in 5 % of releases at most; fifteen of them, all at once, with a chance below 1e-9."""
    errors, bounds = [], []
    for seed in range(15):
        told = lw.covariance(found(seed, **settings))
        errors.append(np.linalg.norm((told.matrix - TRUE)[BETWEEN]))
        bounds.append(told.largest_error)

    assert np.count_nonzero(np.greater(errors, bounds)) <= 8
    assert np.median(bounds) < 6 * np.median(errors)


def test_coordinates_are_named_and_a_saved_release_tells_the_same(tmp_path):
    release = found(1, table=(mixed_rows(2000), MIXED))
    release.save(tmp_path / "model.lapwing")

    told = lw.covariance(release, confidence=0.9)
    back = lw.covariance(lw.load(tmp_path / "model.lapwing"), confidence=0.9)

    assert told.coordinates[0] == "f0"
    assert told.coordinates[-5:] == tuple(f"kind={letter}" for letter in "abcde")
    assert np.array_equal(told.matrix, told.matrix.T)
    assert not told.matrix.flags.writeable
    assert np.array_equal(told.matrix, back.matrix)
    assert (told.largest_error, told.confidence) == (back.largest_error, 0.9)
    assert told.largest_error < lw.covariance(release, confidence=0.999).largest_error


def test_releases_without_a_second_moment_and_odd_confidences_are_refused():
    release = lw.synthesize(frame_of_flags(ROWS), flags(4), epsilon=1, mechanism="independent", seed=1)

    with pytest.raises(ParameterError, match=r"^a covariance needs a release that holds a second moment"):
        lw.covariance(release)
    for confidence in (True, 0.4, 1, "0.9"):
        with pytest.raises(ParameterError, match=r"^confidence must lie from 0.5 to 0.9999, got"):
            lw.covariance(found(1), confidence)
