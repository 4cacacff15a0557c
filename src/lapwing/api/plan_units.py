"""What another ``maxRows`` would do to a plan: less noise, or more rows used."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lapwing.api.planning import expected_terms, first_deviation, planned
from lapwing.api.settings import Settings
from lapwing.release.planned import Planned
from lapwing.release.terms import Terms

OTHER_FIGURE: Final = "-"
"""Stands for the first figure of a plan that is about something else than the one it is compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxRowsEffect:
    """Say how exact the release would be with another number of rows used of each unit, all else equal.

    Parameters
    ----------
    max_rows : int
        The number of rows.
    noise_sd : float
        Standard deviation of the noise on the first table, in records.
    noise_times : float
        The same relative to the ``maxRows`` of the schema.
    what : str
        What the mechanism's first accuracy figure is.
    error : float
        That figure.
    error_times : float or None
        The same relative to the ``maxRows`` of the schema; None where the plan there has another kind of figure.
    """

    max_rows: int
    noise_sd: float
    noise_times: float
    what: str
    error: float
    error_times: float | None


def max_rows_effects(settings: Settings, terms: Terms, plan: Planned, rows: int) -> tuple[MaxRowsEffect, ...]:
    """Plan again with 1, 2, half and double the rows of each unit; nothing where a row is what is protected.

    Parameters
    ----------
    settings : Settings
        Of the release.
    terms : Terms
        Its terms, with the schema's own number of rows.
    plan : Planned
        Its plan.
    rows : int
        The number of rows that are used in all, the same for every plan.

    Returns
    -------
    tuple of MaxRowsEffect
        In increasing order, the schema's own number among them.
    """
    if settings.schema.privacy_unit is None:
        return ()
    own = terms.max_rows
    found = []
    for max_rows in sorted({1, 2, max(1, own // 2), own, 2 * own}):
        there = expected_terms(settings.relation, max_rows, rows)
        other = plan if max_rows == own else planned(settings, there)
        found.append(_effect((plan, terms), (other, there)))
    return tuple(found)


def _effect(own: tuple[Planned, Terms], other: tuple[Planned, Terms]) -> MaxRowsEffect:
    """Compare two plans."""
    here, there = own[0].accuracy[0], other[0].accuracy[0]
    sd, error = first_deviation(*other), there.value or 0.0
    is_same_figure = (here.kind, here.text) == (there.kind, there.text)
    return MaxRowsEffect(
        max_rows=other[1].max_rows,
        noise_sd=sd,
        noise_times=sd / first_deviation(*own),
        what=there.kind,
        error=error,
        error_times=error / here.value if is_same_figure and here.value else None,
    )


def effect_table(effects: Sequence[MaxRowsEffect], own: int, rows: int) -> list[tuple[str, ...]]:
    """Return the effects as rows of text, the heading first.

    Parameters
    ----------
    effects : sequence of MaxRowsEffect
        At least one.
    own : int
        The ``maxRows`` of the schema.
    rows : int
        The number of rows that are used in all.
    """
    what = next(effect.what for effect in effects if effect.max_rows == own)
    heading = ("maxRows", "noise (sd)", "relative", f"{what} at {rows} rows", "relative")
    return [heading, *(_cells(effect, own) for effect in effects)]


def _cells(effect: MaxRowsEffect, own: int) -> tuple[str, ...]:
    """Return one line of the table."""
    return (
        f"{effect.max_rows} (the schema's)" if effect.max_rows == own else str(effect.max_rows),
        f"{effect.noise_sd:.4g}",
        f"{effect.noise_times:.2f}",
        OTHER_FIGURE if effect.error_times is None else f"{effect.error:.3g}",
        OTHER_FIGURE if effect.error_times is None else f"{effect.error_times:.2f}",
    )
