"""Where each figure of a comparison lies between a resample and independent columns.

A figure alone says little, because tables with many cells are far from anything but themselves. So each is placed
between the same figure of two references: as many real rows drawn with replacement (a *resample*: chance alone),
and the real rows with every column shuffled by itself (*independent columns*: no relation kept). Fixed thresholds turn
the place into words; an estimate is judged by its less favourable end, two standard errors away.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from lapwing.extras.evaluate.metrics.findings import PREDICTION
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC, Estimate, Metric, MetricResult
from lapwing.extras.evaluate.words import say

Verdict = Literal["closer", "fresh", "most", "part", "none", "worse", "sparse", "several", "far"]

# The largest place, from 0 (a resample) to 1 (independent columns), that still gets each verdict; beyond NONE: worse.
FRESH: Final = 0.05
MOST: Final = 1 / 3
PART: Final = 0.9
NONE: Final = 1.1

# Some distances are only compared with that of a resample. A resample differs from the real rows as these differ from
# the population; rows of new people have both differences. They are sqrt(2) times as far as a resample where cells hold
# many rows, and up to e = 2.72 times where each holds one row. Nothing that new people could reach is called far.
CLOSER: Final = 2.0  # times smaller than that of a resample: closer than one
SAME: Final = 1.5  # times that of a resample: as close as one, wherever independent columns are
SPARSE: Final = math.e  # times, in tables of few rows a cell: too few rows to tell from a resample
SEVERAL: Final = 5.0  # times: several times as far; more: much farther
APART: Final = 3.0  # independent columns must be so many times as far as a resample for a figure to be placed

_ERRORS: Final = 2.0  # standard errors by which an estimate may be better than the truth
_FARTHEST: Final = 2.0  # larger places are shown as "> 200 %"
_ROUNDING: Final = 1e-6  # a standard error below this share of its figure comes from floating point
_EPSILON: Final = 1e-12  # a distance below this comes from floating point


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Hold where one figure lies.

    place: from 0 (a resample) to 1 (independent columns), below 0 and above 1 beyond them. None where independent
    columns are not clearly farther than a resample: the figure does not react to dependence, or there is none; times:
    how many times as far as a resample; None where that is at no distance.
    """

    metric: Metric
    synthetic: Estimate
    bootstrap: Estimate
    independent: Estimate
    place: float | None
    place_error: float
    times: float | None
    verdict: Verdict

    @property
    def words(self) -> str:
        """The verdict in words, with its figure where there is no place."""
        text = say(f"standing.{self.verdict}")
        if self.verdict in ("several", "far") and self.times is not None:
            if self.times <= SAME:
                return say("standing.uncertain")
            text = say("standing.times", times=self.times) if self.times < 100 else say("standing.far")
        own, low, high = (
            abs(each.value - self.metric.best) for each in (self.synthetic, self.bootstrap, self.independent)
        )
        if self.place is None and low < high <= own:
            text += say("standing.no_closer")
        return text


def standing(compared: MetricResult) -> Standing | None:
    """Return where a figure lies; None where a value is missing or not finite."""
    synthetic, floor, lazy = (compared.values.get(name) for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT))
    if synthetic is None or floor is None or lazy is None:
        return None
    if not all(math.isfinite(each.value) for each in (synthetic, floor, lazy)):
        return None
    best = compared.metric.best
    own, low, high = (abs(each.value - best) for each in (synthetic, floor, lazy))
    noise = _ERRORS * math.hypot(floor.standard_error, lazy.standard_error)
    error = _finite(synthetic.standard_error)
    # A prediction's distance from the best score is not made by chance alone: only its place counts.
    is_chance = compared.metric.key != PREDICTION
    place, place_error = None, 0.0
    verdict = _beside(own + _ERRORS * error, low) if is_chance else "far"
    if high - low > max((APART - 1) * low if is_chance else 0.0, noise, _EPSILON):
        place, place_error = (own - low) / (high - low), error / (high - low)
        if verdict not in ("closer", "fresh"):
            verdict = _between(place + _ERRORS * place_error, place)
    elif is_chance and verdict in ("several", "far") and high > low and own + _ERRORS * error <= SPARSE * low:
        verdict = "sparse"
    return Standing(
        metric=compared.metric,
        synthetic=synthetic,
        bootstrap=floor,
        independent=lazy,
        place=place,
        place_error=place_error,
        times=own / low if low > _EPSILON else None,
        verdict=verdict,
    )


def _finite(error: float) -> float:
    return error if math.isfinite(error) else 0.0


def _between(upper: float, place: float) -> Verdict:
    """Return the verdict of a place, by its less favourable end."""
    limits: tuple[tuple[float, Verdict], ...] = ((FRESH, "fresh"), (MOST, "most"), (PART, "part"))
    for limit, verdict in limits:
        if upper <= limit:
            return verdict
    # Worse than independent columns only by more than its error: here the more favourable end counts.
    return "none" if 2 * place - upper <= NONE else "worse"


def _beside(upper: float, low: float) -> Verdict:
    """Return the verdict of a distance compared with a resample's alone, by its less favourable end."""
    if low <= _EPSILON:
        return "fresh" if upper <= _EPSILON else "far"
    if upper < low / CLOSER:
        return "closer"
    if upper <= SAME * low:
        return "fresh"
    return "several" if upper <= SEVERAL * low else "far"


def glance_lines(standings: Sequence[Standing]) -> tuple[tuple[str, ...], ...]:
    """Return standings as cells of text, a line for each figure; all but the ends are numbers."""
    return tuple(
        (
            each.metric.title,
            *(estimate_text(value) for value in (each.synthetic, each.bootstrap, each.independent)),
            place_text(each),
            each.words,
        )
        for each in standings
    )


def estimate_text(estimate: Estimate) -> str:
    """Return a figure with its standard error, where it has one."""
    error = _finite(estimate.standard_error)
    if error < _ROUNDING * abs(estimate.value):
        error = 0.0
    value = 0.0 if abs(estimate.value) < _EPSILON else estimate.value
    return f"{value:.4g}" + (f" ± {error:.2g}" if error else "")


def place_text(found: Standing) -> str:
    """Return the place of a figure in percent of the way, or a dash."""
    if found.place is None:
        return "-"
    return f"{100 * found.place:.0f} %" if found.place <= _FARTHEST else f"> {100 * _FARTHEST:.0f} %"
