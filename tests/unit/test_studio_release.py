import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

import lapwing
from helpers.studio_rooms import SMALL, adult_rooms, small_rooms
from lapwing.errors import LapwingError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.paper.sheet import sheet_in
from lapwing.runs.policy import in_force, under
from lapwing.studio.unfinished import TRANSCRIPT, alone
from lapwing.studio.works import Works
from lapwing.verbs.synthesize import synthesize

FILES = {"people-synthetic.csv", "model.lapwing", "croissant.json", "people-synthetic.csv.certificate.json"}


@pytest.fixture
def rooms(tmp_path):
    found = small_rooms(tmp_path)
    found.account()
    found.plan()
    return found


def spent(rooms):
    return Ledger.open(rooms.studio.folder / "budget.db").balance("people").spent


def folders(rooms):
    return sorted(each.name for each in rooms.job.place.glob("release-*"))


def halted(rooms, share):
    """Begin a release as the room does, and end it once so much of its budget is spent."""

    def halt(step):
        if step.share >= share:
            raise InterruptedError

    place = rooms.job.file("release-1")
    place.mkdir()
    with pytest.raises(LapwingError):
        synthesize(
            rooms.job.data,
            rooms.job.file("schema.json"),
            epsilon=1,
            ledger=rooms.studio.folder / "budget.db",
            transcript=place / TRANSCRIPT,
            progress=halt,
        )


# -- One release.


def test_a_release_is_made_as_one_set_of_files(rooms):
    summary = rooms.get("release").text
    assert "Spend ε = 1 and make the release" in summary
    assert "budget.db, people" in summary

    assert rooms.begin(rows="50", prepared_by="Ann").at == "/job/people/release"
    rooms.wait()

    place = rooms.job.file("release-1")
    there = {each.name for each in place.iterdir()}
    assert there >= FILES
    assert not [name for name in there if name.startswith(".lapwing-")]
    sheet, _ = sheet_in(place / "people-synthetic.csv.certificate.json")
    assert sheet.issued.faults([place / "people-synthetic.csv", place / "model.lapwing"]) == []
    assert (sheet.whole.written_rows, sheet.issued.prepared_by, sheet.is_recorded) == (50, "Ann", True)
    assert spent(rooms) == 1
    page = rooms.get("release").text
    assert "50 synthetic rows of people by PMM" in page
    assert "Make another release" in page
    assert "release-1 PMM" in rooms.get("budget").text


def test_an_old_page_begins_nothing(rooms):
    rooms.begin()
    rooms.wait()

    assert rooms.begin("release-1").status == 303
    assert rooms.begin("release-7").status == 303

    assert (folders(rooms), spent(rooms)) == (["release-1"], 1)


def test_two_tabs_at_once_make_one_release(rooms):
    tabs = [threading.Thread(target=rooms.begin) for _ in range(6)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    rooms.wait()

    assert (folders(rooms), spent(rooms)) == (["release-1"], 1)


def test_numbers_and_names_are_checked_before_anything_is_spent(rooms):
    assert "must be a whole number above 0" in rooms.begin(rows="lots").refusal
    assert "lots" in rooms.get("release").html

    rooms.job.file("schema.json").write_text(json.dumps({**SMALL, "draft": True}))
    assert "the schema is a draft" in rooms.begin(rows="").refusal
    assert (folders(rooms), spent(rooms)) == ([], 0)


def test_without_a_ledger_it_is_warned_of(tmp_path):
    rooms = small_rooms(tmp_path)
    rooms.plan()
    assert "nothing adds up what is spent" in rooms.get("release").text

    rooms.begin()
    rooms.wait()

    assert "Recorded in no ledger" in rooms.get("release").text


# -- Failures.


def test_a_failure_before_the_debit_is_said_and_spends_nothing(rooms):
    (rooms.studio.folder / "people.csv").unlink()

    rooms.begin()
    rooms.wait()

    page = rooms.get("release")
    assert "people.csv" in page.refusal
    assert "Nothing was spent." in page.text
    assert (folders(rooms), spent(rooms)) == ([], 0)


def test_files_that_cannot_be_written_leave_what_was_paid_for(rooms):
    halted(rooms, 1)
    assert spent(rooms) == 1
    rooms.job.file("release-1").joinpath("model.lapwing").mkdir()

    rooms.post("release/finish")
    rooms.wait()

    page = rooms.get("release")
    assert "model.lapwing" in page.refusal
    assert "`lapwing resume" not in page.refusal
    assert "Finish it free of charge" in page.text
    rooms.job.file("release-1").joinpath("model.lapwing").rmdir()
    rooms.post("release/finish")
    rooms.wait()
    assert "The last release" in rooms.get("release").text
    assert spent(rooms) == 1


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
    assert (folders(rooms), spent(rooms)) == ([], 0)


def test_ended_half_way_it_is_finished_free_of_charge(tmp_path):
    rooms = adult_rooms(tmp_path)
    rooms.account()
    rooms.begin()
    rooms.wait(lambda html: 'value="0"' not in html)
    rooms.post("release/cancel")
    rooms.wait()

    page = rooms.get("release").text
    assert "You ended the release. What was paid for is kept" in page
    assert "is debited in the ledger already" in page
    assert spent(rooms) == 1
    assert rooms.begin("release-2").status == 409  # not without saying that this one is left
    assert folders(rooms) == ["release-1"]

    rooms.post("release/finish")
    rooms.wait()
    assert "The last release" in rooms.get("release").text
    assert (folders(rooms), spent(rooms)) == (["release-1"], 1)


def test_a_release_may_be_left_for_a_new_one(rooms):
    halted(rooms, 1)
    assert "Leave it and make a new one" in rooms.get("release").text

    rooms.begin("release-2", leave="yes")
    rooms.wait()

    assert (folders(rooms), spent(rooms)) == (["release-1", "release-2"], 2)
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
    halted(rooms, 1)
    transcript = rooms.job.file("release-1") / TRANSCRIPT
    lines = transcript.read_bytes().splitlines(keepends=True)
    transcript.write_bytes(lines[0] + b" ")

    page = rooms.get("release").text
    assert "cannot be finished" in page
    assert "Finish it free of charge" not in page
    rooms.post("release/finish")
    assert transcript.read_bytes() == lines[0] + b" "


def test_a_transcript_that_is_damaged_is_said(rooms):
    halted(rooms, 1)
    (rooms.job.file("release-1") / TRANSCRIPT).write_text('{"format": 9}\n')

    assert "A release was begun and cannot be read" in rooms.get("release").text


# -- The stop rule.


BADLY = [
    {"name": "flag", "type": "boolean", "constraints": {"required": True}},
    {"name": "kind", "type": "string", "categories": ["x", "y"], "constraints": {"required": True}},
    {"name": "size", "type": "integer", "constraints": {"required": True, "minimum": 0, "maximum": 9}},
]


def test_a_column_of_misfits_stops_it_and_a_mended_schema_goes_on(tmp_path):
    rooms = small_rooms(tmp_path, {"fields": BADLY})
    rooms.account()
    rooms.plan("2")
    rooms.begin()
    rooms.wait()

    page = rooms.get("release")
    assert "a column does not fit its description" in page.text
    assert '<th scope="row">kind</th>' in page.html
    assert "is kept for a mended schema" in page.text
    assert page.refusal == ""
    assert "the one that did not fit" in rooms.post("release/finish").refusal

    mended = [{**each, "categories": ["a", "b", "c"]} if each["name"] == "kind" else each for each in BADLY]
    rooms.job.file("schema.json").write_text(json.dumps({"fields": mended}))
    rooms.post("release/finish")
    rooms.wait()
    assert "The last release" in rooms.get("release").text
    assert (folders(rooms), spent(rooms)) == (["release-1"], 2)


def test_misfits_that_cost_all_of_the_budget(tmp_path):
    rooms = small_rooms(tmp_path, {"fields": BADLY})
    rooms.account()
    rooms.plan("2", mechanism="Independent")
    rooms.begin()
    rooms.wait()

    page = rooms.get("release").text
    assert "Nothing of its budget is left" in page
    assert "Leave it and make a new one" not in page  # the account has nothing left either
    assert "cannot be made yet" in page


# -- Killed, and more than one process.


@pytest.fixture
def start(request):
    """Return what starts a studio as a user does, and opens it in a browser of its own."""

    def started(folder):
        process = subprocess.Popen(
            [sys.executable, "-c", "from lapwing.cli.main import run; run()", "studio", str(folder), "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(Path(lapwing.__file__).parents[1]), "OMP_NUM_THREADS": "1"},
            text=True,
        )
        request.addfinalizer(process.communicate)
        request.addfinalizer(process.kill)
        address = process.stdout.readline().strip()
        browser = build_opener(HTTPCookieProcessor())
        first = browser.open(address).read().decode()
        key = first.partition('name="key" value="')[2][:64]
        base = address.partition("/?")[0]

        def ask(room, **form):
            path = f"{base}/job/adult/{room}"
            if not form:
                return browser.open(path).read().decode()
            body = "&".join(f"{name}={value}" for name, value in {"key": key, **form}.items()).encode()
            return browser.open(Request(path, body, {"Origin": base})).read().decode()

        return process, ask

    return started


def test_killed_in_the_middle_it_is_finished_free_of_charge_by_one_process(tmp_path, start):
    rooms = adult_rooms(tmp_path)
    rooms.account()
    process, ask = start(tmp_path)
    ask("release", number="release-1", rows="200", prepared_by="", approved_by="")
    until(lambda: "fitting" in ask("release/work"))  # no noise is being drawn: that would be lost, and what it cost
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not list(rooms.job.file("release-1").glob("*.json"))
    assert spent(rooms) == 1

    _, first = start(tmp_path)
    _, second = start(tmp_path)
    assert "Finish it free of charge" in first("release")
    first("release/finish", finish="1")
    until(lambda: "Another studio or command is working" in second("release"))
    until(lambda: "The last release" in first("release"))

    assert "The last release" in second("release")
    place = rooms.job.file("release-1")
    assert not list(place.glob(".lapwing-*.unfinished"))
    assert sheet_in(next(place.glob("*.certificate.json")))[0].whole.written_rows == 200
    assert (folders(rooms), spent(rooms)) == (["release-1"], 1)


def test_closed_in_the_middle_it_is_finished_free_of_charge(tmp_path, start):
    rooms = adult_rooms(tmp_path)
    rooms.account()
    process, ask = start(tmp_path)
    ask("release", number="release-1", rows="200", prepared_by="", approved_by="")
    until(lambda: 'value="0"' not in ask("release/work"))
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0

    assert "Finish it free of charge" in rooms.get("release").text
    rooms.post("release/finish")
    rooms.wait()
    assert (folders(rooms), spent(rooms)) == (["release-1"], 1)


def until(is_so, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
