"""The page to sign, printed by Chromium: one sheet of A4, whatever a certificate holds, and nothing of it hidden."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from helpers.pdf_text import pages_text
from lapwing.extras.office.paper.page import signing_page
from lapwing.model.certificate.issued import Beside, IssueRecord
from lapwing.model.certificate.notices import Notice

LONG = {
    "letters": "W" * 9_000,
    "words": "a b " * 2_000,
    "wide words": f"{'m' * 37} " * 200,
    "other scripts": "\u9673\u0141\u05e2 " * 2_000,
}


@pytest.fixture(scope="module")
def certificate():
    table = pl.DataFrame({"flag": [True, False] * 20})
    schema = {"fields": [{"name": "flag", "type": "boolean"}]}
    found = lw.synthesize(table, schema, epsilon=1).certificate
    files = tuple(Beside(Path(f"rows-{number}.csv"), 10**6, "5f" * 32, 10**4) for number in "12")
    at = "2026-11-29T10:00:00Z"
    return replace(found, issued=IssueRecord(at=at, files=files, schema="cd" * 32, table="flags", prepared_by="Ada"))


def longest(certificate, text):
    """Return a certificate that is as long as it may be in everything, all of it one text."""
    files = tuple(Beside(Path(f"{number}{text[:900]}"), 10**9, "5f" * 32, 10**9) for number in range(40))
    issued = replace(certificate.issued, table=text, prepared_by=text, approved_by=text, files=files)
    return replace(
        certificate,
        warnings=tuple(Notice("forbidden", {"why": f"{number} {text[:3_000]}"}) for number in range(9)),
        assumed_fields=tuple(f"{number}{text[:300]}" for number in range(90)),
        issued=issued,
    )


@pytest.mark.parametrize("text", ["", *LONG.values()], ids=["as usual", *LONG])
def test_it_is_one_sheet_of_a4_on_which_nothing_is_hidden(text, certificate, browser, tmp_path):
    whole = longest(certificate, text) if text else certificate
    (tmp_path / "c.html").write_text(signing_page(whole, Beside(Path("c" * 250), 1, "ef" * 32)), "utf-8")
    tab = browser.open(tmp_path / "c.html")

    printed = tab.pdf()
    tab.medium("print")
    hidden = tab.evaluate("(each => each.scrollHeight - each.clientHeight)(document.querySelector('dl'))")
    wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    asked, complaints = list(tab.requests), tab.complaints
    tab.close()

    (page,) = pages_text(printed)
    box = re.search(rb"/MediaBox *\[([^]]*)\]", printed)[1].split()
    assert [round(float(each)) for each in box] == [0, 0, 595, 842]
    assert (hidden, wide) == (0, 0)
    assert page.count("5f" * 32) == (8 if text else 2)
    assert f"SHA-256{'ef' * 32}of" in page
    assert page.endswith("PlaceanddateSignature")
    assert re.findall(r"(Warnings|Files)(\d+)moreinthecertificate", page) == (
        [("Warnings", "5"), ("Files", "32")] if text else []
    )
    assert (complaints, asked) == ([], [(tmp_path / "c.html").as_uri()])
