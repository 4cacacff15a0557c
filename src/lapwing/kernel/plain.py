"""Plain JSON values, read strictly: what a stranger's file says is believed only after its type is checked."""

import base64
import math
import re
import zlib
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, Final, TypeVar

import numpy as np

from lapwing.errors import ParameterError

T = TypeVar("T")

_FLOAT_PLACES: Final = 300
_LONGEST: Final = 20  # digits of a stranger's number that are shown

# Lengths are limited because a short text such as "1e999999999" can stand for a gigabyte of integer.
_RATIONAL = re.compile(r"(0|[1-9]\d{0,1999})(/[1-9]\d{0,1999})?", re.ASCII)


def rational_text(number: Fraction) -> dict[str, str]:
    """Return a non-negative fraction as plain JSON: exact, and as a decimal for readers that is not below it.

    >>> rational_text(Fraction(1, 15))
    {'exact': '1/15', 'decimal': '0.0666667'}
    """
    return {"exact": str(number), "decimal": at_least(number, 6)}


def at_least(number: Fraction, digits: int) -> str:
    """Return a short decimal that is not below a number: a promise may not be told smaller than it is.

    >>> at_least(Fraction(27_154, 10_000), 4), at_least(Fraction(1, 2), 4), at_least(Fraction(1, 3 * 10**400), 4)
    ('2.716', '0.5', '3.334e-401')
    """
    context = Context(prec=digits, rounding=ROUND_CEILING)
    found = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    # Beyond the range of floats the decimal's own text is as good; within it a float writes these digits.
    return f"{float(found):.{digits}g}" if abs(found.adjusted()) < _FLOAT_PLACES else f"{found:e}"


def read_rational(values: object) -> Fraction:
    """Read back what `rational_text` wrote."""
    exact, _ = read_keys(values, "exact", "decimal")
    return read_exact(exact)


def read_exact(text: object) -> Fraction:
    """Read back a non-negative fraction; bounded in time whatever the text."""
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        raise ParameterError(f"an exact number must be a text such as '1/15', got {str(text)[:60]!r}", code="LW643")
    return Fraction(text)


def check_format(values: object, known: int, what: str) -> None:
    """Refuse a document of another version of Lapwing, before anything else in it is read.

    what: the document, such as ``the certificate``.
    """
    found = read_key(values, "format", int)
    if found != known:
        cure = "update lapwing" if found > known else "use the version that wrote it"
        said = (
            f"was written by another version of Lapwing, in format {str(found)[:_LONGEST]}, and this one reads {known}"
        )
        raise ParameterError(f"{what} {said}; {cure}", code="LW604")


def read_keys(values: object, *keys: str) -> tuple[Any, ...]:
    """Return what is under these keys of an object that has no others."""
    if not isinstance(values, Mapping) or set(values) != set(keys):
        raise ParameterError(f"it must be an object with the keys {', '.join(keys)} alone", code="LW643")
    return tuple(values[key] for key in keys)


def read_key(values: object, key: str, kind: type[T]) -> T:
    """Return ``values[key]`` if it is there and of this type (a truth value is no whole number)."""
    if not isinstance(values, Mapping) or key not in values:
        raise ParameterError(f"an object with the key {key!r} is missing", code="LW643")
    found = values[key]
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise ParameterError(f"{key!r} must be of type {kind.__name__}, got {type(found).__name__}", code="LW643")
    return found


def read_list(values: object, key: str, kind: type[T]) -> tuple[T, ...]:
    """Return the list ``values[key]`` as a tuple, if every entry is of this type."""
    found: list[Any] = read_key(values, key, list)
    if not all(isinstance(entry, kind) and not (kind is int and isinstance(entry, bool)) for entry in found):
        raise ParameterError(f"{key!r} must list values of type {kind.__name__}", code="LW643")
    return tuple(found)


def read_whole(values: object) -> np.ndarray:
    """Return a list of whole numbers as an array of int64, or refuse it."""
    if not isinstance(values, list) or not all(type(each) is int and -(2**63) <= each < 2**63 for each in values):
        raise ParameterError("it must list whole numbers of 64 bits", code="LW643")
    return np.array(values, dtype=np.int64)


# -- Tables of counts as text, and how large one may be.


MAX_CELLS = 2**26
"""The most cells of one answer: 512 MiB of counts."""


def pack_counts(counts: np.ndarray) -> str:
    """Return counts as text: base64 of compressed 64-bit little-endian integers in C order.

    >>> unpack_counts(pack_counts(np.array([[1, -2]])), (1, 2))
    array([[ 1, -2]])
    """
    return base64.b64encode(zlib.compress(counts.astype("<i8").tobytes(), 6)).decode("ascii")


def unpack_counts(text: object, shape: tuple[int, ...]) -> np.ndarray:
    """Read back what `pack_counts` wrote; the size is checked before memory is taken.

    Returns int64.
    """
    cells = math.prod(shape)
    if min(shape, default=0) < 0 or cells > MAX_CELLS:
        raise ParameterError(f"packed counts must be 0 to {MAX_CELLS}; the record is damaged", code="LW643")
    try:
        code = base64.b64decode(text if isinstance(text, str) else "?", validate=True)
        unpacking = zlib.decompressobj()
        raw = unpacking.decompress(code, 8 * cells + 1)
        is_whole = unpacking.eof and not unpacking.unused_data
    except (ValueError, zlib.error):
        raw, is_whole = b"", False
    if len(raw) != 8 * cells or not is_whole:
        raise ParameterError(
            f"an answer of shape {shape} must hold {cells} counts; the record is damaged", code="LW643"
        )
    return np.frombuffer(raw, dtype="<i8").astype(np.int64).reshape(shape)
