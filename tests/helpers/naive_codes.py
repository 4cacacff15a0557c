"""What a cell's code should be, written out slowly from the rules, one Python object at a time."""

import datetime as dt
import decimal
import hashlib
import math
import re
from fractions import Fraction

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WRITTEN = re.compile(r"-?(0|[1-9][0-9]*)(\.0|\.[0-9]*[1-9])?")
MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ]([0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?) ?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
UNITS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
LARGEST = math.ldexp(1 - 2**-53, 1024)


def naive_code(cell, field):
    """Return the code of one Python object under a field."""
    last = field.domain.last
    if cell is None or cell in field.missing_values or (isinstance(cell, float) and math.isnan(cell)):
        return last
    if field.categories is not None or field.type == "boolean":
        position = _position(cell, field)
        if position is None and (field.folds or field.unlisted is not None):
            position = _unlisted(cell, field)
        return last if position is None else position
    if field.open and field.type == "string":
        text = naive_text(cell, field)
        return last if text is None else int(hashlib.blake2b(text.encode(), digest_size=8).hexdigest(), 16) // 2**11
    if field.type == "number":
        number = _number(cell)
        return last if number is None else _real(float(number), field)
    if field.type == "integer":
        number = _number(cell)
        return last if number is None or number != int(number) else _nearest(int(number), field)
    moment = _moment(cell, field)
    if moment is None:
        return last
    x = moment // UNITS["day"] if field.type == "date" else moment
    if field.resolution in {"month", "year"}:
        return _calendar(x, field)
    default = "day" if field.type == "date" else "second"
    step = {"day": 1, "week": 7} if field.type == "date" else UNITS
    return _stepped(x, step[field.resolution or default], field)


def naive_apart(cell, field):
    """Return the code of one Python object where misfits are told from missing cells."""
    code = naive_code(cell, field)
    if code != field.domain.last or field.required:
        return code
    is_nan = isinstance(cell, float | decimal.Decimal) and math.isnan(cell)
    return code if cell is None or is_nan or cell in ("", *field.missing_values) else code + 1


def _number(cell):
    """Return a cell as an int or a finite float, or None."""
    if isinstance(cell, bool | int):
        return int(min(max(cell, -int(LARGEST)), int(LARGEST)))
    if isinstance(cell, decimal.Decimal):
        cell = str(cell)
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    if not isinstance(cell, str):
        return None
    text = cell.strip(" \t\r\n")
    if text.lower() in {"true", "false"}:
        return int(text.lower() == "true")
    if not NUMBER.fullmatch(text):
        return None
    exact = Fraction(text)
    if exact.denominator == 1 and "." not in text and "e" not in text.lower() and -(2**63) <= exact < 2**63:
        return int(exact)
    return min(max(float(text), -LARGEST), LARGEST)


def _moment(cell, field=None):
    """Return a cell as microseconds since 1970 in UTC, of a date field by the cell's own clock, or None."""
    if isinstance(cell, str):
        match = MOMENT.fullmatch(cell.strip(" \t\r\n"))
        if not match:
            return None
        day, _, clock, _, _, offset = match.groups()
        if offset and offset != "Z" and int(offset[-2:]) > 59:
            return None  # Python reads -00:60 as an hour
        clock = re.sub(r"([.,])([0-9]{1,6})[0-9]*", lambda part: "." + part[2].ljust(6, "0"), clock or "00:00")
        try:
            cell = dt.datetime.fromisoformat(f"{day}T{clock}{offset or ''}")
        except ValueError:
            return None
    if isinstance(cell, dt.datetime):
        if cell.tzinfo is not None:
            is_date = field is not None and field.type == "date"
            cell = cell.replace(tzinfo=None) - (dt.timedelta() if is_date else cell.utcoffset())
        return (cell - EPOCH) // MICROSECOND
    if isinstance(cell, dt.date):
        return (dt.datetime.combine(cell, dt.time()) - EPOCH) // MICROSECOND
    return None


def naive_text(cell, field):
    """Return the text that a cell of an opened field stands for, None where it is missing or no text."""
    if cell is None or cell in field.missing_values or (isinstance(cell, float) and math.isnan(cell)):
        return None
    text = _plain(cell)
    is_text = text != "\x00unreadable" and not text.startswith("\x00bytes ") and text not in ("", *field.missing_values)
    return text if is_text else None


def naive_magnitude(number):
    """Return the cell of an int or a finite float on the grid of magnitudes, by fractions."""
    exact = abs(Fraction(number if isinstance(number, int) else repr(number)))
    if exact < Fraction(1, 10**12):
        return 31 * 90
    exponent = -13
    while exact >= 100 * Fraction(10) ** exponent and exponent < 17:
        exponent += 1
    place = min(math.floor(exact / Fraction(10) ** exponent), 99) - 10
    away = 1 + 90 * (exponent + 13) + place
    return 31 * 90 + (away if number > 0 else -away)


def _real(x, field):
    first = field.domain.values
    for offset, special in enumerate(field.special):
        if x == special:
            return first + offset
    if field.open:
        return naive_magnitude(x)
    lo, hi = float(field.minimum), float(field.maximum)
    if lo == hi:
        return 0
    x = min(max(x, lo), hi)
    if field.resolution is not None:
        return min(round((x - lo) / float(Fraction(str(field.resolution)))), first - 1)
    return min(int((x - lo) / (hi - lo) * 2**32), 2**32 - 1)


def _stepped(x, step, field):
    """Return the steps of one length that are over when x comes."""
    first = field.domain.values
    for offset, special in enumerate(field.special):
        if x == _special(special, field):
            return first + offset
    lo = _special(field.minimum, field)
    return min(max((x - lo) // step, 0), first - 1)


def _nearest(x, field):
    """Return the nearest whole number of steps above the minimum that does not pass the maximum."""
    first = field.domain.values
    if x in field.special:
        return first + field.special.index(x)
    if field.open:
        return naive_magnitude(x)
    x = min(max(x, field.minimum), field.maximum)
    return min(round(Fraction(x - field.minimum, field.resolution or 1)), first - 1)


def _calendar(x, field):
    """Return the months or years since the minimum's."""
    first = field.domain.values
    for offset, special in enumerate(field.special):
        if x == _special(special, field):
            return first + offset
    lo = _special(field.minimum, field)
    (year, month), (year_0, month_0) = _year_and_month(max(x, lo), field), _year_and_month(lo, field)
    years = year - year_0
    return min(years if field.resolution == "year" else 12 * years + month - month_0, first - 1)


def _year_and_month(x, field):
    moment = EPOCH + (dt.timedelta(days=x) if field.type == "date" else x * MICROSECOND)
    return moment.year, moment.month


def _special(value, field):
    if field.type == "date":
        return _moment(value) // UNITS["day"]
    return _moment(value) if field.type == "datetime" else value


def _position(cell, field):
    """Return the position of a cell in the field's list: as text first, then by meaning."""
    values = [False, True] if field.type == "boolean" and field.categories is None else list(field.categories)
    is_text = isinstance(values[0], str)
    if isinstance(cell, str) and is_text and cell in values:
        return values.index(cell)
    for reading in (_as_boolean, _as_number, _as_moment):
        meant = reading(cell, field, is_cell=True)
        if meant is None:
            continue
        found = [at for at, value in enumerate(values) if reading(value, field, is_cell=False) == meant]
        if found:
            # Of "1" and "1.0" in one list the number 1 means the first that is written as an integer.
            plain = [at for at in found if not is_text or "." not in values[at]]
            return (plain or found)[0]
    return None


def _as_boolean(cell, field, *, is_cell):
    if isinstance(cell, bool):
        return cell
    names = {"true": True, "false": False}
    if field.type == "boolean":
        names |= {"t": True, "yes": True, "y": True, "1": True, "f": False, "no": False, "n": False, "0": False}
    return names.get(cell.strip(" \t\r\n").lower()) if isinstance(cell, str) else None


def _as_number(cell, field, *, is_cell):
    if field.type in {"date", "datetime"}:
        return None
    listed_texts = field.categories is not None and isinstance(field.categories[0], str)
    if listed_texts and isinstance(cell, str):
        bare = cell.strip(" \t\r\n") if is_cell else cell
        if not WRITTEN.fullmatch(bare) and not (is_cell and bare.lower() in {"true", "false"}):
            return None
    return _number(cell)


def _as_moment(cell, field, *, is_cell):
    moment = _moment(cell, field)
    return moment // UNITS["day"] if moment is not None and field.type == "date" else moment


def _unlisted(cell, field):
    """Return the position to which a text goes that is not listed: its longest prefix, then the one for all."""
    text = _plain(cell)
    if text in {"", "\x00unreadable"} or text.startswith("\x00bytes "):
        return None
    listed = list(field.categories)
    for prefix in (text, *(text[:length] for length in reversed(field.folds))):
        if prefix in listed:
            return listed.index(prefix)
    return None if field.unlisted is None else listed.index(field.unlisted)


def _plain(cell):
    """Return the text that a cell stands for."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, int):
        return str(cell) if cell.bit_length() <= 1000 else f"{'-' * (cell < 0)}1e400"
    moment = _moment(cell)
    if moment is not None:
        written = (EPOCH + moment * MICROSECOND).isoformat()
        written = written.removesuffix("T00:00:00")
        return written
    text = str(cell)
    bare = text.strip(" \t\r\n")
    if bare.lower() in {"true", "false"}:
        return bare.lower()
    if re.fullmatch(r"-?[1-9](\.[0-9]+)?e\+[0-9]{2,3}", bare):
        return bare if math.isinf(float(bare)) else _plain(float(bare))
    if WRITTEN.fullmatch(bare):
        return "0" if bare in {"-0", "-0.0"} else bare.removesuffix(".0")
    return text
