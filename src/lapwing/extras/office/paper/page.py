"""One A4 sheet that says what was promised and with which files: a page of HTML to print and to sign."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import Final

from lapwing.model.certificate.attack import most_found, up
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.issued import Beside
from lapwing.present.certificates import SHORT, describe_certificate, own_warnings
from lapwing.present.document import Fact, Facts, sentence
from lapwing.present.html import element, facts_html, whole_page
from lapwing.present.messages import say
from lapwing.schema.scalars import visible

_KEYS: Final = (*SHORT[2:-2], *SHORT[:2], "attack")
_SIGNERS: Final = ("prepared_by", "approved_by")
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

_STYLE: Final = """
@page { size: A4; margin: 18mm }
.lapwing { --ink: #000; --soft: #666; --ground: #fff }
body { margin: 0 auto; width: 174mm; height: 260mm; display: flex; flex-direction: column;
  font: SIZEpt/1.3 Helvetica, Arial, "DejaVu Sans", sans-serif; font-variant-ligatures: none }
h1 { font-size: 1.6em; margin: 0 0 .5em }
.facts { flex: 1; min-height: 0; overflow: hidden; margin: 0; display: grid; gap: .35em 0; align-content: start }
.facts div { grid-template-columns: 32mm 1fr; gap: 0; padding: 0 }
section { display: grid; grid-template-columns: 1fr 2fr; gap: 0 6mm; padding-top: 1.5em }
section p { grid-column: 1 / -1; margin: 0 0 3em }
span { border-top: 1px solid }
"""


def signing_page(whole: Certificate, certificate: Beside) -> str:
    """Return the page, which asks for nothing from elsewhere; certificate: the file itself, whose hash stands on it."""
    facts, issued = tuple(_facts(whole, certificate)), whole.issued
    signers = {key: "" if issued is None else getattr(issued, key) for key in _SIGNERS}
    size, most = next((each for each in _TRIES if _height(facts, signers.values(), *each) <= _SHEET), _TRIES[-1])
    shown = Facts(tuple(replace(fact, text=_cut(_plain(fact.text), most)) for fact in facts))
    places = (element("span", say("paper.date")), element("span", say("paper.signature")))
    names = (f"{say(f'label.{key}')}: {_cut(_plain(who), most)}" for key, who in signers.items())
    signed = (element("section", element("p", name), *places) for name in names)
    title = say("paper.title")
    body = (element("h1", title), facts_html(shown), *signed)
    return whole_page(title, _STYLE.replace("SIZE", str(size)), *body, kind="paper")


def _facts(whole: Certificate, certificate: Beside) -> Iterator[Fact]:
    """Yield what stands on the page."""
    issued, found = whole.issued, describe_certificate(whole)
    for key in _KEYS:
        yield from _some(found.all(key), _VERDICTS)
    odds = (f"{up(most_found(whole.total, each, whole.delta))} at {100 * each:g} %" for each in _FALSE_ALARMS)
    yield Fact("odds", say("paper.also"), say("paper.odds", odds=", ".join(odds)))
    label = say("label.warning")
    yield from _some([Fact("warning", label, sentence(each.text)) for each in own_warnings(whole)], _WARNINGS)
    yield from found.all("recorded_alone")
    files = () if issued is None else issued.files
    yield from _some([Fact("file", say("label.file"), _file(each)) for each in files], _FILES)
    yield Fact("certificate", say("paper.certificate"), _hash(certificate))
    yield Fact("check", say("paper.check"), say("paper.verify", file=certificate.target.name))


def _some(facts: Sequence[Fact], most: int) -> Iterator[Fact]:
    """Yield the first of several facts of one kind, and how many more there are."""
    yield from facts[:most]
    if len(facts) > most:
        yield Fact("more", f"{facts[0].label}s", say("paper.more", count=len(facts) - most))


def _plain(text: str) -> str:
    """Return a text on one line, in which nothing is hidden, and nothing is code."""
    return visible(text).replace("\n", " ").replace("`", "")


def _hash(file: Beside) -> str:
    """Return the hash of a file and its name: the name alone may be cut off."""
    return f"SHA-256 {file.sha256} of {file.target.as_posix()}"


def _file(file: Beside) -> str:
    """Return the same, and how long it is."""
    rows = "" if file.rows is None else say("issued.file_rows", rows=file.rows)
    return say("paper.file", hash=_hash(file), rows=rows, size=file.size)


def _height(facts: Sequence[Fact], signers: Iterable[str], size: int, most: int) -> float:
    """Return at most how many points of height facts take: of each sign its width is known to a tenth."""
    texts = [(_cut(_plain(fact.text), most), _WIDTH - _LABEL) for fact in facts]
    texts += [(f"Prepared by: {_cut(_plain(who), most)}", _WIDTH) for who in signers]
    ems = ((sum(0.65 if sign in _NARROW else 1.05 for sign in said) * size, width) for said, width in texts)
    lines = sum(ceil(1.25 * long / width) + 0.3 for long, width in ems)  # words that do not fit leave gaps
    return (lines + _AROUND) * _LINE * size


def _cut(text: str, most: int) -> str:
    """Return a text, or its beginning."""
    return text if len(text) <= most else f"{text[: most - 3]}..."
