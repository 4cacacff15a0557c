"""Who is ahead where: Lapwing's figures against those of rivals, from the lines of results."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean, stdev

from arena.cells import Line
from arena.field import FLOOR, OURS
from scipy.stats import t as student

MEASURES = {
    "tv1_narrow": "1-way",
    "tv2_narrow": "2-way",
    "tv3_narrow": "3-way",
    "tv2_wide": "2-way, wide bins",
    "tv2_native": "2-way, bins of equal shares",
    "mean_error": "means",
    "sd_error": "standard deviations",
    "pearson_error": "Pearson",
    "nist_k3": "1000 - NIST's score (k = 3)",
    "auc_trees": "1 - AUC, trees",
    "auc_trees_gap": "gap to real rows, trees",
    "auc_linear": "1 - AUC, linear",
    "auc_linear_gap": "gap to real rows, linear",
    "broken_rules": "rows that break a rule",
    "parity_broken": "rows that break a parity",
    "cpu_s": "CPU seconds",
    "peak_mb": "MB of memory",
}
"""Columns of the results that are compared, of which less is better; of a score what it lacks of the best."""
BEST_SCORES = {"auc_trees": 1, "auc_linear": 1, "nist_k3": 1000}
ANY = "best of each"
"""In the place of a form: each rival, and Lapwing, in the form that suits it best."""
LEAST = 1e-4
"""A figure below counts as this in ratios: the results have five decimals."""
LEAST_OF_AUC = 1e-2
"""The same of what a classifier lacks: some thousand rows held back tell no finer."""
FEWEST = 5
"""Places of which an interval is worth saying."""

Place = tuple[str, str, str, str]
"""Table, form, epsilon, delta."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A place where a rival is better than Lapwing in a measure, by the means over the runs that both have.

    Parameters
    ----------
    rival, measure : str
        Who, and in what.
    place : tuple of str
        Table, form, epsilon, delta.
    ours, theirs : float
        The figures.
    """

    rival: str
    measure: str
    place: Place
    ours: float
    theirs: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """A geometric mean of ratios over places, with a 95 % interval: where it would be for other such tables.

    Parameters
    ----------
    mean : float
        Of all places, each the geometric mean of its runs.
    low, high : float or None
        Student's interval for the logarithms of the places; None with fewer than `FEWEST`.
    places, ahead : int
        How many places are compared, and in how many Lapwing is not behind.
    """

    mean: float
    low: float | None
    high: float | None
    places: int
    ahead: int


Figures = dict[Place, dict[str, dict[str, float]]]
"""By place, by rival, by run."""


def figures_of(lines: Iterable[Line], measure: str) -> Figures:
    """Return the figures of a measure from the cells that are done."""
    found: Figures = {}
    for line in lines:
        if line["status"] == "done" and line.get(measure):
            value = float(line[measure])
            by_rival = found.setdefault(place_of(line), {})
            lacking = BEST_SCORES[measure] - value if measure in BEST_SCORES else value
            by_rival.setdefault(line["rival"], {})[line["run"]] = lacking
    return found


def place_of(line: Line) -> Place:
    """Return where a cell is."""
    return line["table"], line["form"], line["epsilon"], line["delta"]


def best_forms(figures: Figures) -> Figures:
    """Return the figures with each rival's best form in the place of all forms."""
    found: Figures = {}
    for (table, _, epsilon, delta), by_rival in figures.items():
        kept = found.setdefault((table, ANY, epsilon, delta), {})
        for rival, runs in by_rival.items():
            if rival not in kept or fmean(runs.values()) < fmean(kept[rival].values()):
                kept[rival] = runs
    return found


def places_of(lines: list[Line], measure: str, form: str) -> Figures:
    """Return the figures of a measure in one form, or in the best one of each."""
    figures = figures_of(lines, measure)
    return best_forms(figures) if form == ANY else {place: each for place, each in figures.items() if place[1] == form}


def losses(lines: list[Line]) -> Iterator[Loss]:
    """Yield where a rival, or every column on its own, is better than Lapwing's default."""
    for measure in MEASURES:
        for place, by_rival in figures_of(lines, measure).items():
            for rival in (name for name in by_rival if name != OURS):
                yield from _lost(rival, measure, place, by_rival)


def _lost(rival: str, measure: str, place: Place, by_rival: dict[str, dict[str, float]]) -> Iterator[Loss]:
    """Yield the loss in one measure at one place, if it is one; of course columns on their own take less time."""
    common = by_rival[rival].keys() & by_rival.get(OURS, {}).keys()
    if not common or (rival == FLOOR and measure in ("cpu_s", "peak_mb")):
        return
    theirs, ours = (fmean(by_rival[name][run] for run in common) for name in (rival, OURS))
    if theirs < ours:
        yield Loss(rival, measure, place, ours, theirs)


def ratio_to_best(lines: list[Line], measure: str, form: str) -> Ratio | None:
    """Return how many times the best rival's figure Lapwing's is, over all places of a form; None without any."""
    return summed_up(
        (
            (by_rival[OURS], by_rival[best], True)
            for by_rival in places_of(lines, measure, form).values()
            if OURS in by_rival and (best := best_rival(by_rival)) is not None
        ),
        least_of(measure),
    )


def ratio_of(lines: list[Line], rival: str, measure: str, form: str) -> Ratio | None:
    """Return how many times Lapwing's figure a rival's is, over the places of a form that both have."""
    return summed_up(
        (
            (by_rival[rival], by_rival[OURS], False)
            for by_rival in places_of(lines, measure, form).values()
            if OURS in by_rival and rival in by_rival
        ),
        least_of(measure),
    )


def least_of(measure: str) -> float:
    """Return what a figure below counts as in ratios."""
    return LEAST_OF_AUC if measure.startswith("auc_") else LEAST


def best_rival(by_rival: dict[str, dict[str, float]]) -> str | None:
    """Return the rival with the least mean; the floor is none."""
    others = [name for name in by_rival if name not in (OURS, FLOOR)]
    return min(others, key=lambda name: fmean(by_rival[name].values()), default=None)


def ratio(one: float, other: float, least: float) -> float:
    """Return the logarithm of a ratio of figures that are not taken for less than can be told."""
    return math.log(max(one, least) / max(other, least))


def summed_up(pairs: Iterable[tuple[dict[str, float], dict[str, float], bool]], least: float) -> Ratio | None:
    """Return the ratio of ones to others over places, each the mean of the runs that both have."""
    logs, ahead = [], 0
    for one, other, is_ours_first in pairs:
        if common := one.keys() & other.keys():
            logs.append(fmean(ratio(one[run], other[run], least) for run in common))
            first, second = (fmean(each[run] for run in common) for each in (one, other))
            ahead += first <= second if is_ours_first else second <= first
    if not logs:
        return None
    is_wide = len(logs) < FEWEST
    half = None if is_wide else student.ppf(0.975, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    ends = (None, None) if half is None else (math.exp(fmean(logs) - half), math.exp(fmean(logs) + half))
    return Ratio(math.exp(fmean(logs)), *ends, len(logs), ahead)
