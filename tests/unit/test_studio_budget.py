from fractions import Fraction

import pytest

from helpers.studio_rooms import small_rooms
from lapwing.extras.office.policy import under
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs.shares import USUAL_DELTA


@pytest.fixture
def rooms(tmp_path):
    return small_rooms(tmp_path)


def book(tmp_path):
    return Ledger.open(tmp_path / "budget.db")


def test_an_account_is_opened_and_says_what_the_plan_leaves(rooms, tmp_path):
    rooms.plan("0.5")
    assert "Choose an account" in rooms.get("budget").text

    assert rooms.account("2").at == "/job/people/budget"

    balance = book(tmp_path).balance("people")
    assert (balance.unit, balance.limit, balance.relation, balance.privacy_unit) == ("pure", 2, "add-remove", "row")
    assert (rooms.job.choices.ledger, rooms.job.choices.dataset) == ("budget.db", "people")
    page = rooms.get("budget").text
    assert "0 % of the limit is spent" in page
    assert "It fits, and would leave epsilon 1.5" in page
    assert "opened, with a limit epsilon 2" in page


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"limit": "many"}, "limit must be a finite number"),
        ({"limit": "-1"}, "limit must lie between"),
        ({"dataset": ""}, "the name of a data set"),
        ({"kind": "zcdp", "delta": "2"}, "delta must be"),
        ({"file": "../budget.db"}, "a plain file name"),
        ({"file": "/tmp/budget.db"}, "a plain file name"),
        ({"file": ".db"}, "a plain file name"),
        ({"file": "people.csv"}, "a plain file name"),
    ],
)
def test_a_refused_account_leaves_no_file(rooms, tmp_path, changed, says):
    there = {each.name for each in tmp_path.iterdir()}

    refused = rooms.account(**{"limit": "2", **changed})

    assert (refused.status, says in refused.refusal) == (400, True)
    assert {each.name for each in tmp_path.iterdir()} == there
    assert not (tmp_path.parent / "budget.db").exists()


def test_a_file_that_is_no_ledger_is_refused_and_stays(rooms, tmp_path):
    (tmp_path / "other.db").write_text("mine")

    assert rooms.account(file="other.db").status == 400

    assert (tmp_path / "other.db").read_text() == "mine"
    assert "other.db" not in rooms.get("budget").html


def test_a_plan_that_does_not_fit_is_refused_before_anything_is_done(rooms, tmp_path):
    rooms.account("0.5")
    rooms.plan("1")

    page = rooms.get("budget").text
    assert "people has epsilon 0.5 left of its limit epsilon 0.5, and this release of ε = 1 costs epsilon 1" in page
    begun = rooms.begin()
    assert (begun.status, "raise the limit in the room Budget" in begun.refusal) == (400, True)
    assert not rooms.job.file("release-1").exists()
    assert book(tmp_path).balance().spent == 0

    rooms.post("budget/limit", limit="1.5")
    assert "It fits, and would leave epsilon 0.5" in rooms.get("budget").text
    assert rooms.post("budget/limit", limit="-3").status == 400


def test_an_account_with_a_delta(rooms, tmp_path):
    rooms.account("1", kind="zcdp", delta="1e-6")
    assert book(tmp_path).balance().delta == Fraction(1, 10**6)

    rooms.plan("1")
    assert "with δ = 1e-06 in the room Plan it costs far less" in rooms.get("budget").text
    rooms.plan("1", delta="1e-6")
    assert "It fits, and would leave rho 0" in rooms.get("budget").text

    rooms.account("1", dataset="pure")
    assert "is kept in pure epsilon and a zcdp release cannot be paid from it" in rooms.get("budget").text


def test_a_new_account_is_of_the_kind_that_the_plan_needs(rooms):
    assert f'value="{USUAL_DELTA}"' in rooms.get("budget").html
    rooms.plan("1")
    assert 'value="pure" checked' in rooms.get("budget").html

    rooms.plan("1", delta="1e-12")

    page = rooms.get("budget").html
    assert 'value="zcdp" checked' in page
    assert 'name="delta" inputmode="decimal" autocomplete="off" value="1e-12"' in page


def test_terms_that_differ_are_refused(rooms):
    rooms.account()
    rooms.plan("1", neighbours="replace-one", mechanism="Independent")

    assert "accounted under the neighbour relation add-remove" in rooms.get("budget").text


def test_only_listed_accounts_are_chosen(rooms, tmp_path):
    rooms.account()
    rooms.account(dataset="other")
    assert rooms.job.choices.dataset == "other"

    assert rooms.post("budget", account="budget.db/people").at == "/job/people/budget"
    assert rooms.job.choices.dataset == "people"
    assert rooms.post("budget", account="../budget.db/people").status == 400
    assert rooms.post("budget", account="budget.db/nobody").status == 400
    assert rooms.job.choices.dataset == "people"

    assert rooms.post("budget", account="").at == "/job/people/release"
    assert rooms.job.choices.ledger == ""
    assert "No ledger is chosen" in rooms.get("release").text


def test_a_ledger_that_is_gone_is_said(rooms, tmp_path):
    rooms.account()
    (tmp_path / "budget.db").unlink()

    assert "there is no ledger" in rooms.get("budget").refusal
    assert "there is no ledger" in rooms.get("release").text


def test_policies_are_shown_and_hold(rooms, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('ask = "the data office"\ntotal = { epsilon = "1" }\nneedsNames = ["preparedBy"]\n')

    with under(policy):
        assert "allows at most epsilon 1 at delta 0 in all" in rooms.account("2").refusal
        assert not (tmp_path / "budget.db").exists()
        rooms.account("1")
        rooms.plan("0.5")
        page = rooms.get("budget").text
        assert "At most in all: epsilon 1 at delta 0" in page
        assert "write who prepared and who approved it in the room Release" in page
        assert "allows at most epsilon 1" in rooms.post("budget/limit", limit="3").refusal
        rooms.post("release/people", prepared_by="Ann", approved_by="")
        assert "It fits" in rooms.get("budget").text
    assert "No policy of a data office" in rooms.get("budget").text
