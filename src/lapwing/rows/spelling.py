"""Text as a field says that it is written → the one plain form that the codec reads, cell by cell.

What is not in the declared form is no number, and no date but an ISO one: 9.715 must not become ten in silence.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from lapwing.rows.cells import UNREADABLE, Numbers, RawColumn, Texts, missing_cells, moment_texts, number_texts
from lapwing.schema.fields import Field, FieldType, ignores_case, known_texts
from lapwing.schema.forms import FORMS
from lapwing.schema.reading import PLAIN, Reading, date_pattern, group_signs, number_pattern
from lapwing.schema.schemas import Schema

_SPACES: Final = " \t\r\n\u00a0\u202f"
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_FIRST_OF_1900S: Final = 69  # of years of two digits, by POSIX
_NOON: Final = 12
_ISO: Final = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}"


def speller(kind: FieldType, reading: Reading) -> Callable[[pl.Series], pl.Series] | None:
    r"""Return the function that puts texts of a type into plain form; None where they are plain already.

    >>> speller("number", Reading(decimal_char=","))(pl.Series(["62,8", "62.8", None])).to_list()
    ['62.8', '\x00unreadable', None]
    """
    if reading == PLAIN:
        return None
    if kind == "boolean":
        return partial(_plain_flags, reading)
    if kind in ("date", "datetime"):
        assert reading.date_format is not None
        return partial(_plain_dates, reading.date_format)
    return partial(_plain_numbers, reading)


def may_be_dates(texts: pl.Series, date_format: str) -> bool:
    """Tell whether texts look like dates of a format, or ISO ones: quicker than to read them.

    >>> may_be_dates(pl.Series(["31.12.2010", "2010-12-31"]), "%d.%m.%Y"), may_be_dates(pl.Series(["x"]), "%d.%m.%Y")
    (True, False)
    """
    pattern, _ = date_pattern(date_format)
    return bool((texts.str.strip_chars(_SPACES).str.contains(pattern) | texts.str.contains(_ISO)).all())


def plain_cells(cells: RawColumn, field: Field) -> RawColumn:
    """Return cells of a field with text in plain form; those that are no text where they come from as they are."""
    if field.reading.as_form:
        return Texts(_of_distinct(cells, form_names))
    spell = speller(field.type, field.reading)
    if spell is None or not isinstance(cells, Texts) or cells.typed is True:
        return cells
    plain = spell(cells.values)
    if cells.typed is False:
        return Texts(plain)
    return Texts(cells.values.zip_with(cells.typed, plain), zoned=cells.clock.zip_with(cells.typed, plain))


def form_names(texts: pl.Series) -> pl.Series:
    """Return the form of each text, one of `FORMS`; empty and missing ones as they are.

    >>> form_names(pl.Series(["1.832,14", "12.50", "01067", "k.A.", "", None])).to_list()
    ['.groups,', '.1', 'code', 'text', '', None]
    """
    bare = pl.col("texts").str.strip_chars(_SPACES)
    found = pl.lit(None, dtype=pl.String)
    for form, pattern in reversed([*FORMS.items()]):
        found = pl.when(bare.str.contains(pattern)).then(pl.lit(form)).otherwise(found)
    found = pl.when(bare == "").then(bare).otherwise(found)
    return texts.alias("texts").to_frame().select(found.alias("forms")).to_series()


def _of_distinct(cells: RawColumn, name: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Return a name for each cell, by its text; many cells are of few texts."""
    if isinstance(cells, Texts):
        distinct = cells.values.unique()
        return cells.values.replace_strict(distinct, name(distinct), return_dtype=pl.String)
    values, places = np.unique(cells.values, return_inverse=True)
    written = number_texts(values) if isinstance(cells, Numbers) else moment_texts(values)
    return name(written).gather(places).set(pl.Series(missing_cells(cells)), None)


def dialect_speller(schema: Schema) -> Callable[[Mapping[str, RawColumn]], dict[str, RawColumn]]:
    """Return the function that puts the texts of a table as a schema's dialect says that space and case are meant.

    >>> columns = [{"name": "sex", "type": "string", "categories": ["Male", "f"]}]
    >>> spell = dialect_speller(Schema.from_dict({"fields": columns, "dialect": {"trim": True, "ignoreCase": True}}))
    >>> spell({"sex": Texts(pl.Series(["male ", "F"]))})["sex"].values.to_list()
    ['Male', 'f']
    """
    trim = schema.dialect.trim
    known: dict[str, dict[str, str]] = {}
    for field in filter(ignores_case, schema.fields if schema.dialect.ignore_case else ()):
        listed = pl.Series(known_texts(field), dtype=pl.String)
        known[field.name] = dict(zip(listed.str.to_lowercase(), listed, strict=True))
    if not trim and not known:
        return dict
    return lambda cells: {name: _spelled(column, known.get(name), trim=trim) for name, column in cells.items()}


def _spelled(cells: RawColumn, known: Mapping[str, str] | None, *, trim: bool) -> RawColumn:
    if not isinstance(cells, Texts) or cells.typed is True:
        return cells
    texts = cells.values.str.strip_chars() if trim else cells.values
    if known is not None:
        texts = texts.str.to_lowercase().replace(known)
    # What is no text where it comes from, such as a moment, is written in a form of its own.
    found = cells.values.zip_with(cells.typed, texts) if isinstance(cells.typed, pl.Series) else texts
    return Texts(found, cells.typed, cells.zoned)


def _plain_flags(reading: Reading, cells: pl.Series) -> pl.Series:
    bare = cells.str.strip_chars(_SPACES)
    for listed, plain in ((reading.true_values, "true"), (reading.false_values, "false")):
        is_listed = bare.is_in(list(listed)).fill_null(value=False)
        cells = cells.set(is_listed, plain)
    return cells


def _plain_numbers(reading: Reading, cells: pl.Series) -> pl.Series:
    bare = cells.str.strip_chars(_SPACES)
    if not reading.bare_number:
        # A sign may stand before the unit; of "-5 %" and "EUR -5" both are kept apart from it.
        parts = bare.str.extract_groups(rf"^[^0-9+-]*?([+-]?)[^0-9+-]*?({_point(reading)}?[0-9](?:.*[0-9])?)[^0-9]*$")
        bare = parts.struct.field("1") + parts.struct.field("2")
    is_number = bare.str.contains(number_pattern(reading)).fill_null(value=False)
    plain = bare
    for sign in group_signs(reading):
        plain = plain.str.replace_all(sign, "", literal=True)
    plain = plain.str.replace(reading.decimal_char, ".", literal=True)
    return _where(is_number, plain, cells)


def _point(reading: Reading) -> str:
    return f"[{reading.decimal_char}]" if reading.decimal_char not in "^]\\" else "\\" + reading.decimal_char


def _plain_dates(date_format: str, cells: pl.Series) -> pl.Series:
    pattern, letters = date_pattern(date_format)
    parts = cells.str.strip_chars(_SPACES).str.extract_groups(pattern).struct.unnest()
    found = dict(zip(letters, parts.get_columns(), strict=True))
    is_date = parts.to_series(0).is_not_null()
    year = found["Y"] if "Y" in found else _century(found["y"])
    month = found["m"] if "m" in found else _month(found.get("B", found.get("b")))
    plain = year + "-" + month.str.zfill(2) + "-" + found["d"].str.zfill(2)
    if "H" in found or "I" in found:
        hour = found["H"] if "H" in found else _hour(found["I"], found["p"])
        minute, second = (found[each] if each in found else pl.repeat("0", len(cells), eager=True) for each in "MS")
        plain = plain + "T" + hour.str.zfill(2) + ":" + minute.str.zfill(2) + ":" + second.str.zfill(2)
    is_iso = cells.str.contains(_ISO).fill_null(value=False) & ~is_date
    return _where(is_date, plain, cells).zip_with(~is_iso, cells)


def _century(years: pl.Series) -> pl.Series:
    """Return years of two digits as four: 69 to 99 are of the 1900s, by POSIX."""
    is_old = (years.cast(pl.Int64) >= _FIRST_OF_1900S).fill_null(value=False)
    return pl.repeat("20", len(years), eager=True).set(is_old, "19") + years


def _month(names: pl.Series | None) -> pl.Series:
    """Return the numbers of English months by their names, whole or three letters."""
    assert names is not None
    numbers = {name: str(place) for listed in (_MONTHS, _LONG) for place, name in enumerate(listed, start=1)}
    return names.str.to_lowercase().replace_strict(numbers, default="0", return_dtype=pl.String)


def _hour(hours: pl.Series, halves: pl.Series) -> pl.Series:
    """Return hours of twelve as those of a day; 24, which no day has, where they are not from 1 to 12."""
    numbers = hours.cast(pl.Int64)
    after = halves.str.to_lowercase() == "pm"
    found = numbers % _NOON + after.cast(pl.Int64) * _NOON
    is_hour = ((numbers >= 1) & (numbers <= _NOON)).fill_null(value=False)
    return found.set(~is_hour, 2 * _NOON).cast(pl.String)


def _where(is_read: pl.Series, plain: pl.Series, cells: pl.Series) -> pl.Series:
    """Return plain texts, empty cells as they are, and what is neither as unreadable."""
    is_empty = (cells.str.strip_chars(_SPACES) == "").fill_null(value=True)
    unreadable = pl.repeat(UNREADABLE, len(cells), dtype=pl.String, eager=True)
    return plain.zip_with(is_read, cells.zip_with(is_empty, unreadable))
