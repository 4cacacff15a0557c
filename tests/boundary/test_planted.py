"""Each bug of the catalogue is seen by its audit, which sees nothing in the code as it is."""

import csv

import pytest

from helpers.bits import SeededBits
from helpers.linear_runs import AskingSums
from helpers.planted_bugs import BUGS, SLIPS, audits
from helpers.source_tree import ROOT
from helpers.vector_runs import AskingVectors
from lapwing.extras.audit.report import PLANTED, SEEN_FROM
from lapwing.kernel.noise.bits import SystemBits
from planted.answers import TABLES, zero_is_drawn_twice
from planted.slips import LINKED

LOOKS = 4
"""Looks of each audit at the honest code in CI."""


def is_seen_elsewhere(audit):
    """Return whether other tests audit the same honest code: `test_{linked,linear,vector}_privacy`."""
    return audit == LINKED or isinstance(next(iter(audit.given), None), AskingSums | AskingVectors)


@pytest.mark.parametrize(
    "bug", [pytest.param(bug, id=name, marks=[pytest.mark.full] * bug.is_full) for name, bug in BUGS]
)
def test_a_planted_bug_is_flagged(bug, monkeypatch):
    bits = SeededBits(5)  # the same words each time: what most runs show is shown by all
    monkeypatch.setattr(SystemBits, "words", lambda _, count: bits.words(count))
    bug.plant(monkeypatch)

    flags = bug.audit.flags(bug.within, bug.first)

    assert any(bug.says in str(flag) for flag in flags), flags


@pytest.mark.parametrize(
    ("audit", "looks"),
    [
        pytest.param(
            each, looks, id=f"{each}-{looks}", marks=[pytest.mark.full] * (looks > LOOKS or is_seen_elsewhere(each))
        )
        for each, within in audits()
        for looks in sorted({min(within, LOOKS), within})
    ],
)
def test_honest_code_is_not_flagged(audit, looks):
    assert not audit.flags(looks)


def test_no_replay_sees_a_bug_inside_the_sampler(monkeypatch):
    zero_is_drawn_twice(monkeypatch)

    assert not TABLES.flags(8)


def test_what_an_audit_says_that_it_sees_was_measured():
    """By `bench/audit_power.py slips`."""
    with (ROOT / "bench" / "results" / "audit_slips.csv").open(encoding="utf-8") as file:
        measured = list(csv.DictReader(file))

    assert [each["slip"] for each in measured] == list(SLIPS)
    assert len(SLIPS) == PLANTED
    assert sorted(int(each["runs"]) for each in measured if each["runs"]) == sorted(SEEN_FROM)
    said = f"{len(SEEN_FROM)} by `lapwing audit --runs 300`"
    assert said in (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
