import pytest

from helpers.studio_rooms import small_rooms
from lapwing.kernel.budget.ledger import Ledger


@pytest.fixture
def rooms(tmp_path):
    return small_rooms(tmp_path)


def book(tmp_path):
    return Ledger.open(tmp_path / "budget.db")


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


def test_terms_that_differ_are_refused(rooms):
    rooms.account()
    rooms.plan("1", neighbours="replace-one", mechanism="Independent")

    assert "accounted under the neighbour relation add-remove" in rooms.get("budget").text
