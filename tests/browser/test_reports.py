"""Reports, opened in headless Chromium: drawn, quiet, dark, on few printed pages, and on a phone.

The screenshots go into the folder that LAPWING_SCREENSHOTS names, if it names one.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from conftest import EXAMPLES
from helpers.findings import compared, findings, schema_of
from helpers.pdf_text import pages_text
from lapwing.extras.evaluate.report.charts import bars, budget_bar, histogram, interval_dots
from lapwing.extras.evaluate.report.compared import compared_sections
from lapwing.extras.evaluate.report.heat_maps import heat_map, map_heat
from lapwing.extras.evaluate.report.page import NOTICE, render
from lapwing.present.document import Page, Section, Table, Text
from lapwing.release.marked import Internal

MARKS = ".mark-rect path, .mark-symbol path, .mark-rule line"
MOST_PAGES = {"releasable": 6, "internal": 12, "compared": 12}
KINDS = ("releasable", "internal", "compared")
HOSTILE = "</script><script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
LONG = "a-very-long-name-" * 12


def internal_page():
    """Return a page with every kind of chart, some of whose names would like to run."""
    k, rng = 12, np.random.default_rng(0)
    labels = [HOSTILE, LONG, "\u05e2\u05d1\u05e8\u05d9\u05ea", *(f"value {place}" for place in range(3, k))]
    shares = [(each / each.sum()).tolist() for each in rng.random((3, k))]
    words = {"meaning": "What can be seen.", "unit": "share of rows"}
    matrix = rng.random((k, k))
    table = Table(caption=LONG, heading=("", *labels), lines=tuple((name, *labels) for name in labels))
    pairs = {"real": shares[0], "synthetic": shares[1]}
    charts = (
        bars(labels, pairs, title=HOSTILE, is_share=True, **words),
        histogram(labels, labels, pairs, title="histogram", **words),
        interval_dots(labels, shares[0], (shares[1], shares[2]), marks={"bootstrap": shares[1]}, title="dots", **words),
        heat_map(matrix, labels, labels, title="heat map", **words),
        heat_map(matrix - 0.5, labels, labels, domain=(-1, 1), both_ways=True, title="differences", **words),
        map_heat(matrix, range(k + 1), range(k + 1), x_title="x", y_title="y", title="map", **words),
    )
    budget = budget_bar([("tables", 0.9), (HOSTILE, 0.1)], title="budget", **words)
    first = Section(key="first", title=HOSTILE, parts=(Text(words=HOSTILE, points=(LONG,)), budget, table))
    return Page(title=LONG, sections=(first, Section(key="charts", title="Charts", parts=(), folded=charts)))


def compared_page():
    """Return the page of an evaluation, of two coded tables with gaps and coordinates."""
    real = {"type": "number", "constraints": {"minimum": 0, "maximum": 1}}
    schema = schema_of(
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]},
        {"name": "seen", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2021-12-31"}},
        {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(30)]},
        {"name": "lon", **real},
        {"name": "lat", **real},
    )
    rng = np.random.default_rng(0)
    tables = [
        {each.name: (each.domain.size * rng.random(400) ** 2).astype(np.int64) for each in schema.columns} for _ in "12"
    ]
    figures = (compared(0.1, 0.05, 0.3, errors=(0.01, 0.01, 0.01)), compared(0.2, 0.05, 0.3, key="kernel_density"))
    sections = compared_sections(findings(schema, *tables, metrics=figures), schema)
    return Page(title="Synthetic beside real rows", sections=sections)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Return the file of each kind of report."""
    folder = tmp_path_factory.mktemp("reports")
    schema = EXAMPLES / "adult.schema.json"
    release = lw.synthesize(EXAMPLES / "adult.parquet", schema, epsilon=1, mechanism=lw.Independent(), seed=1)
    release.to_html(folder / "releasable.html")
    (folder / "internal.html").write_text(render(Internal(internal_page())), encoding="utf-8")
    (folder / "compared.html").write_text(render(Internal(compared_page())), encoding="utf-8")
    return {kind: folder / f"{kind}.html" for kind in KINDS}


@pytest.fixture
def opened(browser, reports, request):
    """Return the report of a kind in a new tab; all it asks for and complains about is checked."""
    tab = browser.open(reports[request.param])
    tab.kind = request.param
    yield tab
    assert tab.complaints == []
    assert [each for each in tab.requests if not each.startswith("data:")] == [reports[request.param].as_uri()]
    assert tab.evaluate("document.title") != "run"
    tab.close()


def keep(tab, name):
    """Take a screenshot, if somebody wants one."""
    folder = os.environ.get("LAPWING_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        tab.screenshot(Path(folder) / f"{tab.kind}-{name}.png")


def unfold(tab):
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")


@pytest.mark.parametrize("opened", KINDS, indirect=True)
def test_all_charts_are_drawn_with_marks_in_them(opened):
    unfold(opened)

    charts = opened.evaluate("document.querySelectorAll('.chart svg').length")
    bare = opened.evaluate(
        "[...document.querySelectorAll('.chart')].filter(each => {"
        f"  const marks = [...each.querySelectorAll('{MARKS}')].map(mark => mark.getBoundingClientRect());"
        "  return marks.filter(box => box.width + box.height > 2).length < 2;"
        "}).map(each => each.id)"
    )
    assert charts >= 7
    assert bare == []
    keep(opened, "desktop")


@pytest.mark.parametrize("opened", KINDS, indirect=True)
def test_dark_is_asked_for_by_the_system_and_charts_follow(opened):
    ground = "getComputedStyle(document.body).backgroundColor"
    bar = "getComputedStyle(document.querySelector('.chart .mark-rect path')).fill"
    light = opened.evaluate(f"[{ground}, {bar}]")

    opened.colour_scheme("dark")

    dark = opened.evaluate(f"[{ground}, {bar}]")
    keep(opened, "dark")
    assert light[0] != dark[0]
    assert light[1] != dark[1]


@pytest.mark.parametrize("opened", KINDS, indirect=True)
def test_words_stand_out_from_their_ground_in_light_and_dark(opened):
    contrast = """(() => {
        const rgb = text => text.match(/[\\d.]+/g).map(Number);
        const linear = part => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        const luminance = colour => colour.slice(0, 3).map(linear)
            .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
        const ground = node => {
            for (; node; node = node.parentElement) {
                const colour = rgb(getComputedStyle(node).backgroundColor);
                if (colour.length === 3 || colour[3] > 0) return colour;
            }
        };
        const words = [...document.querySelectorAll('body *')].filter(node => node.checkVisibility() &&
            [...node.childNodes].some(each => each.nodeType === 3 && each.textContent.trim()) &&
            !node.closest('script, .watermark'));
        return Math.min(...words.map(node => {
            const style = getComputedStyle(node);
            const colour = node instanceof SVGElement ? style.fill : style.color;
            const pair = [luminance(rgb(colour)), luminance(ground(node))].sort((a, b) => b - a);
            return (pair[0] + 0.05) / (pair[1] + 0.05);
        }));
    })()"""
    unfold(opened)

    for scheme in ("light", "dark"):
        opened.colour_scheme(scheme)
        assert opened.evaluate(contrast) >= 4.5


@pytest.mark.parametrize("opened", KINDS, indirect=True)
def test_nothing_is_wider_than_a_phone(opened):
    opened.resize(360, 740)
    unfold(opened)

    wide = opened.evaluate("document.documentElement.scrollWidth")
    assert wide == 360
    keep(opened, "phone")


@pytest.mark.parametrize("opened", KINDS, indirect=True)
def test_print_is_light_short_and_every_page_of_an_internal_report_says_so(opened):
    opened.colour_scheme("dark")

    pages = pages_text(opened.pdf())

    marks = [page.count(NOTICE.replace(" ", "")) for page in pages]
    assert 2 <= len(pages) <= MOST_PAGES[opened.kind]
    assert set(marks) == {0} if opened.kind == "releasable" else min(marks) >= 10
    opened.medium("print")
    assert opened.evaluate("getComputedStyle(document.body).color") == "rgb(27, 36, 48)"
    shown = "[...document.querySelectorAll('.charts')].filter(each => each.checkVisibility())"
    widths = opened.evaluate(f"{shown}.map(each => getComputedStyle(each).gridTemplateColumns)")
    assert {len(each.split()) for each in widths} == {2}
    assert not opened.evaluate("[...document.querySelectorAll('main details')].some(each => each.checkVisibility())")
    keep(opened, "print")


@pytest.mark.parametrize("opened", ["internal"], indirect=True)
def test_the_banner_of_an_internal_report_stays_in_view(opened):
    opened.evaluate("scrollTo(0, document.body.scrollHeight)")

    box = opened.evaluate("(({top, width}) => [top, width])(document.querySelector('.banner').getBoundingClientRect())")

    assert box[0] == 0
    assert box[1] > 1000
    assert "data:image/svg" in opened.evaluate("getComputedStyle(document.body, '::after').backgroundImage")


@pytest.mark.parametrize("opened", ["releasable"], indirect=True)
def test_the_keyboard_reaches_the_report_and_shows_where_it_is(opened):
    for kind in ("rawKeyDown", "keyUp"):
        opened.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    focused = "document.activeElement"
    assert opened.evaluate(f"{focused}.className") == "skip"
    assert opened.evaluate(f"{focused}.getBoundingClientRect().left") == 0
    assert opened.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid"


def test_a_script_in_the_file_that_the_policy_does_not_name_does_not_run(browser, reports, tmp_path):
    text = reports["internal"].read_text().replace("<main", "<script>document.title = 'run'</script><main")
    (tmp_path / "tampered.html").write_text(text)

    tab = browser.open(tmp_path / "tampered.html")

    assert tab.evaluate("document.title") != "run"
    assert any("Content Security Policy" in said for said in tab.complaints)
