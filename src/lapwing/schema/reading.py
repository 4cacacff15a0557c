"""How the text of files and cells is read: public, by the keys of Table Schema and Frictionless."""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lapwing.schema.checks import field_error, of_field
from lapwing.schema.scalars import quote
from lapwing.schema.typed import TypedObject

TRUE_TEXTS: Final = frozenset({"true", "True", "TRUE", "1"})
FALSE_TEXTS: Final = frozenset({"false", "False", "FALSE", "0"})
_NUMBERS: Final = ("integer", "number")
_DATES: Final = ("date", "datetime")
_SPACE: Final = " \u00a0\u202f"  # plain, no-break and narrow no-break: programs use all of them between groups

DIRECTIVES: Final = {
    **{"Y": "([0-9]{4})", "y": "([0-9]{2})", "B": "([A-Za-z]{3,9})", "b": "([A-Za-z]{3})", "p": "([AaPp][Mm])"},
    **dict.fromkeys("mdHIMS", "([0-9]{1,2})"),
}
"""What each part of a date's format matches, by its letter after %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the cells of one field are written as text; cells of typed tables are read by their type."""

    decimal_char: str = "."
    group_char: str = ""  # between thousands
    bare_number: bool = True  # a number stands alone, without a unit or a currency
    date_format: str | None = None  # such as %d.%m.%Y
    true_values: tuple[str, ...] = ()  # further texts
    false_values: tuple[str, ...] = ()
    as_form: bool = False  # a cell counts as its form, one of `lapwing.schema.forms`; never in files

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a field that say so, those that differ from the default."""
        found = _stated(self, PLAIN, _KEYS)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def _stated(settings: object, plain: object, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that differ from the plain ones, by their keys."""
    found = {key: getattr(settings, name) for key, name in keys.items()}
    return {key: value for key, value in found.items() if value != getattr(plain, keys[key])}


_KEYS: Final = {
    **{"decimalChar": "decimal_char", "groupChar": "group_char", "bareNumber": "bare_number", "format": "date_format"},
    **{"trueValues": "true_values", "falseValues": "false_values"},
}
READING_KEYS: Final = tuple(_KEYS)
PLAIN: Final = Reading()


def reading_from(name: str, source: Mapping[str, Any]) -> Reading:
    """Return how a field in the file format says that its cells are written."""
    kind = source.get("type")
    given = {key: source[key] for key in _KEYS if source.get(key) is not None}
    if kind not in _DATES or given.get("format") in ("default", "any"):
        given.pop("format", None)  # elsewhere it describes texts, such as an email
    found = {_KEYS[key]: _rule(name, key, value, has_time=kind == "datetime") for key, value in given.items()}
    made = Reading(**found)
    if made.group_char == made.decimal_char:
        raise field_error(name, "decimalChar and groupChar must differ; change one of them", "LW207")
    both = sorted(set(made.true_values) & set(made.false_values))
    if both:
        raise field_error(name, f"{quote(both[0])} is both true and false; remove it from one list", "LW207")
    return made


def check_reading(name: str, kind: str, reading: object) -> None:
    """Refuse what is no `Reading`, and rules that do not apply to a type."""
    if not isinstance(reading, Reading):
        raise field_error(name, f"reading must be a Reading, got {quote(reading)}", "LW207")
    for key in reading.to_dict():
        types = ("boolean",) if key.endswith("Values") else _DATES if key == "format" else _NUMBERS
        if kind not in types:
            raise field_error(name, f"{key} applies to type {' and '.join(types)}; remove it", "LW207")


def _rule(name: str, key: str, value: object, *, has_time: bool) -> Any:  # noqa: ANN401 - as its setting has it
    """Return one rule of how cells are written, checked."""
    own = of_field(name, {key: value})
    if key == "format":
        return _date_format(name, has_time, value)
    if key.endswith("Char"):
        if value == "" and key == "groupChar":
            return ""
        if not isinstance(value, str) or len(value) != 1 or value.isalnum() or value in '+-"':
            raise own.wrong(key, 'be one sign, such as ","', "LW207")
        return value
    if key == "bareNumber":
        return own.flag(key, code="LW207")
    known = TRUE_TEXTS if key == "trueValues" else FALSE_TEXTS
    listed = own.texts(key, code="LW207")
    if "" in listed:
        raise own.wrong(key, "be texts that are not empty", "LW207", found="")
    return tuple(text for text in listed if text not in known)


def _date_format(name: str, has_time: bool, value: object) -> str:
    """Refuse a format that does not fix a day, or, of moments, an hour."""
    parts = re.findall(r"%(.?)", value) if isinstance(value, str) else []
    said = ""
    if not parts or any(part not in {*DIRECTIVES, "%"} for part in parts):
        said = "must be made of %d %m %b %B %Y %y %H %I %p %M %S and other signs"
    elif any(parts.count(part) > 1 for part in DIRECTIVES):
        said = "names a part twice"
    elif not all(sum(map(parts.count, group)) == 1 for group in ("Yy", "mbB", "d")):
        said = "must name the year, the month and the day, each once"
    elif parts.count("H") + parts.count("I") != int(has_time) or parts.count("I") != parts.count("p"):
        said = "must name the hour, %H or %I with %p" if has_time else "must name no hour; use type datetime"
    if said:
        raise field_error(name, f"format {quote(value)} {said}; write for example %d.%m.%Y", "LW207")
    assert isinstance(value, str)
    return value


def number_pattern(reading: Reading) -> str:
    """Return the regular expression of the numbers that a reading allows.

    >>> bool(re.search(number_pattern(Reading(decimal_char=",", group_char=".")), "1.234,5"))
    True
    """
    group = f"[{_SPACE}]" if reading.group_char in tuple(_SPACE) else re.escape(reading.group_char)
    point = re.escape(reading.decimal_char)
    whole = f"[0-9]{{1,3}}(?:{group}[0-9]{{2,3}})*{group}[0-9]{{3}}|[0-9]+" if group else "[0-9]+"
    return f"^[+-]?(?:(?:{whole})(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def group_signs(reading: Reading) -> tuple[str, ...]:
    """Return the signs that may stand between thousands."""
    return tuple(_SPACE) if reading.group_char in tuple(_SPACE) else (reading.group_char,) * bool(reading.group_char)


def date_pattern(date_format: str) -> tuple[str, tuple[str, ...]]:
    """Return the regular expression of a format, and the letter of each of its groups.

    >>> date_pattern("%d.%m.%Y")[1]
    ('d', 'm', 'Y')
    """
    parts = re.split(r"%(.)", date_format)
    texts, letters = parts[::2], parts[1::2]
    found = "".join(
        re.escape(text) + ("" if letter is None else DIRECTIVES.get(letter, re.escape(letter)))
        for text, letter in zip(texts, [*letters, None], strict=True)
    )
    return f"^{found}$", tuple(letter for letter in letters if letter in DIRECTIVES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a text file of rows is written.

    Parameters
    ----------
    delimiter : str or None
        The sign between cells; None for that of the file's name: a comma, or a tab in ``.tsv``.
    quote_char : str or None, default '"'
        The sign around cells; None where there is none.
    encoding : str or None
        Such as ``latin-1``; None for UTF-8. One in which no bytes of a cell change how those of another row are read,
        so neither UTF-16 nor one with escape sequences.
    header : bool, default True
        Whether the first row holds the names of the columns; else they are those of the schema's fields, in order.
    skip_rows : int, default 0
        Lines before the first row.
    skip_footer : int, default 0
        Rows at the end that are none, such as one of totals: those of each file.
    trim : bool, default False
        Whether white space at the ends of cells is no part of them.
    ignore_case : bool, default False
        Whether texts that differ in case alone are one: the one that the field lists, else the one in lower case.
    sheet : str or None
        Of a workbook: the name of the sheet; None for the first.
    names : tuple of str
        Those of the columns, where the file has no row of names and the schema's fields are not all of them.

    Examples
    --------
    >>> Dialect(delimiter=";", encoding="latin-1").to_dict()
    {'delimiter': ';', 'encoding': 'latin-1'}
    """

    delimiter: str | None = None
    quote_char: str | None = '"'
    encoding: str | None = None
    header: bool = True
    skip_rows: int = 0
    skip_footer: int = 0
    trim: bool = False
    ignore_case: bool = False
    sheet: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        own = TypedObject({key: getattr(self, name) for key, name in _DIALECT_KEYS.items()}, "dialect", "LW207")
        for key in ("delimiter", "quoteChar"):
            if len(own.text(key, "-")) != 1 or own.text(key, "-") in "\r\n\0":
                raise own.wrong(key, 'be one sign, such as ";"')
        if self.delimiter is not None and self.delimiter == self.quote_char:
            raise own.wrong("delimiter", "not be the quoteChar")
        if self.encoding is not None and not _is_encoding(own.text("encoding")):
            raise own.wrong(
                "encoding",
                'be one that reads each row by itself, such as "latin-1", "cp949" or "gb18030"',
                hint="; or save the file as UTF-8 and leave the key out",
            )
        if self.encoding is not None and self.quote_char is not None and not _is_whole(self.encoding, self.quote_char):
            raise own.wrong("quoteChar", f"be a sign below 0, such as ', as letters of {self.encoding} hold others")
        object.__setattr__(self, "header", own.flag("header", True))
        for key in ("trim", "ignoreCase"):
            object.__setattr__(self, _DIALECT_KEYS[key], own.flag(key))
        for key in ("skipRows", "skipFooter"):
            object.__setattr__(self, _DIALECT_KEYS[key], own.whole(key, 0, usual=0))
        own.text("sheet", "-", is_name=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the file format that differ from the default."""
        return _stated(self, PLAIN_FILE, _DIALECT_KEYS)


_DIALECT_KEYS: Final = {
    **{"delimiter": "delimiter", "quoteChar": "quote_char", "encoding": "encoding", "header": "header"},
    **{"skipRows": "skip_rows", "skipFooter": "skip_footer", "trim": "trim", "ignoreCase": "ignore_case"},
    "sheet": "sheet",
}
DIALECT_KEYS: Final = tuple(_DIALECT_KEYS)
PLAIN_FILE: Final = Dialect()


def dialect_from(given: Mapping[str, Any]) -> Dialect:
    """Return the dialect that an object in the file format describes; an absent key is the default."""
    return Dialect(**{name: given[key] for key, name in _DIALECT_KEYS.items() if key in given})


# Of Python's encodings those in which each line is read by itself, and its signs have one byte each. Lacking are those
# with a state (hz, iso2022, utf-7), with escapes (unicode_escape), of wide units (in UTF-16 an odd byte shifts all
# lines below), that wait for more bytes (euc_kr, which is in cp949), or with two quotation marks (mac-arabic).
_ONE_BYTE: Final = (
    r"ascii|hp-roman8|iso8859-\d+|koi8-[rtu]|kz1048|mac-(croatian|cyrillic|greek|iceland|latin2|roman|romanian|turkish)|"
    r"palmos|ptcp154|tis-620|cp(037|273|424|437|500|720|737|775|85[0-8]|86[0-6]|869|87[45]|1006|1026|1125|1140|125[0-8])"
)
_SEVERAL_BYTES: Final = (
    r"big5(hkscs)?|cp9(32|49|50)|euc_j(p|is_2004|isx0213)|gb(k|2312|18030)|johab|shift_jis(_2004|x0213)?"
)


def _is_encoding(name: str) -> bool:
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return False
    return bool(re.fullmatch(rf"utf-8(-sig)?|{_ONE_BYTE}|{_SEVERAL_BYTES}", found))


def _is_whole(encoding: str, sign: str) -> bool:
    """Tell whether a sign is itself wherever its bytes stand, also after a letter that was cut off."""
    return sign < "0" or not re.fullmatch(_SEVERAL_BYTES, codecs.lookup(encoding).name)
