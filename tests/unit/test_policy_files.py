"""The policy of a data office: what its caps mean, and files that are none."""

from fractions import Fraction
from pathlib import Path

import pytest

from helpers.small_people import synthesize, write_people
from helpers.source_tree import ROOT
from lapwing.extras.office import policy as policies

# -- Files.


def test_the_policy_of_the_page_is_one():
    page = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    text = page.partition("```toml\n")[2].partition("```")[0]

    shown = policies.parsed(text, "page.toml")

    assert {*shown.rules, "total"} == set(policies._READERS)
    assert shown.of("adult")["release"] == policies.Cap(Fraction(1, 2), Fraction(0))


BROKEN = {
    "not there": (None, "does not exist"),
    "long": (b"#" * (10**6 + 1), "is no TOML (it is larger than a megabyte)"),
    "a huge number": (b'ask = "a"\n[year]\nepsilon = 1e999999999', "policy.toml: year: epsilon"),
}


@pytest.mark.parametrize(("content", "says"), BROKEN.values(), ids=BROKEN)
def test_nothing_is_spent_under_a_policy_that_cannot_be_read(content, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(policies.VARIABLE, "policy.toml")
    write_people()
    if content is not None:
        Path("policy.toml").write_bytes(content)
    before = sorted(tmp_path.iterdir())

    said = synthesize("--mechanism", "independent")

    assert says in said.error
    assert said.code in ("LW301", "LW422")
    assert sorted(tmp_path.iterdir()) == before
