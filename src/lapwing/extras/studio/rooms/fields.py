"""A field as a form shows it, and back: texts of boxes ↔ the keys of the file format."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from lapwing.schema.catalogue import catalogue, entries_for
from lapwing.schema.checks import PROVENANCES, RANGED_TYPES, TYPES, field_error
from lapwing.schema.fields import Field
from lapwing.schema.files import ROLES, field_from, field_to_dict
from lapwing.schema.scalars import category_key, visible
from lapwing.schema.short import values_in_words

KINDS: Final = TYPES
FROM: Final = tuple(each for each in PROVENANCES if each != "drafted")
"""Where an owner can have a domain from."""

LEAVE: Final = "leave"
"""The role of a column that is left out of the schema."""

_MOST_LISTED: Final = 5_000
"""Categories that a form shows, one on a line."""

_MOST_LETTERS: Final = 100_000
"""Letters of all of them: a form is at most a mebibyte, in which a letter may need six bytes."""

_NUMBERS: Final = ("integer", "number")
_LINES: Final = ("trueValues", "falseValues")
_WRITTEN: Final = {
    **dict.fromkeys(_NUMBERS, ("decimalChar", "groupChar")),
    **dict.fromkeys(("date", "datetime"), ("format",)),
    "boolean": _LINES,
}
"""Keys that say how cells are written, by type."""


def name_of(field: Field) -> str:
    """Return the name of a field as a page shows it."""
    return visible(field.name)


def in_words(field: Field) -> str:
    """Return what a field holds, or what is still open, as far as a card has room."""
    if field.identifier or field.blank:
        return ""
    return values_in_words(field)


def count_of(field: Field) -> str:
    """Return how many values a complete field has, with commas; nothing where they lie close to each other."""
    if field.identifier or field.blank or field.domain.continuous:
        return ""
    return f"{field.domain.values:,}"


def is_poor(field: Field) -> bool:
    """Tell whether a field was bought and all its cells would be the same: too little was learned."""
    return field.provenance == "dp" and not (field.identifier or field.blank) and field.domain.values <= 1


def key_of(field: Field) -> str:
    """Return what stands for a field in forms, which do not carry every sign that a name may have."""
    return hashlib.sha256(field.name.encode()).hexdigest()[:16]


def is_listable(field: Field) -> bool:
    """Tell whether each category is a line of a box, and comes back from it as it was."""
    texts = _categories(field)
    if len(texts) > _MOST_LISTED or sum(map(len, texts)) > _MOST_LETTERS:
        return False
    return all(text.strip() and "\n" not in text and "\r" not in text for text in texts)


def texts_of(field: Field) -> dict[str, str]:
    """Return what the boxes of a field's form hold before anything is typed."""
    reading = field.reading.to_dict()
    found = {
        "role": "identifier" if field.identifier else "target" if field.target else "value",
        "type": field.type,
        "minimum": _text(field.minimum),
        "maximum": _text(field.maximum),
        "categories": "\n".join(_categories(field)) if is_listable(field) else "",
        "ordered": "yes" * field.ordered,
        "missing": "never" if field.required else "may",
        "missingValues": "\n".join(text for text in field.missing_values if text),
        "special": "\n".join(map(_text, field.special)),
        "resolution": _text(field.resolution),
        "scale": "yes" * (field.scale == "log"),
        "unlisted": field.unlisted or "",
        "description": field.description,
        "provenance": "" if field.provenance == "drafted" else field.provenance,
        "domain": "",
    }
    written = {key: reading.get(key, "") for keys in _WRITTEN.values() for key in keys}
    return found | {key: "\n".join(value) if key in _LINES else value for key, value in written.items() if value != []}


def field_of(form: Mapping[str, str], old: Field) -> Field:
    """Return the field that a form describes; a SchemaError of the format where it describes none.

    form: what its boxes hold; what belongs to another type than the one that was chosen is not looked at.
    """
    kind = form.get("type", old.type)
    is_name = form.get("role") == "identifier"
    keys: dict[str, Any] = {
        "name": old.name,
        "type": kind if not is_name or kind == "integer" else "string",
        "role": role if (role := form.get("role")) in ROLES else None,
        "description": form.get("description", "").strip() or None,
        "missingValues": _missing(form, old),
        "constraints": {"required": True} if form.get("missing") == "never" else {},
        "provenance": form.get("provenance") or old.provenance,
    }
    if is_name:
        del keys["provenance"]
        return field_from(keys | {"madeUp": old.made_up if keys["type"] == old.type else None})
    keys |= _written(form, kind)
    _add_domain(keys, form, old)
    field = field_from(keys)
    if field.provenance == "dp" and not (field.blank or field.type == "boolean" or _is_bought(field, old)):
        said = "a column to be learned has no bounds or list yet; clear them, or say where you know them from"
        raise field_error(field.name, said, "LW212")
    return field


def _is_bought(field: Field, old: Field) -> bool:
    """Tell whether what a field holds was learned before."""
    same = (field.minimum, field.maximum, field.categories) == (old.minimum, old.maximum, old.categories)
    return old.provenance == "dp" and same


def known_for(field: Field, kind: str) -> list[tuple[str, str, str]]:
    """Return the entries of the catalogue that a column's name speaks for: name, what it is, and its source."""
    found = entries_for(field.name, kind)
    return [(entry.name, entry.title, entry.source) for entry in found]


def others_for(field: Field, kind: str) -> list[tuple[str, str, str]]:
    """Return the other entries of the catalogue that a column of this type can take."""
    near = {entry.name for entry in entries_for(field.name, kind)}
    return [
        (entry.name, entry.title, entry.source)
        for entry in catalogue().values()
        if entry.name not in near and (kind == entry.keys["type"] or {kind, entry.keys["type"]} <= {*_NUMBERS})
    ]


def _add_domain(keys: dict[str, Any], form: Mapping[str, str], old: Field) -> None:
    """Add what a form says of the values: an entry of the catalogue, a list, or a range."""
    kind = keys["type"]
    if kind == "boolean":
        keys["categories"] = old.categories if old.type == kind else None
        return
    if kind in RANGED_TYPES:
        keys["special"] = [_value(text, kind, form) for text in _lines(form, "special")] or None
    if form.get("domain"):
        del keys["provenance"]
        keys["domain"] = form["domain"]
        return
    listed, is_hidden = _listed(form, old, kind), not is_listable(old)
    bounds = {key: _bound(form, key, kind, old) for key in ("minimum", "maximum") if form.get(key, "").strip()}
    if kind == "string" or listed:
        if bounds and kind != "string":
            raise field_error(old.name, "it has bounds and a list; empty one of them", "LW212")
        same = is_hidden or listed == [*(old.categories or ())]
        before = field_to_dict(old, ("",)) if kind == old.type else {}
        keys["categories"] = listed
        keys["categoriesOrdered"] = True if form.get("ordered") and listed else None
        keys["hierarchy"] = before.get("hierarchy") if same or "prefixes" in before.get("hierarchy", {}) else None
        keys["unlisted"] = (form.get("unlisted") or None) if kind == "string" else None
        return
    keys["constraints"] |= bounds
    keys["resolution"] = _value(form.get("resolution", ""), kind, form) if form.get("resolution", "").strip() else None
    keys["scale"] = "log" if form.get("scale") and kind in _NUMBERS else None


def _listed(form: Mapping[str, str], old: Field, kind: str) -> list[Any] | None:
    """Return the list that a form gives; that of the field where a box cannot show it or it was left as it is."""
    lines = _lines(form, "categories")
    if kind == old.type and old.categories is not None and (not is_listable(old) or lines == _categories(old)):
        return [*old.categories]
    return [_value(line, kind, form) for line in lines] or None


def _written(form: Mapping[str, str], kind: str) -> dict[str, Any]:
    """Return how a form says that cells are written."""
    return {
        key: _lines(form, key) if key in _LINES else form[key]
        for key in _WRITTEN.get(kind, ())
        if form.get(key, "").strip(" \r\n") or (key == "groupChar" and form.get(key))
    }


def _missing(form: Mapping[str, str], old: Field) -> list[str]:
    """Return the texts that are read as missing: the empty one stays what it was."""
    return [text for text in old.missing_values if not text] + _lines(form, "missingValues")


def _lines(form: Mapping[str, str], key: str) -> list[str]:
    """Return the lines of a box that hold anything."""
    return [line for line in form.get(key, "").replace("\r\n", "\n").split("\n") if line.strip()]


def _categories(field: Field) -> list[str]:
    if field.categories is None:
        return []
    return [str(each).lower() if isinstance(each, bool) else category_key(each) for each in field.categories]


def _bound(form: Mapping[str, str], key: str, kind: str, old: Field) -> str | int | float:
    """Return a bound that a form gives; a refusal in everyday words where it is no number."""
    found = _value(form[key], kind, form)
    if kind in _NUMBERS and isinstance(found, str):
        what = "a whole number" if kind == "integer" else "a number"
        said = f'{key} "{visible(found)}" is not {what}; write it as 1000 or 2.5, with no sign between thousands'
        raise field_error(old.name, said, "LW212")
    return found


def _value(text: str, kind: str, form: Mapping[str, str]) -> str | int | float:
    """Return a text as the format writes a value of a type; what is none is left for the format to refuse.

    It may also be written as the table's cells are: with their sign before the fraction, or as their dates.
    """
    bare = text.strip()
    if kind == "string":
        return text
    if kind not in _NUMBERS:
        return _moment(bare, kind, form.get("format", "").strip())
    point = form.get("decimalChar", "").strip()
    texts = (bare, bare.replace(point, ".")) if point else (bare,)
    for each in texts:
        for read in (int, float):
            try:
                return read(each)
            except ValueError:
                continue
    return bare


def _moment(text: str, kind: str, written: str) -> str:
    """Return a date that is written as the table's are as the format writes it; any other text as it is."""
    if text[4:5] == "-":  # as the format writes it, whatever the table's order of day and month is
        return text
    try:
        found = datetime.strptime(text, written)
    except ValueError:
        return text
    return found.date().isoformat() if kind == "date" else found.isoformat()


def _text(value: object) -> str:
    return "" if value is None else str(value)
