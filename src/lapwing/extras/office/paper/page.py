"""One A4 sheet that says what was promised and with which files: a page of HTML to print and to sign."""

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from math import ceil
from string import Template
from typing import Final

from lapwing.model.certificate.attack import most_found, up
from lapwing.model.certificate.issued import Beside
from lapwing.present.certificates import Promised, certificate_document, made_by, own_warnings, title_of
from lapwing.present.document import Document, upper_first
from lapwing.schema.scalars import visible

_TRIES: Final = ((10, 400), (9, 400), (8, 400), (7, 300), (6, 200), (6, 90))
"""Sizes in points, and most signs of one text: the first with which all fits on the sheet is taken. No hash is cut."""

_FILES: Final = 8
_WARNINGS: Final = 4
_VERDICTS: Final = 6
_FALSE_ALARMS: Final = (0.001, 0.05, 0.25, 0.5)
_SHEET: Final = 730  # points of height inside the margins, less a little
_LINE: Final = 1.3  # of the size, as in the page's style, and so are the next ones
_LABEL, _WIDTH = 91, 493  # points
_AROUND: Final = 16  # lines for the title and for signatures
_NARROW: Final = frozenset("abcdefghijklnopqrstuvxyz0123456789 .,:;-_/()'")

_PAGE: Final = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Certificate of differential privacy</title>
<style>
@page { size: A4; margin: 18mm }
body { margin: 0 auto; width: 174mm; height: 260mm; display: flex; flex-direction: column; color: #000;
  background: #fff; font: ${size}pt/1.3 Helvetica, Arial, "DejaVu Sans", sans-serif; overflow-wrap: anywhere;
  font-variant-ligatures: none }
h1 { font-size: 1.6em; margin: 0 0 .5em }
dl { flex: 1; min-height: 0; overflow: hidden; margin: 0; display: grid; grid-template-columns: 32mm 1fr;
  gap: .35em 0; align-content: start }
dt { color: #666 }
dd { margin: 0 }
section { display: grid; grid-template-columns: 1fr 2fr; gap: 0 6mm; padding-top: 1.5em }
p { grid-column: 1 / -1; margin: 0 0 3em }
span { border-top: 1px solid }
</style>
</head>
<body>
<h1>Certificate of differential privacy</h1>
<dl>
$facts</dl>
$signers</body>
</html>
""")

_Fact = tuple[str, str]


def signing_page(whole: Promised, certificate: Beside) -> str:
    """Return the page, which asks for nothing from elsewhere; certificate: the file itself, whose hash stands on it."""
    facts = [(what, visible(said).replace("\n", " ")) for what, said in _facts(whole, certificate)]
    size, most = next((each for each in _TRIES if _height(facts, *each) <= _SHEET), _TRIES[-1])
    shown = [(what, escape(_cut(said, most))) for what, said in facts]
    return _PAGE.substitute(
        size=size,
        facts="".join(f"<dt>{what}</dt><dd>{said}</dd>\n" for what, said in shown[:-2]),
        signers="".join(
            f"<section><p>{what}: {who}</p><span>Place and date</span><span>Signature</span></section>\n"
            for what, who in shown[-2:]
        ),
    )


def _facts(whole: Promised, certificate: Beside) -> Iterator[_Fact]:
    """Yield labels and what stands beside them; those of the last two are for signatures."""
    issued, found = whole.issued, certificate_document(whole)
    yield "Release", upper_first(title_of(whole))
    yield "Made", made_by(whole)
    yield "Promise", upper_first(found.text("promise"))
    assumed = upper_first(found.text("not_protected"))
    yield "Not protected", assumed or "No field was taken from the rows."
    yield "Cost", upper_first(found.text("cost"))
    yield from (("With earlier ones", each) for each in found.texts("together"))
    yield from _some("Verdict", _verdicts(found), _VERDICTS)
    yield "Attack", upper_first(found.text("attack"))
    odds = (f"{up(most_found(whole.total, each, whole.delta))} at {100 * each:g} %" for each in _FALSE_ALARMS)
    yield "Also", f"{', '.join(odds)} false alarms."
    yield from _some("Warning", [upper_first(each.text) for each in own_warnings(whole)], _WARNINGS)
    yield "Ledger", upper_first(found.text("recorded_alone"))
    files = () if issued is None else issued.files
    rows = ["" if each.rows is None else f"{each.rows} rows, " for each in files]
    told = [f"{_hash(each)}, {count}{each.size} bytes" for each, count in zip(files, rows, strict=True)]
    yield from _some("File", told, _FILES)
    yield "Certificate", _hash(certificate)
    yield "To check", f"lapwing certificate verify {certificate.target.name} FILES"
    yield "Prepared by", "" if issued is None else issued.prepared_by
    yield "Approved by", "" if issued is None else issued.approved_by


def _verdicts(found: Document) -> list[str]:
    """Return the verdict without its label, and what not to use the rows for."""
    return [
        (replace(fact, label="") if fact.key == "verdict" else fact).line for fact in found.all("verdict", "not_for")
    ]


def _some(what: str, told: list[str], most: int) -> Iterator[_Fact]:
    """Yield the first of several facts of one kind, and how many more there are."""
    yield from ((what, each) for each in told[:most])
    if len(told) > most:
        yield f"{what}s", f"{len(told) - most} more in the certificate."


def _hash(file: Beside) -> str:
    """Return the hash of a file and its name: the name alone may be cut off."""
    return f"SHA-256 {file.sha256} of {file.target.as_posix()}"


def _height(facts: list[_Fact], size: int, most: int) -> float:
    """Return at most how many points of height facts take: of each sign its width is known to a tenth."""
    texts = [(_cut(said, most), _WIDTH - _LABEL) for _, said in facts[:-2]]
    texts += [(f"Prepared by: {_cut(who, most)}", _WIDTH) for _, who in facts[-2:]]
    ems = ((sum(0.65 if sign in _NARROW else 1.05 for sign in said) * size, width) for said, width in texts)
    lines = sum(ceil(1.25 * long / width) + 0.3 for long, width in ems)  # words that do not fit leave gaps
    return (lines + _AROUND) * _LINE * size


def _cut(text: str, most: int) -> str:
    """Return a text, or its beginning."""
    return text if len(text) <= most else f"{text[: most - 3]}..."
