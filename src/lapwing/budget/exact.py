"""Read a setting as an exact rational number.

A float is read as the number that its owner typed: ``0.1`` is one tenth, not the binary fraction beside it.
"""

import re
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real

from lapwing.errors import ParameterError

# The lengths are limited because "1e999999999" is ten characters of text and a gigabyte of integer.
_DECIMAL = r"(\d{1,60}(\.\d{0,60})?|\.\d{1,60})(e[+-]?\d{1,3})?"
_TEXT = re.compile(rf"[+-]?({_DECIMAL}|\d{{1,60}}/0*[1-9]\d{{0,59}})", re.IGNORECASE | re.ASCII)


def exact_number(setting: str, value: object) -> Fraction:
    """Read ``value`` as an exact fraction.

    Parameters
    ----------
    setting : str
        Name of the setting, for the error message.
    value : int, float, str, Fraction or Decimal
        A float is read through its shortest decimal text; text may be a decimal (``"0.5"``, ``"1e-9"``) or a ratio
        (``"1/3"``).

    Returns
    -------
    Fraction
        The number, exactly as written.

    Raises
    ------
    ParameterError
        When ``value`` is not a finite number.

    Examples
    --------
    >>> exact_number("epsilon", 0.1)
    Fraction(1, 10)
    >>> exact_number("epsilon", "1/3")
    Fraction(1, 3)
    """
    if isinstance(value, bool):
        raise ParameterError(
            f"{setting} must be a number, got the truth value {value}; give a number such as 0.5", code="LW301"
        )
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not isinstance(value, str | Real | Decimal):
        raise ParameterError(
            f"{setting} must be a number, got a {type(value).__name__}; give a number such as 0.5", code="LW301"
        )
    text = str(value).strip()
    if _TEXT.fullmatch(text) is None:
        raise ParameterError(
            f"{setting} must be a finite number, got {text[:60]!r}; give a number such as 0.5", code="LW301"
        )
    return Fraction(text)


def positive_number(setting: str, value: object) -> Fraction:
    """Read ``value`` as an exact fraction above 0, or raise a ParameterError that names ``setting``."""
    number = exact_number(setting, value)
    if number <= 0:
        raise ParameterError(
            f"{setting} must be above 0, got {value}; give a positive number such as 0.5", code="LW301"
        )
    return number


def as_text(number: Fraction) -> str:
    """Write a fraction for a message or a file: an exact decimal where one exists, else ``p/q``.

    Examples
    --------
    >>> as_text(Fraction(1, 8)), as_text(Fraction(3)), as_text(Fraction(1, 3))
    ('0.125', '3', '1/3')
    """
    rest, places = number.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest != 1:
        return str(number)
    digits = f"{abs(number.numerator) * 10**places // number.denominator:0{places + 1}d}"
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
