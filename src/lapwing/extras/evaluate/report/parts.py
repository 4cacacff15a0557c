"""Sections and tables of reports, under their words."""

from collections.abc import Iterable

from lapwing.extras.evaluate.words import say
from lapwing.present.document import Part, Section, Table


def section(key: str, parts: Iterable[Part], folded: Iterable[Part] = ()) -> Section:
    """Return a section under its title."""
    return Section(key, say(f"section.{key}"), tuple(parts), tuple(folded))


def table(
    key: str,
    lines: Iterable[tuple[str, ...]],
    *,
    numbers: Iterable[int] = (),
    marked: Iterable[int] = (),
    **fields: object,
) -> Table:
    """Return a table under its caption and its heading."""
    heading = say.listed(f"{key}.heading", **fields)
    return Table(say(f"{key}.caption", **fields), heading, tuple(lines), tuple(numbers), tuple(marked))
