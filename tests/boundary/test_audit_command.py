"""`lapwing audit` passes on this installation, and a bug that is planted in the room makes it fail."""

import json
import re
import sys
import time
from dataclasses import replace

import pytest

from helpers.command import lapwing
from lapwing.extras.audit import replay as replaying
from lapwing.extras.audit.mechanism_pairs import targets
from lapwing.extras.audit.run import audit, question_cases
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.questions import answering
from lapwing.kernel.questions.registered import KINDS
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.rows.source import code_table

DEFAULT_SECONDS = 360
"""What an audit may take by default, of processor time."""


GROUPS = {
    ("adaptive",): {"MarginalCounts", "SelectWorst", "TableDistances"},
    ("independent", "tables", "mend"): {"MarginalCounts", "MisfitRows"},
    ("pmm", "psmm"): {"TreeCounts"},
    ("grid", "kdtree"): {"SparseCounts", "SplitDecisions"},
    ("microaggregation", "linearstatistics"): {"CellSums", "LinearStatistics", "SecondMoment"},
    ("privatesampling", "learn"): {"CategorySelection", "PrivateDraw"},
    ("evaluate", "large"): {"TableDistances"},
    ("link",): set[str](),
}
"""All that makes releases, in parts of which each takes seconds, and the kinds of question that a part must ask."""


def test_everything_that_makes_releases_and_every_question_is_in_a_group():
    assert sorted(name for group in GROUPS for name in group) == sorted(targets())
    assert {name.lower() for name in MECHANISMS} <= {name for group in GROUPS for name in group}
    assert {case.question for case in question_cases()} == set(KINDS)
    assert set().union(*GROUPS.values()) == set(KINDS)


@pytest.mark.parametrize("group", GROUPS, ids="-".join)
def test_what_makes_releases_is_audited_with_the_questions_that_it_asks_and_passes(group):
    report = audit(group, runs=300)

    assert report.flags == ()
    asked = frozenset().union(*(each.questions for each in report.releases))
    assert {each.question for each in report.questions} == asked
    assert asked >= GROUPS[group]
    for name in group:
        kind = targets()[name]
        lines = [each for each in report.releases if each.name == kind.name]
        wanted = [(relation, rows) for relation in kind.relations for rows in kind.rows_per_unit]
        assert [each.relation for each in lines] == [relation for relation, _ in wanted]
        assert all(set(each.max_rows) <= set(rows) for each, (_, rows) in zip(lines, wanted, strict=True))
        assert sum(each.released for each in lines) > 0
        assert {budget.notion for each in lines for budget in each.budgets} == {"pure", "zcdp"}
    assert max(each.loss_share for each in report.releases) > 0.9


@pytest.mark.full
def test_the_default_audit_passes_within_six_minutes_of_processor_time():
    start = time.process_time()

    said = lapwing("audit")

    assert said.status == 0, said.out
    assert time.process_time() - start <= DEFAULT_SECONDS


def half_noise(patch):
    """Let the room draw half the noise that it declares."""
    patch.setattr(answering, "discrete_laplace", lambda scale, *more: discrete_laplace(scale / 2, *more))
    patch.setattr(answering, "discrete_gaussian", lambda variance, *more: discrete_gaussian(variance / 4, *more))


def none_in_the_first_cell(scale, size, bits):
    """Draw noise, but none for one cell of each table."""
    noise = discrete_laplace(scale, size, bits)
    noise[0] = 0
    return noise


@pytest.fixture
def adding_or_removing(monkeypatch):
    """Audit under one relation, and leave questions to other tests."""
    kept = {name: replace(target, relations=("add-remove",)) for name, target in targets().items()}
    monkeypatch.setattr("lapwing.extras.audit.run.targets", lambda: kept)
    monkeypatch.setattr("lapwing.extras.audit.run.question_cases", tuple)


def test_a_bug_planted_in_the_room_fails_the_audit_on_both_sides(monkeypatch, place):
    monkeypatch.setattr(answering, "discrete_laplace", none_in_the_first_cell)

    said = lapwing("audit", "Independent", "--runs", 600, "--json", "found.json", "--quiet")

    assert said.status == 1
    assert said.err.startswith("lapwing: the audit found a broken privacy promise; ")
    assert said.err.count("\n") == 1
    assert "is not the exact count plus its noise" in said.out
    assert "MarginalCounts (" in said.out
    assert "it loses at least ε " in said.out
    found = json.loads((place / "found.json").read_text(encoding="utf-8"))
    assert not found["passed"]
    assert any(not each["passed"] for each in found["releases"])
    assert any(not each["passed"] for each in found["questions"])


@pytest.mark.usefixtures("adding_or_removing")
def test_units_that_own_more_rows_than_the_claim_is_for_lose_more_than_all_of_it(monkeypatch):
    monkeypatch.setattr(
        replaying, "code_table", lambda data, schema, **how: code_table(data, replace(schema, privacy_unit=None), **how)
    )

    report = audit(["Independent"], runs=900)

    assert not report.has_passed
    assert any(each.loss_share > 1 and not each.has_passed for each in report.releases)
    assert any("the answers lose" in flag for flag in report.flags)


@pytest.mark.usefixtures("adding_or_removing")
def test_a_run_that_tells_how_many_rows_there_are_fails_the_audit(monkeypatch):
    honest = replaying.run_release

    def telling(source, *settings, **places):
        sys.stdout.write(f"counted {source.rows} rows")
        return honest(source, *settings, **places)

    monkeypatch.setattr(replaying, "run_release", telling)

    said = lapwing("audit", "Independent", "--runs", 300)

    assert said.status == 1
    assert "messages differs when the same answers are replayed on the neighbour" in said.out


@pytest.mark.usefixtures("adding_or_removing")
def test_flags_name_the_pair_and_the_budget_so_that_it_can_be_found_again(monkeypatch):
    half_noise(monkeypatch)

    first, second = (audit(["Independent"], runs=300).releases for _ in range(2))

    for found in (first, second):
        flags = found[0].flags
        assert flags
        assert all(
            re.match(r"Independent, add-remove, 1 row per unit, pair [1-4] \((epsilon|rho) [0-9.]+\): ", flag)
            for flag in flags
        )
    assert first[0].budgets == second[0].budgets
