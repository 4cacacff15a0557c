"""Cards, opened in headless Chromium: quiet, narrow, light and dark.

The screenshots go into the folder that LAPWING_SCREENSHOTS names, if it names one.
"""

import os
from pathlib import Path

import pytest

from helpers.shown_objects import with_cards

GROUND = "getComputedStyle(document.querySelector('.lw-card')).backgroundColor"
INK = "getComputedStyle(document.querySelector('.lw-card')).color"
OPENED = "document.querySelectorAll('details').forEach(each => { each.open = true })"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
HEIGHT = "document.querySelector('.lw-card').getBoundingClientRect().height"
OF_JUPYTER = "body { --jp-content-font-color1: rgb(1, 2, 3); --jp-layout-color0: rgb(4, 5, 6) }"


@pytest.fixture(scope="module")
def cards():
    return {name.replace(" ", "-"): value._repr_html_() for name, value in with_cards().items()}


def opened(browser, folder, card, style=""):
    page = folder / "card.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style><body>{card}", encoding="utf-8")
    return browser.open(page, width=600, height=400)


def test_cards_fit_and_follow_the_readers_system(browser, cards, tmp_path):
    folder = os.environ.get("LAPWING_SCREENSHOTS")
    for name, card in cards.items():
        tab = opened(browser, tmp_path, card)
        seen = {}
        for scheme in ("light", "dark"):
            tab.colour_scheme(scheme)
            seen[scheme] = tab.evaluate(GROUND), tab.evaluate(INK)
            if folder:
                tab.screenshot(Path(folder, f"card-{name}-{scheme}.png"), whole=True)
        height = tab.evaluate(HEIGHT)
        tab.evaluate(OPENED)

        assert seen == {
            "light": ("rgb(255, 255, 255)", "rgb(27, 36, 48)"),
            "dark": ("rgb(18, 23, 30)", "rgb(231, 236, 242)"),
        }, name
        assert height < 700, (name, height)
        assert tab.evaluate(WIDER) == 0, name
        assert (tab.complaints, len(tab.requests)) == ([], 1), name
        tab.close()


def test_a_notebook_chooses_the_colours(browser, cards, tmp_path):
    tab = opened(browser, tmp_path, cards["release"], OF_JUPYTER)

    assert (tab.evaluate(INK), tab.evaluate(GROUND)) == ("rgb(1, 2, 3)", "rgb(4, 5, 6)")
