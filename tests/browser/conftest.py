"""One Chromium for all tests in a browser."""

import os

import pytest

from helpers.browser import CHROMIUM, chromium


@pytest.fixture(scope="session")
def browser():
    """Return a Chromium; skip where there is none, but not in CI."""
    if CHROMIUM is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must open pages in Chromium, and there is none; apt-get install chromium")
        pytest.skip("there is no Chromium on this machine")
    with chromium() as started:
        yield started
