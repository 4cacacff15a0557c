"""The policy of a data office: what its caps mean, and files that are none."""

from fractions import Fraction
from pathlib import Path

import pytest

from helpers.small_people import synthesize, write_people
from helpers.source_tree import ROOT
from lapwing.extras.office import policy as policies
from lapwing.kernel.budget.budget import Budget, requested_budget
from lapwing.kernel.budget.conversions import epsilon_for

CAP = policies.Cap(Fraction(1), Fraction(1, 10**6))
PURE, RHO = Budget.pure, Budget.zcdp
SUMS = {
    "pure epsilons add up": ([PURE("0.5"), PURE("0.5")], 0, True),
    "and pass": ([PURE("0.5"), PURE("0.500000001")], 0, False),
    "many small ones are within by rho": ([PURE("0.01")] * 400, 0, True),
    "what was asked as the cap is within it": ([requested_budget(epsilon=1, delta="1e-6")], 0, True),
    "selections take of delta": ([RHO("0.0243")], Fraction(1, 10**7), False),
    "and all of it": ([PURE("0.5")], Fraction(1, 10**6), True),
    "and more": ([PURE("0.5")], Fraction(2, 10**6), False),
    "both kinds add up in rho": ([PURE("0.1"), RHO("0.019")], 0, True),
    "and pass too": ([PURE("0.1"), RHO("0.02")], 0, False),
}


@pytest.mark.parametrize(("budgets", "selected", "is_within"), SUMS.values(), ids=SUMS)
def test_sums_are_within_a_cap_where_they_are_dp_at_it(budgets, selected, is_within):
    assert (policies._excess(budgets, Fraction(selected), CAP) is None) == is_within


def test_zcdp_has_no_epsilon_without_a_delta():
    assert policies._excess([RHO("1e-12")], Fraction(0), policies.Cap(Fraction(1), Fraction(0))) == "rho 0.000000000001"
    said = policies._excess([RHO("0.5")], Fraction(0), CAP)
    assert said == f"rho 0.5 (epsilon {float(epsilon_for(Fraction(1, 2), CAP.delta)):.9f} at delta 1e-06)"


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
