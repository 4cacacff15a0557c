"""`lapwing certificate show --page`: one page to print and sign."""

import json
import re
import shutil
from html import unescape
from pathlib import Path

import pytest

from helpers.command import lapwing
from helpers.small_people import synthesize, write_people
from lapwing.kernel.plain import at_least
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.issued import Beside

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


def test_a_page_to_sign_says_what_a_signer_must_know(place):
    said = lapwing("certificate", "show", CERTIFICATE, "--page", "c.html")
    text = words(Path("c.html").read_text())
    issued = certificate().issued

    assert (said.status, said.out, said.err) == (0, "", "lapwing: page: c.html\n")
    assert f"synthetic rows of people by Independent Made {issued.when} with Lapwing" in text
    assert "Promise Epsilon 2 at delta 1e-06 protects whether any one row is in the table" in text
    for delta, epsilon in certificate().epsilons:
        assert f"epsilon {at_least(epsilon, 4)} at delta {at_least(delta, 3)}" in text.lower()
    for each in (*issued.files, Beside.read(Path(CERTIFICATE))):
        assert f"SHA-256 {each.sha256} of {each.target.as_posix()}" in text
    assert "Recorded in the ledger under people, release " in text
    assert "Prepared by: Ada Place and date Signature Approved by: Place and date Signature" in text


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


def test_what_was_bought_before_is_told(place):
    bought = ("schema", "learn", "data.parquet", "--schema", "s.json", "--fields", "age", "--epsilon", "1")
    said = lapwing(*bought, "-o", "s2.json")
    assert said.status == 0, said.err
    learnt = "s2.json.certificate.json"
    assert lapwing("certificate", "show", learnt).out.startswith("Release: bounds and lists of a schema, ")
    both = ("synthesize", "data.parquet", "--schema", "s2.json", "--epsilon", "2", "--mechanism", "independent")
    assert lapwing(*both, "-o", "both.csv").status == 0

    assert "\nTogether with what was bought before under the same terms: epsilon 3" in (
        lapwing("certificate", "show", "both.csv.certificate.json").out
    )
    assert lapwing("certificate", "show", learnt, "--page", "c.html").status == 0
