"""The docs as they are built into site/ (`make docs`), opened from the folder, without a server."""

import os

import pytest

from helpers.browser import CHROMIUM, chromium
from helpers.source_tree import ROOT

SITE = ROOT / "site" / "index.html"


@pytest.mark.skipif(
    (CHROMIUM is None or not SITE.is_file()) and "CI" not in os.environ, reason="needs Chromium and `make docs`"
)
def test_search_finds_a_page_when_the_site_is_opened_from_a_folder() -> None:
    with chromium() as browser:
        tab = browser.open(SITE)
        tab.evaluate("document.querySelector('[data-md-component=search-query]').focus()")
        tab.call("Input.insertText", text="microaggregation")

        links = "[...document.querySelectorAll('.md-search-result__link')]"
        tab.wait_for(f"{links}.some(each => each.href.includes('microaggregation.html'))")

    assert tab.complaints == []
    assert {each.partition(":")[0] for each in tab.requests} <= {"file", "data"}
