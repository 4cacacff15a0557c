"""What a report is made of: sections of text, tables and charts, without a word about how they look."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Hold a table of the report.

    Parameters
    ----------
    caption : str
        One line above it.
    heading : tuple of str
        One title a column.
    lines : tuple of tuple of str
        The cells, as they are shown.
    numbers : tuple of int
        Columns that are set flush right.
    marked : tuple of int
        Lines that deserve a warning colour, besides the words that say so.
    """

    caption: str
    heading: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    marked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Hold a chart of the report.

    Parameters
    ----------
    title : str
        One line above it.
    meaning : str
        One sentence that says what can be seen: the text for those who do not see the chart.
    spec : mapping
        Vega-Lite, as plain JSON values.
    figures : Table or None
        The numbers behind it, folded away below.
    """

    title: str
    meaning: str
    spec: Mapping[str, Any]
    figures: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Hold a paragraph, or a list.

    Parameters
    ----------
    words : str
        The paragraph.
    points : tuple of str
        A list below it.
    is_warning : bool
        Whether it is set off.
    """

    words: str
    points: tuple[str, ...] = ()
    is_warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Hold one figure that is set large.

    Parameters
    ----------
    figure : str
        Short, with its unit.
    what : str
        What it is: a few words.
    note : str
        A short sentence below, or nothing.
    """

    figure: str
    what: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Hold the few figures that a reader should see first.

    Parameters
    ----------
    facts : tuple of Fact
        Two to six.
    """

    facts: tuple[Fact, ...]


Part = Text | Table | Chart | Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Hold a section of the report.

    Parameters
    ----------
    key : str
        The anchor of its heading: lower case, with hyphens.
    title : str
        Its heading.
    parts : tuple of Text, Table, Chart or Facts
        In the order shown.
    folded : tuple of Text, Table, Chart or Facts
        More of it for experts, folded away.
    """

    key: str
    title: str
    parts: tuple[Part, ...]
    folded: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Hold a whole report.

    Parameters
    ----------
    title : str
        Of the page.
    sections : tuple of Section
        In the order shown.
    lead : str
        What the page is made from, where that is not what its kind says.
    """

    title: str
    sections: tuple[Section, ...]
    lead: str = ""
