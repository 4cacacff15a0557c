"""Each bug of the catalogue is seen by its audit, which sees nothing in the code as it is."""

import pytest

from helpers.bits import SeededBits
from lapwing.kernel.noise.bits import SystemBits
from planted.catalogue import BUGS, SUBJECTS, audits, is_plant

LOOKS = 8
"""Looks of each audit at the honest code in CI."""


@pytest.mark.parametrize(
    "bug", [pytest.param(bug, id=name, marks=[pytest.mark.full] * bug.is_full) for name, bug in BUGS]
)
def test_a_planted_bug_is_flagged(bug, monkeypatch):
    bits = SeededBits(5)  # the same words each time: what most runs show is shown by all
    monkeypatch.setattr(SystemBits, "words", lambda _, count: bits.words(count))
    bug.plant(monkeypatch)

    flags = bug.audit.flags(bug.within, bug.first)

    assert any(bug.says in flag for flag in flags), flags


@pytest.mark.parametrize(
    ("audit", "looks"),
    [
        pytest.param(each, looks, id=f"{each}-{looks}", marks=[pytest.mark.full] * (looks > LOOKS))
        for each, within in audits()
        for looks in sorted({min(within, LOOKS), within})
    ],
)
def test_honest_code_is_not_flagged(audit, looks):
    assert not audit.flags(looks)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_bug_is_looked_for(subject):
    plants = {f"{subject}-{name}" for name, value in vars(SUBJECTS[subject]).items() if is_plant(name, value)}

    assert plants == {name for name, _ in BUGS if name.startswith(f"{subject}-")}
