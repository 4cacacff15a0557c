import threading

import pytest

from helpers.studio_rooms import small_rooms
from lapwing.api.synthesize import synthesize
from lapwing.errors import LapwingError
from lapwing.extras.studio.unfinished import TRANSCRIPT, alone
from lapwing.kernel.budget.ledger import Ledger
from lapwing.model.linked_files import certificate_in

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


def test_two_tabs_at_once_make_one_release(rooms):
    tabs = [threading.Thread(target=rooms.begin) for _ in range(6)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    rooms.wait()

    assert (folders(rooms), spent(rooms)) == (["release-1"], 1)


# -- Failures.


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


# -- The stop rule.


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
