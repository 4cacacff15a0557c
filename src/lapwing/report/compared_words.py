"""Words that the sections of the internal report share: names, shares and tables of columns."""

from collections.abc import Sequence
from typing import Final

NAME_LETTERS: Final = 60
"""Of a column's name or a label in a sentence or a table."""


def clipped(text: str, letters: int = NAME_LETTERS) -> str:
    """Return a text of at most so many letters.

    Examples
    --------
    >>> clipped("abcdef", letters=4)
    'abc…'
    """
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def labelled(text: str, letters: int = NAME_LETTERS) -> str:
    """Return a label that can be seen: one without any letter stands in quotes.

    Examples
    --------
    >>> labelled("private"), labelled(" ")
    ('private', '" "')
    """
    return clipped(text, letters) if text.strip() else f'"{clipped(text, letters)}"'


def crossed(columns: Sequence[str]) -> str:
    """Return the name of a table of several columns.

    Examples
    --------
    >>> crossed(("age", "sex"))
    'age × sex'
    """
    return " × ".join(clipped(name, max(16, NAME_LETTERS // len(columns))) for name in columns)


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent; small ones that are not 0 never look like 0.

    Examples
    --------
    >>> percent(0.1234), percent(0.00001), percent(0.0), percent(None), percent(-0.00001)
    ('12.3 %', '< 0.1 %', '0 %', '-', '> -0.1 %')
    """
    if share is None:
        return "-"
    least = 10.0**-digits
    figure = round(100 * share, digits)
    if share and abs(figure) < least:
        return f"< {least:g} %" if share > 0 else f"> -{least:g} %"
    return f"{figure:.{digits}f} %" if figure else "0 %"


def signed(share: float, digits: int = 1) -> str:
    """Return a difference of shares in percent points, with its sign.

    Examples
    --------
    >>> signed(0.0123), signed(-0.5), signed(0.0)
    ('+1.2', '-50.0', '0')
    """
    figure = round(100 * share, digits)
    return f"{figure:+.{digits}f}" if figure else "0"


def counted(count: int, what: str, many: str = "") -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "column"), counted(12_000, "row"), counted(2, "category", "categories")
    ('1 column', '12,000 rows', '2 categories')
    """
    return f"{count:,} {what if count == 1 else many or what + 's'}"
