"""`lapwing certificate show --page`: one page to print and sign."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from helpers.command import lapwing
from helpers.small_people import synthesize, write_people

CERTIFICATE = "out.csv.certificate.json"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Work in a folder with a release."""
    monkeypatch.chdir(tmp_path)
    write_people()
    assert synthesize().status == 0
    return tmp_path


def words(page):
    """Return the text of a page on one line."""
    body = page.partition("<body>")[2]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_names_stand_on_the_page_as_they_are_and_run_nothing(place):
    values = json.loads(Path(CERTIFICATE).read_text())
    values["issued"]["prepared_by"] = who = "<script>Łucja</script> 陳 & $size"
    Path(CERTIFICATE).write_text(json.dumps(values))

    assert lapwing("certificate", "show", CERTIFICATE, "--page", "c.html").status == 0

    page = Path("c.html").read_text(encoding="utf-8")
    assert f"Prepared by: {who} Place" in words(page.replace("&lt;", "\0")).replace("\0", "<")
    assert "<script" not in page
