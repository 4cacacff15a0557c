"""The internal report's section on weighted totals, shares and means, as users of a survey compute them."""

from typing import Final

from lapwing.judge.metrics import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.judge.report.compared.glance import clipped, counted, labelled, percent
from lapwing.judge.report.page import Part, Section, Table, Text
from lapwing.judge.tables.weighted import Weighted, WeightedColumn

LISTED: Final = 60
"""Cells with a line: of each column those with most weight, as many of each."""

_FAR: Final = 0.05  # of the total weight: the error of a total that deserves a colour


def weighted_section(found: Weighted, unweighted: dict[str, float]) -> Section:
    """Return the section *Weighted totals*.

    unweighted: total variation of each column's plain shares, to be read beside the weighted ones. Returns a table of
    all columns, the worst first, and one of the heaviest cells.
    """
    order = sorted(found.columns, key=lambda each: -each.total_error(SYNTHETIC))
    total, floor = (found.totals[name] / found.total - 1 for name in (SYNTHETIC, BOOTSTRAP))
    words = (
        f"Every row counts {clipped(found.weight)} times, as users of a survey count it. The synthetic rows weigh "
        f"{_relative(total)} against the real ones (a resample: {_relative(floor)}), as if there were as many of them. "
        f"Farthest off are the totals of {clipped(order[0].column)}."
    )
    parts: list[Part] = [Text(words=words), _columns(order, unweighted)]
    return Section(key="weighted-totals", title="Weighted totals", parts=tuple(parts), folded=(_cells(order),))


def weighted_lines(found: Weighted, most: int) -> list[tuple[str, ...]]:
    """Return the columns whose weighted totals are farthest off, for a terminal.

    Returns a heading; then column, errors of totals, of a resample's and of independent columns', of shares and of
    means.
    """
    heading = (f"weighted by {found.weight}", "totals", "bootstrap", "independent", "shares", "mean (sd)")
    order = sorted(found.columns, key=lambda each: -each.total_error(SYNTHETIC))
    lines = [
        (
            each.column,
            *(f"{each.total_error(name):.4f}" for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT)),
            f"{each.share_error(SYNTHETIC):.4f}",
            _mean(each, SYNTHETIC),
        )
        for each in order[:most]
    ]
    whole = (f"{found.totals[name] / found.total - 1:+.4f}" for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT))
    return [heading, ("total weight", *whole, "-", "-"), *lines]


def _columns(order: list[WeightedColumn], unweighted: dict[str, float]) -> Table:
    """Return how far the weighted figures of all columns are from the real ones."""
    lines = [
        (
            clipped(each.column),
            *(percent(each.total_error(name), 2) for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT)),
            *(percent(each.share_error(name), 2) for name in (SYNTHETIC, BOOTSTRAP)),
            percent(unweighted.get(each.column), 2),
            _mean(each, SYNTHETIC),
            _mean(each, BOOTSTRAP),
        )
        for each in order
    ]
    return Table(
        caption="Every column, weighted: absolute errors of the totals of its cells over the total weight; weighted "
        "shares that differ, beside the plain ones; error of the weighted mean in real standard deviations. Coloured: "
        f"totals off by more than {percent(_FAR, 0)}",
        heading=("column", "totals", "resample", "independent", "shares", "resample", "unweighted", "mean", "resample"),
        lines=tuple(lines),
        numbers=tuple(range(1, 9)),
        marked=tuple(place for place, each in enumerate(order) if each.total_error(SYNTHETIC) > _FAR),
    )


def _cells(order: list[WeightedColumn]) -> Table:
    """Return the weighted totals of the heaviest cells."""
    share = max(LISTED // len(order), 2)
    lines = [
        (
            clipped(each.column),
            labelled(each.labels[cell]),
            f"{each.real[cell]:,.0f}",
            f"{each.totals[SYNTHETIC][cell]:,.0f}",
            *(_relative(each.totals[name][cell] / each.real[cell] - 1) for name in (SYNTHETIC, BOOTSTRAP)),
        )
        for each in order
        for cell in each.largest(share)
    ]
    return Table(
        caption=f"Weighted totals of the cells with most weight, {counted(share, 'cell')} of each column at most",
        heading=("column", "cell", "real", "synthetic", "error", "resample"),
        lines=tuple(lines),
        numbers=(2, 3, 4, 5),
    )


def _relative(error: float) -> str:
    """Return a relative error with its sign."""
    return f"{100 * error:+.1f} %"


def _mean(column: WeightedColumn, name: str) -> str:
    """Return the error of a weighted mean."""
    return "-" if column.means is None else f"{column.means[name]:+.3f}"
