"""`lapwing certificate show --page`: one page to print and sign."""

import json
import re
import shutil
from html import unescape
from pathlib import Path

import pytest

from helpers.command import lapwing
from helpers.small_people import synthesize, write_people
from lapwing.model.certificate.certificate import Certificate

CERTIFICATE = "out.csv.certificate.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a release of ρ with a ledger, and one of pure ε."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        write_people()
        terms = ("--unit", "zcdp", "--limit", "9", "--delta", "1e-6", "--neighbours", "add-remove")
        assert lapwing("ledger", "init", "people", *terms, "--privacy-unit", "row", "--ledger", "l.db").status == 0
        book = ("--ledger", "l.db", "--dataset", "people", "--delta", "1e-6")
        assert synthesize("--model", "m.lapwing", "--prepared-by", "Ada", *book, out="out.csv").status == 0
        assert synthesize("--mechanism", "independent", out="pure.csv").status == 0
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """Work in a copy of it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def certificate(file=CERTIFICATE):
    return Certificate.from_dict(json.loads(Path(file).read_text()))


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


def test_a_certificate_is_not_written_over_by_its_page(place):
    before = Path(CERTIFICATE).read_bytes()

    assert lapwing("certificate", "show", CERTIFICATE, "--page", CERTIFICATE).status == 1
    assert Path(CERTIFICATE).read_bytes() == before
