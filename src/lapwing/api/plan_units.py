"""What another ``maxRows`` would do to a plan: less noise, or more rows used."""

from collections.abc import Sequence
from dataclasses import dataclass

from lapwing.api.planning import common_figure, expected_terms, first_deviation, noisy_tables, planned
from lapwing.api.settings import Settings
from lapwing.mechanisms.private_sampling import PrivateSampling
from lapwing.release.planned import Planned
from lapwing.release.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxRowsEffect:
    """Say how exact the release would be with another number of rows used of each unit, all else equal.

    Parameters
    ----------
    max_rows : int
        The number of rows.
    tables : int
        How many tables would be measured.
    noise_sd : float
        Standard deviation of the noise on the first table, in records.
    noise_times : float
        The same relative to the ``maxRows`` of the schema.
    what : str
        A figure about the accuracy that all plans state, in its own words.
    error : float
        The figure.
    error_times : float
        The same relative to the ``maxRows`` of the schema.
    """

    max_rows: int
    tables: int
    noise_sd: float
    noise_times: float
    what: str
    error: float
    error_times: float


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
    if settings.schema.privacy_unit is None or isinstance(settings.mechanism, PrivateSampling):
        return ()  # which protects one row of each unit, and no more
    own = terms.max_rows
    plans = {own: (plan, terms)}
    for max_rows in {1, 2, max(1, own // 2), 2 * own} - {own}:
        there = expected_terms(settings.relation, settings.schema, rows, max_rows)
        plans[max_rows] = (planned(settings, there), there)
    figures = dict(zip(plans, common_figure(list(plans.values())), strict=True))
    sds = {max_rows: first_deviation(*each) for max_rows, each in plans.items()}
    return tuple(
        MaxRowsEffect(
            max_rows=max_rows,
            tables=noisy_tables(*plans[max_rows]),
            noise_sd=sds[max_rows],
            noise_times=sds[max_rows] / sds[own],
            what=f"{figures[own].kind}: {figures[own].text}",
            error=figures[max_rows].value or 0.0,
            error_times=(figures[max_rows].value or 0.0) / (figures[own].value or 1.0),
        )
        for max_rows in sorted(plans)
    )


def effect_table(effects: Sequence[MaxRowsEffect], own: int) -> list[tuple[str, ...]]:
    """Return the effects as rows of text, the heading first.

    Parameters
    ----------
    effects : sequence of MaxRowsEffect
        At least one.
    own : int
        The ``maxRows`` of the schema.
    """
    heading = ("maxRows", "tables", "noise (sd)", "relative", effects[0].what.partition(":")[0], "relative")
    return [heading, *(_cells(effect, own) for effect in effects)]


def _cells(effect: MaxRowsEffect, own: int) -> tuple[str, ...]:
    """Return one line of the table."""
    return (
        f"{effect.max_rows} (the schema's)" if effect.max_rows == own else str(effect.max_rows),
        str(effect.tables),
        f"{effect.noise_sd:.4g}",
        f"{effect.noise_times:.2f}",
        f"{effect.error:.3g}",
        f"{effect.error_times:.2f}",
    )
