"""The policy of a data office: what its caps mean, files that are none, and what every door refuses under it."""

import io
import json
import subprocess
import sys
from contextlib import nullcontext
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables
from helpers.source_tree import ROOT
from lapwing.errors import BudgetError
from lapwing.extras.office import policy as policies
from lapwing.kernel.budget import ledger as ledgers
from lapwing.kernel.budget.budget import Budget, requested_budget
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs.records import AccountedSink

EXAMPLES = Path(lw.__file__).parent / "examples"
POLICY = """
ask = "the data office"
needsLedger = true
mechanisms = ["Adaptive", "independent", "evaluation", "domain"]
neighbours = ["add-remove"]
privacyUnits = ["row", "home:4"]
leastGroup = 10
[release]
epsilon = 1
delta = 1e-6
[year]
epsilon = 1.5
delta = 1e-6
[total]
epsilon = 3
delta = 1e-6
[datasets.homes.release]
epsilon = 0.5
"""
LOOSE = 'ask = "nobody"\n[release]\nepsilon = 100\n'
TERMS = ("--neighbours", "add-remove", "--privacy-unit", "row")
INIT = ("ledger", "init", "b", *TERMS, "--unit", "pure", "--limit")
BOOK = ("--ledger", "budget.db", "--dataset", "adult")
RELEASE = ("synthesize", "adult.parquet", "--schema", "s.json", "-o", "new.csv", "--mechanism", "independent")
EVALUATE = ("evaluate", "adult.parquet", "out.csv", "--schema", "s.json")
LEARN = ("schema", "learn", "adult.parquet", "--schema", "draft.json", "-o", "learned.json")
LINK = ("synthesize", "parents.csv", "children.csv", "--schema", "homes.json", "-o", "p.csv", "-o", "c.csv")
GROUPS = ("anonymize", "adult.parquet", "--schema", "s.json", "-o", "a.csv", "--min-group-size")
EACH = ("--mechanism", "independent")
START = ("none", "1", "0", "1000", "y", "10")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with tables, a policy, and a ledger from which epsilon 1 was spent under it."""
    schema = json.loads((EXAMPLES / "adult.schema.json").read_text())
    contents = {
        "policy.toml": POLICY.encode("utf-8-sig"),
        "loose.toml": LOOSE,
        "adult.parquet": pl.read_parquet(EXAMPLES / "adult.parquet").head(1000),
        **dict.fromkeys(("s.json", "adult.schema.json"), schema),
        "draft.json": {"draft": True, "fields": make.fields({"age": "integer"}, provenance="dp")},
        "homes.json": HOMES,
        **dict(zip(("parents.csv", "children.csv"), tables(100), strict=True)),
    }
    folder = make.files(tmp_path_factory.mktemp("made"), contents)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("XDG_STATE_HOME", str(folder))
        patched.setenv(policies.VARIABLE, "policy.toml")
        for dataset, unit in (("adult", "row"), ("homes", "home:4")):
            make.ledger("budget.db", 3, dataset=dataset, privacy_unit=unit)
        said = lapwing(*RELEASE[:-4], "-o", "out.csv", *RELEASE[-2:], "--epsilon", "1", *BOOK)
        assert said.status == 0, said.err
    return folder


@pytest.fixture
def place(made, place, monkeypatch):
    """Work in a copy of it, under the policy."""
    make.files(place, {each.name: each.read_bytes() for each in made.iterdir() if each.is_file()})
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    monkeypatch.setenv(policies.VARIABLE, "policy.toml")
    return place


def kept(place):
    """Return what must stay: names of files, and all entries of the ledger."""
    files = {str(path.relative_to(place)) for path in place.rglob("*") if "state" not in path.parts}
    return {name for name in files if not name.endswith(("-wal", "-shm"))}, Ledger.open("budget.db").export()


def spend(epsilon, mechanism="independent"):
    """Spend it in Python."""
    account = {"ledger": "budget.db", "dataset": "adult"}
    return lw.synthesize("adult.parquet", "s.json", epsilon=epsilon, mechanism=mechanism, **account)


FORBIDDEN = {
    "a large release": (*RELEASE, "--epsilon", "1.01", *BOOK, "release"),
    "a rho": (*RELEASE, "--rho", "0.1", *BOOK, "release"),
    "a delta": (*RELEASE, "--epsilon", "0.1", "--delta", "1e-5", *BOOK, "release"),
    "too much in a year": (*RELEASE, "--epsilon", "0.51", *BOOK, "year"),
    "no ledger": (*RELEASE, "--epsilon", "0.1", "needsLedger"),
    "a mechanism": (*RELEASE[:-1], "pmm", "--epsilon", "0.1", *BOOK, "mechanisms"),
    "neighbours": (*RELEASE, "--epsilon", "0.1", "--neighbours", "replace-one", *BOOK, "neighbours"),
    "a looser policy beside it": ("--policy", "loose.toml", *RELEASE, "--epsilon", "2", *BOOK, "release"),
    "an evaluation": (*EVALUATE, "--epsilon", "0.6", *BOOK, "year"),
    "an evaluation without a ledger": (*EVALUATE, "--epsilon", "0.6", "needsLedger"),
    "a schema": (*LEARN, "--epsilon", "0.6", *BOOK, "year"),
    "a schema without a ledger": (*LEARN, "--epsilon", "0.6", "needsLedger"),
    "linked tables": (*LINK, "--epsilon", "0.6", "--ledger", "budget.db", "--dataset", "homes", "release"),
    "mechanisms of linked tables": (*LINK, "--epsilon", "0.4", "--mechanism", "child=pmm", "mechanisms"),
    "an account": (*INIT, "3.1", "total"),
    "an account in rho": (*INIT, "3", "--unit", "zcdp", "total"),
    "an account of persons": (*INIT, "1", "--privacy-unit", "person:9", "privacyUnits"),
    "a ledger": (*INIT, "4", "--ledger", "b.db", "total"),
    "a higher limit": ("ledger", "limit", "adult", "4", "total"),
    "small groups": (*GROUPS, "9", "leastGroup"),
    "a start": ("start", "adult.parquet", "total"),
}


@pytest.mark.parametrize("command", FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_the_policy_forbids_is_refused_before_anything_is_spent_or_written(command, place, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in START)))
    before = kept(place)
    *words, rule = command

    said = lapwing(*words)

    last = said.err.splitlines()[-1]
    assert last.startswith(f"lapwing: the policy policy.toml ({rule}) "), said.err
    assert last.endswith(", or ask the data office [LW421]")
    assert (said.status, kept(place)) == (1, before)


ALLOWED = {
    "a release": (*RELEASE, "--epsilon", "0.5", *BOOK),
    "a release under two policies": ("--policy", "loose.toml", *RELEASE, "--epsilon", "0.5", *BOOK),
    "an evaluation": (*EVALUATE, "--epsilon", "0.5", *BOOK),
    "a schema": (*LEARN, "--epsilon", "0.5", *BOOK),
    "linked tables": (*LINK, *EACH, "--epsilon", "0.5", "--ledger", "budget.db", "--dataset", "homes"),
    "an account": (*INIT, "3", "--unit", "zcdp", "--delta", "1e-6"),
    "a lower limit": ("ledger", "limit", "adult", "2"),
    "groups": (*GROUPS, "10"),
}


@pytest.mark.parametrize("command", ALLOWED.values(), ids=ALLOWED)
def test_what_the_policy_allows_goes_through(command, place):
    said = lapwing(*command)

    assert said.status == 0, said.err


PYTHON = {
    "release": lambda **more: lw.synthesize("adult.parquet", "s.json", epsilon=2, mechanism="independent", **more),
    "year": lambda **more: lw.evaluate("adult.parquet", "out.csv", "s.json", epsilon=0.6, **more),
    "neighbours": lambda **more: lw.Schema.learn(
        "adult.parquet", "draft.json", epsilon=0.1, neighbours="replace-one", **more
    ),
    "mechanisms": lambda **more: lw.synthesize(
        ("parents.csv", "children.csv"),
        "homes.json",
        epsilon=0.4,
        mechanism={"parent": "pmm"},
        **{**more, "dataset": "homes"},
    ),
    "leastGroup": lambda **_: lw.anonymize("adult.parquet", "s.json", 9),
}


@pytest.mark.parametrize("rule", PYTHON)
def test_python_is_refused_as_the_command_line_is(rule, place):
    before = kept(place)

    with pytest.raises(BudgetError, match=rf"^the policy policy.toml \({rule}\) .*, or ask the data ") as caught:
        PYTHON[rule](ledger="budget.db", dataset="adult")

    assert (caught.value.code, kept(place)) == ("LW421", before)


def test_somebody_elses_mechanism_cannot_take_the_name_of_one_that_is_allowed(place):
    class Independent(lw.Independent):
        pass

    with pytest.raises(BudgetError, match=r"\(mechanisms\) allows Adaptive, .*, got .*test_policy\..*\.Independent;"):
        spend(0.1, mechanism=lw.Trusted(Independent()))


def test_a_refusal_names_rule_file_what_is_asked_the_most_and_who_may_raise_it(place):
    year = Ledger.open("budget.db").history("adult")[-1].at[:4]

    assert lapwing(*RELEASE, "--epsilon", "0.51", *BOOK).error == (
        "the policy policy.toml (year) allows data set 'adult' at most epsilon 1.5 at delta 1e-06 in the calendar year "
        f"{year}, and with this release it comes to epsilon 1.51; ask for less, or ask the data office"
    )


def test_a_plan_says_what_is_forbidden_before_any_row_is_read(place):
    asked = ("plan", "--schema", "s.json", "--expected-rows", "1000", "--epsilon")

    assert "Forbidden: the policy policy.toml (release) allows a release at most" in lapwing(*asked, "2").out
    assert "Forbidden" not in lapwing(*asked, "1").out


# -- A release that was interrupted.


def _stop(*_):
    raise KeyboardInterrupt


def interrupted(monkeypatch, *when):
    """Begin a release that ends at one of the steps of its record, and return its transcript."""
    with monkeypatch.context() as patched:
        patched.setattr(AccountedSink, when[0], _stop)
        assert lapwing(*RELEASE, "--epsilon", "0.4", *BOOK, "--transcript", "t.jsonl", *when[1:]).status == 130
    return "t.jsonl"


def test_a_release_that_was_paid_is_finished_whatever_the_policy_says_now(place, monkeypatch):
    transcript = interrupted(monkeypatch, "begin")
    Path("policy.toml").write_text('ask = "the data office"\n[release]\nepsilon = 0\n')

    said = lapwing("resume", transcript, "adult.parquet", "-o", "new.csv")

    assert said.status == 0, said.err
    assert Ledger.open("budget.db").balance("adult").spent == Fraction("1.4")


def test_a_release_that_was_not_paid_is_not_paid_by_resuming_it(place, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("lapwing.release.runs.records.kept_transcript", lambda _: Path("t.jsonl"))
        patched.setattr("lapwing.kernel.room.transcript.TranscriptFile.discard", lambda _: None)  # as if it were killed
        transcript = interrupted(patched, "debit")
    Path("policy.toml").write_text('ask = "the data office"\n[release]\nepsilon = 0.3\n')
    before = kept(place)

    said = lapwing("resume", transcript, "adult.parquet", "-o", "new.csv")

    assert (said.status, kept(place)) == (1, before)
    assert "the policy policy.toml (release) allows a release at most epsilon 0.3 " in said.err


def test_a_release_without_a_ledger_is_not_resumed_under_a_policy_that_needs_one(place, monkeypatch):
    with monkeypatch.context() as patched:
        patched.delenv(policies.VARIABLE)
        assert lapwing(*RELEASE, "--epsilon", "0.4", "--transcript", "t.jsonl").status == 0
    Path("kept.jsonl").write_bytes(Path("t.jsonl").read_bytes())

    said = lapwing("resume", "t.jsonl", "adult.parquet", "-o", "new.csv", "--quiet")

    assert "(needsLedger) needs a ledger" in said.error
    assert Path("t.jsonl").read_bytes() == Path("kept.jsonl").read_bytes()


# -- Two releases at once.


def test_a_release_that_was_allowed_when_it_began_is_refused_if_another_was_faster(place, monkeypatch):
    debit, faster = AccountedSink.debit, []

    def overtaken(self, settings):
        if not faster:
            faster.append(True)
            spend(0.4)
        debit(self, settings)

    monkeypatch.setattr(AccountedSink, "debit", overtaken)

    with pytest.raises(BudgetError, match=r"\(year\) .* comes to epsilon 1\.7"):
        spend(0.3)

    assert Ledger.open("budget.db").balance("adult").spent == Fraction("1.4")
    assert len(list(Path("budget.db.transcripts").glob("*.jsonl"))) == 1


def test_processes_at_once_do_not_pass_the_cap_of_a_year_together(place):
    command = [sys.executable, "-c", "from lapwing.cli.main import run; run()", *RELEASE, "--epsilon", "0.3", *BOOK]
    commands = [[f"{number}.csv" if each == "new.csv" else each for each in command] for number in range(3)]
    begun = [subprocess.Popen(each, stderr=subprocess.PIPE) for each in commands]

    said = [each.communicate()[1] for each in begun]

    assert sorted(each.returncode for each in begun) == [0, 1, 1], said
    assert sum(each.endswith(b"[LW421]\n") for each in said) == 2
    assert Ledger.open("budget.db").balance("adult").spent == Fraction("1.3")


# -- Years.


def stop_clock(monkeypatch, time):
    monkeypatch.setattr(ledgers, "_now", lambda: time)
    monkeypatch.setattr(policies, "datetime", SimpleNamespace(now=lambda _: datetime.fromisoformat(time)))


def test_a_new_year_has_a_sum_of_its_own_and_a_clock_that_is_put_back_none(place, monkeypatch):
    now = Ledger.open("budget.db").history("adult")[-1].at
    later = f"{int(now[:4]) + 1}-01-01T00:00:00+00:00"
    stop_clock(monkeypatch, later)
    spend(1)
    stop_clock(monkeypatch, now)

    for epsilon in (0.6, 0.5, 0.1):
        refused = pytest.raises(BudgetError, match=rf"in the calendar year {later[:4]}, .* comes to epsilon 1\.6")
        with nullcontext() if epsilon == 0.5 else refused:
            spend(epsilon)


# -- Kept in the ledger.


def test_a_policy_that_a_ledger_keeps_holds_without_option_or_variable(place, monkeypatch):
    monkeypatch.delenv(policies.VARIABLE)
    opened = ("--unit", "pure", "--limit", "3", *TERMS, "--ledger", "kept.db", "--policy", "policy.toml")
    assert lapwing("ledger", "init", "adult", *opened).status == 0
    Path("policy.toml").unlink()
    book = ("--ledger", "kept.db")

    assert lapwing(*RELEASE, "--epsilon", "2", *book).code == "LW421"
    assert lapwing("ledger", "limit", "adult", "4", *book).code == "LW421"
    assert lapwing(*RELEASE, "--epsilon", "1", *book).status == 0
    assert "the policy policy.toml (year) allows" in lapwing(*RELEASE, "--epsilon", "1", *book).error
    assert "policy        policy.toml\n" in lapwing("ledger", "show", *book).out
    assert lapwing("ledger", "verify", *book).status == 0
    assert Ledger.open("kept.db").balance("adult").spent == 1


def test_a_policy_is_kept_only_with_an_account_that_it_allows(place):
    Path("mine.toml").write_text('ask = "the board"\n[total]\nepsilon = 2\n')
    opened = ("--unit", "pure", "--limit", "3", *TERMS, "--ledger", "kept.db", "--policy", "mine.toml")

    said = lapwing("ledger", "init", "adult", *opened)

    assert (said.code, Path("kept.db").exists()) == ("LW421", False)
    assert "(total) allows at most epsilon 2 at delta 0 in all, and this limit is epsilon 3; give a " in said.error


def test_where_a_data_set_has_rules_of_its_own_a_ledger_must_name_it(place):
    Path("policy.toml").write_text('ask = "the board"\n[datasets.adult.total]\nepsilon = 1.1\n')

    assert "(datasets) needs a ledger" in lapwing(*RELEASE, "--epsilon", "0.2").error
    assert "(total) allows data set 'adult' at most" in lapwing(*RELEASE, "--epsilon", "0.2", *BOOK).error
    assert lapwing(*RELEASE, "--epsilon", "0.1", *BOOK).status == 0


# -- Names.


def test_a_policy_asks_for_names_which_only_a_signed_release_has(place):
    Path("policy.toml").write_text('ask = "the data office"\nneedsNames = ["approvedBy"]\n')
    before = kept(place)

    assert "(needsNames) wants approvedBy" in lapwing(*RELEASE, "--epsilon", "0.1", *BOOK, "--prepared-by", "Ada").error
    assert "(needsNames) wants approvedBy" in lapwing(*RELEASE, "--epsilon", "0.1", *BOOK, "--approved-by", " ").error
    assert lapwing(*EVALUATE, "--epsilon", "0.1", *BOOK).code == "LW421"
    with pytest.raises(BudgetError, match="needsNames"):
        spend(0.1)
    assert kept(place) == before
    homes = ("--ledger", "budget.db", "--dataset", "homes", "--approved-by", "Bob")
    for command in ((*RELEASE, *BOOK, "--approved-by", "Bob"), (*LINK, *EACH, *homes)):
        said = lapwing(*command, "--epsilon", "0.1")
        assert said.status == 0, said.err


def test_an_empty_variable_names_no_policy_and_an_option_holds_for_one_command(place, monkeypatch):
    monkeypatch.setenv(policies.VARIABLE, "")

    assert lapwing("--policy", "policy.toml", *RELEASE, "--epsilon", "0.1").code == "LW421"
    assert policies.in_force() == ()
    assert lapwing(*RELEASE, "--epsilon", "0.1").status == 0


# ------------------------------------------------------------------------------------------- what caps mean, and files


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
def test_nothing_is_spent_under_a_policy_that_cannot_be_read(content, says, place):
    Path("policy.toml").unlink() if content is None else Path("policy.toml").write_bytes(content)
    before = kept(place)

    said = lapwing(*RELEASE, "--epsilon", "0.1", *BOOK)

    assert says in said.error
    assert said.code in ("LW301", "LW422")
    assert kept(place) == before
