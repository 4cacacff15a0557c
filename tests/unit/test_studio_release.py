"""The studio: a release is made as its page showed it, ended, finished; what was seen is not taken for another's."""

import json
import os
import re
import shutil
import threading
import time
from html import unescape

import pytest

from helpers import make
from helpers.studio import in_process
from helpers.studio_rooms import SMALL, small_rooms
from lapwing.extras.office.policy import in_force, under
from lapwing.extras.studio.jobs import new_job, next_release
from lapwing.extras.studio.unfinished import TRANSCRIPT, alone
from lapwing.extras.studio.works import EndedError, Works
from lapwing.kernel.budget.ledger import Ledger
from lapwing.model.certificate.certificate import certificate_in
from lapwing.release.runs.watching import Progress

FILES = {"people-synthetic.csv", "model.lapwing", "croissant.json", "people-synthetic.csv.certificate.json"}


def planned(folder, schema=SMALL, epsilon="1", **form):
    found = small_rooms(folder, schema)
    found.account()
    found.plan(epsilon, **form)
    return found


@pytest.fixture
def rooms(tmp_path):
    return planned(tmp_path)


def folders(rooms):
    return sorted(each.name for each in rooms.job.place.glob("release-*"))


# -- One release.


def test_a_release_is_made_as_one_set_of_files(rooms):
    summary = rooms.get("release").text
    assert "Spend ε = 1 and make the release" in summary
    assert "budget.db, people" in summary
    assert "he promise does not cover these lists and bounds, as they were taken from the table: kind" in summary

    assert rooms.begin(rows="50", prepared_by="Ann\r\n").at == "/job/people/release"
    rooms.wait()

    place = rooms.job.file("release-1")
    there = {each.name for each in place.iterdir()}
    assert there >= FILES
    assert not [name for name in there if name.startswith(".lapwing-")]
    paid, _ = certificate_in(place / "people-synthetic.csv.certificate.json")
    assert paid.issued.faults([place / "people-synthetic.csv", place / "model.lapwing"]) == ([], [])
    assert (paid.written_rows, paid.issued.prepared_by, paid.ledger is not None) == (50, "Ann", True)
    assert rooms.spent == 1
    page = rooms.get("release").text
    assert "50 synthetic rows of people by Adaptive" in page
    assert "Make another release" in page
    assert page.count("he promise does not cover these lists") == 2  # of the last one, and of the next
    assert "release-1, Ann, Adaptive" in rooms.get("budget").text


def test_an_old_page_begins_nothing(rooms):
    rooms.begin()
    rooms.wait()

    assert rooms.begin("release-1").status == 303
    assert rooms.begin("release-7").status == 303

    assert (folders(rooms), rooms.spent) == (["release-1"], 1)


def test_two_tabs_at_once_make_one_release(rooms):
    tabs = [threading.Thread(target=rooms.begin) for _ in range(6)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    rooms.wait()

    assert (folders(rooms), rooms.spent) == (["release-1"], 1)


def test_numbers_and_names_are_checked_before_anything_is_spent(rooms):
    assert "must be a whole number from 1" in rooms.begin(rows="lots").refusal
    assert "lots" in rooms.get("release").html

    rooms.job.file("schema.json").write_text(json.dumps({**SMALL, "draft": True}))
    assert "the schema is a draft" in rooms.begin(rows="").refusal
    assert (folders(rooms), rooms.spent) == ([], 0)


# -- Failures.


def test_a_failure_before_the_debit_is_said_and_spends_nothing(rooms):
    (rooms.folder / "people.csv").unlink()

    rooms.begin()
    rooms.wait()

    page = rooms.get("release")
    assert "does not exist" in page.refusal
    assert "Nothing was spent." in page.text
    assert (folders(rooms), rooms.spent) == ([], 0)


def test_files_that_cannot_be_written_leave_what_was_paid_for(rooms):
    rooms.halted()
    assert rooms.spent == 1
    rooms.job.file("release-1").joinpath("model.lapwing").mkdir()

    rooms.post("release/finish")
    rooms.wait()

    page = rooms.get("release")
    assert "model.lapwing" in page.refusal
    assert "resume(" not in page.refusal
    assert "Finish it free of charge" in page.text
    rooms.job.file("release-1").joinpath("model.lapwing").rmdir()
    rooms.post("release/finish")
    rooms.wait()
    assert "The last release" in rooms.get("release").text
    assert rooms.spent == 1


def test_a_policy_holds_in_the_thread_of_the_work(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('ask = "the data office"\n')
    works = Works()

    with under(policy):
        work = works.begin("job", "release", lambda _: [each.file for each in in_force()])
    work.join(10)

    assert work.found == [str(policy)]


# -- Ended and finished.


def test_ended_before_the_debit_nothing_is_spent(rooms):
    with alone(rooms.job):  # so that the work waits
        rooms.begin()
        assert "The release is being made" in rooms.get("release").text
        rooms.post("release/cancel")
        assert "It ends at its next step" in rooms.get("release").text
    rooms.wait()

    assert "ended the release before anything was spent" in rooms.get("release").text
    assert (folders(rooms), rooms.spent) == ([], 0)


def test_ended_after_the_debit_it_is_finished_free_of_charge(rooms):
    rooms.halted()

    page = rooms.get("release").text
    assert "Its budget, ε = 1, is debited in the ledger already" in page
    assert "answers worth 100 % are kept" in page
    assert rooms.begin("release-2").status == 409  # not without saying that this one is left
    assert folders(rooms) == ["release-1"]

    rooms.post("release/finish")
    rooms.wait()
    assert "The last release" in rooms.get("release").text
    assert (folders(rooms), rooms.spent) == (["release-1"], 1)


def test_a_release_may_be_left_for_a_new_one(rooms):
    rooms.halted()
    assert "Leave it and make a new one" in rooms.get("release").text

    rooms.begin("release-2", leave="yes")
    rooms.wait()

    assert (folders(rooms), rooms.spent) == (["release-1", "release-2"], 2)
    assert "a new release" not in rooms.get("release").text
    assert "Finish it free of charge" not in rooms.get("release").text


def test_what_was_begun_and_not_paid_leaves_no_trace(rooms):
    place = rooms.job.file("release-1")
    place.mkdir()
    place.joinpath(".lapwing-x.unfinished").mkdir()
    place.joinpath(TRANSCRIPT).write_bytes(b"")

    assert "Spend ε = 1" in rooms.get("release").text
    assert folders(rooms) == []


def test_noise_that_was_drawn_and_lost_is_not_drawn_again(rooms):
    rooms.halted()
    transcript = rooms.job.file("release-1") / TRANSCRIPT
    lines = transcript.read_bytes().splitlines(keepends=True)
    transcript.write_bytes(lines[0] + b" ")

    page = rooms.get("release").text
    assert "cannot be finished" in page
    assert "Finish it free of charge" not in page
    rooms.post("release/finish")
    assert transcript.read_bytes() == lines[0] + b" "


def test_a_transcript_that_is_damaged_is_said(rooms):
    rooms.halted()
    (rooms.job.file("release-1") / TRANSCRIPT).write_text('{"format": 9}\n')

    assert "A release was begun and cannot be read" in rooms.get("release").text


# -- The stop rule.


BADLY = make.fields({"flag": bool, "kind": ["x", "y"], "size": (0, 9)}, required=True)


def test_a_column_of_misfits_stops_it_and_a_mended_schema_goes_on(tmp_path):
    rooms = planned(tmp_path, {"fields": BADLY}, "2")
    rooms.begin()
    rooms.wait()

    page = rooms.get("release")
    assert "a column does not fit its description" in page.text
    assert '<th scope="row">kind</th>' in page.html
    assert "is kept for a corrected schema" in page.text
    assert page.refusal == ""
    assert "the one that did not fit" in rooms.post("release/finish").refusal

    mended = [{**each, "categories": ["a", "b", "c"]} if each["name"] == "kind" else each for each in BADLY]
    rooms.job.file("schema.json").write_text(json.dumps({"fields": mended}))
    rooms.post("release/finish")
    rooms.wait()
    assert "The last release" in rooms.get("release").text
    assert (folders(rooms), rooms.spent) == (["release-1"], 2)


def test_misfits_that_cost_all_of_the_budget(tmp_path, monkeypatch):
    # by tables of all of its budget
    monkeypatch.setattr("lapwing.release.runs.reading.looks_at_misfits", lambda _: True)
    rooms = planned(tmp_path, {"fields": BADLY}, "2", mechanism="Independent")
    rooms.begin()
    rooms.wait()

    page = rooms.get("release").text
    assert "Nothing of its budget is left" in page
    assert "Leave it and make a new one" not in page  # the account has nothing left either
    assert "cannot be made yet" in page


# -- More than one process; that each can be killed and closed is in tests/boundary/test_studio_kill.py.


def test_while_another_process_makes_a_release_nothing_is_begun(rooms):
    rooms.halted()

    with alone(rooms.job):
        page = rooms.get("release").text
        assert "Another studio or command is working on a release of this table" in page
        assert "Finish it free of charge" not in page
        assert "Leave it and make a new one" not in page
        assert rooms.begin("release-2", leave="yes").status == 409
        assert rooms.post("release/finish").status == 303

    assert "Finish it free of charge" in rooms.get("release").text
    assert (folders(rooms), rooms.spent) == (["release-1"], 1)


def test_what_a_killed_process_left_is_cleared_away_once_the_release_is_whole(rooms):
    rooms.halted()
    left = rooms.job.file("release-1") / ".lapwing-x.unfinished"
    left.mkdir()

    rooms.post("release/finish")
    rooms.wait()

    assert "The last release" in rooms.get("release").text
    assert not left.exists()


# ---------------------------------------------------------------------------------- what a page showed is what is done


OTHER = {"fields": SMALL["fields"][:1]}
BOUGHT = make.schema({"size": make.field("size", "integer", provenance="dp")}, draft=True)


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
    seen = rooms.stamp()
    change(rooms)

    answer = rooms.begin(stamp=seen)

    assert answer.status == 409
    assert "nothing was spent" in answer.refusal
    assert not rooms.job.file("release-1").exists()
    assert rooms.spent == 0


def test_a_release_that_its_page_showed_is_made(rooms):
    assert rooms.begin(stamp="").status == 409
    assert rooms.begin(stamp=rooms.stamp()).status == 303
    rooms.wait()

    assert rooms.spent == 1


def test_a_purchase_that_its_page_did_not_show_is_not_made(tmp_path):
    rooms = small_rooms(tmp_path, BOUGHT)
    seen = rooms.stamp("buy")
    rooms.job.chosen(neighbours="replace-one")

    assert rooms.post("buy", epsilon="1", delta="", stamp=seen).status == 400
    assert not list(rooms.job.place.glob("bought-*"))
    assert rooms.post("buy", epsilon="1", delta="", stamp=rooms.stamp("buy")).status == 303
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
    fields = [*SMALL["fields"], make.field("size", "id")]
    rooms.job.file("schema.json").write_text(json.dumps({"fields": fields}))
    key = re.search(r'<option value="([0-9a-f]{16})">size<', rooms.get("schema").html)[1]

    answer = rooms.post("schema/unit", who="column", unit=key, most="9" * 5000)

    assert answer.status == 400
    assert "maxRows" in answer.refusal


def test_a_release_that_its_ledger_does_not_know_is_not_finished_at_a_price(rooms, tmp_path):
    rooms.halted(0.5)
    assert "Finish it free of charge" in rooms.get("release").text
    (tmp_path / "budget.db").unlink()
    rooms.account()

    page = rooms.get("release").text
    rooms.post("release/finish")

    assert "has no debit of the release in release-1" in page
    assert "free of charge" not in page.partition("Leave")[0]
    assert rooms.spent == 0


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
    rooms.halted(0.5)
    assert 'id="rows-left" name="rows"' in rooms.get("release").html

    assert rooms.post("release/finish", rows="111111111111").status == 400
    rooms.post("release/finish", rows="12")
    rooms.wait()

    rows = rooms.job.file("release-1") / "people-synthetic.csv"
    assert len(rows.read_text().splitlines()) == 13
    assert rooms.spent == 1


def test_a_release_of_another_hand_reaches_no_ledger_elsewhere(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    rooms = small_rooms(work)
    rooms.account()
    (work / "budget.db").rename(tmp_path / "other.db")
    rooms.post("budget", account="")
    rooms.plan()
    rooms.halted(0.5, tmp_path / "other.db")
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
