"""What an answer about a column describes: its domain, then what else its field says, with ; between the parts."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from lapwing.cli.asking import wrong
from lapwing.errors import LapwingError
from lapwing.extras.evaluate.words import say
from lapwing.schema.catalogue import catalogue
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.files import field_from, field_to_dict
from lapwing.schema.reading import Reading
from lapwing.schema.scalars import align_lines
from lapwing.schema.schemas import Schema

_OF_DOMAIN: Final = ("categories", "categoriesOrdered", "constraints", "hierarchy", "provenance", "role", "unlisted")
_RANGE_OF_NUMBERS: Final = re.compile(r"[^\w]*\d[^A-Za-z]*\.\.[^A-Za-z]*")
_LISTS: Final = {"missing": "missingValues", "special": "special"}
_WORDS: Final = {"step": "resolution", "type": "type", **{key: key for key in ("decimalChar", "groupChar", "format")}}
_SPACE: Final = "space"  # between thousands
_WITH_UNIT: Final = "unit"


def described_field(answer: str, field: Field) -> Field | None:
    """Return the field that an answer describes; None to leave it out. Says what is wrong with an answer that is none.

    >>> found = described_field("0..; missing k.A.", Field(name="x", type="integer", provenance="drafted"))
    >>> found.minimum, found.blank, found.missing_values, found.provenance
    (0, ('maximum',), ('', 'k.A.'), 'dp')
    """
    domain, *parts = (part.strip() for part in answer.split(";"))
    if domain == "drop":
        return None
    if domain == "id":
        return Field(name=field.name, type="integer" if field.type == "integer" else "string", identifier=True)
    keys = {key: value for key, value in field_to_dict(field, ("",)).items() if key not in _OF_DOMAIN}
    kind = next((part.partition(" ")[2].strip() for part in parts if part.startswith("type ")), field.type)
    for part in filter(None, parts):
        _add(keys, part, kind)
    keys |= _domain(domain, kind)
    try:
        return field_from(keys)
    except LapwingError as error:
        said = str(error)
    wrong(said)


def proposed_schema(drafted: Schema, answers: Mapping[str, str], unit: PrivacyUnit | None = None) -> Schema:
    """Return a draft with the fields that proposed answers describe: its owner has to say where each is known from.

    unit: the column that names people, and how many rows of one are used, if that is proposed too.

    >>> draft = Schema(fields=(Field(name="x", type="integer"), Field(name="y", type="string")), is_draft=True)
    >>> proposed_schema(draft, {"x": "0, 1", "y": "drop"}).fields
    (Field(name='x', type='integer', categories=(0, 1), provenance='drafted'),)
    """
    answers = answers if unit is None else {**answers, unit.field: "id"}
    found = [described_field(answers.get(field.name, "learn"), field) for field in drafted.fields]
    kept = [each if each.identifier else replace(each, provenance="drafted") for each in found if each is not None]
    return drafted if all(each.identifier for each in kept) else replace(drafted, fields=tuple(kept), privacy_unit=unit)


def _add(keys: dict[str, Any], part: str, kind: str) -> None:
    """Add what a part of an answer says to the keys of a field."""
    word, _, rest = part.partition(" ")
    values = [each.strip() for each in rest.split(",") if each.strip()]
    try:
        if word in _LISTS and values:
            old = keys.get(_LISTS[word], [""] if word == "missing" else [])
            keys[_LISTS[word]] = [*old, *(values if word == "missing" else (_cell(each, kind) for each in values))]
            return
        if word in _WORDS and rest.strip():
            bare = " " if rest.strip() == _SPACE else rest.strip()
            keys[_WORDS[word]] = _cell(rest, kind) if word == "step" else bare
            return
    except ValueError:
        pass
    alone: dict[str, dict[str, Any]] = {"log": {"scale": "log"}, _WITH_UNIT: {"bareNumber": False}}
    if part not in alone:
        wrong(say("start.write_part", part=part))
    keys |= alone[part]


def written_words(reading: Reading) -> list[str]:
    """Return the parts of an answer that say how cells are written.

    >>> written_words(Reading(decimal_char=",", group_char=" ", bare_number=False))
    ['decimalChar ,', 'groupChar space', 'unit']
    """
    found = {key: _SPACE if value == " " else value for key, value in reading.to_dict().items()}
    return [_WITH_UNIT if key == "bareNumber" else f"{key} {value}" for key, value in found.items()]


def _domain(text: str, kind: str) -> dict[str, Any]:
    """Return the keys of a field that an answer stands for: learned, of the catalogue, a range or a list."""
    if text == "learn":
        return {"provenance": "dp"}
    if text == "list":
        lines = [(each.name, each.title, each.source) for each in catalogue().values()]
        wrong(align_lines([("name", "what", "source"), *lines]))
    if text in catalogue():
        return {"domain": text, "provenance": "public"}
    is_text = kind == "string"
    low, dots, high = text.partition("..")
    if is_text and _RANGE_OF_NUMBERS.fullmatch(text):
        wrong(say("start.no_range"))
    try:
        if dots and not is_text and (low or high):
            bounds = {"minimum": low, "maximum": high}
            given = {key: _cell(bound, kind) for key, bound in bounds.items() if bound.strip()}
            return {"constraints": given, "provenance": "public" if len(given) == len(bounds) else "dp"}
        if is_text or "," in text:
            listed = [_cell(part, kind) for part in text.split(",") if part.strip()]
            return {"categories": listed, "provenance": "public"}
    except ValueError:
        pass
    wrong(say("start.write_range") if not is_text else say("start.write_texts"))


def _cell(text: str, kind: str) -> int | float | str:
    """Return a value as a type wants it in a schema; a ValueError where it is none."""
    bare = text.strip()
    if kind == "integer":
        return int(bare)
    return float(bare) if kind == "number" else bare
