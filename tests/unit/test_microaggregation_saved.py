"""Releases of Microaggregation that are saved, taken up again after an interruption, and made again."""

import numpy as np
import pytest

import lapwing as lw
from helpers.flag_tables import flags, frame_of_flags, latent_rows, mixed_rows
from lapwing.errors import ParameterError
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation

FLAGS, ROWS = frame_of_flags(latent_rows(np.random.default_rng(1), 400, 4)), mixed_rows(300)


def halves(points):
    """Return the nearest points of the cube of half the side."""
    return np.clip(points, -0.5, 0.5)


def test_a_release_in_a_set_of_one_s_own_cannot_be_taken_up_again(tmp_path):
    path = tmp_path / "t.jsonl"
    lw.synthesize(FLAGS, flags(4), epsilon=1, mechanism=Microaggregation(convex_set=halves), transcript=path)

    with pytest.raises(ParameterError, match=r"^convex_set must be box.*, got 'callable halves'; .* cannot be resumed"):
        lw.resume(path, FLAGS)
