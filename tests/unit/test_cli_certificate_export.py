"""`lapwing certificate export`: one page to print and sign."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from pypdf import PdfReader

from helpers.command import lapwing
from helpers.small_people import synthesize, write_people
from lapwing.kernel.plain import at_least
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.issued import Beside
from lapwing.release.paper import page
from lapwing.release.paper.sheet import Sheet

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


def words(pdf):
    """Return how many pages there are, and their text on one line."""
    reader = PdfReader(pdf)
    return len(reader.pages), " ".join(" ".join(each.extract_text() for each in reader.pages).split())


def test_a_page_to_sign_says_what_a_signer_must_know(place):
    said = lapwing("certificate", "export", "--pdf", "c.pdf", CERTIFICATE)
    pages, text = words("c.pdf")
    issued = certificate().issued
    box = PdfReader("c.pdf").pages[0].mediabox

    assert (said.status, said.out, said.err) == (0, "", "lapwing: page: c.pdf\n")
    assert (pages, round(box.width), round(box.height)) == (1, 595, 842)
    assert f"synthetic rows of people by Independent Made {issued.when} with Lapwing" in text
    assert "Promise Epsilon 2 at delta 1e-06 protects whether any one row is in the table" in text
    for delta, epsilon in certificate().epsilons:
        assert f"epsilon {at_least(epsilon, 4)} at delta {at_least(delta, 3)}" in text.lower()
    for each in (*issued.files, Beside.read(Path(CERTIFICATE))):
        assert each.target.name in text
        assert f"SHA-256 {each.sha256}" in text
    assert "Recorded in the ledger under people, release " in text
    assert "Prepared by: Ada Place and date Signature Approved by: Place and date Signature" in text


def test_the_same_certificate_makes_the_same_page(place):
    for name in ("a.pdf", "b.pdf"):
        assert lapwing("certificate", "export", "--pdf", name, CERTIFICATE).status == 0

    assert Path("a.pdf").read_bytes() == Path("b.pdf").read_bytes()


def test_whatever_is_long_still_makes_one_page(place):
    found = certificate()
    files = tuple(Beside(Path(f"{number}{'x' * 900}"), 10**9, "ab" * 32, 10**9) for number in range(40))
    issued = replace(found.issued, table="W" * 9_000, prepared_by="M" * 9_000, approved_by="a b " * 900, files=files)
    long = replace(
        found,
        warnings=tuple(f"{number} {'W' * 3_000}" for number in range(9)),
        assumed_fields=tuple(f"{number}{'W' * 300}" for number in range(90)),
        issued=issued,
    )

    drawn, lacking = page.signing_page(Sheet(long), Beside(Path("c" * 250), 1, "ab" * 32))
    pages, text = words(io.BytesIO(drawn))

    assert (pages, lacking) == (1, "")
    assert "32 more in the certificate." in text
    assert "5 more in the certificate." in text
    assert text.endswith("Place and date Signature")


def write_font(signs):
    """Write a font that has these signs and a space, all boxes."""
    names = {ord(sign): f"sign{ord(sign)}" for sign in signs} | {32: "space"}
    order = [".notdef", *names.values()]
    pen = TTGlyphPen(None)
    for move, at in ((pen.moveTo, (0, 0)), (pen.lineTo, (0, 500)), (pen.lineTo, (500, 500))):
        move(at)
    pen.closePath()
    box = pen.glyph()
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder(order)
    font.setupCharacterMap(names)
    font.setupGlyf(dict.fromkeys(order, box))
    font.setupHorizontalMetrics(dict.fromkeys(order, (500, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Boxes", "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    font.save("boxes.ttf")


def name_signer(who):
    values = json.loads(Path(CERTIFICATE).read_text())
    values["issued"]["prepared_by"] = who
    Path(CERTIFICATE).write_text(json.dumps(values))


def test_names_in_other_scripts_are_written_with_a_font_that_has_them(place, monkeypatch):
    name_signer("Łucja 陳")
    monkeypatch.setattr(page, "_FONTS", ())
    write_font({chr(code) for code in range(33, 127)} | {"Ł"})

    bare = lapwing("certificate", "export", "--pdf", "bare.pdf", CERTIFICATE)
    own = lapwing("certificate", "export", "--pdf", "own.pdf", "--font", "boxes.ttf", CERTIFICATE)

    assert "the font lacks Ł陳, written as U+ and a number; give one" in bare.err
    assert "Prepared by: U+0141ucja U+9673 " in words("bare.pdf")[1]
    assert "the font lacks 陳, " in own.err
    assert "Prepared by: Łucja U+9673 " in words("own.pdf")[1]


def test_a_font_of_the_system_is_taken_where_latin_is_not_enough(place, monkeypatch):
    name_signer("Łucja")
    write_font({chr(code) for code in range(33, 127)} | {"Ł"})
    monkeypatch.setattr(page, "_FONTS", ("gone.ttf", "boxes.ttf"))

    assert lapwing("certificate", "export", "--pdf", "c.pdf", CERTIFICATE).err == "lapwing: page: c.pdf\n"
    assert "Prepared by: Łucja " in words("c.pdf")[1]


@pytest.mark.parametrize("font", ["gone.ttf", "s.json", "broken.ttf"])
def test_what_is_no_font_is_refused_and_leaves_no_page(font, place):
    Path("broken.ttf").write_bytes(b"\0\1\0\0 and no more")

    said = lapwing("certificate", "export", "--pdf", "c.pdf", "--font", font, CERTIFICATE)

    assert (said.error, said.code) == (
        f"{font} is no font that can be read; give a TrueType file (.ttf, .otf)",
        "LW302",
    )
    assert not Path("c.pdf").exists()


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
    assert lapwing("certificate", "export", "--pdf", "c.pdf", learnt).status == 0
