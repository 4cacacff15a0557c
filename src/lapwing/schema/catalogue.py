"""A small catalogue of public domains, for fields to refer to: ``"domain": "human-age"``. Each entry has its source."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from lapwing.schema.checks import field_error
from lapwing.schema.scalars import nearest, quote

_FILE: Final = Path(__file__).with_name("catalogue.json")
_NUMBERS: Final = ("integer", "number")  # an entry of one serves columns of the other too


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDomain:
    """A public domain: words that columns of the kind are often named by, and what it says of a field."""

    name: str
    title: str
    words: tuple[str, ...]
    keys: Mapping[str, Any]
    source: str


@cache
def catalogue() -> dict[str, PublicDomain]:
    """Return the entries by their names."""
    found = json.loads(_FILE.read_text(encoding="utf-8"))
    return {
        name: PublicDomain(
            name=name, title=each["title"], words=tuple(each["words"]), keys=each["field"], source=each["source"]
        )
        for name, each in found.items()
    }


def entries_for(column: str, kind: str) -> list[PublicDomain]:
    """Return the entries that the name of a column of some type speaks for.

    >>> [entry.name for entry in entries_for("Age (years)", "integer")]
    ['human-age']
    """
    words = {word.lower() for word in re.findall(r"[^\W\d_]+", column)}
    return [entry for entry in catalogue().values() if words.intersection(entry.words) and _is_alike(kind, entry)]


def with_domain(name: str, source: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a field in the file format with what its ``domain`` says; its own keys come first.

    >>> with_domain("age", {"name": "age", "domain": "human-age"})["constraints"]
    {'minimum': 0, 'maximum': 120}
    """
    named = source.get("domain")
    if named is None:
        return source
    entry = catalogue().get(named) if isinstance(named, str) else None
    if entry is None:
        near = nearest(named, catalogue()) if isinstance(named, str) else []
        way_out = f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(catalogue())}"
        raise field_error(name, f"domain {quote(named)} is not in the catalogue; {way_out}", "LW207")
    own = {key: value for key, value in source.items() if key != "domain" and value is not None}
    kind = own.get("type", entry.keys["type"])
    if not _is_alike(kind, entry):
        raise field_error(name, f"domain {quote(named)} is for type {entry.keys['type']}, got {quote(kind)}", "LW207")
    given, found = own.get("constraints", {}), {"provenance": "public", **entry.keys, **own}
    if isinstance(given, Mapping):  # anything else is refused by name later
        found["constraints"] = {**entry.keys.get("constraints", {}), **given}
    return found


def _is_alike(kind: object, entry: PublicDomain) -> bool:
    return kind == entry.keys["type"] or (kind in _NUMBERS and entry.keys["type"] in _NUMBERS)
