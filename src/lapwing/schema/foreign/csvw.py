"""CSVW, the W3C's metadata for tables in CSV files: one table, or a group of tables to choose from.

References
----------
World Wide Web Consortium (2015), Metadata Vocabulary for Tabular Data, https://www.w3.org/TR/tabular-metadata/;
sections 5.5 (schemas), 5.6 (columns), 5.11 (datatypes).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from lapwing.schema.fields import Field, FieldType
from lapwing.schema.files import check_object
from lapwing.schema.foreign.converted import (
    WRITTEN_OTHERWISE,
    Converted,
    Remarks,
    bound_of,
    chosen_table,
    converted,
    dialect_of,
    flag,
    missing_texts,
    reading_of,
    refusal,
    text_or_empty,
)
from lapwing.schema.reading import PLAIN, PLAIN_FILE, Dialect, Reading
from lapwing.schema.scalars import quote

_CONTEXT: Final = "http://www.w3.org/ns/csvw"

_UNSIGNED: Final = {"nonNegativeInteger": 0, "positiveInteger": 1} | dict.fromkeys(
    ("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"), 0
)
_BELOW_ZERO: Final = {"nonPositiveInteger": 0, "negativeInteger": -1}
_WHOLE: Final = frozenset({"integer", "long", "int", "short", "byte", "gYear"} | _UNSIGNED.keys() | _BELOW_ZERO.keys())
_TYPES: Final[dict[str, FieldType]] = {
    "number": "number",
    "decimal": "number",
    "double": "number",
    "float": "number",
    "datetime": "datetime",
    "dateTime": "datetime",
    "dateTimeStamp": "datetime",
    "boolean": "boolean",
    "date": "date",
}
_ISO: Final = frozenset(
    {"yyyy-MM-dd", "yyyy-MM-ddTHH:mm:ss", "yyyy-MM-ddTHH:mm", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd HH:mm"}
)
_TEXTS: Final = frozenset(
    {"string", "normalizedString", "token", "language", "Name", "NMTOKEN", "any", "anyAtomicType"}
)
_LIMITS: Final = ("minimum", "maximum", "minInclusive", "maxInclusive", "minExclusive", "maxExclusive")
# Parts of a date's format in UAX 35, and in ours; a number of one or two digits is read with either.
_DATE_PARTS: Final = {
    **{"yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d"},
    **{"HH": "%H", "H": "%H", "hh": "%I", "h": "%I", "a": "%p", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S"},
    **{"T": "T"},
}
_NUMBER_PATTERN: Final = re.compile("[#0,.+;E-]*")
_LONGEST_FORMAT: Final = 200
# What a dialect may say that a schema cannot, where it is not this.
_PLAIN_CSV: Final = {
    **{"doubleQuote": True, "skipColumns": 0, "skipBlankRows": False, "skipInitialSpace": False, "trim": False},
    **{"commentPrefix": "#", "headerRowCount": 1},
}
_FIELD_LIKE: Final = ("datatype", "null", "required", "separator")
# A pattern that is a list of plain words says exactly what a list of categories says.
_WORDS: Final = re.compile(r"\^?(?:\((?:\?:)?([\w \-]+(?:\|[\w \-]+)*)\)|([\w \-]+(?:\|[\w \-]+)*))\$?")
_LONGEST_PATTERN: Final = 100_000


def is_csvw(value: object) -> bool:
    """Return whether a value names the context of CSVW, or describes tables as it does."""
    if not isinstance(value, Mapping):
        return False
    context = value.get("@context")
    contexts = context if isinstance(context, list) else [context]
    if any(isinstance(each, str) and each.rstrip("/") in (_CONTEXT, "https" + _CONTEXT[4:]) for each in contexts):
        return True
    inner = value.get("tableSchema")
    if isinstance(inner, Mapping) and isinstance(inner.get("columns"), list):
        return True
    tables = value.get("tables")
    return isinstance(tables, list) and any(isinstance(each, Mapping) and "tableSchema" in each for each in tables)


def read_csvw(value: object, name: str, table: str | None = None) -> Converted:
    """Return the schema of a table that CSVW metadata describes; `table`: its url, or the last part of that.

    Columns go by their title, which is what a CSV file has above them. A primary key of one column is an identifier.
    """
    group = check_object(value, name)
    chosen, title = _table(group, name, table)
    inner = chosen.get("tableSchema", group.get("tableSchema"))
    if isinstance(inner, str):
        said = f"{name}: tableSchema is the address {quote(inner)}, which is not fetched; write it into the file"
        raise refusal(said)
    schema = check_object(inner, f"{name}: tableSchema")
    columns = schema.get("columns")
    if not isinstance(columns, list):
        raise refusal(f"{name}: tableSchema needs a list columns with one object per column; write one")
    remarks = Remarks()
    outer = [schema, chosen, group]
    rule = f"{name}: primaryKey must be the name of a column or a list of names"
    keys = tuple(_texts(schema.get("primaryKey"), [], rule))
    fields = []
    for place, column in enumerate(columns, 1):
        where = f"{name}: column {place}"
        found = _column(check_object(column, where), where, outer, keys, remarks)
        fields += [] if found is None else [found]
    _note_the_rest(schema, remarks)
    dialect = _dialect(chosen.get("dialect", group.get("dialect")), remarks)
    return converted(fields, name=title, notes=remarks.texts(), dialect=dialect)


def _table(group: Mapping[str, Any], name: str, wanted: str | None) -> tuple[Mapping[str, Any], str]:
    """Return the table to read, and what it is called."""
    tables = group.get("tables")
    if tables is None:
        return group, _last_part(text_or_empty(group.get("url")))
    if not isinstance(tables, list):
        raise refusal(f"{name}: tables must be a list, got {quote(tables)}; correct it")
    objects = [check_object(each, f"{name}: table {place}") for place, each in enumerate(tables, 1)]
    urls = [text_or_empty(each.get("url")) or f"table {place}" for place, each in enumerate(objects, 1)]
    url = chosen_table(urls, wanted, name, list(map(_last_part, urls)))
    return objects[urls.index(url)], _last_part(url)


def _last_part(url: str) -> str:
    """Return the name of a file at an address."""
    return url.split("#")[0].split("?")[0].rstrip("/").rpartition("/")[2]


def _texts(value: object, usual: list[str], rule: str, way_out: str = "") -> list[str]:
    """Return texts that may be written as one or as a list; `usual` where nothing is stated."""
    listed = usual if value is None else [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise refusal(f"{rule}, got {quote(value)}{way_out}")
    return listed


def _column(
    column: Mapping[str, Any],
    where: str,
    outer: list[Mapping[str, Any]],
    keys: tuple[str, ...],
    remarks: Remarks,
) -> Field | None:
    """Return a column as a field; None for one that no CSV file has."""
    name, key_name = _names(column, where, remarks)
    if flag(column, "virtual", where, default=False):
        remarks.add("virtual columns are in no file and are left out", name)
        return None
    # These four may also stand at the schema, the table or the group; the nearest counts.
    stated = {
        key: level[key] for level in (*reversed(outer), column) for key in _FIELD_LIKE if level.get(key) is not None
    }
    datatype = _datatype(stated.get("datatype"), f"{where} ({quote(name)})")
    if stated.get("separator") is not None:
        remarks.add("cells are lists, which a schema has no type for: read as texts", name)
        datatype = _Datatype("string")
    for text in datatype.remarks:
        remarks.add(text, name)
    is_key = keys == (key_name,)
    if is_key:
        remarks.add("the primary key only names the rows: an identifier, which is not modelled", name)
    kind: FieldType = "string" if is_key and datatype.kind not in ("integer", "string") else datatype.kind
    bounds, reading = (datatype.bounds, datatype.reading) if kind == datatype.kind else ({}, PLAIN)
    categories = None if is_key else datatype.categories
    rule = f"{where}: null must be a text or a list of texts"
    about = column.get("dc:description", column.get("dcterms:description"))  # perhaps with its language
    return Field(
        name=name,
        type=kind,
        categories=categories,
        required=flag(stated, "required", where, default=False),
        identifier=is_key,
        missing_values=missing_texts(categories, _texts(stated.get("null"), [""], rule, "; correct it")),
        reading=reading,
        description=text_or_empty(about.get("@value") if isinstance(about, Mapping) else about),
        **cast("dict[str, Any]", bounds),
    )


def _names(column: Mapping[str, Any], where: str, remarks: Remarks) -> tuple[str, str]:
    """Return what stands above a column in a file, and the name by which the metadata refers to it."""
    titles = column.get("titles")
    if isinstance(titles, Mapping):
        titles = next(iter(titles.values()), None)
    listed = [each for each in (titles if isinstance(titles, list) else [titles]) if isinstance(each, str) and each]
    key = column.get("name")
    if key is not None and not isinstance(key, str):
        raise refusal(f"{where}: name must be a text, got {quote(key)}; correct it")
    if not listed:
        if not key:
            raise refusal(f"{where} has neither name nor titles; give it the name that the data use")
        return key, key
    if key and key not in listed:
        remarks.add("columns with a title and another name go by the title, which is what stands above them", listed[0])
    name = key if key in listed else listed[0]
    assert name is not None
    return name, key or listed[0]


@dataclass(frozen=True, slots=True)
class _Datatype:
    """What a datatype says of a field."""

    kind: FieldType
    bounds: Mapping[str, Any] = field(default_factory=dict)
    categories: tuple[str, ...] | None = None
    remarks: tuple[str, ...] = ()
    reading: Reading = PLAIN


def _datatype(value: object, where: str) -> _Datatype:
    """Return what a datatype says: the name of a built-in one, or an object that derives one."""
    about: Mapping[str, Any] = {"base": value} if value is None or isinstance(value, str) else {}
    if not about:
        about = check_object(value, f"{where}: datatype")
    base = "string" if about.get("base") is None else about["base"]
    if not isinstance(base, str):
        raise refusal(f"{where}: the base of a datatype must be a text, got {quote(base)}; correct it")
    base = re.split("[:#]", base)[-1]
    kind = "integer" if base in _WHOLE else _TYPES.get(base, "string")
    form = about.get("format")
    remarks = [] if kind != "string" or base in _TEXTS else [f"datatype {quote(base)} is read as text"]
    if any(about.get(key) is not None for key in ("length", "minLength", "maxLength")):
        remarks.append("lengths of texts are left out")
    if kind == "string":
        words = _words(form)
        remarks += ["patterns of texts are left out"] if form is not None and words is None else []
        return _Datatype(kind, categories=words, remarks=tuple(remarks))
    if kind == "boolean":
        return _boolean(form, remarks)
    return _ranged(kind, base, about, remarks)


def _ranged(kind: FieldType, base: str, about: Mapping[str, Any], remarks: list[str]) -> _Datatype:
    """Return a datatype of numbers or dates, with the bounds that it states."""
    reading = _reading(kind, about.get("format"))
    if reading is None:
        dates, numbers = ("dates", "2010-12-31 or 2010-12-31T23:00:00"), ("numbers", "1234.5")
        what, plain = dates if kind in ("date", "datetime") else numbers
        remarks.append(f"{what} are in a format of their own; write them in the data as {plain}")
    bounds = {"minimum": _limit(about, kind, is_low=True), "maximum": _limit(about, kind, is_low=False)}
    if base in _UNSIGNED and bounds["minimum"] is None:
        bounds["minimum"] = _UNSIGNED[base]
    if base in _BELOW_ZERO and bounds["maximum"] is None:
        bounds["maximum"] = _BELOW_ZERO[base]
    stated = [key for key in _LIMITS if about.get(key) is not None]
    if sum(each is not None for each in bounds.values()) < len({key[:3] for key in stated}):
        remarks.append("bounds that are not written as plain numbers or dates without time zone are left out")
    if kind != "integer" and any("Exclusive" in key for key in stated):
        remarks.append("bounds that are excluded are read as included")
    known = {key: each for key, each in bounds.items() if each is not None}
    return _Datatype(kind, known, remarks=tuple(remarks), reading=reading or PLAIN)


def _limit(about: Mapping[str, Any], kind: FieldType, *, is_low: bool) -> int | float | str | None:
    """Return the bound that a datatype states on one side, included."""
    side, inwards = ("min", math.ceil) if is_low else ("max", math.floor)
    for key in (f"{side}Inclusive", f"{side}imum", f"{side}Exclusive"):
        found = bound_of(about.get(key), kind)
        if found is None:
            continue
        if kind != "integer" or isinstance(found, str):
            return found
        if key.endswith("Exclusive"):
            return math.floor(found) + 1 if is_low else math.ceil(found) - 1
        return inwards(found)
    return None


def _boolean(form: object, remarks: list[str]) -> _Datatype:
    """Return a datatype of truth values, which CSVW may write as any two words: then they are categories."""
    if form is None or form in ("true|false", "1|0"):
        return _Datatype("boolean", remarks=tuple(remarks))
    words = form.split("|") if isinstance(form, str) else []
    if len(words) != 2 or not all(words) or words[0] == words[1]:
        said = "how truth values are written is left out; write true and false"
        return _Datatype("boolean", remarks=(*remarks, said))
    return _Datatype("string", categories=tuple(words), remarks=(*remarks, "truth values in words are read as texts"))


def _reading(kind: FieldType, form: object) -> Reading | None:
    """Return how numbers or dates are written; None where a schema cannot say so."""
    if form is None or (isinstance(form, str) and form in _ISO):
        return PLAIN
    if kind in ("date", "datetime"):
        return reading_of(kind, format=_date_format(form))
    about = form if isinstance(form, Mapping) else {"pattern": form}
    pattern = about.get("pattern", "")
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_FORMAT or not _NUMBER_PATTERN.fullmatch(pattern):
        return None
    groups = about.get("groupChar", "," if "," in pattern else None)
    return reading_of(kind, decimalChar=about.get("decimalChar"), groupChar=groups)


def _date_format(form: object) -> str:
    """Return a format of UAX 35 in ours; no format where one of its parts has no counterpart.

    >>> _date_format("dd.MM.yyyy"), _date_format("d MMM yyyy'T'HH:mm"), _date_format("dd.MM.yyyy HH:mm:ss.SSS")
    ('%d.%m.%Y', '%d %b %YT%H:%M', '')
    """
    text = form.replace("'T'", "T") if isinstance(form, str) and len(form) <= _LONGEST_FORMAT else ""
    parts = re.findall(r"([A-Za-z])(\1*)|([^A-Za-z%'])|.", text, re.DOTALL)
    signs = [_DATE_PARTS.get(letter + more) if letter else other or None for letter, more, other in parts]
    return "" if None in signs else "".join(map(str, signs))


def _words(form: object) -> tuple[str, ...] | None:
    """Return the words that a pattern lists, where it does nothing else."""
    if not isinstance(form, str) or len(form) > _LONGEST_PATTERN or "|" not in form:
        return None
    found = _WORDS.fullmatch(form)
    if found is None:
        return None
    words = tuple((found[1] or found[2]).split("|"))
    return words if len(set(words)) == len(words) else None


def _note_the_rest(schema: Mapping[str, Any], remarks: Remarks) -> None:
    """Note what a table says that a schema does not."""
    key = schema.get("primaryKey")
    if isinstance(key, list) and len(key) > 1:
        remarks.add("a primary key of several columns is left out")
    if schema.get("foreignKeys"):
        remarks.add("foreign keys are left out: a schema describes one table")


def _dialect(about: object, remarks: Remarks) -> Dialect:
    """Return how the file is written; plain CSV, with a remark, where a schema cannot say so."""
    stated = {} if about is None else about
    if isinstance(stated, Mapping) and stated.get("headerRowCount") == 0:
        stated = {**stated, "header": False, "headerRowCount": 1}
    found = dialect_of(stated, _PLAIN_CSV) if isinstance(stated, Mapping) else None
    if found is None:
        remarks.add(WRITTEN_OTHERWISE)
    return found or PLAIN_FILE
