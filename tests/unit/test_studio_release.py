import json
import threading

import pytest

from helpers.studio_rooms import SMALL, small_rooms
from lapwing.api.synthesize import synthesize
from lapwing.errors import LapwingError
from lapwing.extras.office.policy import in_force, under
from lapwing.extras.studio.unfinished import TRANSCRIPT, alone
from lapwing.extras.studio.works import Works
from lapwing.kernel.budget.ledger import Ledger
from lapwing.model.certificate.certificate import certificate_in

FILES = {"people-synthetic.csv", "model.lapwing", "croissant.json", "people-synthetic.csv.certificate.json"}


@pytest.fixture
def rooms(tmp_path):
    found = small_rooms(tmp_path)
    found.account()
    found.plan()
    return found


def spent(rooms):
    return Ledger.open(rooms.folder / "budget.db").balance("people").spent


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
            ledger=rooms.folder / "budget.db",
            transcript=place / TRANSCRIPT,
            progress=halt,
        )


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
    assert spent(rooms) == 1
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
    assert "must be a whole number from 1" in rooms.begin(rows="lots").refusal
    assert "lots" in rooms.get("release").html

    rooms.job.file("schema.json").write_text(json.dumps({**SMALL, "draft": True}))
    assert "the schema is a draft" in rooms.begin(rows="").refusal
    assert (folders(rooms), spent(rooms)) == ([], 0)


# -- Failures.


def test_a_failure_before_the_debit_is_said_and_spends_nothing(rooms):
    (rooms.folder / "people.csv").unlink()

    rooms.begin()
    rooms.wait()

    page = rooms.get("release")
    assert "does not exist" in page.refusal
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
    assert "resume(" not in page.refusal
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


def test_ended_after_the_debit_it_is_finished_free_of_charge(rooms):
    halted(rooms, 1)

    page = rooms.get("release").text
    assert "Its budget, ε = 1, is debited in the ledger already" in page
    assert "answers worth 100 % are kept" in page
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
    assert "is kept for a corrected schema" in page.text
    assert page.refusal == ""
    assert "the one that did not fit" in rooms.post("release/finish").refusal

    mended = [{**each, "categories": ["a", "b", "c"]} if each["name"] == "kind" else each for each in BADLY]
    rooms.job.file("schema.json").write_text(json.dumps({"fields": mended}))
    rooms.post("release/finish")
    rooms.wait()
    assert "The last release" in rooms.get("release").text
    assert (folders(rooms), spent(rooms)) == (["release-1"], 2)


def test_misfits_that_cost_all_of_the_budget(tmp_path, monkeypatch):
    # by tables of all of its budget
    monkeypatch.setattr("lapwing.release.runs.reading.looks_at_misfits", lambda _: True)
    rooms = small_rooms(tmp_path, {"fields": BADLY})
    rooms.account()
    rooms.plan("2", mechanism="Independent")
    rooms.begin()
    rooms.wait()

    page = rooms.get("release").text
    assert "Nothing of its budget is left" in page
    assert "Leave it and make a new one" not in page  # the account has nothing left either
    assert "cannot be made yet" in page


# -- More than one process; that each can be killed and closed is in tests/boundary/test_studio_kill.py.


def test_while_another_process_makes_a_release_nothing_is_begun(rooms):
    halted(rooms, 1)

    with alone(rooms.job):
        page = rooms.get("release").text
        assert "Another studio or command is working on a release of this table" in page
        assert "Finish it free of charge" not in page
        assert "Leave it and make a new one" not in page
        assert rooms.begin("release-2", leave="yes").status == 409
        assert rooms.post("release/finish").status == 303

    assert "Finish it free of charge" in rooms.get("release").text
    assert (folders(rooms), spent(rooms)) == (["release-1"], 1)


def test_what_a_killed_process_left_is_cleared_away_once_the_release_is_whole(rooms):
    halted(rooms, 1)
    left = rooms.job.file("release-1") / ".lapwing-x.unfinished"
    left.mkdir()

    rooms.post("release/finish")
    rooms.wait()

    assert "The last release" in rooms.get("release").text
    assert not left.exists()
