"""Recorded releases say of the true tables what they said: every interval, bound and share."""

import json

import pytest

from helpers.recorded_intervals import CONDITIONS, KEPT, evidence_of, kept_of
from helpers.recorded_results import fingerprint
from helpers.recorded_runs import kept

SAID = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_recorded_release_says_what_it_said(name: str) -> None:
    found, expected, runs = kept_of(evidence_of(name)), SAID[name], kept()

    assert found["questions"] == {
        question: [numbers, pytest.approx(total, rel=1e-2, abs=1)]
        for question, (numbers, total) in expected["questions"].items()
    }
    if runs["machines"][runs["runs"][name]["machine"]] == fingerprint():
        assert found["questions"] == expected["questions"]
        assert found["digest"] == expected["digest"]


def test_what_is_kept_tells_a_row_more() -> None:
    one, other = (kept_of({"query sex": [["Female", lower, 120, "1 noisy count"]]}) for lower in (90, 91))

    assert one["questions"] == {"query sex": [2, 210]}
    assert one["digest"] != other["digest"]
    assert set(SAID) == set(CONDITIONS)
