"""What the codec needs to know about a field, as numbers in code space. Pure; no row comes here.

Code space: integers as they are; dates as days since 1970-01-01; datetimes as microseconds since then; numbers as
floats.
"""

from fractions import Fraction

from lapwing.errors import SchemaError
from lapwing.schema.checks import code_number
from lapwing.schema.fields import Field
from lapwing.schema.scalars import category_key, quote

__all__ = ["bounds", "category_key", "category_positions", "exact_cells", "special_codes", "special_numbers", "step"]


def bounds(field: Field) -> tuple[int | float, int | float]:
    """Return the first and last value of a numeric or date field without categories.

    Returns lo, hi: both ints (integer; date in days; datetime in microseconds) or both floats (number). Of ints, `hi`
    is the last value that rows out show: where the last step, month or year begins.

    >>> bounds(Field(name="day", type="date", minimum="1970-01-02", maximum="1970-01-31"))
    (1, 30)
    """
    found = field.range
    return found.lo, found.hi


def step(field: Field) -> int | Fraction | None:
    """Return the distance between neighbouring codes of a numeric or date field without categories.

    Returns whole numbers for integers, days for dates, microseconds for datetimes; the resolution of a number as an
    exact fraction. None for a number without resolution, whose codes are 2**32 cells of its range, and for months and
    years, whose lengths differ.

    >>> step(Field(name="t", type="datetime", minimum="2010-01-01", maximum="2010-12-31", resolution="hour"))
    3600000000
    """
    return field.range.step


def category_positions(field: Field) -> dict[str, int]:
    """Return the code of each category of a field with categories, by `category_key`.

    Built anew by each call (about a third of a second for 10**6 categories): callers keep it.

    >>> category_positions(Field(name="grade", type="string", categories=(1.0, 2.5)))
    {'1': 0, '2.5': 1}
    """
    if field.categories is None:
        raise SchemaError(f"field {quote(field.name)}: has no categories", code="LW210")
    return {category_key(value): code for code, value in enumerate(field.categories)}


def stand_in(field: Field, text: str) -> str | None:
    """Return the category under which a text that is not listed is counted, to the letter; None where it fits nothing.

    >>> from lapwing.schema.groupings.category_trees import Prefixes
    >>> field = Field(name="dx", type="string", categories=("250", "401"), hierarchy=Prefixes((1, 3), fold=True))
    >>> stand_in(field, "250.13"), stand_in(field, "V70")
    ('250', None)
    """
    if not text or text in field.missing_values:
        return None
    for length in reversed(field.folds):
        if text[:length] in (field.categories or ()):
            return text[:length]
    return field.unlisted


def special_numbers(field: Field) -> tuple[int | float, ...]:
    """Return the special values of a field as numbers in code space, in the order of their codes."""
    return tuple(code_number(field.type, value) for value in field.special)


def special_codes(field: Field) -> dict[int | float, int]:
    """Return the code of each special value, by its number in code space.

    >>> special_codes(Field(name="x", type="integer", minimum=0, maximum=9, special=(-1, 99)))
    {-1: 10, 99: 11}
    """
    first = field.domain.values if field.special else 0
    return {number: first + position for position, number in enumerate(special_numbers(field))}


def exact_cells(field: Field) -> dict[int, float]:
    """Return the cells of a number without resolution that stand for one exact number, and that number.

    Returns the codes that hold the minimum, the maximum and zero, as far as these are in bounds and no special values:
    tables hold many copies of them. Where zero shares a cell with a bound, the cell is zero's.

    >>> exact_cells(Field(name="x", type="number", minimum=-1, maximum=3))
    {0: -1.0, 4294967295: 3.0, 1073741824: 0.0}
    """
    found = field.range
    special = special_numbers(field)
    numbers = (float(found.lo), float(found.hi), 0.0)
    return {found.cell(x): x for x in numbers if found.lo <= x <= found.hi and x not in special}
