"""A studio that ends in the middle of a release, two tabs that begin one, and a budget that is refused."""

import os
import shutil
import signal
import threading
import time

import polars as pl
import pytest

import lapwing as lw
from conftest import EXAMPLES
from helpers.studio import in_process, running
from helpers.studio_forms import form_to, send, submit
from lapwing.extras.studio.jobs import read_job
from lapwing.kernel.budget.ledger import Ledger

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
SLOWLY = """
import time
from lapwing.extras.studio import works
tell = works.StudioWork.tell
works.StudioWork.tell = lambda work, step: (time.sleep(0.2), tell(work, step))
from lapwing.cli.main import run
run()
"""
"""A studio whose work takes its time at each step."""
RELEASE = "/job/adult/release"


COLUMNS = ["age", "education_num", "sex", "income"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Return a working folder with a table, its schema, a ledger, and a job that is ready for its release."""
    folder = tmp_path_factory.mktemp("prepared") / "work"
    folder.mkdir()
    pl.read_parquet(EXAMPLES / "adult.parquet", columns=COLUMNS).head(500).write_parquet(folder / "adult.parquet")
    lw.Schema.load(EXAMPLES / "adult.schema.json").select(COLUMNS).save(folder / "adult.schema.json")
    Ledger.create_or_open(folder / "ledger.db").init(
        "adult", unit="pure", limit="2", relation="add-remove", privacy_unit="row"
    )
    visitor = in_process(folder)
    visitor.post("/open", {"table": "adult.parquet"})
    send(visitor, "/job/adult/schema", "/schema/file", {"file": "adult.schema.json"})
    read_job(folder, "adult").chosen(epsilon="1", delta="", expected_rows="500", ledger="ledger.db", dataset="adult")
    return folder


@pytest.fixture
def place(prepared, tmp_path):
    """Return a copy of it for one test."""
    return shutil.copytree(prepared, tmp_path / "work")


def begin(visitor):
    """Press the button of the room Release."""
    answer = submit(visitor, form_to(visitor.get(RELEASE), RELEASE))
    assert (answer.status, answer.at) == (303, RELEASE), answer.text


def until_answers(place, count=1):
    """Wait until a release has answers, which were paid for; return its transcript."""
    deadline = time.monotonic() + 60
    transcript = place / "lapwing-studio" / "adult" / "release-1" / "transcript.jsonl"
    while not transcript.exists() or transcript.read_bytes().count(b"\n") < count + 1:
        assert time.monotonic() < deadline, "no answer was given"
        time.sleep(0.02)
    return transcript


def finish(visitor):
    """Finish the release that was begun, and wait for its end."""
    answer = visitor.get(RELEASE)
    send_on = form_to(answer, "/release/finish")
    submit(visitor, send_on)
    return until_done(visitor)


def until_done(visitor):
    return visitor.wait(RELEASE, lambda answer: "data-watch" not in answer.text)


def debits(place):
    """Return what was paid."""
    ledger = Ledger.open(place / "ledger.db")
    ledger.verify()
    return [entry for entry in ledger.history("adult") if entry.kind == "debit"]


def made(place):
    """Return the releases that are whole."""
    return sorted(each.parent.name for each in (place / "lapwing-studio").rglob("*.certificate.json"))


def test_a_killed_studio_finishes_its_release_free_of_charge(place):
    with running(place, start=SLOWLY) as studio:
        begin(studio.visitor)
        transcript = until_answers(place, 3)
        studio.stop(signal.SIGKILL)
    kept = transcript.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    left = made(place), len(debits(place))

    visitor = in_process(place)
    finish(visitor)
    again = visitor.get(RELEASE)

    assert left == ([], 1)
    assert made(place) == ["release-1"]
    assert len(debits(place)) == 1
    assert transcript.read_bytes().startswith(kept)
    assert "/release/finish" not in again.text


def test_ctrl_c_ends_a_release_within_seconds_and_it_resumes(place):
    with running(place, start=SLOWLY) as studio:
        begin(studio.visitor)
        until_answers(place, 3)
        begun = time.monotonic()
        said = studio.stop(signal.SIGINT, seconds=10)
        seconds = time.monotonic() - begun

    finish(in_process(place))

    assert seconds < 5
    assert b"Traceback" not in said
    assert b"nothing was spent" not in said
    assert made(place) == ["release-1"]
    assert len(debits(place)) == 1


def test_a_release_under_way_is_shown_again_keeps_another_studio_from_its_own_and_can_be_cancelled(place):
    with running(place, start=SLOWLY) as studio:
        visitor, second = studio.visitor, in_process(place)
        begin(visitor)
        until_answers(place, 2)
        page = second.get(RELEASE)
        answer = second.post(RELEASE, {"number": "release-2", "rows": ""})
        under_way = visitor.get(RELEASE)
        submit(visitor, form_to(under_way, "/release/cancel"))
        ended = until_done(visitor)
        paid = len(debits(place))
        finish(visitor)

    assert page.status == 200
    assert "/release/finish" not in page.text
    assert answer.status in (303, 400, 409)
    assert "data-watch" in under_way.text
    assert "/release/finish" in ended.text
    assert paid == 1
    assert made(place) == ["release-1"]
    assert len(debits(place)) == 1


def test_two_tabs_begin_one_release(place):
    with running(place) as studio:
        visitor = studio.visitor
        pages = [form_to(visitor.get(RELEASE), RELEASE) for _ in range(4)]
        answers = []
        threads = [threading.Thread(target=lambda form=form: answers.append(submit(visitor, form))) for form in pages]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until_done(visitor)
        late = submit(visitor, pages[0])
        time.sleep(0.5)
        until_done(visitor)

    assert {answer.status for answer in answers} <= {303, 409}
    assert late.status == 303
    assert made(place) == ["release-1"]
    assert len(debits(place)) == 1


def test_a_refused_budget_spends_nothing(place):
    read_job(place, "adult").chosen(epsilon="3")
    visitor = in_process(place)
    page = visitor.get(RELEASE)
    answer = visitor.post(RELEASE, {"number": "release-1", "rows": ""})
    again = visitor.get(RELEASE)

    assert page.status == 200
    assert (answer.status, again.status) == (400, 200)
    assert "left" in answer.text
    assert (made(place), debits(place)) == ([], [])
    assert not list((place / "lapwing-studio" / "adult").glob("release-*"))
