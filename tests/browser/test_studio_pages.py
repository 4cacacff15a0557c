"""A studio's pages in headless Chromium: how they are entered, what they say once it is gone, how soon they come."""

import shutil
import time
from statistics import median

import polars as pl
import pytest

from conftest import EXAMPLES
from helpers.studio import running

ENTERED = "document.title.startsWith('Table') && document.readyState === 'complete'"


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    pl.read_parquet(EXAMPLES / "adult.parquet").head(2000).write_parquet(folder / "adult.parquet")
    shutil.copy(EXAMPLES / "adult.schema.json", folder / "adult.schema.json")
    return folder


def test_a_link_of_another_page_leads_in_and_leaves_no_token_behind(work, browser, tmp_path):
    with running(work) as studio:
        (tmp_path / "mail.html").write_text(f"<!doctype html><title>x</title><a href='{studio.address}'>open</a>")
        tab = browser.open(tmp_path / "mail.html")
        tab.click("document.querySelector('a')")
        tab.wait_for(ENTERED)
        address, cookie = tab.evaluate("[location.href, document.cookie]")
        opener = tab.evaluate("window.opener === null && document.referrer")
        tab.call("Page.navigate", url="about:blank")
        tab.wait_for("location.href === 'about:blank'")
        entries = [each["url"] for each in tab.call("Page.getNavigationHistory")["entries"]]
        tab.close()

    assert address == f"http://127.0.0.1:{studio.port}/"
    assert (cookie, opener) == ("", "")
    assert not [each for each in entries if "token" in each]


def test_a_page_of_another_port_learns_and_sends_nothing(work, browser, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with running(work) as studio, running(other) as second:
        tab = browser.open(studio.address)
        tab.wait_for(ENTERED)
        tab.go(second.address)
        tab.wait_for(f"{ENTERED} && location.port === '{second.port}'")
        at = f"http://127.0.0.1:{studio.port}"
        found = tab.evaluate(
            f"""
            Promise.all([
              fetch("{at}/", {{credentials: "include"}}).then(() => "read", () => "refused"),
              fetch("{at}/", {{credentials: "include", mode: "no-cors"}}).then(() => "read", () => "refused"),
              fetch("{at}/open", {{method: "POST", body: "table=adult.parquet", mode: "no-cors",
                credentials: "include"}}).then(() => "read", () => "refused"),
            ])
            """
        )
        tab.evaluate(
            f"""
            const form = document.createElement("form");
            form.method = "post";
            form.action = "{at}/open";
            document.body.append(form);
            form.submit();
            """
        )
        time.sleep(0.5)
        tab.close()

    assert found == ["refused"] * 3
    assert not (work / "lapwing-studio").exists()


def test_a_file_is_added_by_its_field_and_one_of_that_name_is_refused(work, browser, tmp_path):
    (tmp_path / "ärzte & co.csv").write_text("age\n31\n")
    with running(work) as studio:
        tab = browser.open(studio.address)
        tab.wait_for(ENTERED)
        tab.choose_file("#file", tmp_path / "ärzte & co.csv")
        tab.wait_for("document.querySelector('input[value=\"ärzte & co.csv\"]') !== null")
        tab.wait_for(ENTERED)
        tab.choose_file("#file", tmp_path / "ärzte & co.csv")
        said = tab.wait_for("document.querySelector('[data-status]').textContent.replace('…', '')")
        tab.close()

    assert (work / "ärzte & co.csv").read_text() == "age\n31\n"
    assert said == "There is a file of that name."


def test_a_page_says_that_its_studio_is_gone(work, browser):
    with running(work) as studio:
        tab = browser.open(studio.address)
        tab.wait_for(ENTERED)
        studio.visitor.post("/open", {"table": "adult.parquet"})
        studio.visitor.post("/job/adult/schema/file", {"file": "adult.schema.json", "table": ""})
        tab.go(f"http://127.0.0.1:{studio.port}/job/adult/column/1")
        tab.wait_for("document.querySelector('#description') !== null")
        studio.stop()
        tab.click("document.querySelector('#description')")
        tab.type("Years")
        said = tab.wait_for("document.querySelector('#lost:not([hidden])')?.textContent")
        tab.close()

    assert "does not answer" in said


def test_the_first_page_is_there_within_a_second_and_the_plan_follows_the_slider(work):
    """Time: a second and 200 ms on a machine of one's own; here, where others work too, far more is let pass."""
    begun = time.monotonic()
    with running(work) as studio:
        visitor = studio.visitor
        first = visitor.get("/")
        seconds = time.monotonic() - begun
        visitor.post("/open", {"table": "adult.parquet"})
        visitor.post("/job/adult/schema/file", {"file": "adult.schema.json", "table": ""})
        times = []
        for epsilon in ("1", "0.5", "0.7", "2", "3", "5", "7"):
            before = time.monotonic()
            shown = visitor.post("/job/adult/plan/shown", {"epsilon": epsilon, "expected_rows": "2000"})
            times.append(time.monotonic() - before)

    assert (first.status, shown.status) == (200, 200)
    assert seconds < 10
    assert median(times) < 1
