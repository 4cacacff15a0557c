"""A document: sections of facts, tables, texts and charts, without a word about how they look."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal

from lapwing.kernel.codec import KNOWN, SELDOM
from lapwing.schema.scalars import align_lines, visible


@dataclass(frozen=True, slots=True)
class Table:
    """Hold a table of the report; marked: lines that deserve a warning colour, besides the words that say so."""

    kind: ClassVar[str] = "table"

    caption: str
    heading: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = field(default=(), metadata=SELDOM)
    marked: tuple[int, ...] = field(default=(), metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Chart:
    """Hold a chart of the report; meaning: one sentence that says what can be seen, for those who do not see it."""

    kind: ClassVar[str] = "chart"

    title: str
    meaning: str
    spec: Mapping[str, Any]
    figures: Table | None = field(default=None, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Text:
    """Hold a paragraph, or a list; is_headline: set large; key: of the fact that it is, where it is one."""

    kind: ClassVar[str] = "text"

    words: str
    points: tuple[str, ...] = field(default=(), metadata=SELDOM)
    is_warning: bool = field(default=False, metadata=SELDOM)
    is_headline: bool = field(default=False, metadata=SELDOM)
    key: str = field(default="", metadata=SELDOM)


def warnings_of(said: Iterable[object]) -> tuple[Text, ...]:
    """Return warnings as they stand out, each once."""
    return tuple(Text(sentence(each), is_warning=True, key="warning") for each in dict.fromkeys(map(str, said)))


@dataclass(frozen=True, slots=True)
class Fact:
    """Say one thing: what it is, what stands beside it, and a note; of one of several tables, which.

    key: what code calls it; between: what stands between label and text in a line; value, unit: its figure, where it is
    about one. A fact without a label is a sentence by itself.
    """

    key: str
    label: str
    text: str
    note: str = field(default="", metadata=SELDOM)
    part: str = field(default="", metadata=SELDOM)
    between: str = field(default=": ", metadata=KNOWN)
    value: float | None = field(default=None, metadata=SELDOM)
    unit: str = field(default="", metadata=SELDOM)

    @property
    def line(self) -> str:
        """The fact as one line of text."""
        line = f"{self.label}{self.between}{self.text}" if self.label else self.text
        return visible(f"{self.part}: {line}" if self.part else line).replace("\n", " ")


@dataclass(frozen=True, slots=True)
class Facts:
    """Hold facts; are_figures: the few that a reader should see first, set large; is_headline: they grade the table."""

    kind: ClassVar[str] = "facts"

    facts: tuple[Fact, ...]
    are_figures: bool = field(default=False, metadata=SELDOM)
    is_headline: bool = field(default=False, metadata=SELDOM)


Part = Text | Table | Chart | Facts


def lines_of(part: Part) -> list[str]:
    """Return a part as lines of plain text; a chart has none."""
    if isinstance(part, Facts):
        return [fact.line for fact in part.facts]
    if isinstance(part, Table):
        return [align_lines([part.heading, *part.lines])]
    return [part.words, *part.points] if isinstance(part, Text) else []


@dataclass(frozen=True, slots=True)
class Section:
    """Hold a section of the report; key: the anchor of its heading, lower case with hyphens."""

    key: str
    title: str
    parts: tuple[Part, ...]
    folded: tuple[Part, ...] = field(default=(), metadata=SELDOM)


def of_table(section: Section, number: int, table: str) -> Section:
    """Return a section of one of several tables, under a title and an anchor of its own."""
    return replace(section, key=f"table-{number}-{section.key}", title=f"{clip_text(table)}: {section.title}")


Tone = Literal["", "good", "fair", "weak", "unknown", "internal"]


@dataclass(frozen=True, slots=True)
class Document:
    """Hold all that there is to say of something, in order; each place shows of it what it has room for.

    kind, name: the title; short: keys of the facts to be read first, all where none are named; sections: tables and
    lists beside the facts; one without a title belongs to what is read first; hint: what to do next. Of facts, those
    called notice, headline, verdict, said and warning stand above the others.
    """

    facts: tuple[Fact, ...]
    kind: str = field(default="", metadata=SELDOM)
    name: str = field(default="", metadata=SELDOM)
    tone: Tone = field(default="", metadata=SELDOM)
    short: tuple[str, ...] = field(default=(), metadata=SELDOM)
    sections: tuple[Section, ...] = field(default=(), metadata=SELDOM)
    hint: str = field(default="", metadata=SELDOM)

    def all(self, *keys: str) -> tuple[Fact, ...]:
        """Return the facts of these keys, in the order of the document."""
        return tuple(fact for fact in self.facts if fact.key in keys)

    def by(self, *keys: str) -> tuple[Fact, ...]:
        """Return the facts of these keys, in the order of the keys."""
        return tuple(fact for key in keys for fact in self.all(key))

    def texts(self, *keys: str) -> tuple[str, ...]:
        """Return what they say, without labels."""
        return tuple(fact.text for fact in self.all(*keys))

    def text(self, *keys: str) -> str:
        """Return what they say, as one text; an empty one where there are none."""
        return " ".join(self.texts(*keys))

    def lines(self, *keys: str) -> list[str]:
        """Return the same as lines of text."""
        return [fact.line for fact in self.all(*keys)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Hold a whole report; lead: what it is made from, where that is not what its kind says."""

    title: str
    sections: tuple[Section, ...]
    lead: str = ""


NAME_LETTERS: Final = 60  # of a column's name or a label in a sentence or a table


def clip_text(text: str, letters: int = NAME_LETTERS) -> str:
    """Return a text of at most so many letters."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def visible_label(text: str, letters: int = NAME_LETTERS) -> str:
    """Return a label that can be seen: one without any letter stands in quotes."""
    return clip_text(text, letters) if text.strip() else f'"{clip_text(text, letters)}"'


def cross_name(columns: Sequence[str]) -> str:
    """Return the name of a table of several columns, such as ``age × sex``."""
    return " × ".join(clip_text(name, max(16, NAME_LETTERS // len(columns))) for name in columns)


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent; small ones that are not 0 never look like 0.

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


def signed_points(share: float, digits: int = 1) -> str:
    """Return a difference of shares in percent points, with its sign."""
    figure = round(100 * share, digits)
    return f"{figure:+.{digits}f}" if figure else "0"


def count_text(count: int, what: str) -> str:
    """Return a number of things: ``1 column``, ``12,000 rows``."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def sentence(text: str) -> str:
    """Return a text as a sentence, without backticks.

    >>> sentence("run `lapwing demo`")
    'Run lapwing demo.'
    """
    plain = text.replace("`", "")
    return f"{upper_first(plain)}{'' if plain.endswith('.') else '.'}"


def upper_first(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return f"{text[:1].upper()}{text[1:]}"
