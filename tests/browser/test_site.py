"""The docs as they are built into site/ (`make docs`), opened from the folder, without a server."""

import json
import os
import re
from pathlib import Path

import pytest

from helpers.browser import Browser
from helpers.notebooks import GALLERY
from helpers.source_tree import ROOT

SITE = ROOT.joinpath("site", "index.html")  # what `make docs` built


@pytest.mark.skipif(not SITE.is_file() and "CI" not in os.environ, reason="needs `make docs`")
def test_search_finds_a_page_when_the_site_is_opened_from_a_folder(browser: Browser) -> None:
    tab = browser.open(SITE)
    tab.evaluate("document.querySelector('[data-md-component=search-query]').focus()")
    tab.call("Input.insertText", text="microaggregation")

    links = "[...document.querySelectorAll('.md-search-result__link')]"
    tab.wait_for(f"{links}.some(each => each.href.includes('microaggregation.html'))")
    tab.close()

    assert tab.complaints == []
    assert {each.partition(":")[0] for each in tab.requests} <= {"file", "data"}


@pytest.mark.skipif(not SITE.is_file() and "CI" not in os.environ, reason="needs `make docs`")
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_page_of_a_notebook_shows_every_output(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    page = SITE.parent.joinpath("gallery", f"{path.stem}.html").read_text(encoding="utf-8")

    outputs = [output for cell in cells for output in cell.get("outputs", ())]

    assert len(re.findall(r'class="cell-output"|src="data:image/svg', page)) == len(outputs) > 0
    assert page.count("<script") == SITE.read_text(encoding="utf-8").count("<script")
