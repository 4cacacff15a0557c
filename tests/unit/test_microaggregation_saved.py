"""Releases of Microaggregation that are saved, taken up again after an interruption, and made again."""

import numpy as np
import pytest

import lapwing as lw
from helpers.flag_tables import MIXED, flags, frame_of_flags, latent_rows, mixed_rows
from helpers.transcripts import cut_after
from lapwing.errors import ParameterError
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation

PAPER = Microaggregation(variant="paper")
FLAGS, ROWS = frame_of_flags(latent_rows(np.random.default_rng(1), 400, 4)), mixed_rows(300)


def halves(points):
    """Return the nearest points of the cube of half the side."""
    return np.clip(points, -0.5, 0.5)


@pytest.mark.parametrize(
    "mechanism", [Microaggregation(directions=2), Microaggregation(numbers="means", calibrate=False), PAPER], ids=str
)
def test_an_interrupted_release_is_taken_up_after_any_answer_with_the_same_result(tmp_path, mechanism):
    whole, data = tmp_path / "whole.jsonl", ROWS
    release = lw.synthesize(
        data, MIXED, epsilon=50, mechanism=mechanism, neighbours="replace-one", misfits=1, transcript=whole, seed=3
    )
    lines = whole.read_text().splitlines(keepends=True)

    for kept in range(1, len(lines) + 1):
        path = tmp_path / f"{kept}.jsonl"
        path.write_text(cut_after(whole, kept - 1))
        again = lw.resume(path, data)
        known = [each.to_dict() for each in release.noisy]
        assert [each.to_dict() for each in again.noisy][: kept - 1] == known[: kept - 1]
    assert again.sample(40, seed=1).equals(release.sample(40, seed=1))
    assert again.model.weights.tolist() == release.model.weights.tolist()


def test_a_release_in_a_set_of_one_s_own_cannot_be_taken_up_again(tmp_path):
    path = tmp_path / "t.jsonl"
    lw.synthesize(FLAGS, flags(4), epsilon=1, mechanism=Microaggregation(convex_set=halves), transcript=path)

    with pytest.raises(ParameterError, match=r"^convex_set must be box.*, got 'callable halves'; .* cannot be resumed"):
        lw.resume(path, FLAGS)
