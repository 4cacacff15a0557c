"""One A4 page that says what was promised and with which files, to print and to sign."""

import contextlib
import datetime as dt
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lapwing.errors import LapwingError, ParameterError
from lapwing.model.certificate.attack import most_found, up
from lapwing.model.certificate.issued import Beside
from lapwing.release.paper.sheet import Sheet
from lapwing.schema.scalars import visible
from lapwing.version import install_command

if TYPE_CHECKING:
    from fpdf import FPDF

_TRIES: Final = ((10, 400), (9, 400), (8, 400), (7, 300), (6, 200), (6, 60))
"""Sizes in points, and most signs of one text: the first with which all fits on the page is taken."""

_FILES: Final = 8
_WARNINGS: Final = 4
_FALSE_ALARMS: Final = (0.001, 0.05, 0.25, 0.5)
_GREY, _BLACK = 110, 0
_MARGIN, _LABEL, _WIDTH, _MM_PER_POINT = 18.0, 32.0, 174.0, 0.3528

_FONTS: Final = (
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
    "/usr/share/fonts/TTF/DejaVuSans.ttf",
    "/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
    "C:/Windows/Fonts/arial.ttf",
)
"""Fonts of the system for what is not Latin-1; Lapwing brings none."""

_Fact = tuple[str, str]


def signing_page(sheet: Sheet, certificate: Beside, font: Path | None = None) -> tuple[bytes, str]:
    """Return the page as PDF, and the signs that no font had: they are written as their numbers.

    certificate: the file itself, whose hash stands on the page; font: a TrueType font to use instead of Helvetica.
    """
    facts = [(what, visible(said).replace("\n", " ")) for what, said in _facts(sheet, certificate)]
    text = "".join(said for _, said in facts)
    if font is None and not _is_latin(text):
        font = next((each for each in map(Path, _FONTS) if each.is_file()), None)
    for size, most in _TRIES:
        pdf, has = _new(sheet, font)
        _write(pdf, [(what, _shown(_cut(said, most), has)) for what, said in facts], size)
        if pdf.page == 1:
            break
    return bytes(pdf.output()), "".join(sorted({sign for sign in text if not has(sign)}))


def _facts(sheet: Sheet, certificate: Beside) -> Iterator[_Fact]:
    """Yield labels and what stands beside them; those of the last two are for signatures."""
    issued = sheet.issued
    yield "Release", _upper(sheet.title)
    yield "Made", sheet.made
    yield "Promise", _upper(f"{sheet.price} protects {sheet.protected}")
    assumed = ", ".join(sheet.assumed_fields)
    yield (
        "Not protected",
        f"What bounds and lists of {assumed} say." if assumed else "No field was taken from the rows.",
    )
    yield "Cost", _upper(sheet.cost)
    if sheet.together is not None:
        yield "With earlier ones", sheet.together
    for place, said in enumerate(sheet.verdicts):
        yield "" if place else "Verdict", said.replace("Verdict: ", "")
    yield "Attack", _upper(sheet.attack.removeprefix("Attack: "))
    odds = (f"{up(most_found(sheet.total, each, sheet.delta))} at {each:.1%}" for each in _FALSE_ALARMS)
    yield "Also", f"{', '.join(odds)} false alarms."
    yield from (("Warning", _upper(said)) for said in sheet.warnings[:_WARNINGS])
    if len(sheet.warnings) > _WARNINGS:
        yield "Warnings", f"{len(sheet.warnings) - _WARNINGS} more in the certificate."
    yield "Ledger", sheet.recorded
    files = () if issued is None else issued.files
    for each in files[:_FILES]:
        rows = "" if each.rows is None else f"{each.rows} rows, "
        yield "File", f"{each.target.as_posix()}, {rows}{each.size} bytes"
        yield "", f"SHA-256 {each.sha256}"
    if len(files) > _FILES:
        yield "Files", f"{len(files) - _FILES} more in the certificate."
    yield "Certificate", certificate.target.name
    yield "", f"SHA-256 {certificate.sha256}"
    yield "To check", f"lapwing certificate verify {certificate.target.name} FILES"
    yield "Prepared by", "" if issued is None else issued.prepared_by
    yield "Approved by", "" if issued is None else issued.approved_by


def _new(sheet: Sheet, font: Path | None) -> tuple["FPDF", Callable[[str], bool]]:
    """Return an empty page, and what tells whether its font has a sign."""
    pdf = _blank()
    pdf.set_margin(_MARGIN)
    pdf.set_title("Certificate of differential privacy")
    pdf.set_lang("en")
    if sheet.issued is not None:  # the same certificate makes the same file
        pdf.set_creation_date(dt.datetime.fromisoformat(sheet.issued.at))
    pdf.add_page()
    if font is None:
        pdf.set_font("helvetica")
        return pdf, _is_latin
    signs = _embed(pdf, font)
    return pdf, lambda sign: ord(sign) in signs


def _blank() -> "FPDF":
    """Return a document in the making."""
    try:
        from fpdf import FPDF  # noqa: PLC0415 - an extra
    except ImportError:
        said = f"pages to sign are made by fpdf2, which is not installed; run {install_command('paper')}"
        raise LapwingError(said, code="LW701") from None
    return FPDF(format="A4")


def _embed(pdf: "FPDF", font: Path) -> Container[int]:
    """Take a font into a page, and return the numbers of its signs."""
    from fontTools.ttLib import TTLibError  # noqa: PLC0415

    with contextlib.suppress(OSError, ValueError, TTLibError):
        pdf.add_font("own", fname=font)
    found = pdf.fonts.get("own")
    if found is None:
        raise ParameterError(f"{font} is no font that can be read; give a TrueType file (.ttf, .otf)", code="LW302")
    pdf.set_font("own")
    signs: Container[int] = found.cmap
    return signs


def _write(pdf: "FPDF", facts: list[_Fact], size: int) -> None:
    """Write the page; where it is too long, a second one begins."""
    step = size * _MM_PER_POINT * 1.3
    pdf.set_font_size(size + 6)
    pdf.multi_cell(0, 2 * step, "Certificate of differential privacy", align="L", new_x="LMARGIN")
    pdf.ln(step / 2)
    pdf.set_font_size(size)
    for what, said in facts[:-2]:
        pdf.set_text_color(_GREY)
        pdf.cell(_LABEL, step, what)
        pdf.set_text_color(_BLACK)
        pdf.multi_cell(_WIDTH - _LABEL, step, said, align="L", new_x="LMARGIN")
        pdf.ln(step / 4)
    for what, who in facts[-2:]:
        pdf.ln(step * 1.5)
        pdf.multi_cell(0, step, f"{what}: {who}", align="L", new_x="LMARGIN")
        pdf.ln(step * 2.5)
        for label, width in (("Place and date", 60.0), ("Signature", _WIDTH - 60.0)):
            pdf.cell(width - 6.0, step, label, border="T")
            pdf.cell(6.0, step, "")
        pdf.ln(step)


def _is_latin(text: str) -> bool:
    """Return whether Helvetica, which every reader of PDF has, shows a text."""
    return all(ord(sign) < 256 for sign in text)


def _upper(text: str) -> str:
    """Return a sentence as it begins a line."""
    return text[:1].upper() + text[1:]


def _cut(text: str, most: int) -> str:
    """Return a text, or its beginning."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _shown(text: str, has: Callable[[str], bool]) -> str:
    """Return a text in which signs that the font lacks stand as numbers."""
    return "".join(sign if has(sign) else f"U+{ord(sign):04X}" for sign in text)
