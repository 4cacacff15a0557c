"""What a page showed is what is done; what was seen of one table, release or account is not taken for another's."""

import json
import os
import re
import threading
import time

import pytest

from helpers.studio import in_process
from helpers.studio_rooms import SMALL, small_rooms
from lapwing.api.synthesize import synthesize
from lapwing.errors import LapwingError
from lapwing.extras.studio.jobs import new_job
from lapwing.extras.studio.unfinished import TRANSCRIPT
from lapwing.extras.studio.works import EndedError, Works
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs.watching import Progress

OTHER = {"fields": SMALL["fields"][:1]}
BOUGHT = {"fields": [{"name": "size", "type": "integer", "provenance": "dp"}], "draft": True}


@pytest.fixture
def rooms(tmp_path):
    found = small_rooms(tmp_path)
    found.account()
    found.plan()
    return found


def spent(rooms):
    return Ledger.open(rooms.folder / "budget.db").balance("people").spent


def stamp(rooms, room="release"):
    """Return what a page carries of all that it says."""
    return re.search(r'name="stamp" value="([0-9a-f]+)"', rooms.get(room).html)[1]


def until(done):
    deadline = time.monotonic() + 30
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


CHANGES = {
    "another budget": lambda rooms: rooms.plan("2"),
    "another neighbour": lambda rooms: rooms.job.chosen(neighbours="replace-one"),
    "another schema": lambda rooms: rooms.job.file("schema.json").write_text(json.dumps(OTHER)),
    "no ledger": lambda rooms: rooms.post("budget", account=""),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_release_that_its_page_did_not_show_is_not_made(rooms, change):
    seen = stamp(rooms)
    change(rooms)

    answer = rooms.begin(stamp=seen)

    assert answer.status == 409
    assert "nothing was spent" in answer.refusal
    assert not rooms.job.file("release-1").exists()
    assert spent(rooms) == 0


def test_a_purchase_that_its_page_did_not_show_is_not_made(tmp_path):
    rooms = small_rooms(tmp_path, BOUGHT)
    seen = stamp(rooms, "buy")
    rooms.job.chosen(neighbours="replace-one")

    assert rooms.post("buy", epsilon="1", delta="", stamp=seen).status == 400
    assert not list(rooms.job.place.glob("bought-*"))
    assert rooms.post("buy", epsilon="1", delta="", stamp=stamp(rooms, "buy")).status == 303
    until(lambda: list(rooms.job.place.glob("bought-*.certificate.json")))


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, "{}", '{"schema": 1, "epsilon": [2], "delta": {}}'])
def test_a_purchase_that_somebody_edited_hides_no_page(tmp_path, text):
    rooms = small_rooms(tmp_path, BOUGHT)
    rooms.job.file("bought-1.json").write_text(text)

    assert rooms.get("buy").status == 200
    assert rooms.post("buy", epsilon="x", delta="").status == 400


def test_a_limit_is_that_of_the_account_its_page_showed(rooms):
    page = rooms.get("budget").html
    seen = re.search(r'name="account" value="(budget.db/people)">', page)[1]
    rooms.account("3", dataset="other")

    assert rooms.post("budget/limit", limit="9", account=seen).status == 409

    assert Ledger.open(rooms.folder / "budget.db").balance("other").limit == 3
    assert rooms.post("budget/limit", limit="9", account="budget.db/other").status == 303
    assert Ledger.open(rooms.folder / "budget.db").balance("other").limit == 9


# -- What was seen behind a door.


def test_a_look_is_old_once_the_table_changes(rooms, tmp_path):
    rooms.post("check")
    until(lambda: "data-watch" not in rooms.get("check").html)
    assert "has changed since this look" not in rooms.get("check").text

    (tmp_path / "people.csv").write_text("flag,kind,size\ntrue,a,1\n")

    assert "has changed since this look" in rooms.get("check").text


def test_what_is_forgotten_while_it_is_looked_at_is_not_shown_later():
    works, goes_on = Works(), threading.Event()
    work = works.begin("people", "check", lambda _: goes_on.wait(10))
    works.forget("people", "check")
    goes_on.set()
    work.join(10)

    assert work.is_done
    assert works.get("people", "check") is None
    with pytest.raises(EndedError):
        work.tell(Progress(step="cells", share=0.5))


# -- Files.


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_a_job_of_another_user_hides_no_other_and_a_folder_of_theirs_is_said(tmp_path):
    new_job(tmp_path, "own", sql="select 1", db="sqlite:///a.db")
    new_job(tmp_path, "other", sql="select 2", db="sqlite:///a.db").place.chmod(0)
    visitor = in_process(tmp_path)
    assert "/job/own/" in visitor.get("/").text

    (tmp_path / "lapwing-studio").chmod(0)

    assert "cannot be read" in visitor.get("/").text


def halted(rooms, ledger):
    """Leave a release that was paid for in a ledger and ended in the middle."""

    def halt(step):
        if step.share >= 0.5:
            raise InterruptedError

    place = rooms.job.file("release-1")
    place.mkdir()
    with pytest.raises(LapwingError):
        synthesize(
            rooms.job.data,
            rooms.job.file("schema.json"),
            epsilon=1,
            ledger=ledger,
            transcript=place / TRANSCRIPT,
            progress=halt,
        )


def test_a_release_that_its_ledger_does_not_know_is_not_finished_at_a_price(rooms, tmp_path):
    halted(rooms, tmp_path / "budget.db")
    assert "Finish it free of charge" in rooms.get("release").text
    (tmp_path / "budget.db").unlink()
    rooms.account()

    page = rooms.get("release").text
    rooms.post("release/finish")

    assert "has no debit of the release in release-1" in page
    assert "free of charge" not in page.partition("Leave")[0]
    assert spent(rooms) == 0


def test_a_release_of_another_hand_reaches_no_ledger_elsewhere(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    rooms = small_rooms(work)
    rooms.account()
    (work / "budget.db").rename(tmp_path / "other.db")
    rooms.post("budget", account="")
    rooms.plan()
    halted(rooms, tmp_path / "other.db")
    before = (tmp_path / "other.db").read_bytes()

    page = rooms.get("release").text
    rooms.post("release/finish")

    assert "which is not in the working folder" in page
    assert (tmp_path / "other.db").read_bytes() == before


@pytest.mark.parametrize("secret", ["password=739173", "PASSWD=739173", "access_token=739173"])
def test_an_address_with_a_secret_is_not_written_down(tmp_path, secret):
    answer = in_process(tmp_path).post("/query", {"db": f"postgresql://h/n?{secret}", "sql": "select 1"})

    assert answer.status == 400
    assert "739173" not in answer.text
    assert not (tmp_path / "lapwing-studio").exists()
