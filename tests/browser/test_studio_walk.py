"""The whole job in headless Chromium, by clicks and keys: quiet, narrow and wide, light and dark, for all readers.

Screenshots go into the folder that LAPWING_SCREENSHOTS names, if it names one.
"""

import json
import os
import shutil
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from conftest import EXAMPLES
from helpers.browser import Tab
from helpers.studio import Running, running

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
AXE = """
axe.run({resultTypes: ["violations"]}).then(found => found.violations
  .filter(each => ["serious", "critical"].includes(each.impact))
  .map(each => `${each.id}: ${each.nodes.map(node => node.target.join(" ") + " " + node.failureSummary)}`))
"""
OPENED = (
    "window.shut = [...document.querySelectorAll('details:not([open])')]; shut.forEach(each => { each.open = true })"
)
SHUT = "window.shut.forEach(each => { each.open = false })"
MESSY = "Name;Größe in cm;Gewicht;Gruppe\n" + 60 * (
    "Müller, Anna;171,5;62,0;a\nSchmidt, Jan;N/A;81,5;b\nNguyen, Thi;158,0;N/A;a\nO'Neil, Pat;183,25;90,0;N/A\n"
)
SLOWLY = """
import time
from lapwing.extras.studio import works
tell = works.StudioWork.tell
works.StudioWork.tell = lambda work, step: (time.sleep(0.05), tell(work, step))
from lapwing.cli.main import run
run()
"""


@pytest.fixture(scope="module")
def axe():
    """Return the program that looks for barriers."""
    found = find_spec("axe_core_python")
    if found is None or found.origin is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must look for barriers, and axe-core-python is not installed")
        pytest.skip("axe-core-python is not installed")
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@dataclass
class Person:
    """Somebody at a browser, who looks around in every room.

    folder: where screenshots go, if anywhere; axe: the program that looks for barriers; found: what was wrong, by room.
    """

    tab: Tab
    studio: Running
    folder: Path | None
    axe: str
    found: dict[str, object]

    def click(self, selector):
        """Click on what a selector finds, and wait until a page is there."""
        self.tab.click(f"document.querySelector({selector!r})")
        self.ready()

    def leave(self, selector):
        """Click on what leads to another page, and wait for it."""
        self.tab.evaluate("window.before = true")
        self.tab.click(f"document.querySelector({selector!r})")
        self.tab.wait_for("!window.before && document.readyState === 'complete'")

    def room(self, name):
        """Go to a room by the row of rooms on top."""
        self.leave(f'header nav a[href$="/{name}"]')

    def ready(self):
        self.tab.wait_for("document.readyState === 'complete'")

    def write(self, selector, text):
        """Write into a field, over what is there."""
        self.tab.click(f"document.querySelector({selector!r})")
        self.tab.evaluate(f"document.querySelector({selector!r}).select()")
        self.tab.type(text)

    def at(self):
        return self.tab.evaluate("location.pathname")

    def look_around(self, name, *, expected=()):
        """Take a picture of a room, and note what is wrong with it."""
        tab, wrong = self.tab, []
        if self.folder is not None:
            tab.screenshot(self.folder / f"studio-{name}.png")
        tab.evaluate(OPENED)
        tab.evaluate(self.axe)
        for scheme, width in (("light", 1280), ("dark", 360)):
            tab.colour_scheme(scheme)
            tab.resize(width, 700)
            wrong += [f"wider than {width} by {wider}" for wider in [tab.evaluate(WIDER)] if wider > 0]
            wrong += [f"{scheme}: {each}" for each in tab.evaluate(AXE)]
        tab.evaluate(SHUT)
        tab.colour_scheme("light")
        tab.resize(1000, 700)
        wrong += [each for each in tab.complaints if not any(part in each for part in expected)]
        tab.complaints.clear()
        wrong += [each for each in tab.requests if not each.startswith((self.origin, "data:", "about:"))]
        if wrong:
            self.found[name] = wrong

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.studio.port}/"


@pytest.fixture
def begin(browser, axe):
    """Return what lets somebody open the address that a studio printed."""

    def opened(studio):
        asked = os.environ.get("LAPWING_SCREENSHOTS")
        tab = browser.open(studio.address, width=1000, height=700)
        tab.wait_for("location.search === '' && document.readyState === 'complete' && document.title.length > 15")
        return Person(tab, studio, Path(asked) if asked else None, axe, {})

    return opened


@pytest.fixture
def work(tmp_path):
    """Return a working folder; pictures show its name."""
    folder = Path("/tmp/census") if os.environ.get("LAPWING_SCREENSHOTS") else tmp_path / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def test_the_whole_job_on_adult_by_clicks(work, begin):
    pl.read_parquet(EXAMPLES / "adult.parquet").head(2000).write_parquet(work / "adult.parquet")
    shutil.copy(EXAMPLES / "adult.schema.json", work / "adult.schema.json")
    with running(work, start=SLOWLY) as studio:
        person = begin(studio)
        describe(person)
        plan_by_keys(person)
        pay(person)
        release_with_a_reload(person)
        look(person)
        hand_over(person, work)
        person.tab.close()

    assert person.found == {}
    made = work / "lapwing-studio" / "adult" / "release-1"
    assert len(list(made.glob("*.certificate.json"))) == 1


def describe(person):
    """Open the table, take its schema from the file beside it, and check."""
    person.look_around("table")
    person.leave('form[action="/open"] button')
    person.look_around("schema-start")
    person.leave('form[action$="/schema/file"] button')
    person.look_around("schema")
    person.leave('.columns a[href$="/column/1"]')
    person.look_around("column")
    person.room("schema")
    person.room("check")
    person.click('form[action$="/check"] button')
    person.tab.wait_for("document.querySelector('[data-watch]') === null && document.querySelector('table') !== null")
    person.look_around("check")


def plan_by_keys(person):
    """Plan without a mouse, from the first key on."""
    person.room("plan")
    tab = person.tab
    tab.press("Tab", "Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    tab.press("Tab")
    assert tab.evaluate("document.activeElement.name") == "expected_rows"
    tab.type("2000")
    tab.press("Tab", "Tab")
    before = tab.evaluate("[document.querySelector('#epsilon').value, document.activeElement.type]")
    tab.wait_for("document.querySelector('#shown .card') !== null")
    tab.press("ArrowRight")
    tab.wait_for(f"document.querySelector('#epsilon').value > {before[0]!r}")
    person.look_around("plan")
    tab.press("ArrowLeft")
    while tab.evaluate("document.activeElement.tagName") != "BUTTON":
        tab.press("Tab")
    tab.evaluate("window.before = true")
    tab.press("Enter")
    tab.wait_for("!window.before && location.pathname.endsWith('/budget')")

    assert before == ["1", "range"]


def pay(person):
    """Open an account that has too little, raise its limit, and go on."""
    person.ready()
    person.write("#limit", "0.5")
    person.leave('form[action$="/budget/open"] button')
    assert "0.5" in person.tab.evaluate("document.querySelector('.refusal:not([hidden])').textContent")
    person.look_around("budget-refused")
    person.click("details:has(form[action$='/budget/limit']) summary")
    person.write("#new-limit", "3")
    person.leave('form[action$="/budget/limit"] button')
    person.look_around("budget")
    person.room("release")
    person.look_around("release")


def release_with_a_reload(person):
    """Begin the release, load its page again in the middle, and wait for its end."""
    tab = person.tab
    person.leave('form[action$="/release"] button')
    tab.wait_for("document.querySelector('[data-watch]') !== null")
    tab.evaluate("window.before = true; location.reload()")
    tab.wait_for("!window.before && document.readyState === 'complete'")
    assert tab.evaluate("document.querySelector('[data-watch]') !== null")
    person.look_around("release-under-way")
    tab.wait_for("document.querySelector('[data-watch]') === null && document.readyState === 'complete'")
    person.look_around("released")


def look(person):
    """Look at the release: ask it, draw rows, and compare it behind its door."""
    tab = person.tab
    person.room("look")
    person.look_around("look")
    person.leave('a[href$="/ask"]')
    tab.evaluate("document.querySelector('#column0').value = '9'")
    person.leave('form[action$="/ask"] button')
    assert tab.evaluate("document.querySelectorAll('tbody tr').length") >= 2
    person.look_around("ask")
    person.room("look")
    person.leave('a[href$="/rows"]')
    person.leave('form[action$="/rows"] button')
    assert tab.evaluate("document.querySelectorAll('tbody tr').length") >= 5
    person.look_around("rows")
    person.room("look")
    person.leave('form[action$="/compare"] button')
    tab.wait_for("document.querySelector('[data-watch]') === null && document.querySelector('table') !== null")
    assert tab.evaluate("document.querySelector('.watermark') !== null")
    person.look_around("compare")


def hand_over(person, work):
    """Check the files, and take all of them away."""
    tab = person.tab
    person.room("hand-over")
    person.look_around("hand-over")
    person.leave('form[action$="/check"] button')
    assert tab.evaluate("document.querySelector('.verdict.good') !== null")
    tab.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(work))
    person.click('a[href$="all.zip"]')
    deadline = time.monotonic() + 30
    while not list(work.glob("*.zip")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_messy_table_is_described_by_hand_checked_and_released(work, begin):
    (work / "leute.csv").write_text(MESSY, encoding="utf-8")
    with running(work) as studio:
        person = begin(studio)
        tab = person.tab
        person.leave('form[action="/open"] button')
        person.leave('form[action$="/schema/draft"] button')
        tab.wait_for("document.querySelector('[data-watch]') === null && document.querySelector('.columns') !== null")
        person.look_around("messy-schema")
        person.leave('.columns a[href$="/column/1"]')
        person.click('input[name="role"][value="identifier"]')
        person.look_around("messy-column")
        person.leave('button[name="then"]')
        describe_by_hand(person)
        person.leave('form[action$="/check"] button')
        tab.wait_for("document.querySelector('[data-watch]') === null && document.querySelector('table') !== null")
        person.look_around("messy-check")
        fits = tab.evaluate("document.querySelector('.verdict.good') !== null")
        release_without_account(person)
        hand_over(person, work)
        tab.close()

    fields = json.loads((work / "lapwing-studio" / "leute" / "schema.json").read_text(encoding="utf-8"))["fields"]
    assert person.found == {}
    assert fits
    assert [each["type"] for each in fields] == ["string", "number", "number", "string"]
    assert fields[0]["role"] == "identifier"


def release_without_account(person):
    """Plan, and release without a ledger."""
    person.room("plan")
    person.write("#expected_rows", "240")
    person.leave('form[action$="/plan"] button')
    person.click("details:has(input[name=account][type=hidden]) summary")
    person.leave("form:has(input[name=account][type=hidden]) button")
    person.leave('form[action$="/release"] button')
    person.tab.wait_for("document.querySelector('[data-watch]') === null && document.readyState === 'complete'")


def describe_by_hand(person):
    """Say what the numbers and the groups can be, each column leading to the next that is open."""
    tab = person.tab
    for column, values in ((2, ("100", "220")), (3, ("30", "200"))):
        assert person.at().endswith(f"/column/{column}")
        tab.evaluate("type.value = 'number'; type.dispatchEvent(new Event('input', {bubbles: true}))")
        tab.evaluate("document.querySelector('details:has(#decimalChar)').open = true")
        person.write("#minimum", values[0])
        person.write("#maximum", values[1])
        person.write("#decimalChar", ",")
        person.write("#missingValues", "N/A")
        person.click('input[name="provenance"][value="public"]')
        person.leave('button[name="then"]')
    person.write("#categories", "a\nb")
    tab.evaluate("document.querySelector('details:has(#missingValues)').open = true")
    person.write("#missingValues", "N/A")
    person.click('input[name="provenance"][value="public"]')
    person.leave('button[name="then"]')
    for number in range(tab.evaluate("document.querySelectorAll('input[name=question]').length")):
        person.click(f'input[name="question"][value="{number}"]')
    if tab.evaluate("document.querySelector('form[action$=\"/schema/answered\"]') !== null"):
        person.leave('form[action$="/schema/answered"] button')
    person.leave('form[action$="/schema/done"] button')


def test_what_is_wrong_with_a_room_is_found(work, begin):
    with running(work) as studio:
        person = begin(studio)
        person.folder = None
        person.tab.evaluate(
            """
            document.body.insertAdjacentHTML("beforeend", `
              <input><p id="pale">pale</p><p id="wide">wide</p><p style="color: red">styled</p><img src="https://evil.example/x.png">`);
            document.querySelector("#pale").style.color = "#888";
            document.querySelector("#wide").style.width = "2000px";
            const script = document.createElement("script");
            script.textContent = "document.title = 'run'";
            document.body.append(script);
            """
        )
        person.look_around("broken")
        title = person.tab.evaluate("document.title")
        person.tab.close()

    said = "\n".join(person.found["broken"])
    assert title != "run"
    for each in ("wider than 360", "label:", "color-contrast:", "image-alt:", "script-src", "img-src", "style-src"):
        assert each in said, each
