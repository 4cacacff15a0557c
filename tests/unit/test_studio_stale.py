"""What a page showed is what is done; what was seen of one table, release or account is not taken for another's."""

import json
import os
import re
import shutil
import threading
import time
from html import unescape

import pytest

from helpers.studio import in_process
from helpers.studio_rooms import SMALL, small_rooms
from lapwing.api.synthesize import synthesize
from lapwing.errors import LapwingError
from lapwing.extras.studio.jobs import new_job, next_release
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


def test_a_release_that_its_page_showed_is_made(rooms):
    assert rooms.begin(stamp="").status == 409
    assert rooms.begin(stamp=stamp(rooms)).status == 303
    rooms.wait()

    assert spent(rooms) == 1


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


def test_an_account_is_opened_for_those_its_page_named(tmp_path):
    rooms = small_rooms(tmp_path)
    seen = unescape(re.search(r'name="terms" value="([^"]+)"', rooms.get("budget").html)[1])
    rooms.job.chosen(neighbours="replace-one")

    assert "no account was opened" in rooms.account(terms=seen).refusal
    assert not (tmp_path / "budget.db").exists()
    rooms.job.chosen(neighbours="add-remove")
    assert rooms.account(terms=seen).status == 303


def test_choices_of_two_tabs_are_both_kept(rooms):
    early = rooms.job
    rooms.job.chosen(epsilon="0.5")

    assert early.chosen(rows="7").choices.epsilon == "0.5"
    assert (rooms.job.choices.epsilon, rooms.job.choices.rows) == ("0.5", "7")
    assert rooms.job.choices.ledger == "budget.db"


# -- What was seen behind a door.


def test_a_look_is_old_once_the_table_changes(rooms, tmp_path):
    rooms.post("check")
    until(lambda: "data-watch" not in rooms.get("check").html)
    assert "has changed since this look" not in rooms.get("check").text

    (tmp_path / "people.csv").write_text("flag,kind,size\ntrue,a,1\n")

    assert "has changed since this look" in rooms.get("check").text


def test_a_new_job_shows_nothing_of_an_earlier_one_of_its_name(tmp_path):
    (tmp_path / "people.csv").write_text("flag,kind\ntrue,a\n")
    visitor, place = in_process(tmp_path), tmp_path / "lapwing-studio" / "people"

    def opened():
        assert visitor.post("/open", {"table": "people.csv"}).at == "/job/people/schema"
        (place / "schema.json").write_text(json.dumps(SMALL))

    opened()
    visitor.post("/job/people/check")
    visitor.wait("/job/people/check", lambda answer: 'class="internal"' in answer.text)
    shutil.rmtree(place)
    opened()

    assert 'class="internal"' not in visitor.get("/job/people/check").text


def test_a_comparison_is_not_shown_for_another_release_of_its_number(rooms):
    rooms.begin()
    rooms.wait()
    rooms.post("look/1/compare")
    until(lambda: "data-watch" not in rooms.get("look/1/compare").html)
    assert 'class="internal"' in rooms.get("look/1/compare").html
    shutil.rmtree(rooms.job.file("release-1"))
    rooms.begin()
    rooms.wait()

    assert rooms.get("look/1/compare").at == "/job/people/look/1#door"
    assert rooms.get("look/1/compare/report").status == 404


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


def test_work_that_panics_is_done_and_prints_nothing(capfd):
    class PanicError(BaseException):
        """As Polars raises one: no Exception."""

    def panics(_):
        raise PanicError("739173")

    work = Works().begin("people", "check", panics)
    work.join(10)

    assert work.is_done
    assert work.said == "it failed (PanicError); nothing more is told"
    assert "739173" not in "".join(capfd.readouterr())


# -- Files.


def test_a_link_in_the_folder_of_a_release_is_written_through_by_nobody(rooms, tmp_path):
    place = rooms.job.file("release-1")
    place.mkdir()
    (place / "croissant.json").symlink_to(tmp_path / "elsewhere.json")

    assert rooms.get("hand-over").status == 400
    assert rooms.get("release").status == 400


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_a_folder_that_may_not_be_read_hides_no_table(tmp_path):
    (tmp_path / "people.csv").write_text("age\n31\n")
    (tmp_path / "locked").mkdir(mode=0)

    assert "people.csv" in in_process(tmp_path).get("/").text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_a_job_of_another_user_hides_no_other_and_a_folder_of_theirs_is_said(tmp_path):
    new_job(tmp_path, "own", sql="select 1", db="sqlite:///a.db")
    new_job(tmp_path, "other", sql="select 2", db="sqlite:///a.db").place.chmod(0)
    visitor = in_process(tmp_path)
    assert "/job/own/" in visitor.get("/").text

    (tmp_path / "lapwing-studio").chmod(0)

    assert "cannot be read" in visitor.get("/").text


def test_a_release_whose_folder_was_taken_away_leaves_its_number_free_for_no_other(tmp_path):
    job = new_job(tmp_path, "people", sql="select 1", db="sqlite:///a.db")
    for name in ("release-1", "release-3", "release-²"):
        job.file(name).mkdir()

    assert next_release(job).name == "release-4"


def test_a_number_of_thousands_of_digits_is_refused_in_words(rooms):
    schema = {"fields": [*SMALL["fields"], {"name": "size", "type": "integer", "role": "identifier"}]}
    rooms.job.file("schema.json").write_text(json.dumps(schema))
    key = re.search(r'<option value="([0-9a-f]{16})">size<', rooms.get("schema").html)[1]

    answer = rooms.post("schema/unit", who="column", unit=key, most="9" * 5000)

    assert answer.status == 400
    assert "maxRows" in answer.refusal


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


def test_a_model_whose_certificate_was_taken_away_stays(rooms):
    rooms.begin()
    rooms.wait()
    place = rooms.job.file("release-1")
    for each in (*place.glob("*.certificate.json"), place / TRANSCRIPT):
        each.unlink()

    assert rooms.get("release").status == 200
    assert (place / "model.lapwing").is_file()


def test_a_digit_too_many_is_refused_and_mended_where_a_release_is_finished(rooms, tmp_path):
    assert "from 1 to 1,000,000,000" in rooms.begin(rows="111,111,111,111").refusal
    halted(rooms, tmp_path / "budget.db")
    assert 'id="rows-left" name="rows"' in rooms.get("release").html

    assert rooms.post("release/finish", rows="111111111111").status == 400
    rooms.post("release/finish", rows="12")
    rooms.wait()

    rows = rooms.job.file("release-1") / "people-synthetic.csv"
    assert len(rows.read_text().splitlines()) == 13
    assert spent(rooms) == 1


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


def test_what_a_job_asks_a_database_is_shown_in_each_room(tmp_path):
    job = new_job(tmp_path, "query", sql="select age from '/home/ann/<b>.csv'", db="duckdb:///a.duckdb")
    page = in_process(tmp_path).get(f"/job/{job.name}/check").text

    assert "<code>select age from &#39;/home/ann/&lt;b&gt;.csv&#39;</code>" in page
    assert "<code>duckdb:///a.duckdb</code>" in page


@pytest.mark.parametrize("secret", ["password=739173", "PASSWD=739173", "access_token=739173"])
def test_an_address_with_a_secret_is_not_written_down(tmp_path, secret):
    answer = in_process(tmp_path).post("/query", {"db": f"postgresql://h/n?{secret}", "sql": "select 1"})

    assert answer.status == 400
    assert "739173" not in answer.text
    assert not (tmp_path / "lapwing-studio").exists()
