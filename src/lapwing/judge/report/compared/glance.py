"""The internal report's first section: what all figures together say, in plain words."""

from collections.abc import Sequence
from typing import Final

from lapwing.judge.findings import Findings
from lapwing.judge.glance import APART, FRESH, MOST, NONE, PART, SAME, Glance, glance
from lapwing.judge.metrics import SYNTHETIC
from lapwing.judge.report.compared.charts import place_chart, standings_table
from lapwing.judge.report.page import Fact, Facts, Part, Section, Text

# -- Words that the sections of the internal report share: names, shares and tables of columns.


NAME_LETTERS: Final = 60
"""Of a column's name or a label in a sentence or a table."""


def clipped(text: str, letters: int = NAME_LETTERS) -> str:
    """Return a text of at most so many letters.

    >>> clipped("abcdef", letters=4)
    'abc…'
    """
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def labelled(text: str, letters: int = NAME_LETTERS) -> str:
    """Return a label that can be seen: one without any letter stands in quotes.

    >>> labelled("private"), labelled(" ")
    ('private', '" "')
    """
    return clipped(text, letters) if text.strip() else f'"{clipped(text, letters)}"'


def crossed(columns: Sequence[str]) -> str:
    """Return the name of a table of several columns.

    >>> crossed(("age", "sex"))
    'age × sex'
    """
    return " × ".join(clipped(name, max(16, NAME_LETTERS // len(columns))) for name in columns)


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


def signed(share: float, digits: int = 1) -> str:
    """Return a difference of shares in percent points, with its sign.

    >>> signed(0.0123), signed(-0.5), signed(0.0)
    ('+1.2', '-50.0', '0')
    """
    figure = round(100 * share, digits)
    return f"{figure:+.{digits}f}" if figure else "0"


def counted(count: int, what: str, many: str = "") -> str:
    """Return a number of things.

    >>> counted(1, "column"), counted(12_000, "row"), counted(2, "category", "categories")
    ('1 column', '12,000 rows', '2 categories')
    """
    return f"{count:,} {what if count == 1 else many or what + 's'}"


_KEY = (
    f"Up to {100 * FRESH:.0f} %, or {SAME:g} times its distance, counts as a resample, up to {100 * MOST:.0f} % as "
    f"most of the dependence kept, up to {100 * PART:.0f} % as part, up to {100 * NONE:.0f} % as none; of an estimate "
    "its less favourable end, two standard errors away."
)
_REFERENCES = (
    "A resample: as many of the real rows, drawn with replacement. Rows of new people would be 1.4 times as far "
    "from the real ones in tables with many rows a cell, and up to 2.7 times in sparse ones.",
    "Independent columns: the real rows with every column shuffled by itself. Single columns are exact, all relations "
    "are gone.",
    f"A figure has a place between the two only where independent columns are at least {APART:g} times as far as a "
    "resample; others do not see dependence, or the tables have too few rows to show it.",
)


def glance_section(found: Findings) -> Section:
    """Return the section *At a glance*."""
    seen = glance(found)
    parts: list[Part] = [Text(words=seen.headline), _facts(found, seen), Text(words="In short:", points=seen.details)]
    is_bad = any(each.verdict in ("none", "worse") for each in seen.standings)
    parts.append(Text(words="Before you decide:", points=seen.cautions, is_warning=is_bad))
    if any(each.place is not None for each in seen.standings):
        parts.append(
            place_chart(
                seen.standings,
                title="Between a resample and independent columns",
                meaning=f"{_spread(seen)} {_KEY}",
            )
        )
    table = standings_table(seen.standings)
    meanings = tuple(f"{each.metric.title}: {each.metric.meaning}" for each in seen.standings)
    sources = tuple(f"{each.metric.title}: {each.metric.reference}" for each in seen.standings)
    return Section(
        key="at-a-glance",
        title="At a glance",
        parts=tuple(parts),
        folded=(
            table,
            Text(words="What they are read against:", points=_REFERENCES),
            Text(words="What the figures mean:", points=meanings),
            Text(words="Where they were defined:", points=sources),
        ),
    )


def _spread(seen: Glance) -> str:
    """Return the sentence about all places: the best, the middle and the worst one."""
    placed = sorted((each.place, each.metric.title) for each in seen.standings if each.place is not None)
    best, middle, worst = placed[0], placed[(len(placed) - 1) // 2], placed[-1]
    if len(placed) == 1:
        return f"{best[1]} is at {100 * best[0]:.0f} %."
    return (
        f"From {100 * best[0]:.0f} % ({best[1]}) to {100 * worst[0]:.0f} % ({worst[1]}) of the way; half of the "
        f"{len(placed)} figures are at {100 * middle[0]:.0f} % or below."
    )


def _facts(found: Findings, seen: Glance) -> Facts:
    """Return the few figures that stand out."""
    places = {each.metric.key: each for each in seen.standings}
    facts = []
    single = places.get("total_variation_1")
    if single is not None:
        note = f"a resample: {percent(single.bootstrap.value, 2)}"
        facts.append(
            Fact(
                figure=percent(single.synthetic.value), what="of rows differ in a single column, on average", note=note
            )
        )
    pairs = places.get("total_variation_2")
    if pairs is not None:
        note = f"resample: {percent(pairs.bootstrap.value)}, independent: {percent(pairs.independent.value)}"
        facts.append(
            Fact(
                figure=percent(pairs.synthetic.value), what="of rows differ in a pair of columns, on average", note=note
            )
        )
    if found.downstream is None and pairs is not None:
        columns, distance = next(each for each in found.tables[SYNTHETIC] if each.ways == 2).worst(1)[0]
        facts.append(Fact(figure=percent(distance), what="differ in the worst pair of columns", note=crossed(columns)))
    if found.downstream is not None:
        area = found.downstream
        note = f"{area.ceiling:.3f} when trained on real rows, {area.floor:.1f} knows nothing"
        facts.append(Fact(figure=f"{area.auc:.3f}", what="AUC of a prediction learned from synthetic rows", note=note))
    return Facts(facts=tuple(facts))
