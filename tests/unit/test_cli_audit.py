"""`lapwing audit`: what it takes, what it shows, and what it writes. What it finds is in tests/boundary."""

import contextlib
import io
import json
from dataclasses import replace
from fractions import Fraction

import pytest

from helpers.command import Terminal, lapwing
from lapwing.cli.main import execute
from lapwing.extras.audit.mechanism_pairs import targets
from lapwing.extras.audit.report import AuditedQuestion, AuditedRelease, AuditReport
from lapwing.extras.audit.run import _seen_from_outside, question_cases
from lapwing.kernel.budget.budget import Budget


def release(**changes):
    """Return a finding about releases that passed."""
    budgets = (Budget.pure(10), Budget.zcdp("0.5"), Budget.pure(1))
    parts = {"name": "Independent", "relation": "add-remove", "max_rows": (3, 3, 3), "budgets": budgets, "released": 3}
    parts |= {"loss_share": Fraction(9999, 10_000), "questions": frozenset({"MarginalCounts"}), "flags": ()}
    return AuditedRelease(**parts | {"seconds": 0.5} | changes)


def question(**changes):
    """Return a finding about a question that passed."""
    parts = {"question": "MarginalCounts", "label": "one table", "relation": "replace-one", "max_rows": 1}
    parts |= {"claim": Budget.pure(2), "delta": Fraction(0), "certified": 1.9999, "runs": 1000, "seconds": 1.5}
    return AuditedQuestion(**parts | changes)


def report(*parts):
    """Return a report of some findings."""
    releases = tuple(each for each in parts if isinstance(each, AuditedRelease))
    return AuditReport(runs=1000, releases=releases, questions=tuple(each for each in parts if each not in releases))


def on_a_terminal(*arguments):
    """Return status, stdout and what a terminal shows as stderr."""
    out, err = io.StringIO(), Terminal()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = execute(["audit", "independent", "--runs", "300", *arguments])
    return status, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Return an empty folder, and what a terminal showed of an audit whose findings were written there."""
    folder = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("TERM", "xterm")
        return folder, *on_a_terminal("--json", "found.json")


def test_the_findings_are_written_for_programs(audited):
    folder, status, out, _ = audited

    written = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    assert status == 0, out
    assert written["passed"] is True
    assert written["runs"] == 300
    assert {each["name"] for each in written["releases"]} == {"Independent"}
    assert all(each["pairs"] == each["released"] == 4 for each in written["releases"])
    assert all(each["runs"] == 300 and each["passed"] for each in written["questions"])
    assert [path.name for path in folder.iterdir()] == ["found.json"]


def test_progress_is_shown_on_a_terminal_alone_and_is_no_part_of_what_is_audited(audited, tmp_path, monkeypatch):
    _, _, out, shown = audited

    assert "Independent, replace-one" in shown
    assert "MarginalCounts, add-remove" in shown
    assert "elapsed" not in out
    monkeypatch.setenv("TERM", "xterm")
    # The releases of one relation are progress enough.
    kept = {name: replace(each, relations=("add-remove",)) for name, each in targets().items()}
    monkeypatch.setattr("lapwing.extras.audit.run.targets", lambda: kept)
    monkeypatch.setattr("lapwing.extras.audit.run.question_cases", tuple)
    assert on_a_terminal("--quiet")[2] == ""
    path = tmp_path / "found.json"
    assert lapwing("audit", "Independent", "--runs", 300, "--json", path).err == f"lapwing: findings: {path}\n"


# ------------------------------------------------------------------------------------------------ what is shown


def test_a_table_shows_claims_losses_and_verdicts():
    lines = report(release(), question()).text().splitlines()

    assert " ".join(lines[2].split()) == "Independent add-remove 3 ε 1 to 10, ρ 0.5 3 3 99.9 % 0.5 passed"
    assert " ".join(lines[6].split()) == "MarginalCounts one table replace-one 1 ε 2 1.999 1000 1.5 passed"
    assert lines[8] == "PASSED: no promise broken in 3 pairs of tables and 2000 answers, 2 s of processor time."


def test_what_is_above_its_claim_fails_and_says_so():
    broken = report(release(), question(certified=2.0001))

    assert not broken.has_passed
    assert broken.flags == (
        "MarginalCounts (one table), replace-one, 1 row per unit: it loses at least ε 2.000, the claim is ε 2",
    )
    assert "FAILED: 1 promise broken" in broken.text()
    assert not broken.to_dict()["passed"]


def test_what_loses_exactly_its_claim_passes():
    assert question(certified=2.0).has_passed
    assert not question(certified=2.0000001).has_passed


@pytest.mark.parametrize("certified", [0.0, 0.0009999])
@pytest.mark.parametrize(("is_within", "word"), [(False, "too few runs"), (True, "within δ")])
def test_a_question_about_which_nothing_is_certain_says_why_and_shows_no_number(certified, is_within, word):
    found = question(certified=certified, is_within_delta=is_within)

    assert found.has_passed
    assert f" {word} " in report(found).text()
    assert " 0.000 " not in report(found).text()
    assert found.to_dict()["certified_at_least"] is None
    assert found.to_dict()["why_nothing"] == word


@pytest.mark.parametrize(
    ("label", "runs", "word"),
    [
        ("a text that one person alone has", 12_000, "within δ"),
        ("a text that one person alone has", 100, "too few runs"),
        ("one table of two values", 10, "too few runs"),
    ],
)
def test_delta_explains_what_is_seen_of_a_text_that_one_person_alone_has_unless_runs_are_too_few(label, runs, word):
    asked = next(each for each in question_cases() if each.label == label)

    assert _seen_from_outside(asked, runs).why_nothing == word


def test_releases_that_were_all_refused_are_not_said_to_have_passed():
    assert report(release(released=0)).text().splitlines()[2].endswith("no release")
    assert report(release(released=0, flags=("odd",))).text().splitlines()[2].endswith("FAILED")
